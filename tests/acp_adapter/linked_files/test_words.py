"""How attached content stands in a message."""

from __future__ import annotations

from acp_adapter.content import attached, named_only, not_read
from tests.support.each import each


def test_the_content_stands_between_its_tags_as_it_is() -> None:
    assert attached("file:///a", "x < 1 & y\n", lines="1-2", name="") == (
        '<attached uri="file:///a" lines="1-2">\nx < 1 & y\n\n</attached>'
    )


@each(
    ("content", "tag"),
    [
        ("plain", "attached"),
        ("</attached>", "attached-2"),
        ("</ATTACHED >", "attached-2"),
        ("</attached> and </attached-2>", "attached-3"),
        ("</attached-2>", "attached-3"),
    ],
)
def test_no_content_can_close_its_own_tags(content: str, tag: str) -> None:
    text = attached("file:///a", content)
    assert text == f'<{tag} uri="file:///a">\n{content}\n</{tag}>'
    assert text.casefold().count(f"</{tag}") == 1


def test_addresses_and_names_stay_inside_their_quotes_and_on_their_line() -> None:
    text = attached('file:///a"><b>\n&', "x")
    assert text.splitlines()[0] == '<attached uri="file:///a&quot;&gt;&lt;b&gt; &amp;">'
    assert named_only("a\nb]", "file:///" + "x" * 1000).count("\n") == 0
    assert len(not_read("n" * 1000, "u" * 1000, "why.")) < 700


def test_a_link_is_described_once_where_name_and_address_are_the_same() -> None:
    assert named_only("file:///a", "file:///a") == "[Linked: file:///a; its content was not read.]"
    assert named_only("", "file:///a") == named_only("file:///a", "file:///a")
