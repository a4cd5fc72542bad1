"""What a server's words mean: a conversation that is too long, or images that are not taken, in any wording."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderStatusError
from agent_core.providers.error_patterns import is_about_one_image, is_too_long, takes_no_images
from agent_core.providers.transport_errors import ErrorFacts, read_facts
from tests.support.each import each


def facts(said: str, **more: object) -> ErrorFacts:
    return read_facts(ProviderStatusError("text", 400, json.dumps({"error": {"message": said} | more})))


TOO_LONG = (
    (
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested"
        " a total of 140000 tokens: 136000 tokens from the input messages and 4000 tokens for the "
        "completion."
    ),
    "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
    (
        "Trying to keep the first 12000 tokens when context the overflows. However, the model is loaded "
        "with context length of only 4096 tokens, which is not enough."
    ),
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "the request exceeds the available context size, try increasing it",
    "input is too large to process. increase the physical batch size",
    "Range of input length should be [1, 129024]",
    (
        "The decoder prompt (length 50000) is longer than the maximum model length of 32768. Make sure "
        "that `max_model_len` is no smaller than the number of text tokens."
    ),
    "max_tokens must be at least 1, got -3392.",
    (
        "You passed 8193 input tokens and requested 0 output tokens. However, the model's context length "
        "is only 8192 tokens, resulting in a maximum input length of 8192 tokens."
    ),
    "litellm.ContextWindowExceededError: AnthropicException - prompt is too long",
    "prompt token count of 140000 exceeds the limit of 128000",
    (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try "
        "using a shorter prompt, or a smaller max_tokens value."
    ),
    ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Too many input tokens",
    (
        "The model returned the following errors: input length and `max_tokens` exceed context limit: "
        "199999 + 64000 > 200000"
    ),
    "Invalid request: Your request exceeded model token limit: 262144",
    "Prompt tokens too long: 8000",
    "the max input characters is 20000",
    "Total tokens of image and text exceed max message tokens.",
    (
        "The estimated number of input and maximum output tokens (31006) exceeded this model context "
        "window limit (24000)."
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280000 "
        "tokens. Please reduce the length of the messages."
    ),
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "Prompt length 40000 is greater than max_seq_len 32768",
    "Requested tokens (5000) exceed context window of 4096",
    "Number of prompt tokens: 5000 exceeds model max length: 4096",
    "Request prompt has 40000 tokens in total, larger than the model input length limit 32768.",
    "The prompt length (40000) exceeds max_seq_len (32768)",
    "Prompt is too long for model context: 33000 tokens, 32768 available",
    "输入内容过长，超过模型的最大长度",
    "your prompt has 9000 tokens, but the context window is 8192",
    "This model supports at most 8192 tokens of context, but 9000 were sent",
    "the sum of prompt tokens and max_tokens must not be more than 32768",
    "The input is longer than the maximum number of tokens this model accepts",
    "context window full: 0 tokens left",
    "sequence length (9001) is larger than max_position_embeddings 8192",
    "Conversation history too long, truncate it",
    "max_tokens (4096) + prompt tokens (30000) > model context (32768)",
    "KV cache is full: prompt needs 40000 slots",
    "Failed to generate: prompt does not fit in the context (n_ctx = 4096)",
)
ANOTHER_CAUSE = (
    "An error occurred while processing your input, error 50001 (request 1764289625123)",
    "Your prompt was blocked by policy 100234 (trace 1764289625123)",
    "System message must be at the beginning, at most 1 system message in messages",
    "messages should not be empty, at most one system message is allowed",
    "input has more than one tool named x",
    "top_p should be in the range of input [0, 1]",
    "input parameter n should be less than 2",
    "token length 2048 exceeds the maximum header size",
    "failed to allocate KV cache: model requires more memory than available",
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    (
        "max_tokens is too large: 32768. This model supports at most 16384 completion tokens, whereas you"
        " provided 32768."
    ),
    "tools: maximum number of items is 128",
    (
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array "
        "with length 129 instead."
    ),
    (
        "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64, but got a"
        " string with length 66 instead."
    ),
    "Too many tokens, please wait before trying again.",
    "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000.",
    "You exceeded your current quota, please check your plan and billing details.",
    "You have exceeded your monthly token limit",
    "messages.5.content.1: `thinking` blocks in the latest assistant message cannot be modified.",
    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
    "Invalid API key: token too short",
    "Your OAuth token has expired",
    "Unrecognized request argument supplied: stream_options",
    ("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 15908784 bytes > 5242880 bytes"),
    "temperature must be less than or equal to 1",
    "`max_tokens` must be greater than `thinking.budget_tokens`",
    ("max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku"),
    ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
    "Input should be a valid string",
    "System messages must be at the beginning",
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "tool_choice is not supported",
    "Function call is missing a thought_signature in functionCall parts.",
    "The model `x` does not exist or you do not have access to it.",
    "number of tools exceeds the limit of 64",
    "Invalid input: expected string at messages[2].content",
    "The tool schema is nested too deep: maximum is 5",
    "metadata: too many keys, maximum is 16",
    "stop: too many stop sequences, at most 4",
)


@pytest.mark.quirk(
    "any server",
    "says in words of its own that the conversation is longer than the model's window",
    "the conversation is compressed, and sent again",
)
@each("said", TOO_LONG)
def test_a_conversation_that_is_too_long_is_recognised_in_any_words(said):
    assert is_too_long(facts(said))


@each("said", ANOTHER_CAUSE)
def test_what_only_sounds_like_a_conversation_that_is_too_long_is_not_taken_for_it(said):
    assert not is_too_long(facts(said))


@each(
    ("code", "is_one"),
    [
        ("ContextWindowExceededError", True),
        ("model_max_prompt_tokens_exceeded", True),
        ("exceed_context_size_error", True),
        ("tokens_limit_reached", True),
        ("input_too_long", True),
        ("string_above_max_length", False),
        ("array_above_max_length", False),
        ("rate_limit_exceeded", False),
        ("token_quota_exceeded", False),
        ("max_tokens_exceeded", False),
        ("tokens", False),
    ],
)
def test_a_code_tells_that_a_conversation_is_too_long_where_the_words_do_not(code, is_one):
    assert is_too_long(facts("no", code=code)) is is_one


@each(
    ("said", "what"),
    [
        ("No endpoints found that support image input", "none"),
        ("This model does not support image_url content", "none"),
        ("messages[0].content[1].type: unknown variant `image_url`, expected `text`", "none"),
        ("mmproj is required for multimodal requests", "none"),
        ("Vision is not enabled for this deployment", "none"),
        ("At most 0 image(s) may be provided in one prompt.", "none"),
        ("llama-3-8b is not a multimodal model", "none"),
        ("该模型不支持图片输入", "none"),
        ("At most 5 images may be provided in one request.", "these"),
        ("Image dimensions 9000x9000 exceed the maximum of 8000 pixels", "these"),
        ("Failed to decode image: cannot identify image file", "these"),
        ("Unsupported image format: image/tiff. Must be one of png, jpeg", "these"),
        ("The image could not be downloaded", "these"),
        ("Provided image is not valid.", "these"),
        ("Unsupported MIME type: image/svg+xml", "these"),
        ("Image URLs are only allowed for messages with role 'user'", "these"),
        ("图片输入格式/解析错误", "these"),
        ("The model `llama-3.2-90b-vision-preview` does not exist", ""),
        ("Internal error for model gemini-2.5-flash-image", ""),
        ("Invalid schema for function 'resize-image': In context=('properties', 'image'), 'type' is missing", ""),
        ("Invalid model name passed in model=qwen-vl-vision", ""),
        ("The imagination of this model is limited", ""),
        ("Your supervision key is invalid", ""),
        ("I made an image for you", ""),
    ],
)
def test_what_is_said_of_all_images_is_told_apart_from_what_is_said_of_these(said, what):
    found = "none" if takes_no_images(facts(said)) else "these" if is_about_one_image(facts(said)) else ""
    assert found == what
