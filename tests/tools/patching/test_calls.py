"""Calls of `patch` as a whole: what is told of them, and that all of a call happens or nothing of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import tools.patch  # noqa: F401 - registers the tool
from agent_core.cancel import CancelToken
from tests.support.tool_context import call, error_of, make_context, payload
from tests.tools.patching.v4a_cases import update
from tools.approval.actions import Action, WritePath
from tools.approval.questions import Answer, Question
from tools.errors import ToolInterrupted
from tools.files.seen import FilesSeen, digest_of
from tools.ports import Interrupt
from tools.registry import registry
from tools.result import ShownDiff, ShownText

THREE = """\
*** Begin Patch
*** Update File: a
-a
+A
*** Add File: n/b
+b
*** Update File: c
*** Move to: d
-c
+C
*** Delete File: e
*** End Patch
"""


def fill(folder: Path) -> None:
    for name in "ace":
        (folder / name).write_text(f"{name}\n")
    (folder / "c").chmod(0o755)


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


BEFORE = {"a": "a\n", "c": "c\n", "e": "e\n"}
AFTER = {"a": "A\n", "n/b": "b\n", "d": "C\n"}


@dataclass
class Person:
    """Answers no to changes of one file, and yes to all others."""

    refuses: str = ""
    cancels: CancelToken | None = None
    asked: list[Action] = field(default_factory=list)

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        action = question.action
        self.asked.append(action)
        assert isinstance(action, WritePath)
        if action.path.name == self.refuses and self.cancels is not None:
            self.cancels.cancel()
        return Answer(allowed=action.path.name != self.refuses)


def test_a_patch_tells_what_became_of_each_file(tmp_path: Path):
    fill(tmp_path)
    result = call(make_context(tmp_path), "patch", mode="patch", patch=THREE)
    assert payload(result) == {
        "files": [
            {"path": "a", "change": "updated", "diff": "@@ -1,1 +1,1 @@\n-a\n+A"},
            {"path": "n/b", "change": "added", "lines": 1},
            {"path": "d", "change": "moved", "from": "c", "diff": "@@ -1,1 +1,1 @@\n-c\n+C"},
            {"path": "e", "change": "deleted"},
        ]
    }
    assert content(tmp_path) == AFTER
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o755
    assert result.shown == (
        ShownDiff(tmp_path / "a", "a\n", "A\n"),
        ShownDiff(tmp_path / "n/b", None, "b\n"),
        ShownText(f"Moved {tmp_path / 'c'} to {tmp_path / 'd'}."),
        ShownDiff(tmp_path / "d", "c\n", "C\n"),
        ShownDiff(tmp_path / "e", "e\n", None),
    )
    assert result.facts["locations"] == [{"path": str(tmp_path / name), "line": 1} for name in ("a", "n/b", "d")]
    assert result.facts["path"] == str(tmp_path / "a")


@pytest.mark.parametrize("refused", ["a", "b", "c", "d", "e"])
def test_one_refusal_leaves_every_file_as_it_was(tmp_path: Path, refused: str):
    fill(tmp_path)
    ctx = make_context(tmp_path, "default", Person(refused))
    assert "Denied" in error_of(call(ctx, "patch", patch=THREE))
    assert content(tmp_path) == BEFORE


def test_every_change_is_asked_about_with_its_content(tmp_path: Path):
    fill(tmp_path)
    person = Person()
    payload(call(make_context(tmp_path, "default", person), "patch", patch=THREE))
    asked = {
        (action.path.name, action.before, action.after) for action in person.asked if isinstance(action, WritePath)
    }
    assert {("a", b"a\n", b"A\n"), ("b", None, b"b\n"), ("c", b"c\n", None), ("e", b"e\n", None)} <= asked


def test_every_change_is_asked_about_before_the_first_is_made(tmp_path: Path):
    fill(tmp_path)

    @dataclass
    class Looking(Person):
        def ask(self, question: Question, interrupt: Interrupt) -> Answer:
            assert content(tmp_path) == BEFORE
            return super().ask(question, interrupt)

    person = Looking()
    payload(call(make_context(tmp_path, "default", person), "patch", patch=THREE))
    assert [action.path.name for action in person.asked if isinstance(action, WritePath)] == ["a", "b", "c", "d", "e"]
    assert content(tmp_path) == AFTER


def test_nothing_is_asked_when_a_part_cannot_be_done(tmp_path: Path):
    fill(tmp_path)
    person = Person()
    broken = THREE.replace("-c", "-zebra")
    assert "Hunk 1 of c" in error_of(call(make_context(tmp_path, "default", person), "patch", patch=broken))
    assert person.asked == []
    assert content(tmp_path) == BEFORE


def test_a_file_that_changed_while_the_person_thought_stops_all(tmp_path: Path):
    fill(tmp_path)

    @dataclass
    class Busy(Person):
        def ask(self, question: Question, interrupt: Interrupt) -> Answer:
            (tmp_path / "e").write_text("other\n")
            return super().ask(question, interrupt)

    assert "changed" in error_of(call(make_context(tmp_path, "default", Busy()), "patch", patch=THREE))
    assert content(tmp_path) == {**BEFORE, "e": "other\n"}


def test_a_file_that_moves_where_something_is_that_was_not_read_is_refused(tmp_path: Path):
    fill(tmp_path)
    ctx = replace(make_context(tmp_path), seen=FilesSeen())
    assert "you have not read it" in error_of(call(ctx, "patch", patch=update("*** Move to: e", path="a")))
    assert content(tmp_path) == BEFORE


def test_a_file_that_was_read_may_be_replaced_by_adding_it(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"one\r\ntwo\r\n")
    ctx = replace(make_context(tmp_path), seen=FilesSeen())
    patch = "*** Add File: a\n+x\n+y\n*** End Patch"
    assert "a exists already" in error_of(call(ctx, "patch", patch=patch))
    assert ctx.seen is not None
    ctx.seen.note(tmp_path / "a", digest_of(b"one\r\ntwo\r\n"), whole=True)
    assert payload(call(ctx, "patch", patch=patch))["files"][0]["change"] == "updated"
    assert (tmp_path / "a").read_bytes() == b"x\r\ny\r\n"


def test_the_model_knows_what_it_has_patched(tmp_path: Path):
    fill(tmp_path)
    seen = FilesSeen()
    ctx = replace(make_context(tmp_path), seen=seen)
    for name in "ac":
        seen.note(tmp_path / name, digest_of(f"{name}\n".encode()), whole=True)
    call(ctx, "patch", patch=THREE)
    for name, text in AFTER.items():
        known = seen.known(tmp_path / name)
        assert known is not None
        assert (known.digest, known.whole) == (digest_of(text.encode()), True)


def test_what_was_never_read_is_not_known_after_a_replacement(tmp_path: Path):
    fill(tmp_path)
    ctx = replace(make_context(tmp_path), seen=FilesSeen())
    payload(call(ctx, "patch", path="a", old_string="a", new_string="b"))
    assert ctx.seen is not None
    assert ctx.seen.known(tmp_path / "a") is None


def test_what_the_change_broke_is_told(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n")
    value = payload(call(make_context(tmp_path), "patch", path="a.py", old_string="1", new_string="(1"))
    assert "line 1" in value["problems"]


def test_edits_are_done_in_order_or_not_at_all(tmp_path: Path):
    (tmp_path / "f").write_text("a\nb\nc\n")
    ctx = make_context(tmp_path)
    edits: list[dict[str, Any]] = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "x"}]
    assert f"Edit 2 of 2: old_string is in {tmp_path / 'f'} 2 times" in error_of(
        call(ctx, "patch", path="f", edits=edits)
    )
    assert (tmp_path / "f").read_text() == "a\nb\nc\n"
    edits[1]["replace_all"] = True
    result = call(ctx, "patch", path="f", edits=edits)
    assert (payload(result)["replacements"], result.facts["lines"]) == (3, [1, 2])
    assert (tmp_path / "f").read_text() == "x\nx\nc\n"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            {"path": "a", "old_string": "a", "new_string": "b", "edits": [{"old_string": "a", "new_string": "b"}]},
            "not both",
        ),
        ({"path": "a", "edits": [{"old_string": "a"}]}, "new_string"),
        ({"path": "a"}, "old_string"),
        ({"mode": "patch"}, "patch"),
        ({"old_string": "a", "new_string": "b"}, "path"),
    ],
)
def test_a_call_that_lacks_something_says_what(tmp_path: Path, args: dict[str, Any], told: str):
    fill(tmp_path)
    assert told in error_of(call(make_context(tmp_path), "patch", **args))
    assert content(tmp_path) == BEFORE


def test_what_is_given_decides_whatever_the_mode_says(tmp_path: Path):
    fill(tmp_path)
    ctx = make_context(tmp_path)
    payload(call(ctx, "patch", mode="replace", patch=update("-a", "+x", path="a")))
    payload(call(ctx, "patch", mode="patch", path="c", old_string="c", new_string="y"))
    payload(call(ctx, "patch", path="e", patch="@@\n-e\n+z\n*** End Patch"))
    assert content(tmp_path) == {"a": "x\n", "c": "y\n", "e": "z\n"}


def test_what_is_there_already_is_no_change_and_no_error(tmp_path: Path):
    fill(tmp_path)
    result = call(make_context(tmp_path), "patch", patch="*** Add File: a\n+a\n*** End Patch")
    assert payload(result) == {"files": [{"path": "a", "change": "unchanged"}]}
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "a"}]
    assert "as it was" in payload(call(make_context(tmp_path), "patch", path="a", edits=edits))["note"]


def test_the_diffs_of_many_files_stay_bounded(tmp_path: Path):
    patch = []
    for number in range(30):
        (tmp_path / f"f{number}").write_text("".join(f"line {n}\n" for n in range(300)))
        patch += [f"*** Update File: f{number}", *(f"-line {n}\n+changed {n}" for n in range(300))]
    result = call(make_context(tmp_path), "patch", patch="\n".join([*patch, "*** End Patch"]))
    assert len(payload(result)["files"]) == 30
    assert len(result.text) < 25_000


def test_a_cancel_before_the_first_write_changes_nothing(tmp_path: Path):
    fill(tmp_path)
    token = CancelToken()
    ctx = make_context(tmp_path, "default", Person("a", cancels=token), interrupt=token)
    with pytest.raises(ToolInterrupted):
        call(ctx, "patch", patch=THREE)
    assert content(tmp_path) == BEFORE


def test_the_schema_costs_no_more_than_its_share():
    entry = registry.get("patch")
    assert entry is not None
    assert len(json.dumps(entry.definition())) <= 1000
