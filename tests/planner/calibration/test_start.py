"""One start-up log against other starts of the same machine: statistics over public logs, rules."""

import msgspec
import pytest
from benchmarks.planner_accuracy.boots import BootRow, boot_rows, boot_spec
from benchmarks.planner_accuracy.calibrated import boot_log, calibrated_case, pairs, same_starts
from benchmarks.planner_accuracy.memory import MemoryCase, memory_stats
from tests.planner.engine_starts import QWQ_32B, start

from proa.planner.boot_log.facts import GIB, BootFlags, BootLog
from proa.planner.boot_log.read import read_boot_log
from proa.planner.calibration.start import calibrated_fit, nearest_boot
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitPlan, FitSpec
from proa.planner.memory.kv_cache import KvDtype

ROWS = boot_rows()
QWEN = next(
    row
    for row in ROWS
    if row.model == "Qwen/Qwen2.5-7B-Instruct"
    and row.max_model_len == 8192
    and row.kv_dtype in (None, "auto")
    and row.gpu == "h100-80gb"
)


@pytest.fixture(scope="module")
def cases() -> list[MemoryCase]:
    return same_starts(ROWS)


def by_log(row: BootRow, log: BootLog | None = None, **flags: object) -> FitPlan:
    """The row's start with other flags, by its own log or another."""
    spec = msgspec.structs.replace(boot_spec(row), **flags)
    return calibrated_fit(spec, [log or boot_log(row)], fit)


def test_one_log_tells_the_tokens_of_the_others(cases: list[MemoryCase]) -> None:
    # Target: within 0.5 % for 95 % of the cases, after one log.
    stats = memory_stats(cases)
    assert stats.cases >= 250
    assert stats.median <= 0.0005
    assert stats.within_half >= 0.99
    assert stats.worst <= 0.005
    assert stats.false_fits == 0


def test_and_how_many_sequences_fit(cases: list[MemoryCase]) -> None:
    known = [case for case in cases if case.row.concurrency]
    close = [
        c for c in known if abs(c.plan.max_concurrency / (c.row.concurrency or 1) - 1) <= 0.006
    ]
    assert len(close) >= 0.95 * len(known)


def test_a_log_gives_its_own_start_back() -> None:
    usable = [row for row in ROWS if row.is_pinned and row.kv_tokens and (row.kv_gib or 0) > 0]
    errors = [abs(calibrated_case(row, row).error) for row in usable]
    assert len(errors) >= 100
    assert max(errors) <= 0.001


def test_another_release_tells_less_and_says_so() -> None:
    farther = [
        calibrated_case(asked, logged)
        for asked, logged, kin in list(pairs(ROWS))[::12]
        if kin.model and kin.layout and not kin.release
    ]
    assert memory_stats(farther).within_5 >= 0.99
    assert all(any("release" in doubt.en for doubt in case.plan.doubts) for case in farther)


def test_a_calibrated_plan_has_no_doubts_left() -> None:
    assert not by_log(QWEN).uncertain


def test_utilisation_moves_the_cache_by_its_share_of_the_gpu() -> None:
    more, less = by_log(QWEN), by_log(QWEN, gpu_memory_utilization=0.80)
    assert more.kv_cache_bytes - less.kv_cache_bytes == pytest.approx(0.15 * more.gpu_bytes, abs=2)
    assert less.weights_bytes == more.weights_bytes == round(14.25 * GIB)


def test_fp8_doubles_the_tokens_as_logged() -> None:
    # vLLM 0.19.0 on an H100: 1,096,000 tokens in bf16, 2,192,000 in fp8.
    plan = by_log(QWEN, kv_dtype=KvDtype.FP8)
    assert plan.kv_cache_tokens == pytest.approx(2_192_000, rel=0.0005)


def test_context_moves_the_concurrency_and_not_the_cache() -> None:
    once, twice = by_log(QWEN), by_log(QWEN, max_model_len=16_384)
    assert twice.kv_cache_bytes == once.kv_cache_bytes
    assert twice.max_concurrency == pytest.approx(once.max_concurrency / 2, rel=0.001)


def test_batched_tokens_move_the_activation_by_what_the_profile_says() -> None:
    spec = boot_spec(QWEN)
    wider = msgspec.structs.replace(spec, max_num_batched_tokens=65_536)
    moved = fit(wider).activation_bytes - fit(spec).activation_bytes
    plan, wide = by_log(QWEN), by_log(QWEN, max_num_batched_tokens=65_536)
    assert moved > 0
    assert wide.activation_bytes - plan.activation_bytes == pytest.approx(moved, abs=2)


def test_eager_has_no_graphs() -> None:
    assert by_log(QWEN, enforce_eager=True).cuda_graph_bytes == 0
    assert by_log(QWEN).cuda_graph_bytes == round(0.61 * GIB)


