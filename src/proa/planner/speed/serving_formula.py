"""The arithmetic of an engine under load, on `step_formula`: floats and numpy arrays alike.

Closed loop: users ask again as soon as they are answered, as a load generator does it.
Open loop: requests come by themselves, at a rate. All counts are those of one data-parallel
rank of one engine.
"""

from typing import NamedTuple

from proa.planner.speed.step_formula import (
    Number,
    Pace,
    Work,
    added_prompt_s,
    decode_s,
    larger,
    matrices_s,
    prompt_s,
    smaller,
)

_ROUNDS = 24
_TAIL = 0.05
LENGTH_SPREAD = 0.2
"""How far answers' lengths differ where nobody says: as public load tests ask for them."""


class Serving(NamedTuple):
    """How an engine treats requests.

    `first_s` is spent on a request outside the passes (HTTP, tokens, scheduling), `launch_s` on
    each kernel of a prompt's pass, which no CUDA graph holds. `first_steps` gaps between tokens
    pass before the first token is out: one at the least, more where an engine sends several
    tokens at a time, fetches requests seldom or schedules ahead. `burst` is the part of the other
    users' prompts that stands before one's own, `lockstep` that part where all answers have one
    length and end together: 1 for an engine that reads prompts before it goes on with answers, 0
    for one that mixes them. `blocked` is the part of a prompt's time in which running streams
    wait. A prompt is cut in chunks of `chunk_tokens`.
    """

    first_s: Number
    launch_s: Number
    first_steps: Number
    burst: Number
    lockstep: Number
    blocked: Number
    chunk_tokens: Number


class Engine(NamedTuple):
    """A model on a GPU in an engine: what the functions here want to know of it."""

    work: Work
    pace: Pace
    serve: Serving


class Load(NamedTuple):
    """`demand` is users (closed loop) or requests/s (open loop), `places` sequences that fit.

    `new_tokens_in` are those of the input that no prefix cache holds. Answers have `tokens_out`
    on average and differ by `length_spread` of it, 0 where all are alike.
    """

    demand: Number
    places: Number
    tokens_in: Number
    new_tokens_in: Number
    tokens_out: Number
    length_spread: Number = LENGTH_SPREAD


class Served(NamedTuple):
    """Times in seconds; `busy` is the part of the time that prompts take, over 1 is too much."""

    ttft_s: Number
    ttft_p95_s: Number
    step_s: Number
    tpot_s: Number
    running: Number
    busy: Number


def prefill_s(engine: Engine, load: Load) -> Number:
    """One prompt alone, cut in chunks: each has the fixed part of a pass and reads all weights."""
    work, pace, serve = engine
    tokens, cached = load.new_tokens_in, load.tokens_in - load.new_tokens_in
    cuts = larger(tokens / serve.chunk_tokens, 1.0)
    fixed = work.kernels * pace.kernel_s + pace.step_s + work.hops * work.hop_s
    again = cuts * matrices_s(work, pace, tokens / cuts) - matrices_s(work, pace, tokens)
    return prompt_s(work, pace, cached, tokens) + (cuts - 1) * fixed + again


def added_s(engine: Engine, load: Load, sequences: Number) -> Number:
    """What one prompt adds to the passes in which `sequences` decode."""
    cached = load.tokens_in - load.new_tokens_in
    return added_prompt_s(engine.work, engine.pace, sequences, (cached, load.new_tokens_in))


def step_of(engine: Engine, load: Load, sequences: Number) -> Number:
    """A decode step in the middle of the answers: context is input + output / 2."""
    return decode_s(engine.work, engine.pace, sequences, load.tokens_in + load.tokens_out / 2)


def closed_loop(engine: Engine, load: Load) -> Served:
    """Users who ask again at once.

    n = min(users, places)
    tpot = step(n) + blocked x (n - 1) / output x prompt's own time
    ttft = handling + launches + first steps x tpot + prompt + ahead x (n - 1) / 2 prompts + turn
    ahead = burst + lockstep / (1 + spread x output)
    turn = (users - n) / n x (ttft without it + output x tpot)

    In the time of one answer each of the other n - 1 streams reads one prompt, in whose passes
    this one waits. A load test begins with all prompts at once, and answers of one length end
    together ever after where no answer goes on while prompts are read; lengths that differ by
    so many tokens scatter over as many steps. The last of 20 has almost twice the mean wait.
    Users beyond the places wait for somebody's whole answer.
    """
    serve = engine.serve
    count = smaller(load.demand, load.places)
    others = larger(count - 1, 0.0)
    step = step_of(engine, load, count)
    added = added_s(engine, load, count)
    tpot = step + serve.blocked * others / load.tokens_out * added
    together = serve.burst + serve.lockstep / (1 + load.length_spread * load.tokens_out)
    ahead = together * others / 2 * added
    own = _own_s(engine, load, tpot)
    turn = (load.demand - count) / count * (own + ahead + load.tokens_out * tpot)
    late = 2 * (1 - _TAIL)
    busy = others * added / (load.tokens_out * tpot)
    return Served(own + ahead + turn, own + late * ahead + turn, step, tpot, count, busy)


def open_loop(engine: Engine, load: Load) -> Served:
    """Requests that come by themselves (Poisson), at `load.demand` per second.

    busy = rate x prompt's own time
    tpot = step(n) / (1 - blocked x busy)   n = rate x output x tpot (Little), solved together
    wait = busy x prompt / (2 (1 - busy))   (M/D/1);  P(wait > t) = busy e^(-t busy / wait)

    With `busy` of 1 or more, or n beyond the places, no steady state exists; times are then
    those just below it.

    Source:
        Pollaczek-Khinchine with constant service; the tail is exponential with the same mean.
    """
    serve = engine.serve
    count = load.demand * load.tokens_out * step_of(engine, load, 0.0 * load.demand + 1.0)
    for _ in range(_ROUNDS):
        count = smaller(count, load.places)
        step = step_of(engine, load, count)
        added = added_s(engine, load, count)
        busy = load.demand * added
        tpot = step / (1 - serve.blocked * smaller(busy, 0.95))
        count = (count + load.demand * load.tokens_out * tpot) / 2
    steady = smaller(busy, 0.95)
    wait = steady * added / (2 * (1 - steady))
    tail = larger(_log(larger(steady, _TAIL) / _TAIL), 0.0) * added / (2 * (1 - steady))
    own = _own_s(engine, load, tpot)
    late = larger(tail, wait)
    return Served(own + wait, own + late, step, tpot, count, busy)


def _own_s(engine: Engine, load: Load, tpot: Number) -> Number:
    """What a request waits for that nobody else asked for."""
    work, _, serve = engine
    fixed = serve.first_s + work.kernels * serve.launch_s + serve.first_steps * tpot
    return fixed + prefill_s(engine, load)


def _log(value: Number) -> Number:
    """The natural logarithm of 1 to 20, without numpy or math: atanh's series after a halving."""
    root = value**0.125
    part = (root - 1) / (root + 1)
    return 16 * (part + part**3 / 3 + part**5 / 5)
