"""Where the paths of a command lead."""

from tests.support.each import each
from tests.tools.approval.commands.dangers.scene import PROJECT, SCENE
from tools.approval.commands.bash.reading import UNKNOWN, Argument
from tools.approval.commands.dangers.scene import (
    Scene,
    full_path,
    is_below,
    place_of,
    why_essential,
    why_may_be_essential,
)


@each(
    ("text", "kind"),
    [
        ("a", "inside"),
        ("./sub/../a", "inside"),
        ("/home/dev/project/a", "inside"),
        ("../other/a", "outside"),
        ("/home/dev/project-two/a", "outside"),
        ("/data/a", "outside"),
        ("/tmp/a", "temporary"),
        ("/private/tmp/a", "temporary"),
        ("/tmp/../etc/a", "system"),
        ("/usr/local/bin/a", "system"),
        ("/ETC/hosts.d", "system"),
        ("/etc/cron.d/a", "startup"),
        ("/dev/null", "nothing"),
        ("/dev/stderr", "nothing"),
        ("/dev/sda", "disk"),
        ("/dev/./nvme0n1p1", "disk"),
        ("/dev/ttyUSB0", "device"),
        ("/dev/shm/a", "temporary"),
        ("/dev/tcp/10.0.0.1/80", "network"),
        (".env", "sensitive"),
        (".git/hooks/pre-commit", "sensitive"),
        ("sub/.GIT/config", "sensitive"),
        ("/home/dev/.ssh/authorized_keys", "startup"),
        ("/home/dev/.ssh/config", "sensitive"),
        ("/home/dev/.bashrc", "startup"),
        (".bashrc", "sensitive"),
        ("/home/dev/.config/systemd/user/a.service", "startup"),
        ("/home/dev/.hermes/config.yaml", "own"),
        ("/home/dev/agent-home/config.yaml", "own"),
        (f"{UNKNOWN}", "unknown"),
        (f"{UNKNOWN}/a", "inside"),
        (f"{UNKNOWN}/.ssh/config", "sensitive"),
        (f"logs/{UNKNOWN}.txt", "inside"),
        (f"/etc/{UNKNOWN}", "system"),
    ],
)
def test_a_path_is_known_by_where_it_leads(text, kind):
    assert place_of(Argument(text), str(PROJECT), SCENE).kind == kind


def test_a_path_below_a_home_is_known_by_its_name(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")

    assert full_path("~", "/w") == "/home/me"
    assert full_path("~/a/b", "/w") == "/home/me/a/b"
    assert full_path("~bob/a/b", "/w") == "/home/bob/a/b"
    assert full_path("~bob", "/w") == "/home/bob"


def test_everything_is_below_the_root():
    assert is_below("/etc", "/")
    assert is_below("/", "/")
    assert not is_below("a", "/")


def test_a_zero_byte_hides_no_name():
    assert place_of(Argument(".e\0nv"), str(PROJECT), SCENE).kind == "sensitive"


def test_behind_a_directory_that_nobody_knows_relative_paths_count_as_inside_but_for_their_names(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")

    assert place_of(Argument("a"), None, SCENE).kind == "inside"
    assert place_of(Argument("."), None, SCENE).kind == "inside"
    assert place_of(Argument(".ssh/config"), None, SCENE).kind == "sensitive"
    assert place_of(Argument("~/a"), None, SCENE).kind == "outside"
    assert place_of(Argument("/data/a"), None, SCENE).kind == "outside"
    assert place_of(Argument("/etc/a"), None, SCENE).kind == "system"


@each(
    ("text", "full"),
    [
        ("a/./b/../c", "/w/a/c"),
        ("//etc//passwd", "/etc/passwd"),
        ("file:///etc/passwd", "/etc/passwd"),
        ("~bob/x", "/home/bob/x"),
        ("../../../..", "/"),
    ],
)
def test_paths_are_normal(text, full):
    assert full_path(text, "/w") == full


@each(
    ("text", "expands"),
    [
        ("/", False),
        ("//", False),
        ("/.", False),
        ("/*", True),
        ("/.*", True),
        ("/e*", True),
        ("/[a-z]*", True),
        ("/home", False),
        ("/home/*", True),
        ("/home/dev", False),
        ("/home/dev/*", True),
        ("/home/dev/project/..", False),
        ("/home/bob", False),
        ("/Users/ann", False),
        ("/root", False),
        ("/usr/bin", False),
        ("/usr/*", True),
        ("/var/lib", False),
        ("/ETC", False),
        ("../../..", False),
    ],
)
def test_the_root_homes_and_system_directories_are_essential(text, expands):
    assert why_essential(Argument(text, expands=expands), str(PROJECT), SCENE)


@each(
    ("text", "expands"),
    [
        (".", False),
        ("*", True),
        ("build", False),
        ("/*", False),  # quoted: a file of that name
        ("/tmp", False),
        ("/tmp/*", True),
        ("/opt/app", False),
        ("/etc/nginx", False),
        ("/home/dev/other", False),
        (UNKNOWN, False),
    ],
)
def test_other_places_are_not(text, expands):
    assert not why_essential(Argument(text, expands=expands), str(PROJECT), SCENE)


@each(
    ("home", "text", "why"),
    [
        ("/data/people/me", "/data/people", "the directory that holds the home"),
        ("/data/people/me", "/data", "the directory that holds the home"),
        ("/data/people/me", "/data/people/me", "a whole home directory"),
        ("/data/people/me", "/data/people/me/src", ""),
        ("/data/people/me", "/data/people/you", ""),
        ("/home/dev/project/home", "/home/dev/project/home", "a whole home directory"),
        ("/tmp/run/home", "/tmp", ""),
        ("/tmp/run/home", "/tmp/run", "the directory that holds the home"),
        ("/root", "/root", "a whole home directory"),
        ("/home/dev", "/", "the root directory"),
        ("/home/dev", "/etc", "the system directory /etc"),
    ],
)
def test_what_would_be_gone_is_said(home, text, why):
    assert why_essential(Argument(text), str(PROJECT), Scene((str(PROJECT),), home)) == why


@each("text", [f"{UNKNOWN}/", f"{UNKNOWN}/*", f"{UNKNOWN}/etc", f"/{UNKNOWN}", f"/{UNKNOWN}*"])
def test_an_empty_variable_may_leave_the_root(text):
    assert why_may_be_essential(Argument(text))


@each("text", ["/", UNKNOWN, f"{UNKNOWN}/build", f"src/{UNKNOWN}", f"{UNKNOWN}.txt"])
def test_or_not(text):
    assert not why_may_be_essential(Argument(text))
