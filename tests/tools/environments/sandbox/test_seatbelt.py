"""The text of macOS's profile. It is not run here."""

from pathlib import Path

from tools.environments.sandbox.port import Confinement
from tools.environments.sandbox.seatbelt import seatbelt_profile


def _lines(confinement, **fields):
    return seatbelt_profile(confinement, **fields).splitlines()


def test_only_the_roots_are_writable():
    lines = _lines(Confinement("workspace-write", (Path("/srv/work"),)))
    assert lines.index("(deny file-write*)") < lines.index('(allow file-write* (subpath "/srv/work"))')


def test_reading_only_leaves_the_sandboxs_own_directory():
    lines = _lines(Confinement("read-only", (Path("/srv/work"),)), own=(Path("/srv/tmp"),))
    assert '(allow file-write* (subpath "/srv/tmp"))' in lines
    assert not [line for line in lines if "/srv/work" in line]


def test_hidden_and_protected_places_come_after_what_allows_them():
    confinement = Confinement(
        "workspace-write",
        (Path("/srv"),),
        (Path("/srv/keys"),),
        protected=(Path("/srv/.bashrc"),),
        held=(Path("/srv/.git/hooks"),),
    )
    lines = _lines(confinement)
    allowed = lines.index('(allow file-write* (subpath "/srv"))')
    assert allowed < lines.index('(deny file-read* file-write* (subpath "/srv/keys"))')
    assert allowed < lines.index('(deny file-write* (subpath "/srv/.bashrc"))')
    assert allowed < lines.index('(deny file-write* (subpath "/srv/.git/hooks"))')


def test_the_full_level_hides_what_is_hidden():
    lines = _lines(Confinement("full", (), (Path("/srv/keys"),), network="on"))
    assert lines[2:] == ['(deny file-read* file-write* (subpath "/srv/keys"))']


def test_the_network_is_closed_but_for_the_proxy():
    off, proxied = (
        _lines(Confinement("workspace-write", network=network), proxy_port=4000) for network in ("off", "proxy")
    )
    assert "(deny network*)" in off
    assert not [line for line in off if "outbound" in line]
    assert '(allow network-outbound (remote ip "localhost:4000"))' in proxied


def test_a_path_cannot_end_its_text():
    (line,) = [
        each
        for each in _lines(Confinement("workspace-write", (Path('/a"b\\c'),)))
        if "a" in each and "b" in each and "subpath" in each
    ]
    assert line == '(allow file-write* (subpath "/a\\"b\\\\c"))'
