"""A place that lies: whatever it tells of its files, nothing changes here but through the gate."""

import contextlib
import gzip
import io
import re
import tarfile
import zlib

import pytest

from agent_core.cancel import CancelToken
from agent_core.remote.remote_dir import Unzipped, contents
from agent_core.remote.select import digest_of
from tests.support.each import each
from tests.support.far_copies import CopyBench
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules
from tools.environments.gated_ports import GatedFileSystem
from tools.environments.local_files import LocalFileSystem
from tools.errors import CommandError

EVIL = b"evil\n"


class Liar:
    """Answers what is asked of a copy.

    Attributes:
        files: what it says that it has.
        members: the archive that it gives; None for one of `files`.
    """

    def __init__(self, bench: CopyBench) -> None:
        self._folder = bench.folder
        self.files: dict[str, bytes] = {}
        self.links: list[str] = []
        self.members: list[tarfile.TarInfo] | None = None
        bench.twist = self._answer

    def _answer(self, script: str) -> str:
        found = re.search(r"echo (\w+) found\n(.)", script)
        if found is None:
            return script
        told = self._archive() if found[2] == "x" else self._told(found[1])
        (self._folder / "told").write_bytes(told)
        return f"echo {found[1]} found; cat {self._folder}/told"

    def _told(self, token: str) -> bytes:
        names = b"".join(f"./{name}\0".encode() for name in self.files)
        links = b"".join(f"./{name}\0/etc/passwd\0".encode() for name in self.links)
        lines = b"".join(f"{digest_of(data)}  ./{name}\n".encode() for name, data in self.files.items())
        part = f"\0{token}\0".encode()
        return gzip.compress(part.join((names, b"", links, b"", lines, b"end")))

    def _archive(self) -> bytes:
        held = io.BytesIO()
        with tarfile.open(fileobj=held, mode="w:gz") as archive:
            for member in self.members if self.members is not None else map(member_of, self.files):
                data = self.files.get(member.name.removeprefix("./"), EVIL) if member.isreg() else b""
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        return held.getvalue()


def member_of(name, kind=tarfile.REGTYPE, target=""):
    member = tarfile.TarInfo(f"./{name}" if not name.startswith(("/", "..")) else name)
    member.type, member.linkname = kind, target
    return member


@pytest.fixture
def bench(tmp_path):
    bench = CopyBench(tmp_path)
    bench.write(f="1\n")
    bench.renew()
    return bench


@pytest.fixture
def liar(bench):
    liar = Liar(bench)
    liar.files = {"f": b"1\n"}
    return liar


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "told"}


def gated(bench, *, mode="default"):
    rules = Rules((bench.here,))
    return GatedFileSystem(LocalFileSystem(), Gate(Approvals(rules, mode), "1", CancelToken(), lambda _: None))


@each(
    "name",
    ["../x", "../../x", "a/../../x", "/etc/x", "//x", "./x", ".git/hooks/post-commit", ".GIT/config", "a/.git/config",
     ".git./hooks/x", ".hermes-acp-copy", "a/", "a//b"],
)  # fmt: skip
def test_a_name_that_leads_out_or_into_git_s_own_is_none(name, tmp_path_factory):
    bench = CopyBench(tmp_path_factory.mktemp("copy"))
    bench.renew()
    liar = Liar(bench)
    liar.files = {name: EVIL}
    assert bench.changes() == {}


def test_headers_that_announce_each_other_without_end_are_no_archive(bench, liar):
    liar.files = {"f": b"2\n"}
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 2
    liar._archive = lambda: gzip.compress((header.tobuf(tarfile.GNU_FORMAT) + b"a".ljust(512, b"\0")) * 3_000)
    with pytest.raises(CommandError, match="no archive as expected"):
        bench.changes()


def test_only_files_that_were_asked_for_are_taken_out_of_an_archive(bench, liar):
    before = everything(bench.folder / "here")
    liar.files = {"f": b"1\n", "new": EVIL, "link": EVIL, "hard": EVIL, "device": EVIL}
    liar.members = [
        member_of("../x"),
        member_of("/tmp/x"),
        member_of("other"),
        member_of("link", tarfile.SYMTYPE, "/etc/passwd"),
        member_of("hard", tarfile.LNKTYPE, "/etc/passwd"),
        member_of("hard", tarfile.LNKTYPE, "../../x"),
        member_of("device", tarfile.CHRTYPE),
        member_of("new"),
        member_of("new", tarfile.SYMTYPE, "/etc/passwd"),
    ]
    done = bench.back()
    assert everything(bench.folder / "here") == {**before, bench.here / "new": EVIL}
    assert sorted(word.split()[0] for word in done.words) == ["device", "hard", "link"]


