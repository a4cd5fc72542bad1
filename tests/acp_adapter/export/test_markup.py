"""Markdown, terminal output and changes of files as HTML that can do nothing."""

import random
import re

import pytest

from acp_adapter.export.markup import change_of, coloured, diff_lines, markdown
from tests.support.each import each


@each(
    ("source", "made"),
    [
        ("", ""),
        ("# One\n###### Six ##", "<h3>One</h3><h6>Six</h6>"),
        ("a **b** ~~c~~  \nd", "<p>a <strong>b</strong> <s>c</s><br>d</p>"),
        ("- [x] a\n- [ ] b\n- c", "<ul><li>☑ a</li><li>☐ b</li><li>c</li></ul>"),
        ("[x] no list", "<p>[x] no list</p>"),
        ("```py title\na < b\n```", '<pre class="code" data-language="py"><code>a &lt; b</code></pre>'),
        ("    code <b>", '<pre class="code"><code>code &lt;b&gt;</code></pre>'),
        (
            "|a|\n|:-:|\n|1|",
            '<div class="table"><table><thead><tr><th class="centre">a</th></tr></thead>'  # noqa: ISC004
            '<tbody><tr><td class="centre">1</td></tr></tbody></table></div>',
        ),
    ],
)
def test_markdown_becomes_elements_of_the_page(source, made):
    assert markdown(source).replace(">\n", ">").replace("\n<", "<") == made


@each(
    ("source", "target", "label"),
    [
        ("[a *b*](https://e.org/x)", "https://e.org/x", "a <em>b</em>"),
        ("<https://e.org/?a=1&b=2>", "https://e.org/?a=1&amp;b=2", "https://e.org/?a=1&amp;b=2"),
        ("<mailto:a@e.org>", "mailto:a@e.org", "mailto:a@e.org"),
        ("https://e.org/a_b_c", "https://e.org/a_b_c", "https://e.org/a_b_c"),
        ("![a picture](https://e.org/x.png)", "https://e.org/x.png", "a picture"),
        ("[![pic](https://e.org/x.png)](https://e.org)", "https://e.org", "pic"),
    ],
)
def test_links_lead_to_the_web_and_pictures_are_links(source, target, label):
    link = f'<a href="{target}" rel="noopener noreferrer nofollow" target="_blank">{label}</a>'
    assert markdown(source) == f"<p>{link}</p>\n"


def test_a_sentences_full_stop_is_no_part_of_an_address():
    assert "https://e.org/a</a>." in markdown("See https://e.org/a.")


@each(
    "source",
    [
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](&#106;avascript:alert(1))",
        "[a](data:text/html,x)",
        "![a](vbscript:x)",
        "[a](file:///etc/passwd)",
        "[a](src/a.py)",
        "[a]: javascript:x\n\n[a]",
        "<javascript:alert(1)>",
    ],
)
def test_what_is_no_address_on_the_web_is_no_link(source):
    made = markdown(source)
    assert "href" not in made
    assert '<span class="place" title="' in made


@each(
    "source",
    [
        "<b>raw</b> & <script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '[a](https://e.org/"onmouseover="alert(1))',
        '[a](https://e.org "\'><script>")',
        '![a"><script>](https://e.org/x.png)',
        '```"><script>\nx\n```',
        "<!-- --><svg onload=alert(1)>",
        "`<script>`",
        "&lt;script&gt;",
    ],
)
def test_what_a_hostile_model_wrote_is_text(source):
    made = markdown(source)
    for harm in ("<script", "<img", "<svg", "<b>", "<!--", '" onmouseover', '"onmouseover'):
        assert harm not in made.lower()


def test_signs_that_nobody_sees_are_left_out():
    made = markdown("\x1b[31mred\x07 \u202eback &#x202e;more half \ud800")
    assert "red back more half \ufffd" in made


