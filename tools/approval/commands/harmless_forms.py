"""Proved forms: the options of a program that were looked at one by one, and what each of its words means.

A form lists what a program may be given. An option that is not listed, an abbreviated one included, is not proved.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Literal, get_args

from tools.approval.commands.bash import lines_of_table
from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Classify
from tools.approval.commands.dangers.scene import full_path, is_below
from tools.approval.commands.scripts.effects import home
from tools.approval.sensitive import why_sensitive
from tools.light_dataclass import dataclass

# Paths that may hold secrets. Text alone, no disk: what is not known is not known to be open.

_SECRET = re.compile(
    r"/(?:etc/(?:g?shadow|sudoers|master\.passwd|ssl/private|ssh|security|krb5\.keytab|kubernetes|ppp|wireguard"
    r"|NetworkManager)|(?:var/)?run/secrets|var/lib/(?:docker|kubelet|sss)|var/spool|private/etc)(?:[-.]|/|$)",
    re.IGNORECASE,
)
_OPEN_PROC = re.compile(
    r"/proc/(?:cpuinfo|meminfo|version|loadavg|uptime|stat|mounts|filesystems|swaps|diskstats|net/\w+|sys/.+"
    r"|self/(?:status|limits|mounts|cgroup))"
)
_OPEN_DEVICE = re.compile(r"/dev/(?:null|zero|stdin|fd/\d+)|/dev/shm/.+")
# Hidden things of a home hold histories, sessions, tokens and profiles. These hold what anybody may fetch.
_HOME = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root|~[^/]*)/(?P<inside>.+)")
_OPEN_AT_HOME = re.compile(
    r"(?!\.|Library/)|\.(?:cargo/registry|rustup/toolchains|pyenv/versions|nvm/versions|rbenv/versions|m2/repository"
    r"|local/lib|gradle/caches|asdf/installs|vim|oh-my-zsh)/"
)
# One of each kind: a pattern that fits any of them may show it.
_EXAMPLES = (
    ".env", ".env.local", "prod.env", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", ".git",
    ".git-credentials", ".ssh", ".aws", ".kube", ".docker", ".hermes", ".gnupg", ".vault-token", "kubeconfig",
    "id_rsa",
    "id_ed25519", "id_ecdsa", "server.pem", "server.key", "store.p12", "store.pfx", "a.keystore", "a.jks", "a.kdbx",
    "credentials", "credentials.json", "credentials.yml", "terraform.tfstate", "prod.tfvars", ".bash_history",
)  # fmt: skip
_ORDINARY = ("main.py", "data.json", "notes.txt", "app.yml", "Makefile", "index.html", ".gitignore", "lib.rs", "a.md")
_MARKS = (":", "@", "=")
# What stands before a path of git's: `:!docs`, `:(icase)docs`.
_MAGIC = re.compile(r":(?:\([^)]*\)|[!^/]+:?)")
_WILD = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"[{},]")


def is_open(argument: Argument, cwd: str | None, *, shows_contents: bool) -> bool:
    """True when no secret is meant by the argument, whether it is a path, an option with one, or no path.

    Args:
        cwd: the directory it is read in, absolute; None: unknown.
        shows_contents: the program shows what the files hold: then none of the names that a pattern may stand for is
            a secret's. Otherwise it is enough that the pattern does not look for them.
    """
    for piece in _pieces(argument.text):
        parts = [part for part in piece.split("/") if part]
        if shows_contents and argument.expands and not all(_fits_no_secret(part) for part in parts):
            return False
        if any(looks_for_secrets(part) for part in parts) or not is_open_path(piece, cwd):
            return False
    return True


def _pieces(text: str) -> Iterator[str]:
    """What may be a path in an argument: itself, an option's value, what follows a colon (`HEAD:.env`)."""
    yield text
    if text.startswith("-"):
        yield text[2:]
    if found := _MAGIC.match(text):
        yield text[found.end() :]
    for mark in _MARKS:
        yield from text.split(mark)[1:]


