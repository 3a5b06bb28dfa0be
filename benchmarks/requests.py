"""Requests as the official OpenAI client sends them, in bytes made beforehand.

No body is as long as the one before it, so that no two heads in a row are equal.
"""

import itertools
import json

from benchmarks.subjects import Subject

BODIES = 64
_WORDS = ("how", "does", "the", "지원금", "신청", "절차를", "알려", "주세요", "invoice", "server")
_HEAD = """POST /v1/chat/completions HTTP/1.1\r
Host: 127.0.0.1:{port}\r
Accept-Encoding: gzip, deflate\r
Connection: keep-alive\r
Accept: application/json\r
Content-Type: application/json\r
User-Agent: OpenAI/Python 2.8.1\r
X-Stainless-Lang: python\r
X-Stainless-Package-Version: 2.8.1\r
X-Stainless-OS: Linux\r
X-Stainless-Arch: x64\r
X-Stainless-Runtime: CPython\r
X-Stainless-Runtime-Version: 3.12.12\r
Authorization: Bearer {key}\r
X-Stainless-Async: false\r
x-stainless-retry-count: 0\r
x-stainless-read-timeout: 600\r
Content-Length: {length}\r
\r
"""


def chat_requests(subject: Subject, *, stream: bool) -> list[bytes]:
    """Whole requests, 200 to 2,500 bytes of body each; the same ones for every subject."""
    requests = []
    for index in range(BODIES):
        text = " ".join(itertools.islice(itertools.cycle(_WORDS), 10 + 3 * index))
        messages = [
            {"role": "system", "content": "Answer shortly."},
            {"role": "user", "content": text},
        ]
        asked = {"messages": messages, "model": "fast", "max_tokens": 200, "temperature": 0.7}
        if stream:
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
        body = json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode()
        head = _HEAD.format(port=subject.port, key=subject.key, length=len(body))
        requests.append(head.encode() + body)
    return requests
