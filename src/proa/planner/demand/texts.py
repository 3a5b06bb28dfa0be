"""Names, formulae and units of the steps from users to tokens per second."""

import msgspec

from proa.planner.text import Text


class StepTexts(msgspec.Struct, frozen=True):
    """What is said of one step."""

    name: Text
    formula: Text
    unit: Text


_PEOPLE = Text("명", "users")
_REQUESTS = Text("건", "requests")
_SESSIONS = Text("세션", "sessions")

STEPS = {
    "users": StepTexts(
        Text("증가를 반영한 사용자", "users after growth"),
        Text("사용자 × (1 + 연 증가율)^연수", "users × (1 + growth per year)^years"),
        _PEOPLE,
    ),
    "daily_active_users": StepTexts(
        Text("일 활성 사용자", "daily active users"),
        Text("사용자 × 일 활성 비율", "users × daily-active share"),
        _PEOPLE,
    ),
    "daily_requests": StepTexts(
        Text("하루 요청", "daily requests"),
        Text("일 활성 사용자 × 1인당 질의 수", "daily active users × queries per user"),
        _REQUESTS,
    ),
    "peak_requests_per_hour": StepTexts(
        Text("피크 시간 요청", "requests in the peak hour"),
        Text("하루 요청 × 피크 시간 비율", "daily requests × peak-hour share"),
        Text("건/시간", "requests/h"),
    ),
    "peak_requests_per_s": StepTexts(
        Text("초당 요청", "requests per second"),
        Text("피크 시간 요청 ÷ 3,600초", "requests in the peak hour ÷ 3,600 s"),
        Text("건/초", "requests/s"),
    ),
    "seconds_per_request": StepTexts(
        Text("요청당 처리 시간", "time per request"),
        Text("TTFT + 출력 토큰 ÷ 사용자당 속도", "TTFT + output tokens ÷ speed per user"),
        Text("초", "s"),
    ),
    "mean_sessions": StepTexts(
        Text("평균 동시 세션", "mean sessions"),
        Text(
            "초당 요청 × 요청당 처리 시간 (리틀의 법칙)",
            "requests per second × time per request (Little's law)",
        ),
        _SESSIONS,
    ),
    "burst_sessions": StepTexts(
        Text("버스트 기준 세션", "sessions by burst"),
        Text("평균 동시 세션 × 버스트 계수, 올림", "mean sessions × burst factor, rounded up"),
        _SESSIONS,
    ),
    "queue_sessions": StepTexts(
        Text("대기 기준 세션", "sessions by wait"),
        Text(
            "기다림 조건을 지키는 가장 적은 자리 수 (M/M/c, 얼랑 C)",
            "fewest places that keep the limit of the wait (M/M/c, Erlang C)",
        ),
        _SESSIONS,
    ),
    "design_sessions": StepTexts(
        Text("설계 동시 세션", "design sessions"),
        Text("평균 동시 세션 × 버스트 계수, 올림", "mean sessions × burst factor, rounded up"),
        _SESSIONS,
    ),
    "decode_tokens_per_s": StepTexts(
        Text("필요한 전체 출력 속도", "decode speed needed"),
        Text("설계 동시 세션 × 사용자당 속도", "design sessions × tokens/s per session"),
        Text("토큰/초", "tokens/s"),
    ),
}
"""By the key of the step."""