@pytest.mark.parametrize(
    "source",
    [
        "*a " * 4_000,
        "**a _b " * 4_000,
        "[" * 4_000,
        "[a](" * 4_000,
        "".join("`" * (length % 300) + "x" for length in range(2_000)),
        ">" * 4_000,
        "- a\n\n" * 3_000,
        "|a" * 3_000 + "\n" + "|-" * 3_000,
        "https://" * 3_000,
    ],
    ids=lambda source: repr(source[:8]),
)
@pytest.mark.timeout(20)
def test_no_text_takes_long(source):
    assert markdown(source)


@each(
    ("output", "made"),
    [
        ("plain <b> & \n", "plain &lt;b&gt; &amp; \n"),
        ("\x1b[31mred\x1b[0m rest", '<span class="f1">red</span> rest'),
        ("\x1b[1;4;92;41mx\x1b[m", '<span class="b f2">x</span>'),
        ("\x1b[1;31mx\x1b[22my\x1b[39mz", '<span class="b f1">x</span><span class="f1">y</span>z'),
        ("\x1b[38;5;31ma\x1b[38:2::200:31:0mb", "ab"),
        ("10%\r50%\r100%\r\nnext", "100%\nnext"),
        ("\x1b]0;title\x07a\x1b[?25lb\x1b(Bc", "abc"),
        ("\x1b[31;999;1mx", '<span class="b f1">x</span>'),
        ("\x1b[38mx\x1b[38;5my\x1b[38;2;1mz", "xyz"),
    ],
)
def test_colours_become_classes_and_other_sequences_nothing(output, made):
    assert coloured(output) == made


NUMBERS = [str(number) for number in range(30)]


@each(
    ("before", "after", "made"),
    [
        (None, "a\nb\n", ["@@ -0,0 +1,2 @@", "+a", "+b"]),
        ("a\n", None, ["@@ -1,1 +0,0 @@", "-a"]),
        ("a\n", "a\n", []),
        (None, "", []),
        ("a", "a\nb", ["@@ -1,1 +1,2 @@", " a", "+b"]),
        ("x\nx\n", "x\nx\nx\n", ["@@ -1,2 +1,3 @@", " x", " x", "+x"]),
    ],
)
def test_a_change_is_a_unified_diff(before, after, made):
    assert change_of(before, after) == made


def test_changes_far_apart_are_hunks_of_their_own_with_three_lines_around_them():
    after = [*NUMBERS[:2], "two", *NUMBERS[3:25], *NUMBERS[26:]]
    change = change_of("\n".join(NUMBERS), "\n".join(after))
    assert change == [
        "@@ -1,6 +1,6 @@", " 0", " 1", "-2", "+two", " 3", " 4", " 5",
        "@@ -23,7 +23,6 @@", " 22", " 23", " 24", "-25", " 26", " 27", " 28",
    ]  # fmt: skip
    shown = diff_lines(change)
    assert shown.count('class="gap"') == 1
    assert '<span class="line del" data-n="26">-25\n</span>' in shown
    assert '<span class="line" data-n="26"> 26\n</span>' in shown


def test_a_change_made_again_gives_the_file_after_it():
    dice = random.Random(7)
    for _ in range(300):
        before, after = ([dice.choice("abc") for _ in range(dice.randrange(40))] for _ in range(2))
        assert _applied(before, change_of("\n".join(before), "\n".join(after))) == after


def _applied(before, change):
    made, place = [], 0
    for line in change:
        if found := re.match(r"@@ -(\d+),(\d+) ", line):
            start = int(found[1]) - bool(int(found[2]))
            made, place = [*made, *before[place:start]], start
            continue
        if line[0] != "+":
            assert before[place] == line[1:]
            place += 1
        if line[0] != "-":
            made.append(line[1:])
    return [*made, *before[place:]]


@pytest.mark.timeout(10)
def test_two_long_texts_that_share_nothing_take_no_time():
    before = "".join(f"{number}\n" for number in range(20_000))
    change = change_of(before, before.replace("\n", "x\n"))
    assert len(change) == 1 + 2 * 20_000
