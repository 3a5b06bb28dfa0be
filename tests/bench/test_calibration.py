"""What a target is asked before the load."""

import json

import pytest

from proa.bench.calibration import prepare, scale_of
from proa.bench.lengths import LengthSpec
from proa.bench.target import TargetSpec
from proa.bench.workloads import TokenScale, WorkloadSpec
from proa.errors import UpstreamError
from proa.testing.chat import chat_events, usage
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply

WORKLOAD = WorkloadSpec(input=LengthSpec(2000))


def counting(request: ReceivedRequest) -> Reply:
    """An engine with 2 tokens a word and a template of 20 that refuses unknown fields."""
    body = json.loads(bytes(request.body))
    if "ignore_eos" in body:
        return json_reply({"error": {"message": "unknown field ignore_eos"}}, status=400)
    words = len(body["messages"][0]["content"].split())
    counted = {"choices": [], "usage": usage(prompt_tokens=20 + 2 * words)}
    return sse_reply([*chat_events(with_usage=False), counted])


async def test_tokens_per_word_and_refused_fields_are_found_out() -> None:
    async with ScriptedEngine(counting, models=["first", "second"]) as engine:
        load = await prepare(TargetSpec(name="t", url=engine.url), WORKLOAD, timeout_s=10)
    assert load.target.model == "first"
    assert (load.body.force, load.body.usage) == (False, True)
    assert load.scale.is_measured
    assert load.scale.per_word == pytest.approx(2.0)
    assert load.scale.overhead == pytest.approx(20.0)


async def test_a_target_without_models_must_be_given_one() -> None:
    async with ScriptedEngine(models=[]) as engine:
        with pytest.raises(UpstreamError, match="give --model"):
            await prepare(TargetSpec(name="t", url=engine.url), WORKLOAD, timeout_s=10)


def test_odd_counts_are_not_believed() -> None:
    assert scale_of([(50, 100)]) == TokenScale()
    assert scale_of([(50, 11), (500, 11)]) == TokenScale()
    assert scale_of([(50, 85), (500, 760)]) == TokenScale(1.5, 10.0, is_measured=True)
