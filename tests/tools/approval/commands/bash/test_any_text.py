"""Whatever the text, it is read in bounded time, and what surrounds a command does not hide it."""

import shlex

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.each import each
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import Invocation, Reading

_QUIET = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
_PIECES = st.sampled_from([
    "rm", " ", " ", "x", "$(", ")", "((", "))", "(", "`", "'", '"', "${", "}", "{", "|", "&", ";", "\n", "<<E",
    "\nE\n",
    "<<<", ">", "<(", "\\", "$", "$'", "case", " in ", "esac", "if ", "then ", "fi", "for ", "do ", "done",
    "while ", "[[",
    "]]", "=", "a=(", "f()", "function ", "eval ", "sh -c ", "xargs ", "coproc ", "!", "#", "*", "~", "\t",
    "\0", "\ud800",
    "\ufffc", "é", ";;", "&&", "||", "trap ", "find . -exec ", "1>&2", "{a,b}", "{1..9}", "${x:-", "$((",
    "time ", "@(",
])  # fmt: skip
_WORDS = st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\ufffc")), max_size=5)
_COMMANDS = st.sampled_from([
    "rm -rf x", "ls | wc -l", "echo $(date)", "a && b || c", "for x in 1 2; do use $x; done",
    "cat <<E\n$(inner)\nE",
    "if a; then b; fi", "X=1 make", "git commit -m 'a; b'", "find . -exec rm {} \\;", "(cd s && make)",
    "f() { g; }; f",
])  # fmt: skip
_WRAPPED = st.sampled_from([
    "sudo {}", "env A=1 {}", "timeout 5 {}", "nohup {}", "xargs {}", "nice -n 5 {}", "exec {}",
    "find . -exec {} \\;",
    "uv run {}", "npx {}", "sh -c {quoted}", "eval {quoted}", "ssh example.com {quoted}", "docker exec web {}",
    "trap {quoted} EXIT", "echo $({})", "( {} )", "{{ {}; }}", "if {}; then :; fi", "f() {{ {}; }}",
    "bash <<'E'\n{}\nE",
    "echo {quoted} | sh", "watch {quoted}", "su -c {quoted}", "coproc {}", "true && {}",
])  # fmt: skip


@_QUIET
@given(st.text(max_size=200))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    assert isinstance(read_command(text), Reading)


@_QUIET
@given(st.lists(_PIECES, max_size=40).map("".join))
def test_no_pile_of_syntax_makes_the_reader_fail(text: str) -> None:
    assert isinstance(read_command(text), Reading)


@each(
    "text",
    [
        "(" * 20_000,
        "$(" * 9_000,
        "$((" * 9_000,
        "`" * 20_001,
        '"$(' * 9_000,
        "${x:-" * 9_000 + "}" * 9_000,
        "{a,b}" * 500,
        "{1..999999999}",
        "{a,{b,{c,{d" * 2_000,
        "x=$x$x;" * 2_000,
        "x=aaaaaaaaaa;" + "x=$x$x$x$x;" * 40 + "$x",
        "for a in 1 2 3; do " * 300 + "done;" * 300,
        "f() { f; f; }; " * 300 + "f",
        "f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { j; j; }; j() { k; k; }; " * 5 + "f",
        "sudo " * 9_000 + "ls",
        "eval " * 3_000 + "ls",
        "eval eval " + "'" * 5_001,
        "a | " * 9_000 + "b",
        "<<E " * 5_000,
        "case x in " * 2_000,
        "a=(" * 5_000,
        "if a; then " * 4_000,
        "\\" * 60_001,
        "'" * 60_001,
        "[[ " * 9_000,
        "echo ${x/" + "*" * 500 + "/b}",
        "x=" + "a" * 1900 + "; echo ${x//*a*a*a*a*b/c}",
    ],
)
def test_what_is_piled_up_is_read_in_bounded_time(text: str) -> None:
    read_command(text)


@_QUIET
@given(_WORDS)
def test_quoted_words_come_back(words: list[str]) -> None:
    reading = read_command(shlex.join(["program", *words]))

    assert [[word.text for word in found.arguments] for found in reading.invocations] == [words]
    assert all(word.is_known for word in reading.invocations[0].arguments)
    assert not reading.doubts


@_QUIET
@given(_COMMANDS, st.lists(_WRAPPED, min_size=1, max_size=3))
def test_a_wrapper_hides_no_simple_command(command: str, wrappers: list[str]) -> None:
    simple = "rm -rf x" if "|" in command else "use it"
    text = simple
    for wrapper in wrappers:
        text = wrapper.format(text if "{quoted}" in wrapper or _is_simple(text) else f"sh -c {shlex.quote(text)}",
                              quoted=shlex.quote(text))  # fmt: skip
    found = {(told.program, told.arguments[0].text) for told in read_command(text).invocations if told.arguments}

    assert tuple(simple.split()[:2]) in found, text


@_QUIET
@given(_COMMANDS, _COMMANDS, st.sampled_from(["; ", "\n", " && ", " || ", "\n\n# note\n"]))
def test_a_script_of_two_runs_what_each_of_them_runs(first: str, second: str, joint: str) -> None:
    joint = "\n" if first.endswith("E") else joint
    together = _programs(read_command(first + joint + second))

    assert together == _programs(read_command(first)) | _programs(read_command(second))


def _is_simple(text: str) -> bool:
    return not any(sign in text for sign in ";|&(){}\n$<") and not text.startswith(("if ", "trap ", "coproc"))


def _programs(reading: Reading) -> set[tuple[str, tuple[str, ...]]]:
    return {_shape(found) for found in reading.invocations}


def _shape(found: Invocation) -> tuple[str, tuple[str, ...]]:
    return found.program or found.written, tuple(word.text for word in found.arguments)
