"""`hermes-acp inspect`: a recording as one HTML page, for those who write agents and clients."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any

from acp_adapter.cli.inspect.recordings import (
    Recording,
    RecordingFile,
    Row,
    hint,
    left_out,
    read_recordings,
    text_of,
)
from acp_adapter.cli.main import command_parser, say_failed
from acp_adapter.export.files import new_file
from acp_adapter.export.markup import NOTHING, Html, change_of, code, join, page_in_frame, resource, tag, text
from acp_adapter.format import duration, one_line, size_text, whole
from agent_core.errors import RequestError

_STDOUT = "-"
_EPILOG = """\
A recording is made by `hermes-acp --record FILE` (as the command in your editor's settings), by `hermes-acp prompt
--record FILE`, which may drive any agent with --agent, or by `hermes-acp prompt --json > FILE`. The page needs no
network and no server. It shows who asked what when, how long answers took, errors and diffs, and has a search. Of a
very long recording it holds the last 20,000 messages or the last 20 MB.

exit codes:
  0    the page is written
  1    it could not be; stderr says why
  2    the command line was wrong

examples:
  hermes-acp inspect session.jsonl
  hermes-acp inspect session.jsonl --output report.html --force
  head -n 5000 long.jsonl > first.jsonl && hermes-acp inspect first.jsonl
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp inspect` with the arguments `argv`; the result is the exit code."""
    parser = command_parser(
        "inspect", "Make one HTML page of a recording of a connection between client and agent.", _EPILOG
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "--output", metavar="FILE", help="where the page goes (default: beside FILE, .html); - prints it"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    options = parser.parse_args(argv)
    try:
        return _write_page(Path(options.file), options)
    except RequestError as problem:
        return say_failed("inspect", problem.public)


def _write_page(file: Path, options: argparse.Namespace) -> int:
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            recorded = read_recordings(lines)
    except OSError as problem:
        raise RequestError(f"{file} could not be read: {problem.strerror or problem}. Name a recording.") from problem
    content = whole(to_page(recorded, f"Recording {file.name}")).encode()
    if options.output == _STDOUT:
        sys.stdout.buffer.write(content)
        return 0
    path = Path(options.output) if options.output else file.with_suffix(".html")
    if os.path.realpath(path) == os.path.realpath(file):
        raise RequestError(f"The page would be written over the recording {file}. Choose another --output.")
    with new_file(path, force=options.force) as page:
        page.write(content)
    print(f"Wrote {one_line(str(path))}.")
    return 0


# The page.

_HERE = "acp_adapter.cli.inspect"
_SLOW = 1.0
# They last as long as a model works or a person thinks.
_TURNS = frozenset({"session/prompt", "session/request_permission"})
_MOST_NAMED = 20


def to_page(recorded: RecordingFile, title: str) -> str:
    """The page: for each connection its facts, what is worth a look, and the messages; a search above them."""
    many = recorded.unreadable
    connections = zip(recorded.recordings, left_out(recorded.recordings), strict=True)
    body = Template(resource(_HERE, "page.html")).substitute(
        title=text(title),
        unreadable=_remark(f"{many} lines of the file could not be read.") if many else NOTHING,
        connections=join(_connection(number, *each) for number, each in enumerate(connections, 1)),
    )
    return page_in_frame(title, body, resource(_HERE, "page.css"), resource(_HERE, "page.js"))


def _connection(number: int, recording: Recording, before: int) -> Html:
    facts = join(tag("div", tag("dt", text(name)), tag("dd", text(value))) for name, value in _facts(recording))
    shown = recording.rows[before:]
    first = shown[0].place if shown else sys.maxsize
    note = f"{before:,} messages before these are left out of the page. Cut the file, which has a line for each."
    return tag(
        "section",
        tag("h2", text(f"Connection {number}")),
        tag("dl", facts),
        _remarkable(number, recording.rows, first),
        _remark(note) if before else NOTHING,
        tag("div", join(_row(number, each, first) for each in shown), class_="rows"),
        aria_label=f"Connection {number}",
    )


def _facts(recording: Recording) -> Iterator[tuple[str, str]]:
    rows = recording.rows
    yield "Recorded by", recording.program or "unknown"
    if recording.begun:
        yield "Begun", recording.begun
    if rows:
        yield "Lasted", _span(rows[-1].at - rows[0].at)
    for name, direction in (("To the agent", "out"), ("From the agent", "in")):
        of_way = [row for row in rows if row.direction == direction]
        many = sum(max(1, len(row.messages)) for row in of_way)
        yield name, f"{many} messages, {size_text(sum(row.size for row in of_way))}"
    for row in rows:
        match row.messages:
            case [{"params": {"clientInfo": dict(said)}}] if row.name == "initialize":
                yield "Client", _introduced(said)
            case [{"result": {"agentInfo": dict(said)}}] if row.name == "initialize":
                yield "Agent", _introduced(said)


def _introduced(said: dict[str, Any]) -> str:
    return " ".join(str(said.get(name, "")) for name in ("title", "name", "version")).strip()


def _remarkable(number: int, rows: Sequence[Row], first: int) -> Html:
    """What someone who looks for a fault looks at first."""
    kinds = {
        "no answer came": [each for each in rows if each.kind == "request" and not each.partner],
        "an error": [each for each in rows if each.kind == "error"],
        "no message": [each for each in rows if each.kind == "stray"],
        "an answer to nothing": [each for each in rows if each.kind in {"answer", "error"} and not each.partner],
        f"took over {_SLOW:g} s": [
            each for each in rows if each.kind == "request" and (each.took or 0) > _SLOW and each.name not in _TURNS
        ],
    }
    items = [item for words, found in kinds.items() for item in _named(number, words, found, first)]
    if not items:
        return _remark("Every request was answered, at once and without an error.")
    return tag("div", tag("h3", text("Worth a look")), tag("ul", join(items)), class_="remarkable")


def _named(number: int, words: str, found: Sequence[Row], first: int) -> Iterator[Html]:
    for each in found[:_MOST_NAMED]:
        name = text(f"{each.name}{'' if each.took is None else f' ({_span(each.took)})'}")
        is_shown = each.place >= first
        link = tag("a", name, href=f"#{_id(number, each.place)}") if is_shown else text(f"at {each.at:.3f} s, {name}")
        yield tag("li", text(f"{words}: "), link)
    if len(found) > _MOST_NAMED:
        yield tag("li", text(f"{words}: {len(found) - _MOST_NAMED} more"))


# One line of a recording on the page: its head, and folded below it what it holds.

_MOST_PIECES = 50


def _row(connection: int, row: Row, first: int) -> Html:
    """A row: time, direction, kind, method, what it says, latency and size; folded below, what it holds."""
    is_out = row.direction == "out"
    way = "to the agent" if is_out else "from the agent"
    head = tag(
        "summary",
        tag("span", text(f"{row.at:.3f}"), class_="at"),
        tag("span", text("→" if is_out else "←"), class_="way", role="img", aria_label=way),
        tag("span", text(row.kind), class_="kind"),
        tag("span", text(row.name), class_="name"),
        tag("span", text(hint(row)), class_="hint"),
        tag("span", text("" if row.took is None else _span(row.took)), class_="took"),
        tag("span", text(size_text(row.size)), class_="size"),
    )
    body = tag("div", join(_body(connection, row, first)), class_="body")
    return tag("details", head, body, class_=f"row {row.kind}", id=_id(connection, row.place))


def _body(connection: int, row: Row, first: int) -> Iterator[Html]:
    if row.partner >= first:
        words = "Its answer" if row.kind == "request" else "Its request"
        yield tag("p", tag("a", text(words), href=f"#{_id(connection, row.partner)}"))
    if row.kind == "stray":
        yield code(row.stray)
    if len(row.messages) > 1:
        yield tag("div", code(text_of(row)), class_="text")
    for path, before, after in _diffs(row.messages[:1]):
        yield tag("figure", tag("figcaption", text(path)), code(change_of(before, after), "diff"), class_="file")
    for message in row.messages[:_MOST_PIECES]:
        yield code(json.dumps(message, indent=2, ensure_ascii=False))
    if len(row.messages) > _MOST_PIECES:
        yield _remark(f"{len(row.messages) - _MOST_PIECES} more pieces are left out.")


def _diffs(value: Any) -> Iterator[tuple[str, str | None, str]]:
    """Every change of a file in a message: path, text before, text after."""
    match value:
        case {"type": "diff", "path": str(path), "newText": str(after), **rest}:
            before = rest.get("oldText")
            yield path, before if isinstance(before, str) else None, after
        case dict():
            for each in value.values():
                yield from _diffs(each)
        case list():
            for each in value:
                yield from _diffs(each)


def _remark(words: str) -> Html:
    return tag("p", text(words), class_="remark")


def _id(connection: int, place: int) -> str:
    return f"c{connection}-{place}"


def _span(seconds: float) -> str:
    """`0.42 ms`, `37 ms`, `1.2 s`, `4 min 2 s`."""
    if seconds >= 1:
        return duration(seconds)
    milliseconds = 1_000 * seconds
    return f"{milliseconds:.2f} ms" if milliseconds < 1 else f"{milliseconds:.0f} ms"
