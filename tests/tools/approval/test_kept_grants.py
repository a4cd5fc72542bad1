"""What is allowed for good: readable, revocable, shared by processes, and never wider than what was said."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.folded_case import fold_case
from tests.support.mcp_actions import mcp_call
from tools.approval.actions import (
    CallOwnTool,
    ConnectHost,
    ReachHost,
    ReadPath,
    ReadSecretFiles,
    RunCommand,
    SearchWeb,
    WritePath,
)
from tools.approval.grants import Grants, KeptGrants
from tools.approval.permissions_file import HEADER, KeptGrantsError
from tools.approval.scopes import OfServer, PublicWeb, SameThing, lasting, reaches


@pytest.fixture
def root(tmp_path):
    (tmp_path / "project/src").mkdir(parents=True)
    return (tmp_path / "project").resolve()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "home/permissions.yaml"


def _kept(action, roots, *, is_risky=False):
    reached = reaches(action, roots, is_risky=is_risky)
    return lasting(action, reached, is_risky=is_risky)


def _edit(path):
    return WritePath(path, b"a", b"b", shown=path)


def _actions(root):
    return {
        "run": RunCommand("grep -c x a | wc -l", root),
        "run like": RunCommand("make test", root),
        "run outside": RunCommand("make test", root, outside=True),
        "read below": ReadPath(Path("/usr/lib/python3/json/a.py")),
        "read": ReadPath(Path("/usr/notes.txt")),
        "secret files": ReadSecretFiles(root, (root / ".env",)),
        "edit below": _edit(root / "src/a.py"),
        "edit": _edit(Path("/usr/notes.txt")),
        "mcp": mcp_call("files", "write", "{}"),
        "tool": CallOwnTool("deploy"),
        "host": ReachHost("https://example.com/x", "example.com"),
        "connect": ConnectHost("example.com", 8443),
        "search": SearchWeb("brave", "x"),
    }


KINDS = tuple(_actions(Path("/x")))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_counts_in_the_next_session_of_the_same_directory(kind, root, file, tmp_path):
    action = _actions(root)[kind]
    [grant] = _kept(action, (root,))
    assert Grants(KeptGrants(file), (root,)).allow(grant, always=True) == ""

    later = KeptGrants(file)
    [one] = later.all()
    assert one.record.kind == kind
    assert Grants(later, (root,)).allows(action)
    assert not Grants(later, (tmp_path.resolve() / "elsewhere",)).allows(action)
    assert later.problem == ""


def test_what_is_kept_for_a_directory_counts_under_its_other_spellings(root, file, monkeypatch):
    search = SearchWeb("brave", "words")
    [grant] = _kept(search, (root,))
    assert Grants(KeptGrants(file), (root,)).allow(grant, always=True) == ""
    other = root.with_name("PROJECT")
    assert Grants(KeptGrants(file), (root,)).allows(search)
    assert not Grants(KeptGrants(file), (other,)).allows(search)
    fold_case(monkeypatch, root)
    assert Grants(KeptGrants(file), (other,)).allows(search)


def test_the_file_is_for_people_and_for_the_user_alone(root, file):
    KeptGrants(file).add(SameThing("run", (str(root), "make test\n# now")), root)
    text = file.read_text()
    assert text.startswith(HEADER)
    assert "- kind: run\n" in text
    assert f"  where: {root}\n" in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KeptGrants(file).all()[0].grant == SameThing("run", (str(root), "make test\n# now"))


def test_a_yes_is_kept_once(root, file):
    kept = KeptGrants(file)
    for _ in range(2):
        kept.add(SameThing("own", ("deploy",)), root)
    assert len(kept.all()) == 1


def test_what_is_wide_or_dangerous_is_not_offered(root):
    assert _kept(ReadPath(root / ".env"), (root,), is_risky=True) == ()
    assert _kept(_edit(root / ".env"), (root,), is_risky=True) == ()
    assert _kept(WritePath(root / "a", b"a", None, root / "a"), (root,)) == ()
    assert _kept(ReachHost("http://router/", "router", "a private address"), (root,), is_risky=True) == ()
    push = RunCommand("git push origin main", root)
    assert _kept(push, (root,), is_risky=True) == (SameThing("run", (str(root), push.command)),)


@pytest.mark.parametrize(
    "grant", [OfServer("files"), PublicWeb(), SameThing("delete", ("/a",)), SameThing("fetch", ("router", "private"))]
)
def test_what_is_never_kept_cannot_be_written(grant, root, file):
    with pytest.raises(KeptGrantsError, match="not kept"):
        KeptGrants(file).add(grant, root)
    assert "this session only" in Grants(KeptGrants(file), (root,)).allow(grant, always=True)
    assert not file.exists()


def test_a_grant_that_was_taken_back_counts_no_more_and_the_rest_stays_as_it_was_written(root, file):
    kept = KeptGrants(file)
    for name in ("one", "two", "three"):
        kept.add(SameThing("own", (name,)), root)
    with file.open("a") as stream:
        stream.write("# mine\n")
    before = file.read_text()
    kept.remove(kept.all()[1].record)

    assert [one.record.what for one in kept.all()] == ["one", "three"]
    lines = before.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if "what: two" in line) - 1
    assert file.read_text() == "".join(lines[:start] + lines[start + 4 :])
    with pytest.raises(KeptGrantsError, match="not hold that entry"):
        kept.remove(KeptGrants(file).all()[0].record.__class__("tool", "two", str(root)))


def test_another_session_sees_at_once_what_was_added_and_taken_back(root, file):
    one, other = KeptGrants(file), KeptGrants(file)
    assert other.all() == ()
    one.add(SameThing("own", ("deploy",)), root)
    assert len(other.all()) == 1
    one.remove(one.all()[0].record)
    assert other.all() == ()


_ADD_MANY = """
import sys
from pathlib import Path
from tools.approval.grants import KeptGrants
from tools.approval.scopes import SameThing
file, root, name = sys.argv[1:]
kept = KeptGrants(Path(file))
for number in range(5):
    kept.add(SameThing("own", (f"{name}-{number}",)), Path(root))
