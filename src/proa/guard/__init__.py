"""What may pass: personal data found, masked and restored; limits on prompts and tools.

Pure: texts and JSON in, findings and texts out; who is held to which mode is a value here
(`policy`), and `gateway` acts on it. Start at `scan`.
"""
