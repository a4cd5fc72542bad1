"""Properties of replacements and patches, on texts and edits that nobody has thought of."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import tools.patch  # noqa: F401 - registers the tool
from tests.support.tool_context import call, make_context
from tools.environments.atomic_writes import FileChange, change_all
from tools.errors import FileAccessError, ToolError
from tools.patching.hunks import HunksMisplaced, patched
from tools.patching.replacing import Replacement, replaced
from tools.patching.v4a import UpdateFile, parse

hypothesis = pytest.importorskip("hypothesis", reason="needs hypothesis: pip install -e '.[dev]'")
st = pytest.importorskip("hypothesis.strategies")
given, settings, assume = hypothesis.given, hypothesis.settings, hypothesis.assume

quick = settings(max_examples=25, deadline=None, derandomize=True, database=None)
few = settings(max_examples=20, deadline=None, derandomize=True, database=None)

word = st.text(alphabet="ab \t\"'“-–\u00a0é{", max_size=5)
# A carriage return at a line's end would be its ending.
line = word.map(lambda text: text.replace("\r", ""))
lines = st.lists(line, max_size=12)
ending = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw):
    """A text whose lines end alike or not, the last maybe not at all."""
    kinds = draw(st.sampled_from([("\n",), ("\r\n",), ("\n", "\r\n")]))
    text = "".join(each + draw(st.sampled_from(kinds)) for each in draw(lines))
    return text + draw(st.sampled_from(["", "end"]))


def v4a(before: Sequence[str], after: Sequence[str], context: int) -> str:
    """The patch that makes `before` into `after`, with as many lines around each change."""
    told = ["*** Begin Patch", "*** Update File: f"]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        told.append("@@")
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                told += [f" {each}" for each in before[start:end]]
            else:
                told += [f"-{each}" for each in before[start:end]]
                told += [f"+{each}" for each in after[new_start:new_end]]
        if group[-1][2] == len(before):
            told.append("*** End of File")
    return "\n".join([*told, "*** End Patch"])


def joined(parts: Sequence[str], end: str) -> str:
    return "".join(part + end for part in parts)


@quick
@given(lines, lines, ending, st.integers(1, 4))
def test_a_patch_made_of_two_texts_makes_one_of_the_other_or_says_that_it_is_ambiguous(before, after, end, context):
    assume(before and before != after)
    (operation,) = parse(v4a(before, after, context))
    assert isinstance(operation, UpdateFile)
    try:
        made = patched(joined(before, end), operation.hunks, "f")
    except HunksMisplaced as problem:
        reasons = problem.problems
    else:
        assert made.text == joined(after, end)
        return
    assert all("times" in reason for reason in reasons)


@quick
@given(lines, lines, ending)
def test_a_patch_with_all_lines_around_it_is_never_ambiguous(before, after, end):
    assume(before and before != after)
    (operation,) = parse(v4a(before, after, 100))
    assert isinstance(operation, UpdateFile)
    assert patched(joined(before, end), operation.hunks, "f").text == joined(after, end)


@quick
@given(texts(), st.data(), word)
def test_what_is_replaced_is_the_one_piece_and_nothing_else(text, data, new):
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    assume(old != new and "\n" not in old)
    assume("\r" not in old)
    if text.count(old) == 1:
        assert replaced(text, [Replacement(old, new)], "f").text == text.replace(old, new)
    else:
        with pytest.raises(ToolError, match="times"):
            replaced(text, [Replacement(old, new)], "f")


@quick
@given(texts(), st.data())
def test_a_replacement_and_its_reverse_leave_the_text_as_it_was(text, data):
    assume(len(text) > 1 and text.count("\r\n") in {0, text.count("\n")})
    start = data.draw(st.integers(0, len(text) - 2))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    assume(not old.startswith("\n") and not old.endswith("\r"))
    try:
        there = replaced(text, [Replacement(old, "<unique>")], "f")
    except ToolError as problem:
        reason = str(problem)
    else:
        assert replaced(there.text, [Replacement("<unique>", old)], "f").text == text
        return
    assert "times" in reason


@quick
@given(texts(), st.lists(word, min_size=1, max_size=4), st.lists(word, max_size=4))
def test_everything_outside_one_region_stays_byte_for_byte(text, old, new):
    assume(old != new)
    try:
        made = replaced(text, [Replacement("\n".join(old), "\n".join(new))], "f")
    except ToolError:
        return
    assert made.count == 1
    kept = 0
    while kept < min(len(text), len(made.text)) and text[kept] == made.text[kept]:
        kept += 1
    tail = 0
    while tail < min(len(text), len(made.text)) - kept and text[-1 - tail] == made.text[-1 - tail]:
        tail += 1
    assert text[kept : len(text) - tail].count("\n") <= len(old)


@st.composite
def shifted_edits(draw):
    """A text with indented lines, an edit of some of them, and the same edit with other indentation and endings."""
    steps = st.lists(
        st.tuples(st.integers(0, 3), st.text(alphabet="abc", min_size=1, max_size=3)), min_size=1, max_size=9
    )
    levels = draw(steps)
    start = draw(st.integers(0, len(levels) - 1))
    end = draw(st.integers(start + 1, len(levels)))
    changed = draw(steps)
    kept = levels[start:end]
    place = draw(st.integers(0, len(kept)))
    unit, sent_unit = draw(st.sampled_from([("    ", "\t"), ("\t", "    "), ("    ", "    ")]))
    drop = min((level for level, _ in [*kept, *changed]), default=0) if unit == sent_unit else 0

    def lines_of(of: Sequence[tuple[int, str]], by: str, less: int = 0) -> list[str]:
        return [by * (level - less) + name for level, name in of]

    new = [*kept[:place], *changed, *kept[place + draw(st.integers(0, 1)) :]]
    text = lines_of(levels, unit)
    return text, start, end, lines_of(new, unit), lines_of(kept, sent_unit, drop), lines_of(new, sent_unit, drop)


@quick
@given(shifted_edits(), ending)
def test_an_edit_with_other_indentation_does_the_same_as_the_exact_one_or_nothing(case, end):
    text, first, last, new, sent_old, sent_new = case
    old = joined(sent_old, "\n")
    assume(sent_old != sent_new)
    try:
        made = replaced(joined(text, end), [Replacement(old, joined(sent_new, "\n"))], "f")
    except ToolError:
        return
    exact = joined([*text[:first], *new, *text[last:]], end)
    # What is not indented at all may be a part of another line as well.
    assert made.text == exact or old in joined(text, "\n")


class Failing:
    """Files in memory that fail at one change, counted from 0."""

    def __init__(self, files: dict[Path, bytes], at: int) -> None:
        self.files = dict(files)
        self._left = at

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        self._step()
        if self.files.get(path) != expected:
            raise FileAccessError(f"{path} is not as it was")
        self.files[path] = data
        return data

    def remove(self, path: Path, *, expected: bytes) -> None:
        self._step()
        if self.files.get(path) != expected:
            raise FileAccessError(f"{path} is not as it was")
        del self.files[path]

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        if target in self.files or source not in self.files:
            raise FileAccessError(f"{target} is taken")
        self.files[target] = self.files.pop(source)

    def _step(self) -> None:
        self._left -= 1
        if self._left == -1:
            raise FileAccessError("no space left")


@st.composite
def changes(draw):
    """Files, and changes of them that can all be made."""
    data = st.binary(max_size=2)
    files: dict[Path, bytes] = {}
    wanted: list[FileChange] = []
    for number in range(draw(st.integers(1, 5))):
        path = Path(f"/f{number}")
        kind = draw(st.sampled_from(["add", "edit", "delete", "move"]))
        if kind == "add":
            wanted.append(FileChange(path, None, draw(data)))
            continue
        files[path] = draw(data)
        if kind == "move":
            wanted.append(FileChange(Path(f"/g{number}"), files[path], draw(data), source=path))
        else:
            wanted.append(FileChange(path, files[path], draw(data) if kind == "edit" else None))
    return files, wanted


@quick
@given(changes(), st.integers(0, 12))
def test_changes_of_several_files_are_made_all_or_none(case, at):
    files, wanted = case
    disk = Failing(files, at)
    try:
        change_all(disk, wanted)
    except FileAccessError as problem:
        reason = str(problem)
    else:
        reason = ""
    if reason:
        assert (reason, disk.files) == ("no space left", files)
        return
    expected = dict(files)
    for change in wanted:
        expected.pop(change.source or change.path, None)
        if change.after is not None:
            expected[change.path] = change.after
    assert disk.files == expected


@few
@given(st.text(max_size=60), st.text(alphabet="*+- @a\nBeginPatchUpdateFile:f", max_size=80))
def test_no_patch_breaks_the_tool_and_a_refused_one_changes_nothing(text, patch):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "f").write_bytes(text.encode("utf-8", "replace"))
        before = (Path(folder) / "f").read_bytes()
        result = call(make_context(Path(folder)), "patch", patch=f"*** Update File: f\n{patch}\n*** End Patch")
        assert "patch failed:" not in result.text
        if result.failed:
            assert (Path(folder) / "f").read_bytes() == before
