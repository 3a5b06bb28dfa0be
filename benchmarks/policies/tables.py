"""The figures for a person."""

from typing import Any


def table(data: dict[str, Any]) -> str:
    """Whatever of the figures is there."""
    lines: list[str] = []
    if "machine" in data:
        lines += ["{cpus} × {cpu}, Python {python}, nginx {nginx}".format(**data["machine"]), ""]
    lines += _users(data.get("users", {}))
    lines += _pairs(data.get("pairs", {}), data.get("alone", {}))
    for name, found in data.get("change", {}).items():
        lines.append(f"main engine {name} in mid-run: {found['users']} users, "
                     f"{found['attainment']:.1%} good")  # fmt: skip
    if "llamacpp" in data:
        text = "two real llama.cpp engines, tok/s: proa {proa_tokens_per_s}, direct clients "
        text += "{direct_tokens_per_s}, {share:.1%} ± {share_error:.1%} of them"
        lines.append(text.format(**data["llamacpp"]))
    lines += _virtual(data.get("virtual", {}))
    return "\n".join(lines)


def _users(found: dict[str, Any]) -> list[str]:
    if not found:
        return []
    lines = ["users at ≥ 30 tok/s in ≥ 95 % of requests, reference pair (limit 115)"]
    for name, result in found.items():
        levels = ", ".join(f"{at['users']}: {at['attainment']:.1%}" for at in result["levels"])
        lines.append(f"  {name:30}{result['users']:>5}   ({levels})")
    return [*lines, ""]


def _pairs(found: dict[str, Any], alone: dict[str, Any]) -> list[str]:
    lines = []
    for pair, gateways in found.items():
        sum_of_both = alone.get(pair, {}).get("good_tokens_per_s", 0.0)
        lines.append(f"{pair}: goodput, both alone {sum_of_both:,.0f} tok/s")
        for name, at in gateways.items():
            share = at["good_tokens_per_s"] / sum_of_both if sum_of_both else 0.0
            lines.append(
                f"  {name:30}{at['good_tokens_per_s']:>8,.0f} tok/s {share:>7.1%}   "
                f"{at['users']} users, {at['attainment']:.1%} good, "
                f"TTFT P95 {at['ttft_p95_s'] * 1e3:,.0f} ms"
            )
    return [*lines, ""] if lines else []


def _virtual(found: dict[str, Any]) -> list[str]:
    lines = []
    for pair, policies in found.get("users", {}).items():
        told = ", ".join(
            f"{name} {at['users']} ({at['share_of_goodput']:.1%}, {at['share_settled']:.1%})"
            for name, at in policies.items()
        )
        lines.append(f"virtual, {pair}: users (goodput of both alone, then settled): {told}")
    for pair, kinds in found.get("bursts", {}).items():
        for kind, policies in kinds.items():
            told = ", ".join(
                f"{name} {at['makespan']:.2f} / {at['ttft_p95']:.2f}"
                for name, at in policies.items()
            )
            lines.append(f"virtual, {pair}, {kind}: makespan / TTFT P95 over the oracle's: {told}")
    for name, at in found.get("change", {}).items():
        lines.append(f"virtual, main engine {name} in mid-run: {at['users']} users, "
                     f"{at['attainment']:.1%} good")  # fmt: skip
    return lines
