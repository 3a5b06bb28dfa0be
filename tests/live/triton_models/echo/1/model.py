"""A Triton model that gives back each text reversed, after as long a wait as is asked for."""

import time
from typing import Any

import numpy as np
import triton_python_backend_utils as backend


class TritonPythonModel:
    """One request at a time: while it waits, others are queued by Triton."""

    def execute(self, requests: list[Any]) -> list[Any]:
        """One response for each request."""
        return [_answer(request) for request in requests]


def _answer(request: Any) -> Any:
    delay = backend.get_input_tensor_by_name(request, "delay_s")
    if delay is not None:
        time.sleep(float(delay.as_numpy().reshape(-1)[0]))
    texts = backend.get_input_tensor_by_name(request, "text_input").as_numpy()
    turned = [text.decode()[::-1].encode() for text in texts.reshape(-1)]
    output = np.array(turned, dtype=np.object_).reshape(texts.shape)
    return backend.InferenceResponse([backend.Tensor("text_output", output)])
