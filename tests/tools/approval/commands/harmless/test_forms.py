"""Commands are safe in proved forms only: each kind of fault that once passed, and a sweep over every option."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands import classify_command
from tools.approval.commands.bash.reading import Argument, Invocation
from tools.approval.commands.harmless import PROGRAMS, WRAPPERS, is_harmless
from tools.approval.commands.harmless_forms import Forms

PROJECT = Path("/home/dev/project")

NOT_SAFE = {
    "a program that evaluates code": [
        "node -r ./x.js -e 1",
        "bun -r ./x.js -e 1",
        "perl -e '@ARGV=(\"CMD|\"); print <>'",
        "ruby -e 'IO.read(\"|CMD\")'",
        "php -r 'include \"x.php\";'",
        "node -e 1",
        "node --import ./x.mjs -p 1",
        "python3 -c 'print(1)'",
        "python3 - <<'EOF'\nprint(1)\nEOF",
        "echo 1 | python3 -",
        "perl -e 'print 1'",
        "ruby -e 'puts 1'",
        "php -r 'echo 1;'",
        "lua -e 'print(1)'",
        "Rscript -e 'print(1)'",
        "deno eval 1",
        "sqlite3 a.db 'select 1'",
        "dc -e '1 p'",
    ],
    "a program that loads a project's code before it says its version": [
        "pytest --version",
        "npm --version",
        "pip --version",
        "yarn --version",
        "cargo --version",
        "black --version",
    ],
    "a file that an option names": [
        "xargs -a .env echo",
        "xargs --arg-file=.env echo",
        "xargs -0a.env echo",
        "timeout 5 xargs -a .env echo",
        "date -f .env",
        "date --file=.env",
        "date -uf .env",
        "wc --files0-from=.env",
        "wc --files0=.env",
        "du --files0-from=.env",
        "du -X .env .",
        "file -f .env",
        "file -bf .env",
        "sort --files0-from=.env",
        "sort --random-source=.env a.txt",
        "tree --fromfile .env",
        "tree --fromfile",
        "tree --gitfile=.env",
        "fd --ignore-file .env",
        "rg --ignore-file .env x",
        "rg -f .env a.txt",
        "grep -f .env a.txt",
        "grep -rf.env src",
        "grep --file .env a.txt",
        "grep --exclude-from=.env -r x src",
        "xzcat --files=.env",
        "zstdcat --filelist .env",
        "find . -files0-from .env",
        "strings @.env",
        "strings @a.txt",
        "hexdump -f .env a.txt",
        "pgrep -F .env",
        "ss -F .env",
        "shuf --random-source=.env a.txt",
        "jq --rawfile x .env -n '$x'",
        "jq --slurpfile x .env -n '$x'",
        "jq -n 'import \"x\" as $x; $x'",
        "yq -n 'strload(\".env\")'",
        "yq -n 'load_str(\".env\")'",
        "yq -n 'xml_load(\".env\")'",
        "yq secrets.yaml",
        "md5sum -c list",
        "uptime .env",
        "who .env",
        "diff --from-file=.env a.txt",
        "git grep -f .env",
        "git ls-files -X .env",
        "git ls-files --exclude-from=.env -o",
        "git blame --contents a.txt b.txt",
        "git blame --ignore-revs-file=.env a.txt",
        "git diff -O.env",
        "lscpu -s /",
        "bat --config-file=x a.txt",
    ],
    "an operand that is a secret": [
        "sort -m .env",
        "sort -mu .env",
        "sort -c .env",
        "tail -c +1 .env",
        "nl -ba .env",
        "git log -p -- .env",
        "git log -p -- ':(top,icase).ENV'",
        "git log -p -- ':!src' '.env'",
        "git log -L 1,5:.env",
        "git log -L:main:.env",
        "git show HEAD:.env",
        "git show HEAD:./.env",
        "git show ':0:.env'",
        "git cat-file -p HEAD:.env",
        "git cat-file blob HEAD:id_rsa",
        "git diff --no-index /dev/null .env",
        "git blame -L 1,9 .env",
        "jq . credentials.json",
        "jq -R . .env",
    ],
    "the environment of processes": [
        "ps -o environ",
        "ps -eo pid,environ",
        "ps axo pid,environ",
        "ps -o pid -o environ",
        "ps --format environ",
        "ps -o pid,env",
        "ps e",
        "ps auxe",
        "ps auxwwe",
        "ps -ex",  # two that do not go together: read again as BSD's, where `e` shows environments
        "ps -eTH",
        "ps -e -u nobody-of-that-name",
        "ps -E",
        "printenv API_KEY",
        "awk 'BEGIN { for (n in ENVIRON) print n }'",
        "jq -n '$ENV'",
        "yq -n 'strenv(KEY)'",
    ],
    "a program that is run along": [
        "rg --pre ./x y",
        "rg -z y",
        "rg --hostname-bin=./x y",
        "fd -l",
        "fd -x rm",
        "diff -l a b",
        "diff --paginate a b",
        "sort --compress-program=./x a.txt",
        "tar tf a.tar -I ./x",
        "tar tf a.tar --checkpoint-action=exec=x",
        "bat --pager=./x a.txt",
        "bat --lessopen a.txt",
        "file -z a.gz",
        "awk '/[]/ {system(\"touch x\")} #]/'",  # some awks end the expression at the first slash
        "awk '{print | \"cat\"}' a.txt",
        "awk 'BEGIN {\"date\" | getline}'",
        "awk -f prog a.txt",
        "awk -i inplace 1 a.txt",
        "awk -l readdir 1 a.txt",
        "sed '1e touch x' a.txt",
        "sed 's/x/touch x/e' a.txt",
        "sed -f script a.txt",
        "git grep -O x",
        "git grep --open-files-in-pager=./x y",
        "git diff --ext-diff",
        "git log -p --textconv",
        "git cat-file --textconv HEAD:a",
        "git cat-file --filters HEAD:a",
        "git log --show-signature",
        "git log --format='%G?'",
        "git log --pretty=format:'%h %GK'",
        "git for-each-ref --format='%(signature)'",
        "git tag -v v1",
        "git -c core.pager=./x log",
        "git --exec-path=. status",
        "git -p log",
        "git --paginate log",
        "git archive --remote=x HEAD",
        "git submodule foreach x",
        "git difftool",
        "git bisect run x",
        "wait -p 'a[$(touch x)]' 1",
    ],
    "a file that is written": [
        "zstdcat -o out a.zst",
        "sort -o out a.txt",
        "sort -T out a.txt",
        "xxd -ps a b",
        "xxd a b",
        "xxd -revert a b",
        "sed 'w out' a.txt",
        "sed 's/x/y/w /dev/stdout' a.txt",
        "sed 'r a.txt' b.txt",
        "sed 'R a.txt' b.txt",
        "sed 's/[/]/x/w out' a.txt",
        "awk '{print > \"out\"}' a.txt",
        "awk '{print > \"/dev/stderr\"}' a.txt",
        "awk '{getline x < \"b.txt\"; print x}' a.txt",
        "git diff --output=out",
        "git log -p --outp out",
        "git merge-tree main topic",
        "git diff -D out --output out",
        'printf "a$X" PATH',
        "iconv -o out a.txt",
        "tree -R -o out",
    ],
    "another machine": [
        "ss -r",
        "ss -t dst example.com",
        "netstat -a",
        "netstat -tulp",
        "lsof -i :3000",
        "lsof -ni @example.com",
        "hostname -f",
        "hostname -I -A",
        "who --lookup",
        "tar tf host:a.tar",
        "git fetch",
        "git ls-remote",
        "git remote show origin",
        "git remote update",
    ],
    "another repository": [
        "git -C /tmp/other status",
        "git -C .. log",
        "git -C src -C ../.. log",
        'git -C "$X" log',
        "cd /tmp && git status",
        'cd "$X" && git status',
        "git --git-dir=/tmp/x log",
        "git --work-tree=/tmp status",
    ],
    "everything below a place": [
        "grep -R x .",
        "grep --dereference-recursive x .",
        "rg --follow x",
        "rg -L x",
        "find -L . -name x",
        "find . -follow -name x",
        "fd -L x",
        "diff -r a b",
        "diff /home/dev /tmp/x",
        "grep -r x /home",
        "grep -r x /var",
        "grep -r x ../other",
        "rg x /tmp/other",
        "cd .. && grep -r x",
        'cd "$X" && rg x',
        "find /home -type f | xargs grep x",
        "find /home -type f -exec grep x {} +",
        "cat names | xargs grep -- x",
    ],
    "names that may be options": [
        "ls | xargs wc -l",
        "git ls-files | xargs wc -l",
        "rg -l x | xargs grep y",
        "find . -printf '%f\\n' | xargs wc -l",
        "wc -l *",
        "du *",
        "grep x *",
        'wc -l "$X"',
        'head "$X"',
    ],
    "a directory that nobody knows": [
        'cd "$X"; cat config',
        'cd "$X" && head -3 hosts.yml',
        "cd $(mktemp -d) && grep x a.txt",
        'cd "$X"; cat < token',
    ],
    "a wrapper that does more": [
        "env -C /root ls",
        "env -S 'ls -l'",
        "env --chdir=/root cat a.txt",
        "xargs -p ls",
        "xargs -o ls",
        "stdbuf -x ls",
        "command -x ls",
        "ionice -p 1",
        "nice -x ls",
    ],
}

SAFE = [
    "ls -la",
    "cat README.md",
    "grep -rn foo src",
    "grep -c foo src/app.py",
    "find . -name '*.py'",
    "find . -name '*.py' -exec grep -l foo {} +",
    "find . -type f -print0 | xargs -0 grep -n foo",
    "find src -name '*.c' | sort | head -20 | xargs wc -l",
    "git status -sb",
    "git log --oneline -10",
    "git log -p -2 -- src/app.py",
    "git diff HEAD~1 --stat",
    "git show HEAD:src/app.py",
    "git -C src log -1",
    "git branch -a",
    "git blame -L 10,20 src/app.py",
    "git grep -n TODO",
    "wc -l src/*.py",
    "wc -l *.py",
    "head -20 src/app.py",
    "tail -n 50 build/app.log",
    "sed -n 1,20p src/app.py",
    "awk -F, '{ s += $2 } END { print s }' data.csv",
    "sort -k2,2n data.txt | uniq -c",
    "jq -r --arg x y '.[$x]' package.json",
    "yq '.services | keys' docker-compose.yml",
    "ps aux | grep node",
    "ps -eo pid,ppid,%cpu,args --sort=-%cpu | head",
    "ss -ltnp",
    "lsof -nP -iTCP -sTCP:LISTEN",
    "lsof -ti :3000",
    "date -u +%FT%TZ",
    "timeout 5 cat README.md",
    "env LC_ALL=C sort data.txt",
    "seq 3 | xargs -I{} echo kill {}",
    "python3 --version; node -v",
    "diff <(sort a.txt) <(sort b.txt)",
    "grep -rn x /usr/include",
]


@each(("kind", "command"), [(kind, command) for kind, commands in NOT_SAFE.items() for command in commands])
def test_a_safe_command_does_nothing_of_this_kind(kind: str, command: str):
    assert classify_command(command, PROJECT, (PROJECT,)).level != "safe", kind


@each("command", SAFE)
def test_everyday_looking_is_safe(command: str):
    assert classify_command(command, PROJECT, (PROJECT,)).level == "safe"


LISTED = {name: check for name, check in {**PROGRAMS, **WRAPPERS}.items() if isinstance(check, Forms)}


def test_each_listed_option_is_one_option():
    for name, check in LISTED.items():
        assert [one for one in check.options if not one.startswith("--") and len(one) != len("-x")] == [], name


@each(
    "name",
    sorted({
        "bash", "bun", "busybox", "deno", "gdb", "irb", "julia", "lua", "node", "osascript", "perl", "php", "psql",
        "python", "python3", "R", "Rscript", "ruby", "sh", "sqlite3", "tclsh", "vim", "m4", "make", "less", "man",
    }),
)  # fmt: skip
def test_programs_that_evaluate_code_have_no_safe_form_but_their_version(name: str):
    assert name not in PROGRAMS


_SECRET = "planted-5f1c"
_WAITS = {"-f", "-F", "--follow", "--retry", "-s", "--sleep-interval", "-b", "-i0v"}


_INSTALLED = [name for name in sorted(PROGRAMS) if name in LISTED and shutil.which(name)]
_OPERANDS = (["a.txt"], ["x", "a.txt"], [])


@pytest.mark.parametrize("name", _INSTALLED)
def test_no_safe_option_with_a_value_of_an_installed_program_reads_a_secret_or_changes_a_file(
    tmp_path: Path, name: str
):
    _try_options(tmp_path, name, lambda value: _OPERANDS[:2] if value else ())


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", _INSTALLED)
def test_no_safe_option_of_an_installed_program_reads_a_secret_or_changes_a_file(tmp_path: Path, name: str):
    _try_options(tmp_path, name, lambda _: _OPERANDS)


def _try_options(tmp_path: Path, name: str, operands_for: Callable[[str | None], Iterable[list[str]]]) -> None:
    """Each option with the name of a secret as its text: nothing of the secret is shown, and nothing is changed."""
    for file, text in {".env": f"KEY={_SECRET}\n", "a.txt": "x\ny\n", "b.txt": "x\n"}.items():
        (tmp_path / file).write_text(text)
    (tmp_path / ".config" / "procps").mkdir(parents=True)  # top makes it in a home that has none
    before = _state(tmp_path)
    for option, kind in LISTED[name].options.items():
        if option in _WAITS or option == "-#":
            continue
        glue = "=" if option.startswith("--") else ""
        given = [option] if kind is None else [f"{option}{glue}.env"]
        for operands in operands_for(kind):
            words = tuple(map(Argument, [*given, *operands]))
            if is_harmless(Invocation(name, name, words, cwd=str(tmp_path)), classify_command, (str(tmp_path),)):
                done = _run([name, *given, *operands], tmp_path)
                assert _SECRET not in done, [name, *given, *operands]
    assert _state(tmp_path) == before


_needs_ps = pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
_PS_LETTERS = "aefFlLTjwHdcxu"
_PS_CLUSTERS = [f"-{a}{b}{c}" for a in "eaA" for b in _PS_LETTERS for c in _PS_LETTERS]
_PS_FORMS = [["-e", one] for one in ("-x", "-T", "x", "-u", "1", "-f", "f")] + [["aux"], ["axf"], ["axo", "pid,args"]]


@_needs_ps
def test_no_safe_form_of_ps_shows_an_environment(tmp_path: Path):
    _try_ps(tmp_path, [*_PS_FORMS, *([f"-e{one}"] for one in _PS_LETTERS), *([one] for one in _PS_CLUSTERS[::29])])


@_needs_ps
@pytest.mark.long
@pytest.mark.timeout(300)
def test_no_cluster_of_safe_letters_of_ps_shows_an_environment(tmp_path: Path):
    _try_ps(tmp_path, [[one] for one in _PS_CLUSTERS] + [[one + "o", "pid,args"] for one in _PS_CLUSTERS])


def _try_ps(tmp_path: Path, forms: list[list[str]]) -> None:
    for words in forms:
        if is_harmless(Invocation("ps", "ps", tuple(map(Argument, words))), classify_command):
            assert _SECRET not in _run(["ps", *words], tmp_path), words


def _run(words: list[str], cwd: Path) -> str:
    done = subprocess.run(
        words,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), "API_KEY": _SECRET},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=30,
        check=False,
    )
    return done.stdout.decode(errors="replace")


def _state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (b"" if path.is_dir() else path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }
