"""Which option a permission question is answered with."""

import pytest

from acp_adapter.cli.questions import Approver
from tests.support.scripted import OPTIONS


def question(options=OPTIONS, **tool_call):
    return {"toolCall": {"toolCallId": "c", **tool_call}, "options": options}


def edit_of(path):
    return {"kind": "edit", "locations": [{"path": str(path)}]}


def choice(approver, asked):
    return approver.decide(asked).option_id


def test_all_allows_once_and_none_rejects(tmp_path):
    assert choice(Approver("all", tmp_path), question()) == "yes"
    assert choice(Approver("none", tmp_path), question()) == "no"


@pytest.mark.parametrize(
    ("reply", "option"), [("once", "yes"), ("always", "ever"), ("no", "no"), ("cancelled", None)]
)
def test_the_persons_reply_picks_the_option_of_that_kind(tmp_path, reply, option):
    assert choice(Approver("ask", tmp_path, lambda _options: reply), question()) == option


def test_where_nobody_can_be_asked_the_answer_is_no_and_says_why(tmp_path):
    answer = Approver("ask", tmp_path).decide(question())
    assert answer.option_id == "no"
    assert "no terminal" in answer.words


def test_edits_inside_the_directory_are_allowed_by_edits(tmp_path):
    assert choice(Approver("edits", tmp_path), question(**edit_of(tmp_path / "a.py"))) == "yes"


def test_edits_outside_the_directory_are_not(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    approver = Approver("edits", inside)
    for path in (tmp_path / "a.py", inside / ".." / "a.py", inside / "link" / "a.py"):
        assert choice(approver, question(**edit_of(path))) == "no"


def test_an_edit_is_judged_by_all_of_its_paths(tmp_path):
    diff = {"type": "diff", "path": "/etc/hosts", "newText": ""}
    assert choice(Approver("edits", tmp_path), question(**edit_of(tmp_path / "a"), content=[diff])) == "no"


def test_an_edit_of_nothing_known_and_other_kinds_are_asked_by_edits(tmp_path):
    approver = Approver("edits", tmp_path, lambda _options: "always")
    assert choice(approver, question(kind="edit")) == "ever"
    assert choice(approver, question(kind="execute", locations=[{"path": str(tmp_path)}])) == "ever"


def test_what_updates_told_of_the_call_counts_for_its_question(tmp_path):
    approver = Approver("edits", tmp_path)
    approver.see({"toolCallId": "c", **edit_of(tmp_path / "a")})
    assert choice(approver, question(kind=None)) == "yes"


def test_an_edit_that_an_agent_in_its_edit_mode_asks_about_is_asked(tmp_path):
    approver = Approver("edits", tmp_path)
    approver.agent_allows_edits = True
    assert choice(approver, question(**edit_of(tmp_path / ".git" / "hooks" / "x"))) == "no"


def test_once_the_turn_is_cancelled_every_question_is(tmp_path):
    approver = Approver("all", tmp_path)
    approver.cancelled = True
    assert choice(approver, question()) is None


@pytest.mark.parametrize("options", [[], [None], [{"optionId": "x", "kind": "unheard_of"}]])
def test_without_a_fitting_option_the_question_is_cancelled(tmp_path, options):
    assert choice(Approver("all", tmp_path), question(options)) is None


def test_a_relative_path_counts_from_the_sessions_directory(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir("/")
    assert choice(Approver("edits", tmp_path / "in"), question(**edit_of("a.py"))) == "yes"
    assert choice(Approver("edits", tmp_path / "in"), question(**edit_of("../a.py"))) == "no"


def test_what_is_no_path_is_not_inside(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("a\0b", "loop/a"):
        assert choice(Approver("edits", tmp_path), question(**edit_of(path))) == "no"


def test_a_persons_question_has_the_whole_of_each_name(tmp_path):
    seen = []
    named = [{"optionId": "y", "kind": "allow_once", "name": "Allow\nand \u202eall"}]
    Approver("ask", tmp_path, lambda options: seen.extend(options) or "no").decide(question(named))
    assert [option.name for option in seen] == ["Allow and \\u{202e}all"]
