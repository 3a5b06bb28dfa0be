"""Start-up logs of engines: text in, the facts that it states out.

`read.py` finds out whose log it is; one reader per engine (vllm, sglang, llamacpp) knows the
wordings of all its versions. What a log does not say is None, never zero. No file is opened here.
"""
