"""What each lever costs and needs: quality has to be checked, hardware has to be there."""

import msgspec

from proa.domain.gpu import GpuSpec
from proa.planner.text import Text

QUALITY_CHECK = "proa bench quality a=URL b=URL --data cases.jsonl"
"""The same questions of one's own to the full precision (a) and to the reduced one (b)."""


class LeverNote(msgspec.Struct, frozen=True, kw_only=True):
    """One lever: `lever` is `weights` or `kv`, `choice` its precision.

    `costs` is what is lost or risked, `check` the command that shows whether it was, `needs`
    the hardware in words. `is_supported`: whether the GPU has it, None where no GPU is named.
    """

    lever: str
    choice: str
    costs: Text
    check: str | None
    needs: Text
    is_supported: bool | None


_NOTHING = Text("없음(기준)", "nothing: the reference")
_ANY = Text("모든 GPU", "any GPU")
_FP8_HARDWARE = Text(
    "FP8 연산기: NVIDIA Ada(L4, L40S, RTX 40), Hopper(H100, H200), Blackwell(B200, RTX 50, RTX PRO "
    "6000), AMD CDNA 3·4(MI300X, MI355X), Intel Gaudi 2·3. Ampere(A100, RTX 30)에서는 가중치만 "
    "FP8로 저장하며 메모리는 줄지만 연산은 빨라지지 않음",
    "FP8 arithmetic: NVIDIA Ada (L4, L40S, RTX 40), Hopper (H100, H200), Blackwell (B200, RTX 50, "
    "RTX PRO 6000), AMD CDNA 3 and 4 (MI300X, MI355X), Intel Gaudi 2 and 3. On Ampere (A100, "
    "RTX 30) only the weights are kept in FP8: less memory, no faster arithmetic",
)
_INT8_HARDWARE = Text(
    "INT8 연산기: NVIDIA Turing 이후, AMD CDNA", "INT8 arithmetic: NVIDIA from Turing on, AMD CDNA"
)
_INT4_HARDWARE = Text(
    "AWQ·GPTQ 커널: NVIDIA Turing 이후(빠른 Marlin 커널은 Ampere 이후), AMD CDNA",
    "AWQ or GPTQ kernels: NVIDIA from Turing on (the fast Marlin ones from Ampere), AMD CDNA",
)
_FP8_CACHE = Text(
    "FP8 KV 캐시를 지원하는 어텐션 커널: NVIDIA Ada·Hopper·Blackwell, AMD CDNA 3·4. 자동으로 "
    "켜지지 않으므로 --kv-cache-dtype fp8을 지정",
    "attention kernels with an FP8 cache: NVIDIA Ada, Hopper, Blackwell, AMD CDNA 3 and 4. It is "
    "never switched on by itself: --kv-cache-dtype fp8",
)
_FP4_HARDWARE = Text(
    "FP4 연산기: NVIDIA Blackwell, AMD CDNA 4(MXFP4). 그 밖의 GPU에서는 가중치만 4비트로 저장하며 "
    "메모리는 줄지만 연산은 빨라지지 않음",
    "FP4 arithmetic: NVIDIA Blackwell, AMD CDNA 4 (MXFP4). Elsewhere only the weights are kept in "
    "4 bits: less memory, no faster arithmetic",
)
_FOUR_BITS = Text(
    "4비트로 학습하거나 보정한 모델이 아니면 품질 저하가 눈에 띌 수 있음. 자체 데이터로 "
    "반드시 확인",
    "quality that may be noticed, unless the model was trained or calibrated in 4 bits: check it "
    "on data of your own",
)

_COSTS = {
    ("weights", "bf16"): _NOTHING,
    ("weights", "fp8"): Text(
        "품질 저하가 대체로 작으나 자체 데이터로 확인 필요",
        "usually little quality; check it on data of your own",
    ),
    ("weights", "int8"): Text(
        "품질 저하가 대체로 작으나 자체 데이터로 확인 필요. 활성값까지 INT8이면 보정 데이터가 필요",
        "usually little quality; check it on data of your own. With INT8 activations it wants "
        "calibration data",
    ),
    ("weights", "int4"): Text(
        "품질 저하가 눈에 띌 수 있음(작은 모델, 추론, 한국어에서 더 큼). 자체 데이터로 반드시 "
        "확인. 배치가 크면 FP8보다 느릴 수 있음",
        "quality that may be noticed, more so in small models, reasoning and Korean: check it on "
        "data of your own. At large batches it may be slower than FP8",
    ),
    ("weights", "nvfp4"): _FOUR_BITS,
    ("weights", "mxfp4"): _FOUR_BITS,
    ("kv", "bf16"): _NOTHING,
    ("kv", "fp8"): Text(
        "긴 컨텍스트에서 품질이 떨어질 수 있으므로 실제 길이의 자체 데이터로 확인 필요",
        "quality at long contexts: check it on data of your own, at the true length",
    ),
    ("kv", "nvfp4"): Text(
        "FP8보다 품질이 더 떨어질 수 있으므로 실제 길이의 자체 데이터로 반드시 확인",
        "more quality than FP8 may: check it on data of your own, at the true length",
    ),
}
_NEEDS = {
    ("weights", "bf16"): _ANY,
    ("weights", "fp8"): _FP8_HARDWARE,
    ("weights", "int8"): _INT8_HARDWARE,
    ("weights", "int4"): _INT4_HARDWARE,
    ("weights", "nvfp4"): _FP4_HARDWARE,
    ("weights", "mxfp4"): _FP4_HARDWARE,
    ("kv", "bf16"): _ANY,
    ("kv", "fp8"): _FP8_CACHE,
    ("kv", "nvfp4"): Text(
        "FP4 KV 캐시를 지원하는 커널: NVIDIA Blackwell",
        "kernels with an FP4 cache: NVIDIA Blackwell",
    ),
}
_ARITHMETIC = {"fp8": "fp8", "int8": "int8", "nvfp4": "fp4", "mxfp4": "fp4"}


def lever_note(lever: str, choice: str, gpu: GpuSpec | None = None) -> LeverNote | None:
    """The note on `weights` or `kv` in a precision of the lever table; None for any other.

    Source:
        vLLM documentation, "Supported hardware for quantization kernels" and "Quantized KV
        cache", 2025. Korean: Marchisio et al. 2024, How does quantization affect multilingual
        LLMs?, arXiv:2407.03211 (languages of other scripts lose more).
    """
    key = (lever, choice)
    if key not in _COSTS:
        return None
    needed = _ARITHMETIC.get(choice)
    return LeverNote(
        lever=lever,
        choice=choice,
        costs=_COSTS[key],
        check=None if choice == "bf16" else QUALITY_CHECK,
        needs=_NEEDS[key],
        is_supported=None if gpu is None else needed is None or needed in gpu.flops,
    )
