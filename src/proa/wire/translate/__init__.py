"""Requests and answers of one API in the words of another: bytes in, bytes out, no I/O.

One file per pair of APIs (`chat_triton`, `chat_tgi`, `messages_chat`); what they share of
OpenAI's side is in `openai_request` and `openai_answer`. Start with `base.py`.
"""
