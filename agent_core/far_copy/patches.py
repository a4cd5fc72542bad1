"""What of a copy's changes is not made here, kept as patches that `git apply` takes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agent_core.background.news import News
from agent_core.far_copy.choosing import ADVICE
from agent_core.far_copy.copy import Change, FarCopy
from agent_core.far_copy.facts import Fact
from agent_core.far_copy.packing import read_here, sent_before
from agent_core.leavings import how_to_apply, write_rest
from tools.environments.git import Git, git_root, write_repository
from tools.environments.temp_directories import own_directory
from tools.errors import ToolError

_DIFF = ("diff", "--no-index", "--binary", "--no-renames", "--no-prefix", "--no-ext-diff", "--no-textconv")
_EXECUTABLE, _PLAIN = 0o755, 0o644
_MOST_NAMED = 20


def keep_as_patches(copy: FarCopy, changes: Sequence[Change]) -> tuple[Path, str] | None:
    """Write a patch for each change, from what was last the same on both sides to what is there.

    Returns:
        where they are, and the command that makes the changes here; None where there is nothing to keep.

    Raises:
        ToolError: git cannot tell. OSError: there is no room.
    """
    kept = sorted((change for change in changes if not change.obstacle), key=lambda change: os.fsencode(change.name))
    if not kept:
        return None
    root = git_root(copy.top) or copy.top
    below = copy.top.relative_to(root)
    befores = _befores(copy, kept)
    with own_directory("hermes-patches-") as folder, Git(advice=ADVICE) as git:
        own = folder / "git"
        write_repository(own)
        for side in ("a", "b"):
            (folder / side).mkdir()
        for change in kept:
            _put(folder / "a" / below / change.name, befores.get(change.name), _before(change))
            _put(folder / "b" / below / change.name, change.content, change.there)

        def patch(*names: str) -> bytes:
            if not (found := git.run(*_DIFF, *names, cwd=folder, git_dir=own, fine=(0, 1))):
                raise ToolError(f"git tells no difference of what was changed on {copy.where}.")
            return found

        rest = copy.store.new_rest()
        rest.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_rest(rest, patch("a", "b"), len(kept), lambda number: _of_one(folder, below / kept[number].name, patch))
    return rest, how_to_apply(root, rest)


def kept_news(copy: FarCopy, changes: Sequence[Change], words: Sequence[str], why: str) -> News | None:
    """Keep changes that nobody can be asked about, and what the session shall be told of it; None for nothing.

    Args:
        words: about what cannot be kept.
        why: they were not brought back, in words that follow a colon.

    Raises:
        ToolError, OSError: as in `keep_as_patches`.
    """
    # What a killed process had brought back already would keep the patches beside it from being applied.
    changes = [change for change in changes if change.obstacle or change.here != change.there]
    kept = keep_as_patches(copy, changes)
    if not changes and not words:
        return None
    where = "" if kept is None else f" It is kept for a week; this makes it here: `{kept[1]}`."
    title = f"What was changed on {copy.where} was not brought back: {why}."
    more = f", and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
    lost = [change.name for change in changes if change.obstacle]
    if lost:
        where += f" Not kept, as too large or in change: {', '.join(lost[:_MOST_NAMED])}."
    names = f" Files: {', '.join(change.name for change in changes[:_MOST_NAMED])}{more}." if changes else ""
    return news_of(f"{title}{where}", f"{title}{names} {' '.join(words)}{where}")


def news_of(title: str, text: str) -> News:
    """Something that a session shall know of its copy."""
    return News("workspace-copy", "told", title, text)


def _of_one(folder: Path, name: Path, patch: object) -> bytes:
    assert callable(patch)  # noqa: S101 - for the types
    old, new = (str(Path(side) / name) if (folder / side / name).exists() else os.devnull for side in ("a", "b"))
    found = patch("--", old, new)
    assert isinstance(found, bytes)  # noqa: S101 - the same
    return found


def _before(change: Change) -> Fact | None:
    """What a patch begins with: what was last the same on both sides, or is so again."""
    here, there = change.here, change.there
    return here if here is not None and there is not None and here.digest == there.digest else change.pair.there


def _befores(copy: FarCopy, changes: Sequence[Change]) -> dict[str, bytes]:
    """The contents that patches begin with."""
    found, sought = dict[str, bytes](), dict[str, str]()
    for change in changes:
        if (before := _before(change)) is None:
            continue
        here = read_here(copy.top / change.name) if change.here in {change.pair.here, before} else None
        if here is not None and change.here is not None and change.here.digest == before.digest:
            found[change.name] = here[0]
        else:
            sought[change.name] = before.digest
    return found | (sent_before(copy.store.streams, sought) if sought else {})


def _put(path: Path, content: bytes | None, fact: Fact | None) -> None:
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(_EXECUTABLE if fact is not None and fact.executable else _PLAIN)
