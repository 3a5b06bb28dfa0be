"""Paths that manage engines are known in whatever spelling an engine would take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.engines.management import is_management

MANAGED = (
    b"/v1/load_lora_adapter", b"/sleep", b"/wake_up", b"/flush_cache", b"/update_weights_from_disk",
    b"/api/delete", b"/api/pull", b"/api/blobs/sha256:00", b"/v2/repository/models/m/unload",
    b"/v2/models/m/trace/setting", b"/v2/logging", b"/slots/0", b"/props", b"/metrics",
    b"/emulator/speed", b"/models/unload", b"/collective_rpc",
)  # fmt: skip
USED = (
    b"/v1/chat/completions", b"/v1/completions", b"/v1/embeddings", b"/v1/responses", b"/v1/rerank",
    b"/v1/score", b"/v1/messages", b"/v1/messages/count_tokens", b"/tokenize", b"/detokenize",
    b"/v1/audio/transcriptions", b"/v1/models", b"/v2/models/m/infer",
    b"/api/chat", b"/api/generate", b"/api/tags", b"/api/show", b"/generate", b"/apply-template",
    b"/v2/models/m/generate_stream",
)  # fmt: skip


@pytest.mark.parametrize("path", MANAGED, ids=bytes.decode)
def test_managing_is_known(path: bytes) -> None:
    assert is_management(path)


@pytest.mark.parametrize("path", USED, ids=bytes.decode)
def test_using_is_not_managing(path: bytes) -> None:
    assert not is_management(path)


@given(path=st.sampled_from(MANAGED), data=st.data())
def test_no_spelling_hides_it(path: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(path) - 1))
    spelt = data.draw(
        st.sampled_from(
            (
                path[:at] + b"%%%02x" % path[at] + path[at + 1 :],
                path[:at] + b"%%%02X" % path[at] + path[at + 1 :],
                path.replace(b"/", b"//"),
                path + b"/",
                b"/v1/.." + path,
                b"/." + path,
                path.upper(),
            )
        )
    )
    assert is_management(spelt)
