"""A command that is called read-only changes no file, whatever it meets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.changes.command_targets import foreseen

READING = [
    "ls -la",
    "cat a.txt b.txt | grep -n x | head -5",
    "cat a.txt 2>/dev/null >&2",
    "ls &> /dev/null; echo done >&2 2>&1",
    "find . -name '*.txt' -type f",
    r"find . -name '*.txt' -exec grep -l x {} \;",
    "find . -type f | xargs -0 -n 1 grep x",
    "git status --short && git --no-pager diff HEAD -- a.txt 'b c'",
    "git -C . log --oneline -5",
    "git branch -a; git branch --show-current; git stash list; git config --get user.name",
    "sed -n '1,20p' a.txt",
    "sed 's/x/y/g' a.txt",
    "sed -n '/x/,/y/p;$p' a.txt",
    "awk -F: '{print $1}' a.txt",
    "sort -rn a.txt | uniq -c",
    "if [ -f a.txt ]; then cat a.txt; else echo no; fi",
    "test -e a.txt && wc -l a.txt || true",
    'while read -r line; do echo "$line"; done < a.txt',
    "cat <<'EOF'\n$(rm a.txt) > b.txt\nEOF",
    "cat <<EOF\nplain `pwd` $HOME\nEOF",
    'echo $(date) "$(git rev-parse HEAD)" `whoami`',
    "x=1 y=$(pwd); echo $x ${y} ${x:-3} $((1 + 2)) $? $#",
    "(cd sub && ls) | wc -l # > b.txt",
    "echo 'a > b; rm a.txt' \"x > y\" a\\>b",
    "LC_ALL=C sort a.txt; env LC_ALL=C ls; timeout 5 cat a.txt; nice ls",
    "diff <(ls) <(ls sub)",
    "command -v python3; type ls; which ls; python3 --version",
    "/bin/ls; \\ls; 'ls'",
    """x=y; sed "s/a/$x/" a.txt""",
    "jq . a.txt; printf '%s\\n' x; set -euo pipefail; sleep 0",
    "",
    "# nothing",
]

WRITING = [
    "rm a.txt",
    "ls > out",
    "ls >> out",
    "ls >| out",
    "ls &> out",
    "ls &>> out",
    "ls 2> err",
    "ls >& out",
    "ls <> out",
    "ls > $OUT",
    "ls > /dev/nul*",
    "ls | tee out",
    "echo $(rm a.txt)",
    'echo "`rm a.txt`"',
    "cat <(rm a.txt)",
    "ls > >(cat > out)",
    "cat <<EOF\n$(rm a.txt)\nEOF",
    "cat < $(touch out; echo a.txt)",
    "find . -delete",
    "find . -fprint out",
    "find . -exec rm {} +",
    "find . $ACTION",
    "find . -{delete,print}",
    "find . | xargs rm",
    "ls | xargs --arg-file ls rm",
    "ls | xargs -n $N cat",
    "sort -o out a.txt",
    "sort -ro out a.txt",
    "sort --outp=out a.txt",
    "sort --compress-program=./x a.txt",
    "sort *",
    "sort $X",
    "uniq a.txt out",
    "uniq *.txt",
    "uniq a*",
    "tree -o out",
    "tree -ao out",
    "rg --pre ./x y",
    "fd . -x rm",
    "sed -i s/x/y/ a.txt",
    "sed 's/x/y/w out' a.txt",
    "sed -n 'w out' a.txt",
    "sed '1e rm a.txt' a.txt",
    "sed -n p a.txt --in-place",
    "sed -f script a.txt",
    "awk '{print > \"out\"}' a.txt",
    "awk 'BEGIN{system(\"rm a.txt\")}'",
    "awk -i inplace '{print}' a.txt",
    'awk "$PROGRAM" a.txt',
    "git diff --output=out",
    "git log --outp out",
    "git diff $OPTIONS",
    "git grep -O./x y",
    "git -c core.fsmonitor=./x status",
    "git -C $WHERE status",
    "git branch new",
    "git branch -D old",
    "git config user.name x",
    "git stash",
    "git checkout .",
    "git stash list --output=out",
    "git",
    "git ls-remote --upload-pack=./x .",
    "test -v 'a[$(rm b)]'",
    "printf -v 'a[$(rm b)]' x",
    "PATH=. ls",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "env -S 'rm a.txt'",
    "env PATH=. ls",
    "timeout $T ls",
    "sudo ls",
    "$CMD x",
    "./ls",
    "/srv/bin/ls",
    "l*",
    "ls() { rm a.txt; }; ls",
    "function ls { rm a.txt; }; ls",
    "alias ls=rm",
    "eval ls",
    ". ./script",
    "exec > out",
    "bash -c ls",
    "python3 -c 'print(1)'",
    "make -n",
    "case x in x) rm a.txt;; esac",
    "while true; do rm a.txt; break; done",
    "if true; then rm a.txt; fi",
    "! rm a.txt",
    "time rm a.txt",
    "{ rm a.txt; }",
    "ls & rm a.txt",
    "ls\nrm a.txt",
    "echo 'unfinished",
    'echo "unfinished',
    "echo `unfinished",
    "echo $(unfinished",
    "ls\r",
    "file -C -m x",
    "jobs -x rm a.txt",
    "arch -x86_64 rm a.txt",
    "for PATH in ./sub; do ls; done",
    "read -r PATH <<< ./sub; ls",
    'sort {-"o",out} a.txt',
    """find . {"-fprint",out}""",
    "git blame -S -- --output=out a.txt",
    """x='> "out"'; echo a | awk "{print 1 $x}\"""",
    """echo ${x:-'} ' }; rm a.txt #'""",
    'echo "`echo \\" \' \\" ; rm a.txt ; echo \\" \' \\"`"',
    "cat <<EOF\nfoo\\\nEOF\ncat <<'X'\nEOF\nrm a.txt\nX\n",
    "cat " + "a " * 20_000,
    "cat " + "x" * 300_000,
]


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    (place / "sub").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (place / name).write_text("x\ny\n")
    return place


@pytest.mark.parametrize("command", READING)
def test_reading_is_known_as_such_and_bash_agrees(workplace: Path, command: str):
    assert foreseen(command, workplace).is_read_only
    before = state(workplace)
    subprocess.run(
        ["bash", "-c", command],
        cwd=workplace,
        env={"PATH": os.environ["PATH"], "HOME": str(workplace)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert state(workplace) == before


@pytest.mark.parametrize("command", WRITING, ids=lambda command: repr(command[:40]))
def test_what_may_write_is_never_called_reading(workplace: Path, command: str):
    assert not foreseen(command, workplace).is_read_only


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
