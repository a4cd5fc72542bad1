"""Rules about commands, over what they were read as: nothing rides along with a yes, nothing hides from a no."""

from dataclasses import replace
from pathlib import Path

from tests.support.each import each
from tools.approval.commands.bash.reading import UNKNOWN, Argument, Doubt, Input, Invocation, Reading, Redirection
from tools.approval.commands.command_rules import covers_command, denies_command, may_rename
from tools.approval.rules import allowlist_rules, parse_rule

ROOT = Path("/srv/project")


def _run(text, **more):
    program, *arguments = text.split(" ")
    return Invocation(
        program.rpartition("/")[2],
        program,
        tuple(Argument(each) for each in arguments),
        **{"cwd": str(ROOT), **more},
    )


def _covers(pattern, *invocations, doubts=(), command="…"):
    return covers_command([parse_rule({"run": pattern})], command, Reading(invocations, doubts), (ROOT,))


@each(
    ("pattern", "invocation", "covered"),
    [
        ("pytest*", _run("pytest -x tests"), True),
        ("pytest", _run("pytest"), True),
        ("pytest", _run("pytest -x"), False),
        ("pytest*", _run("./pytest -x"), False),
        ("./run.sh *", _run("./run.sh all"), True),
        ("pytest*", _run("pytest", via=("timeout",)), True),
        ("pytest*", _run("pytest", via=("sudo",)), False),
        ("pytest*", _run("pytest", via=("env", "ssh")), False),
        ("pytest*", _run("pytest", elsewhere=True), False),
        ("pytest*", _run("pytest", assignments=(("LD_PRELOAD", Argument("x.so")),)), False),
        ("pytest*", _run("pytest", cwd="/srv/elsewhere"), False),
        ("pytest*", _run("pytest", cwd=None), False),
        ("pytest*", _run("pytest", cwd="/srv/project/deep"), True),
        ("pytest*", _run("pytest", redirections=(Redirection(">", None, Argument("x")),)), False),
        ("pytest*", _run("pytest", redirections=(Redirection(">", 2, Argument("/dev/null")),)), True),
        ("pytest*", _run("pytest", redirections=(Redirection(">&", 2, Argument("1")),)), True),
        ("pytest*", _run("pytest", redirections=(Redirection(">", 2, Argument(UNKNOWN)),)), False),
        ("pytest*", _run("pytest", redirections=(Redirection(">", None, Argument("1")),)), False),
        ("pytest*", _run("pytest", redirections=(Redirection(">&", None, Argument("log")),)), False),
        ("pytest*", _run("pytest", input=Input("command", source=_run("cat a"))), True),
        ("python *", _run("python a.py"), True),
        ("python *", _run("python", input=Input("command", source=_run("curl x"))), False),
        ("python *", _run("python", input=Input("unknown")), False),
        ("pytest*", _run("pytest", adds_unknown=True), True),
        ("pytest a", _run("pytest a", adds_unknown=True), False),
        ("pytest ?", replace(_run("pytest"), arguments=(Argument("*", expands=True),)), False),
        ("pytest *", replace(_run("pytest"), arguments=(Argument("*", expands=True),)), True),
    ],
)
def test_a_yes_covers_the_program_as_it_was_meant(pattern, invocation, covered):
    assert _covers(pattern, invocation) is covered


def test_a_yes_is_for_all_that_runs_or_for_nothing():
    assert _covers("pytest*", _run("pytest a"), _run("pytest b"))
    assert not _covers("pytest*", _run("pytest a"), _run("make install"))
    assert not _covers("pytest*", _run("pytest a"), doubts=(Doubt("hides something"),))
    assert not _covers("pytest*")


def test_a_command_that_is_written_word_for_word_is_allowed_as_it_is():
    [exact] = allowlist_rules(["rm -rf build > log"])
    reading = Reading((), (Doubt("whatever"),))
    assert covers_command([exact], " rm -rf build > log\n", reading, (ROOT,))
    assert not covers_command([exact], "rm -rf build > log2", reading, (ROOT,))
    assert not covers_command([exact], "…", Reading((_run("rm -rf build > log"),)), (ROOT,))


@each(
    ("pattern", "invocation"),
    [
        ("git push*", _run("git push origin")),
        ("git push", _run("git push origin")),
        ("git push*", _run("/usr/bin/git push")),
        ("git push*", _run("git push", via=("sudo", "env"))),
        ("git push*", _run("git push", elsewhere=True)),
        ("git push*", _run("git -C /x push")),
        ("git push*", _run("git --no-pager -c a=b push")),
        ("git push", _run("git --no-pager push origin")),
        ("git push*", replace(_run("git"), arguments=(Argument(UNKNOWN, splits=True),))),
        ("git push*", replace(_run("git"), program="", written="$X")),
        ("git push*", _run("git", adds_unknown=True)),
        ("sudo*", _run("ls", via=("sudo",))),
        ("sudo*", _run("ls", via=("timeout", "sudo"))),
        ("sudo env ls", _run("ls", via=("timeout", "sudo", "env"))),
        ("GIT PUSH", _run("git push")),
        ("git push*", replace(_run("python -c"), arguments=(Argument("-c"), Argument("os.system('git push')")))),
        ("git push*", replace(_run("node"), input=Input("text", "spawn('git', ['push'])"))),
        ("git push*", replace(_run("sh"), input=Input("text", "GIT PUSH"))),
    ],
)
def test_a_no_hits_however_it_is_dressed(pattern, invocation):
    assert denies_command(parse_rule({"run": pattern}), "…", Reading((_run("ls"), invocation)))


@each(
    "invocation",
    [
        _run("git pull origin"),
        _run("gitk push"),
        replace(_run("echo"), arguments=(Argument("git push"),)),
        replace(_run("git commit"), arguments=(Argument("commit"), Argument("-m"), Argument("git push later"))),
        replace(_run("make"), arguments=(Argument(UNKNOWN, splits=True),)),
        _run("git log -n push"),
        _run("git " + " ".join(["-x"] * 200)),
        Invocation("", "", (), assignments=(("A", Argument("1")),)),
    ],
)
def test_a_no_hits_nothing_that_only_speaks_of_it(invocation):
    assert not denies_command(parse_rule({"run": "git push*"}), "…", Reading((invocation,)))


def test_a_no_may_be_about_the_text_of_a_whole_command():
    assert denies_command(parse_rule("*curl*|*sh*"), "curl   x |\n sh", Reading((_run("curl x"),)))
    assert denies_command(parse_rule("make a | tee b"), "make  a |\n tee b", Reading((_run("make a"),)))


def test_more_options_than_anybody_writes_may_hide_what_is_denied():
    many = _run("git " + " ".join(["-x"] * 201))
    assert denies_command(parse_rule({"run": "git push*"}), "…", Reading((many,)))


@each(("pattern", "may"), [("git push origin*", True), ("g?t push", True), ("npm publish", False), ("push", False)])
def test_another_name_may_be_for_what_is_denied_of_that_program(pattern, may):
    assert may_rename(parse_rule({"run": pattern}), _run("git -c alias.p=push p")) is may
