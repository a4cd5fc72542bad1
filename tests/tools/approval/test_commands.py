"""The four classes of commands: what never runs, what asks, and how the answer is put together."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands import classify_command, detect_dangerous_command
from tools.approval.commands.classes import DANGEROUS_PATTERNS

PROJECT = Path("/srv/team/project")

FORBIDDEN = [
    "rm -rf /",
    "rm -rf /*",
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf ~/*",
    "rm -rf $HOME",
    "rm -rf ${HOME}/",
    'rm -rf "$HOME"',
    "rm -fr --no-preserve-root /",
    "rm -r -f -v /",
    "rm / -rf",
    "rm -rf -- /",
    "sudo rm -rf /",
    "/bin/rm -rf /",
    "FOO=1 rm -rf /",
    "cd /tmp && rm -rf /",
    "true; rm -rf /",
    "true\nrm -rf /",
    "$(rm -rf /)",
    "`rm -rf /`",
    "r''m -rf /",
    '"rm" -rf "/"',
    "\\rm -rf /",
    "rm${IFS}-rf${IFS}/",
    "rm \\\n -rf /",
    "rm -rf /.",
    "rm -rf //",
    "rm -rf ./build /",
    "RM -RF /",
    "bash -c 'rm -rf /'",
    "mkfs.ext4 /dev/sda1",
    "mkfs -t ext4 /dev/nvme0n1",
    "/sbin/mkfs.ext4 /dev/sda1",
    "dd if=/dev/zero of=/dev/sda bs=1M",
    "cat image > /dev/sda",
    "echo x >/dev/nvme0n1",
    "cat image | tee /dev/sda",
    ":(){ :|:& };:",
    ": ( ) { : | : & } ; :",
    "bomb(){ bomb|bomb& };bomb",
    "rm -rf /etc",
    "rm -rf /usr/",
    "rm -rf /home/*",
    "rm -rf /Users",
    "sudo rm -rf /var",
    "find / -name '*.log' -delete",
    "find /etc -type f -delete",
    "find ~ -delete",
    "cd / && rm -rf *",
    "cd /; rm -rf *",
    "cd ~ && rm -rf .",
    "cd / && sudo rm -rf *",
    "cd /\nrm -rf *",
    "echo cm0gLXJmIH4= | base64 -d | sh",
]


@each("command", FORBIDDEN)
def test_a_command_that_destroys_the_machine_never_runs(command):
    assert classify_command(command).level == "forbidden"


@each("command", [command for command in FORBIDDEN if not command.startswith(("cd ", ":", "bomb"))])
def test_nor_does_it_in_a_directory_that_is_known_or_behind_others(command):
    assert classify_command(command, PROJECT, (PROJECT,)).level == "forbidden"
    assert classify_command(f"ls -la && {command}", PROJECT, (PROJECT,)).level == "forbidden"


def test_detection_tells_yes_or_no_and_why():
    assert detect_dangerous_command("ls") == (False, "")
    assert detect_dangerous_command("make test") == (False, "")
    assert detect_dangerous_command("rm x") == (True, "deletes files")
    assert detect_dangerous_command("rm -rf /") == (True, "deletes the root directory")


def test_the_strongest_finding_speaks_and_all_are_kept():
    found = classify_command("sudo rm -rf / ; git push", PROJECT, (PROJECT,))

    assert (found.level, found.family, found.outside) == ("forbidden", "deletion", True)
    assert found.why == "deletes the root directory"
    assert {finding.family for finding in found.findings} == {"deletion", "other rights", "git"}


def test_what_is_hidden_speaks_after_what_is_known():
    found = classify_command('$X; rm -rf "$Y"')

    assert found.why == "deletes files that nobody can name beforehand"
    assert {finding.family for finding in found.findings} == {"deletion", "hidden"}


@each(
    "command",
    [
        'eval "$(cat x)"; rm -rf src',
        "python3; rm -rf src",
        "nohup make & rm -rf src",
        "$X; python3 -c 'import shutil; shutil.rmtree(\"src\")'",
        "python3; python3 -c 'import shutil; shutil.rmtree(\"src\")'",
    ],
)
def test_what_says_little_of_itself_speaks_after_a_deletion(command):
    first, *others = classify_command(command, PROJECT).findings
    assert first.family == "deletion"
    assert others


@each(
    "command",
    ["cat > t.sh <<'X'\ntouch ../x\nX\nbash t.sh", "cat > t.py <<'X'\nopen('../x', 'w')\nX\npython3 t.py"],
)
def test_a_script_that_a_command_writes_is_judged_where_the_command_runs(command):
    assert classify_command(command, PROJECT / "src", (PROJECT,)).level == "ordinary"
    assert classify_command(command, PROJECT / "src").level == "dangerous"
    assert classify_command(command, PROJECT, (PROJECT,)).level == "dangerous"


@pytest.mark.parametrize(
    "command", ["ls -la", "git status && git diff", "python3 --version", "cat a | sort | uniq -c"]
)
def test_what_is_proven_to_change_nothing_is_safe(command):
    assert classify_command(command, PROJECT, (PROJECT,)).level == "safe"


@each(
    "command",
    [
        "",
        "   ",
        "# nothing",
        "make",
        "ls > out",
        "LD_X=1 ls",
        "python3 -c 'print(1)' > out",
        "./python3 -c 'print(1)'",
        "if",
        "echo 'unclosed",
    ],
)
def test_what_is_not_proven_is_not_safe(command):
    assert classify_command(command, PROJECT, (PROJECT,)).level != "safe"


def test_an_inline_script_that_is_not_proven_is_ordinary_and_says_so():
    found = classify_command("python3 -c 'import app; app.run()'", PROJECT, (PROJECT,))

    assert (found.level, found.why) == ("ordinary", "runs an inline script")


def test_the_same_deletion_is_another_thing_in_another_place():
    roots = (PROJECT,)

    assert classify_command("rm -rf build", PROJECT, roots).findings[0].undoable
    assert not classify_command("rm -rf src", PROJECT, roots).findings[0].undoable
    assert not classify_command("rm -rf build src", PROJECT, roots).findings[0].undoable
    assert not classify_command("rm -rf build", Path("/srv/other"), roots).findings[0].undoable
    assert classify_command("rm -rf ../other", PROJECT, roots).outside
    assert classify_command("rm -rf ../../..", PROJECT, roots).level == "forbidden"
    assert classify_command("rm -rf .", PROJECT, roots).why == "deletes the whole directory that the session works in"


def test_our_own_directory_is_where_the_environment_says(monkeypatch):
    for own, family in ((" /opt/agentX/ ", "our configuration"), ("", "system files")):
        monkeypatch.setenv("HERMES_HOME", own)
        found = classify_command("touch /opt/agentX/config.yaml", PROJECT)
        assert (found.level, found.family) == ("dangerous", family)


def test_all_directories_of_the_session_are_inside():
    other = Path("/srv/team/library")
    assert classify_command(f"touch {other}/x", PROJECT, (PROJECT, other)).level == "ordinary"
    assert classify_command(f"touch {other}/x", PROJECT).level == "dangerous"
    assert classify_command("touch ../x", PROJECT / "src", (PROJECT,)).level == "ordinary"
    assert classify_command("touch /opt/x", PROJECT, (Path("/"),)).level == "ordinary"


def test_relative_paths_are_inside_where_nobody_said_where_the_command_runs():
    assert classify_command("cp a sub/b").level == "ordinary"
    assert classify_command("cat ../../../etc/shadow").level == "dangerous"
    assert classify_command("cat ../etc/shadow").why == "reads /etc/shadow, which holds secrets of the system"
    assert classify_command("cat ../etc/shadow", PROJECT).level == "safe"


@each(
    "command",
    [
        "python3 -c 'print(1)'",
        "python3 <<< 'print(1)'",
        "python3 - <<< 'print(1)'",
        "python3 -",
        "python3 x.py <<< 'print(1)'",
        "python3 -c 'print(1)' > /dev/null",
    ],
)
def test_a_script_of_a_language_that_can_do_anything_is_never_proven(command):
    assert classify_command(command, PROJECT).level == "ordinary"


def test_an_inline_script_is_judged_by_all_directories_of_the_session():
    command = 'python3 -c \'open("../x", "w")\''
    assert classify_command(command, PROJECT / "src", (PROJECT,)).level == "ordinary"
    assert classify_command(command, PROJECT / "src").level == "dangerous"


def test_what_was_read_as_bash_is_not_searched_for_what_it_only_says():
    findings = classify_command("eval \"$X\"; echo '; sudo ls (; rm x'", PROJECT).findings
    assert [each.why for each in findings] == ["runs text that is not known"]


def test_a_pattern_of_the_users_is_looked_for_in_each_program_and_not_in_data(monkeypatch):
    patterns = [*DANGEROUS_PATTERNS, (r"^launch\b.*--now", "launches it")]
    monkeypatch.setattr("tools.approval.commands.classification.DANGEROUS_PATTERNS", patterns)

    assert classify_command("cd x && FORCE=1 launch a --now").why == "launches it"
    assert classify_command("sh -c 'launch a --now'").why == "launches it"
    assert classify_command("launch a").level == "ordinary"
    assert classify_command("echo 'launch a --now'").level == "safe"
    assert classify_command("git commit -m 'launch a --now'").level == "ordinary"


def test_long_commands_are_read_to_their_end():
    filling = "".join(f"line {number}\n" for number in range(2_000))

    assert classify_command(f"cat > notes.md <<'EOF'\n{filling}EOF").level == "ordinary"
    assert classify_command(f"cat > notes.md <<'EOF'\n{filling}EOF\nrm -rf src").level == "dangerous"
    assert classify_command("echo " + "a" * 1_000_000).level == "dangerous"


@pytest.mark.parametrize("command", ["rm -rf x (", "if rm x; then", "for ) sudo ls", "ls )) ; kill 5"])
def test_what_is_no_valid_bash_asks(command):
    assert classify_command(command).level == "dangerous"


_HOSTILE = """
import itertools
from tools.approval.commands.classes import DANGEROUS_PATTERNS
from tools.approval.commands.classification import _compiled
from tools.approval.commands import classify_command

