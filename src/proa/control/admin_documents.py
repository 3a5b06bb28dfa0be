"""What the admin API says, as typed models: its OpenAPI document is made from them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class EngineDocument(BaseModel):
    """One engine: what `/admin/status` tells of it, where it comes from and what was changed."""

    model_config = ConfigDict(extra="allow")

    name: str
    url: str
    source: str = Field(description="file, command line, admin, or `discovery NAME`")
    kind: str
    state: str
    detail: str | None
    models: list[str] | None
    server: str
    weight: float
    max_concurrent_requests: int
    draining: bool
    leaving: bool = Field(description="it is taken out as soon as it has finished")
    changed: list[str] = Field(description="keys that were set at runtime")


class DiscoveryDocument(BaseModel):
    """One `[[discovery]]`: what it last saw, and why its last look failed."""

    name: str
    kind: str
    engines: list[str]
    seen_at_s: float | None
    error: str | None


class FleetDocument(BaseModel):
    """All engines, with the place where changes at runtime are kept."""

    generation: int
    state_file: str | None
    state_error: str | None
    engines: list[EngineDocument]
    discovery: list[DiscoveryDocument]
    notes: list[str]


class ChangeDocument(BaseModel):
    """What an added or changed engine has become.

    `warnings` are workers that did not take the change, and changes that a restart will
    forget; `notes` tell what was decided between several entries of one name.
    """

    engine: EngineDocument
    generation: int
    warnings: list[str]
    notes: list[str]


class RemovalDocument(BaseModel):
    """How an engine left; `requests_left` were still running when the time was over."""

    name: str
    removed: Literal[True] = True
    drained: bool
    requests_left: int
    generation: int
    warnings: list[str]
    notes: list[str]


class ReloadDocument(BaseModel):
    """What reading proa.toml again has led to."""

    reloaded: Literal[True] = True
    file: str | None = Field(description="the file; null when the command line names the engines")
    generation: int
    warnings: list[str]
    notes: list[str]


class StatusDocument(BaseModel):
    """The state of the whole gateway."""

    model_config = ConfigDict(extra="allow")

    version: str
    generation: int
    draining: bool
    not_ready_because: list[str]
    last_reload: dict[str, Any] | None
    workers: list[dict[str, Any]]
    engines: list[dict[str, Any]]


class TenantsDocument(BaseModel):
    """Configured tenants: what they have open, used and left, and how keeping it goes."""

    model_config = ConfigDict(extra="allow")

    usage: dict[str, Any] | None
    tenants: list[dict[str, Any]]


class ErrorFields(BaseModel):
    """What went wrong: `param` is the key or name that it is about."""

    message: str
    type: str
    param: str | None
    code: str


class ErrorDocument(BaseModel):
    """The form of every error."""

    error: ErrorFields
