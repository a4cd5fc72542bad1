"""Scripts pass through whatever shell the person has on the other machine."""

import re
import shutil
import subprocess

import pytest

from tools.environments.remote.ssh import remote_command

SCRIPT = """printf '%s\\n' 'a\\\\b' "it's" '!x' `echo "$0"` é
case x in x) echo \\'\\";; esac # \\
"""
EXPECTED = "a\\\\b\nit's\n!x\nsh\né\n'\"\n"
# A path or a pattern that ends the quotes of a shell where a backslash counts within them.
HOSTILE = "\\'; touch gone-wrong; echo '"


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "ksh", "fish", "tcsh", "csh"])
def test_a_script_means_the_same_behind_every_login_shell(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"There is no {shell} here")
    for script, expected in ((SCRIPT, EXPECTED), (f"p={_quoted(HOSTILE)}; printf '%s' \"$p\"", HOSTILE)):
        done = subprocess.run([shell, "-c", remote_command(script)], capture_output=True, cwd=tmp_path, check=False)
        assert (done.stdout.decode(), done.stderr) == (expected, b"")
    assert list(tmp_path.iterdir()) == []


def test_nothing_stands_in_a_command_that_shells_read_differently():
    sent = remote_command(SCRIPT + HOSTILE + "".join(map(chr, range(1, 256))) + "\udcff")
    found = re.fullmatch(r"""exec sh -c 'eval "\$\(printf %b "([^"'!$`\n]*)"\)"'""", sent)
    assert found is not None
    assert set(re.findall(r"\\(.)", found[1])) == {"0"}


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"
