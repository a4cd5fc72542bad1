"""The programs that are known: what they show, and with which arguments they do no harm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from tools.approval.harmless import reading_programs as reading
from tools.approval.harmless import shell_words as shell
from tools.approval.harmless.arguments import Call, Check, Only, Starting, Without, always, bare
from tools.approval.harmless.git import is_harmless_git
from tools.light_dataclass import dataclass

Shows = Literal["text", "names", "matches", "contents"]
"""What a program shows of the paths in its arguments: nothing, that they are there, some lines, everything.

Of the last two it must be known which paths they are.
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that does no harm where `check` holds."""

    shows: Shows
    check: Check


def _all(shows: Shows, names: str, check: Check = always) -> dict[str, Program]:
    return {name: Program(shows, check) for name in names.split()}


_SETS_NO_DATE = Without("s", ("--set",))
_BEFORE_DATES = frozenset({"-d", "-r", "-f", "--date"})
_SHORT_TIME = re.compile(r"\d{0,2}\.?\d{1,3}s?|[1-5]m", re.ASCII)


def _date(call: Call) -> bool:
    # An operand that is no format sets the clock.
    return _SETS_NO_DATE(call) and all(
        text is not None and (text.startswith(("+", "-")) or call.texts[place - 1] in _BEFORE_DATES)
        for place, text in enumerate(call.texts)
        if text
    )


def _sleep(call: Call) -> bool:
    return len(call.texts) == 1 and bool(_SHORT_TIME.fullmatch(call.texts[0] or ""))


PROGRAMS: Mapping[str, Program] = {
    # None of these has an option to write a file, to run another program or to reach another machine.
    **_all(
        "text",
        "echo pwd true false uname nproc free uptime groups who users tty id whoami logname numfmt seq expr"
        " basename dirname",
    ),
    **_all("text", "pgrep locale factor lscpu cal ncal getconf hostid", Without()),
    **_all("names", "ls wc stat du df readlink realpath which whereis lsblk pathchk eza exa lsd"),
    **_all("names", "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5"),
    **_all("matches", "grep egrep fgrep zgrep"),
    **_all(
        "contents", "cat head tail tac rev nl cut tr fold expand unexpand paste join comm column od hexdump strings"
    ),
    **_all("contents", "diff cmp zcat bzcat xzcat zstdcat fmt pr tsort"),
    # Words of the shell. They change what follows in the shell, never a file.
    **_all("text", ": exit return break continue shift times popd dirs type wait"),
    **_all("names", "cd pushd"),
    **_all("text", "umask ulimit", Without()),
    **_all("text", "test [ [[ ((", shell.tests),
    **_all("text", "printf", shell.printf),
    **_all("text", "read", shell.reads),
    **_all("text", "set", shell.sets),
    **_all("text", "shopt", shell.shopts),
    **_all("text", "export declare typeset local readonly", shell.declares),
    **_all("text", "unset", shell.unsets),
    **_all("text", "jobs clear arch", bare),
    **_all("text", "command hash", Starting((("-v",), ("-V",)))),
    # With some arguments they would do more.
    **_all("text", "date", _date),
    **_all("text", "sleep", _sleep),
    **_all("text", "hostname", Only(((), ("-s",), ("-f",)))),
    **_all("text", "printenv", reading.printenv),
    **_all("text", "getent", Starting((("passwd",), ("group",), ("services",), ("protocols",)))),
    **_all("text", "ps", reading.ps),
    **_all("text", "top", Only((("-bn1",), ("-b", "-n", "1"), ("-b", "-n1"), ("-l", "1")))),
    **_all("text", "ss netstat lsof", Without("KDF", ("--kill", "--diag"))),
    **_all("text", "bc", Only(((), ("-l",), ("-q",), ("-ql",), ("-lq",)))),
    **_all("text", "ip", reading.ip),
    **_all("text", "dpkg", Starting((("-l",), ("-s",), ("-L",), ("--list",), ("--print-architecture",)))),
    **_all("text", "pip pip3", reading.pip),
    **_all("names", "find", reading.find),
    **_all("names", "fd fdfind", Without("xX", ("--exec", "--exec-batch"))),
    **_all("names", "tree", Without("oR", ("--output",))),
    **_all("names", "file", Without("C", ("--compile",))),
    **_all("names", "tar", reading.tar),
    **_all("names", "unzip", Starting((("-l",), ("-t",), ("-v",), ("-Z1",)))),
    **_all("names", "zipinfo", Starting(((), ("-1",)))),
    **_all("matches", "rg", Without(long=("--pre", "--hostname-bin"))),
    **_all("contents", "sort", Without("oT", ("--output", "--compress-program", "--files0-from"))),
    **_all("contents", "uniq", Without(max_operands=1)),
    **_all("contents", "base64 base32", Without("oDi", ("--output", "--input"))),
    **_all("contents", "iconv", Without("o", ("--output",))),
    **_all("contents", "shuf", Without("o", ("--output",))),
    **_all("contents", "xxd", reading.xxd),
    **_all("contents", "bat batcat", reading.bat),
    **_all("contents", "sed gsed", reading.sed),
    **_all("contents", "awk gawk mawk nawk", reading.awk),
    **_all("contents", "jq", reading.jq),
    **_all("contents", "yq", reading.yq),
    **_all("contents", "git", is_harmless_git),
}

# Not those whose version the workspace may choose, and that would then run something of it (rustup, go, yarn).
_SAY_THEIR_VERSION = frozenset(
    [
        "python",
        "python3",
        "pip",
        "pip3",
        "ruff",
        "mypy",
        "pytest",
        "black",
        "node",
        "npm",
        "deno",
        "bun",
        "uv",
        "gcc",
        "g++",
        "clang",
        "clang++",
        "make",
        "cmake",
        "bash",
        "zsh",
        "perl",
        "ruby",
        "php",
        "java",
        "javac",
        "docker",
        "psql",
        "sqlite3",
        "curl",
        "wget",
        "jq",
        "tar",
        "gzip",
        "openssl",
        "gh",
        "vim",
        "tmux",
        "sed",
        "awk",
        "gawk",
        "grep",
        "rg",
        "fd",
        "find",
        "sort",
    ]
)
_VERSIONS = frozenset({("--version",), ("-V",)})
_SHORT_VERSIONS: Mapping[str, tuple[str | None, ...]] = {
    "node": ("-v",), "npm": ("-v",), "perl": ("-v",), "ruby": ("-v",), "php": ("-v",), "openssl": ("version",),
}  # fmt: skip
_VERSION = Program("text", always)


def program_named(name: str, call: Call) -> Program | None:
    """What is known of the program; some say their version and are not known otherwise."""
    if not call.invocation.adds_unknown and (
        (name in _SAY_THEIR_VERSION and call.texts in _VERSIONS) or _SHORT_VERSIONS.get(name) == call.texts
    ):
        return _VERSION
    return PROGRAMS.get(name)
