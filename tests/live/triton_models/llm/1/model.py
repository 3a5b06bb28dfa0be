"""A Triton model that answers like a language model: token by token, until told to stop."""

import time
from threading import Thread
from typing import Any

import numpy as np
import triton_python_backend_utils as backend

STEP_S = 0.01
DEFAULT_TOKENS = 8


class TritonPythonModel:
    """Decoupled: each request has a thread that sends its responses."""

    def execute(self, requests: list[Any]) -> None:
        """Begin to answer; responses come through each request's sender."""
        for request in requests:
            Thread(target=_generate, args=(request,), daemon=True).start()


def _generate(request: Any) -> None:
    sender = request.get_response_sender()
    stream = bool(_number(request, "stream", 0))
    words = []
    for index in range(_number(request, "max_tokens", DEFAULT_TOKENS)):
        if request.is_cancelled():
            backend.Logger.log_info(f"cancelled after {index} tokens")
            break
        time.sleep(STEP_S)
        words.append(f"word{index} ")
        if stream:
            sender.send(_response(words[-1]))
    if not stream:
        sender.send(_response("".join(words)))
    sender.send(flags=backend.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


def _number(request: Any, name: str, default: int) -> int:
    tensor = backend.get_input_tensor_by_name(request, name)
    return default if tensor is None else int(tensor.as_numpy().reshape(-1)[0])


def _response(text: str) -> Any:
    output = np.array([text.encode()], dtype=np.object_)
    return backend.InferenceResponse([backend.Tensor("text_output", output)])
