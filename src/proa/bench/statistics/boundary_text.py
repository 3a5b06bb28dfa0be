"""The boundary in a sentence, Korean or English."""

from collections.abc import Mapping

from proa.bench.slo import Bound, SloSpec
from proa.bench.statistics.boundary import Boundary
from proa.domain.contract import ContractRule

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "users": "{load:g} users",
        "rate": "{load:g} requests/s",
        "keep": "{load} keep {promise}",
        "share": " ({share:.1%} of requests, {low:.1%} or more at 95 % confidence)",
        "mean": " (mean {share:+.1%} from the bound, {low:+.1%} or more at 95 % confidence)",
        "fail": "{load} do not",
        "none_keep": "no level is shown to keep {promise}",
        "none_fail": "no level is shown to fail it",
        "boundary": "boundary {estimate:g}, {confidence:.0%} interval {low:g}–{high}",
        "top": "boundary above {low:g} ({confidence:.0%}), beyond the highest level",
        "more": "not decided: {requests:,} more requests, {minutes:.0f} more minutes",
    },
    "ko": {
        "users": "사용자 {load:g}명",
        "rate": "초당 {load:g}건",
        "keep": "{load}에서는 {promise}를 지키고",
        "share": "(요청의 {share:.1%}, 95 % 신뢰수준에서 {low:.1%} 이상)",
        "mean": "(평균이 기준에서 {share:+.1%}, 95 % 신뢰수준에서 {low:+.1%} 이상)",
        "fail": "{load}에서는 지키지 못합니다",
        "none_keep": "{promise}를 지킨다고 확인된 단계가 없고",
        "none_fail": "지키지 못한다고 확인된 단계는 없습니다",
        "boundary": "경계 {estimate:g}, {confidence:.0%} 구간 {low:g}–{high}",
        "top": "경계는 {low:g} 이상({confidence:.0%})이며 가장 높은 단계를 넘습니다",
        "more": "판정 보류: 요청 {requests:,}개, {minutes:.0f}분이 더 필요합니다",
    },
}
_METRICS = {"ttft_s": ("TTFT", "s"), "tpot_s": ("TPOT", "s"), "e2e_s": ("E2E", "s"),
            "user_tokens_per_s": ("", "tok/s"),
            "user_tokens_per_s_e2e": ("E2E", "tok/s")}  # fmt: skip


def boundary_text(found: Boundary, slo: SloSpec, language: str, *, of_rates: bool = False) -> str:
    """As "24 users keep ≥ 30 tok/s (97.5 % …), 32 users do not; boundary 27, 90 % interval 26–29".

    Where the interval is not short enough, what is still to be measured comes at the end.
    """
    texts = _TEXTS[language]

    def load(value: float) -> str:
        return texts["rate" if of_rates else "users"].format(load=value)

    promise = promise_text(slo)
    kept = texts["none_keep"].format(promise=promise)
    if found.passes is not None:
        kept = texts["keep"].format(load=load(found.passes), promise=promise)
        if found.attainment is not None and found.attainment_low is not None:
            key = "mean" if slo.rule is ContractRule.MEAN else "share"
            kept += texts[key].format(share=found.attainment, low=found.attainment_low)
    failed = texts["none_fail"]
    if found.fails is not None:
        failed = texts["fail"].format(load=load(found.fails))
    parts = [f"{kept}, {failed}", _where(found, texts)]
    if not found.decided:
        minutes, requests = found.more_minutes or 0.0, found.more_requests or 0
        parts.append(texts["more"].format(requests=requests, minutes=max(minutes, 1.0)))
    return "; ".join(parts)


def promise_text(slo: SloSpec) -> str:
    """The bounds, as "≥ 30 tok/s, TTFT ≤ 2 s"."""
    bounds = [_bound(bound) for bound in slo.bounds]
    if slo.error_rate is not None:
        bounds.append(f"error_rate ≤ {slo.error_rate:.1%}")
    return ", ".join(bounds)


def _bound(bound: Bound) -> str:
    name, unit = _METRICS.get(bound.metric, (bound.metric, ""))
    return f"{name} {'≥' if bound.at_least else '≤'} {bound.value:g} {unit}".strip()


def _where(found: Boundary, texts: Mapping[str, str]) -> str:
    if found.estimate is None:
        return texts["top"].format(low=found.low, confidence=found.confidence)
    high = "" if found.high is None else f"{found.high:g}"
    return texts["boundary"].format(
        estimate=found.estimate, low=found.low, high=high, confidence=found.confidence
    )