def is_open_path(text: str, cwd: str | None = None) -> bool:
    """True when `text` is the path of something whose content may be shown."""
    if "\0" in text:
        return False
    if not text:
        return True

    path = full_path(text, cwd)
    if path.startswith("/proc") and not _OPEN_PROC.fullmatch(path):
        return False
    if path.startswith("/dev") and not _OPEN_DEVICE.fullmatch(path) and path != "/dev":
        return False
    if _SECRET.match(path) or why_sensitive(Path(path)):
        return False
    return _OPEN_AT_HOME.match(_below_home(path)) is not None


def _below_home(path: str) -> str:
    """What of the path is below somebody's directory; '' where it is not."""
    if path.startswith(f"{home()}/"):
        return path.removeprefix(f"{home()}/")
    found = _HOME.fullmatch(path)
    return "" if found is None else found["inside"]


def fits_open_names_only(pattern: str) -> bool:
    """Whether no word that a pattern stands for ends with the name of a secret, as an option with a value would."""
    if _BRACES.search(pattern) or UNKNOWN in pattern:
        return False
    return not any(fnmatch.fnmatchcase(f"--x={example}", pattern) for example in _EXAMPLES)


def looks_for_secrets(pattern: str) -> bool:
    """Whether a pattern fits secrets, and no ordinary name: `id_*`, but not `*` and `*.json`."""
    if not _WILD.search(pattern):
        return False
    return _fits_any(pattern, _EXAMPLES) and not _fits_any(pattern, _ORDINARY)


