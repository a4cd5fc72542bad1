"""Rules about files: what allows is narrow, what denies is wide."""

from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.rule_patterns import (
    below_home,
    covers_path,
    denies_path,
    moved,
    places_denied,
    spelled_out,
    with_real_places,
)
from tools.approval.rules import parse_rule

ROOT = Path("/srv/project")
ROOTS = (ROOT, Path("/srv/library"))


@each(
    ("pattern", "path", "allowed", "denied"),
    [
        ("src/**", ROOT / "src/a/b.py", True, True),
        ("src/**", ROOT / "lib/src/a.py", False, False),
        ("src/**", Path("/srv/library/src/a.py"), True, True),
        ("src/**", Path("/srv/other/src/a.py"), False, False),
        ("src/", ROOT / "src/a/b.py", True, True),
        ("src/", ROOT / "src", False, True),
        ("docs/index.md", ROOT / "docs/index.md", True, True),
        ("./docs/index.md", ROOT / "docs/index.md", True, True),
        ("docs/index.md", ROOT / "docs/Index.md", False, True),
        ("docs/secret", ROOT / "docs/secret/deep/x", False, True),
        ("*.md", ROOT / "deep/er/x.md", True, True),
        ("*.md", Path("/etc/x.md"), False, True),
        ("secrets", ROOT / "a/secrets/key", False, True),
        ("secrets/", ROOT / "a/secrets/key", False, True),
        ("secrets", ROOT / "a/secrets.py", False, False),
        ("/srv/data/*.csv", Path("/srv/data/x.csv"), True, True),
        ("/srv/data/*.csv", Path("/srv/data/deep/x.csv"), False, False),
        ("/srv/data/*", Path("/srv/data/deep/x.csv"), False, True),
        ("/", ROOT / "a", False, True),
        ("secrets", Path("/secrets/key"), False, True),
        ("LATEX", ROOT / "LATEX", True, True),
        ("src/X", ROOT / "src/X", True, True),
        ("/srv/dataX", Path("/srv/dataX"), True, True),
    ],
)
def test_what_a_pattern_means(pattern, path, allowed, denied):
    assert covers_path(parse_rule({"write": pattern}), path, ROOTS, is_risky=False) is allowed
    assert denies_path(parse_rule({"write": pattern}), path, ROOTS) is denied


def test_a_pattern_may_begin_at_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/u")
    rule = parse_rule({"read": "~/notes/**"})
    assert covers_path(rule, Path("/home/u/notes/x.md"), ROOTS, is_risky=False)
    assert denies_path(rule, Path("/home/u/notes/deep/x.md"), ROOTS)
    assert not denies_path(rule, Path("/home/v/notes/x.md"), ROOTS)
    assert denies_path(parse_rule({"read": "~/notesX"}), Path("/home/u/notesX"), ROOTS)


@each("written", ["~/", "~", "~/**"])
def test_the_whole_home_may_be_denied(written):
    home, rule = Path.home(), parse_rule({"read": written})
    assert denies_path(rule, home / "notes/x.md", ROOTS)
    assert not denies_path(rule, home.parent / "another/x.md", ROOTS)
    assert not denies_path(rule, ROOT / "~/x.md", ())
    assert places_denied([rule], ROOTS) == (home,)
    assert below_home(rule, "/home/far").pattern.rstrip("/*") == "/home/far"
    assert [one.pattern.rstrip("/*") for one in moved(rule, home, Path("/copy"))] == ["/copy"]


def test_what_a_rule_names_by_its_beginning_is_no_home():
    assert denies_path(parse_rule({"read": "~notes"}), ROOT / "~notes/x", ROOTS)
    assert not denies_path(parse_rule({"read": "a/~/b"}), Path.home() / "b", ROOTS)


def test_what_is_sensitive_is_allowed_by_its_name_alone():
    env = ROOT / ".env"
    assert covers_path(parse_rule({"read": "/srv/project/.env"}), env, ROOTS, is_risky=True)
    assert not covers_path(parse_rule({"read": "/srv/project/*"}), env, ROOTS, is_risky=True)
    assert not covers_path(parse_rule({"read": ".e??"}), env, ROOTS, is_risky=True)


