"""What bubblewrap is told; that it holds is in test_breakouts.py."""

import os
import subprocess
from pathlib import Path

import pytest

from tools.approval.policy import ALLOW
from tools.environments.containment import Containment, Grounds
from tools.environments.persistence_watch import KeptPlaces
from tools.environments.sandbox.bubblewrap import BubblewrapSandbox, bubblewrap_arguments
from tools.environments.sandbox.port import Confinement, Limits
from tools.environments.sandbox.probe import probe

needs_bubblewrap = pytest.mark.skipif(
    not any(each.name == "bubblewrap" and each.works for each in probe()), reason="no bubblewrap here"
)


def _after(arguments, option, place):
    return [n for n in range(len(arguments) - 1) if arguments[n] == option and arguments[n + 1] == str(place)]


def test_hidden_places_are_covered_after_the_writable_ones_that_hold_them(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "token").write_text("t")
    confinement = Confinement("workspace-write", (tmp_path,), (tmp_path / "keys", tmp_path / "token"))
    found = bubblewrap_arguments(confinement)
    (bound,) = _after(found, "--bind-try", tmp_path)
    (covered,) = _after(found, "--tmpfs", tmp_path / "keys")
    assert bound < covered
    assert found[found.index(str(tmp_path / "token")) - 1] == os.devnull


def test_protected_places_are_bound_again_for_reading(tmp_path):
    confinement = Confinement("workspace-write", (tmp_path,), protected=(tmp_path / "x",))
    found = bubblewrap_arguments(confinement)
    assert _after(found, "--bind-try", tmp_path)[0] < _after(found, "--ro-bind-try", tmp_path / "x")[0]


def held_in(root, command=""):
    """What a containment holds for a command in a session with bubblewrap."""

    class Bubblewrap:
        name = "bubblewrap"

    containment = Containment(
        sandbox=Bubblewrap(), why_not=lambda: "", grounds=lambda: Grounds((root,)), places=KeptPlaces((root,))
    )
    confinement = containment.of(ALLOW, is_planning=False, command=command, cwd=root)
    return sorted(str(path.relative_to(root)) for path in confinement.held)


@pytest.fixture
def plain(tmp_path):
    """A directory without a repository, with places and without."""
    root = (tmp_path / "plain").resolve()
    for name in (".vscode/tasks.json", ".envrc", "sub/AGENTS.md", ".venv/bin/python", "src/a.py", "Makefile"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine")
    return root


def test_places_that_others_run_later_are_held_where_no_git_works(plain):
    assert held_in(plain) == [".envrc", ".vscode", "sub/AGENTS.md"]


@pytest.mark.parametrize("command", ["npm install", "pip install -e .", "cd web && pnpm i"])
def test_nothing_is_held_for_what_installs_packages(plain, command):
    assert held_in(plain, command) == []


def test_in_a_work_tree_only_hooks_are_held(plain):
    subprocess.run(["git", "init", "-q"], cwd=plain, check=True)
    assert held_in(plain) == [".git/hooks"]


@needs_bubblewrap
@pytest.mark.parametrize(
    "script",
    [
        "echo evil >.envrc", "echo evil >.vscode/tasks.json", "echo evil >.vscode/new.json", "rm .envrc",
        "mv src/a.py .envrc", "sed -i s/mine/evil/ sub/AGENTS.md", "rm -r .vscode", "mv .vscode x",
        "chmod +x .envrc",
    ],
)  # fmt: skip
def test_a_held_place_cannot_be_changed_and_its_neighbours_can(plain, script):
    names = (".vscode/tasks.json", ".envrc", "sub/AGENTS.md")
    confinement = Confinement("workspace-write", (plain,), held=tuple(plain / each for each in (
        ".vscode", ".envrc", "sub/AGENTS.md")))  # fmt: skip
    sandbox = BubblewrapSandbox()
    words = f"{script}; echo new >src/b.py; echo new >sub/b.md"
    process = sandbox.popen(["sh", "-c", words], confinement, cwd=plain, stderr=subprocess.PIPE)
    _, complaints = process.communicate(timeout=20)
    sandbox.close()
    assert [(plain / each).read_text() for each in names] == ["mine"] * 3
    assert [path.name for path in (plain / ".vscode").iterdir()] == ["tasks.json"]
    assert (plain / "src/b.py").exists()
    assert (plain / "sub/b.md").exists()
    assert complaints


@needs_bubblewrap
def test_git_works_to_its_end_with_what_is_held(plain):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@x", *words], cwd=plain, check=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    git("switch", "-qc", "other")
    (plain / "sub/AGENTS.md").write_text("theirs")
    (plain / ".vscode/tasks.json").unlink()
    git("commit", "-qam", "two")
    git("switch", "-q", "main")
    git("init", "-q", "--bare", "../far.git")
    confinement = Confinement("workspace-write", (plain.parent,), held=tuple(plain / each for each in held_in(plain)))
    assert confinement.held
    sandbox = BubblewrapSandbox()
    script = """set -ex
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x
    git checkout -q other; git checkout -q main; git merge -q other; git remote add o ../far.git
    echo x >>.envrc; git stash -q; git stash pop -q; git push -qu o main; git branch --set-upstream-to=o/main main"""
    process = sandbox.popen(["sh", "-c", script], confinement, cwd=plain, stderr=subprocess.PIPE)
    _, complaints = process.communicate(timeout=60)
    sandbox.close()
    assert process.returncode == 0, complaints.decode()
    assert (plain / "sub/AGENTS.md").read_text() == "theirs"


@needs_bubblewrap
def test_a_writable_place_that_has_become_a_link_is_not_followed(tmp_path):
    base = tmp_path.resolve()
    (base / "outside").mkdir()
    (base / "root").mkdir()
    (base / "root" / "cache").symlink_to(base / "outside")
    sandbox = BubblewrapSandbox()
    script = f"echo x >{base}/root/f; echo x >{base}/outside/f"
    confinement = Confinement("workspace-write", (base / "root", base / "root" / "cache"))
    process = sandbox.popen(["sh", "-c", script], confinement, stderr=subprocess.DEVNULL)
    process.wait(20)
    sandbox.close()
    assert (base / "root" / "f").exists()
    assert not (base / "outside" / "f").exists()


def test_reading_only_binds_nothing_for_writing(tmp_path):
    found = bubblewrap_arguments(Confinement("read-only", (tmp_path,)))
    assert "--bind" not in found
    assert "--bind-try" not in found
    assert "--unshare-net" in found


def test_it_does_not_end_with_the_thread_that_started_it(tmp_path):
    assert "--die-with-parent" not in bubblewrap_arguments(Confinement("workspace-write", (tmp_path,)))


_ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="others may change none of it anyway")