def _fits_any(pattern: str, names: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def _fits_no_secret(pattern: str) -> bool:
    if not _WILD.search(pattern) and UNKNOWN not in pattern:
        return True
    if _BRACES.search(pattern) or UNKNOWN in pattern:
        return False
    return not any(
        fnmatch.fnmatchcase(example, pattern) for example in _EXAMPLES if pattern[0] == "." or example[0] != "."
    )


# Forms.

Kind = Literal[":", "@", "~", "<"]
"""What a word is to a program.

`:` a text: a pattern, a number, a name that is no path; `@` a path that is only looked up, or a pattern for names;
`~` a path of which matching lines are shown; `<` a path of which everything may be shown.
"""

_KINDS: tuple[Kind, ...] = (":", "@", "~", "<")

Worst = Literal["nothing", "reads", "acts"]
"""What the worst of a program's options does, whoever writes them: a word that nobody knows may be one.

`reads`: it reads a file that is named in the same word, and does nothing else.
"""

Texts = tuple[str | None, ...]
"""Arguments; None where one may be any word, or several. A text may hold `UNKNOWN`: then it is no option."""


@dataclass(frozen=True, slots=True)
class Call:
    """A program with what is sure about its arguments.

    Attributes:
        classify: who judges the commands that its own language may run.
        roots: the session's directories.
    """

    texts: Texts
    invocation: Invocation
    classify: Classify
    roots: tuple[str, ...] = ()

    @property
    def are_known(self) -> bool:
        """Whether it is sure which options there are."""
        return None not in self.texts and not self.invocation.adds_unknown

    @property
    def lines(self) -> list[str]:
        """The arguments that are known."""
        return [text for text in self.texts if text is not None]


Check = Callable[[Call], bool]


def call_of(invocation: Invocation, classify: Classify, roots: tuple[str, ...] = ()) -> Call:
    """The invocation, looked at."""
    return Call(tuple(_sure(argument) for argument in invocation.arguments), invocation, classify, roots)


def _sure(argument: Argument) -> str | None:
    """The argument as far as it tells whether it is an option.

    One that begins with known text is no other option than it shows, whatever comes after.
    """
    text = argument.text
    if argument.is_known:
        return text
    if argument.splits or not text or text[0] in f"-*?[{{{UNKNOWN}" or (argument.expands and "{" in text):
        return None
    return text


def always(_call: Call) -> bool:
    """No argument can do harm."""
    return True


def bare(call: Call) -> bool:
    """There is no argument."""
    return not call.texts and not call.invocation.adds_unknown


@dataclass(frozen=True, slots=True)
class Line:
    """A check: all arguments are known, and one after the other, with `_` for each blank in them, they have a form.

    Attributes:
        kind: what each of them is to the program that is no option.
    """

    kind: Kind
    form: str

    def __call__(self, call: Call) -> bool:
        """Whether it holds."""
        arguments = call.invocation.arguments
        if call.invocation.adds_unknown or not all(one.is_known for one in arguments):
            return False
        line = " ".join(re.sub(r"\s", "_", one.text) or "_" for one in arguments)
        return re.fullmatch(self.form, line) is not None and all(
            may_be_given(call, one, self.kind) for one in arguments if one.text == "-" or one.text[:1] != "-"
        )


@dataclass(frozen=True, slots=True)
class Forms:
    """A check: every option is listed, and every word may be what it is to the program.

    Attributes:
        options: of one sign and more than one, with the kind of their value; None: they have none; a value in the
            same word only where the kind is `?`.
        operands: the kinds of the first operands; the last one is that of all others where `repeats`.
        scripts: with one of these options, the first operand is none of `operands`, but already one of the next.
        needs: one of these options has to be there.
        searches: options with which it looks below directories, `*` where it always does.
        named: the form of each operand; '' for any.
        never: what is in no argument, all of which are known then; '' where nothing is looked for.
    """

    options: Mapping[str, str | None]
    operands: tuple[Kind, ...] = ()
    repeats: bool = True
    worst: Worst = "acts"
    scripts: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    searches: frozenset[str] = frozenset()
    named: str = ""
    never: str = ""

    def __call__(self, call: Call) -> bool:
        """Whether it holds."""
        reading = self.read(call)
        if not (reading.is_proved and all(may_be_given(call, word, kind) for word, kind in reading.words)):
            return False
        if self.named and not all(re.fullmatch(self.named, one.text, re.DOTALL) for one, _ in reading.operands):
            return False
        if self.never and (not call.are_known or any(map(re.compile(f"{self.never}|{UNKNOWN}").search, call.lines))):
            return False
        if call.invocation.adds_unknown and "~" in self.operands and not may_be_searched(call, _added_from(call)):
            return False
        if "*" not in self.searches and self.searches.isdisjoint(reading.options):
            return True
        return may_be_searched(call, reading.places or [Argument(".")])

    def read(self, call: Call) -> FormReading:
        """What each argument of `call` is."""
        return FormReading(self, call)


class FormReading:
    """What the arguments of a call are, read as `getopt` reads them.

    Attributes:
        is_proved: there are no options but those that are listed, and no operand too many.
        options: those that were found.
        values: the options with a value.
        operands: each with its kind.
        words: operands and values, each with its kind.
        places: the operands that are paths.
    """

    def __init__(self, forms: Forms, call: Call) -> None:
        self._forms = forms
        self._call = call
        self._rest = list(zip(call.texts, call.invocation.arguments, strict=True))
        self._may_be_option = True
        self._operands: list[Argument] = []
        self.operands: list[tuple[Argument, Kind]] = []
        self.words: list[tuple[Argument, Kind]] = []
        self.options: set[str] = set()
        self.values: list[tuple[str, Argument]] = []
        self.is_proved = all(iter(self._read_next, None)) and self._may_be_added()
        kinds = self._kinds()
        for operand in self._operands:
            kind = next(kinds, None)
            self.is_proved = self.is_proved and kind is not None
            if kind is not None:
                self.operands.append((operand, kind))
        self.words += self.operands
        self.places = [operand for operand, kind in self.operands if kind != ":"]
        if not forms.repeats and any(operand.expands for operand in self._operands):
            self.is_proved = False  # a pattern may become any number of operands
        if forms.needs and forms.needs.isdisjoint(self.options):
            self.is_proved = False

    def _read_next(self) -> bool | None:
        """Whether the next argument is proved; None at the end."""
        if not self._rest:
            return None
        text, argument = self._rest.pop(0)
        if text is None:
            self._operands.append(argument)
            return not self._may_be_option or self._is_no_option(argument)
        if not self._may_be_option or text == "-" or not text.startswith("-"):
            self._operands.append(argument)
            return True
        if text == "--":
            self._may_be_option = False
            return True
        return self._long(argument) if text.startswith("--") else self._short(argument)

    def _is_no_option(self, argument: Argument) -> bool:
        """Whether a word that nobody knows does no harm should it be an option."""
        if self._forms.worst == "nothing":
            return True
        # `*.py` may become `--files0-from=x.py`, but nothing that names a secret.
        is_glob = argument.expands and not argument.splits and argument.text[:1] == "*"
        return is_glob and self._forms.worst == "reads" and fits_open_names_only(argument.text)

    def _may_be_added(self) -> bool:
        """Whether arguments that `xargs` or `find` add do no harm, whatever they are."""
        invocation = self._call.invocation
        if not invocation.adds_unknown:
            return True
        kind = [*self._forms.operands[len(self._operands) :], *self._forms.operands[-1:]][:1]
        if kind == ["<"] or not kind or not self._forms.repeats:
            return False
        if kind != ["~"] and (not self._may_be_option or self._forms.worst == "nothing"):
            return True
        return _are_found_names(invocation)

    def _long(self, argument: Argument) -> bool:
        name, equals, value = argument.text.partition("=")
        kind = self._forms.options.get(name, "")
        self.options.add(name)
        if kind is None:
            return not equals
        if kind == "":
            return False
        if equals:
            return self._note(name, replace(argument, text=value), kind)
        return kind == "?" or self._take(name, kind)

    def _short(self, argument: Argument) -> bool:
        letters = argument.text[1:]
        if "-#" in self._forms.options and letters.isascii() and letters.isdigit():
            return True
        for place, letter in enumerate(letters):
            name = f"-{letter}"
            kind = self._forms.options.get(name, "")
            self.options.add(name)
            if kind == "":
                return False
            if kind is not None:
                value = replace(argument, text=letters[place + 1 :])
                return self._note(name, value, kind) if value.text or kind == "?" else self._take(name, kind)
        return True

    def _take(self, name: str, kind: str) -> bool:
        """The next argument is an option's value: surely one word."""
        if not self._rest or self._rest[0][1].expands or self._rest[0][1].splits:
            return False
        return self._note(name, self._rest.pop(0)[1], kind)

    def _note(self, name: str, value: Argument, kind: str) -> bool:
        self.values.append((name, value))
        self.words.extend((value, each) for each in _KINDS if each == kind)
        return True

    def _kinds(self) -> Iterator[Kind]:
        kinds = self._forms.operands
        if not self._forms.scripts.isdisjoint(self.options):
            kinds = kinds[1:]
        yield from kinds
        while self._forms.repeats and kinds:
            yield kinds[-1]


def may_be_given(call: Call, argument: Argument, kind: Kind) -> bool:
    """Whether a word is what the program may get as a word of this kind: no secret is read, nor looked for."""
    invocation = call.invocation
    if kind == ":":
        return True
    if not is_open(argument, invocation.cwd, shows_contents=kind == "<"):
        return False
    if kind == "@":
        return True
    is_named = argument.is_known or (argument.expands and (_sure(argument) is not None or _is_plain_glob(argument)))
    # Where a program stands that nobody knows, its files are not known either.
    is_placed = invocation.cwd is not None or argument.text[:1] in {"/", "~"} or argument.text == "-"
    return is_placed and (is_named or (kind == "~" and _comes_from_a_listing(invocation, argument)))


def _is_plain_glob(argument: Argument) -> bool:
    return argument.expands and not argument.splits and argument.text[:1] == "*"


def _comes_from_a_listing(invocation: Invocation, argument: Argument) -> bool:
    """Whether an unknown word is a name that `find` or `xargs` puts there, as `grep -r` finds names by itself."""
    return not argument.splits and invocation.via[-1:] in _GIVE_NAMES


_GIVE_NAMES = {("find",), ("fd",), ("fdfind",)}
# What is there anybody may read: installed programs and libraries.
_FOR_ALL = re.compile(r"/(?:usr|lib\w*|opt|nix|System|Applications|Library/Developer)(?:/.*)?")
# With these, whole lines are passed on, each with its beginning.
_PASSES_LINES: Mapping[str, re.Pattern[str]] = {
    "sort": re.compile(r"-[zufVrn]+"),
    "head": re.compile(r"-\d+|-n\d*|\d+"),
    "grep": re.compile(r"-[vEFiz]+|[^-].*", re.DOTALL),
}
_PRINTS_PATHS = re.compile(r"(?!-f?printf|-fls|-ls).*", re.DOTALL)


def may_be_searched(call: Call, places: Sequence[Argument]) -> bool:
    """Whether all files below these places may be shown, but for secrets of the session's directories: those are
    looked for when the command runs.
    """
    cwd = call.invocation.cwd
    roots = call.roots or ((cwd,) if cwd is not None else ())
    for place in places:
        if place.text == "-" or place.text.startswith("/dev/fd/"):
            continue
        path = full_path(place.text, cwd).partition(UNKNOWN)[0] if cwd or place.text[:1] in {"/", "~"} else ""
        if not path or is_below(home(), path.rstrip("/") or "/"):
            return False
        if not _FOR_ALL.fullmatch(path) and not any(is_below(path.rstrip("/"), root) for root in roots):
            return False
    return True


def _are_found_names(invocation: Invocation) -> bool:
    """Whether what `xargs` or `find` adds are names that begin as the place does where `find` looks: no options."""
    return invocation.via[-1:] == ("find",) or _finder(invocation) is not None


def _added_from(call: Call) -> list[Argument]:
    """Where the names are found that `xargs` or `find` adds."""
    find = _finder(call.invocation)
    if find is None:
        return [one for one in call.invocation.arguments if one.text.endswith(UNKNOWN)]
    return list(takewhile(lambda one: one.text[:1] not in {"-", "(", "!"}, find.arguments)) or [Argument(".")]


def _finder(invocation: Invocation) -> Invocation | None:
    """The `find` whose lines come to `xargs` as they are; None where it is not sure that it is one."""
    source = invocation.input.source if invocation.via[-1:] == ("xargs",) else None
    while source is not None and source.program in _PASSES_LINES:
        passes = _PASSES_LINES[source.program]
        if not all(one.is_known and passes.fullmatch(one.text) for one in source.arguments):
            return None
        source = source.input.source
    if source is None or source.program != "find" or source.via:
        return None
    texts = [_sure(one) for one in source.arguments]
    return source if all(text is not None and _PRINTS_PATHS.fullmatch(text) for text in texts) else None


def options(text: str) -> Mapping[str, str | None]:
    """The options in a list of them, each with the kind of its value.

    `-abc` are three without a value; `-n:`, `-f<`, `--lines:` have one, and `--color?` may have one behind `=`. `-#`
    is a number.
    """
    found: dict[str, str | None] = {}
    for token in text.split():
        name, kind = (token[:-1], token[-1]) if token[-1] in ":?<@~" and token not in {"-@", "-?"} else (token, None)
        if name.startswith("--") or kind is not None or name == "-#":
            found[name] = kind
        else:
            found.update({f"-{letter}": None for letter in name[1:]})
    return found


def forms_of(table: str) -> dict[str, Forms]:
    r"""The checks in a table, by the names of their programs.

    A row is the names of programs, then in columns, with two blanks or more between them: the kinds of the operands
    (`*`: more of the last, `-`: there are none), with the worst of the options where that is not `acts`; the options
    as `options` reads them, or `-`; what else a `Forms` has, by its name. A line may go on in the next, behind `\`.

        grep egrep  :~* reads  -abc -A: --regexp:  scripts -e --regexp  searches -r
    """
    found: dict[str, Forms] = {}
    for line in lines_of_table(table):
        if line.startswith("#"):
            continue
        names, kinds, listed, *more = re.split(r"\s{2,}", line)
        operands, _, harm = kinds.partition(" ")
        given = {name: value for name, _, value in (each.partition(" ") for each in more)}
        scripts, needs, searches = (
            frozenset(given.get(name, "").split()) for name in ("scripts", "needs", "searches")
        )
        check = Forms(
            options(listed),
            tuple(kind for sign in operands for kind in _KINDS if kind == sign),
            operands.endswith("*"),
            next((worst for worst in get_args(Worst) if worst == harm), "acts"),
            scripts,
            needs,
            searches,
            given.get("named", ""),
            given.get("never", ""),
        )
        found.update(dict.fromkeys(names.split(), check))
    return found


def lines_that_look(table: str) -> dict[str, Line]:
    """The checks in a table of names of programs, the kind of their words, and the form of their line."""
    found: dict[str, Line] = {}
    for line in lines_of_table(table):
        if not line.startswith("#"):
            names, kind, form = re.split(r"\s{2,}", line, maxsplit=2)
            found.update(dict.fromkeys(names.split(), Line(next(one for one in _KINDS if one == kind), form)))
    return found