"""


def test_processes_that_write_at_once_lose_nothing(root, file):
    words = [sys.executable, "-c", _ADD_MANY, str(file), str(root)]
    writers = [subprocess.Popen([*words, name], cwd=Path(__file__).parents[3]) for name in "ab"]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    assert len(KeptGrants(file).all()) == 10


GOOD = "- kind: tool\n  what: deploy\n  where: {root}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- kind: tool\n  what: [", "not valid YAML"),
        ("grants: {}\n", "must hold a list"),
        ("just words", "must hold a list"),
        (b"\xff\xfe", "not valid YAML"),
    ],
)
def test_a_file_that_cannot_be_understood_allows_nothing_and_stays_as_it_is(text, said, root, file):
    file.parent.mkdir()
    data = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(data)
    file.chmod(0o600)
    kept = KeptGrants(file)

    assert kept.all() == ()
    assert said in kept.problem
    grants = Grants(kept, (root,))
    assert "this session only" in grants.allow(SameThing("own", ("deploy",)), always=True)
    assert grants.allows(CallOwnTool("deploy"))
    assert file.read_bytes() == data


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    "damaged",
    [
        b"- kind: tool\n  what: depl\xefy\n  where: /a\n",
        b"- kind: tool\n  what: 'deploy\n  where: /a\n",
        b"- kind: tool\n  what\x1a deploy\n  where: /a\n",
        b"- kind: run\n  what: [x\n  where: /a\n",
        b"- \x0bkind: tool\n  what: deploy\n  where: /a\n",
    ],
)
def test_a_damaged_entry_is_named_and_allows_nothing_and_the_others_count(damaged, place, root, file):
    file.parent.mkdir()
    good = [f"- kind: tool\n  what: {name}\n  where: {root}\n".encode() for name in ("build", "test")]
    data = b"# mine\n" + b"".join([*good[:place], damaged, *good[place:]])
    file.write_bytes(data)
    file.chmod(0o600)
    kept = KeptGrants(file)
    assert [one.record.what for one in kept.all()] == ["build", "test"]
    assert f"1 entry is damaged (line {2 + 3 * place})" in kept.problem
    grants = Grants(kept, (root,))
    assert grants.allows(CallOwnTool("build"))
    assert not grants.allows(CallOwnTool("deploy"))
    assert "this session only" in grants.allow(SameThing("own", ("other",)), always=True)
    assert file.read_bytes() == data


@pytest.mark.parametrize(
    "entry",
    [
        "- kind: everything\n  what: x\n  where: /a\n",
        "- kind: tool\n  what: x\n",
        "- kind: tool\n  what: x\n  where: relative\n",
        "- kind: tool\n  what: x\n  where: /a\n  until: tomorrow\n",
        "- kind: tool\n  what: 5\n  where: /a\n",
        "- kind: tool\n  what: ''\n  where: /a\n",
        "- kind: mcp\n  what: x\n  where: /a\n",
        "- x\n",
    ],
)
def test_an_entry_that_is_not_understood_is_told_and_kept(entry, root, file):
    file.parent.mkdir()
    file.write_text(entry + GOOD.format(root=root))
    file.chmod(0o600)
    kept = KeptGrants(file)
    assert [one.record.what for one in kept.all()] == ["deploy"]
    assert "1 entry is not understood" in kept.problem

    kept.add(SameThing("own", ("other",)), root)
    kept.remove(kept.all()[0].record)

    assert file.read_text().startswith(entry)
    assert [one.record.what for one in kept.all()] == ["other"]


def test_first_words_count_only_while_they_would_be_offered(root, file):
    file.parent.mkdir()
    entries = [
        f"- kind: run like\n  what: {what}\n  where: {root}\n"
        for what in ("rm", "sudo make", "make", "bash -c", "numactl", "git push")
    ]
    file.write_text("".join(entries))
    file.chmod(0o600)
    grants = Grants(KeptGrants(file), (root,))
    assert not any(
        grants.allows(RunCommand(command, root))
        for command in (
            "rm x",
            "sudo make install",
            "bash -c x",
            "make x && rm y",
            "make x > /etc/passwd",
            "numactl --all ./upload.sh",
            "git push origin main",
        )
    )
    assert [one.note for one in grants.listed() if "would not be offered" in one.note]


def test_a_file_that_others_may_write_allows_nothing(root, file):
    KeptGrants(file).add(SameThing("own", ("deploy",)), root)
    file.chmod(0o666)
    kept = KeptGrants(file)
    assert kept.all() == ()
    assert "chmod 600" in kept.problem
    with pytest.raises(KeptGrantsError, match="other users"):
        kept.add(SameThing("own", ("other",)), root)
    file.chmod(0o600)
    assert len(kept.all()) == 1


def test_what_is_in_the_files_place_makes_nobody_wait(root, file):
    file.parent.mkdir()
    os.mkfifo(file)
    kept = KeptGrants(file)
    assert kept.all() == ()
    assert "not a regular file" in kept.problem
    with pytest.raises(KeptGrantsError):
        kept.add(SameThing("own", ("deploy",)), root)


def test_a_link_to_the_file_stays_a_link(root, file, tmp_path):
    file.parent.mkdir()
    real = tmp_path / "dotfiles.yaml"
    file.symlink_to(real)
    KeptGrants(file).add(SameThing("own", ("deploy",)), root)
    assert file.is_symlink()
    assert len(KeptGrants(real).all()) == 1


def test_a_file_that_cannot_be_cut_in_lines_is_left_to_its_writer(root, file):
    file.parent.mkdir()
    one, two = (f"{{kind: tool, what: {name}, where: {root}}}" for name in ("deploy", "test"))
    text = f"[{one}, {two}]\n"
    file.write_text(text)
    file.chmod(0o600)
    kept = KeptGrants(file)
    assert len(kept.all()) == 2
    for change in (lambda: kept.remove(kept.all()[0].record), lambda: kept.add(SameThing("own", ("b",)), root)):
        with pytest.raises(KeptGrantsError, match=r"by hand|not valid YAML"):
            change()
    assert file.read_text() == text


def test_nothing_is_kept_where_there_is_no_file(root):
    grants = Grants()
    assert not grants.keeps
    assert "this session only" in grants.allow(SameThing("own", ("deploy",)), always=True)
    assert grants.allows(CallOwnTool("deploy"))


def test_a_no_to_secret_files_is_kept_and_a_yes_is_none(root, file):
    action = ReadSecretFiles(root, (root / ".env",))
    grants = Grants(KeptGrants(file), (root,))
    assert grants.refuse(action, always=True) == ""
    later = Grants(KeptGrants(file), (root,))
    assert later.refuses(action)
    assert not later.allows(action)
    assert not Grants(KeptGrants(file), (root / "elsewhere",)).refuses(action)
    [listed] = later.listed()
    assert not listed.allowed
    later.revoke(listed)
    assert not later.refuses(action)


@pytest.mark.parametrize(
    "action", [ReadPath(Path("/etc/x")), RunCommand("make", Path("/srv")), CallOwnTool("deploy")]
)
def test_a_no_to_anything_else_ends_with_the_session(action, root, file):
    grants = Grants(KeptGrants(file), (root,))
    assert "this session only" in grants.refuse(action, always=True)
    assert grants.refuses(action)
    assert not Grants(KeptGrants(file), (root,)).refuses(action)


def test_the_same_yes_is_kept_for_each_directory_that_it_was_given_in(root, file, tmp_path):
    """It was kept for the first one alone, so that the second asked again in each session."""
    other = tmp_path.resolve() / "other"
    grant = SameThing("own", ("deploy",))
    kept = KeptGrants(file)
    for place in (root, other, root):
        kept.add(grant, place)
    assert [one.record.where for one in kept.all()] == [str(root), str(other)]
