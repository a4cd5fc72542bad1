"""Searches of a tree, on this machine or another one: by ripgrep, and where there is none by find and grep.

Both tell the same of what they find. What grep cannot do is refused, and how it differs is said with the result.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from pathlib import Path

from tools.environments.atomic_writes import told_as_file_error
from tools.environments.ripgrep import (
    Ground,
    Looks,
    Program,
    Runner,
    Search,
    cut_around,
    grep_program,
    held_for_search,
    rg_program,
    spans_lines,
    wanted_files,
)
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.ports import Interrupt, SearchHit, SearchQuery, SearchResult
from tools.settings import SearchSettings
from tools.text.globs import Rules, Wanted


def search(
    query: SearchQuery, limits: SearchSettings, interrupt: Interrupt | None = None, private: tuple[Path, ...] = ()
) -> SearchResult:
    """One page of what `query` finds. Content is ordered by path, file names by age, the newest first.

    Files that ask before they are read (keys, credentials) are left out, unless the query names the file itself.

    Args:
        private: directories whose files are never shown.

    Raises:
        ToolError: the pattern is wrong, or nothing was found until the time was over; the path leads elsewhere by
            now. ToolInterrupted.
    """
    one_file = not query.path.is_dir()
    with ExitStack() as held:
        with told_as_file_error("search", query.path):
            ground = held.enter_context(held_for_search(query.path, is_file=one_file))
        found = rg_program()
        return searched(
            query,
            limits,
            ground,
            found or grep_program(),
            interrupt=interrupt,
            private=private,
            one_file=one_file,
            by_rg=found is not None,
        )


def searched(
    query: SearchQuery,
    limits: SearchSettings,
    ground: Ground,
    program: Program,
    *,
    interrupt: Interrupt | None,
    private: tuple[Path, ...],
    one_file: bool,
    by_rg: bool,
    looks: Looks | None = None,
) -> SearchResult:
    """As `search`, on any machine.

    Args:
        ground: the query's directory, or that of its file.
        by_rg: `program` is ripgrep, and else a shell.
        looks: how else that machine's disk is looked at.
    """
    # Globs are about the path below the folder that the search runs in.
    folder, start = (query.path.parent, f"./{query.path.name}") if one_file else (query.path, "./")
    runner = Runner(folder, ground, time.monotonic() + limits.timeout, program, interrupt)
    # The path of the query itself was approved: only what lies below it is judged.
    below = tuple(path for path in private if query.path in path.parents)
    kind = Search if by_rg else GrepSearch
    return kind(query, limits, runner, start, below, one_file, looks=looks or Looks()).run()


# What a person's ignore files leave out, wherever they are.

_KINDS = (".rgignore", ".ignore", ".gitignore", "exclude")
_EVERYWHERE = "~"


class Ignoring:
    """The rules of ignore files.

    Args:
        folder: the searched directory, absolute.
        told: the files, by their absolute path or from the directory, `~` for the user's own; and their contents.
    """

    def __init__(self, folder: Path, told: Iterable[tuple[str, str]]) -> None:
        self._folder = str(folder).rstrip("/")
        self._rules: dict[str, dict[str, Rules]] = {kind: {} for kind in _KINDS}
        self._everywhere = Rules(())
        for path, text in told:
            rules = Rules(text.removeprefix("\ufeff").split("\n"))
            whole = f"{self._folder}/{path[2:]}" if path.startswith("./") else path
            above, _, name = whole.removesuffix("/info/exclude").rpartition("/")
            if path == _EVERYWHERE:
                self._everywhere = rules
            elif rules and (kind := "exclude" if name == ".git" else name) in self._rules:
                self._rules[kind][above] = rules
        self.leaves_out_folder = functools.cache(self._leaves_out_folder)

    def leaves_out(self, name: str) -> bool:
        """Whether the file `./a/b`, or a directory that it is in, is left out."""
        path = name.removeprefix("./")
        return self.leaves_out_folder(path.rpartition("/")[0]) or self._ignores(path, is_folder=False)

    def _leaves_out_folder(self, path: str) -> bool:
        if not path:
            return False
        return self.leaves_out_folder(path.rpartition("/")[0]) or self._ignores(path, is_folder=True)

    def _ignores(self, path: str, *, is_folder: bool) -> bool:
        whole = f"{self._folder}/{path}"
        # Each kind goes before the next, whichever folder it is in.
        for of_kind in filter(None, self._rules.values()):
            above = whole
            while above:
                above = above.rpartition("/")[0]
                rules = of_kind.get(above)
                if rules and (verdict := rules.ignores(whole[len(above) + 1 :], is_folder)) is not None:
                    return verdict
        return self._everywhere.ignores(path, is_folder) is True


# The two scripts. POSIX, and `-print0`, which GNU, BSD and busybox have.

_LIST = r"""
find {start} -name .git -prune -o -type f -print0
printf '\000'
[ -z "{reads}" ] && exit
exec 2>/dev/null
# Told are the ignore files below, those of the directories above, and the user's own.
t='for f; do [ -d "$f" ] && f=$f/info/exclude
  [ -f "$f" ] && [ -r "$f" ] && {{ printf "%s\000" "$f"; tr -d "\000" <"$f"; printf "\000"; }}
