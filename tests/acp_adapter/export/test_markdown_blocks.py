"""Markdown as HTML: the blocks."""

import pytest

from acp_adapter.export.markup import markdown
from tests.support.each import each


@each(
    ("source", "made"),
    [
        ("", ""),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        ("# One\n###### Six ##", "<h3>One</h3><h6>Six</h6>"),
        ("#hashtag", "<p>#hashtag</p>"),
        ("a\n# b", "<p>a</p><h3>b</h3>"),
        ("---\n* * *", "<hr><hr>"),
        ("> a\n> > b\n\nc", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"),
        ("    code <b>\n\n    more", '<pre class="code"><code>code &lt;b&gt;\n\nmore</code></pre>'),
        ("a  \nb", "<p>a<br>b</p>"),
        ("<b>raw</b> & <script>", "<p>&lt;b&gt;raw&lt;/b&gt; &amp; &lt;script&gt;</p>"),
    ],
)
def test_blocks_become_elements(source, made):
    assert markdown(source) == made


@each(
    ("source", "made"),
    [
        (
            "```py title\na < b\n```\nrest",
            '<pre class="code" data-language="py"><code>a &lt; b</code></pre><p>rest</p>',
        ),
        ("````\n```\nx\n```\n````", '<pre class="code"><code>```\nx\n```</code></pre>'),
        ("~~~\n```\n~~~", '<pre class="code"><code>```</code></pre>'),
        ("```\nnever closed\n# x", '<pre class="code"><code>never closed\n# x</code></pre>'),
        ('```"><script>\nx\n```', '<pre class="code" data-language="&quot;&gt;&lt;script&gt;"><code>x</code></pre>'),
    ],
)
def test_code_stays_as_it_was_written(source, made):
    assert markdown(source) == made


@each(
    ("source", "made"),
    [
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("3) a", '<ol start="3"><li>a</li></ol>'),
        ("- a\n  - b\n    - c\n- d", "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li><li>d</li></ul>"),
        ("- a\n\n  more\n- b", "<ul><li><p>a</p><p>more</p></li><li><p>b</p></li></ul>"),
        ("- a\nlazy", "<ul><li>a\nlazy</li></ul>"),
        ("- a\n\nafter", "<ul><li>a</li></ul><p>after</p>"),
        ("- a\n* b", "<ul><li>a</li></ul><ul><li>b</li></ul>"),
        ("- [x] a\n- [ ] b", '<ul><li><span class="box">☑ </span>a</li><li><span class="box">☐ </span>b</li></ul>'),
        ("1. a\n   ```\n   x\n   ```\n2. b", '<ol><li>a<pre class="code"><code>x</code></pre></li><li>b</li></ol>'),
        ("text\n- a", "<p>text</p><ul><li>a</li></ul>"),
        ("born in\n1984. It was", "<p>born in\n1984. It was</p>"),
        ("-", "<ul><li></li></ul>"),
    ],
)
def test_lists_nest_by_their_indentation(source, made):
    assert markdown(source) == made


def test_a_table_has_a_head_and_sides_and_is_filled_up():
    made = markdown("| a | b `x\\|y` |\n|:-:|--:|\n| 1 |\n| 2 | 3 | 4 |\n\nend")
    assert made == (
        '<div class="table"><table><thead><tr><th class="centre">a</th><th class="right">b <code>x|y</code></th></tr>'
        '</thead><tbody><tr><td class="centre">1</td><td class="right"></td></tr>'
        '<tr><td class="centre">2</td><td class="right">3</td></tr></tbody></table></div><p>end</p>'
    )


def test_a_line_with_a_bar_is_no_table():
    assert markdown("a | b\nc | d") == "<p>a | b\nc | d</p>"


@pytest.mark.parametrize(
    "source",
    [
        "*a " * 4_000,
        "**a _b " * 4_000,
        "[" * 4_000,
        "[a](" * 4_000,
        f"[a]({'y' * 50_000}",
        "".join("`" * (length % 300) + "x" for length in range(2_000)),
        ">" * 4_000,
        "- " * 4_000,
        "\n".join(" " * depth + "- x" for depth in range(500)),
        f"- a{chr(10) * 20_000}b",
        "- a\n\n" * 3_000,
        "|a" * 3_000 + "\n" + "|-" * 3_000,
        "https://" * 3_000,
    ],
    ids=lambda source: repr(source[:8]),
)
@pytest.mark.timeout(10)
def test_no_text_takes_long(source):
    assert markdown(source)
