"""The layer for the model's family: what models of one kind tend to forget. Each sentence answers such a habit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from agent_core.prompt.guidance import SUB_AGENT

Family = Literal["gpt", "claude", "gemini", "open", "small", "default"]
FAMILIES: tuple[Family, ...] = get_args(Family)

_SMALL_BILLIONS = 14.0
_SIZE = re.compile(r"(?<![a-z\d.])(\d{1,4}(?:\.\d{1,2})?)b(?![a-z\d])")
_NAMES: tuple[tuple[Family, re.Pattern[str]], ...] = (
    ("open", re.compile(r"gpt-oss|gemma")),
    ("gpt", re.compile(r"gpt|codex|(?:^|[/:.])o[1-9](?:$|-)")),
    ("claude", re.compile(r"claude|(?:^|[/:.-])(?:opus|sonnet|haiku)")),
    ("gemini", re.compile(r"gemini")),
    (
        "open",
        re.compile(
            r"qwen|qwq|deepseek|glm|kimi|moonshot|minimax|llama|mistral|mixtral|devstral|codestral|magistral|ministral"
            r"|hermes|granite|command-|nemotron|phi-?\d|olmo|starcoder|yi-|seed-oss|step-\d|ernie|falcon|smollm"
        ),
    ),
)

# Models that describe what they would do, and stop there.
_ACT = """\
- When you say that you will do something, call the tool for it in the same answer. Never end with a promise.
- Never make up the content of a file, a path, an output or a test result: look, with a tool."""
_CARRY_ON = (
    "- Go on until what was asked is done and checked; end the turn only then, or when only the user can help."
)
# What a sub-agent, which has no user, is told in place of these words.
_OF_SUB_AGENT: Mapping[str, str] = {
    "end the turn only then, or when only the user can help": "end only then, or when you cannot go on",
    "say what you assumed; ask only where a wrong guess would cost the user work": "say what you assumed",
    "- Answer in the language that the user writes in.": "- Answer in the language of the task.",
}

_TEXTS: Mapping[Family, str] = {
    "gpt": f"""\
{_ACT}
{_CARRY_ON}
- Decide small things yourself and say what you assumed; ask only where a wrong guess would cost the user work.
- Change files with patch or write_file, not with scripts or here-documents in the terminal.""",
    "claude": f"""\
{_CARRY_ON}
- Do what was asked and no more: no extra files, documents, options or refactoring beside it.
- Report what you saw: a test that fails, or was not run, is said to be so. Never weaken a test to make it pass.""",
    "gemini": f"""\
{_ACT}
{_CARRY_ON}
- Give full paths, as a tool told you them; read a file again before a second edit of the same place.
- Before you use a library, see that the project has it already.
- Do not run the same call again and hope for another result: change something, or say what blocks you.""",
    "open": f"""\
{_ACT}
{_CARRY_ON}
- Call tools through the tool interface only, with exactly their schemas' parameters; never write a call as text.
- Old text in an edit is copied from the file as read_file showed it, without the line numbers.
- Where a call failed, read its error and fix that; do not send it again unchanged.
- Answer in the language that the user writes in.""",
    "small": f"""\
{_ACT}
- One step at a time: look, change one thing, check it, go on.
- Call tools through the tool interface only, with exactly their schemas' parameters; never write a call as text.
- Old text in an edit is copied from the file as read_file showed it, without the line numbers.
- Where a call failed, read its error and fix that; do not send it again unchanged.
- Keep answers short. When what was asked is done, say so in a sentence and stop.""",
    "default": f"""\
{_ACT}
{_CARRY_ON}
- Where a call failed, read its error and fix that; do not send it again unchanged.""",
}


def family_of(model: str) -> Family:
    """The family of a model, by its name as its server knows it (`openai/gpt-5`, `qwen3:8b`).

    Open models of at most 14 billion parameters, where the name tells them, are «small».
    """
    name = model.casefold()
    family: Family = next((family for family, names in _NAMES if names.search(name)), "default")
    sizes = [float(size) for size in _SIZE.findall(name)]
    if family in {"open", "default"} and sizes and max(sizes) <= _SMALL_BILLIONS:
        return "small"
    return family


def family_text(family: Family, platform: str = "") -> str:
    """What a model of the family is told of tools and of carrying on."""
    text = _TEXTS[family]
    if platform == SUB_AGENT:
        for words, others in _OF_SUB_AGENT.items():
            text = text.replace(words, others)
    return f"# Working with tools\n{text}"
