"""The demo's result as a person reads it."""

from rich.console import Console
from rich.table import Table

from proa.cli.demo.client import Answer
from proa.cli.demo.load import AddedLatency
from proa.cli.demo.result import DemoResult, usable_cpus

LENGTHS = (50, 200)
EXAMPLE_CHARACTERS = 90


def print_report(console: Console, result: DemoResult, texts: dict[str, str]) -> None:
    console.print(answers_table(result, texts))
    streamed = sum(stats.streamed for stats in result.kinds())
    whole = sum(stats.whole for stats in result.kinds())
    line(console, texts["streamed"].format(streamed=streamed, whole=whole, cut=result.together.cut))
    for answer in result.examples():
        line(console, f"{texts['example']}: {example(answer)}")
    console.print()
    console.print(speed_table(result, texts))
    line(console, texts["gain"].format(gain=result.gain, share=result.share_of_sum))
    line(console, texts[result.why].format(cpus=usable_cpus()))
    if result.machine_was_busy:
        line(console, texts["busy"].format(load=result.load_before, cpus=usable_cpus()))
    console.print()
    line(console, texts["latency"])
    for text in latency_lines(result.latency, texts):
        line(console, f"  {text}")
    console.print()
    line(console, texts["errors"].format(count=len(result.errors)))
    for error in result.errors[:5]:
        line(console, f"  {error}")
    line(console, texts["point"].format(url=result.fleet.gateway_url))


def line(console: Console, text: str) -> None:
    """Text as it is: no markup, no colour of numbers, no wrapping of a URL."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def answers_table(result: DemoResult, texts: dict[str, str]) -> Table:
    table = Table(title=texts["who"], title_justify="left")
    table.add_column(texts["column_kind"])
    for name in ("column_main", "column_aux", "column_first", "column_total"):
        table.add_column(texts[name], justify="right")
    for stats in result.kinds():
        table.add_row(
            texts[f"kind_{stats.kind}"],
            str(stats.by_engine["main"]),
            str(stats.by_engine["aux"]),
            seconds(stats.first_token_s),
            seconds(stats.total_s),
        )
    return table


def speed_table(result: DemoResult, texts: dict[str, str]) -> Table:
    title = texts["speed"].format(users=result.users)
    table = Table(title=title, title_justify="left")
    table.add_column(texts["column_phase"])
    for name in ("column_speed", "column_answered", "column_seconds"):
        table.add_column(texts[name], justify="right")
    for phase in result.phases:
        good = sum(not answer.error for answer in phase.answers)
        speed = f"{phase.tokens_per_s:.0f}"
        table.add_row(texts[f"phase_{phase.name}"], speed, str(good), f"{phase.seconds:.1f}")
    return table


def latency_lines(latency: list[AddedLatency], texts: dict[str, str]) -> list[str]:
    measured = {found.tokens: found for found in latency}
    lines = []
    for tokens in LENGTHS:
        if (found := measured.get(tokens)) is None:
            lines.append(texts["latency_none"].format(tokens=tokens))
            continue
        lines.append(
            texts["latency_line"].format(
                tokens=tokens,
                added=found.added_ms,
                direct=found.direct_ms,
                gateway=found.gateway_ms,
                pairs=found.pairs,
            )
        )
    if any(found.added_ms < 0 for found in latency):
        lines.append(texts["latency_noise"])
    return lines


def example(answer: Answer) -> str:
    said = " ".join(answer.text.split())
    return f"[{answer.engine}] {answer.question.text} → {said[:EXAMPLE_CHARACTERS]}"


def seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} s"
