"""`search_files` in a tree of 20,000 files: grep, where there is no ripgrep, beside ripgrep."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

from benchmarks.in_turns import Pair, in_turns
from tests.support.searches import by_grep, by_rg
from tools.ports import SearchQuery

FILES = 20_000
REPETITIONS = 5


def search_content(folder: Path) -> Pair:
    """Seconds of a search for a word by grep, and by ripgrep."""
    return _both(folder, SearchQuery("word2999", _tree(folder)))


def search_by_expression(folder: Path) -> Pair:
    """Seconds of a search that no fixed text makes quick, by grep, and by ripgrep."""
    return _both(folder, SearchQuery(r"word2[0-9]+9\s+word1", _tree(folder)))


def search_in_any_case(folder: Path) -> Pair:
    """Seconds of a search that does not tell letter case apart, by grep, and by ripgrep."""
    return _both(folder, SearchQuery("WORD2999", _tree(folder), ignore_case=True))


def search_names(folder: Path) -> Pair:
    """Seconds of a search for names, by grep, and by ripgrep."""
    return _both(folder, SearchQuery("*.py", _tree(folder), target="files"))


def _tree(folder: Path) -> Path:
    root = folder / "tree"
    if root.exists():
        return root
    chance = random.Random(1)  # the same tree each time
    words = [f"word{number}" for number in range(3000)]
    for number in range(FILES):
        place = root / f"p{number % 40}" / f"q{number % 13}"
        place.mkdir(parents=True, exist_ok=True)
        ending = chance.choice(["py", "js", "md", "txt"])
        lines = (" ".join(chance.choices(words, k=7)) for _ in range(chance.randint(10, 120)))
        (place / f"f{number}.{ending}").write_text("\n".join(lines) + "\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    os.sync()
    return root


def _both(folder: Path, query: SearchQuery) -> Pair:
    with tempfile.TemporaryDirectory(dir=folder) as programs:
        without_ripgrep = by_grep("GNU", Path(programs))
        assert without_ripgrep(query) == by_rg(query)
        return in_turns(lambda: without_ripgrep(query), lambda: by_rg(query), REPETITIONS)
