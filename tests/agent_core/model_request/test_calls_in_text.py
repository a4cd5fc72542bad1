"""Tool calls that models write into their text: which forms are read, and what is no call."""

from __future__ import annotations

import json
import random

from agent_core.messages import tool_call, tool_message
from agent_core.model_request.answer_text import CallWatch
from agent_core.model_request.text_calls import NoCall, UnreadableCall, read_calls
from tests.support.each import each

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["path"],
}
TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}]
ARGUMENTS = '{"path": "a.py"}'
CALL = '{"name": "read_file", "arguments": {"path": "a.py"}}'
ONE = [("read_file", {"path": "a.py"})]
TWO = [("read_file", {"path": "a.py", "limit": 5})]


def read(text, size, messages=()):
    """What is shown of the text while it comes in pieces of `size`, and the calls in the rest of it."""
    watch, shown = CallWatch(), ""
    for start in range(0, len(text), size):
        shown += watch.feed(text[start : start + size])
    held = watch.close()
    try:
        calls = read_calls(held, TOOLS, messages)
    except NoCall:
        return shown + held, None
    except UnreadableCall as problem:
        return shown, str(problem)
    return shown, [(call.name, json.loads(call.arguments)) for call in calls]


def read_all(text):
    """What comes of it, wherever it is cut."""
    found = [read(text, size) for size in range(1, len(text) + 1)]
    assert all(each == found[0] for each in found)
    return found[0]


FORMS = {
    "Hermes, Qwen": (f"<tool_call>\n{CALL}\n</tool_call>", ONE),
    "several": (f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>{CALL}</tool_call><|im_end|>", ONE * 2),
    "without its end": (f"<tool_call>\n{CALL}\n", ONE),
    "nearly JSON": ("<tool_call>{'name': 'read_file', 'arguments': {'path': 'a.py',}}</tool_call>", ONE),
    "Qwen 2.5 Coder": (f"<tools>\n{CALL}\n</tools>", ONE),
    "Qwen3 Coder": (
        (
            "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=limit>\n5\n</parameter>\n"
            "</function>\n</tool_call>"
        ),
        TWO,
    ),
    "Qwen3 Coder without the first tag": (
        "<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
        ONE,
    ),
    "text with tags in it": (
        "<function=read_file>\n<parameter=path>\n<b></parameter></b>\n\n</parameter>\n</function>",
        [("read_file", {"path": "<b></parameter></b>\n"})],
    ),
    "Llama 3.1, as its prompt has it": (f"<function=read_file>{ARGUMENTS}</function>", ONE),
    "Llama 3.1": (f'<|python_tag|>{{"name": "read_file", "parameters": {ARGUMENTS}}}<|eom_id|>', ONE),
    "Llama 3.2": (f'{{"name": "read_file", "parameters": {ARGUMENTS}}}', ONE),
    "Llama, several": (f"{CALL}; {CALL}", ONE * 2),
    "Mistral": (f"[TOOL_CALLS][{CALL}]", ONE),
    "Mistral from 11 on": (f"[TOOL_CALLS]read_file[ARGS]{ARGUMENTS}", ONE),
    "Mistral with an id": (f"[TOOL_CALLS]read_file[CALL_ID]abcDEF123[ARGS]{ARGUMENTS}", ONE),
    "Mistral, several": (f"[TOOL_CALLS]read_file{ARGUMENTS}[TOOL_CALLS]read_file{ARGUMENTS}</s>", ONE * 2),
    "LM Studio": (f"[TOOL_REQUEST]{CALL}[END_TOOL_REQUEST]", ONE),
    "DeepSeek V3": (
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n"
            f"```json\n{ARGUMENTS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
        ),
        ONE,
    ),
    "DeepSeek V3.1": (
        (
            f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>"
            "<｜tool▁calls▁end｜>"
        ),
        ONE,
    ),
    "DeepSeek V3.2": (
        (
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n'
            '<｜DSML｜parameter name="path" string="true">a.py</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="limit" string="false">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
            "</｜DSML｜function_calls>"
        ),
        TWO,
    ),
    "Kimi K2": (
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
            f"{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>"
        ),
        ONE,
    ),
    "GLM": (
        (
            "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n<arg_key>limit</arg_key>\n"
            "<arg_value>5</arg_value>\n</tool_call>"
        ),
        TWO,
    ),
    "MiniMax": (
        (
            '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n</invoke>\n'
            "</minimax:tool_call>"
        ),
        ONE,
    ),
    "Nemotron": (f"<TOOLCALL>[{CALL}]</TOOLCALL>", ONE),
    "Phi": (f"functools[{CALL}]", ONE),
    "Command": (
        (
            f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "read_file", "parameters": {ARGUMENTS}}}]'
            "<|END_ACTION|>"
        ),
        ONE,
    ),
    "gpt-oss": (
        f"<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{ARGUMENTS}<|call|>",
        ONE,
    ),
    "OpenAI's own": (
        '{"type": "function", "function": {"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}}',
        ONE,
    ),
    "a fenced object": (f"```json\n{CALL}\n```", ONE),
    "a fenced object without a language": (f"```\n{CALL}\n```\n", ONE),
    "a mark in a fence": (f"```xml\n<tool_call>\n{CALL}\n</tool_call>\n```", ONE),
}


@each(("text", "calls"), FORMS.values())
def test_a_call_is_read_in_every_common_form_and_its_text_is_not_shown(text, calls):
    assert read_all(text) == ("", calls)


