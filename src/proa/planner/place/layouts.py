"""The layouts that an engine starts with, from one GPU up to several servers."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from proa.domain.llm import ExpertFeed, LlmSpec
from proa.errors import FieldError
from proa.planner.layout import LayoutSpec
from proa.planner.place.parallel_limits import allowed_tensor_parallel, check_parallel

STAGES = (1, 2, 3, 4, 6, 8)
"""Pipeline stages that are tried."""

_STAGES_ONLY = frozenset({"llamacpp"})
_TENSOR_ONLY = frozenset({"tgi"})


class LayoutLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What layouts may be: None leaves a dimension free.

    Tensor parallelism stays within a server of `gpus_per_server` GPUs; pipeline stages may lie
    on up to `servers` of them, which `server_link` joins (`links.LINK_NAMES`).
    `expert_parallel` None tries both where there are experts.
    """

    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    expert_parallel: bool | None = None
    gpus_per_server: int = 8
    servers: int = 4
    server_link: str = "infiniband"

    def __post_init__(self) -> None:
        for field in ("gpus_per_server", "servers"):
            if getattr(self, field) < 1:
                raise FieldError(field, getattr(self, field), "a whole number from 1")


class ReplicaLinks(NamedTuple):
    """Links between a replica's GPUs, and between its stages where they lie on several servers.

    None is the fastest that the GPU has in its server, and for stages the same as for GPUs.
    """

    link: str | None = None
    stage_link: str | None = None


OWN_LINKS = ReplicaLinks()
"""The fastest links that a GPU has in its server."""


def links_of(layout: LayoutSpec, limits: LayoutLimits, link: str | None) -> ReplicaLinks:
    """The links of one replica: `link` within a server, the server's own where it is left."""
    if layout.tensor_parallel > limits.gpus_per_server:
        return ReplicaLinks(limits.server_link, limits.server_link)
    if layout.gpus > limits.gpus_per_server:
        return ReplicaLinks(link, limits.server_link)
    return ReplicaLinks(link)


def candidate_layouts(llm: LlmSpec, engine: str, limits: LayoutLimits) -> tuple[LayoutSpec, ...]:
    """All layouts of one replica, those of few GPUs first.

    llama.cpp lays layers out, so it has stages only; TGI has no stages. A replica that does not
    fit a server fills servers: tensor parallel within, stages between. Sizes that were asked
    are taken as they are, even beyond a server.

    Raises:
        FieldError: what was asked splits the model where no engine can.
    """
    if limits.tensor_parallel or limits.pipeline_parallel or limits.expert_parallel:
        check_parallel(
            llm,
            limits.tensor_parallel or 1,
            limits.pipeline_parallel or 1,
            expert_parallel=bool(limits.expert_parallel),
        )
    found = dict.fromkeys(_layouts(llm, engine, limits))
    return tuple(sorted(found, key=lambda each: (each.gpus, each.tensor_parallel)))


def servers_of(layout: LayoutSpec, gpus_per_server: int) -> int:
    """Servers that one replica lies on."""
    return -(-layout.gpus // gpus_per_server)


def _layouts(llm: LlmSpec, engine: str, limits: LayoutLimits) -> Iterator[LayoutSpec]:
    for expert_parallel in _expert_choices(llm, engine, limits):
        for tensor in _tensor_sizes(llm, engine, limits, expert_parallel):
            for stages in _stages(llm, engine, limits, tensor):
                yield LayoutSpec(
                    tensor_parallel=tensor,
                    pipeline_parallel=stages,
                    expert_parallel=expert_parallel and tensor > 1,
                )


def _expert_choices(llm: LlmSpec, engine: str, limits: LayoutLimits) -> tuple[bool, ...]:
    if limits.expert_parallel is not None:
        return (limits.expert_parallel,)
    has_experts = any(isinstance(group.feed, ExpertFeed) for group in llm.layers)
    return (False, True) if has_experts and engine not in _STAGES_ONLY else (False,)


def _tensor_sizes(
    llm: LlmSpec, engine: str, limits: LayoutLimits, expert_parallel: bool
) -> tuple[int, ...]:
    if limits.tensor_parallel:
        return (limits.tensor_parallel,)
    if engine in _STAGES_ONLY:
        return (1,)
    return allowed_tensor_parallel(
        llm, at_most=limits.gpus_per_server, expert_parallel=expert_parallel
    )


def _stages(llm: LlmSpec, engine: str, limits: LayoutLimits, tensor: int) -> Iterator[int]:
    if limits.pipeline_parallel:
        yield limits.pipeline_parallel
        return
    for stages in (1,) if engine in _TENSOR_ONLY else STAGES:
        gpus = tensor * stages
        beyond = gpus > limits.gpus_per_server
        whole_servers = tensor == limits.gpus_per_server or limits.gpus_per_server == 1
        in_reach = gpus <= limits.gpus_per_server * limits.servers
        if stages <= llm.layer_count and in_reach and (whole_servers or not beyond):
            yield stages