def _printed(script, confinement, *arguments):
    sandbox = BubblewrapSandbox()
    asked = ["sh", "-c", script, "sh", *map(str, arguments)]
    process = sandbox.popen(asked, confinement, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/")
    printed = process.communicate(timeout=20)[0].decode()
    sandbox.close()
    return printed


@needs_bubblewrap
@_ROOT_ONLY
@pytest.mark.parametrize("level", ["read-only", "workspace-write"])
@pytest.mark.parametrize(
    "place",
    [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/fs/suid_dumpable",
        "/proc/sysrq-trigger",
        "/proc/irq/default_smp_affinity",
        "/proc/mtrr",
        "/proc/self/oom_score_adj",
        "/proc/1/oom_score_adj",
    ],
)
def test_roots_sandbox_of_bubblewrap_opens_no_setting_of_the_kernel_for_writing(tmp_path, place, level):
    printed = _printed('exec 9<>"$1" && echo opened; echo tried', Confinement(level, (tmp_path,)), place)
    assert "opened" not in printed
    assert "Read-only file system" in printed or not Path(place).exists()


@needs_bubblewrap
@pytest.mark.parametrize("writable", ["/", "/proc", "/proc/sys/kernel"])
def test_the_machines_own_proc_is_not_in_bubblewraps_sandbox_even_where_its_place_is_writable(tmp_path, writable):
    script = 'echo "$(ls /proc | grep -c "^[0-9]")"; exec 9<>/proc/sys/kernel/core_pattern && echo opened'
    printed = _printed(script, Confinement("workspace-write", (Path(writable), tmp_path)))
    assert "opened" not in printed
    assert int(printed.split()[0]) < 10


@needs_bubblewrap
def test_bubblewraps_sandbox_with_the_whole_disk_writable_still_hides_what_is_hidden(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "key").write_text("planted")
    confinement = Confinement("workspace-write", (Path("/"),), (tmp_path / "keys",))
    printed = _printed('cat "$1/keys/key"; echo new >"$1/new"; ls /run', confinement, tmp_path)
    assert "planted" not in printed
    assert (tmp_path / "new").read_text() == "new\n"


@needs_bubblewrap
def test_bubblewraps_sandbox_shows_nothing_in_the_kernels_files_that_containers_mask(tmp_path):
    script = 'for name in kcore keys kmsg kpageflags timer_list sched_debug; do cat "/proc/$name"; done 2>/dev/null'
    script += "; ls /proc/acpi /proc/scsi 2>/dev/null | grep -v :"
    assert _printed(script, Confinement("read-only")).split() == []


@needs_bubblewrap
@pytest.mark.parametrize("level", ["read-only", "workspace-write", "full"])
def test_bubblewraps_sandbox_has_a_machines_name_of_its_own(tmp_path, level):
    printed = _printed("readlink /proc/self/ns/uts; uname -n", Confinement(level, (tmp_path,))).split()
    assert printed[0] != str(Path("/proc/self/ns/uts").readlink())
    assert printed[1] == os.uname().nodename


@needs_bubblewrap
def test_everyday_uses_of_proc_work_in_bubblewraps_sandbox(tmp_path):
    reading = "cat /proc/self/comm /proc/sys/kernel/ostype"
    script = f"{reading}; echo out >/dev/stdout; echo fd >/proc/self/fd/1; cat /proc/meminfo /proc/stat >/dev/null"
    printed = _printed(f"{script}; echo $?", Confinement("workspace-write", (tmp_path,))).split()
    assert printed[:4] == ["cat", "Linux", "out", "fd"]
    assert printed[-1] == "0"


def test_without_the_program_there_is_no_sandbox(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="no program bwrap on PATH"):
        BubblewrapSandbox()


@needs_bubblewrap
def test_limits_hold_inside(tmp_path):
    sandbox = BubblewrapSandbox()
    confinement = Confinement("workspace-write", (tmp_path,), limits=Limits(cpu_seconds=7, file_size=1024))
    process = sandbox.popen(["sh", "-c", "ulimit -t; ulimit -f"], confinement, stdout=subprocess.PIPE)
    assert process.communicate(timeout=20)[0].split() == [b"7", b"2"]
    sandbox.close()