def test_a_content_that_is_not_what_was_told_is_not_taken(bench, liar):
    liar.files = {"f": b"told\n"}
    liar.members = [member_of("f")]
    told = liar._told

    def other(token):
        answer = told(token)
        liar.files = {"f": b"given\n"}
        return answer

    liar._told = other
    done = bench.back()
    assert (bench.here / "f").read_text() == "1\n"
    assert "changes all the time" in done.words[0]


def test_nothing_is_written_through_a_link_of_this_machine(bench, liar, tmp_path):
    (tmp_path / "outside").mkdir()
    (bench.here / "folder").symlink_to(tmp_path / "outside")
    (bench.here / "dangling").symlink_to(tmp_path / "outside" / "made")
    (bench.here / "f").unlink()
    (bench.here / "f").symlink_to(tmp_path / "outside" / "f")
    (tmp_path / "outside" / "f").write_text("1\n")
    liar.files = {"f": EVIL, "folder/x": EVIL, "dangling": EVIL, "f/x": EVIL}
    done = bench.back()
    assert {path.name: path.read_text() for path in (tmp_path / "outside").iterdir()} == {"f": "1\n"}
    assert done.brought == []
    bench.copy.settle("folder/x", None)
    assert "is behind a link here" in bench.back(gated(bench, mode="dont_ask")).words[0]
    assert not (tmp_path / "outside" / "x").exists()


def test_a_file_that_became_a_link_there_is_told_and_not_removed_here(bench, liar):
    liar.files, liar.links = {}, ["f"]
    done = bench.back()
    assert "links, or no files: f" in done.words[0]
    assert (bench.here / "f").read_text() == "1\n"


def test_that_all_files_are_gone_there_is_asked_about(bench, liar):
    liar.files = {}
    done = bench.back(gated(bench))
    assert (bench.here / "f").read_text() == "1\n"
    assert "was refused" in done.words[0]
    assert [change.name for change in done.kept] == ["f"]


def test_that_hardly_a_file_is_left_there_removes_nothing_here(bench, liar):
    for number in range(30):
        (bench.here / f"{number}.txt").write_text("x")
    bench.twist = str
    bench.renew()
    bench.twist = liar._answer
    liar.files = {}
    done = bench.back()
    assert len(list(bench.here.iterdir())) == 31
    assert "is one of 31 files that were removed there" in done.words[0]
    assert bench.changes() == {}


@each("name", [".hermes/config.yaml", ".vscode/tasks.json", ".envrc", ".github/workflows/x.yml", ".env", "id_rsa"])
def test_what_others_run_later_is_asked_about_also_where_edits_are_not(name, tmp_path_factory):
    bench = CopyBench(tmp_path_factory.mktemp("copy"))
    bench.renew()
    liar = Liar(bench)
    liar.files = {name: EVIL, "plain": b"x"}
    done = bench.back(gated(bench, mode="accept_edits"))
    assert done.brought == ["plain"]
    assert not (bench.here / name).exists()


@each(
    "stream",
    [b"", b"no gzip at all", gzip.compress(b"x" * 100)[:-20], zlib.compress(b"x"), gzip.compress(b"not told")],
)
def test_a_stream_that_is_not_whole_changes_nothing(stream, tmp_path_factory):
    bench = CopyBench(tmp_path_factory.mktemp("copy"))
    bench.write(f="1\n")
    bench.renew()
    liar = Liar(bench)
    liar._told = lambda _: stream
    with pytest.raises(CommandError):
        bench.changes()


def test_a_bomb_is_not_unpacked():
    with pytest.raises(CommandError, match="More than 1 MB"):
        Unzipped(io.BytesIO(gzip.compress(bytes(8 * 1024 * 1024))), 1024 * 1024).read(8 * 1024 * 1024)


def test_one_file_takes_no_more_room_than_it_may():
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, size in (("large", 2_000_000), ("small", 10)):
            member = member_of(name)
            member.size = size
            archive.addfile(member, io.BytesIO(bytes(size)))
    held.seek(0)
    wanted = {"large": digest_of(bytes(2_000_000)), "small": digest_of(bytes(10))}
    assert set(contents(held, wanted, 10_000_000, 1_000_000)) == {"small"}


@each("archive", [b"", b"no archive", bytes(512) * 3, b"\xff" * 2048])
def test_what_is_no_archive_gives_nothing(archive):
    found = None
    with contextlib.suppress(CommandError):
        found = contents(io.BytesIO(gzip.compress(archive)), {"f": digest_of(EVIL)}, 1_000_000, 1_000_000)
    assert not found
