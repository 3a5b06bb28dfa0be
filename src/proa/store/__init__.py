"""Where counts and records outlive the process: SQLite, PostgreSQL, Redis.

One file per database behind the interfaces of `base`; who needs none imports none.
"""
