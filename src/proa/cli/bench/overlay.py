"""Several runs in one picture: speed, first token and throughput over the same load."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proa.cli.bench.pictures import points_of, slo_rule
from proa.cli.bench.plots import Curve, curves_plot
from proa.cli.page.blocks import Block, Plot, Prose
from proa.cli.texts import Texts

Document = Mapping[str, Any]
LOOKS = ("curve", "second", "third", "fourth", "fifth", "sixth")
_METRICS = (("speed", "user_tokens_per_s"), ("ttft", "ttft_s"), ("aggregate", None))


def overlaid(runs: Sequence[Document], texts: Texts) -> Iterator[Block]:
    """Runs over users together, those over rates together; nothing where only one has a kind."""
    for kind in ("users", "rate"):
        own = [told for told in runs if any(level[kind] for level in told["levels"])]
        if len(own) > 1:
            yield from _plots(own[: len(LOOKS)], kind, texts)
        if len(own) > len(LOOKS):
            yield Prose(texts.say("overlaid_left", count=len(LOOKS)))


def _plots(runs: Sequence[Document], kind: str, texts: Texts) -> Iterator[Block]:
    x = texts.say("plot_load" if kind == "users" else "plot_rate")
    for name, metric in _METRICS:
        curves = [
            Curve(name=told["file"], look=look, points=points_of(told["levels"], metric))
            for told, look in zip(runs, LOOKS, strict=False)
        ]
        shown = [curve for curve in curves if curve.points]
        rules = {slo_rule(told, metric, texts) for told in runs} if metric else set()
        if shown:
            title = texts.say(f"plot_{name}")
            rule = rules.pop() if len(rules) == 1 else None
            svg = curves_plot(shown, (x, title), rule=rule, names=True)
            yield Plot(svg, texts.say("caption_overlaid", what=title))
