"""What is called harmless changes nothing and shows no secret; what may do so never is called harmless."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands import classify_command
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import Argument, Invocation, Redirection
from tools.approval.commands.harmless import is_harmless
from tools.approval.commands.harmless_forms import is_open_path

HARMLESS = [
    "ls -la src",
    "ls *",
    "cat a.txt b.txt | grep -n x | head -5",
    "cat *.txt",
    "cat a.txt 2>/dev/null >&2",
    "cat < a.txt",
    "head -n 3 a.txt | tail -1 | cut -c1-3 | tr a-z A-Z",
    "find . -name '*.txt' -type f",
    r"find . -name '*.txt' -exec grep -l x {} +",
    "find . -type f | xargs wc -l",
    "grep -rn 'rm -rf' .",
    "rg -n TODO src || true",
    "git status --short && git --no-pager diff HEAD -- a.txt",
    "git log --oneline -5; git show HEAD --stat; git branch -a; git branch --show-current; git remote -v",
    "git stash list; git config --get user.name; git tag -l 'v*'; git rev-parse HEAD; git blame a.txt",
    "sed -n '1,20p' a.txt; sed 's/x/y/' a.txt; sed -E -e 's/a/b/' -e '$d' a.txt",
    "awk -F: '{print $1}' a.txt; awk '$1 > 5 {n++} END {print n}' a.txt",
    "sort -rn a.txt | uniq -c",
    "jq . a.json; jq -r '.x[]' a.json; yq .x a.yml",
    "LC_ALL=C sort a.txt; env LC_ALL=C ls; timeout 5 cat a.txt; nice ls",
    "cd sub; pwd; set -euo pipefail; export NO_COLOR=1 x=2; unset x",
    "test -f .env; [ -n x ]; read -r line < a.txt; printf '%s\\n' x",
    'echo $(date) "$(git rev-parse HEAD)"; echo $?; true',
    "python3 --version; node -v; git --version; command -v ls; type ls; which ls",
    "ps aux; ps -ef; df -h; du -sh .; uname -a; date +%s; date -d yesterday; nproc; id; whoami; hostname",
    "tar tzf x.tgz; unzip -l x.zip; file a.txt; stat a.txt; wc -l a.txt; diff a.txt b.txt; sha256sum a.txt",
    "xxd -l 64 a.txt; od -c a.txt; strings a.txt; base64 -d a.txt; tree -L 2; ss -tlnp; ip addr; sleep 1",
    "echo 'rm -rf /'; echo \"a > b\"",
    "f() { ls; }; f",
    "x='y[1]' i=1; a=(1 2); echo ${a[i]} ${HOME:0:x} ${!x}; for ((j=0; j<3; j++)); do echo $j; done; declare -A m",
    "git branch -vv; git config --global user.name; printf '%d%% %5.2f\\n' 1 2; xxd -l 8 -c 4 a.txt; uniq -c a.txt",
    "getent passwd root; printenv HOME",
    "cat /etc/hosts /usr/share/doc/x /tmp/x /proc/cpuinfo",
    "/bin/ls; /usr/bin/wc a.txt; read -r x <&0; export x=a=b; shopt -s nullglob globstar",
    "rg -- x a.txt; fd -- x; hostname; hostname -s; find . -type f | xargs grep -l x; cat *.[ra]*s sub/*.txt",
    "git config --local user.name; git config --system user.name; git config get user.name; git tag -l v1 -n2",
    "date -r a.txt; date --date yesterday; sleep 0.1s",
    "sed -ne p a.txt; sed -nEe p a.txt; sed --expression p a.txt; sed --expression=s/a=/b/ a.txt; sed -e p -",
    "awk -F : '{print $1}' a.txt; awk -v x=1 '{print x}' a.txt; awk -- '{print}' a.txt; awk '{print}' -",
    "xxd -s 1 -c 4 -g 1 -o 1 a.txt; xxd -len 4 -seek 1 -cols 4 a.txt; xxd -",
    "ip -br a; ip -4 addr show; ip -6 r; ip -j link; ip -s l ls; ip -brief address; ip route list; ip neigh; ip rule",
    "git -C sub status; git --no-pager -C sub -P log; sed p sub/c.txt; bat -p a.txt; xxd -l",
    'x=$(cat a.txt); [ "$x" = y ]; test -n "$x"; cat credentials/*.txt',
    "ps -U me; ps -o pid,etime; jq . -; jq -- . a.json; yq . -; ls /dev; cat /dev/stdin /proc/sys/kernel/osrelease",
]
# They take long.
HARMLESS_BUT_SLOW = ["sleep 5m", "sleep 20", "tail -f a.txt", "tail --follow=name --retry a.txt"]
HARMFUL = [
    "rm a.txt",
    "ls > out",
    "ls >> out",
    "ls > $OUT",
    "ls &> out",
    "ls <> out",
    "ls > /dev/nul*",
    "ls | tee out",
    # secrets
    "cat .env",
    "cat .env*",
    "cat .e*",
    "cat id_*",
    "cat *",
    "cat *.json",
    "grep -r --include='.env*' x .",
    "find . -name '*.pem' -exec grep x {} +",
    "rg x -g '*.tfvars'",
    "cat ~/.ssh/id_rsa",
    "cat ~/.bash_history",
    "ls ~/.aws",
    "grep -r key ~/.config/gh",
    "cat < .env",
    'head -c1 "$FILE"',
    "cat /proc/1/environ",
    "cat /proc/self/environ",
    "cat /etc/shadow",
    "cat /dev/sda",
    "git show HEAD:.env",
    "git diff -- .env",
    "git config --list",
    "git config --get remote.origin.url",
    "awk '{print}' .env",
    "sed -n p credentials.json",
    "printenv",
    "printenv API_KEY",
    "env",
    "export",
    "set",
    "declare -p",
    "ps auxe",
    "ps -E",
    "jq -n env",
    "jq -n '$ENV.KEY'",
    "yq 'load(\".env\")' a",
    "getent shadow",
    "echo .env | xargs cat",
    "find . -name .env -exec cat {} +",
    r"find . -name id_rsa -exec head {} \;",
    # writing
    "find . -delete",
    "find . -fprint out",
    "find . -exec rm {} +",
    "find . $ACTION",
    "find . | xargs rm",
    "sort -o out a.txt",
    "sort -ro out a.txt",
    "sort --outp=out a.txt",
    "sort --compress-program=./x a.txt",
    "sort $X",
    "uniq a.txt out",
    "uniq *.txt",
    "uniq -- -a out",
    "uniq - out",
    "tree -o out",
    "xxd -r a out",
    "xxd a out",
    "xxd a -g",
    "xxd -- -a out",
    "xxd - out",
    "rg --pre ./x y",
    "fd . -x rm",
    "date -s 2020-01-01",
    "date 01010101",
    "hostname evil",
    "ip link set lo down",
    "ss -K dst 1.2.3.4",
    "tar xf a.tar",
    "tar tf evil:x",
    "tar tf a --to-command=sh",
    "iconv -o out a",
    "shuf -o out a",
    "file -C -m x",
    "sed -i s/x/y/ a.txt",
    "sed 's/x/y/w out' a.txt",
    "sed '1e rm a.txt' a.txt",
    "sed -n p a.txt --in-place",
    "sed -f script a.txt",
    'sed "$SCRIPT" a.txt',
    "awk '{print > \"out\"}' a.txt",
    "awk 'BEGIN{system(\"rm a.txt\")}'",
    "awk -i inplace '{print}' a.txt",
    "awk -f prog a.txt",
    'awk "$PROGRAM" a.txt',
    "git diff --output=out",
    "git log --outp out",
    "git diff $OPTIONS",
    "git grep -O./x y",
    "git diff --ext-diff",
    "git log --show-signature",
    "git -c core.fsmonitor=./x status",
    "git branch new",
    "git branch -vv new",
    "git config core.pager get",
    "git config user.name --get",
    "git branch -D old",
    "git tag v1",
    "git remote show origin",
    "git fetch",
    "git stash",
    "git checkout .",
    "git",
    "git --help",
    # running others, and other names for programs
    "PATH=. ls",
    "PATH=.; ls",
    "export PATH=.",
    "read -r PATH < a",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "http_proxy=x ls",
    "env PATH=. ls",
    "sudo ls",
    "ssh host ls",
    "docker exec x ls",
    "nohup ls",
    "watch ls",
    "./ls",
    "/srv/bin/ls",
    "$CMD x",
    "l*",
    "alias ls=rm",
    "exec > out",
    ". ./script",
    "python3 x.py",
    "make -n",
    "less a.txt",
    "man ls",
    "test -v 'a[$(rm b)]'",
    "printf -v 'a[$(rm b)]' x",
    "printf '1%n' PATH",
    "printf '%s %-8.3ln' x PATH",
    "x=$(cat FILE); echo $((x))",
    "read x < FILE; echo $((x + 1))",
    "x=$(cat FILE); y=x; echo $[y]",
    "x=$(cat FILE); echo ${PATH:x}",
    "for f in *; do echo $((f)); done",
    "declare -i x; x='a[$(rm b)]'",
    "declare -a x='($(rm b))'",
    "x='a[$(rm b)]'; echo ${HOME:x}",
    "sed ':a e rm b' a.txt",
    "[[ $x -eq 1 ]]",
    "hash -p ./x ls",
    "shopt -s expand_aliases",
    "sleep infinity",
    "curl https://example.com",
    "dig example.com",
    "npm ls",
    "docker ps",
    "kubectl get pods",
    "bat --pager ./x a",
    "dpkg -i a.deb",
    "pip install x",
    "pip list",  # looks for a newer pip, and notes that in its cache
    "pip list --disable-pip-version-check",  # Python, with whatever the environment around it brings
    "pip freeze",  # runs git
    "arch -x86_64 rm a.txt",
    "cargo --version",  # the workspace's toolchain file may name the program that answers
    "exit --help=x $(rm a)",
    # what nobody knows may be an option, or several words
    "fd a$X",
    "uniq a*.txt",
    "git diff *.py",
    "awk p *.py",
    "jq . *.py",
    "ps *",
    "sed p *",
    "export $X",
    "printf $X",
    "test $X",
    '[ "$X" "$Y" ]',
    '[ ! "$X" "$Y" ]',
    "cat '*'$X",
    "grep x a*$X",
    'cat a"$X"',
    'cat a"$X"*',
    'cat a"$X"/b*',
    'test -v "$X"',
    'test -R "$X"',
    'awk "/$X/" a.txt',
    "cat a.txt | xargs test",
    "cat a.txt | xargs fd",
    "cat a.txt | xargs hostname",
    "cat a.txt | xargs getent passwd",
    "cat a.txt | xargs jobs",
    "cat a.txt | xargs ls | xargs grep x",
    # options and names that are not known to be harmless
    "jobs -x rm a.txt",
    "unset PATH",
    "ls > 2",
    "ls >& out",
    "ss --kill dst x",
    "file --compile",
    "dpkg -l --root=x",
    "unzip -l a.zip -d out",
    "git tag -l -d v1",
    "git branch --list -D old",
    "git -P",
    "git config",
    "git config user.name",
    "date --set=2020-01-01",
    "date -s2020-01-01",
    "date X",
    "sleep ٣",
    "sleep 6m",
    "sed -n",
    "sed p -i",
    "sed --expression='w out=' a.txt",
    "awk",
    "awk '{print}' -f prog",
    "awk -F : 'BEGIN{system(\"rm a.txt\")}'",
    "jq -f x a.json",
    "ps x e",
    "xxd -r a",
    "bat cache --build",
    "bat --lessopen a",
    "bat --generate-config-file",
    "bat --diagnostic",
    "tar",
    "tar t --remove-files",
    "ip",
    "ip addr flush",
    "ip addr show x",
    "pip",
    "pip freeze -r x",
    "pip list -i x --disable-pip-version-check",
    "printf",
    "printf -v PATH x",
    "shopt",
    "[[ -f a ]]",
    "((1))",
    "/bin/bin/ls",
    # secrets
    "grep -fid_rsa a.txt",
    "cat sub/*.pem",
    "cat sub/.e*",
    "cat .*",
    "cat .[a-z]*",
    "git show HEAD:id_rsa",
    "git show main:x:id_rsa",
    "cat /proc/keys",
    "cat ~/.of-a-program/x",
    "cat /home/other/.of-a-program/x",
]


def _is_harmless(invocation):
    return is_harmless(invocation, classify_command)


def all_harmless(command: str) -> bool:
    reading = read_command(command, Path("/srv/work/project"))
    return not reading.doubts and all(_is_harmless(invocation) for invocation in reading.invocations)


@each("command", [*HARMLESS, *HARMLESS_BUT_SLOW])
def test_harmless_commands_are_known_as_such(command: str):
    assert all_harmless(command)


@each("command", HARMFUL)
def test_what_may_do_harm_is_never_called_harmless(command: str):
    assert not all_harmless(command)


@pytest.mark.parametrize("command", HARMLESS)
def test_bash_agrees_that_nothing_is_changed(tmp_path: Path, command: str):
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (tmp_path / name).write_text("x\ny\n")
    before = state(tmp_path)
    subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert state(tmp_path) == before


def test_what_runs_elsewhere_is_not_harmless():
    assert not _is_harmless(Invocation("ls", "ls", (), elsewhere=True))


def test_more_arguments_from_nowhere_are_not_harmless_for_what_shows_contents():
    assert not _is_harmless(Invocation("cat", "cat", (), via=("xargs",), adds_unknown=True))
    assert not _is_harmless(Invocation("grep", "grep", (Argument("x"),), via=("xargs",), adds_unknown=True))
    assert not _is_harmless(xargs("wc", "-l"))
    assert _is_harmless(xargs("wc", "-l", "--"))
    assert _is_harmless(xargs("stat"))


def test_a_glob_may_become_an_option_where_options_do_harm():
    assert not _is_harmless(Invocation("sort", "sort", (Argument("*", expands=True),)))
    assert not _is_harmless(Invocation("wc", "wc", (Argument("*", expands=True),)))
    assert _is_harmless(Invocation("wc", "wc", (Argument("*.py", expands=True),)))
    assert _is_harmless(Invocation("stat", "stat", (Argument("*", expands=True),)))


def test_a_glob_with_braces_may_become_an_option() -> None:
    assert not _is_harmless(Invocation("fd", "fd", (Argument("a{b, -x}*", expands=True),)))
    assert _is_harmless(Invocation("fd", "fd", (Argument("ab*", expands=True),)))


@each("command", [Invocation("", "x", ()), Invocation("", "", (Argument("x"),))])
def test_a_program_without_a_name_is_not_known(command: Invocation) -> None:
    assert not _is_harmless(command)


def test_a_path_is_one_from_the_directory_of_the_command() -> None:
    secrets = "/etc/ssl/private"
    assert not _is_harmless(Invocation("cat", "cat", (Argument("a"),), cwd=secrets))
    assert not _is_harmless(Invocation("cat", "cat", (), (Redirection("<", None, Argument("a")),), cwd=secrets))
    assert not is_open_path("a\0b")
    assert is_open_path("")


def test_a_wrapper_whose_own_words_are_not_known_proves_nothing() -> None:
    assert not _is_harmless(Invocation("stat", "stat", (), via=("xargs",)))
    assert not _is_harmless(Invocation("stat", "stat", (), via=("timeout",), wrapped=(("xargs", ()),)))


def xargs(program: str, *words: str) -> Invocation:
    arguments = tuple(map(Argument, words))
    return Invocation(program, program, arguments, via=("xargs",), adds_unknown=True, wrapped=(("xargs", ()),))


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
