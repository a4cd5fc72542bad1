"""What an answer for the session covers: what was said, and nothing wider."""

from pathlib import Path

import pytest

from tests.support.each import each
from tests.support.mcp_actions import mcp_call
from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.grants import Grants
from tools.approval.permissions_file import KeptGrantsError
from tools.approval.policy import Rules, decide
from tools.approval.scopes import FilesBelow, OfServer, reaches

ROOT = Path("/srv/project")
OTHER_ROOT = Path("/srv/library")
ROOTS = (ROOT, OTHER_ROOT)
LIBRARIES = Path("/usr/lib/python3/json")


def _write(path, before=b"a", after=b"b"):
    return WritePath(path, before, after, shown=path)


def _scopes(action, *, is_risky=False):
    return [grant.scope for grant in reaches(action, ROOTS, is_risky=is_risky)]


def _granted(action, scope):
    grants = Grants()
    [grant] = [grant for grant in reaches(action, ROOTS, is_risky=False) if grant.scope == scope]
    grants.allow(grant)
    return grants


@each(
    ("granted", "other"),
    [
        (ReadPath(ROOT / "a"), ReadPath(ROOT / "b")),
        (ReadPath(ROOT / "a"), ReadPath(ROOT / "a/b")),
        (ReadPath(ROOT / "a"), _write(ROOT / "a")),
        (_write(ROOT / "a"), ReadPath(ROOT / "a")),
        (_write(ROOT / "a"), _write(ROOT / "b")),
        (_write(ROOT / "a"), _write(ROOT / "a", after=None)),
        (_write(ROOT / "a", after=None), _write(ROOT / "a")),
        (RunCommand("rm a", ROOT), RunCommand("rm b", ROOT)),
        (RunCommand("rm a", ROOT), RunCommand("rm a", OTHER_ROOT)),
        (RunCommand("rm a", ROOT), RunCommand("rm a ", ROOT)),
        (mcp_call("s", "t", "{}"), mcp_call("s", "u", "{}")),
        (mcp_call("s", "t", "{}"), mcp_call("s2", "t", "{}")),
        (mcp_call("s", "t", "{}"), mcp_call("S", "t", "{}")),
        (mcp_call("a", "b_c", "{}"), mcp_call("a_b", "c", "{}")),
    ],
)
def test_the_same_thing_is_nothing_else(granted, other):
    grants = _granted(granted, "session")

    assert grants.allows(granted)
    assert not grants.allows(other)


def test_a_file_that_may_be_edited_may_be_edited_again_and_made():
    grants = _granted(_write(ROOT / "a", b"1", b"2"), "session")

    assert grants.allows(_write(ROOT / "a", b"2", b"3"))
    assert grants.allows(_write(ROOT / "a", None, b"3"))


def test_a_tool_that_may_be_called_may_be_called_with_other_arguments():
    assert _granted(mcp_call("s", "t", "{}"), "session").allows(mcp_call("s", "t", '{"a": 1}'))


@each(
    ("action", "scopes"),
    [
        (_write(ROOT / "src/a"), ["session", "directory"]),
        (_write(ROOT / "src/a", before=None), ["session", "directory"]),
        (_write(ROOT / "src/a", after=None), ["session"]),
        (_write(Path("/srv/elsewhere/docs/a")), ["session"]),
        (ReadPath(LIBRARIES / "a.py"), ["session", "directory"]),
        (ReadPath(Path("/home/u/notes.txt")), ["session"]),
        (ReadPath(Path("/notes.txt")), ["session"]),
        (RunCommand("rm a", ROOT), ["session"]),
        (RunCommand("make test", ROOT), ["session", "prefix"]),
        (RunCommand("git push", ROOT), ["session"]),
        (RunCommand("numactl --all make test", ROOT), ["session"]),
        (mcp_call("s", "t", "{}"), ["session", "server"]),
    ],
)
def test_what_can_be_offered(action, scopes):
    assert _scopes(action) == scopes


def test_nothing_wide_is_offered_for_a_sensitive_file():
    assert _scopes(_write(ROOT / ".env"), is_risky=True) == ["session"]
    assert _scopes(ReadPath(LIBRARIES / "x.pem"), is_risky=True) == ["session"]


def test_a_directory_above_the_workspace_is_never_offered_for_reading():
    deep = Path("/data/u/work/project")
    assert [grant.scope for grant in reaches(ReadPath(deep.parent / "x"), (deep,), is_risky=False)] == ["session"]
    beside = reaches(ReadPath(deep.parent / "other/x"), (deep,), is_risky=False)
    assert [grant.scope for grant in beside] == ["session", "directory"]


@each(
    ("later", "covered"),
    [
        (_write(ROOT / "src/b"), True),
        (_write(ROOT / "src/deep/er/b", None, b"x"), True),
        (_write(ROOT / "src/b", after=None), False),
        (_write(ROOT / "b"), False),
        (_write(ROOT / "srcx/b"), False),
        (_write(ROOT / "src2"), False),
        (ReadPath(ROOT / "src/b"), False),
        (RunCommand("touch src/b", ROOT / "src"), False),
    ],
)
def test_edits_in_a_directory_are_those_below_it(later, covered):
    assert _granted(_write(ROOT / "src/a"), "directory").allows(later) is covered


