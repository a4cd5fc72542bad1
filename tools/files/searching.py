"""What a search asks for and what it finds: the words of `FileSystem.search`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One question to `FileSystem.search`.

    Attributes:
        pattern: regular expression for `content`, globs for `files`.
        path: absolute file or directory to search.
        target: look inside files or at their names.
        glob: only files whose path matches it; with a `!` in front, only the others. Of several, with commas between
            them, one has to match. What they mean is `tools.text.globs.settled`'s to say.
        output: whole matches, file names only, or a count for each file.
        limit, offset: the page of results; `context`: lines around each match.
        type: only files of this kind, by ripgrep's names: py, ts, rust.
        fixed: the pattern is the text itself.
        ignore_case: of the pattern; globs always tell cases apart.
        multiline: `.` matches line breaks too. A pattern that names a line break needs no such word.
        include_ignored: search what `.gitignore` and its like name, too.
    """

    pattern: str
    path: Path
    target: Literal["content", "files"] = "content"
    glob: str | None = None
    output: Literal["content", "files_only", "count"] = "content"
    limit: int = 50
    offset: int = 0
    context: int = 0
    type: str | None = None
    fixed: bool = False
    ignore_case: bool = False
    multiline: bool = False
    include_ignored: bool = False


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A line (1-based) of a file; `line` 0 where the hit is the file itself. `is_match` False marks context."""

    path: Path
    line: int = 0
    text: str = ""
    count: int = 0
    is_match: bool = True


@dataclass(frozen=True, slots=True)
class NearMiss:
    """What a search that found nothing would have found; each number is of files.

    Attributes:
        other_case: the text stands in them in other letter case.
        ignored: they match, and `.gitignore` or its like names them.
        binary: they match, and are no text.
        example: one of the files that match in other case, or else that are ignored.
    """

    other_case: int = 0
    ignored: int = 0
    binary: int = 0
    example: Path | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One page of hits and the total number of matches, or of files where files are listed.

    A match is a matching line; where a match may span lines, it is each place that matches.

    Attributes:
        shown: how many of `total` the page holds.
        truncated: there is more after this page.
        skipped: files whose names were left out because reading them asks (keys, credentials).
        partial: time ran out; `total` is what was found until then.
        unreadable: files and directories that could not be opened.
        near: what almost matched, where nothing did and it was quickly found out.
    """

    hits: tuple[SearchHit, ...]
    total: int
    truncated: bool = False
    skipped: int = 0
    shown: int = 0
    partial: bool = False
    unreadable: int = 0
    near: NearMiss | None = None
