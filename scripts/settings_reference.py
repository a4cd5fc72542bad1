"""The reference in docs/configuration.md: every setting, from the model that reads them.

`python -m scripts.settings_reference docs/configuration.md` renews it. What a setting means stands in the model
(`agent_core/settings`), once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from agent_core.settings.model import RuleText, ServerSettings, Settings
from agent_core.settings.project import MAY_NARROW

BEGIN = "<!-- settings: written by `make docs` from agent_core/settings -->"
END = "<!-- end of settings -->"

_SHARED = "Keys of a server"
_SHARED_LINK = "[keys of a server](#keys-of-a-server)"
_NOT_WRITTEN = frozenset({"hooks.left_out", "hooks.EVENT[].event"})
_AS_WRITTEN = {"hooks.commands": "hooks.EVENT[]"}
_ENTRIES = {"custom_providers": "custom_providers[]", "fallback_providers": "fallback_providers[]"}
_MORE = {
    "model": "[Models](models.md)",
    "agent": "[Turns](turns.md)",
    "approvals": "[When you are asked](permissions.md#when-you-are-asked)",
    "compression": "[Long conversations](sessions.md#long-conversations)",
    "delegation": "[Sub-agents](delegation.md)",
    "editor": "[Editors](editors/README.md)",
    "model_lists": "[Choosing in the editor](models.md#choosing-in-the-editor)",
    "terminal": "[Other machines](environments.md), [what commands see](#what-commands-see)",
    "web": "[web_search](tools/web_search.md), [web_extract](tools/web_extract.md)",
    "lsp": "[Language servers](tools/diagnostics.md#language-servers)",
    "memory": "[Memory](memory.md)",
    "security": "[Secrets](security.md#secrets)",
    "code_execution": "[Programs that call tools](execute-code.md)",
    "sandbox": "[What the sandbox promises](security.md#what-the-sandbox-promises)",
    "programs": "[Opening a repository](security.md#opening-a-repository-runs-nothing-of-it)",
    "context_files": "[Rules files](rules-files.md)",
    "skills": "[Skills](skills.md)",
    "mcp": "[MCP servers](mcp.md)",
    "mcp_servers": "[Where they come from](mcp.md#where-they-come-from)",
    "background": "[Turns of its own](background.md#turns-of-its-own)",
    "telemetry": "[Traces](#traces)",
    "tool_loop_guardrails": "[Models that go round in circles](#models-that-go-round-in-circles)",
    "providers": "[Servers of your own](models.md#servers-of-your-own)",
    "custom_providers": "[Servers of your own](models.md#servers-of-your-own)",
    "fallback_providers": "[When a server fails](models.md#when-a-server-fails)",
    "credential_pool_strategies": "[When a server fails](models.md#when-a-server-fails)",
    "auxiliary": "[Side tasks](#side-tasks)",
    "plugins": "[Plugins](plugins.md)",
    "hooks": "[Hooks](hooks.md)",
    "platform_toolsets": "[Tools](tools/README.md)",
    "command_allowlist": "[Rules](permissions.md#rules)",
}
"""Where a part is told of."""


def reference() -> str:
    """All sections, in the order of the model."""
    parts = [_section(name, field) for name, field in Settings.model_fields.items()]
    rows = [row for name, field in ServerSettings.model_fields.items() for row in _rows(name, field)]
    about = "`model` and every entry that names a server may have them."
    return "\n\n".join([*parts, f"### {_SHARED}\n\n{about}\n\n{_table(rows)}"])


def keys() -> frozenset[str]:
    """Every key as it is written, from the part on; NAME stands for a name of the user's."""
    return frozenset(_keys())


def _keys() -> Iterator[str]:
    for part, field in Settings.model_fields.items():
        kind, prefix = _model_in(field.annotation), _prefix(part, field)
        if kind is None:
            yield prefix
            continue
        for name, inner in kind.model_fields.items():
            yield from (row.key for row in _rows(f"{prefix}.{inner.alias or name}", inner))


def _section(part: str, field: FieldInfo) -> str:
    kind, prefix = _model_in(field.annotation), _prefix(part, field)
    about = "" if kind is None else field.description or _first_paragraph(kind)
    more = f"More: {_MORE[part]}." if part in _MORE else ""
    lines = [f"### `{part}`", f"{about} {more}".strip()]
    if kind is None:
        return "\n\n".join([*lines, _table([_row(prefix, field)])])
    has_shared = issubclass(kind, ServerSettings)
    own = {name: each for name, each in kind.model_fields.items() if not _is_shared(name, has_shared=has_shared)}
    rows = [row for name, each in own.items() for row in _rows(f"{prefix}.{each.alias or name}", each)]
    lines.append(_table(rows))
    if has_shared:
        lines.append(f"Also the {_SHARED_LINK}.")
    return "\n\n".join(lines)


