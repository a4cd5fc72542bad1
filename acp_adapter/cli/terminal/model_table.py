"""Lists of models and of local model servers as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acp_adapter.cli.terminal.safe_text import one_line
from agent_core.providers.model_discovery import FoundServer
from agent_core.providers.model_listing import ListedModel

_HEADINGS = ("model", "context", "in", "cached", "out")
_UNKNOWN = "-"
_LONGEST_LIST = 12


def model_table(models: Sequence[ListedModel], configured: str | None) -> str:
    """One model a line with what is known of it; the configured one has a star."""
    rows = [_row(model) for model in models]
    widths = [max(len(row[column]) for row in (_HEADINGS, *rows)) for column in range(len(_HEADINGS))]
    lines = [_line(" ", _HEADINGS, widths)]
    lines += [
        _line("*" if model.id == configured else " ", row, widths) for model, row in zip(models, rows, strict=True)
    ]
    return "\n".join(lines) + "\n"


def server_table(servers: Sequence[FoundServer]) -> str:
    """One server a line with the names of its models, as far as there is place."""
    rows = [(server.service, server.base_url, _names(server.models)) for server in servers]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "".join(f"  {kind:<{widths[0]}}  {url:<{widths[1]}}  {names}\n" for kind, url, names in rows)


def ports_text(ports: Mapping[str, Sequence[int]]) -> str:
    """`ollama 11434, lmstudio 1234`."""
    return ", ".join(f"{name} {'/'.join(map(str, numbers))}" for name, numbers in ports.items())


def _row(model: ListedModel) -> tuple[str, ...]:
    facts = model.facts
    prices = (facts.input_price, facts.cached_price, facts.output_price)
    window = _UNKNOWN if facts.context_length is None else f"{facts.context_length:,}"
    return one_line(model.id), window, *map(_dollars, prices)


def _dollars(price: float | None) -> str:
    return _UNKNOWN if price is None else f"{price:.6f}".rstrip("0").rstrip(".")


def _line(mark: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *figures = cells
    aligned = (f"{figure:>{width}}" for figure, width in zip(figures, widths[1:], strict=True))
    return "  ".join((f"{mark} {name:<{widths[0]}}", *aligned))


def _names(models: Sequence[str]) -> str:
    if not models:
        return "no models yet"
    shown = [one_line(name) for name in models[:_LONGEST_LIST]]
    return ", ".join([*shown, *(["..."] if len(models) > _LONGEST_LIST else [])])