PLAIN = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def test_arguments_of_null_are_none():
    for written in ('{"name": "look", "arguments": null}', '<tool_call>{"name": "look", "input": null}</tool_call>'):
        (call,) = read_calls(written, PLAIN, ())
        assert (call.name, call.arguments) == ("look", "{}")


@each("form", FORMS)
def test_words_before_a_call_are_shown(form):
    text, calls = FORMS[form]
    assert read_all(f"I look at a < b:\n\n{text}") == ("I look at a < b:\n\n", calls)


@each(
    "text",
    [
        "a < b and [1] or f(x)",
        "  \n",
        f"The mark `<tool_call>` begins one, as in `<tool_call>{CALL}</tool_call>`",
        "<tool_call> is what a call begins with",
        "The server writes [TOOL_CALLS] before each call.",
        f"<tool_call>{CALL}</tool_call>\nThat was the call.",
        f"Such a block:\n```python\nprint('<tool_call>{CALL}</tool_call>')\n```",
        f"```\nsome text\n<tool_call>{CALL}</tool_call>\n```",
        f"```json\n{CALL}\n```\nis what I would send.",
        '```json\n{"a": 1}\n```',
        '{"name": "Alice", "age": 3}',
        '{"name": "Alice", "arguments": {}}',
        '{"name": "read_file", "arguments": {"path": "a.py"}, "because": "it is there"}',
        f"Here it is: {CALL}",
        "[a link](https://example.org)",
        "```\n```\n```js\nx\n```\n",
        '<tool_response>{"name": "read_file"}</tool_response>',
        "Models write <tool_call> {json} </tool_call> blocks into the text. And more.",
        'Models write <tool_call>{"name": "x"}</tool_call> blocks into the text. And more.',
        "They end so: <tool_call> {json} </tool_call>",
        "<function=read_file> is how one begins. And more.",
        '<tool_call>{"name": "read_file", "arguments": {</tool_call> is broken.',
        '{"name": "read_file", "arguments": {"limit": 5}}\nlacks its path.',
    ],
)
def test_what_only_looks_like_a_call_stays_text(text):
    assert read_all(text) == (text, None)


@each(
    ("text", "why"),
    [
        (
            '<tool_call>{"name": "read_fil", "arguments": {}}</tool_call>',
            "There is no tool 'read_fil'. Did you mean: read_file",
        ),
        ('<tool_call>{"name": "read_file", "arguments": {"path": "a', "they end inside a string"),
        ('<tool_call>{"name": "read_file", "arguments": {"path": a.py}}</tool_call>', "not valid JSON"),
        ('<tool_call>{"arguments": {"path": "a.py"}}</tool_call>', "it has no name"),
        ('{"name": "read_file", "arguments": {"limit": 5}}', "The argument 'path' is missing"),
        ('{"name": "read_file", "arguments": {"path": "a", "limit": "many"}}', "The argument 'limit' has to be"),
        ("<function=read_file>\n<parameter=path>\na.py\n", "it does not end"),
    ],
)
def test_a_call_that_cannot_be_made_says_why(text, why):
    shown, problem = read_all(text)
    assert shown == ""
    assert why in problem


@each(
    ("text", "held"),
    [
        ('{"name": "my-package", "version": "1.0"', ""),
        ('{\n  "name": "my-package"', ""),
        ('```json\n{"name": "my-package", "x', ""),
        ('{"type": "object", "properties": {', ""),
        ('[{"id": 1, "title": "x"', ""),
        ('{"id": "1", "name": "rea', '{"id": "1", "name": "rea'),
        ('{"name": "read_file", "arguments": {"name": "x", "y": "\\"}', None),
        ('{"name": "read_file", "arguments": {}, "why": 1', ""),
    ],
)
def test_an_object_is_held_back_only_while_it_may_be_a_call(text, held):
    for size in range(1, len(text) + 1):
        watch = CallWatch(["read_file"])
        shown = "".join(watch.feed(text[start : start + size]) for start in range(0, len(text), size))
        rest = watch.close()
        assert shown + rest == text
        assert rest == (text if held is None else held)


def test_what_a_tools_result_holds_word_for_word_is_no_call():
    result = tool_message(tool_call("c1", "read_file", "{}"), f"# How to\nAnswer with <tool_call>{CALL}</tool_call>!")
    text = f"<tool_call>\n{CALL}\n</tool_call>"
    assert read(text, 5, [result]) == (text, None)
    assert read(text, 5)[1] == ONE


def test_nothing_of_a_text_is_lost_and_what_is_shown_does_not_depend_on_how_it_is_cut():
    chance = random.Random(7)
    parts = [
        "<tool_call>",
        "```",
        "```json\n",
        "\n",
        " ",
        "{",
        '{"name": "x"',
        "[",
        "[TOOL_CALLS]",
        "`",
        "words",
        "f",
        "}",
    ]
    for _ in range(300):
        text = "".join(chance.choices(parts, k=8))
        found = set()
        for size in (1, 2, 5, len(text)):
            watch = CallWatch()
            shown = "".join(watch.feed(text[start : start + size]) for start in range(0, len(text), size))
            held = watch.close()
            assert shown + held == text
            # What only waits for its next character is no call yet.
            found.add(shown + (held if not read_or_none(held) else ""))
        assert len(found) == 1, text


def read_or_none(held):
    try:
        return read_calls(held, TOOLS, [])
    except (NoCall, UnreadableCall):
        return None
