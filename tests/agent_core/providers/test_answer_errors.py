"""Two classes of failures that are told by the meaning of words: no tools, and an answer that could not be read."""

from __future__ import annotations

import json

from agent_core.errors import ProviderStatusError
from agent_core.providers.errors import classify
from tests.support.choices import choice_for
from tests.support.each import each

NO_TOOLS = r"""
registry.ollama.ai/library/gemma:2b does not support tools
No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs
`tool calling` is not supported with this model
tools is not supported in this model. For a list of supported models, refer to https
Function calling is not enabled for models/gemma-3-27b-it
This model doesn't support tool use.
This model doesn`t support tool use in streaming mode
This model doesn't support tool use in streaming mode.
This model does not support function calling
Tools are not supported by this model
Tool use is not supported by this model
the loaded model's chat template does not support tools
model does not advertise tools
Unsupported parameter: 'tools' is not supported with this model.
Unrecognized request argument supplied: tools
Function call is not supported for this model.
Model xyz does not have tool support
Model x has no tool support
This model cannot use tools
Tool calling is not available for this model
Model is not capable of function calling
tools: Extra inputs are not permitted
Model 'x' does not support tool calls.
tool_calls not supported
does not support the use of tools
does not support parameters: ['tools'], for model=x
The following parameters are not supported for this model: tools
the model does not support native tool calling
deepseek-reasoner does not support Function Calling
当前模型不支持工具调用
Tool calling not supported
This endpoint does not support function-calling.
The model `x` does not currently support tools
tool use isn't supported
Unknown field: tools
unsupported field `tools`
"""
OTHER_THAN_NO_TOOLS = r"""
tools: maximum number of items is 128
Invalid schema for function 'x': 'oneOf' is not supported
This model does not support tool_choice 'required'
tool_choice is not supported
This model does not support parallel tool calls
Unsupported parameter: 'parallel_tool_calls' is not supported with this model.
parallel tool calls are not supported
Function tools with reasoning_effort are not supported for gpt-5 in /v1/chat/completions.
No tool output found for function call call_123
The web_search tool is not supported with this model
does not support tools and json mode at the same time
Unsupported tool type: web_search
tools[0].function.strict is not supported
messages with role 'tool' must be a response to a preceding message with 'tool_calls'.
An assistant message with 'tool_calls' must be followed by tool messages
No endpoints found for nousresearch/hermes
No endpoints found that support image input
tool_choice does not support being set to required
tool messages with images are not supported
Unsupported parameter: 'tools[0].strict'
Model 'x' is not supported
attempted to call tool 'x' which was not in request.tools
hosted tools are not supported
Empty tool_calls is not supported in message.
"""
NOT_READ = r"""
Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.
Parsing failed. The model generated output that could not be parsed. Please adjust your prompt.
Failed to generate JSON. Please adjust your prompt.
Tool call validation failed: tool call validation failed: attempted to call tool 'x' which was not in request.tools
unexpected tokens remaining in message header: Some("to=functions.web-browsing")
openai_harmony.HarmonyError: Unexpected token 12606 while expecting start token 200006
Unexpected token 200002 while expecting start token 200006
Could not parse header: too many tokens remaining after extracting content-type and recipient
error parsing tool call: raw='{"input":"*** Begin Patch', err=unexpected end of JSON input
Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1
Failed to parse input at pos 123: <tool_call>
The model produced output that does not match the expected peg-native format
Malformed function call: print(x)
The model generated an invalid tool call
Invalid tool call format
tool call arguments are not valid JSON
Failed to parse fc related info to json format!
XML syntax error on line 3: element <function> closed by </parameter>
Unable to parse model output
Tool call parsing error
The model's output could not be parsed
Could not parse the model's response
incomplete tool call
tool_call parse failed: unexpected end
"""
OTHER_THAN_NOT_READ = r"""
Failed to parse the request body as JSON: expected value
We could not parse the JSON body of your request.
Failed to parse messages: invalid tool call
Invalid 'messages[1].tool_calls[0].function.arguments': not valid
failed to parse grammar
Failed to parse tools: unsupported schema
Failed to parse image
Unexpected token < in JSON at position 0
Invalid tool_call_id
The model returned the following errors: Malformed input request: #: subject must not be valid
invalid tool call id 'x'
Tool call id was call_1 but must be a-z
Failed to parse authorization header
messages.1.content.0: tool_use input could not be parsed
response_format could not be parsed
The server had an error while processing your request
Output blocked by content filtering policy
"""


def told(message, status=400, **fields):
    body = json.dumps({"error": {"message": message, **fields}})
    return classify(ProviderStatusError("text", status, body), choice_for("https://api.example/v1", model="m"))


def lines(text):
    return text.strip().splitlines()


@each("status", [400, 404, 500, None])
@each("message", lines(NO_TOOLS))
def test_a_model_without_tools_is_told_by_its_meaning(message, status):
    failure = told(message, status)
    assert failure.reason == "tools_unsupported"
    assert "Choose a model that supports tools" in failure.public_message


@each("message", lines(OTHER_THAN_NO_TOOLS))
def test_what_only_speaks_of_tools_is_another_failure(message):
    assert told(message).reason != "tools_unsupported"


@each(
    ("message", "step"),
    [
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "Start vLLM with"),
        ("tools param requires --jinja flag", "llama-server with --jinja"),
        ("Tool calls need the server to run with --tool-call-parser", "SGLang with --tool-call-parser"),
    ],
)
def test_tools_that_a_server_was_started_without_are_told_with_how_to_start_it(message, step):
    failure = told(message)
    assert failure.reason == "tools_unsupported"
    assert step in failure.public_message


@each("status", [400, 422, 424, 500, None])
@each("message", lines(NOT_READ))
def test_an_answer_that_the_server_could_not_read_is_told_by_its_meaning_and_asked_for_again(message, status):
    failure = told(message, status, type="invalid_request_error")
    assert (failure.reason, failure.retryable) == ("broken_answer", True)


@each("message", lines(OTHER_THAN_NOT_READ))
def test_a_request_that_the_server_could_not_read_is_not_asked_again_for_that(message):
    assert told(message).reason != "broken_answer"


@each("code", ["tool_use_failed", "output_parse_failed", "json_validate_failed", "MALFORMED_FUNCTION_CALL"])
def test_an_answer_that_could_not_be_read_is_told_by_its_code_too(code):
    assert told("x", code=code).reason == "broken_answer"


def test_a_finish_reason_that_tells_more_is_told_by_it():
    assert told("x", None, type="finish_reason", code="insufficient_system_resource").reason == "overloaded"
    assert told("x", None, type="finish_reason", code="error").reason == "broken_answer"
