"""The pages of docs/tools: what each tool takes, from its schema.

`python -m scripts.tool_pages docs/tools` renews them; what is worth knowing beside the schema comes from
`docs/tools/notes/NAME.md`, or from the page of the tool's family (`docs/tools/browser.md`). Notes are no pages: their
links are those of the page that they become a part of.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tools.registry import ToolEntry, registry
from tools.settings import ToolSettings
from tools.toolsets import DEFAULT, TOOLSETS, load_builtin_tools

INDEX = "README.md"
NOTES = "notes"
MARK = "<!-- written by `make docs` from the tool's schema -->"

_PARALLEL = {
    "never": "Never runs beside other calls.",
    "safe": "Runs beside other calls of the same answer.",
    "paths": "Runs beside other calls of the same answer that work on other paths.",
}
_INTRODUCTION = """\
What the model can do. Each tool belongs to a toolset; an editor's session has the toolsets of the preset
`hermes-acp`, with the tools of [your own](own-tools.md), of plugins and of MCP servers. A tool that needs something
which is not there (a key, an extra, a browser) is not offered. What a tool does to files, commands and the network
is asked about as [permissions](../permissions.md) says. Edits tell the model [what they broke](diagnostics.md).

**Names of other agents.** Many models know another agent's tools: `bash`, `Edit`, `str_replace_editor`,
`file_path`, `cmd`. A name that differs in case, punctuation or a prefix alone (`functions.terminal`) is the tool. A
call by another agent's name whose arguments plainly map runs as the tool that it means, with a note to the model;
otherwise the answer shows a call of the right tool. What you are asked, hooks, plan mode, cards and the stored
conversation always have the real tool, and nothing that the session does not offer is reached. A tool of that very
name, of yours, a plugin or a server, comes first. Arguments are taken under their usual other names too,
milliseconds as such (`timeout_ms`). Two that contradict each other, or one that means nothing to a tool that
changes something, are an error before anything runs; a tool that only looks says which one it has ignored.
"""


def pages(folder: Path) -> dict[str, str]:
    """Each generated page's file name and text. `folder` is where notes are."""
    load_builtin_tools()
    entries = sorted((entry for entry in registry.entries() if is_ours(entry)), key=lambda entry: entry.name)
    written = {f"{entry.name}.md": page(entry, _notes(folder, entry)) for entry in entries}
    return {INDEX: index(entries), **written}


def is_ours(entry: ToolEntry) -> bool:
    """Whether the tool comes with this program, and not from a test or a file of the user's."""
    return not entry.source and getattr(entry.handler, "__module__", "").startswith("tools.")


def index(entries: Sequence[ToolEntry]) -> str:
    """The page that leads to the others."""
    included = TOOLSETS[DEFAULT].includes
    parts = [f"# Tools\n\n{MARK}\n\n{_INTRODUCTION}"]
    by_toolset = sorted(entries, key=lambda entry: (entry.toolset not in included, _place(entry.toolset), entry.name))
    for toolset, group in groupby(by_toolset, key=lambda entry: entry.toolset):
        about = TOOLSETS[toolset].description if toolset in TOOLSETS else ""
        lines = [f"- [{entry.name}]({entry.name}.md): {_first_sentence(entry.description)}" for entry in group]
        parts.append("\n".join([f"## {toolset}", "", *([about, ""] if about else []), *lines, ""]))
    return "\n".join(parts)


def page(entry: ToolEntry, notes: str = "") -> str:
    """A tool's page."""
    parts = [f"# {entry.name}", MARK, entry.description.strip(), _facts(entry), _parameters(entry.schema)]
    if notes:
        parts.append(f"## Worth knowing\n\n{notes}")
    size = len(json.dumps(entry.definition(_all()), ensure_ascii=False))
    parts.append(f"What the model is told of it: {size:,} characters in each request.")
    return "\n\n".join(parts) + "\n"


def _all() -> frozenset[str]:
    return frozenset(entry.name for entry in registry.entries() if is_ours(entry))


def _facts(entry: ToolEntry) -> str:
    limit = entry.max_result_size_chars or ToolSettings().max_result_chars
    lines = [f"- Toolset: `{entry.toolset}`.", f"- {_PARALLEL[entry.parallel]}"]
    lines.append(f"- A result over {limit:,} characters is cut; all of it is then in a file that the model can read.")
    if entry.requires_env:
        lines.append(f"- Needs {', '.join(f'`{name}`' for name in entry.requires_env)} in the environment.")
    if entry.check_fn is not None:
        lines.append("- Offered only where what it needs is there.")
    return "\n".join(lines)


def _parameters(schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties") or {}
    if not properties:
        return "It takes no arguments."
    required = set(schema.get("required", ()))
    rows = [row for name, part in properties.items() for row in _rows(name, part, is_required=name in required)]
    return "\n".join(["| argument | type | default | meaning |", "|---|---|---|---|", *rows])


def _rows(name: str, part: Mapping[str, Any], *, is_required: bool) -> Iterator[str]:
    default = "required" if is_required else f"`{json.dumps(part['default'])}`" if "default" in part else ""
    cells = (f"`{name}`", _kind(part), default, str(part.get("description", "")))
    yield f"| {' | '.join(_cell(cell) for cell in cells)} |"
    items = part.get("items") if isinstance(part.get("items"), Mapping) else part
    inner = (items or {}).get("properties") or {}
    prefix = f"{name}[]" if items is not part else name
    needed = set((items or {}).get("required", ()))
    for key, value in inner.items():
        yield from _rows(f"{prefix}.{key}", value, is_required=key in needed)


def _kind(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return ", ".join(f"`{choice}`" for choice in part["enum"])
    kind = part.get("type", "any")
    if kind == "array":
        items = part.get("items")
        return f"list of {_kind(items)}" if isinstance(items, Mapping) else "list"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _cell(text: str) -> str:
    line = " ".join(text.split())
    special = "|" if "`" in line else "|*<"  # what stands between backticks is shown as it is
    return "".join(f"\\{character}" if character in special else character for character in line)


def _first_sentence(text: str) -> str:
    sentence = " ".join(text.split()).partition(". ")[0]
    return sentence if sentence.endswith(".") else f"{sentence}."


def _place(toolset: str) -> int:
    included = TOOLSETS[DEFAULT].includes
    return included.index(toolset) if toolset in included else len(included)


def _notes(folder: Path, entry: ToolEntry) -> str:
    """What stands in the tool's notes, or a way to those of its family."""
    file = folder / NOTES / f"{entry.name}.md"
    if file.is_file():
        heading = f"# {entry.name}\n"
        return file.read_text(encoding="utf-8").strip().removeprefix(heading).strip()
    family = folder / f"{entry.toolset}.md"
    is_of_family = entry.name.startswith(f"{entry.toolset}_") and family.is_file() and not is_generated(family)
    return f"See [{entry.toolset}]({family.name})." if is_of_family else ""


def is_generated(path: Path) -> bool:
    """Whether a page was written by this script."""
    return MARK in path.read_text(encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Rewrite the pages in the folder that the arguments name; pages of tools that are gone go too."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.stderr.write("Usage: python -m scripts.tool_pages docs/tools\n")
        return 2
    folder = Path(arguments[0])
    written = pages(folder)
    for path in folder.glob("*.md"):
        if path.name not in written and is_generated(path):
            path.unlink()
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
