"""Questions to the person: on the card's own id, with answers that say what they do, and unsure means no."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities, ClientHabits
from acp_adapter.client_io.calls import EditorGone, EditorRefused, EditorSilent
from acp_adapter.permissions import EditorApprover
from agent_core.cancel import CancelToken
from tests.support.each import each
from tests.support.mcp_actions import mcp_call
from tests.support.wire import check_outgoing
from tools.approval.actions import (
    Action,
    CallOwnTool,
    ConnectHost,
    LeavePlan,
    ReachHost,
    ReadPath,
    ReadSecretFiles,
    RunCommand,
    UseBrowser,
    WritePath,
)
from tools.approval.questions import Answer, Question
from tools.approval.scopes import lasting, reaches
from tools.errors import ToolInterrupted
from tools.ports import Interrupt

_ROOT = Path("/srv")
_FILE = Path("/srv/src/a.py")
_RUN = RunCommand("rm -r build", _ROOT)
_PUSH = RunCommand("git push origin main", _ROOT)
_MCP = mcp_call("files", "write", '{"path": "a"}')
_PLAN = LeavePlan("# Plan\n\n1. Look")
_SHOWS_NAMES = ClientCapabilities(habits=ClientHabits(collapses_options=False))
_FORMS = _SHOWS_NAMES._replace(form_questions=True)
_COLLAPSES = ClientCapabilities()
_COLLAPSES_WITH_FORMS = ClientCapabilities(form_questions=True)
_ASK_PERMISSION, _ASK_FORM = "session/request_permission", "elicitation/create"


def _write(before: bytes | None, after: bytes | None, real: Path = _FILE) -> WritePath:
    return WritePath(real, before, after, shown=_FILE)


def _chosen(option_id: Any) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


class Person:
    """An approver before an editor that gives `replies` in their order; one that is an exception is raised."""

    def __init__(self, *replies: Any, client: ClientCapabilities | None = None, cwd: Path = _ROOT) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.timeouts: list[float | None] = []
        self.token = CancelToken()
        self._approver = EditorApprover(self, client or _SHOWS_NAMES, 7.5, cwd)

    def call(
        self, method: str, params: Mapping[str, Any], interrupt: Interrupt, timeout: float | None = None
    ) -> dict[str, Any]:
        self.asked.append((method, dict(params)))
        self.timeouts.append(timeout)
        assert interrupt is self.token
        sent = {"sessionId": "s", **params}
        check_outgoing({"jsonrpc": "2.0", "id": 1, "method": method, "params": sent})
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return dict(reply)

    def ask(
        self, action: Action = _RUN, *, reason: str = "deletes files", is_risky: bool = False, keeps: bool = False
    ) -> Answer:
        grants = reaches(action, (_ROOT,), is_risky=is_risky)
        question = Question(
            "call-7",
            action,
            reason,
            is_risky=is_risky,
            reaches=grants,
            keeps=lasting(action, grants, is_risky=is_risky) if keeps else (),
            no_lasts=True,
            no_explains=True,
        )
        return self.put(question)

    def put(self, question: Question) -> Answer:
        return self._approver.ask(question, self.token)

    def options(self, action: Action, *, is_risky: bool = False, keeps: bool = False) -> list[tuple[str, str, str]]:
        self.replies = [_chosen("reject_once")]
        self.ask(action, is_risky=is_risky, keeps=keeps)
        options = self.asked[-1][1]["options"]
        return [(option["optionId"], option["kind"], option["name"]) for option in options]


@each(
    ("action", "title"),
    [
        (_RUN, "rm -r build (it deletes files)"),
        (_write(None, b"x"), "Create src/a.py: it deletes files"),
        (_write(b"x", b"y"), "Edit src/a.py: it deletes files"),
        (_write(b"x", None), "Delete src/a.py: it deletes files"),
        (ReadPath(Path("/etc/x")), "Read /etc/x: it deletes files"),
        (ReadPath(Path("/srv/src/.env")), "Read src/.env: it deletes files"),
        (_MCP, "Call write of the MCP server files (it deletes files)"),
        (_PLAN, "Begin with this plan?"),
    ],
)
def test_the_question_is_put_on_the_calls_own_card(action: Action, title: str) -> None:
    person = Person(_chosen("reject_once"))
    person.ask(action)
    [(method, params)] = person.asked
    card = params["toolCall"]
    assert method == _ASK_PERMISSION
    assert (card["toolCallId"], card["status"], card["title"]) == ("call-7", "pending", title)
    assert {"kind", "locations", "content"} < card.keys(), "it stands alone"
    assert person.timeouts == [7.5]


_ONCE = ("allow_once", "allow_once", "Allow once")
_NO = ("reject_once", "reject_once", "Reject")
_WHY = ("reject_why", "reject_once", "Reject and tell why")


def _always(scope: str, what: str) -> tuple[str, str, str]:
    return f"allow_{scope}", "allow_always", f"Always allow {what} (this session)"


def _never(what: str) -> tuple[str, str, str]:
    return "reject_always", "reject_always", f"Always reject {what} (this session)"


@each(
    ("action", "wider", "same"),
    [
        (_write(b"x", b"y"), [_always("directory", "edits in srv/src/")], "edits of this file"),
        (_write(b"x", None), [], "deleting this file"),
        (ReadPath(Path("/usr/lib/x/a")), [_always("directory", "reading in /usr/lib/x/")], "reading this path"),
        (_RUN, [], "this exact command in this directory"),
        (_PUSH, [], "this exact command in this directory"),
        (
            RunCommand("cp -n a b", _ROOT),
            [_always("prefix", "`cp …` inside this directory with the same options")],
            "this exact command in this directory",
        ),
        (
            RunCommand("pytest -q", _ROOT),
            [_always("prefix", "`pytest …` in this directory")],
            "this exact command in this directory",
        ),
        (_MCP, [_always("server", "every tool of files")], "write of files"),
    ],
)
def test_each_answer_says_what_it_does_and_the_safest_is_last(action: Action, wider: list, same: str) -> None:
    expected = [_ONCE, _always("session", same), *wider, _NO, _never(same)]
    assert Person().options(action) == expected
    with_words = [_ONCE, _always("session", same), *wider, _NO, _WHY, _never(same)]
    assert Person(client=_FORMS).options(action) == with_words


def test_a_name_that_a_server_made_up_cannot_fill_the_screen() -> None:
    [_, tool, server, *_] = Person().options(mcp_call("s\n" * 99, "Allow once\n\n" + "x" * 999, "{}"))
    assert "\n" not in tool[2] + server[2]
    assert max(len(tool[2]), len(server[2])) < 200


def test_where_no_is_the_better_guess_it_comes_first() -> None:
    same = "this exact command in this directory"
    assert Person().options(_RUN, is_risky=True) == [_NO, _ONCE, _always("session", same), _never(same)]
    assert Person(client=_FORMS).options(_RUN, is_risky=True) == [
        _NO, _ONCE, _always("session", same), _WHY, _never(same),
    ]  # fmt: skip


def test_a_plan_is_answered_with_the_mode_to_go_on_in() -> None:
    choices = [
        ("plan_default", "allow_once", "Yes, ask before each edit"),
        ("plan_accept_edits", "allow_always", "Yes, edit files without asking"),
        ("plan_reject", "reject_once", "No, keep planning"),
    ]
    assert Person().options(_PLAN) == choices
    assert Person(client=_FORMS).options(_PLAN) == [
        *choices, ("plan_revise", "reject_once", "No, and tell what to change"),
    ]  # fmt: skip


def test_a_question_that_nobody_remembers_offers_only_once() -> None:
    person = Person(_chosen("allow_once"))
    EditorApprover(person, _FORMS, 1, _ROOT).ask(Question("c", _write(b"a", b"b"), "is changed"), person.token)
    assert [option["optionId"] for option in person.asked[0][1]["options"]] == ["allow_once", "reject_once"]


def test_an_edit_shows_its_diff_and_its_place() -> None:
    person = Person(_chosen("allow_once"))
    person.ask(_write(b"a\r\nb\r\n", b"a\nc\n"))
    card = person.asked[0][1]["toolCall"]
    assert card["locations"] == [{"path": str(_FILE)}]
    assert card["content"] == [{"type": "diff", "path": str(_FILE), "oldText": "a\nb\n", "newText": "a\nc\n"}]


def test_a_link_does_not_hide_where_the_change_goes() -> None:
    person = Person(_chosen("allow_once"))
    person.ask(_write(b"a", b"b", real=Path("/etc/victim.conf")))
    card = person.asked[0][1]["toolCall"]
    assert card["title"] == "Edit src/a.py → /etc/victim.conf: it deletes files"
    assert card["locations"] == [{"path": str(_FILE)}, {"path": "/etc/victim.conf"}]


def test_what_is_not_below_the_sessions_directory_is_named_as_a_whole() -> None:
    person = Person(_chosen("allow_once"), cwd=Path("/srv/other"))
    person.ask(_write(b"a", b"b"))
    assert person.asked[0][1]["toolCall"]["title"] == "Edit /srv/src/a.py: it deletes files"


def test_nor_does_the_link_of_a_directory_within_the_session(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    cwd = tmp_path / "alias"
    person = Person(_chosen("allow_once"), _chosen("allow_once"), cwd=cwd)
    person.ask(WritePath(tmp_path / "real/src/a.py", b"a", b"b", shown=cwd / "src/a.py"), reason="")
    person.ask(WritePath(tmp_path / "real/lib/a.py", b"a", b"b", shown=cwd / "src/a.py"), reason="")
    titles = [params["toolCall"]["title"] for _, params in person.asked]
    assert titles == ["Edit src/a.py", f"Edit src/a.py → {tmp_path}/real/lib/a.py"]


@pytest.mark.parametrize(("before", "after"), [(b"\0", b"x"), (None, b"x\0"), (b"\0\xff", None)])
def test_an_edit_of_a_file_that_is_no_text_says_so(before: bytes | None, after: bytes | None) -> None:
    person = Person(_chosen("allow_once"))
    person.ask(_write(before, after))
    [block] = person.asked[0][1]["toolCall"]["content"]
    assert block["content"]["text"] == f"{_FILE} is not a text file."


def test_a_command_is_shown_whole_with_its_directory_and_the_reason() -> None:
    person = Person(_chosen("allow_once"))
    command = "echo " + "x" * 5000 + "; rm -r /"
    person.ask(RunCommand(command, _ROOT))
    card = person.asked[0][1]["toolCall"]
    assert command in card["title"]
    assert card["rawInput"] == {"command": command, "cwd": "/srv", "reason": "deletes files"}
    text, why = (block["content"]["text"] for block in card["content"])
    assert text == f"```sh\n{command}\n```"
    assert why == "It deletes files."


def test_nothing_is_hidden_in_what_is_asked_about() -> None:
    person = Person(*[_chosen("reject_once")] * 4)
    for action in (
        RunCommand("ls \u202e# x\x1b[8m\rrm y\nrm z", _ROOT),
        ReadPath(Path("/srv/a\u202eb\nc")),
        WritePath(Path("/srv/a\x1b[8m.py"), None, b"x", Path("/srv/a\x1b[8m.py")),
        mcp_call("one\u202eowt", "do\x1b[8m", '{"a": "\u202e"}'),
    ):
        person.ask(action)
    cards = [params["toolCall"] for _, params in person.asked]
    assert [card["title"].partition(" (it")[0].partition(": it")[0] for card in cards] == [
        "ls \\u202e# x\\x1b[8m\\rrm y\nrm z",
        "Read a\\u202eb\\nc",
        "Create a\\x1b[8m.py",
        "Call do\\x1b[8m of the MCP server one\\u202eowt",
    ]
    assert "\\u202e" in cards[3]["content"][-1]["content"]["text"]
    labels = [option["name"] for option in person.asked[3][1]["options"]]
    assert "Always allow every tool of one\\u202eowt (this session)" in labels


def test_where_every_edit_is_shown_no_plan_is_followed_by_unseen_ones() -> None:
    person = Person(_chosen("plan_accept_edits"))
    answer = person.put(Question("call-7", _PLAN, "", shows_edits=True))
    assert [option["optionId"] for option in person.asked[0][1]["options"]] == ["plan_default", "plan_reject"]
    assert not answer.allowed


def test_an_mcp_call_shows_its_arguments_and_a_plan_itself() -> None:
    person = Person(_chosen("allow_once"), _chosen("plan_default"))
    person.ask(_MCP)
    person.ask(_PLAN)
    call, plan = (params["toolCall"] for _, params in person.asked)
    assert '{"path": "a"}' in call["content"][-1]["content"]["text"]
    assert (plan["kind"], plan["content"][0]["content"]["text"]) == ("switch_mode", _PLAN.plan)


_KEPT = "Always allow {} (every session here)"


@each(
    ("action", "is_risky", "what"),
    [
        (RunCommand("pytest -q", _ROOT), False, "`pytest …` in this directory"),
        (RunCommand("cp -r a b", _ROOT), False, "this exact command in this directory"),
        (RunCommand("numactl --all make x", _ROOT), False, "this exact command in this directory"),
        (RunCommand("grep -c x a | wc -l", _ROOT), False, "this exact command in this directory"),
        (_PUSH, True, "this exact command in this directory"),
        (RunCommand("make x", _ROOT, outside=True), True, "this exact command without the sandbox in this directory"),
        (_write(b"x", b"y"), False, "edits in srv/src/"),
        (ReadPath(Path("/usr/lib/x/a")), False, "reading in /usr/lib/x/"),
        (_MCP, False, "write of files"),
        (CallOwnTool("deploy"), False, "your tool deploy"),
        (ReachHost("https://example.com/x", "example.com"), False, "pages of example.com"),
        (ConnectHost("example.com", 8443), False, "commands to reach example.com:8443"),
    ],
)
def test_one_answer_may_be_kept_for_good_and_the_card_stays_short(action: Action, is_risky: bool, what: str) -> None:
    options = Person().options(action, is_risky=is_risky, keeps=True)
    assert [name for option, _, name in options if option == "allow_kept"] == [_KEPT.format(what)]
    assert len(options) <= 6
    assert options[0] == (_NO if is_risky else _ONCE), "what lasts is never the first"


@each(
    ("action", "is_risky"),
    [
        (_write(b"x", None), False),
        (_write(b"x", b"y"), True),
        (ReadPath(Path("/srv/.env")), True),
        (ReachHost("http://router/", "router", "a private address"), True),
        (ConnectHost("router", 80, "a private address"), True),
        (UseBrowser("example.com", "click @e1"), False),
    ],
)
def test_what_is_risky_or_passing_is_not_kept_for_good(action: Action, is_risky: bool) -> None:
    assert "allow_kept" not in [option for option, _, _ in Person().options(action, is_risky=is_risky, keeps=True)]


def test_the_answer_that_is_kept_reaches_as_far_as_its_label_says() -> None:
    person = Person(_chosen("allow_kept"), _chosen("allow_kept"), _chosen("allow_kept"))
    like, same = Answer(allowed=True, scope="prefix", always=True), Answer(allowed=True, scope="session", always=True)
    assert person.ask(RunCommand("pytest -q", _ROOT), keeps=True) == like
    assert person.ask(_PUSH, is_risky=True, keeps=True) == same
    assert not person.ask(_PUSH, is_risky=True).allowed, "it was not offered"


@each(
    ("action", "option", "answer"),
    [
        (_RUN, "allow_once", Answer(allowed=True)),
        (_RUN, "allow_session", Answer(allowed=True, scope="session")),
        (RunCommand("pytest -q", _ROOT), "allow_prefix", Answer(allowed=True, scope="prefix")),
        (_write(b"a", b"b"), "allow_directory", Answer(allowed=True, scope="directory")),
        (_MCP, "allow_server", Answer(allowed=True, scope="server")),
        (_RUN, "reject_once", Answer(allowed=False)),
        (_RUN, "reject_always", Answer(allowed=False, scope="session")),
        (_PLAN, "plan_default", Answer(allowed=True, mode="default")),
        (_PLAN, "plan_accept_edits", Answer(allowed=True, mode="accept_edits")),
        (_PLAN, "plan_reject", Answer(allowed=False)),
    ],
)
def test_the_choice_is_the_answer(action: Action, option: str, answer: Answer) -> None:
    assert Person(_chosen(option)).ask(action) == answer


_INVALID = "the editor's answer was not valid"


@each(
    ("reply", "note"),
    [
        ({"outcome": {"outcome": "cancelled"}}, "the question was dismissed"),
        ({"outcome": {"outcome": "cancelled", "optionId": "allow_once"}}, "the question was dismissed"),
        (_chosen("allow"), _INVALID),
        (_chosen(""), _INVALID),
        (_chosen("ALLOW_ONCE"), _INVALID),
        (_chosen(None), _INVALID),
        (_chosen(["allow_once"]), _INVALID),
        (_chosen("allow_prefix"), _INVALID),  # not offered for this command
        (_chosen("reject_why"), _INVALID),  # not offered to this editor
        (_chosen("plan_accept_edits"), _INVALID),
        ({"outcome": {"optionId": "allow_once"}}, _INVALID),
        ({"outcome": {"outcome": "maybe", "optionId": "allow_once"}}, _INVALID),
        ({"outcome": "allow_once"}, _INVALID),
        ({}, _INVALID),
        (EditorGone("gone"), "the editor could not be asked"),
        (EditorRefused(-32603, "secret text"), "the editor could not be asked"),
        (EditorSilent("silent"), "no answer within 7.5 seconds"),
    ],
)
def test_whatever_is_not_a_clear_yes_is_a_no(reply: Any, note: str) -> None:
    assert Person(reply).ask() == Answer(allowed=False, note=note)


def test_a_question_that_is_withdrawn_has_no_answer() -> None:
    with pytest.raises(ToolInterrupted):
        Person(ToolInterrupted()).ask()


def test_who_rejects_and_tells_why_is_asked_for_words_on_the_same_card() -> None:
    person = Person(_chosen("reject_why"), {"action": "accept", "content": {"reason": " Too big. "}}, client=_FORMS)
    assert person.ask() == Answer(allowed=False, words="Too big.")
    [_, (method, params)] = person.asked
    assert (method, params["mode"], params["toolCallId"]) == (_ASK_FORM, "form", "call-7")
    assert list(params["requestedSchema"]["properties"]) == ["reason"]
    assert "required" not in params["requestedSchema"]


def test_a_plan_that_is_to_be_changed_is_rejected_with_the_words() -> None:
    person = Person(_chosen("plan_revise"), {"action": "accept", "content": {"reason": "Less."}}, client=_FORMS)
    assert person.ask(_PLAN) == Answer(allowed=False, words="Less.")
    assert "plan" in person.asked[1][1]["message"]


@each(
    "reply",
    [
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"reason": "  "}},
        {"action": "accept", "content": {"reason": 7}},
        {"action": "accept", "content": ["Too big."]},
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "allow"},
        {},
        EditorGone("gone"),
        EditorRefused(-32601, "Method not found"),
        EditorSilent("silent"),
        ToolInterrupted(),
    ],
)
def test_a_no_stands_though_no_words_come(reply: Any) -> None:
    assert Person(_chosen("reject_why"), reply, client=_FORMS).ask() == Answer(allowed=False)


def test_words_are_not_longer_than_the_model_needs() -> None:
    person = Person(_chosen("reject_why"), {"action": "accept", "content": {"reason": "x" * 9000}}, client=_FORMS)
    assert len(person.ask().words) == 4000


_SECRETS = (Path("/srv/.env"), Path("/srv/certs/server.key"))
_READ_KEPT = ("allow_kept", "allow_always", _KEPT.format("commands to read the secret files of srv"))


@each(
    ("can_hide", "no"),
    [(True, "No, hide them from commands"), (False, "No, ask about each command")],
)
@each(
    ("option", "answer"),
    [
        ("allow_session", Answer(allowed=True, scope="session")),
        ("allow_kept", Answer(allowed=True, scope="session", always=True)),
        ("allow_once", Answer(allowed=True)),
        ("reject_once", Answer(allowed=False, scope="session")),
        ("reject_always", Answer(allowed=False, scope="session", always=True)),
    ],
)
def test_the_question_about_secret_files_names_them_and_each_answer_says_what_happens(
    can_hide: bool, no: str, option: str, answer: Answer
) -> None:
    action = ReadSecretFiles(_ROOT, _SECRETS, "npm test\n# \u202ex", can_hide)
    grants = reaches(action, (_ROOT,), is_risky=False)
    person = Person(_chosen(option))
    question = Question("call-7", action, "", reaches=grants, keeps=grants, no_lasts=True, no_keeps=True)
    assert person.put(question) == answer
    [(_, params)] = person.asked
    title = "Let commands read .env, certs/server.key: npm test\\n# \\u202ex"
    assert params["toolCall"]["title"] == title
    assert params["toolCall"]["locations"] == [{"path": str(path)} for path in _SECRETS]
    assert [(one["optionId"], one["kind"], one["name"]) for one in params["options"]] == [
        ("allow_once", "allow_once", "Allow once"),
        _always("session", "commands to read the secret files of srv"),
        _READ_KEPT,
        ("reject_once", "reject_once", f"{no} (this session)"),
        ("reject_always", "reject_always", f"{no} (every session here)"),
    ]


def test_where_nothing_can_be_kept_an_answer_about_secret_files_is_for_the_session() -> None:
    action = ReadSecretFiles(_ROOT, _SECRETS, "npm test")
    person = Person(_chosen("allow_session"))
    grants = reaches(action, (_ROOT,), is_risky=False)
    assert person.put(Question("call-7", action, "", reaches=grants)) == Answer(allowed=True, scope="session")
    names = [one["name"] for one in person.asked[0][1]["options"]]
    assert names[1] == "Always allow commands to read the secret files of srv (this session)"
    assert len(names) == 3


_PERSON_OF = {"collapses": _COLLAPSES, "collapses, has forms": _COLLAPSES_WITH_FORMS}
_EVERY_ACTION: list[Action] = [
    _write(None, b"x"), _write(b"x", b"y"), _write(b"x", None), ReadPath(Path("/usr/lib/x/a")), _RUN, _PUSH,
    RunCommand("pytest -q", _ROOT), RunCommand("cp -n a b", _ROOT), RunCommand("make x", _ROOT, outside=True), _MCP,
    _PLAN, CallOwnTool("deploy"), ReachHost("https://example.com/x", "example.com"), ConnectHost("example.com", 8443),
    UseBrowser("example.com", "click @e1"), ReadSecretFiles(_ROOT, (Path("/srv/.env"),), "npm test", True),
]  # fmt: skip


@each("client", _PERSON_OF.values())
@each("is_risky", [False, True])
@each("action", _EVERY_ACTION)
def test_a_client_that_collapses_options_gets_one_of_each_kind_and_none_that_lasts_beyond_the_session(
    action: Action, is_risky: bool, client: ClientCapabilities
) -> None:
    person = Person(_chosen("reject_once"), client=client)
    grants = reaches(action, (_ROOT,), is_risky=is_risky)
    kept = lasting(action, grants, is_risky=is_risky)
    person.put(
        Question(
            "c",
            action,
            "",
            is_risky=is_risky,
            reaches=grants,
            keeps=kept,
            no_lasts=True,
            no_keeps=True,
            no_explains=True,
        )
    )
    options = person.asked[0][1]["options"]
    kinds = [option["kind"] for option in options]
    assert len(kinds) == len(set(kinds))
    assert {"allow_once", "reject_once"} <= set(kinds)
    ids = [option["optionId"] for option in options if option["kind"] == "allow_always"]
    assert ids == ["allow_session"] * bool(grants), "the narrowest"
    assert not [option for option in options if "every session" in option["name"]]


@each(
    ("reply", "answer"),
    [
        ("Always allow edits of this file (this session)", Answer(allowed=True, scope="session")),
        ("Always allow edits in srv/src/ (this session)", Answer(allowed=True, scope="directory")),
        ("Always allow edits in srv/src/ (every session here)", Answer(allowed=True, scope="directory", always=True)),
        ("anything else", Answer(allowed=True, scope="session")),
        (None, Answer(allowed=True, scope="session")),
        (EditorGone("gone"), Answer(allowed=True, scope="session")),
        (EditorSilent("silent"), Answer(allowed=True, scope="session")),
    ],
)
def test_more_is_a_form_with_the_wider_answers_and_what_was_chosen_stands_without_it(
    reply: Any, answer: Answer
) -> None:
    filled = {"action": "accept", "content": {"reach": reply}} if isinstance(reply, str) else {"action": "decline"}
    person = Person(
        _chosen("allow_session"), reply if isinstance(reply, Exception) else filled, client=_COLLAPSES_WITH_FORMS
    )
    assert person.ask(_write(b"x", b"y"), keeps=True) == answer
    [(_, question), (method, form)] = person.asked
    names = [option["name"] for option in question["options"] if option["kind"] == "allow_always"]
    assert names == ["Always allow edits of this file (this session). More…"]
    assert (method, form["toolCallId"]) == (_ASK_FORM, "call-7")
    reach = form["requestedSchema"]["properties"]["reach"]
    assert reach["default"] == reach["enum"][0] == "Always allow edits of this file (this session)"
    assert len(reach["enum"]) == 3


def test_more_is_not_there_where_nothing_is_wider_or_there_are_no_forms() -> None:
    for person, action in (
        (Person(_chosen("allow_session"), client=_COLLAPSES), _write(b"x", b"y")),
        (Person(_chosen("allow_session"), client=_COLLAPSES_WITH_FORMS), _write(b"x", None)),
    ):
        assert person.ask(action) == Answer(allowed=True, scope="session")
        assert len(person.asked) == 1


def test_more_that_is_withdrawn_leaves_no_answer() -> None:
    with pytest.raises(ToolInterrupted):
        Person(_chosen("allow_session"), ToolInterrupted(), client=_COLLAPSES_WITH_FORMS).ask(_write(b"x", b"y"))
