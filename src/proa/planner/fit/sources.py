"""Where each line of a GPU's memory comes from, in both languages."""

from functools import cache

from proa.planner.text import Text


def named(name: str) -> Text:
    """A name of the engine's own, which no language translates."""
    return Text(name, name)


@cache
def sampler(bytes_per_logit: float) -> Text:
    """The dummy run's logits, of which some releases keep more copies than others."""
    number = f"{bytes_per_logit:g}"
    return Text(
        f"vLLM 기동 로그, 로짓당 {number} B", f"start-up logs of vLLM, {number} B per logit"
    )


TENSORS = Text("모델의 텐서", "the model's tensors")
FUSED_TENSORS = Text("모델의 텐서, vLLM의 결합 배치", "tensors of the model, vLLM's fused layout")
FILE_BITS = Text("파일의 가중치당 비트 수", "the file's bits per weight")
START_LOGS = Text("기동 로그", "start-up logs")
NON_TORCH = Text("기동 로그의 non-torch 메모리", "non-torch memory in start-up logs")
GRAPHS = Text("vLLM의 추정, 기동 로그에 맞춤", "vLLM's estimate, fitted on start-up logs")
GRAPHS_SMALL = Text("llama.cpp에서는 작음", "small for llama.cpp")
GRAPHS_LATER = Text("캐시를 잡은 뒤 캡처", "captured after the cache")
SHARE_LEFT = Text("엔진 몫에서 남은 것", "what is left of the engine's share")
FREE_AFTER_LOADING = Text("적재 후 남은 메모리", "free after loading")
CELLS = Text("셀 수 × 레이어 수", "cells x layers")
UBATCH = Text("ubatch 하나의 로짓", "logits of a ubatch")
BLOCKS = Text("블록 단위 할당", "whole blocks")
BLOCKS_AND_GROUPS = Text(
    "블록 단위 할당, 레이어 수가 다른 그룹", "whole blocks, groups of unequal layers"
)
DUMMY_RUN = Text("vLLM이 더미 실행에서 측정", "vLLM profiles it in the dummy run")
DUMMY_BUFFERS = Text("더미 실행의 샘플러와 입력 버퍼", "sampler and input buffers of the dummy run")
STEP = Text("한 스텝 동안만 사용", "taken for a step")
ALL_REDUCE = Text("all-reduce 버퍼", "all-reduce buffers")
NO_RESERVE = Text("vLLM은 몫 밖에 따로 남기지 않음", "vLLM keeps none beyond its share")
OPERATOR = Text("운영자가 남긴 여유", "the operator's")
ESTIMATE = Text("추정", "an estimate")
OF_FREE = Text(
    "남은 메모리의 1 - mem_fraction_static ({share})",
    "1 - mem_fraction_static ({share}), of free",
)
OF_REST = Text("나머지의 1 - 비율", "1 - the fraction, of the rest")
