"""Judging never fails, and a dangerous statement among others is never called safe."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.each import each
from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.classification import judge_script

LANGUAGES = ("python", "node", "awk", "sed", "psql")
# Parts that end and begin texts, comments, code, and each other's.
PIECES = st.sampled_from([
    "'", '"', "`", "\\", "/", "#", "//", "--", "/*", "*/", "${", "#{", "@{[", "}", "{", "(", ")", "[", "]", "\n", ";",
    "<<A", "A", "q(", "qw{", "%w[", "s/a/b/e", "y/", "?", "=begin\n", "=cut\n", "$", "$#", "import os", "os.",
    "remove",
    "eval", "system", "exec", "print", "x", "=", "+", ".", ",", "1", " ", "e", "w f", "drop", "table", "delete from",
    "where", "$$", "\\!", ".sh", "|", ">", "getline", "f'", "lambda:", "\0", "\ud800", UNKNOWN, "²", "\\x41", "\\777",
    "[/", "for x in y:",
])  # fmt: skip
SAFE = {
    "python": "print(1)",
    "awk": "{print $1}",
    "sed": "s/a/b/",
}
DANGEROUS = {"python": "import os; os.remove('a')", "awk": 'BEGIN{system("rm a")}', "sed": "1e rm a"}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LANGUAGES), st.lists(PIECES, max_size=30).map("".join))
def test_whatever_is_written_gets_an_answer(language: str, source: str):
    assert judge_script(language, source).level in {"safe", "ordinary", "dangerous", "forbidden"}


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(LANGUAGES), st.text(max_size=80))
def test_any_text_gets_an_answer(language: str, source: str):
    assert judge_script(language, source).level in {"safe", "ordinary", "dangerous", "forbidden"}


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(sorted(SAFE)), st.lists(st.booleans(), min_size=1, max_size=6))
def test_a_dangerous_statement_among_safe_ones_is_found(language: str, kinds: list[bool]):
    statements = [DANGEROUS[language] if is_dangerous else SAFE[language] for is_dangerous in kinds]
    found = judge_script(language, "\n".join(statements)).level
    assert found in ({"dangerous"} if any(kinds) else {"safe", "ordinary"})


@each("language", sorted(set(LANGUAGES) - {"sed"}))
def test_a_script_of_nothing_but_what_only_the_shell_knows_is_dangerous(language: str):
    assert judge_script(language, UNKNOWN).level == "dangerous"


@each("part", ["(", "[", "`${", "a.", "f(", "/[", "%w[", "q(", "<<A\n", "os.remove(x)\n", "x=y\n", "'a'+"])
@each("language", LANGUAGES)
def test_long_and_nested_scripts_are_answered_in_bounded_time(language: str, part: str):
    assert judge_script(language, part * (20_000 // len(part))).level in {"safe", "ordinary", "dangerous"}


@each(
    ("program", "says"),
    [
        ("node", "runs a JavaScript script that is not read"),
        ("perl", "runs a Perl script that is not read"),
        ("ruby", "runs a Ruby script that is not read"),
        ("php", "runs a PHP script that is not read"),
        ("Rscript", "runs an R script that is not read"),
        ("elixir", "runs an Elixir script that is not read"),
    ],
)
def test_a_script_in_another_language_asks_and_says_which(program: str, says: str):
    found = judge_script(program, "1 + 1")
    assert (found.level, found.why) == ("dangerous", says)


@each(
    ("program", "source", "why"),
    [
        ("node", "require('child_process').execSync('rm -rf docs')", "deletes directories"),
        ("perl", "system 'git push'", "git"),
        ("php", "unlink('a.txt')", "delet"),
        ("ruby", "FileUtils.rm_rf('docs')", "deletes directories"),
    ],
)
def test_the_commands_and_deletions_that_it_plainly_tells_are_named(program: str, source: str, why: str):
    found = judge_script(program, source)
    assert any(why in one.why for one in found.findings)


@each("source", ["use File::Path; rmtree('/')", "system('rm -rf /')"])
def test_what_is_never_done_is_not_done_by_them_either(source: str):
    assert judge_script("perl", source).level == "forbidden"


@each("source", ["unlink('/etc/' . $f)", "print 'rm -rf /'", "rmtree($x)"])
def test_what_it_only_may_do_asks(source: str):
    assert judge_script("perl", source).level == "dangerous"


def test_an_empty_script_does_nothing():
    assert judge_script("python", " \n").level == "safe"


def test_what_the_language_is_called_does_not_matter():
    for name in ("python", "python3", "python3.12", "/usr/bin/python3", "pypy3"):
        assert judge_script(name, "import os; os.remove('a')").level == "dangerous"
