"""HTTP/1.1 heads and framing, the API fields that we touch, SSE: bytes in, values out.

No I/O and no decisions about engines.
Start with `request_head.py`.
"""