def test_another_model_takes_the_machine_s_overheads_and_is_unsure() -> None:
    other = next(r for r in ROWS if r.gpu == QWEN.gpu and r.model.endswith("Llama-3.1-8B-Instruct"))
    plan = by_log(other, boot_log(QWEN))
    assert any("another model" in doubt.en for doubt in plan.doubts)
    assert plan.kv_cache_tokens == pytest.approx(other.kv_tokens, rel=0.05)


def test_the_nearest_log_is_taken_and_of_equals_the_last() -> None:
    spec, own = boot_spec(QWEN), boot_log(QWEN)
    flags = msgspec.structs.replace(own.flags, model="meta-llama/Llama-3.1-8B-Instruct")
    other = msgspec.structs.replace(own, flags=flags)
    again = msgspec.structs.replace(own, kv_cache_tokens=1)
    assert nearest_boot(spec, [own, other]) is own
    assert nearest_boot(spec, [own, again]) is again
    assert nearest_boot(spec, []) is None


@pytest.mark.parametrize(
    "change", [{"engine": "sglang"}, {"gpu_total_bytes": 24 * GIB}], ids=["engine", "GPU"]
)
def test_a_log_of_another_machine_is_not_taken(change: dict[str, object]) -> None:
    spec = boot_spec(QWEN)
    log = msgspec.structs.replace(boot_log(QWEN), **change)
    assert nearest_boot(spec, [log]) is None
    assert calibrated_fit(spec, [log], fit) == fit(spec)


@pytest.mark.parametrize("name", ["/models/Qwen2.5-7B-Instruct/", "qwen2.5-7b-instruct"])
def test_a_path_names_its_model(name: str) -> None:
    log = boot_log(QWEN)
    called = msgspec.structs.replace(log, flags=msgspec.structs.replace(log.flags, model=name))
    assert not by_log(QWEN, called).uncertain


def test_a_name_that_nobody_knows_is_taken_for_the_asked_model_with_a_doubt() -> None:
    log = boot_log(QWEN)
    called = msgspec.structs.replace(log, flags=msgspec.structs.replace(log.flags, model="/m/x"))
    plan = by_log(QWEN, called)
    assert plan.kv_cache_tokens == pytest.approx(1_096_000, rel=0.0005)
    assert any("/m/x" in doubt.en for doubt in plan.doubts)


def test_a_cache_that_was_a_flag_tells_nothing_of_the_budget() -> None:
    log = msgspec.structs.replace(
        boot_log(QWEN), kv_cache_bytes=4 * GIB, kv_cache_tokens=74_880, is_cache_given=True
    )
    plan = by_log(QWEN, log)
    assert plan.activation_bytes == round(2.21 * GIB)
    assert plan.kv_cache_bytes == pytest.approx(58.53 * GIB, rel=0.01)


def test_sglang_s_own_log() -> None:
    # A public log of sglang 0.4.3 with QwQ-32B on 4 x L4.
    text = (
        "[2025-03-08 10:00:00] server_args=ServerArgs(model_path='Qwen/QwQ-32B', tp_size=4,"
        " mem_fraction_static=0.85, chunked_prefill_size=2048, kv_cache_dtype='auto')\n"
        "[2025-03-08 10:00:01 TP0] Load weight begin. avail mem=21.63 GB\n"
        "[2025-03-08 10:00:09 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16,"
        " avail mem=6.09 GB, mem usage=15.54 GB.\n"
        "[2025-03-08 10:00:09 TP0] KV Cache is allocated. #tokens: 46611, K size: 1.42 GB,"
        " V size: 1.42 GB\n"
        "[2025-03-08 10:00:19 TP0] max_total_num_tokens=46611, chunked_prefill_size=2048,"
        " max_prefill_tokens=16384, max_running_requests=2048, context_len=131072\n"
    )
    log = read_boot_log(text, name="boot.log")
    spec = start("sglang", "l4-24gb", QWQ_32B, tp=4, mem_fraction_static=0.85)
    plan = calibrated_fit(spec, [log], fit)
    assert plan.kv_cache_tokens == 46_611
    assert not plan.uncertain
    wider = msgspec.structs.replace(spec, mem_fraction_static=0.90)
    grown = calibrated_fit(wider, [log], fit).kv_cache_bytes - plan.kv_cache_bytes
    assert grown == pytest.approx(0.05 * 21.63 * GIB, rel=0.0001)


def test_llama_cpp_s_buffers_stand_for_the_estimates() -> None:
    log = BootLog(
        engine="llamacpp",
        flags=BootFlags(model="Qwen/Qwen3-8B", max_model_len=8192, max_num_seqs=4),
        weights_bytes=4800 * 2**20,
        activation_bytes=312 * 2**20,
        kv_cache_bytes=4608 * 2**20,
        kv_cache_tokens=32_768,
    )
    spec: FitSpec = start("llamacpp", "rtx-3090-24gb", max_model_len=16_384, max_num_seqs=4)
    plan = calibrated_fit(spec, [log], fit)
    assert (plan.weights_bytes, plan.activation_bytes) == (4800 * 2**20, 312 * 2**20)
    assert plan.kv_cache_bytes == 9216 * 2**20
