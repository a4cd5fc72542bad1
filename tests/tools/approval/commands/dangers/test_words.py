"""Options and operands, and the paths that programs write to."""

from tests.support.each import each
from tests.tools.approval.commands.dangers.scene import PROJECT
from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import UNKNOWN, Argument
from tools.approval.commands.dangers.scene import shown, sort_words
from tools.approval.commands.dangers.writing import written_by


def _sorted(text, *more):
    return sort_words([Argument(word) for word in text.split()], *more)


def test_options_are_told_from_operands():
    words = _sorted("-rf a --color=never -o x -n5 b -- -c", "on")

    assert words.plain == ("a", "b", "-c")
    assert all(words.has(name) for name in ("-r", "-f", "--color"))
    assert words.values("-o", "-n") == (Argument("x"), Argument("5"))
    assert not words.has("-c")


def test_what_follows_the_file_of_an_interpreter_belongs_to_that():
    given = [Argument(word) for word in ("-x", "a.sh", "-y", "b")]

    assert sort_words(given, is_led=True).plain == ("a.sh", "-y", "b")
    assert not sort_words(given, is_led=True).has("-y")
    assert sort_words(given).plain == ("a.sh", "b")
    assert sort_words(given).has("-y")


def test_long_options_may_be_written_shorter_and_their_values_follow():
    words = _sorted("--recurs --target-directory d a", "", ("--target-directory",))

    assert words.has("--recursive")
    assert words.values("--target-directory") == (Argument("d"),)
    assert words.plain == ("a",)


def test_a_dash_alone_is_an_operand_and_a_missing_value_is_none():
    assert _sorted("- -o", "o").plain == ("-",)
    assert sort_words([Argument("")]).plain == ("",)
    assert _sorted("- -o", "o").values("-o") == ()


def test_a_letter_takes_a_value_only_where_it_is_known_to():
    assert _sorted("-X v").plain == ("v",)
    assert _sorted("-X1").has("-1")
    assert _sorted("-r v").values("-r") == ()
    assert _sorted("-o=x=", "o").values("-o") == (Argument("x="),)
    assert _sorted("--to", "", ("--to",)).values("--to") == ()
    assert [name for name, _ in sort_words([Argument("-0777pi")], numbers="0").options] == ["-0", "-p", "-i"]


def test_long_options_are_known_by_three_letters():
    assert _sorted("--rec").has("--recursive")
    assert not _sorted("--re").has("--recursive")


def test_a_person_sees_short_texts_without_marks():
    assert shown(f"a{UNKNOWN}b") == "a…b"
    assert len(shown("x" * 500)) == len(shown("x" * 61)) == 58
    assert shown("x" * 60) == "x" * 60


@each(
    ("command", "paths"),
    [
        ("tee -a x y", {"x", "y"}),
        ("cp a b", {"b", "b/a"}),
        ("cp -t d a b", {"d", "d/a", "d/b"}),
        ("cp --target-directory=d a", {"d", "d/a"}),
        ("mv a/b/c d", {"d", "d/c"}),
        ("install -m 755 a /usr/bin/a", {"/usr/bin/a", "/usr/bin/a/a"}),
        ("ln -s /x", {".", "./x"}),
        ("rsync -a src/ host:/x", set()),
        ("sort -o out in", {"out"}),
        ("sort -oout in", {"out"}),
        ("sed -i s/a/b/ f g", {"f", "g"}),
        ("sed -i.bak -e s/a/b/ f", {"f"}),
        ("sed s/a/b/ f", set()),
        ("perl -pi -e s/a/b/ f", {"f"}),
        ("dd if=a of=b", {"b"}),
        ("curl -o x https://e.example", {"x"}),
        ("curl -sSLox https://e.example", {"x"}),
        ("curl -O https://e.example/f.txt", {"f.txt"}),
        ("wget -qO- https://e.example", set()),
        ("wget -P d https://e.example/a", {"d", "d/a"}),
        ("tar xzf a.tgz -C /opt", {"/opt"}),
        ("tar xf a.tar", {"."}),
        ("tar -cf a.tar src", {"a.tar"}),
        ("tar tf a.tar", set()),
        ("gzip -c a", set()),
        ("gunzip a.gz", {"a.gz"}),
        ("uniq a b", {"b"}),
        ("git clone https://e.example/x d", {"d"}),
        ("git log --output=x", {"x"}),
        ("find . -fprint /etc/x", {"/etc/x"}),
        ("unzip a.zip -d /opt", {"/opt"}),
        ("anything --output /etc/x", {"/etc/x"}),
        ("ls a", set()),
    ],
)
def test_programs_write_where_their_arguments_say(command, paths):
    (call,) = read_command(command, PROJECT).invocations

    assert {target.text for target in written_by(call)} == paths
