"""What a command has changed, found by looking before and after it. The commands are real."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import outlast_the_clock
from tools.changes.facts import ContentCache
from tools.changes.observation import UNKNOWN_HASH, FileDifference, Observation, ObservationLimits
from tools.ports import CommandSpec

# Slow machines must not make a test fail: only the tests about time bound it.
PATIENT = ObservationLimits(max_seconds=60)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    (place / "src" / "deep").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "src/c.py", "src/deep/d.py"):
        (place / name).write_text(f"content of {name}\n")
    (place / "run.sh").write_text("echo\n")
    return place


def look(place: Path, command: str, limits: ObservationLimits = PATIENT, **more: object) -> Observation:
    roots = (place,)
    return Observation(CommandSpec(command, place, 10), roots, limits, **more)  # type: ignore[arg-type]


def run(place: Path, command: str, limits: ObservationLimits = PATIENT, **more: object) -> dict[str, FileDifference]:
    """What a command changed, by the path from `place`."""
    seen = look(place, command, limits, **more)
    subprocess.run(["bash", "-c", command], cwd=place, check=False, capture_output=True, timeout=30)
    return {os.path.relpath(one.path, place): one for one in seen.differences()}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hidden(command: str) -> str:
    """The command, done in a way that its text does not tell."""
    return f"python3 -c 'import os,shutil; {command}'"


def test_a_foreseen_file_is_held_before_and_told_after(place: Path):
    (place / "a.txt").chmod(0o640)
    seen = look(place, "echo new > a.txt; rm b.txt; echo x > fresh.txt; ls src/c.py")
    held = {file.path.name: (file.content, file.mode, file.lost) for file in seen.foreseen}
    assert held == {
        "a.txt": (b"content of a.txt\n", 0o640, ""),
        "b.txt": (b"content of b.txt\n", (place / "b.txt").stat().st_mode & 0o7777, ""),
        "fresh.txt": (None, None, ""),
    }


def test_changes_that_nobody_could_foresee_are_found_with_their_content(place: Path):
    (place / "b.txt").chmod(0o600)
    found = run(
        place,
        hidden(
            'open("a.txt","w").write("new"); os.remove("b.txt"); os.rename("src/c.py","src/moved.py"); '
            'os.mkdir("new"); open("new/f","w").write("f"); os.chmod("run.sh",0o755)'
        ),
    )
    assert {name: (one.before.content, one.before.lost) for name, one in found.items()} == {
        "a.txt": (b"content of a.txt\n", ""),
        "b.txt": (b"content of b.txt\n", ""),
        "src/c.py": (b"content of src/c.py\n", ""),
        "src/moved.py": (None, ""),
        "new/f": (None, ""),
        "run.sh": (b"echo\n", ""),
    }
    assert found["a.txt"].after_hash == digest(place / "a.txt")
    assert found["b.txt"].after_hash is None
    assert (found["b.txt"].before.mode, found["b.txt"].after_mode) == (0o600, None)
    assert found["src/moved.py"].before.mode is None
    assert found["run.sh"].after_hash == digest(place / "run.sh")
    assert found["run.sh"].after_mode == 0o755
    assert list(found) == sorted(found)


def test_what_is_as_it_was_is_no_difference(place: Path):
    changed = run(place, "touch a.txt; cp b.txt t; cat t > b.txt; rm t; echo x > new; rm new")
    assert changed == {}


def test_a_file_that_changes_twice_within_a_tick_of_the_clock_is_not_missed(place: Path):
    file = place / "a.txt"
    for turn in range(20):
        file.write_bytes(b"%04d" % turn)
        seen = look(place, "make")
        descriptor = os.open(file, os.O_WRONLY)
        os.write(descriptor, b"%04d" % (turn + 1))
        os.close(descriptor)
        found = seen.differences()
        assert [(one.path, one.before.content) for one in found] == [(file, b"%04d" % turn)]


def test_reading_commands_cost_no_look(place: Path):
    seen = look(place, "cat a.txt | grep -n x; git status")
    (place / "a.txt").write_text("changed by someone else")
    assert seen.is_read_only
    assert (seen.foreseen, seen.differences(), seen.incomplete) == ((), (), "")


def test_files_outside_of_the_roots_are_seen_where_the_command_names_them(place: Path, tmp_path: Path):
    (tmp_path / "outside").write_text("old")
    (tmp_path / "unnamed").write_text("old")
    found = run(place, "echo new > ../outside; " + hidden('open("../unnamed","w").write("new")'))
    assert list(found) == ["../outside"]
    assert found["../outside"].before.content == b"old"


def test_links_are_kept_as_links(place: Path):
    (place / "link").symlink_to("a.txt")
    found = run(place, hidden('os.remove("link"); os.symlink("b.txt","link"); os.symlink("x","dangling")'))
    assert found["link"].before.content == b"a.txt"
    assert found["link"].before.mode == stat.S_IFLNK | 0o777
    assert found["link"].after_hash == hashlib.sha256(b"b.txt").hexdigest()
    assert found["dangling"].before.mode is None
    assert set(found) == {"link", "dangling"}


def test_a_link_that_becomes_a_file_is_a_difference(place: Path):
    (place / "link").symlink_to("a.txt")
    found = run(place, "sed -i s/content/x/ link")
    assert set(found) == {"link"}
    assert found["link"].after_mode == (place / "link").lstat().st_mode & 0o7777


def test_a_file_in_place_of_which_a_directory_stands(place: Path):
    found = run(place, "rm a.txt && mkdir a.txt && echo x > a.txt/inner")
    assert found["a.txt"].before.content == b"content of a.txt\n"
    assert found["a.txt"].after_hash == UNKNOWN_HASH
    assert found["a.txt/inner"].before.mode is None


def test_large_files_are_told_as_lost_unless_the_command_names_them(place: Path):
    limits = ObservationLimits(max_seconds=60, max_held_file=1_000, max_file_bytes=3_000)
    for name in ("one", "two", "three"):
        (place / name).write_bytes(name.encode() * 400)
    (place / "four").write_bytes(b"4" * 5_000)
    found = run(place, "echo x > one; " + hidden('open("two","w")') + "; rm four; chmod 600 three", limits)
    assert found["one"].before.content == b"one" * 400
    assert found["two"].before.content is None
    assert "larger than" in found["two"].before.lost
    assert "larger than" in found["four"].before.lost
    assert found["three"].before.content == b"three" * 400


def test_a_large_file_whose_mode_alone_changes_is_not_lost(place: Path):
    limits = ObservationLimits(max_seconds=60, max_held_file=1_000)
    (place / "big").write_bytes(b"b" * 5_000)
    found = run(place, hidden('os.chmod("big",0o700)'), limits)
    assert (found["big"].before.content, found["big"].after_mode) == (b"b" * 5_000, 0o700)


def test_large_files_that_are_left_alone_are_no_difference(place: Path):
    limits = ObservationLimits(max_seconds=60, max_held_file=1_000, max_file_bytes=3_000)
    (place / "big").write_bytes(b"b" * 5_000)
    assert run(place, "true || rm big", limits) == {}


def test_the_nearest_files_are_held_first_and_the_rest_is_told(place: Path):
    limits = ObservationLimits(max_seconds=60, max_held_bytes=60)
    assert "Not every content was kept" in look(place, "make", limits).incomplete
    found = run(place, hidden('[open(f,"w") for f in ("a.txt","src/deep/d.py")]'), limits)
    assert found["a.txt"].before.content == b"content of a.txt\n"
    assert found["src/deep/d.py"].before.content is None
    assert "together" in found["src/deep/d.py"].before.lost


def test_beyond_the_number_of_files_only_what_surely_changed_is_told(place: Path):
    for number in range(30):
        (place / "src" / "deep" / f"{number}").write_text("old")
    outlast_the_clock(place)
    limits = ObservationLimits(max_seconds=60, max_files=6)
    seen = look(place, "make", limits)
    changed = [place / "src" / "deep" / str(number) for number in range(0, 30, 2)]
    for file in (place / "a.txt", place / "top", *changed):
        file.write_text("new")
    found = {one.path: one.before for one in seen.differences()}
    assert "more than 6 files" in seen.incomplete
    assert found.pop(place / "a.txt").content == b"content of a.txt\n"
    assert (found[place / "top"].mode, found.pop(place / "top").lost) == (None, "")
    assert found.keys() <= set(changed)
    unseen = [before for before in found.values() if before.content is None]
    assert unseen
    assert all("not seen" in before.lost for before in unseen)


def test_without_time_the_command_still_gets_its_foreseen_files(place: Path):
    seen = look(place, "rm a.txt", ObservationLimits(max_seconds=0))
    (place / "a.txt").unlink()
    assert [(one.path.name, one.before.content) for one in seen.differences()] == [("a.txt", b"content of a.txt\n")]
    assert "longer than 0 s" in seen.incomplete


def test_generated_directories_are_not_looked_into_but_their_end_is_told(place: Path):
    for name in (".git", "node_modules", "target"):
        (place / name).mkdir()
        (place / name / "f").write_text("x")
    (place / "target" / "CACHEDIR.TAG").touch()
    everything = hidden('[shutil.rmtree(f) for f in (".git","node_modules","target")]')
    found = run(place, everything)
    assert set(found) == {".git", "node_modules", "target"}
    (place / "node_modules").mkdir()
    found |= run(place, "rm -rf node_modules")
    assert all("directory" in each.before.lost for each in found.values())


def test_directories_called_build_are_looked_into(place: Path):
    (place / "build").mkdir()
    (place / "build" / "config.js").write_text("mine")
    assert run(place, hidden('os.remove("build/config.js")'))["build/config.js"].before.content == b"mine"


def test_skipped_directories_are_not_seen_even_if_named(place: Path):
    (place / "home").mkdir()
    found = run(place, "echo x > home/db; echo x > seen", skipped=(place / "home",))
    assert set(found) == {"seen"}


def test_odd_things_in_the_tree_do_no_harm(place: Path):
    os.mkfifo(place / "pipe")
    (place / "loop").symlink_to("loop")
    (place / "src" / "up").symlink_to("..")
    Path(os.fsdecode(bytes(place) + b"/bad\xff")).write_text("old")
    deep = place
    for _ in range(60):
        deep /= "d" * 20
    deep.mkdir(parents=True)
    (deep / "f").write_text("deep")
    closed = place / "closed"
    closed.mkdir()
    (closed / "f").touch()
    closed.chmod(0)
    found = run(place, "rm -rf loop pipe; echo new > $'bad\\xff'; cat /dev/null > closed/f; find . -name f -delete")
    closed.chmod(0o700)
    by_name = {name.split("/")[-1]: one for name, one in found.items()}
    assert by_name["bad\udcff"].before.content == b"old"
    assert by_name["loop"].before.content == b"loop"
    assert any(one.before.content == b"deep" for one in found.values())


def test_roots_that_are_missing_or_within_each_other_are_fine(place: Path):
    spec = CommandSpec("make", place, 10)
    seen = Observation(spec, (place / "src", place, place / "nowhere"), PATIENT)
    (place / "src" / "c.py").write_text("new")
    (place / "src" / "new").touch()
    assert [one.path.name for one in seen.differences()] == ["c.py", "new"]


def test_contents_come_from_the_cache_and_changed_ones_do_not(place: Path):
    outlast_the_clock(place)
    cache = ContentCache()
    look(place, "make", cache=cache)
    assert cache.size == sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    (place / "a.txt").write_text("changed in between")
    outlast_the_clock(place)
    before = (place / "b.txt").stat()
    found = run(place, hidden('[open(f,"w") for f in ("a.txt","b.txt")]'), cache=cache)
    assert found["a.txt"].before.content == b"changed in between"
    assert found["b.txt"].before.content == b"content of b.txt\n"
    assert before.st_size == len(b"content of b.txt\n")


def test_the_cache_keeps_its_bound(place: Path):
    outlast_the_clock(place)
    cache = ContentCache(max_bytes=40)
    look(place, "make", cache=cache)
    assert 0 < cache.size <= 40
    cache.clear()
    assert cache.size == 0


@pytest.mark.parametrize("seed", range(3))
def test_after_random_changes_the_differences_lead_back_to_what_was(tmp_path: Path, seed: int):
    chance = random.Random(seed)
    place = tmp_path / "place"
    for number in range(40):
        file = place / f"d{chance.randrange(4)}" / f"e{chance.randrange(3)}" / f"f{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(chance.randbytes(chance.randrange(200)))
    for _ in range(15):
        before = state(place)
        seen = look(place, "make")
        for _ in range(chance.randrange(1, 8)):
            change_something(place, chance)
        for one in seen.differences():
            assert not one.before.lost
            put_back(one)
        assert state(place) == before


def change_something(place: Path, chance: random.Random) -> None:
    files = sorted(path for path in place.rglob("*") if path.is_file())
    file = chance.choice(files) if files else place / "first"
    match chance.randrange(6):
        case 0:
            file.write_bytes(chance.randbytes(chance.randrange(200)))
        case 1:
            file.unlink(missing_ok=True)
        case 2:
            file.rename(file.with_name(f"moved{chance.randrange(1000)}"))
        case 3:
            file.chmod(chance.choice([0o644, 0o755, 0o600]))
        case 4:
            new = place / f"new{chance.randrange(3)}" / f"f{chance.randrange(1000)}"
            new.parent.mkdir(exist_ok=True)
            new.write_bytes(b"new")
        case _:
            shutil.rmtree(file.parent)


def put_back(one: FileDifference) -> None:
    if one.before.content is None:
        one.path.unlink()
        return
    assert one.before.mode is not None
    one.path.parent.mkdir(parents=True, exist_ok=True)
    one.path.write_bytes(one.before.content)
    one.path.chmod(one.before.mode)


def state(place: Path) -> dict[str, tuple[bytes, int]]:
    return {str(f): (f.read_bytes(), f.stat().st_mode) for f in sorted(place.rglob("*")) if f.is_file()}