HEADS = (
    "git,git -c a=b stash,git checkout,git log,git grep,git config,rm,find,find /,cd,cd /; rm,mkfs,dd,tee,eval,"
    "base64,xxd,bash,sh,python,python -m,perl,node,php,deno,awk,fd,rg,xargs,trap,script,vim,mv,tar,unzip,sort,sed,"
    "sed -n,gzip,split,uniq,ps,chmod,kill,apt,docker,npm,npm exec,gh,curl,wget,ssh,psql,sqlite3,cmake,alias,hash,uv,"
    "uv run,npx,env,sudo,time,timeout,direnv,nix-shell,set,set -- a;,dig,R,echo"
).split(",")
TOKENS = [
    "--a ", "-x ", "-X ", "-c ", "-e ", "a ", "| awk print ", "$(", "( ", "'", '"', "\\\\", "/", "= ", ";", "a=b ",
    "=;/", "s/", "s!a", "sed ", "w ", "1 ", "\\n", "\\t ", "\\na ", "; ", "{ ", "-- ", "~/", "* ", "--a=b ", "'a' ",
    "proc/", "git ", "core", "-c core", "@", "sudo -a ", "env ", "cd / ", "set a ", "x -x ", "-a b "
]
for head, token in itertools.product(HEADS, TOKENS[START::STEP]):
    classify_command((head + " " + token * 200)[:200])
for head, token in itertools.product(["git", "sed", "find", "curl", "ls"], TOKENS[START::STEP]):
    classify_command((head + " " + token * 4000)[:4000])
# A command that is found dangerous early must not hide a slow pattern further down.
for pattern, _ in DANGEROUS_PATTERNS:
    compiled = _compiled(pattern)
    for head, token in itertools.product([head for head in HEADS if head.split()[0] in pattern], TOKENS[START::STEP]):
        compiled.search((head + " " + token * 1000)[:1000])
print("done")
"""


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("start", "step"), [pytest.param(0, 9, id="a ninth"), pytest.param(0, 1, id="all", marks=pytest.mark.slow)]
)
def test_no_hostile_repetition_freezes_the_classifier(start, step):
    # In a process of its own: nothing can interrupt a search of an expression. Each single answer takes milliseconds.
    program = f"START, STEP = {start}, {step}\n{_HOSTILE}"
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=180, check=True
    )

    assert finished.stdout == "done\n"