done; :'
find . -name .git -exec sh -c "$t" t {{}} + -prune -o \
  -type f \( -name .rgignore -o -name .ignore -o -name .gitignore \) -exec sh -c "$t" t {{}} +
d=$(pwd -P)
while [ -n "$d" ]; do d=${{d%/*}}; sh -c "$t" t "$d/.rgignore" "$d/.ignore" "$d/.gitignore" "$d/.git"; done
c=${{XDG_CONFIG_HOME:-$HOME/.config}}/git
e=$(sed -n 's/^[[:space:]]*excludes[fF]ile[[:space:]]*=[[:space:]]*"\{{0,1\}}\([^"[:space:]]*\).*/\1/p' \
  "$HOME/.gitconfig" "$c/config" 2>/dev/null | head -n 1)
case $e in '~/'*) e=$HOME/${{e#'~/'}} ;; '') e=$c/ignore ;; esac
[ -f "$e" ] && [ -r "$e" ] && {{ printf '~\000'; tr -d '\000' <"$e"; printf '\000'; }}
exit 0
"""
_GREP = """
case ${{LC_ALL:-${{LC_CTYPE:-$LANG}}}} in *[Uu][Tt][Ff]*) ;; *) LC_ALL=C.UTF-8; export LC_ALL ;; esac
m={mode} p={pattern} f=-nH{case}
[ $m = E ] && if echo x | grep -qP x 2>/dev/null; then m=P; else p={extended}; fi
[ -n "$p" ] || {{ echo 'look-around is not available: there is no ripgrep' >&2; exit 2; }}
c=$(echo x | grep -$m -e "$p" 2>&1 >/dev/null)
[ $? -lt 2 ] || {{ printf 'regex parse error:\\nerror: %s\\n' "${{c#*: }}" >&2; exit 2; }}
if echo x | grep -qI x 2>/dev/null && ! printf '\\000x\\n' | grep -qI x; then
  find {start} {passed} -name .git -prune -o -type f -exec grep $f -I -$m -C {context} -e "$p" {{}} +
else
  find {start} {passed} -name .git -prune -o -type f -exec grep -l{case} -$m -e "$p" {{}} + | while IFS= read -r n; do
    [ "$(head -c 65536 "$n" | tr -dc '\\000' | wc -c)" -eq 0 ] && grep $f -$m -C {context} -e "$p" "$n"
  done
fi
exit 0
"""
_MOST_LINES, _MOST_PASSED = 20_000, 100
_NUMBER = re.compile(rb"[:-](\d+)[:-]")
NOTE = "there is no ripgrep: find and grep searched, which look only into UTF-8 text"
_NOT_OVER_LINES = "There is no ripgrep, so no match may be longer than a line: search for a part of it."


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    number: int
    text: str
    is_match: bool


@dataclass(slots=True)
class GrepSearch(Search):
    """One search, as `Search`. With Perl's expressions where grep knows them: they are closest to ripgrep's."""

    listed: list[str] | None = None
    left_out: list[str] = field(default_factory=list)

    def run(self) -> SearchResult:
        """Search.

        Raises:
            ToolError, ToolInterrupted: as `Search.run`.
        """
        if self.query.target == "files":
            return replace(self._names(), note=NOTE)
        if spans_lines(self.query):
            raise ToolError(_NOT_OVER_LINES)
        if self.one_file:
            self._refuse_binary()
        lines = self._found()
        if self.query.output == "content":
            result = self._page_of(lines)
        else:
            counts: dict[str, int] = {}
            for line in lines:
                counts[line.name] = counts.get(line.name, 0) + line.is_match
            page = self._page(list(counts))
            result = self._result(
                tuple(SearchHit(self._path(name), count=counts[name]) for name in page), len(page), len(counts)
            )
        if not result.total:
            self._heed_time()
        return replace(result, note=NOTE)

    def _list_files(self, narrowed: Sequence[str] = ()) -> list[str]:
        """The files that no ignore file leaves out; those of a type where it is `narrowed`."""
        if self.listed is None:
            self.listed = self._looked_for()
        if not narrowed or self.query.type is None:
            return self.listed
        of_type = Wanted(_globs_of(self.query.type))
        return [name for name in self.listed if of_type.matches(name)]

    def _looked_for(self) -> list[str]:
        reads = "" if self.query.include_ignored or self.one_file else "yes"
        script = _LIST.format(start=self._start(), reads=reads)
        told = b"".join(self._in_time(self.runner.run(script))).decode(errors="surrogateescape")
        names, _, rules = told.partition("\0\0")
        found = [name for name in names.split("\0") if name]
        if not reads:
            return found
        parts = rules.split("\0")
        ignoring = Ignoring(self.runner.folder, zip(parts[::2], parts[1::2], strict=False))
        wanted = [name for name in found if not ignoring.leaves_out(name)]
        folders = {name[2:].rpartition("/")[0] for name in found}
        self.left_out = sorted(filter(ignoring.leaves_out_folder, folders), key=lambda folder: folder.count("/"))
        return wanted

    def _found(self) -> list[_Line]:
        """The lines that match and those around them, by path and number."""
        names = self._list_files(() if self.one_file else self._kind())
        if self.query.glob and not self.one_file:
            globs = wanted_files(self.query.glob, self._list_files)
            names = [name for name in names if globs.matches(name)]
        wanted = {name.encode(errors="surrogateescape"): name for name in names if self._may_show(name)}
        words = sorted(re.findall(r"\w+", self.query.pattern), key=len)
        around = re.compile(re.escape(words[-1]) if words else "", re.IGNORECASE)
        lines: list[_Line] = []
        for raw in self._in_time(self.runner.run(self._script())):
            if (line := self._line(raw, wanted, around)) is not None:
                lines.append(line)
            if len(lines) >= _MOST_LINES:
                self.partial = True
                break
        return sorted(lines, key=lambda line: (line.name, line.number))

    def _script(self) -> str:
        query = self.query
        return _GREP.format(
            mode="F" if query.fixed else "E",
            pattern=_word(query.pattern if query.fixed else perls(query.pattern)),
            extended=_word(extended(query.pattern)),
            case="i" if query.ignore_case else "",
            context=max(0, query.context) if query.output == "content" else 0,
            start=self._start(),
            passed=" ".join(f"-path {_word(_plain(f'./{name}'))} -prune -o" for name in self._passed()),
        )

    def _passed(self) -> Iterator[str]:
        """The directories that are not gone into: the outermost that are left out."""
        passed: list[str] = []
        for folder in self.left_out:
            if len(passed) < _MOST_PASSED and not any(folder.startswith(f"{above}/") for above in passed):
                passed.append(folder)
        return iter(passed)

    def _line(self, raw: bytes, wanted: dict[bytes, str], around: re.Pattern[str]) -> _Line | None:
        raw = raw.removesuffix(b"\n")
        for number in _NUMBER.finditer(raw):
            if (name := wanted.get(raw[: number.start()])) is not None:
                text = raw[number.end() :].removesuffix(b"\r").decode(errors="replace").removeprefix("\ufeff")
                at = found.start() if (found := around.search(text)) else 0
                cut = cut_around(text, at, self.limits.max_line_chars)
                return _Line(name, int(number[1]), cut, is_match=number[0].endswith(b":"))
        return None

    def _page_of(self, lines: Sequence[_Line]) -> SearchResult:
        matches = [at for at, line in enumerate(lines) if line.is_match]
        page = matches[self.query.offset : self.query.offset + self.query.limit]
        shown: dict[int, bool] = dict.fromkeys(page, True)
        around = max(0, self.query.context)
        for at in page:
            for near in range(max(0, at - around), min(len(lines), at + around + 1)):
                if lines[near].name == lines[at].name and abs(lines[near].number - lines[at].number) <= around:
                    shown.setdefault(near, False)
        hits = tuple(
            SearchHit(self._path(lines[at].name), lines[at].number, lines[at].text, is_match=shown[at])
            for at in sorted(shown)
        )
        return self._result(hits, len(page), len(matches))

    def _start(self) -> str:
        return _word(self.start) if self.one_file else "."


def _word(text: str) -> str:
    if "\0" in text:
        raise ToolError("The pattern could not be searched for: it holds a null character.")
    return "'" + text.replace("'", "'\\''") + "'"


def _plain(name: str) -> str:
    """A pattern of find's for that name alone."""
    return re.sub(r"[\\*?\[]", r"\\\g<0>", name)


# Expressions as models write them, for grep. `$` stands before either kind of line break, as in ripgrep's search.

_CLASSES = {"d": "[:digit:]", "w": "[:alnum:]_", "s": "[:space:]", "h": "[:blank:]"}
_WORDS = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])|(?P<end>\$)|"
    r"(?P<group>\(\?(?:P?<\w+>|:|))|(?P<lazy>(?<=[*+?}])\?)",
    re.DOTALL,
)


