"""The statistics hold for models that the constants were not fitted on."""

from benchmarks.planner_accuracy.memory import memory_stats
from benchmarks.planner_accuracy.memory_folds import FOLDS, folded_cases


def test_a_model_that_was_left_out() -> None:
    stats = memory_stats(folded_cases(FOLDS["one model left out"]))
    assert stats.cases >= 140
    assert stats.within_3 >= 0.93
    assert stats.within_5 >= 0.96
    assert stats.loud == 0
    assert stats.false_fits == 0