@pytest.mark.parametrize("name", [".env", ".git/config", ".vscode/tasks.json", "key.pem"])
def test_edits_in_a_directory_are_never_those_of_sensitive_files(name):
    grants = _granted(_write(ROOT / "src/a"), "directory")
    rules = Rules(roots=ROOTS)

    assert decide(_write(ROOT / "src/b"), "default", rules, grants).verdict == "allow"
    assert decide(_write(ROOT / "src" / name), "default", rules, grants).verdict == "ask"


def test_reading_in_a_directory_covers_no_writing_and_nothing_sensitive():
    grants = _granted(ReadPath(LIBRARIES / "a.py"), "directory")
    rules = Rules(roots=ROOTS)

    assert decide(ReadPath(LIBRARIES / "deep/b.py"), "default", rules, grants).verdict == "allow"
    assert decide(ReadPath(LIBRARIES / "deep/.env"), "default", rules, grants).verdict == "ask"
    assert decide(ReadPath(LIBRARIES.parent / "b.py"), "default", rules, grants).verdict == "ask"
    assert decide(_write(LIBRARIES / "a.py"), "accept_edits", rules, grants).verdict == "ask"


@each(("server", "covered"), [("files", True), ("files2", False), ("Files", False), ("file", False), ("", False)])
def test_every_tool_of_a_server_is_of_that_one(server, covered):
    grants = _granted(mcp_call("files", "read", "{}"), "server")

    assert grants.allows(mcp_call(server, "write", "{}")) is covered


def test_the_person_reads_which_directory_and_which_server():
    [_, below] = reaches(_write(OTHER_ROOT / "src/a"), ROOTS, is_risky=False)
    [_, top] = reaches(_write(ROOT / "a"), ROOTS, is_risky=False)
    [_, far] = reaches(ReadPath(LIBRARIES / "a"), ROOTS, is_risky=False)
    assert isinstance(below, FilesBelow)
    assert [grant.shown for grant in (below, top, far)] == ["library/src/", "project/", "/usr/lib/python3/json/"]
    call = mcp_call("s", "t", "{}")
    assert reaches(call, ROOTS, is_risky=False)[1] == OfServer("s", call.offered)


def test_a_refusal_is_for_the_same_thing_only():
    grants = Grants()
    grants.refuse(_write(ROOT / "a"))

    assert grants.refuses(_write(ROOT / "a", b"2", b"3"))
    assert not grants.refuses(_write(ROOT / "b"))
    assert not grants.refuses(_write(ROOT / "a", after=None))
    assert not grants.refuses(ReadPath(ROOT / "a"))


def test_a_refusal_stands_against_a_wider_yes():
    grants = _granted(_write(ROOT / "src/a"), "directory")
    grants.refuse(_write(ROOT / "src/b"))

    assert decide(_write(ROOT / "src/b"), "accept_edits", Rules(roots=ROOTS), grants).verdict == "deny"
    assert decide(_write(ROOT / "src/c"), "default", Rules(roots=ROOTS), grants).verdict == "allow"


def test_answers_are_listed_and_taken_back_one_by_one():
    grants = Grants()
    first, second = _write(ROOT / "src/a"), RunCommand("rm a", ROOT)
    for grant in reaches(first, ROOTS, is_risky=False):
        grants.allow(grant)
    grants.refuse(second)

    listed = grants.listed()
    assert [(answer.words, answer.allowed) for answer in listed] == [
        ("edit /srv/project/src/a", True),
        ("edit files below /srv/project/src", True),
        ("run `rm a` in /srv/project", False),
    ]
    grants.revoke(listed[1])
    assert not grants.allows(_write(ROOT / "src/b"))
    assert grants.allows(first)
    grants.revoke(listed[2])
    assert not grants.refuses(second)
    with pytest.raises(KeptGrantsError):
        grants.revoke(listed[2])


def test_refusals_can_all_be_forgotten():
    grants = Grants()
    grants.refuse(RunCommand("rm a", ROOT))
    grants.refuse(RunCommand("rm b", ROOT))
    assert grants.forget_refusals() == 2
    assert grants.forget_refusals() == 0
    assert not grants.refuses(RunCommand("rm a", ROOT))


def test_a_yes_to_running_without_the_sandbox_is_for_that_alone():
    grants = _granted(RunCommand("make x", ROOT, outside=True), "session")
    assert grants.allows(RunCommand("make x", ROOT, outside=True, refused="anything"))
    assert not grants.allows(RunCommand("make x", ROOT))
    assert not grants.allows(RunCommand("make y", ROOT, outside=True))
    assert _scopes(RunCommand("make x", ROOT, outside=True)) == ["session"]
    likes = _granted(RunCommand("make x", ROOT), "prefix")
    assert likes.allows(RunCommand("make x -k", ROOT))
    assert not likes.allows(RunCommand("make x -k", ROOT, outside=True))


def test_a_yes_in_a_directory_is_none_where_a_link_in_its_place_leads_later(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = tmp_path / "link"
    link.symlink_to("one")
    grants = Grants()
    for grant in reaches(RunCommand("make test", link), (tmp_path,), is_risky=False):
        grants.allow(grant)
    assert grants.allows(RunCommand("make test", link))
    assert grants.allows(RunCommand("make test", tmp_path / "one"))
    link.unlink()
    link.symlink_to("two")
    assert not grants.allows(RunCommand("make test", link))