def test_a_denied_place_is_denied_where_its_links_lead(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    rule = parse_rule({"read": f"{tmp_path}/link/**"})
    rules = list(with_real_places(rule))
    assert [one.pattern for one in rules] == [f"{tmp_path}/link/**", f"{tmp_path.resolve()}/real/**"]
    assert any(denies_path(one, tmp_path.resolve() / "real/x", ()) for one in rules)
    assert list(with_real_places(parse_rule({"read": "secrets"}))) == [parse_rule({"read": "secrets"})]
    assert len(list(with_real_places(parse_rule({"read": f"{tmp_path.resolve()}/real/"})))) == 1


@pytest.mark.parametrize("written", ["read: link/", "read: link", "read: ./link/**", "write: link/x.txt"])
def test_what_is_denied_from_the_sessions_directories_is_denied_where_its_links_lead(tmp_path, written):
    root, vault = (tmp_path / "root").resolve(), (tmp_path / "vault").resolve()
    root.mkdir()
    vault.mkdir()
    (root / "link").symlink_to(vault)
    assert any(denies_path(one, vault / "x.txt", (root,)) for one in with_real_places(parse_rule(written), (root,)))


def test_a_sandbox_can_hide_what_is_denied_by_name():
    rules = [parse_rule(each) for each in ("read: keys/", "read: /srv/data/**", "read: *.pem", "write: src/")]
    assert places_denied(rules, ROOTS) == (ROOT / "keys", Path("/srv/library/keys"), Path("/srv/data"))


@each(
    ("rule", "there"),
    [
        ("read: /home/x/project/secrets/**", ["read: /copy/secrets/**"]),
        ("write: /home/*/project/a.txt", ["write: /copy/a.txt"]),
        ("read: /home/**/key", ["read: /copy/**/key"]),
        ("read: /home/x/", ["read: /copy/"]),
        ("read: /HOME/x/Project", ["read: /copy"]),
        ("read: /home/x/project2/a", []),
        ("read: /srv/**", []),
        ("read: secrets/**", []),
        ("read: *.pem", []),
        ("run: /home/x/project/a", []),
        ("delete: /home/x/project/a", ["delete: /copy/a"]),
    ],
)
def test_a_rule_about_a_whole_path_is_moved_to_a_copy(rule, there):
    found = moved(parse_rule(rule, ""), Path("/home/x/project"), Path("/copy"))
    assert [one.shown for one in found] == there


@each(
    ("rule", "home", "there"),
    [
        ("read: ~/notes/**", "/home/far", "read: /home/far/notes/**"),
        ("write: ~/x", "/root/", "write: /root/x"),
        ("delete: ~/x", "/**", "delete: /**/x"),
        ("read: /home/u/x", "/home/far", "read: /home/u/x"),
        ("read: notes", "/home/far", "read: notes"),
        ("run: ~/x", "/home/far", "run: ~/x"),
        ("read: ~/x", "/home/X", "read: /home/X/x"),
    ],
)
def test_a_rule_about_the_home_means_that_of_the_other_machine(rule, home, there):
    assert below_home(parse_rule(rule, ""), home).shown == there


def test_a_rule_from_the_home_is_moved_to_a_copy_of_what_is_there(monkeypatch):
    monkeypatch.setenv("HOME", "/home/x")
    found = moved(parse_rule("write: ~/project/a/"), Path("/home/x/project"), Path("/copy"))
    assert [one.shown for one in found] == ["write: /copy/a/"]


@each(
    ("rule", "there"),
    [
        ("delete: /link/a", "/real/a"),
        ("read: /link/", "/real/"),
        ("read: /link", "/real"),
        ("read: /link/**/key", "/real/**/key"),
        ("read: link/", "/real/"),
        ("run: /link/a", None),
    ],
)
def test_what_stays_of_a_rule_where_its_path_really_is(rule, there):
    def resolve(path):
        return path.replace("/link", "/real").rstrip("/") or "/"

    first, *others = with_real_places(parse_rule(rule), (Path("/"),) if "/link" not in rule else (), resolve)
    assert first == parse_rule(rule)
    assert [one.pattern.replace("//", "/") for one in others] == ([] if there is None else [there])


@each(
    ("rule", "leads_to", "there"),
    [
        ("read: /link/*", "/", "/*"),
        ("read: /link/*", "/vaultX", "/vaultX/*"),
        ("read: /link/*/X", "/vault", "/vault/*/X"),
        ("read: /link", "/", "/"),
    ],
)
def test_a_link_may_lead_to_any_directory(rule, leads_to, there):
    _, found = with_real_places(parse_rule(rule), (), lambda _: leads_to)
    assert found.pattern == there


def test_what_begins_with_a_sign_is_looked_for_from_the_root():
    asked = []
    assert len(list(with_real_places(parse_rule("read: /*/x"), (), lambda place: asked.append(place) or place))) == 1
    assert asked == ["/"]


@each(
    ("pattern", "path", "allowed", "denied"),
    [
        ("*.pem,*.key", "a/b.key", False, True),
        ("*.pem, *.key", "a/b.pem", False, True),
        ("*.pem,*.key", "a/b.txt", False, False),
        ("*.pem,*.key", "x.pem,y.key", True, True),
        ("{secrets,private}/", "deep/private/x", False, True),
        ("{src,lib/{a,b}}/**", "lib/b/x", False, True),
        ("{src,lib/{a,b}}/**", "lib/c/x", False, False),
        ("{a,b}.txt", "{a,b}.txt", True, True),
        ("{a,b}.txt", "a.txt", False, True),
        ("app/[slug]/**", "app/[slug]/page.tsx", True, True),
        ("app/[slug]/**", "app/s/page.tsx", False, False),
        ("./config/*.yaml", "config/x.yaml", True, True),
        ("~name", "deep/~name", True, True),
        ("*,v", "main.c,v", True, True),
        ("*,v", "main.c", False, False),
        ("{a,b", "{a,b", True, True),
        ("{*,x}", "y", False, False),
    ],
)
def test_commas_and_braces_deny_more_and_allow_nothing_more(pattern, path, allowed, denied):
    rule = parse_rule({"read": pattern})
    assert covers_path(rule, ROOT / path, (ROOT,), is_risky=False) is allowed
    assert any(denies_path(each, ROOT / path, (ROOT,)) for each in spelled_out(rule)) is denied
