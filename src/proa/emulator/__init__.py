"""An engine without a GPU: the protocols of real engines, with the timing of a profile.

`scheduler.py` and what it is made of (kv, slots, sequence) decide and know no clock; `virtual.py`
drives them without waiting, `engine.py` in real time. One file per protocol: vllm, sglang, tgi,
llamacpp. Start with `scheduler.py` for the behaviour, with `server.py` for the program.
"""
