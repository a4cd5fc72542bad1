"""Patterns over texts of which parts are not known: a yes must hold for all that they may be, a no for any."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.support.each import each
from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.rule_patterns import fits, may_fit, path_pattern


@each(
    ("pattern", "text", "expected"),
    [
        ("git push*", "git push origin", True),
        ("git push*", "git push", True),
        ("git push*", "git pull", False),
        ("git push *", "git push", True),
        ("git push *", "git pushx", False),
        ("git push", "git push origin", False),
        ("git push", "Git Push", False),
        ("ab?", "abc", True),
        ("ab?", "ab", False),
        ("*", "anything\nat all", True),
        ("a[b]", "a[b]", True),
        ("a[b]", "ab", False),
        ("echo *", f"echo {UNKNOWN}", True),
        ("echo ?", f"echo {UNKNOWN}", False),
        ("echo x", f"echo {UNKNOWN}", False),
        ("*", "x" * 8000, True),
        ("*", "x" * 8001, False),
    ],
)
def test_a_yes_is_for_what_surely_fits(pattern, text, expected):
    assert fits(pattern, text) is expected


@each(
    ("pattern", "text", "expected"),
    [
        ("git push", "git push origin main", True),
        ("git push", "git pushx", False),
        ("git push*", "GIT PUSH", True),
        ("git push", f"git {UNKNOWN}", True),
        ("git push", f"{UNKNOWN} push", True),
        ("git push", f"g{UNKNOWN}sh", True),
        ("git push", UNKNOWN, True),
        ("git push", f"make {UNKNOWN}", False),
        ("git push", f"git pull{UNKNOWN}", False),
        ("*curl*|*sh*", "curl x | sh", True),
        ("rm", "x" * 8000, False),
        ("rm", "x" * 8001, True),
        # With signs in it, the rule says itself what may follow.
        ("git p?sh", "git push origin", False),
        ("*push", "git push origin", False),
        # What follows the unknown part has to fit what is left of the pattern.
        ("?ab", f"xa{UNKNOWN}xab", False),
        ("g?t", f"{UNKNOWN}zz", False),
    ],
)
def test_a_no_is_for_what_may_fit(pattern, text, expected):
    assert may_fit(pattern, text) is expected


@given(st.text("ab*?", max_size=6), st.text(f"ab{UNKNOWN}", max_size=5))
def test_yes_and_no_agree_with_trying_what_the_unknown_may_be(pattern, text):
    values = ["", "a", "b", "ab", "aabb"]
    texts = []
    for chosen in itertools.product(values, repeat=text.count(UNKNOWN)):
        filled = iter(chosen)
        texts.append("".join(next(filled) if sign == UNKNOWN else sign for sign in text))
    if fits(pattern, text):
        assert all(fits(pattern, each) for each in texts)
    if any(may_fit(pattern, each) for each in texts):
        assert may_fit(pattern, text)


@each(
    ("pattern", "path", "expected"),
    [
        ("/a/*.py", "/a/b.py", True),
        ("/a/*.py", "/a/b/c.py", False),
        ("/a/**/*.py", "/a/b.py", True),
        ("/a/**/*.py", "/a/b/c/d.py", True),
        ("/a/**", "/a/b/c", True),
        ("/a/**", "/a", False),
        ("/a/**", "/ab", False),
        ("/a/b?", "/a/bc", True),
        ("/a/b?", "/a/b/", False),
        ("/a.b", "/aXb", False),
    ],
)
def test_in_a_path_one_star_stays_within_a_name(pattern, path, expected):
    assert (path_pattern(pattern).fullmatch(path) is not None) is expected
