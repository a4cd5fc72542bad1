"""A server that cuts prompts is told from one that only counts in its own way."""

from dataclasses import replace

import pytest

from agent_core.compaction.tokens import CutPrompts
from agent_core.messages import user_message
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ServedWindow
from tests.support.choices import choice_for
from tests.support.each import each

HERE = choice_for("http://127.0.0.1:1/v1")
SYSTEM = {"role": "system", "content": "You are."}
WORDS = "word and another word " * 40  # about 200 tokens


def judged(*steps, window=None):
    """Whether each request in turn is called cut: (messages in all, estimate, what the server counted)."""
    cuts, found, choice = CutPrompts(), [], replace(HERE, context_length=window)
    for messages, sent, usage in steps:
        request = ModelRequest("test-model", [SYSTEM, *[user_message(WORDS)] * messages])
        cuts.counted(choice, request, usage if isinstance(usage, Usage) else Usage(usage), sent)
        found.append(cuts.is_cut)
    return found


@each(
    ("steps", "window"),
    [
        # More was sent than the window holds, and the server says that all was well.
        (((1, 9_000, 4_090),), 4_096),
        (((1, 5_000, 4_096),), 4_096),
        (((50, 20_000, 3_100),), 4_096),
        # The window is not known, and not even what was new was read.
        (((60, 20_000, None), (120, 32_000, 4_096)), None),
        # As much as before, though there is more.
        (((1, 6_000, 4_096), (10, 8_000, 4_096)), None),
        (((1, 60_000, 32_770), (20, 64_000, 32_770)), 65_536),
    ],
)
def test_cut_prompts_are_noticed(steps, window):
    assert judged(*steps, window=window)[-1]


@each(
    ("steps", "window"),
    [
        # All was counted; estimates err.
        (((1, 9_000, 7_000), (4, 9_600, 7_500)), None),
        (((1, 9_000, 14_000),), 32_768),
        (((1, 4_400, 4_050),), 4_096),
        # Nothing was counted.
        (((1, 9_000, None), (2, 9_500, 0)), 4_096),
        # Only what the cache did not have is counted, with or without the rest beside it.
        (((1, 9_000, 9_100), (4, 9_800, 700), (8, 11_000, 900)), None),
        (((1, 9_000, 560), (4, 9_800, 700), (8, 11_000, 1_300)), None),
        (((1, 9_000, Usage(300, cached_tokens=8_700)), (4, 9_800, Usage(600, cached_tokens=9_000))), None),
        # One that lost a part of its cache.
        (((1, 9_000, 9_000), (2, 9_300, 4_000), (3, 9_500, 240)), None),
        # A conversation that goes on in a new process: the server may have had all of it.
        (((40, 20_000, 900),), None),
        # Short ones.
        (((1, 2_000, 700),), 1_024),
    ],
)
def test_counts_of_other_kinds_are_not_called_cut(steps, window):
    assert not any(judged(*steps, window=window))


def test_requests_with_images_are_not_judged():
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}
    cuts = CutPrompts()
    choice = replace(HERE, context_length=4_096)
    cuts.counted(choice, ModelRequest("test-model", [SYSTEM, image]), Usage(4_000), 9_000)
    assert not cuts.is_cut


@pytest.mark.quirk(
    "Ollama",
    "cuts what does not fit into its window, and says nothing",
    "told once, with the command that makes the window larger",
)
def test_cut_prompts_are_told_with_the_command_that_helps():
    cuts = CutPrompts()
    choice = choice_for("http://127.0.0.1:11434/v1", provider="ollama", model="qwen3:8b", context_length=4_096)
    cuts.counted(choice, ModelRequest("qwen3:8b", [SYSTEM, user_message(WORDS)]), Usage(4_096), 9_000)
    told = cuts.words(choice, ServedWindow("ollama", 4_096, 40_960))
    assert "has read only 4,096 of about 9,000 tokens" in told
    assert "OLLAMA_CONTEXT_LENGTH=32768 ollama serve" in told
