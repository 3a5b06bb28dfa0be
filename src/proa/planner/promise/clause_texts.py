"""The sentences of a clause, in both languages; {names} are filled in."""

from proa.planner.text import Text

CONDITIONS = Text("1. 제공 조건", "1. Conditions")
TRIGGERS = Text("2. 자원 추가 조건", "2. When resources are to be added")
MEASUREMENT = Text("3. 측정 방법", "3. Measurement")
DEPENDENCE = Text("4. 결과가 달라지는 경우", "4. What changes the result")
SPECIFICATION = Text("5. 규격과 성능", "5. Specification and performance")

SPEED = Text(
    "동시 세션 {sessions}개 이하, 요청당 평균 입력 {input}토큰(시스템 프롬프트, 대화 이력, "
    "검색 문서 포함)에서 사용자당 출력 속도 {speed}토큰/초 이상을 제공한다.",
    "With up to {sessions} sessions at once and a mean input of {input} tokens per request (system "
    "prompt, history and retrieved passages included), each user receives at least {speed} output "
    "tokens per second.",
)
FORMULA = Text(
    "출력 속도는 (출력 토큰 수 − 1) ÷ (마지막 토큰을 받은 시각 − 첫 토큰을 받은 시각)으로 "
    "계산하며, 출력 토큰 수는 추론 엔진이 보고한 값을 쓴다.",
    "The output speed is (output tokens − 1) ÷ (time of the last token − time of the first token); "
    "output tokens are those that the inference engine reports.",
)
TTFT = Text(
    "요청을 보낸 뒤 첫 토큰을 받을 때까지의 시간(TTFT)은 95백분위 기준 {ttft}초 이내로 한다.",
    "The time from sending a request to its first token (TTFT) is at most {ttft} s at the 95th "
    "percentile.",
)
OUTPUT = Text(
    "답변 길이는 평균 {output}토큰을 기준으로 한다.",
    "Answers of {output} tokens in the mean are taken as the basis.",
)
CONFIGURATION = Text("대상 구성: {configuration}.", "Configuration: {configuration}.")
MODEL = Text("모델 {name}", "model {name}")
WEIGHTS = Text("가중치 {name}", "weights in {name}")
KV_CACHE = Text("KV 캐시 {name}", "KV cache in {name}")
PER_REQUEST = Text(
    "전체 요청의 {attainment} 이상이 사용자당 출력 속도{ttft}를 지키면 조건을 충족한 것으로 본다. "
    "실패하거나 중단된 요청은 지키지 못한 것으로 센다.",
    "The conditions are met if at least {attainment} of all requests keep the speed per "
    "user{ttft}. Requests that fail or break off count as not keeping it.",
)
PER_REQUEST_TTFT = Text("와 TTFT 한도", " and the limit of TTFT")
MEAN = Text(
    "사용자당 출력 속도를 전체 요청의 평균으로 비교하여 판정한다. 실패하거나 중단된 요청은 "
    "속도 0으로 센다.",
    "The speed per user is compared as the mean over all requests. Requests that fail or break "
    "off count with a speed of 0.",
)

ADD_ABOVE = Text(
    "다음 중 하나에 해당하면 추가 자원이 필요한 것으로 보며, 그 규모와 비용은 별도 협의로 정한다.",
    "In any of these cases additional resources are needed; their size and price are subject to "
    "a separate agreement.",
)
INPUT_ABOVE = Text(
    "요청당 평균 입력이 {tokens}토큰을 넘는 경우",
    "the mean input per request exceeds {tokens} tokens",
)
SESSIONS_ABOVE = Text(
    "동시 세션이 {sessions}개를 넘는 경우",
    "more than {sessions} sessions run at once",
)
BETWEEN = Text(
    "제1항의 부하를 넘더라도 위 한도 이내에서는 서비스를 계속 제공하되, 제1항의 속도는 "
    "약속하지 않는다.",
    "Between the load of section 1 and these limits the service goes on, without a promise of the "
    "speed of section 1.",
)

LOAD = Text(
    "납품한 구성 그대로 동시 세션 {sessions}개를 유지하면서 평균 입력 {input}토큰{output}의 "
    "요청을 보내고, 예열 구간을 뺀 전체 요청의 사용자당 출력 속도{ttft}, 실패율을 측정한다.",
    "On the system as delivered, {sessions} sessions are kept running with requests of {input} "
    "input tokens{output} in the mean; the speed per user{ttft} and the share of failures are "
    "measured over all requests after the warm-up.",
)
LOAD_OUTPUT = Text(", 출력 {output}토큰", " and {output} output tokens")
LOAD_TTFT = Text(", TTFT", ", TTFT")
TOOL = Text(
    "측정은 다음 명령으로 재현할 수 있어야 한다: {command}", "It can be repeated with: {command}"
)
RECORDS = Text(
    "측정 조건, 버전, 요청별 원자료를 결과와 함께 제출한다.",
    "The settings, the versions and the raw data of every request are handed over with the result.",
)

CHANGES = Text(
    "모델, 양자화 방식, 출력 길이가 바뀌면 결과가 달라진다. 입력 길이의 분포, 접두어 캐시 "
    "적중률, 추론 엔진과 드라이버의 버전도 영향을 준다.",
    "Another model, another quantisation or another output length changes the result; so do the "
    "spread of input lengths, hits of the prefix cache, and the versions of engine and driver.",
)
MEASURE_AGAIN = Text(
    "이 가운데 하나라도 바뀌면 제3항에 따라 다시 측정하고 제1항의 수치를 다시 정한다.",
    "If any of them changes, it is measured again by section 3 and the numbers of section 1 are "
    "set anew.",
)
NOT_THE_SAME = Text(
    "GPU 수량, 메모리 용량 등 장비 규격을 충족하는 것과 성능을 보장하는 것은 같지 않다. 성능은 "
    "제3항의 측정으로만 확인한다.",
    "Meeting the specification of the hardware, such as the number of GPUs and their memory, is "
    "not the same as guaranteeing the performance; the performance is established by the "
    "measurement of section 3 alone.",
)