def perls(pattern: str) -> str:
    """The pattern for `grep -P`, in which all languages have letters."""
    ends = pattern if r"\r" in pattern else _WORDS.sub(lambda word: r"\r?$" if word["end"] else word[0], pattern)
    return f"(*UCP){ends}"


def extended(pattern: str) -> str:
    """The pattern for `grep -E`; '' where it cannot be said so."""
    try:
        return _WORDS.sub(_said, pattern)
    except LookupError:
        return ""


def _said(word: re.Match[str]) -> str:
    text = word[0]
    if word["escape"]:
        return _escaped(text[1])
    if word["set"]:
        return _set(text)
    if word["end"]:
        return "\r?$"
    if word["group"] and len(text) == len("(?"):
        raise LookupError(text)
    return "(" if word["group"] else ""


def _escaped(letter: str) -> str:
    if letter.lower() in _CLASSES:
        return f"[{'^' if letter.isupper() else ''}{_CLASSES[letter.lower()]}]"
    if letter in "rt":
        return {"r": "\r", "t": "\t"}[letter]
    if letter.isalnum() and letter not in "bB":
        raise LookupError(letter)
    return f"\\{letter}"


def _set(text: str) -> str:
    """A bracket expression, in which no backslash means anything: `]` stands first, and `-` last."""
    begin = "[^" if text.startswith("[^") else "["
    inside, signs = "", set[str]()
    for part in re.finditer(r"\\(.)|\[:\w+:\]|.", text[len(begin) : -1], re.DOTALL):
        letter = part[1]
        if letter and letter in "]-":
            signs.add(letter)
        elif letter in _CLASSES:
            inside += _CLASSES[letter]
        elif letter and letter in "rt":
            inside += _escaped(letter)
        elif letter and letter.isalnum():
            raise LookupError(letter)
        else:
            inside += letter or part[0]
    return f"{begin}{']' * (']' in signs)}{inside}{'-' * ('-' in signs)}]"


