"""What a page is about, without what stands around it: navigation, banners, buttons, permalinks."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from lxml import etree, html
from lxml.html import HtmlElement

from tools.web.page_code import make_plain

# Less text than this share of the page is not what the page is about.
_LEAST_SHARE = 0.25
_LEAST_CHARS = 200
_MAX_DEPTH = 500
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
