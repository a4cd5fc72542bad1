"""Characters that nobody sees are found; those that writing systems and emoji need stay."""

from tests.support.each import each
from tools.untrusted.invisible import hidden_in, made_visible, without_controls, without_hidden


@each(
    ("text", "what"),
    [
        ("a\u200bb", "zero-width characters"),
        ("pass\u2060word", "zero-width characters"),
        ("a\ufeffb", "zero-width characters"),
        ("user\u202etxt.exe", "controls of the direction of writing"),
        ("if admin: \u2066# comment", "controls of the direction of writing"),
        ("hi\U000e0068\U000e0069", "tag characters"),
        ("ok\ufe00\ufe01\ufe02\ufe03", "variation selectors used as data"),
        ("ok\U000e0110\U000e0111\U000e0112", "variation selectors used as data"),
        ("x" + "\ue000" * 12, "private characters"),
        ("a\u200db", "zero-width characters"),
        ("a\u3164b", "zero-width characters"),
        ("a\u061cb", "zero-width characters"),
    ],
)
def test_a_hidden_character_is_found_and_taken_out(text, what):
    assert [hidden.what for hidden in hidden_in(text)][:1] == [what]
    assert without_hidden(text).isascii()


@each(
    "text",
    [
        "plain",
        "naïve café “quotes” – dash",
        "\ufeffa file that begins with a mark",
        "👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️ ☎️ 1️⃣ #️⃣ ©️",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می‌خواهم",
        "क्‍ष",
        "שלום \u2066abc\u2069 עולם",
        "مرحبا \u200eABC\u200e بكم",
        "葛\U000e0100城",
        "an icon \ue0b0 of a font",
        "ภาษา\u200bไทย",
        "Ba\u00adcká",
    ],
)
def test_what_a_writing_system_or_an_emoji_needs_stays(text):
    assert hidden_in(text) == []
    assert without_hidden(text) == text


def test_tag_characters_and_selectors_spell_what_they_hide():
    tags = "".join(chr(0xE0000 + ord(sign)) for sign in "rm -rf")
    selectors = "".join(chr(0xE0100 + byte - 16) for byte in b"secret")

    assert [hidden.says for hidden in hidden_in(f"a{tags} b{selectors}")] == ["rm -rf", "secret"]


def test_one_soft_break_between_words_is_weak_and_many_are_strong():
    assert [hidden.strong for hidden in hidden_in("one \u200btwo")] == [False]
    assert all(hidden.strong for hidden in hidden_in(" ".join("\u200b" * 10)))


def test_a_bidi_control_that_changes_nothing_is_weak():
    assert [hidden.strong for hidden in hidden_in("A Name\u202e\nnext")] == [False]


def test_visible_text_is_one_printable_line():
    assert made_visible("a\u200b\n\tb\x1b[0m\U000e0041") == "a<U+200B> b<U+001B>[0m<U+E0041>"


@each(
    ("text", "seen"),
    [
        ("a\x1b[8mb\x00c\x7fd\x9be", "a[8mbcde"),
        ("one\r\ntwo\rthree\vfour\u2028five\x85six", "one\ntwo\nthree\nfour\nfive\nsix"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\u202aa\u202bb\u202cc\u202dd\u202ee\u2066f\u2067g\u2068h\u2069i", "abcdefghi"),
        ("שלום \u2066abc\u2069 עולם\u200f", "שלום abc עולם"),
        ("a\u200bb\u200cc\u200dd\u200ee\u200ff\u061cg", "abcdefg"),
        ("a\u2060b\u2061c\u2064d\ufeffe\ufffbf", "abcdef"),
        ("read\U000e0001\U000e0068\U000e0069\U000e007f it", "read it"),
        ("中\ufe01文\U000e0101字\ufe0d", "中文字"),
        ("ok\ufe00\ufe01\ufe02\ufe03", "ok"),
        ("half \ud83d of one", "half \ufffd of one"),
        ("naïve café “quotes” – ❤️ 1️⃣", "naïve café “quotes” – ❤️ 1️⃣"),
    ],
)
def test_a_description_has_no_control_characters_and_nothing_invisible(text, seen):
    assert without_controls(text) == seen
    assert without_controls(seen) == seen
    seen.encode()