# Types of files by name, as ripgrep's `--type` has them, where a type is more than the ending of its name.

_TYPES = {
    "c": "*.[chH] *.[chH].in *.cats",
    "cpp": "*.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in",
    "csharp": "*.cs",
    "docker": "*Dockerfile*",
    "elixir": "*.ex *.eex *.exs *.heex *.leex *.livemd",
    "html": "*.htm *.html *.ejs",
    "java": "*.java *.jsp *.jspx *.properties",
    "js": "*.js *.jsx *.vue *.cjs *.mjs",
    "json": "*.json composer.lock *.sarif",
    "kotlin": "*.kt *.kts",
    "make": "[Gg][Nn][Uu]makefile [Mm]akefile Makefile.* *.mk *.mak",
    "md markdown": "*.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx",
    "perl": "*.perl *.pl *.PL *.plh *.plx *.pm *.t",
    "protobuf": "*.proto",
    "py python": "*.py *.pyi",
    "ruby": "Gemfile *.gemspec config.ru .irbrc Rakefile *.rake *.rb *.rbw",
    "rust": "*.rs",
    "sh": "*.sh *.bash *.zsh .bashrc .profile .zshrc",
    "toml": "*.toml Cargo.lock",
    "ts typescript": "*.ts *.tsx *.cts *.mts",
    "yaml": "*.yaml *.yml",
}
_ENDINGS = frozenset({"css", "csv", "dart", "go", "lua", "nix", "php", "rst", "scss", "sql", "svg", "swift", "txt",
                      "vue", "xml", "zig"})  # fmt: skip


def _globs_of(kind: str) -> list[str]:
    if kind in _ENDINGS:
        return [f"*.{kind}"]
    for names, globs in _TYPES.items():
        if kind in names.split():
            return globs.split()
    raise ToolError(f"The file type {kind} is not known; use file_glob, as *.py.")
