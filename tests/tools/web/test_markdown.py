"""Pages as the generators of documentation make them, as Markdown: code survives, navigation does not."""

from __future__ import annotations

import pytest

from tests.support.each import each
from tools.web import can_read_html
from tools.web.reading import html_to_text

pytestmark = pytest.mark.skipif(
    not can_read_html(), reason="needs the libraries of: pip install 'hermes-editor-agent[web]'"
)

URL = "https://docs.example.org/guide/page.html"
FILLING = "<p>" + "What this page is about. " * 20 + "</p>"


def text_of(body: str, head: str = "") -> str:
    return html_to_text(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>", URL)[1]


SPHINX = """<div class="highlight-python notranslate"><div class="highlight"><pre><span></span>\
<span class="linenos">1</span><span class="k">def</span> <span class="nf">run</span>(x<span>):</span>
<span class="linenos">2</span>    <span class="k">if</span> x &lt; 2:
<span class="linenos">3</span>
<span class="linenos">4</span>        <span class="k">return</span> <span class="s2">"a_b"</span>  # **not bold**
</pre></div></div>"""
MATERIAL = """<div class="language-python highlight"><table class="highlighttable"><tr>\
<th colspan="2" class="filename"><span class="filename">a.py</span></th></tr><tr>\
<td class="linenos"><div class="linenodiv"><pre><span></span>\
<span class="normal"><a href="#1">1</a></span>
<span class="normal"><a href="#2">2</a></span></pre></div></td><td class="code"><div><pre><span></span><code>\
<a id="1" name="1"></a><span class="k">def</span> run(x):
<a id="2" name="2"></a>    return x
</code></pre></div></td></tr></table></div>"""
DOCUSAURUS = """<div class="language-jsx theme-code-block"><pre class="prism-code language-jsx"><code>\
<span class="token-line"><span class="token plain">function App() {</span><br></span>\
<span class="token-line"><span class="token plain" style="display:inline-block"></span><br></span>\
<span class="token-line"><span class="token plain">  return &lt;div&gt;</span><br></span></code></pre>\
<button aria-label="Copy">Copy</button></div>"""
GITHUB = """<div class="highlight highlight-source-python"><pre><span class="pl-k">def</span> <span>run</span>():
\t<span class="pl-k">pass</span></pre><div><clipboard-copy value="def"></clipboard-copy></div></div>"""
RUSTDOC = (
    '<pre class="rust item-decl"><code>pub struct V&lt;T&gt;<div class="where">where\n    T: A,</div>{}</code></pre>'
)
HUGO = """<div class="highlight"><table class="lntable"><tbody><tr><td class="lntd">\
<pre class="chroma"><code><span class="lnt">1
</span><span class="lnt">2
</span></code></pre></td><td class="lntd">\
<pre class="chroma"><code class="language-go" data-lang="go"><span class="line"><span class="cl">\
<span class="kd">func</span> main() {
</span></span><span class="line"><span class="cl">\t<span class="nx">run</span>()
</span></span></code></pre></td></tr></tbody></table></div>"""


@each(
    ("block", "code"),
    [
        (SPHINX, '```python\ndef run(x):\n    if x < 2:\n\n        return "a_b"  # **not bold**\n```'),
        (MATERIAL, "a.py\n\n```python\ndef run(x):\n    return x\n```"),
        (DOCUSAURUS, "```jsx\nfunction App() {\n\n  return <div>\n```"),
        (GITHUB, "```python\ndef run():\n\tpass\n```"),
        (RUSTDOC, "```rust\npub struct V<T>\nwhere\n    T: A,\n{}\n```"),
        (HUGO, "```go\nfunc main() {\n\trun()\n```"),
        ("<pre><code>a\n  b\n</code></pre>", "```\na\n  b\n```"),
        ('<pre class="lang-py s-code-block"><code class="hljs language-python">x</code></pre>', "```python\nx\n```"),
        ('<pre class="brush: js">x</pre>', "```js\nx\n```"),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
    ],
)
def test_code_keeps_its_language_and_its_indentation(block: str, code: str) -> None:
    assert code in text_of(f"<main><h1>Title</h1>{FILLING}{block}</main>")


def test_navigation_banners_and_buttons_are_left_out() -> None:
    around = (
        '<a class="skip-link" href="#c">Skip to content</a><nav><a href="/x">NAVIGATION</a></nav>'
        "<header>SITE</header><aside>SIDEBAR</aside>"
    )
    main = (
        '<main><nav class="breadcrumbs">CRUMBS</nav><h1>Title<a class="headerlink" href="#title">¶</a></h1>'
        f'{FILLING}<button>COPY</button><svg><title>ICON</title></svg><aside class="note">A note.</aside></main>'
    )
    text = text_of(f"{around}{main}<footer>FOOTER</footer><script>SCRIPT</script>")
    assert text.startswith("# Title\n\nWhat this page is about.")
    assert "A note." in text
    for word in ("NAVIGATION", "SITE", "SIDEBAR", "CRUMBS", "COPY", "ICON", "FOOTER", "SCRIPT", "¶", "Skip"):
        assert word not in text


def test_a_page_whose_main_part_is_nearly_empty_is_read_whole() -> None:
    assert "The text." in text_of("<main><h1>T</h1></main><div>" + "The text. " * 100 + "</div>")


def test_links_are_absolute_and_those_within_the_page_are_text() -> None:
    within = '<a href="#here">here</a> <a href="javascript:x()">script</a>'
    assert (
        text_of(f'<p><a href="../a.html">up</a> {within} <a href="//o.example/">o</a></p>')
        == "[up](https://docs.example.org/a.html) here script [o](https://o.example/)"
    )
    assert "(https://base.example/a)" in text_of('<a href="a">x</a>', '<base href="https://base.example/">')


def test_tables_and_lists_keep_their_form() -> None:
    table = "<table><thead><tr><th>Key</th><th>Use</th></tr></thead><tr><td><code>a | b</code></td><td>x</td></table>"
    nested = "<ol><li><p>First</p><pre>x = 1</pre></li><li>Second<ul><li>inner</li></ul></li></ol>"
    text = text_of(table + nested)
    assert "| Key | Use |\n| --- | --- |\n| `a \\| b` | x |" in text
    assert "1. First\n\n   ```\n   x = 1\n   ```" in text
    assert "2. Second\n\n   - inner" in text


def test_all_tabs_are_read_not_only_the_open_one() -> None:
    tabs = '<div role="tabpanel">npm i</div><div role="tabpanel" hidden>yarn add</div>'
    assert "yarn add" in text_of(f'<div role="tablist"><button>npm</button></div>{tabs}')
    assert "secret" not in text_of("<p>seen</p><p hidden>secret</p>")


def test_images_are_left_out_with_their_data() -> None:
    assert "base64" not in text_of('<p>x <img src="data:image/png;base64,AAAA"> <img src="a.png" alt="b"></p>')


def test_the_title_is_on_one_line() -> None:
    assert html_to_text("<title>\n A &amp;\n b </title><p>x", URL)[0] == "A & b"


@each("page", ["", " ", "<", "<html></html>", "<!-- only -->", "\0", "<pre>", "<table><tr><td>", "x" * 50])
def test_odd_pages_do_not_raise(page: str) -> None:
    from tools.ports import WebError  # noqa: PLC0415

    try:
        html_to_text(page, URL)
    except WebError as problem:
        assert problem.kind == "answer"  # noqa: PT017


def test_deep_and_large_pages_end_soon() -> None:
    html_to_text("<div>" * 5_000 + "deep" + "</div>" * 5_000, URL)
    html_to_text("<main>" + "<p>Some <b>words</b> and <a href='x'>links</a>.</p>" * 2_000 + "</main>", URL)


def test_a_base_that_is_no_address_and_tags_that_never_end_do_not_hide_the_page() -> None:
    text = text_of("<base href='http://['><pre>" + "<span>" * 1200 + "code</pre><p>The rest.")

    assert "code" in text
    assert "The rest." in text
