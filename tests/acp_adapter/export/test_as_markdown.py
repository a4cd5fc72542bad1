"""A session as Markdown."""

from datetime import UTC

import yaml

from acp_adapter.export.markdown import to_markdown
from agent_core.events import AgentText, SaidText, UserSaid
from tests.support.sample_transcript import CWD, HOSTILE, SESSION_ID, TranscriptMaker, call, sample_transcript
from tools.result import ShownText, ToolResult


def made(*events, **values):
    maker = TranscriptMaker()
    maker.turn(events)
    return to_markdown(maker.made(**values), UTC)


def test_the_facts_stand_in_front_as_yaml():
    _, front, _ = to_markdown(sample_transcript(), UTC).split("---\n", 2)
    assert yaml.safe_load(front) == {
        "session": SESSION_ID,
        "title": "Why the sum is wrong",
        "cwd": CWD,
        "model": "anthropic:claude-sonnet-5",
        "created": "2026-09-21T14:13:20+00:00",
        "updated": "2026-09-21T14:20:52+00:00",
        "turns": 5,
        "tokens": {"input": 123456, "output": 4200, "cached": 98000},
        "cost_usd": 0.4321,
    }


def test_a_title_cannot_end_the_facts():
    front = made(title='x"\n---\n# y').split("---\n")[1]
    assert yaml.safe_load(front)["title"] == 'x"\n---\n# y'


def test_prompts_are_quoted_and_answers_are_as_they_were_written():
    text = to_markdown(sample_transcript(), UTC)
    assert (
        "\n## Turn 1\n\n2026-09-21 14:13 · 42 s · 12k tokens · $0.03\n\n> Why does test_add fail?\n> Please mend"
        in text
    )
    assert "\n| 2, 2 | 0 | 4 |\n" in text
    assert "> [sums.py](file:///srv/sums/sums.py)\n" in text
    assert "\n- [x] Find the reason\n- [>] Mend it\n- [-] Wait\n" in text


def test_cards_are_folded_with_their_diffs():
    text = to_markdown(sample_transcript(), UTC)
    assert (
        "<details><summary>✓ edit: Edit sums.py (2.1 s)</summary>\n\n```diff\n--- sums.py\n+++ sums.py\n@@ -11"
        in text
    )
    assert '-    return 3\n+    return "three" if <b>\n' in text
    assert "--- /dev/null\n+++ CHANGES.md\n@@ -0,0 +1,3 @@\n+# Changes\n" in text
    assert "<summary>✗ other: plugin_tool (failed)</summary>" in text
    assert "```text\ntests/test_sums.py .F\nE   assert 0 == 4\n100%\norange\n```\n\nexit code 1" in text


def test_how_a_turn_ended_is_said():
    text = to_markdown(sample_transcript(), UTC)
    assert "\n**Cancelled.**\n" in text
    assert "\n**The model server answered 503. Try again later.**\n" in text


def test_fences_hold_whatever_is_in_them():
    text = made(
        call("c", "plugin", {}, ToolResult("{}", (ShownText("```\n</details>\n````", "md"),))),
        AgentText("m", "```\nleft open"),
        UserSaid("u", (SaidText("next"),)),
    )
    assert "`````md\n```\n</details>\n````\n`````" in text
    assert "```\nleft open\n```\n\n> next" in text


def test_titles_and_control_characters_can_do_nothing():
    text = made(call("c", HOSTILE, {}, ToolResult("{}")), AgentText("m", "\x1b[31mred\x1b[0m\u202e"))
    assert "<summary>✓ other: &lt;/script&gt;&lt;/style&gt;" in text
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
