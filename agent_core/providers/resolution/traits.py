"""What a model's name alone tells of it. Names change with every month; what is unknown is taken for usual."""

from __future__ import annotations

import re

_GPT = re.compile(r"gpt-(\d+)(?![\d])")
_OLD_AZURE_NAME = 35
_FIRST_REASONING_GPT = 5
_O_SERIES = re.compile(r"o[1-9](?:-|$)")
_CLAUDE = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)")
# https://platform.claude.com/docs/en/about-claude/models/migration-guide: no sampling from Opus 4.7 on.
_LAST_CLAUDE_WITH_TEMPERATURE = (4, 6)
# https://developers.openai.com/api/docs/guides/audio-chat-completions and https://ai.google.dev/gemini-api/docs/audio.
# The second names no models: that it is all pro and flash ones since 1.5 is what the data's entries have in common.
_HEARS = re.compile(
    r"gpt-audio(?:-|$)|gpt-4o-(?:mini-)?audio-preview|"
    r"gemini-(?:1\.5|[2-9](?:\.\d)?)-(?:pro|flash|flash-lite)(?:-latest|-\d{3}|-preview(?:-[\d-]+)?)?$"
)
_REASONING = re.compile(
    r"(?<!non-)(?:reason|think)|(?:^|[-/:_.])r1(?:[-:]|$)|qwq|gpt-oss|magistral|kimi-k[2-9]|glm-(?:4\.[5-9]|[5-9])|minimax-m"
)
# Models that think between their calls, wherever they are hosted: https://api-docs.deepseek.com/guides/thinking_mode,
# https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model, https://docs.z.ai/guides/capabilities/thinking-mode,
# https://platform.xiaomimimo.com/docs/en-US/usage-guide/passing-back-reasoning_content.
_THINKS_BETWEEN_CALLS = (
    r"deepseek[-_.]?(?:v(?:3[-.p_]?[2-9]|[4-9]|\d\d)(?!\d)|reasoner|chat)"
    r"|kimi-(?:k2(?:[-.p_][5-9]|-thinking)|k[3-9]|thinking|latest|for-coding)"
    r"|(?<![a-z])glm-(?:4[-.p_])?[5-9](?![\db])"
    r"|mimo-v[2-9]"
)
# Their chat templates end the prompt with `<think>`.
_BEGINS_IN_THOUGHTS = r"deepseek-r1|(?:^|[-/:])r1-|qwq|qwen\d?[\w.-]*-thinking|nemotron[\w.-]*-reasoning"
# https://ai.google.dev/gemini-api/docs/thought-signatures: from Gemini 3 on calls without one are refused.
_SIGNS_CALLS = r"gemini-(?:[3-9]|\d\d|(?:pro|flash|flash-lite)-latest)"


def is_gpt_5_class(model: str) -> bool:
    """GPT-5 and later: OpenAI serves them with tools only through its Responses API."""
    name = _GPT.match(_bare(model))
    return name is not None and int(name[1]) >= _FIRST_REASONING_GPT and int(name[1]) != _OLD_AZURE_NAME


def is_openai_reasoning(model: str) -> bool:
    """OpenAI's o-series, GPT-5 and later."""
    return is_gpt_5_class(model) or _O_SERIES.match(_bare(model)) is not None


def takes_temperature(model: str) -> bool:
    """Whether a temperature may be sent. Models with a fixed one refuse the request otherwise.

    OpenAI's reasoning models, Moonshot's `kimi-*`, Claude from Opus 4.7 on.
    """
    name = _bare(model)
    if is_openai_reasoning(name) or name.startswith("kimi-"):
        return False
    claude = _CLAUDE.search(name)
    return claude is None or _version(claude) <= _LAST_CLAUDE_WITH_TEMPERATURE


def is_known_to_hear(model: str) -> bool:
    """Whether the name is one of those that their makers document to take recordings."""
    return _HEARS.match(_bare(model).partition(":")[0]) is not None


def seems_to_reason(model: str) -> bool:
    """Whether the name speaks of a model that thinks for a while before it answers."""
    return is_openai_reasoning(model) or _REASONING.search(model.lower()) is not None


def insists_on_reasoning(model: str) -> bool:
    """Whether the name is one of a family that refuses its tool calls without the reasoning before them."""
    return _is_one(model, ("deepseek", "kimi", "glm", "mimo"), _THINKS_BETWEEN_CALLS)


def insists_on_signatures(model: str) -> bool:
    """Whether the name is one of a family that refuses tool calls without its signature."""
    return _is_one(model, ("gemini",), _SIGNS_CALLS)


def seems_to_begin_in_thoughts(model: str) -> bool:
    """Whether the name is one of a model whose template writes the tag that its thoughts begin with."""
    return _is_one(model, ("r1", "qwq", "thinking", "reasoning"), _BEGINS_IN_THOUGHTS)


def _is_one(model: str, words: tuple[str, ...], form: str) -> bool:
    """Whether the name is of this form; it is only compiled for a name that has one of the words."""
    name = model.lower()
    return any(word in name for word in words) and re.search(form, name) is not None


def _bare(model: str) -> str:
    return model.lower().rpartition("/")[2]


def _version(claude: re.Match[str]) -> tuple[int, int]:
    return int(claude["major"]), int(claude["minor"] or 0)
