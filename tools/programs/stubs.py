"""The functions by which a program calls tools: their text for the program, and their names for the model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Stub:
    """A function that calls the tool of its name.

    Attributes:
        parameters: as they stand in its definition; what is None is not passed on.
        returns: the keys of the dict that comes back, for the model.
        more: what may be named beside the parameters.
    """

    name: str
    parameters: str
    returns: str
    more: str = ""


STUBS = (
    Stub("read_file", "path, offset=None, limit=None", "content (whole text, unnumbered), total_lines"),
    Stub("write_file", "path, content", "status"),
    Stub("patch", "path=None, old_string=None, new_string=None, replace_all=None, patch=None", "diff", "edits"),
    Stub(
        "search_files",
        "pattern, target='content', path='.', file_glob=None, limit=1000, offset=0",
        "matches [{path, line, text}] or files, next_offset if more",
        "type output_mode context fixed ignore_case multiline include_ignored",
    ),
    Stub(
        "terminal",
        "command, timeout=None, workdir=None",
        "output, exit_code",
        "background pty unsandboxed notify_on_complete watch_patterns",
    ),
    Stub("web_search", "query, limit=None", "results"),
    Stub("web_extract", "urls", "results", "char_limit"),
)
"""The tools that a program may call, if the session has them."""

_NOT_NEEDED = re.compile(r"=(?!1)\S+")

NAMES = frozenset(stub.name for stub in STUBS)


def offered(tools: Collection[str]) -> tuple[Stub, ...]:
    """Those of the stubs whose tools are among `tools`."""
    return tuple(stub for stub in STUBS if stub.name in tools)


def module_text(tools: Collection[str]) -> str:
    """Python for the end of the module `hermes_tools`: a function for each of these tools that a program may call."""
    return "\n\n".join(_definition(stub) for stub in offered(tools)) + "\n"


def described(tools: Collection[str]) -> Iterator[str]:
    """A line for each function, for the model: all that it takes, what need not be given with a `?`."""
    for stub in offered(tools):
        takes = [_NOT_NEEDED.sub("?", part) for part in stub.parameters.split(", ")]
        yield f"{stub.name}({', '.join((*takes, *(f'{name}?' for name in stub.more.split())))}) → {stub.returns}"


def _definition(stub: Stub) -> str:
    return (
        f"def {stub.name}({stub.parameters}, **more):\n"
        f'    """Call {stub.name}; gives a dict: {stub.returns}."""\n'
        f"    return _call({stub.name!r}, locals())\n"
    )
