"""Code fences in Markdown."""

from acp_adapter.export.markdown import closed, fenced
from tests.support.each import each


def test_a_fence_is_longer_than_any_inside():
    assert fenced("a\n```` x\n```\n", "md") == "`````md\na\n```` x\n```\n`````"
    assert fenced("plain") == "```\nplain\n```"


@each(
    ("text", "made"),
    [
        ("a", "a"),
        ("```py\na", "```py\na\n```"),
        ("```\na\n```", "```\na\n```"),
        ("~~~~\n```\n~~~\n", "~~~~\n```\n~~~\n~~~~"),
        ("```\na\n``` b", "```\na\n``` b\n```"),
        ("``` not ` a fence", "``` not ` a fence"),
    ],
)
def test_a_fence_that_was_left_open_is_closed(text, made):
    assert closed(text) == made
