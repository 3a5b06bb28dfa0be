"""The course of the demo once everything runs: three loads, then pairs for the latency."""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack

import msgspec

from proa.cli.demo.client import Answer, Target
from proa.cli.demo.fleet import DemoFleet
from proa.cli.demo.load import Phase, added_latency, closed_loop, pair_at_once
from proa.cli.demo.report import LENGTHS
from proa.cli.demo.result import DemoResult
from proa.cli.demo.settings import DemoSettings
from proa.cli.demo.texts import Question, load_catalogue
from proa.cli.demo.view import Board


class DemoTargets(msgspec.Struct, frozen=True):
    """The engines themselves, and both behind the gateway."""

    main: Target
    aux: Target
    gateway: Target


async def measure(fleet: DemoFleet, settings: DemoSettings, board: Board) -> DemoResult:
    """Everything that the report tells."""
    catalogue = load_catalogue()
    long_question = next(q for q in catalogue.questions if q.kind == "report")
    alone_s, load_before = settings.alone_s, os.getloadavg()[0]
    async with AsyncExitStack() as stack:
        targets = await _targets(stack, fleet, catalogue.system)
        load = _Load(itertools.cycle(catalogue.questions), settings, board)
        main = await load.run(Phase("main"), targets.main, alone_s)
        aux = await load.run(Phase("aux"), targets.aux, alone_s)
        together = await load.run(
            Phase("together"), targets.gateway, settings.together_s, drain_s=settings.drain_s
        )
        board.show_status(board.texts["phase_latency"])
        pairs = await _pairs(targets, long_question, settings)
    return DemoResult(
        fleet=fleet,
        phases=(main, aux, together),
        latency=added_latency(pairs, LENGTHS),
        latency_errors=[f"latency: {a.error}" for pair in pairs for a in pair if a.error],
        users=settings.users,
        load_before=load_before,
    )


async def _targets(stack: AsyncExitStack, fleet: DemoFleet, system: str) -> DemoTargets:
    urls = fleet.engine_urls | {"proa": fleet.gateway_url}
    targets = [
        Target(name, url, model=fleet.model, system=system, is_gateway=name == "proa")
        for name, url in urls.items()
    ]
    for target in targets:
        await stack.enter_async_context(target)
    return DemoTargets(*targets)


class _Load(msgspec.Struct, frozen=True):
    """The same load for each target: one stream of questions, so many users."""

    questions: Iterator[Question]
    settings: DemoSettings
    board: Board

    async def run(
        self, phase: Phase, target: Target, seconds: float, *, drain_s: float = 0.0
    ) -> Phase:
        self.board.add_phase(phase)
        users = self.settings.users
        async with closed_loop(phase, target, self.questions, users=users, drain_s=drain_s):
            await phase.run_for(self.settings.warm_up_s, least_tokens=1)
            phase.begin()
            await phase.run_for(seconds, least_tokens=self.settings.least_tokens)
        return phase


async def _pairs(
    targets: DemoTargets, question: Question, settings: DemoSettings
) -> list[tuple[Answer, Answer]]:
    """Pairs that change sides each time: direct to one engine, through the gateway to the other.

    The gateway sends a report to main and the same words as FAQ to aux.
    """
    as_kind = {"main": question, "aux": msgspec.structs.replace(question, kind="faq")}
    sides = itertools.cycle(((targets.main, targets.aux), (targets.aux, targets.main)))
    pairs: list[tuple[Answer, Answer]] = []
    began_s = time.perf_counter()
    orders = itertools.cycle((False, False, True, True))
    for (direct, other), tokens, gateway_first in zip(
        sides, _lengths(settings.most_pairs), orders, strict=False
    ):
        asked_direct, asked_gateway = (
            msgspec.structs.replace(as_kind[target.name], max_tokens=tokens)
            for target in (direct, other)
        )
        pair = await pair_at_once(
            (direct, asked_direct), (targets.gateway, asked_gateway), gateway_first=gateway_first
        )
        relayed = pair[1]
        if relayed.engine != other.name and not relayed.error:
            relayed.error = f"the gateway asked {relayed.engine} and not {other.name}"
        pairs.append(pair)
        over = time.perf_counter() - began_s >= settings.latency_s
        if over and len(pairs) > settings.least_pairs:
            break
    return pairs[1:]


def _lengths(most_pairs: int) -> list[int]:
    """One token to read the prompt, then a long answer, which tells of a short one too, in four."""
    short, long = LENGTHS
    return [1, *(long if number % 4 == 0 else short for number in range(most_pairs))]
