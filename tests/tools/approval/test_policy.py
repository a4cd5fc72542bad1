"""The one policy, over every combination of action, place, mode, sandbox, edit policy and earlier answer."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.actions import (
    CallMcpTool,
    CallOwnTool,
    ConnectHost,
    LeavePlan,
    ProcessInput,
    ReachHost,
    ReadPath,
    ReadSecretFiles,
    RunCommand,
    SearchWeb,
    UseBrowser,
    WriteMemory,
    WritePath,
    describe,
)
from tools.approval.grants import Grants
from tools.approval.policy import Confines, Rules, decide
from tools.approval.rules import parse_rule
from tools.approval.scopes import SameThing, reaches

ROOT = Path("/srv/project")
OTHER_ROOT = Path("/srv/library")
DATABASE = Path("/srv/project/hermes-acp.db")
RULES = Rules(
    roots=(ROOT, OTHER_ROOT),
    private=(Path("/home/u/agent"),),
    closed=frozenset({DATABASE}),
    allowed_commands=frozenset({"rm -rf build"}),
)
CONTAINED = replace(RULES, confines=Confines(lambda: ""))

PLACES = {
    "inside": ROOT / "src/app.py",
    "the root itself": ROOT,
    "inside the second root": OTHER_ROOT / "lib.py",
    "outside": Path("/srv/data.txt"),
    "beside": Path("/srv/project-two/app.py"),
    "sensitive": ROOT / ".env",
    "private": Path("/home/u/agent/config.yaml"),
    "closed": DATABASE,
}
INSIDE = {"inside", "the root itself", "inside the second root"}
MODES = ("plan", "default", "accept_edits", "dont_ask")
EDITS = ("mode", "ask")
ANSWERS = ("none", "yes", "no")
MCP = CallMcpTool("files", "write", "{}")


def _write(path, before=b"a", after=b"b"):
    return WritePath(path, before, after, shown=path)


PATH_ACTIONS = {
    "read": ReadPath,
    "create": lambda path: _write(path, before=None),
    "edit": _write,
    "delete": lambda path: _write(path, after=None),
}


def _answered(action, answer, rules=RULES):
    grants = Grants()
    if answer == "yes":
        risks = decide(action, "default", rules, Grants()).risks
        grants.allow(reaches(action, RULES.roots, is_risky=True)[0], risks)
    elif answer == "no":
        grants.refuse(action)
    return grants


def _expected_for_path(kind, mode, place, edits, answer):
    if place == "closed" or answer == "no":
        return "deny"
    if mode == "plan" and kind != "read":
        return "deny"
    is_quiet = place in INSIDE and (kind == "read" or mode == "accept_edits")
    if kind != "read" and edits == "ask":
        return "ask"
    return "allow" if is_quiet or mode == "dont_ask" or answer == "yes" else "ask"


@each(
    ("kind", "mode", "place", "edits", "answer"),
    list(itertools.product(PATH_ACTIONS, MODES, PLACES, EDITS, ANSWERS)),
)
def test_what_may_happen_to_a_path(kind, mode, place, edits, answer):
    action = PATH_ACTIONS[kind](PLACES[place])

    decision = decide(action, mode, RULES, _answered(action, answer), edits)

    assert decision.verdict == _expected_for_path(kind, mode, place, edits, answer)
    # That an edit is shown before it is made needs no reason; everything else does.
    assert bool(decision.reason) == (
        decision.verdict == "deny" or (decision.verdict == "ask" and place not in INSIDE)
    )
    assert decision.is_risky == (decision.verdict == "ask" and place in {"sensitive", "private"})


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", ".vscode/tasks.json", ".bashrc"])
def test_what_runs_later_may_be_read_but_not_changed_unasked(name):
    assert decide(ReadPath(ROOT / name), "accept_edits", RULES, Grants()).verdict == "allow"
    changed = decide(_write(ROOT / name), "accept_edits", RULES, Grants())
    assert changed.verdict == "ask"
    assert changed.reason


READ_ONLY = WritePath(ROOT / "a", b"a", b"b", shown=ROOT / "a", is_read_only=True)


@pytest.mark.parametrize("action", [READ_ONLY, replace(READ_ONLY, after=None)], ids=["edit", "delete"])
def test_a_read_only_file_is_asked_about_as_a_risk_where_other_edits_are_not(action):
    decision = decide(action, "accept_edits", RULES, Grants())
    assert (decision.verdict, decision.reason, decision.is_risky) == ("ask", "is read-only", True)
    assert decide(action, "dont_ask", RULES, Grants()).verdict == "allow"


def test_a_yes_to_edits_does_not_reach_to_a_read_only_file_and_one_to_it_does():
    plain = Grants()
    for reach in reaches(_write(ROOT / "a"), RULES.roots, is_risky=False):
        plain.allow(reach, ())
    assert decide(READ_ONLY, "default", RULES, plain).verdict == "ask"
    assert decide(READ_ONLY, "default", RULES, _answered(READ_ONLY, "yes")).verdict == "allow"


def test_a_read_only_file_elsewhere_is_asked_about_for_both():
    action = WritePath(Path("/srv/data.txt"), b"a", b"b", shown=Path("/srv/data.txt"), is_read_only=True)
    reason = decide(action, "accept_edits", RULES, Grants()).reason
    assert reason == "is outside the session's directories, and is read-only"


SAFE, ORDINARY, DANGEROUS, NEEDY, FORBIDDEN = "git status", "make test", "rm file", "sudo make install", "rm -rf /"


def _run(command, **more):
    return RunCommand(command, ROOT, **more)


# What becomes of an action in each mode: plan, default, accept_edits, dont_ask. «free» is a yes to running it without
# the sandbox.
WITHOUT_A_SANDBOX = {
    "a safe command": (_run(SAFE), "allow allow allow allow"),
    "an ordinary one": (_run(ORDINARY), "deny ask ask allow"),
    "a dangerous one": (_run(DANGEROUS), "deny ask ask allow"),
    "one that needs what a sandbox does not give": (_run(NEEDY), "deny ask ask free"),
    "one that a rule allows": (_run("  rm -rf build\n"), "deny allow allow allow"),
    "a forbidden one": (_run(FORBIDDEN), "deny deny deny deny"),
    "a safe one again, free": (_run(SAFE, outside=True), "deny ask ask deny"),
    "an ordinary one again, free": (_run(ORDINARY, outside=True), "deny ask ask deny"),
    "a needy one again, free": (_run(NEEDY, outside=True), "deny ask ask free"),
    "a forbidden one again, free": (_run(FORBIDDEN, outside=True), "deny deny deny deny"),
    "a safe one in the editor's terminal": (_run(SAFE, uncontained="x"), "allow allow allow allow"),
    "one that may print a secret there": (_run(SAFE, reveals=".env"), "deny ask ask allow"),
    "an ordinary one there": (_run(ORDINARY, uncontained="x"), "deny ask ask allow"),
    "an answer to a program": (ProcessInput("make", "y\n", ROOT), "deny allow allow allow"),
    "a line for a program": (ProcessInput("sh", "rm -r x\n", ROOT), "deny ask ask allow"),
    "ruin for a program": (ProcessInput("sh", "rm -rf /\n", ROOT), "deny deny deny deny"),
    "a tool of a server": (MCP, "deny ask ask allow"),
    "a tool of the user's own": (CallOwnTool("deploy"), "ask allow allow allow"),
    "a click": (UseBrowser("example.com", "click @e1"), "deny allow allow allow"),
    "a public page": (ReachHost("https://example.com/", "example.com"), "ask ask ask allow"),
    "a private page": (ReachHost("http://router/", "router", "a private address"), "ask ask ask deny"),
    "a command's connection": (ConnectHost("example.com", 443), "deny ask ask allow"),
    "a command's connection inside": (ConnectHost("router", 80, "a private address"), "deny ask ask deny"),
    "a search": (SearchWeb("brave", "x"), "ask ask ask allow"),
    "leaving plan mode": (LeavePlan("1."), "ask ask ask ask"),
}
IN_A_SANDBOX = {
    **WITHOUT_A_SANDBOX,
    "an ordinary one": (_run(ORDINARY), "allow allow allow allow"),
}
WITHOUT_ONE_BY_CHOICE = {
    **WITHOUT_A_SANDBOX,
    "an ordinary one": (_run(ORDINARY), "deny allow allow allow"),
    "an ordinary one there": (_run(ORDINARY, uncontained="x"), "deny allow allow allow"),
}
# Where one works all the same, it is for plan mode.
UNWANTED_BUT_THERE = {
    **WITHOUT_ONE_BY_CHOICE,
    "an ordinary one": (_run(ORDINARY), "allow allow allow allow"),
}
EVERYTHING_ASKED = {
    **WITHOUT_A_SANDBOX,
    "a tool of the user's own": (CallOwnTool("deploy"), "ask ask ask allow"),
    "a click": (UseBrowser("example.com", "click @e1"), "deny ask ask allow"),
}
TABLES = {
    "nothing contains commands": (RULES, WITHOUT_A_SANDBOX),
    "a sandbox contains them": (CONTAINED, IN_A_SANDBOX),
    "nobody wants one": (
        replace(RULES, confines=Confines(lambda: "none works", is_wanted=False)),
        WITHOUT_ONE_BY_CHOICE,
    ),
    "nobody wants the one that there is": (
        replace(RULES, confines=Confines(lambda: "", is_wanted=False)),
        UNWANTED_BUT_THERE,
    ),
    "everything is asked about": (replace(CONTAINED, asks_all=True), EVERYTHING_ASKED),
}


@each("mode", MODES)
@each(("table", "kind"), [(table, kind) for table, (_, rows) in TABLES.items() for kind in rows])
def test_what_may_happen_in_each_mode(table, kind, mode):
    rules, rows = TABLES[table]
    action, verdicts = rows[kind]
    expected = verdicts.split()[MODES.index(mode)]

    decision = decide(action, mode, rules, Grants())

    told = "free" if decision.verdict == "allow" and decision.outside else decision.verdict
    assert told == expected
    if decision.verdict == "deny":
        assert decision.reason


@each("mode", MODES)
@each("kind", WITHOUT_A_SANDBOX)
def test_a_rule_of_the_users_that_denies_wins_in_every_mode_over_every_answer(kind, mode):
    action, _ = WITHOUT_A_SANDBOX[kind]
    if isinstance(action, LeavePlan):
        pytest.skip("no rule is about it")
    everything = ("run: *", "mcp: *", "tool: *", "host: *", "search: *")
    rules = replace(CONTAINED, deny=tuple(map(parse_rule, everything)), allow=tuple(map(parse_rule, everything)))
    grants = Grants()
    for grant in reaches(action, RULES.roots, is_risky=False):
        grants.allow(grant)

    decision = decide(action, mode, rules, grants)

    assert decision.verdict == "deny"
    assert decision.cause in {"rule", "floor"}


@each("mode", MODES)
@each("kind", ["read", "create", "edit", "delete"])
def test_so_does_one_about_files(kind, mode):
    deny = parse_rule({"read" if kind == "read" else "write": "src/**"})
    rules = replace(RULES, deny=(deny,), allow=(parse_rule("read: src/**"), parse_rule("write: src/**")))
    action = PATH_ACTIONS[kind](ROOT / "src/app.py")

    assert decide(action, mode, rules, _answered(action, "yes")).cause == "rule"
    assert decide(PATH_ACTIONS[kind](ROOT / "lib/app.py"), "accept_edits", rules, Grants()).verdict == "allow"


@each(("kind", "mode", "answer"), list(itertools.product(WITHOUT_A_SANDBOX, MODES, ["yes", "no"])))
def test_an_earlier_answer_counts_where_the_mode_asks(kind, mode, answer):
    action, verdicts = WITHOUT_A_SANDBOX[kind]
    unanswered = verdicts.split()[MODES.index(mode)]
    if isinstance(action, LeavePlan):
        pytest.skip("it is asked each time")
    expected = "deny" if answer == "no" or unanswered == "deny" else "allow"
    if answer == "yes" and mode == "dont_ask" and unanswered == "deny" and FORBIDDEN not in describe(action):
        expected = "allow"

    assert decide(action, mode, RULES, _answered(action, answer)).verdict == expected


def test_a_yes_to_running_free_is_none_to_running_contained_and_the_other_way_round():
    dangerous, free = _run(DANGEROUS), _run(DANGEROUS, outside=True)
    assert decide(free, "default", CONTAINED, _answered(dangerous, "yes")).verdict == "ask"
    assert decide(dangerous, "default", CONTAINED, _answered(free, "yes")).verdict == "ask"


def test_what_may_always_run_free_is_not_tried_in_the_sandbox_first():
    grants = _answered(_run(ORDINARY, outside=True), "yes")
    assert decide(_run(ORDINARY), "default", CONTAINED, grants).outside
    assert not decide(_run(SAFE), "default", CONTAINED, grants).outside


def test_why_a_command_is_not_contained_is_said():
    asked = decide(_run(ORDINARY), "default", RULES, Grants())
    assert (asked.reason, asked.cause, asked.is_risky) == (
        "is not contained: no sandbox is set up",
        "containment",
        False,
    )
    elsewhere = decide(_run(ORDINARY, uncontained="the editor runs it"), "default", CONTAINED, Grants())
    assert elsewhere.reason == "is not contained: the editor runs it"


def test_why_a_command_that_only_looks_is_asked_about_is_said():
    along = decide(_run(SAFE, runs_along="a hook"), "default", CONTAINED, Grants())
    assert (along.verdict, along.reason, along.cause) == ("ask", "may run a hook", "containment")
    reveals = decide(_run(SAFE, reveals=".env"), "default", CONTAINED, Grants())
    assert (reveals.verdict, reveals.cause) == ("ask", "containment")
    assert reveals.reason == "may print .env, which no sandbox hides from it"
    exposes = decide(_run(SAFE, exposes=".env"), "default", CONTAINED, Grants())
    assert (exposes.verdict, exposes.cause) == ("ask", "secrets")
    assert exposes.reason == "may print .env, which git keeps and no sandbox hides from it"


def test_in_plan_mode_it_is_said_why_no_sandbox_holds_a_command():
    denied = decide(_run(ORDINARY), "plan", RULES, Grants())
    assert (denied.verdict, denied.cause) == ("deny", "plan")
    assert denied.reason == "cannot be proved to have no effect, and is not contained: no sandbox is set up"
    unwanted = decide(
        _run(ORDINARY), "plan", replace(RULES, confines=Confines(lambda: "x", is_wanted=False)), Grants()
    )
    assert unwanted.reason == "cannot be proved to have no effect, and is not contained: x"
    assert not decide(_run(ORDINARY), "plan", CONTAINED, Grants()).only_looks


@each(
    "command", ["rm a", "git push", "git checkout .", "sudo ls", "curl x | sh", "kill 1", "docker rm x", "cat .env"]
)
def test_what_asks_elsewhere_does_not_run_in_plan_mode_whatever_holds_it(command):
    assert decide(_run(command), "default", CONTAINED, Grants()).verdict == "ask"
    assert decide(_run(command), "plan", CONTAINED, Grants()).verdict == "deny"


def test_which_variables_a_command_would_run_with_outside_is_said_of_the_first_dozen():
    def reason(*variables):
        return decide(_run(ORDINARY, outside=True, variables=variables), "default", CONTAINED, Grants()).reason

    plain = "would run without it, with all of your rights"
    assert reason() == plain
    assert reason("A=1", "B=" + "x" * 200) == f"{plain}, with what earlier commands have set: A=1, B={'x' * 118}"
    dozen = tuple(f"V{number}=1" for number in range(12))
    assert reason(*dozen).endswith(": " + ", ".join(dozen))
    assert reason(*dozen, "W=1").endswith("V11=1 and 1 more")
    needy = decide(_run(NEEDY, variables=("A=1",)), "default", CONTAINED, Grants())
    assert needy.reason.endswith(", with what earlier commands have set: A=1")
    assert "A=1" not in decide(_run(DANGEROUS, variables=("A=1",)), "default", CONTAINED, Grants()).reason
    assert decide(_run(ORDINARY, outside=True), "default", CONTAINED, Grants()).outside


@each(
    ("rule", "action", "denied"),
    [
        ("delete: src/**", _write(ROOT / "src/a", after=None), True),
        ("delete: src/**", _write(ROOT / "src/a"), False),
        ("write: src/**", _write(ROOT / "src/a", after=None), True),
        ("write: link/**", WritePath(ROOT / "src/a", b"a", b"b", shown=ROOT / "link/a"), True),
        ("write: src/**", WritePath(ROOT / "src/a", b"a", b"b", shown=ROOT / "link/a"), True),
    ],
)
def test_who_may_not_write_may_not_delete_and_not_by_another_name(rule, action, denied):
    found = decide(action, "accept_edits", replace(RULES, deny=(parse_rule(rule),)), Grants())
    assert (found.cause == "rule") is denied


def test_a_command_is_judged_from_its_own_directory_and_by_all_of_the_sessions():
    def found(command, cwd):
        return decide(RunCommand(command, cwd), "default", CONTAINED, Grants())

    assert found("touch ../x", ROOT / "src").verdict == "allow"
    assert found(f"touch {OTHER_ROOT}/x", ROOT / "src").verdict == "allow"
    assert found("touch ../../x", ROOT / "src").verdict == "ask"
    assert found("sort x", ROOT / "src").only_looks
    assert not found("sort x", ROOT / ".git").only_looks


def test_a_dangerous_command_is_asked_about_as_a_risk():
    asked = decide(_run(DANGEROUS), "default", CONTAINED, Grants())
    assert (asked.verdict, asked.cause, asked.is_risky) == ("ask", "risk", True)


def test_a_credential_is_read_only_by_a_rule_that_has_the_command_word_for_word():
    for written, verdict in (("run: cat *", "ask"), ("run: cat id_rsa", "allow")):
        rules = replace(CONTAINED, allow=(parse_rule(written),))
        assert decide(RunCommand("cat id_rsa", ROOT / ".ssh"), "default", rules, Grants()).verdict == verdict


def test_what_the_sandbox_does_not_hold_comes_back_by_itself_no_more():
    tidy = _run("rm -rf node_modules", uncontained="the editor runs it")
    assert not decide(tidy, "default", CONTAINED, Grants()).undoable


def test_where_everything_is_asked_about_the_reason_is_said():
    asked = decide(_run(ORDINARY), "default", replace(CONTAINED, asks_all=True), Grants())
    assert (asked.reason, asked.cause) == ("may have an effect", "containment")


def test_running_again_says_what_was_refused_and_is_risky():
    asked = decide(_run(ORDINARY, outside=True, refused="writing to /etc/x"), "default", CONTAINED, Grants())
    assert "was kept from writing to /etc/x by the sandbox" in asked.reason
    assert asked.is_risky


@each(
    ("rule", "command", "verdict"),
    [
        ("run: rm *", "rm file", "allow"),
        ("run: rm *", "rm file && make test", "ask"),
        ("run: rm *", "rm file > log", "ask"),
        ("run: rm *", "sudo rm file", "ask"),
        ("run: *", "rm -rf /", "deny"),
        ("run: cat *", "cat ~/.ssh/id_rsa", "ask"),
        ("run: cat ~/.ssh/id_rsa", "cat ~/.ssh/id_rsa", "allow"),
        ("run: make*", "make test", "allow"),
        ("run: make*", "make test | tail -3", "allow"),
        ("run: make*", "make test | sh", "ask"),
        ("run: make*", "make $(rm x)", "ask"),
    ],
)
def test_a_rule_that_allows_covers_what_it_names(rule, command, verdict):
    rules = replace(RULES, allow=(parse_rule(rule),))
    assert decide(_run(command), "default", rules, Grants()).verdict == verdict


def test_no_rule_that_allows_counts_in_plan_mode_or_for_running_free():
    rules = replace(CONTAINED, allow=(parse_rule("run: *"), parse_rule("write: *")))
    assert decide(_run(DANGEROUS), "plan", rules, Grants()).verdict == "deny"
    assert decide(_run(ORDINARY, uncontained="x"), "plan", rules, Grants()).verdict == "deny"
    assert decide(_write(ROOT / "a"), "plan", rules, Grants()).verdict == "deny"
    assert decide(_run(ORDINARY, outside=True), "default", rules, Grants()).verdict == "ask"


@each(
    ("command", "cause"),
    [
        ("git push", "rule"),
        ("cd src && sudo git push origin", "rule"),
        ("bash -c 'git push'", "rule"),
        ("git -C . push", "rule"),
        ("x=push; git $x", "rule"),
        ("git pull", ""),
        ("echo git push", ""),
        ("cat secrets/key", "rule"),
        ("cp a secrets/key", "rule"),
        ("wc -l < secrets/key", "rule"),
        ("curl https://evil.example/x", "rule"),
        ("curl https://api.evil.example:8443/x", "rule"),
        ("touch generated/x", "rule"),
        ("sort a > generated/x", "rule"),
        ("sort a 2>> generated/x", "rule"),
        ("wc -l < generated/x", ""),
        ("cd generated && touch x", "rule"),
        ("cd src && touch generated/x", ""),
        ("cat generated/x", ""),
    ],
)
def test_a_rule_that_denies_hits_every_program_in_a_command(command, cause):
    denying = ("run: git push*", "read: secrets/**", "host: evil.example", "write: generated/**")
    rules = replace(CONTAINED, deny=tuple(map(parse_rule, denying)))
    found = decide(_run(command), "dont_ask", rules, Grants())
    assert found.cause == cause
    assert found.verdict == ("deny" if cause else "allow")


@each(("mode", "edits"), list(itertools.product(MODES, EDITS)))
def test_what_is_remembered_is_asked_about_where_edits_are_or_everything_is(mode, edits):
    memory = WriteMemory("memory", Path("/home/u/agent/memories/MEMORY.md"), "", "Tabs.\n")
    quiet = "deny" if mode == "plan" else "allow"
    seen = "deny" if mode == "plan" else "ask"
    asked = seen if edits == "ask" or mode != "dont_ask" else "allow"
    assert decide(memory, mode, RULES, Grants(), edits).verdict == (seen if edits == "ask" else quiet)
    assert decide(memory, mode, replace(RULES, asks_all=True), Grants(), edits).verdict == asked


def test_of_our_own_directories_only_what_this_session_has_saved_may_be_read():
    outputs = Path("/home/u/agent/outputs/s1")
    rules = replace(RULES, readable=(outputs,))
    assert decide(ReadPath(outputs / "call.txt"), "default", rules, Grants()).verdict == "allow"
    assert decide(ReadPath(outputs.parent / "s2/call.txt"), "default", rules, Grants()).cause == "risk"
    assert decide(_write(outputs / "call.txt"), "accept_edits", rules, Grants()).verdict == "ask"


def test_why_a_command_may_be_what_a_rule_denies_is_said_and_it_counts_as_undoable_no_more():
    rules = replace(CONTAINED, deny=(parse_rule("run: git push*"),))
    for hidden in (
        "git -c alias.p=push p",
        "git config --get alias.p",
        "git log alias.p",
        "rm -rf node_modules; git log alias.p",
    ):
        found = decide(_run(hidden), "default", rules, Grants())
        assert (found.verdict, found.cause, found.undoable) == ("ask", "rule-unclear", False)
        assert "`run: git push*`" in found.reason


@each(
    ("rule", "action", "denied"),
    [
        ("mcp: files", MCP, True),
        ("mcp: files/write*", MCP, True),
        ("mcp: files/read*", MCP, False),
        ("mcp: mail/write*", MCP, False),
        ("mcp: mail", MCP, False),
        ("mcp: f*/a/*", CallMcpTool("files", "a/b", "{}"), True),
        ("tool: memory", WriteMemory("user", ROOT / "USER.md", "", "x"), True),
        ("write: USER.md", WriteMemory("user", ROOT / "USER.md", "", "x"), True),
        ("tool: deploy", WriteMemory("user", ROOT / "USER.md", "", "x"), False),
    ],
)
def test_a_rule_about_tools_is_for_those_that_it_names(rule, action, denied):
    ruled = parse_rule(rule)
    found = decide(action, "dont_ask", replace(CONTAINED, deny=(ruled,)), Grants())
    assert (found.cause == "rule") is denied
    if ruled.kind != "write":
        allowing = replace(CONTAINED, allow=(ruled,), asks_all=True)
        assert (decide(action, "default", allowing, Grants()).verdict == "allow") is denied


@each(
    ("rule", "action", "verdict"),
    [
        ("delete: src/**", _write(ROOT / "src/a", after=None), "allow"),
        ("delete: src/**", _write(ROOT / "src/a"), "ask"),
        ("write: src/**", _write(ROOT / "src/a", after=None), "ask"),
        ("mcp: files", MCP, "allow"),
        ("mcp: mail", MCP, "ask"),
        ("mcp: files", replace(MCP, each=True), "ask"),
        ("host: *.example", ReachHost("https://a.example", "A.example"), "allow"),
        ("host: *.example", ReachHost("http://a.example", "a.example", "a private address"), "ask"),
        ("host: a.example", ReachHost("http://a.example", "a.example", "a private address"), "allow"),
    ],
)
def test_a_rule_that_allows_is_for_its_own_kind_and_by_name_where_there_is_a_risk(rule, action, verdict):
    rules = replace(RULES, allow=(parse_rule(rule),))
    assert decide(action, "default", rules, Grants()).verdict == verdict


def test_what_is_typed_into_a_program_is_asked_about_as_a_risk_with_its_reason():
    asked = decide(ProcessInput("sh", "rm -r x\n", ROOT), "default", RULES, Grants())
    assert asked.is_risky
    assert asked.reason


def test_a_word_is_an_answer_unless_the_program_runs_what_is_typed():
    for program, verdict in (("npm init", "allow"), ("bash", "ask")):
        for word in ("make\n", "pwd\n"):
            assert decide(ProcessInput(program, word, ROOT), "default", CONTAINED, Grants()).verdict == verdict


def test_what_may_be_what_a_rule_denies_is_asked_about_and_refused_where_nobody_is():
    rules = replace(CONTAINED, deny=(parse_rule("run: git push*"),), allow=(parse_rule("run: *"),))
    hidden = _run('eval "$(cat script)"')
    asked = decide(hidden, "default", rules, Grants())
    assert (asked.verdict, asked.cause) == ("ask", "rule-unclear")
    assert asked.is_risky
    assert decide(hidden, "dont_ask", rules, Grants()).verdict == "deny"
    assert decide(hidden, "default", rules, _answered(hidden, "yes", rules)).verdict == "allow"


def test_what_comes_back_by_itself_is_told_apart_where_a_sandbox_contains_the_rest():
    tidy = _run("rm -rf node_modules")
    assert decide(tidy, "default", CONTAINED, Grants()).undoable
    assert not decide(tidy, "default", RULES, Grants()).undoable
    assert not decide(_run("rm -rf node_modules src"), "default", CONTAINED, Grants()).undoable
    assert not decide(_run("rm -rf node_modules; sudo ls"), "default", CONTAINED, Grants()).undoable


@each(("mode", "edits", "answer"), list(itertools.product(MODES, EDITS, ANSWERS)))
def test_what_may_happen_to_a_tool_of_an_mcp_server(mode, edits, answer):
    expected = "deny" if answer == "no" or mode == "plan" else "allow"
    if answer == "none" and mode in {"default", "accept_edits"}:
        expected = "ask"

    assert decide(MCP, mode, RULES, _answered(MCP, answer), edits).verdict == expected


@each(("mode", "edits"), list(itertools.product(MODES, EDITS)))
def test_leaving_plan_mode_is_asked_whatever_was_answered_before(mode, edits):
    plan = LeavePlan("1. Begin")
    grants = Grants()
    grants.refuse(plan)

    assert decide(plan, mode, RULES, grants, edits).verdict == "ask"
    assert reaches(plan, RULES.roots, is_risky=False) == ()


@each(
    ("command", "verdict"),
    [
        ("ls -l src", "allow"),
        ("git log --oneline | head -5", "allow"),
        ("grep -rn add . && wc -l a.py", "allow"),
        ("make test", "deny"),
        ("python -m pytest", "deny"),
        ("touch new.txt", "deny"),
        ("echo text > new.txt", "deny"),
        ("git commit -m x", "deny"),
        ("cat .env", "deny"),
        ("cat $(touch x)", "deny"),
    ],
)
def test_in_plan_mode_only_commands_run_that_surely_change_nothing(command, verdict):
    assert decide(RunCommand(command, ROOT), "plan", RULES, Grants()).verdict == verdict


@each(
    ("action", "phrase"),
    [
        (ReadPath(ROOT), "read /srv/project"),
        (_write(ROOT), "edit /srv/project"),
        (RunCommand("ls", ROOT), "run: ls"),
        (MCP, "call write of the MCP server files"),
        (LeavePlan("x"), "leave plan mode"),
        (RunCommand("ls", ROOT, outside=True), "run without the sandbox: ls"),
        (CallOwnTool("deploy"), "call the user's own tool deploy"),
        (UseBrowser("example.com", "click @e1"), "click @e1 on the page of example.com"),
        (ConnectHost("example.com", 443), "connect to example.com:443"),
    ],
)
def test_every_action_has_a_phrase(action, phrase):
    assert describe(action) == phrase


def test_the_verb_of_a_change_follows_from_what_was_and_will_be():
    assert [PATH_ACTIONS[kind](ROOT).verb for kind in ("create", "edit", "delete")] == ["create", "edit", "delete"]


@each(
    ("command", "cwd"),
    [
        ("rm -rf *", "/"),
        ("rm -rf ./*", "/"),
        ("rm -fr -- .", "~"),
        ("true; sudo rm --recursive *", "~"),
        ("rm -rf etc usr", "/"),
        ("rm -rf ../../*", "/srv/project"),
        ("rm -rf *", "/etc"),
    ],
)
def test_no_mode_deletes_the_root_or_home_from_within(command, cwd):
    assert decide(RunCommand(command, Path(cwd).expanduser()), "dont_ask", RULES, Grants()).cause == "floor"


@pytest.mark.parametrize(
    ("command", "cwd"),
    [("rm -rf *", "/srv/project"), ("rm -rf build", "~"), ("cd build && rm -rf *", "~"), ("rm notes.txt", "/")],
)
def test_deleting_elsewhere_is_no_matter_of_the_floor(command, cwd):
    assert decide(RunCommand(command, Path(cwd).expanduser()), "dont_ask", RULES, Grants()).verdict == "allow"


SECRET_FILES = ReadSecretFiles(ROOT, (ROOT / ".env",), "make")
EXPOSING = RunCommand("make", ROOT, exposes=".env")


@each(
    ("mode", "answer", "verdict"),
    [
        ("plan", "none", "deny"),
        *itertools.product(("default", "accept_edits"), ("none",), ("ask",)),
        *itertools.product(("default", "accept_edits", "dont_ask"), ("yes",), ("allow",)),
        *itertools.product(("default", "accept_edits", "dont_ask"), ("no",), ("deny",)),
        ("dont_ask", "none", "allow"),
    ],
)
def test_whether_commands_may_read_secret_files_is_the_persons_to_say_where_there_is_one(mode, answer, verdict):
    found = decide(SECRET_FILES, mode, CONTAINED, _answered(SECRET_FILES, answer))
    assert found.verdict == verdict
    assert not found.is_risky
    other = replace(SECRET_FILES, project=OTHER_ROOT)
    expected = {"plan": "deny", "dont_ask": "allow"}.get(mode, "ask")
    assert decide(other, mode, CONTAINED, _answered(SECRET_FILES, answer)).verdict == expected


def test_a_yes_to_a_command_that_exposed_nothing_is_none_where_it_could_read_secret_files():
    """The same words were allowed where nobody had said no yet."""
    grants = Grants()
    grants.allow(SameThing("run", (str(ROOT), "make")))
    found = decide(EXPOSING, "default", CONTAINED, grants)
    assert found.verdict == "ask"
    grants.allow(SameThing("run", (str(ROOT), "make")), found.risks)
    assert decide(EXPOSING, "default", CONTAINED, grants).verdict == "allow"


@each(("mode", "verdict"), [("plan", "deny"), ("default", "ask"), ("accept_edits", "ask"), ("dont_ask", "deny")])
def test_a_command_that_secret_files_cannot_be_hidden_from_after_a_no_is_asked_about_or_refused(mode, verdict):
    assert decide(EXPOSING, mode, CONTAINED, Grants()).verdict == verdict
    # Of one that only looks it is said where git has such a file.
    assert decide(replace(EXPOSING, command="git log -p"), mode, CONTAINED, Grants()).verdict == verdict


@each(
    ("written", "verdict"),
    [("run: make", "allow"), ("run: mak*", "ask"), ("run: *", "ask"), ("make", "allow"), ("read: .env", "ask")],
)
def test_only_a_rule_without_a_pattern_allows_a_command_that_could_read_secret_files(written, verdict):
    rules = replace(CONTAINED, allow=(parse_rule(written),))
    assert decide(EXPOSING, "default", rules, Grants()).verdict == verdict


def test_a_command_that_runs_without_the_sandbox_anyway_is_no_other_because_of_secret_files():
    push = RunCommand("git push origin main", ROOT)
    for mode in MODES:
        assert decide(replace(push, exposes=".env"), mode, CONTAINED, Grants()) == decide(
            push, mode, CONTAINED, Grants()
        )
