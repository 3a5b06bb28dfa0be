"""An API key as `proa keys` shows it."""

from proa.cli.texts import Texts
from proa.config.moments import written
from proa.domain.tenant import DEFAULT_TENANT
from proa.gateway.settings import KeySpec


def key_entry(key: KeySpec, now_s: float) -> dict[str, object]:
    """A key as JSON; the keys are stable."""
    return {
        "name": key.name,
        "tenant": key.tenant,
        "role": "admin" if key.admin else "user",
        "max_concurrent_requests": key.max_concurrent_requests,
        "priority": key.priority,
        "created": None if key.created_s is None else written(key.created_s),
        "expires": None if key.expires_s is None else written(key.expires_s),
        "expired": key.expires_s is not None and key.expires_s <= now_s,
        "old_key_expires": None if key.old_expires_s is None else written(key.old_expires_s),
    }


def told_of_key(key: KeySpec, texts: Texts, now_s: float) -> list[str]:
    """What its requests may do, as far as that differs from the usual."""
    told = []
    if key.tenant != DEFAULT_TENANT:
        told.append(texts.say("tenant", tenant=key.tenant))
    if key.max_concurrent_requests:
        told.append(texts.say("limit", count=key.max_concurrent_requests))
    if key.priority is not None:
        told.append(texts.say("priority", priority=key.priority))
    told += [texts.say("admin")] * key.admin
    if key.expires_s is not None:
        is_over = key.expires_s <= now_s
        told.append(texts.say("expired" if is_over else "expires", at=written(key.expires_s)))
    if key.old_expires_s is not None and key.old_expires_s > now_s:
        told.append(texts.say("old", at=written(key.old_expires_s)))
    return told
