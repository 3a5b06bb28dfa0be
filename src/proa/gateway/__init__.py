"""The data plane: connections, exchanges, the upstream pool, workers and their supervisor.

Polling and the admin API are not here (control/), nor is any choice of an engine (routing/).
Start with `exchange.py`, the life of one request.
"""
