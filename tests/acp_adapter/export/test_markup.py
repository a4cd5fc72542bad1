"""Markdown and changes of files as HTML that can do nothing."""

import pytest

from acp_adapter.export.markup import change_of, code, markdown
from tests.support.each import each


@each(
    ("source", "made"),
    [
        ("", ""),
        ("# One\n###### Six ##", "<h3>One</h3><h6>Six</h6>"),
        ("a **b** ~~c~~  \nd", "<p>a <strong>b</strong> <s>c</s><br>d</p>"),
        ("- [x] a\n- c", "<ul><li>[x] a</li><li>c</li></ul>"),
        ("```py title\na < b\n```", '<pre class="code" data-language="py" tabindex="0"><code>a &lt; b</code></pre>'),
        ("    code <b>", '<pre class="code" tabindex="0"><code>code &lt;b&gt;</code></pre>'),
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
        (
            "[![pic](https://e.org/x.png)](https://e.org)",
            "https://e.org",
            '<span class="mention" title="https://e.org/x.png">pic</span>',
        ),
    ],
)
def test_links_lead_to_the_web_and_pictures_are_named(source, target, label):
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
    assert "href" not in markdown(source)


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


NUMBERS = [str(number) for number in range(30)]


@each(
    ("before", "after", "made"),
    [
        (None, "a\nb\n", ["@@ -0,0 +1,2 @@", "+a", "+b"]),
        ("a\n", None, ["@@ -1 +0,0 @@", "-a"]),
        ("a\n", "a\n", [""]),
        (None, "", [""]),
        ("a", "a\nb", ["@@ -1 +1,2 @@", " a", "+b"]),
        ("x\nx\n", "x\nx\nx\n", ["@@ -1,2 +1,3 @@", " x", " x", "+x"]),
    ],
)
def test_a_change_is_a_unified_diff(before, after, made):
    assert change_of(before, after).split("\n") == made


def test_changes_far_apart_are_hunks_of_their_own_with_three_lines_around_them():
    after = [*NUMBERS[:2], "two", *NUMBERS[3:25], *NUMBERS[26:]]
    change = change_of("\n".join(NUMBERS), "\n".join(after))
    assert change.split("\n") == [
        "@@ -1,6 +1,6 @@", " 0", " 1", "-2", "+two", " 3", " 4", " 5",
        "@@ -23,7 +23,6 @@", " 22", " 23", " 24", "-25", " 26", " 27", " 28",
    ]  # fmt: skip
    shown = code(f"--- a\n+++ a\n{change}", "diff")
    assert shown.count('class="gap"') == 4
    assert '<span class="line del">-25\n</span>' in shown
    assert '<span class="line"> 26\n</span>' in shown


@pytest.mark.timeout(10)
def test_two_long_texts_that_share_nothing_take_no_time():
    before = "".join(f"{number}\n" for number in range(20_000))
    assert change_of(before, before.replace("\n", "x\n")).count("\n") == 2 * 20_000
