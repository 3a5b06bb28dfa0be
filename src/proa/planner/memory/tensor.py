"""One tensor of a model, and how many of its numbers a GPU gets.

A tensor is `units` equal parts (heads, columns, experts), and a cut gives each rank some of
them. What cannot be cut lies on every rank whole.
"""

from enum import StrEnum
from math import ceil

import msgspec

from proa.planner.layout import LayoutSpec


class Role(StrEnum):
    """What a tensor is for."""

    EMBEDDING = "embedding"
    HEAD = "head"
    ATTENTION = "attention"
    LINEAR_ATTENTION = "linear_attention"
    DENSE_FEED = "dense_feed"
    EXPERT = "expert"
    SHARED_EXPERT = "shared_expert"
    ROUTER = "router"
    NORM = "norm"
    EXTRA = "extra"


class Cut(StrEnum):
    """How ranks share a tensor: not at all, by TP, or as the experts lie."""

    WHOLE = "whole"
    TENSOR = "tensor"
    EXPERTS = "experts"


class Tensor(msgspec.Struct, frozen=True, kw_only=True):
    """`units` parts of `unit_parameters` numbers each, `experts` times; `input_width` columns.

    `matrix` is False for what is never quantised: norms, biases, convolutions.
    """

    name: str
    role: Role
    units: int
    unit_parameters: int
    cut: Cut = Cut.TENSOR
    experts: int = 1
    input_width: int = 1
    matrix: bool = True

    @property
    def parameters(self) -> int:
        """All of its numbers."""
        return self.units * self.unit_parameters * self.experts

    def parameters_per_gpu(self, layout: LayoutSpec) -> int:
        """Numbers on the GPU that has most of them.

        Units that are fewer than ranks are replicated (KV heads), and those that do not divide
        are padded up (vocabulary).
        """
        if self.cut is Cut.WHOLE:
            return self.parameters
        if self.cut is Cut.TENSOR:
            return ceil(self.units / layout.tensor_parallel) * self.unit_parameters
        ranks = layout.tensor_parallel * layout.data_parallel
        if layout.expert_parallel:
            return ceil(self.experts / ranks) * self.units * self.unit_parameters
        return self.experts * ceil(self.units / ranks) * self.unit_parameters


def matrix(name: str, role: Role, units: int, unit_rows: int, columns: int) -> Tensor:
    """Cut by `units` of `unit_rows` rows each."""
    return Tensor(
        name=name, role=role, units=units, unit_parameters=unit_rows * columns, input_width=columns
    )


def whole(name: str, role: Role, rows: int, columns: int) -> Tensor:
    """A matrix that no rank can do with less of."""
    return Tensor(
        name=name,
        role=role,
        units=rows,
        unit_parameters=columns,
        cut=Cut.WHOLE,
        input_width=columns,
    )


def vector(name: str, parameters: int, *, role: Role = Role.NORM) -> Tensor:
    """Numbers that are neither cut nor quantised: norms, biases, routers."""
    return Tensor(
        name=name, role=role, units=1, unit_parameters=parameters, cut=Cut.WHOLE, matrix=False
    )