def _is_shared(name: str, *, has_shared: bool) -> bool:
    return has_shared and name in ServerSettings.model_fields


class _Row(tuple[str, str, str, str]):
    """The cells of a line; the first is the key."""

    __slots__ = ()

    @property
    def key(self) -> str:
        return self[0]


def _rows(key: str, field: FieldInfo) -> Iterator[_Row]:
    """The key's own line, or those of what is below it."""
    key = _AS_WRITTEN.get(key, key)
    if key in _NOT_WRITTEN:
        return
    kind = _model_in(field.annotation)
    if kind is None:
        yield _row(key, field)
        return
    for name, inner in kind.model_fields.items():
        yield from _rows(f"{key}.{inner.alias or name}", inner)


def _row(key: str, field: FieldInfo) -> _Row:
    meaning = field.description or ""
    part, _, rest = key.partition(".")
    if rest in MAY_NARROW.get(part, ()):
        meaning += " A project may narrow it."
    return _Row((key, _type(field), _default(field), meaning))


def _table(rows: Sequence[_Row]) -> str:
    lines = [
        f"| `{key}` | {_cell(kind)} | {_cell(default)} | {_cell(meaning)} |" for key, kind, default, meaning in rows
    ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *lines])


def _type(field: FieldInfo) -> str:
    limits = _limits(field)
    return f"{_kind(field.annotation)}{f', {limits}' if limits else ''}"


def _kind(annotation: Any) -> str:
    if annotation == RuleText:
        return "rule"
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in {Union, UnionType}:
        return " or ".join(_kind(each) for each in inner if each is not NoneType)
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in inner if choice)
    if origin is tuple:
        return f"list of {_plural(_kind(inner[0]))}"
    if origin is dict:
        return f"names with {_plural(_kind(inner[1]))}" if inner[1] in {str, Any} else _kind(inner[1])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "entry"
    return {bool: "true or false", int: "whole number", float: "number", str: "text"}.get(annotation, "value")


def _plural(kind: str) -> str:
    return {"entry": "entries"}.get(kind, f"{kind}s")


def _limits(field: FieldInfo) -> str:
    low, high = "", ""
    for limit in field.metadata:
        if isinstance(limit, Ge):
            low = f"{limit.ge:,}"
        elif isinstance(limit, Gt):
            low = f"over {limit.gt:,}"
        elif isinstance(limit, Le):
            high = f"{limit.le:,}"
        elif isinstance(limit, Lt):
            high = f"under {limit.lt:,}"
    if low and high:
        return f"{low} to {high}"
    return f"at most {high}" if high else low if low.startswith("over") else f"at least {low}" if low else ""


def _default(field: FieldInfo) -> str:
    value = None if field.default is PydanticUndefined else field.default
    if value is None or value in {"", ()}:
        return "–"
    if isinstance(value, tuple):
        return ", ".join(f"`{each}`" for each in value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model of a part or of its entries, if it has one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) not in {dict, tuple}:
        return None
    found = [each for each in get_args(annotation) if isinstance(each, type) and issubclass(each, BaseModel)]
    return found[0] if found else None


def _prefix(part: str, field: FieldInfo) -> str:
    is_named = get_origin(field.annotation) is dict
    return f"{part}.{'TASK' if part == 'auxiliary' else 'NAME'}" if is_named else _ENTRIES.get(part, part)


def _first_paragraph(kind: type[BaseModel] | None) -> str:
    return " ".join((kind.__doc__ or "").strip().split("\n\n")[0].split()) if kind else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def with_reference(page: str, text: str) -> str:
    """The page with the reference between its marks.

    Raises:
        ValueError: the page has no marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page needs the lines {BEGIN} and {END} around its reference")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Renew the reference on the page that the arguments name."""
    if len(arguments) != 1:
        sys.stderr.write("Usage: python -m scripts.settings_reference docs/configuration.md\n")
        return 2
    path = Path(arguments[0])
    path.write_text(with_reference(path.read_text(encoding="utf-8"), reference()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
