"""What was refused by the sandbox, and what would have failed anyway."""

import os

import pytest

from tools.environments.sandbox.denial import looks_denied
from tools.environments.sandbox.port import Confinement
from tools.ports import CommandOutcome


@pytest.fixture
def place(tmp_path):
    tmp_path = tmp_path.resolve()
    for name in ("root", "outside", "hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "hidden" / "key").write_text("k")
    (tmp_path / "outside" / "file").write_text("f")
    return tmp_path


def _denied(place, output, exit_code=1, by_network=(), network="proxy"):
    confinement = Confinement("workspace-write", (place / "root",), (place / "hidden",), network=network)
    return looks_denied(CommandOutcome(output, exit_code), confinement, by_network, place / "root")


@pytest.mark.parametrize(
    "line",
    [
        "touch: cannot touch '{}/outside/new': Permission denied",
        "bash: line 1: {}/outside/file: Permission denied",
        "PermissionError: [Errno 13] Permission denied: '{}/outside/file'",
        "npm error code EACCES\nnpm error path {}/outside\nnpm error EACCES: permission denied, mkdir '{}/outside/x'",
        "chmod: changing permissions of '{}/outside/file': Operation not permitted",
        "mkdir: cannot create directory ‘../outside/new’: Permission denied",
        "error: failed to open: {}/outside/.lock: Read-only file system (os error 30)",
    ],
)
def test_a_change_outside_is_recognised(place, line):
    text = line.replace("{}", str(place))
    assert _denied(place, text).startswith("changing ")
    assert "outside" in _denied(place, text)


def test_who_complains_is_not_taken_for_what_was_refused(place):
    (place / "sh").touch()
    line = f"{place}/sh: 1: cannot create {place}/outside/new: Permission denied"
    assert _denied(place, line) == f"changing {place}/outside/new"
    assert _denied(place, f"{place}/outside/file:836: PermissionError") == ""


@pytest.mark.parametrize(
    "why", ["the answer was no", "the answer was no (it is this machine)", "the settings deny it"]
)
def test_who_has_answered_about_a_host_is_not_asked_for_it_in_another_way(place, why):
    assert _denied(place, "failed", by_network=[f"example.org:443: {why}"]) == ""


def test_reading_what_is_hidden_is_recognised(place):
    assert _denied(place, f"cat: {place}/hidden/key: Permission denied") == f"reading {place}/hidden/key"


@pytest.mark.parametrize(
    "line",
    [
        "cat: {}/root/missing: No such file or directory",
        "bash: ./script.sh: Permission denied",
        "{}/root/script.sh: Permission denied",
        "FAILED test_access.py::test_denied - AssertionError: 'Permission denied' not in ''",
        "head: cannot open '/proc/1/mem' for reading: Permission denied",
        "error: permission denied for table users",
        "git@github.com: Permission denied (publickey).",
    ],
)
def test_ordinary_failures_are_not(place, line):
    assert _denied(place, line.replace("{}", str(place))) == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may change everything")
def test_what_the_person_could_not_do_either_is_not(place):
    assert _denied(place, "touch: cannot touch '/etc/new': Permission denied") == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("curl: (6) Could not resolve host: example.org", "reaching example.org directly"),
        ("getaddrinfo EAI_AGAIN registry.example.org", "reaching registry.example.org directly"),
        ("ping: socket: Operation not permitted", "reaching the network directly"),
        (
            "dial tcp: lookup proxy.example.org: Temporary failure in name resolution",
            "reaching proxy.example.org directly",
        ),
        (
            'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.',
            "becoming another user",
        ),
        ("unshare: unshare failed: Operation not permitted", "making a sandbox of its own"),
        ("OSError: out of pty devices", "opening a terminal"),
    ],
)
def test_other_refusals_are_named(place, line, said):
    assert _denied(place, line) == said


def test_where_the_network_is_open_a_name_that_is_not_found_is_just_that(place):
    assert _denied(place, "curl: (6) Could not resolve host: example.org", network="on") == ""


def test_what_the_network_refused_is_told_but_not_what_the_person_answered(place):
    refused = ("localhost:5432: no service of this session's", "example.org:443: the answer was no")
    assert _denied(place, "connection refused", by_network=refused) == f"reaching {refused[0]}"


def test_a_command_that_succeeded_was_kept_from_nothing_that_is_not_certain(place):
    assert _denied(place, "Could not resolve host: example.org", 0, ("example.org:443: no proxy was used",)) == ""
    assert _denied(place, f"touch: cannot touch '{place}/outside/x': Permission denied", 0)


def test_only_a_process_of_our_own_counts_as_one_that_may_not_be_signalled(place):
    line = f"bash: line 1: kill: ({os.getpid()}) - Operation not permitted"
    assert _denied(place, line) == f"signalling process {os.getpid()}"


@pytest.mark.parametrize(
    "line",
    [
        "renice: failed to set priority for {} (process ID): Operation not permitted",
        "taskset: failed to set pid {}'s affinity: Operation not permitted",
        "chrt: failed to set pid {}'s policy: Operation not permitted",
    ],
)
def test_a_process_that_the_sandbox_keeps_from_being_scheduled_is_named(place, line):
    assert _denied(place, line.replace("{}", str(os.getpid()))) == f"scheduling process {os.getpid()}"
    assert _denied(place, line.replace("{}", "0")) == _denied(place, line.replace("{}", "4194303")) == ""
    assert _denied(place, line.replace("{}", str(os.getpid())).replace("Operation", "Still")) == ""


def test_a_cancelled_command_was_kept_from_nothing(place):
    outcome = CommandOutcome(f"{place}/outside/x: Permission denied", None, interrupted=True)
    assert looks_denied(outcome, Confinement("workspace-write"), ()) == ""


def test_many_refusals_are_told_shortly(place):
    lines = "\n".join(f"rm: cannot remove '{place}/outside/{n}': Permission denied" for n in range(9))
    assert _denied(place, lines).count(";") == 3


@pytest.mark.parametrize(
    "line",
    [
        "sh: 1: cannot create .envrc: Read-only file system",
        "rm: cannot remove '.envrc': Device or resource busy",
        "mv: cannot move 'a' to '{}/root/.envrc': Device or resource busy",
        "OSError: [Errno 30] Read-only file system: './.envrc'",
    ],
)
def test_a_place_that_is_held_is_recognised_by_its_name(place, line):
    held = place / "root/.envrc"
    confinement = Confinement("workspace-write", (place / "root",), held=(held, place / "root/.vscode"))
    outcome = CommandOutcome(line.replace("{}", str(place)), 1)
    assert looks_denied(outcome, confinement, (), place / "root") == f"changing {held}, which others run later"


@pytest.mark.parametrize(
    "line", ["x.envrc: Read-only file system", "sub/.envrc.bak: Read-only file system", ".envrc is loading"]
)
def test_another_name_is_none_that_is_held(place, line):
    confinement = Confinement("workspace-write", (place / "root",), held=(place / "root/.envrc",))
    assert looks_denied(CommandOutcome(line, 1), confinement, (), place / "root") == ""
