"""What a page is about, without what surrounds it; its blocks of code."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from lxml import etree, html
from lxml.html import HtmlElement

# Code in pages: each site shows it its own way, with colours, line numbers and tables; here it is text again.

# How much of a page's tree above a block may name its language.
_ABOVE = 4
# A title, and the code.
_MOST_ROWS = 2
_NAMED = re.compile(
    r"^(?:language|lang|highlight-source|highlight-text|highlight|brush|sourceCode)[-:](.+)$", re.IGNORECASE
)
_AFTER = re.compile(r"(?:^|\s)(?:brush:\s*|sourceCode\s+|hljs\s+)([\w+#-]+)")
_NOT_LANGUAGES = frozenset(
    {"none", "default", "notranslate", "text", "plaintext", "plain", "nohighlight", "block", "wrapper", "copy"}
    | {"container"}
)
_NAMES = {
    "ipython3": "python",
    "python3": "python",
    "pycon": "pycon",
    "shell-session": "console",
    "c-sharp": "csharp",
}
_BARE = frozenset(
    {
        "bash",
        "c",
        "console",
        "cpp",
        "css",
        "go",
        "html",
        "java",
        "javascript",
        "js",
        "json",
        "kotlin",
        "php",
        "python",
    }
    | {"ruby", "rust", "sh", "shell", "sql", "swift", "toml", "ts", "typescript", "xml", "yaml"}
)
_LINE_NUMBERS = re.compile(
    r"(?:^|\s)(?:linenos|lineno|linenodiv|line-numbers?|line-number|ln|lnt|gutter|rouge-gutter|blob-num|hljs-ln-n|"
    r"react-syntax-highlighter-line-number|line-numbers-rows)(?:\s|$)"
)
_LINES = re.compile(r"(?:^|\s)(?:token-line|code-line|view-line|ec-line|react-code-line)(?:\s|$)")
_BLOCKS = frozenset({"div", "p", "li", "tr"})


def make_plain(page: HtmlElement) -> None:
    """Change `page` so that each code block is `<pre><code class="language-…">` with nothing but text in it."""
    for table in list(page.iter("table")):
        _without_table(table)
    for block in list(page.iter("pre")):
        if block.getparent() is not None and next(block.iterancestors("pre"), None) is None:
            _rewrite(block)


def _without_table(table: HtmlElement) -> None:
    """Line numbers in the first column and all the code in the second: only the code stays."""
    blocks = [block for block in table.iter("pre") if not _is_numbers(block) and not _is_digits(block)]
    if len(blocks) != 1 or table.getparent() is None or _has_more(table, blocks[0]):
        return
    block = blocks[0]
    language = _language(block) or _language(table)
    _detached(block)
    if language:
        block.set("class", f"language-{language}")
    title = next((cell for cell in table.iter("th")), None)
    if title is not None and (name := "".join(title.itertext()).strip()):
        paragraph = etree.Element("p")
        paragraph.text = name
        table.addprevious(paragraph)
    _put_in_place(table, block)


def _has_more(table: HtmlElement, block: HtmlElement) -> bool:
    """Whether there is text beside the code and its line numbers: then it is a table."""
    row = next(block.iterancestors("tr"), None)
    if row is None or sum(1 for _ in table.iter("tr")) > _MOST_ROWS:
        return True
    own = set(block.iterancestors())
    return any(cell not in own and not _is_digits(cell) for cell in row)


def _is_digits(element: HtmlElement) -> bool:
    return not re.search(r"[^\d\s]", "".join(element.itertext()))


def _rewrite(block: HtmlElement) -> None:
    language = _language(block)
    parts: list[str] = []
    try:
        _collect(block, parts)
    except RecursionError:  # nobody nests code so deep, but for pages that never close a tag
        parts = list(block.itertext())
    text = "".join(parts).replace("\xa0", " ").strip("\n")
    plain, code = etree.Element("pre"), etree.Element("code")
    if language:
        code.set("class", f"language-{language}")
    # What XML cannot hold came out of a character reference.
    code.text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", text)
    plain.append(code)
    _put_in_place(block, plain)


def _collect(element: HtmlElement, out: list[str]) -> None:
    """Append the text in `element`; what is a line of its own begins and ends one."""
    out.append(element.text or "")
    for child in element:
        if child.tag == "br":
            out.append("\n")
        elif isinstance(child.tag, str) and not _is_numbers(child):
            is_line = child.tag in _BLOCKS or _LINES.search(child.get("class") or "") is not None
            if is_line and not _at_line_start(out):
                out.append("\n")
            before = len(out)
            _collect(child, out)
            is_ended = any(out[before:]) and _at_line_start(out)
            if is_line and not is_ended and not (child.tail or "").startswith("\n"):
                out.append("\n")
        out.append(child.tail or "")


def _at_line_start(parts: list[str]) -> bool:
    last = next((part for part in reversed(parts) if part), "\n")
    return last.endswith("\n")


def _is_numbers(element: HtmlElement) -> bool:
    return isinstance(element.tag, str) and (
        _LINE_NUMBERS.search(element.get("class") or "") is not None
        or element.tag in {"button", "script", "style", "svg", "clipboard-copy"}
        or element.get("aria-hidden") == "true"
        or (element.getparent() is not None and (element.getparent().get("class") or "") in {"linenodiv", "lineno"})
    )


def _language(block: HtmlElement) -> str:
    code = block.find("code")
    above = [element for element, _ in zip(block.iterancestors(), range(_ABOVE), strict=False)]
    for element in (*(() if code is None else (code,)), block, *above):
        if element.tag in {"body", "main", "article"}:
            break
        if found := _named(element):
            return found
    return ""


def _named(element: HtmlElement) -> str:
    for attribute in ("data-lang", "data-language"):
        if told := _usable(element.get(attribute) or ""):
            return told
    classes = element.get("class") or ""
    for name in classes.split():
        if (found := _NAMED.match(name)) and (told := _usable(found[1])):
            return told
    if element.tag in {"pre", "code"} and (bare := next((name for name in classes.split() if name in _BARE), "")):
        return bare
    found = _AFTER.search(classes)
    return _usable(found[1]) if found else ""


def _usable(name: str) -> str:
    lowered = name.strip().lower().rstrip(";")
    lowered = _NAMES.get(lowered, lowered)
    return lowered if re.fullmatch(r"[a-z][\w+#.-]{0,20}", lowered) and lowered not in _NOT_LANGUAGES else ""


def _detached(element: HtmlElement) -> None:
    """Take it out of the tree; the text after it goes with it."""
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
    element.tail = None


def _put_in_place(old: HtmlElement, new: HtmlElement) -> None:
    parent = old.getparent()
    if parent is None:
        return
    new.tail = old.tail
    parent.replace(old, new)


# What a page is about, without what stands around it: navigation, banners, buttons, permalinks.

# Less text than this share of the page is not what the page is about.
_LEAST_SHARE = 0.25
_LEAST_CHARS = 200
_NEVER = ("script", "style", "noscript", "template", "svg", "button", "iframe", "object", "select", "clipboard-copy")
_AROUND = ("nav", "footer", "aside")
_ROLES = frozenset({"navigation", "search", "banner", "contentinfo", "complementary", "dialog", "tablist"})
_MARKS = re.compile(
    r"(?:^|\s)(?:headerlink|hash-link|anchorjs-link|heading-anchor|header-anchor|permalink|doc-anchor|anchor-link|"
    r"sr-only|visually-hidden|skip-?link|skip-?to-?content\w*|skip-to|breadcrumbs?|toc-drawer|theme-doc-toc\w*|"
    r"table-of-contents|md-source-file|edit-this-page|theme-edit-this-page|pagination-nav|prev-next-area|"
    r"related-pages|back-to-top|cookie-?banner|cookie-?consent|md-content__button|votecell|js-vote-count|"
    r"codeBlockTitle-copy|copybtn)(?:\s|$)",
    re.IGNORECASE,
)
_SIGNS = frozenset({"¶", "#", "§", "🔗", "", "\u200b", "link", "permalink"})
_MAINS = ("//main", "//*[@role='main']", "//article", "//*[@id='content' or @id='main-content' or @id='main']")


def clean(text: str, url: str) -> tuple[str, str]:
    """The title, and the part of the page (HTML) that it is about; links are absolute.

    Raises:
        ValueError: it holds no element.
    """
    page = _parsed(text)
    title = _title(page)
    base = page.xpath("string(//base/@href)")
    url = _joined(url, base) or url
    _drop(page, _NEVER)
    main = _main(page)
    _drop_around(main)
    _tidy(main, url)
    make_plain(main)
    return title, html.tostring(main, encoding="unicode", with_tail=False)


def _joined(url: str, reference: str) -> str:
    """The address that `reference` stands for; '' where it is none."""
    try:
        return urljoin(url, reference.strip())
    except ValueError:
        return ""


def _parsed(text: str) -> HtmlElement:
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        page = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser, ensure_head_body=False)
    except (etree.ParserError, etree.XMLSyntaxError) as problem:
        raise ValueError(str(problem)) from problem
    return page


def _title(page: HtmlElement) -> str:
    return " ".join(str(page.xpath("string(//title[1])")).split())


def _drop(page: HtmlElement, tags: tuple[str, ...]) -> None:
    for element in list(page.iter(*tags)):
        if element.getparent() is not None:
            element.drop_tree()


def _main(page: HtmlElement) -> HtmlElement:
    """The largest part that calls itself the main one; the whole page where none is large enough."""
    body = page.find("body")
    whole = body if body is not None else page
    enough = min(max(_size(whole) * _LEAST_SHARE, 1), _LEAST_CHARS)
    for path in _MAINS:
        found = max(page.xpath(path), key=_size, default=None)
        if found is not None and _size(found) >= enough:
            return found
    return whole


def _size(element: HtmlElement) -> int:
    return len("".join(element.itertext()).strip())


def _drop_around(main: HtmlElement) -> None:
    for element in list(main.iter()):
        parent = element.getparent()
        if element is main or parent is None or not isinstance(element.tag, str):
            continue
        if _is_around(element, main):
            element.drop_tree()


def _is_around(element: HtmlElement, main: HtmlElement) -> bool:
    if element.tag in {"html", "body", "main", "pre", "code"} or not _looks_around(element, main):
        return False
    return next(element.iterancestors("pre"), None) is None


def _looks_around(element: HtmlElement, main: HtmlElement) -> bool:
    if element.tag in _AROUND:
        # Notes of the text are asides too.
        return element.tag != "aside" or main.tag in {"body", "html"} or element.find(".//nav") is not None
    if element.tag == "header" and main.tag in {"body", "html"}:
        return next(element.iter("h1"), None) is None
    if not element.attrib:
        return False
    if (element.get("role") or "") in _ROLES:
        return True
    if element.get("hidden") is not None and element.get("role") != "tabpanel":
        return True
    return _MARKS.search(element.get("class") or "") is not None or _is_permalink(element)


def _is_permalink(element: HtmlElement) -> bool:
    if element.tag != "a" or element.find(".//img") is not None:
        return False
    href = element.get("href") or ""
    return href.startswith("#") and "".join(element.itertext()).strip().lower() in _SIGNS


def _tidy(main: HtmlElement, url: str) -> None:
    for panel in main.xpath(".//*[@role='tabpanel']"):
        # All tabs are read, not only the one that a browser opens with.
        panel.attrib.pop("hidden", None)
    for element in main.iter("a"):
        href = (element.get("href") or "").strip()
        element.attrib.pop("title", None)
        # A place in this same page is reached by reading on.
        if not href or href.startswith(("#", "javascript:", "data:")):
            element.attrib.pop("href", None)
            continue
        if joined := _joined(url, href):
            element.set("href", joined)
        else:
            element.attrib.pop("href", None)
    for element in main.iter("summary", "abbr"):
        element.tag = "div" if element.tag == "summary" else "span"
        element.attrib.pop("title", None)
