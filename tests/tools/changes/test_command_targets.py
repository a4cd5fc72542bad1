"""What a command is likely to change, read from its text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tools.changes.command_targets import foreseen


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    for name in ("a.txt", "b.txt", "c.py", "src/d.py", "src/deep/e.py", "src/f.md", "my file.txt", "home/h.txt"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("x\n")
    (place / "empty").mkdir()
    return place


def named(command: str, place: Path, **options: int) -> set[str]:
    found = foreseen(command, place, environment={"HOME": str(place / "home")}, max_seconds=5, **options)
    assert not found.is_read_only
    return {str(path.relative_to(place)) if path.is_relative_to(place) else str(path) for path in found.paths}


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("rm a.txt b.txt", "a.txt b.txt"),
        ("rm -f -- a.txt", "a.txt"),
        ("rm -rf src", "src/d.py src/deep/e.py src/f.md"),
        ("unlink a.txt; shred -u -n 3 b.txt", "a.txt b.txt"),
        ("rm no-such-file", ""),
        ("mv a.txt new.txt", "a.txt new.txt"),
        ("mv a.txt b.txt src", "a.txt b.txt src/a.txt src/b.txt"),
        ("mv -t src a.txt", "a.txt src/a.txt"),
        ("mv src moved", "src/d.py src/deep/e.py src/f.md moved/d.py moved/deep/e.py moved/f.md"),
        ("mv src empty", "src/d.py src/deep/e.py src/f.md empty/src/d.py empty/src/deep/e.py empty/src/f.md"),
        ("cp a.txt b.txt", "b.txt"),
        ("cp -r src copy", "copy/d.py copy/deep/e.py copy/f.md"),
        ("install -m 755 a.txt src/", "src/a.txt"),
        ("ln -sf a.txt b.txt", "b.txt"),
        ("echo x > a.txt", "a.txt"),
        ("echo x >> new/file", "new/file"),
        ("echo x >| a.txt 2>err.log", "a.txt err.log"),
        ("make &> out.log", "out.log"),
        ("make 2>&1 >/dev/null", ""),
        ("echo x | tee -a a.txt b.txt", "a.txt b.txt"),
        ("truncate -s 0 a.txt", "a.txt"),
        ("dd if=/dev/zero of=a.txt count=1", "a.txt"),
        ("sed -i s/x/y/ a.txt b.txt", "a.txt b.txt"),
        ("sed -i.bak -e s/x/y/ a.txt", "a.txt"),
        ("sed -n -E --in-place=.old s/x/y/ a.txt", "a.txt"),
        ("sed -ni p a.txt", "a.txt"),
        ("perl -pi -e s/x/y/ a.txt", "a.txt"),
        ("sort -o b.txt a.txt", "b.txt"),
        ("touch new a.txt", "new a.txt"),
        ("chmod +x a.txt", "a.txt"),
        ("chmod -R -x src", "src/d.py src/deep/e.py src/f.md"),
        ("patch -p1 a.txt < fix.patch", "a.txt"),
        ("gzip a.txt", "a.txt"),
        ("curl -o a.txt https://example.org/", "a.txt"),
        ("find . -name '*.py' -delete", "c.py src/d.py src/deep/e.py"),
        ("find src -iname '*.MD' -exec sed -i s/x/y/ {} +", "src/f.md"),
        ("find src -name '*.py' | grep -v deep | xargs rm", "src/d.py src/deep/e.py"),
        ("grep -rl x src | xargs -r sed -i s/x/y/", "src/d.py src/deep/e.py src/f.md"),
        ("echo a.txt b.txt | xargs rm", "a.txt b.txt"),
        ("ls | xargs -I{} wc {}; make", ""),
        ("black c.py src", "c.py src/d.py src/deep/e.py"),
        ("black --check .; make", ""),
        ("uv run ruff check --fix src", "src/d.py src/deep/e.py"),
        ("ruff check src; make", ""),
        ("npx prettier --write src a.txt", "src/f.md a.txt"),
        ("python3 -m isort c.py", "c.py"),
        ("gofmt -w a.txt", "a.txt"),
    ],
)
def test_the_usual_programs(place: Path, command: str, paths: str):
    assert named(command, place) == set(paths.split())


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cd src && rm d.py", {"src/d.py"}),
        ("(cd src && rm d.py); rm a.txt", {"src/d.py", "a.txt"}),
        ("pushd src; rm d.py", {"src/d.py"}),
        ("cd $NOWHERE && rm a.txt", set()),
        ("cd && rm h.txt", {"home/h.txt"}),
        ("rm ~/h.txt", {"home/h.txt"}),
        ('rm "$HOME/h.txt" $PWD/a.txt', {"home/h.txt", "a.txt"}),
        ("rm '~/h.txt'", set()),
        ("rm *.txt", {"a.txt", "b.txt", "my file.txt"}),
        ("rm '*.txt'", set()),
        ("rm src/*/[!x].py", {"src/deep/e.py"}),
        ("rm {a,b}.txt", {"a.txt", "b.txt"}),
        ("rm my\\ file.txt", {"my file.txt"}),
        ("rm 'my file.txt'", {"my file.txt"}),
        ("rm $'a\\x2etxt'", {"a.txt"}),
        ("f=a.txt; rm $f", {"a.txt"}),
        ("files='a.txt b.txt'; rm $files", {"a.txt", "b.txt"}),
        (
            'for f in *.txt; do mv "$f" "$f.old"; done',
            {f"{n}{e}" for n in ("a.txt", "b.txt", "my file.txt") for e in ("", ".old")},
        ),
        ("rm $UNKNOWN a.txt", {"a.txt"}),
        ("rm -rf $UNKNOWN/ $UNKNOWN/*; make", set()),
        ("echo x > $UNKNOWN/e.py; cd src", set()),
        ("rm src/$UNKNOWN/e.py", {"src/deep/e.py"}),
        ('for d in */; do rm -rf "$d"; done', {"src/d.py", "src/deep/e.py", "src/f.md", "home/h.txt"}),
        ("clean() { rm -rf $1; }; clean src", {"src/d.py", "src/deep/e.py", "src/f.md"}),
        ("t=$(mktemp -d); rm -rf $t", set()),
        ("echo 'rm a.txt' | sh", {"a.txt"}),
        ("ssh host 'rm a.txt' > log", {"log"}),
        ("sudo -u me env A=1 nice -n 5 rm a.txt", {"a.txt"}),
        ("if true; then rm a.txt; else rm b.txt; fi", {"a.txt", "b.txt"}),
        ("bash -c 'cd src && rm d.py'; rm a.txt", {"src/d.py", "a.txt"}),
        ("bash <<'EOF'\nrm a.txt\nEOF", {"a.txt"}),
        ("eval 'rm a.txt'", {"a.txt"}),
        ("echo $(rm a.txt) `rm b.txt`", {"a.txt", "b.txt"}),
        ("cat > new.txt <<EOF\nrm a.txt\nEOF\nrm b.txt", {"new.txt", "b.txt"}),
        ("echo x | tee >(cat > out)", {"out"}),
        ("echo 'rm a.txt' # rm b.txt\nmake", set()),
        ("echo 1 > /proc/sys/x; echo > /dev/sda", set()),
        ("python3 - <<'EOF' > out\nopen('a.txt', 'w')\nEOF", {"out"}),
    ],
)
def test_the_shells_language(place: Path, command: str, paths: set[str]):
    assert named(command, place) == paths


def test_links_are_followed_where_the_command_follows_them(place: Path):
    (place / "link").symlink_to("a.txt")
    (place / "folder").symlink_to("src")
    assert named("echo x > link", place) == {"a.txt"}
    assert named("rm link", place) == {"link"}
    assert named("sed -i s/x/y/ link", place) == {"link", "a.txt"}
    assert named("rm folder/d.py", place) == {"src/d.py"}
    assert named("rm -rf folder", place) == {"folder"}


def test_a_directory_with_too_many_files_is_told_as_such(place: Path):
    found = foreseen("rm -rf src", place, max_paths=2)
    assert len(found.paths) == 2
    assert found.unlisted == (place / "src",)


def test_generated_directories_are_told_without_their_files(place: Path):
    (place / "node_modules").mkdir()
    (place / "node_modules" / "x.js").touch()
    found = foreseen("rm -rf node_modules", place)
    assert found.paths == ()
    assert found.unlisted == (place / "node_modules",)


def test_a_long_document_does_not_hide_what_follows(place: Path):
    body = "let it = $be `long`\n" * 5_000
    assert named(f"cat > new.txt <<'EOF'\n{body}EOF\nrm a.txt", place) == {"new.txt", "a.txt"}


_PIECES = [
    *"\"'$()`\\\n<>|&;{}#~*?[]!=,. ",
    *(
        "<<EOF\n",
        "EOF\n",
        "<<",
        "$(",
        "${",
        "$((",
        "case ",
        "for x in ",
        "rm ",
        "cd ",
        "a.txt",
        "src",
        "\0",
        "\udc80",
    ),
    *("\ud800", "é", "sed -i ", "find . ", "-delete ", "xargs ", "bash -c ", "eval ", "x=", "$x", "$'\\u", "-", "--"),
    *(
        "mv ",
        "cp -t ",
        "git ",
        "../" * 50,
        "{1..99999}",
        "env ",
        "timeout ",
        "a" * 300,
        "ls ",
        "\r",
        "for (( ",
        "/",
        "~/",
    ),
]


@pytest.mark.parametrize("seed", range(4))
def test_no_text_whatsoever_breaks_the_reading(place: Path, seed: int):
    chance = random.Random(seed)
    for _ in range(300):
        text = "".join(chance.choices(_PIECES, k=chance.randrange(1, 30)))
        found = foreseen(text, place, max_paths=50)
        assert all(path.is_absolute() for path in found.paths)
        assert not (found.is_read_only and found.paths)


@pytest.mark.parametrize(
    "unit", ["$(", "`", '"$(', "((", "a=$a$a;", "<<x ", "bash -c '", "{a,b}", "${", "rm * ", "for v in {1..200}; do "]
)
def test_the_effort_has_an_end(place: Path, unit: str):
    foreseen(unit * (100_000 // len(unit)), place)
