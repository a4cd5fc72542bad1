"""Markdown within a line as HTML."""

from acp_adapter.export.markup import inline
from tests.support.each import each


@each(
    ("source", "made"),
    [
        ("a *b* **c** _d_ __e__ ~~f~~", "a <em>b</em> <strong>c</strong> <em>d</em> <strong>e</strong> <del>f</del>"),
        ("***both***", "<strong><em>both</em></strong>"),
        ("**a *b* c**", "<strong>a <em>b</em> c</strong>"),
        ("snake_case_name and __init__.py", "snake_case_name and <strong>init</strong>.py"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("*never closed **nor this", "*never closed **nor this"),
        ("*a **b* c**", "<em>a **b</em> c**"),
        (r"\*not\* \<b\>", "*not* &lt;b&gt;"),
        ("`a*b*` ``x`y`` `` ` ``", "<code>a*b*</code> <code>x`y</code> <code>`</code>"),
        ("`open *a*", "`open <em>a</em>"),
        ("a\\\nb", "a<br>b"),
        ("<i> & \"q\" 'q'", "&lt;i&gt; &amp; &quot;q&quot; &#x27;q&#x27;"),
        ("\x1b[31mred\x07 \u202eback", "red back"),
        ("half \ud800", "half \ufffd"),
    ],
)
def test_marks_become_elements(source, made):
    assert inline(source) == made


@each(
    ("source", "target", "label"),
    [
        ("[a *b*](https://e.org/x)", "https://e.org/x", "a <em>b</em>"),
        ('[a](https://e.org/x "title")', "https://e.org/x", "a"),
        ("[a](https://e.org/x_(y))", "https://e.org/x_(y)", "a"),
        ("<https://e.org/?a=1&b=2>", "https://e.org/?a=1&amp;b=2", "https://e.org/?a=1&amp;b=2"),
        ("<mailto:a@e.org>", "mailto:a@e.org", "a@e.org"),
        ("https://e.org/a_b_c", "https://e.org/a_b_c", "https://e.org/a_b_c"),
        ("![a picture](https://e.org/x.png)", "https://e.org/x.png", "a picture"),
    ],
)
def test_links_lead_to_the_web(source, target, label):
    assert inline(source) == f'<a href="{target}" rel="noopener noreferrer nofollow" target="_blank">{label}</a>'


def test_a_sentences_full_stop_is_no_part_of_an_address():
    assert inline("See https://e.org/a.").endswith("https://e.org/a</a>.")


@each(
    "target",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "src/a.py",
    ],
)
def test_what_is_no_address_on_the_web_is_no_link(target):
    made = inline(f"[a]({target})")
    assert "href" not in made
    assert made.startswith('<span class="place" title="')


def test_an_address_cannot_end_its_attribute():
    made = inline('[a](https://e.org/"onmouseover="alert(1))')
    assert 'href="https://e.org/&quot;onmouseover=&quot;alert(1)"' in made
