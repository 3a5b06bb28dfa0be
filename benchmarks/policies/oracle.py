"""Offline oracle: it knows engines, arrivals and lengths, and searches the best assignment.

No online policy can be sure to reach it. The search starts from greedy assignments and
moves or swaps requests as long as that helps; what it finds is a bound from above on the
true optimum of the figure, so that "within 10 % of the oracle" is a little too kind by
as much as the search missed.
"""

from collections.abc import Callable, Sequence
from random import Random

from benchmarks.policies.virtual import Ask, Clock, VirtualEngine, VirtualEngineSpec

Figure = Callable[[Sequence[Ask]], float]


def makespan_s(done: Sequence[Ask]) -> float:
    """From the first request sent to the last token of all."""
    return max(ask.last_s or 0.0 for ask in done) - min(ask.sent_s for ask in done)


def ttft_p95_s(done: Sequence[Ask]) -> float:
    found = sorted(ask.ttft_s for ask in done)
    return found[min(len(found) - 1, int(0.95 * len(found)))]


def replay(asks: Sequence[Ask], spec: VirtualEngineSpec) -> list[Ask]:
    """The requests on one engine, each sent when it is due."""
    clock = Clock()
    engine = VirtualEngine(spec, clock)
    played = [Ask(ask.input_tokens, ask.output_tokens, due_s=ask.due_s) for ask in asks]

    def send(ask: Ask) -> None:
        ask.sent_s = clock.now_s
        engine.send(ask)

    for ask in played:
        clock.at(ask.due_s, lambda ask=ask: send(ask))  # type: ignore[misc]
    clock.run()
    return played


class Oracle:
    """The least of a figure that the search finds for requests on engines."""

    def __init__(self, asks: Sequence[Ask], specs: Sequence[VirtualEngineSpec], seed: int) -> None:
        self._asks = list(asks)
        self._specs = list(specs)
        self._rng = Random(seed)

    def least(self, figure: Figure, starts: Sequence[Sequence[int]], moves: int) -> float:
        """After `moves` tried changes from the best of `starts` and of the greedy ones."""
        begun = [list(start) for start in (*starts, *self._greedy())]
        places = min(begun, key=lambda start: figure(self._play(start)))
        played = [self._on(places, index) for index in range(len(self._specs))]
        best = figure([ask for done in played for ask in done])
        for _ in range(moves):
            changed, touched = self._changed(places)
            again = [
                self._on(changed, index) if index in touched else played[index]
                for index in range(len(self._specs))
            ]
            found = figure([ask for done in again for ask in done])
            if found <= best:
                places, played, best = changed, again, found
        return best

    def _greedy(self) -> list[list[int]]:
        """The shortest to the slow engine, so many that the engines' work is even, and all cuts."""
        order = sorted(range(len(self._asks)), key=lambda i: self._asks[i].output_tokens)
        slow = max(range(len(self._specs)), key=lambda i: self._specs[i].step.step_s(1))
        fast = min(range(len(self._specs)), key=lambda i: self._specs[i].step.step_s(1))
        cuts = []
        for cut in range(0, len(order), max(1, len(order) // 40)):
            places = [fast] * len(order)
            for index in order[:cut]:
                places[index] = slow
            cuts.append(places)
        return cuts

    def _changed(self, places: list[int]) -> tuple[list[int], set[int]]:
        """One request moved, or two swapped, and the engines that this touches."""
        rng, changed = self._rng, places.copy()
        one = rng.randrange(len(places))
        other = rng.randrange(len(places))
        if rng.random() < 0.5 or places[one] == places[other]:
            changed[one] = rng.randrange(len(self._specs))
            return changed, {places[one], changed[one]}
        changed[one], changed[other] = places[other], places[one]
        return changed, {places[one], places[other]}

    def _play(self, places: Sequence[int]) -> list[Ask]:
        return [ask for index in range(len(self._specs)) for ask in self._on(places, index)]

    def _on(self, places: Sequence[int], index: int) -> list[Ask]:
        mine = [ask for ask, place in zip(self._asks, places, strict=True) if place == index]
        return replay(mine, self._specs[index])
