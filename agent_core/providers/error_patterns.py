"""What providers say when a request fails, as data: rules by stage, what each reason allows, what the user is told.

A rule fits when all that it names is there. The first rule that fits decides, stage by stage:

1. `PROVIDER_RULES`: words and codes of one provider. They hold whoever passes them on: gateways quote others.
2. `STATUS_RULES`: a status together with words.
3. `CODE_RULES`: the body's own code or type, where it tells the cause.
4. `MEANINGS`: what any server's words mean (`error_meanings`).
5. `MESSAGE_RULES`: words that many servers use.
6. `GENERAL_RULES`: codes that only tell whose fault it was.
7. `BY_STATUS`: the status alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from agent_core.providers.error_facts import ErrorFacts
from agent_core.providers.error_meanings import is_about_one_image, is_too_long, takes_no_images
from agent_core.providers.tool_refusals import BAD_SCHEMA, NO_TOOLS, NOT_READ, TOOLS_SWITCHED_OFF
from tools.light_dataclass import dataclass

Reason = Literal[
    "auth",
    "auth_permanent",
    "billing",
    "rate_limit",
    "overloaded",
    "server_error",
    "timeout",
    "tls",
    "connection",
    "context_overflow",
    "payload_too_large",
    "image_too_large",
    "images_not_taken",
    "model_not_found",
    "tools_unsupported",
    "provider_policy_blocked",
    "content_policy",
    "format_error",
    "thinking_signature",
    "long_context_tier",
    "tool_schema",
    "broken_answer",
    "unknown",
]

_ZAI = r"\bz\.?ai\b|zhipu|bigmodel"
_MINIMAX = r"minimax"


@dataclass(frozen=True, slots=True)
class Rule:
    """Tells a reason.

    Attributes:
        words: a pattern for what was said, without regard to case.
        codes: one of them is in the body; small letters.
        statuses: the status is one of them.
        at: a pattern for the provider's name and host.
        names_wait: the server says how long to wait.
        means: what was said has this meaning.
        advice: the key in `ADVICE`, where that of the reason does not fit.
    """

    reason: Reason
    words: str = ""
    codes: frozenset[str] = frozenset()
    statuses: frozenset[int | None] = frozenset()
    at: str = ""
    names_wait: bool = False
    advice: str = ""
    means: Callable[[ErrorFacts], bool] | None = None


@dataclass(frozen=True, slots=True)
class Flags:
    """What a reason allows; see `ClassifiedError`."""

    retryable: bool = False
    compress: bool = False
    rotate: bool = False
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class Advice:
    """What the user is told: what happened, and what to do."""

    cause: str
    step: str


def _by_codes(reason: Reason, codes: str, at: str = "") -> Rule:
    return Rule(reason, codes=frozenset(codes.split()), at=at)


FLAGS: Mapping[Reason, Flags] = {
    "auth": Flags(rotate=True, fallback=True),
    "auth_permanent": Flags(rotate=True, fallback=True),
    "billing": Flags(rotate=True, fallback=True),
    "rate_limit": Flags(retryable=True, rotate=True, fallback=True),
    # Another key meets the same full server.
    "overloaded": Flags(retryable=True, fallback=True),
    "server_error": Flags(retryable=True, fallback=True),
    "timeout": Flags(retryable=True, fallback=True),
    # A certificate that is not trusted stays so; a connection that broke within TLS is marked retryable by itself.
    "tls": Flags(fallback=True),
    "connection": Flags(retryable=True, fallback=True),
    # No fallback: the other model's window is as likely smaller, and less history helps with every model.
    "context_overflow": Flags(compress=True),
    "payload_too_large": Flags(compress=True),
    # The loop leaves the images out; the same request with them fails everywhere.
    "image_too_large": Flags(),
    "images_not_taken": Flags(fallback=True),
    "model_not_found": Flags(fallback=True),
    "tools_unsupported": Flags(fallback=True),
    "provider_policy_blocked": Flags(fallback=True),
    # What one filter refused is not shown to the next provider.
    "content_policy": Flags(),
    "format_error": Flags(fallback=True),
    # Once the sealed reasoning is left out the request is another one; another model is never sent it.
    "thinking_signature": Flags(retryable=True, fallback=True),
    "long_context_tier": Flags(compress=True, fallback=True),
    "tool_schema": Flags(fallback=True),
    # A model does not write the same again.
    "broken_answer": Flags(retryable=True, fallback=True),
    "unknown": Flags(retryable=True, fallback=True),
}

ADVICE: Mapping[str, Advice] = {
    "auth": Advice("the key was not accepted", "Check model.api_key in config.yaml, or the provider's key variable."),
    "auth_permanent": Advice(
        "the key, or the account behind it, is switched off",
        "Set another key (model.api_key in config.yaml, or the provider's key variable) or ask the provider.",
    ),
    "billing": Advice("the account has no credit left", "Top it up at the provider, or choose another model."),
    "rate_limit": Advice("a limit is reached", "Wait {wait} and send the prompt again, or choose another model."),
    "overloaded": Advice("the server is overloaded", "Wait {wait} and send the prompt again."),
    "server_error": Advice("the server failed", "Wait {wait} and send the prompt again, or choose another model."),
    "timeout": Advice("no answer came in time", "Wait {wait} and send the prompt again."),
    "tls": Advice(
        "the connection could not be secured",
        "Check model.base_url; for a certificate of your own set SSL_CERT_FILE to its CA.",
    ),
    "tls_broken": Advice("the secured connection broke", "Send the prompt again."),
    "connection": Advice("the connection failed", "Check that the server runs and that model.base_url is right."),
    "context_overflow": Advice(
        "the conversation is larger than the model's window",
        "Begin a new session, or choose a model with a larger window.",
    ),
    "payload_too_large": Advice(
        "the request is larger than the server takes at once", "Begin a new session, or attach less."
    ),
    "image_too_large": Advice(
        "an image was not accepted", "Leave it out, or send it smaller and as PNG, JPEG, GIF or WebP."
    ),
    "images_not_taken": Advice("the model takes no images", "Leave them out, or choose a model that takes images."),
    "model_not_found": Advice(
        "the server does not offer this model",
        "Check model.default in config.yaml; «hermes-acp models» lists what there is.",
    ),
    "tools_unsupported": Advice(
        "the model cannot call tools at this server, and without tools it can do no work",
        "Choose a model that supports tools (function calling); run hermes-acp models for a list.",
    ),
    "tools_switched_off": Advice(
        "the server was started without tool calls",
        "Start vLLM with --enable-auto-tool-choice and --tool-call-parser NAME, SGLang with --tool-call-parser NAME "
        "(the model's page names the parser), llama-server with --jinja; or choose another model.",
    ),
    "provider_policy_blocked": Advice(
        "the provider's rules do not allow this request",
        "Check the account's settings at the provider (data policy, region), or choose another model.",
    ),
    "content_policy": Advice(
        "the provider's content filter refused the request", "Put it in other words, or begin a new session."
    ),
    "chat_template": Advice(
        "the model's chat template cannot put this conversation into words",
        "Start the server with a template that knows system prompts and tools (llama-server: --jinja and "
        "--chat-template-file FILE, vLLM: --chat-template FILE), or choose another model.",
    ),
    "format_error": Advice(
        "the server did not accept the request", "Check the model's settings in config.yaml, or choose another model."
    ),
    "wrong_address": Advice(
        "there is no such API at this address",
        "Check model.base_url in config.yaml (it often ends in /v1), then model.default.",
    ),
    "thinking_signature": Advice(
        "the server did not take its own earlier reasoning back",
        "Send the prompt again; if that fails too, begin a new session.",
    ),
    "long_context_tier": Advice(
        "the account's plan does not cover so long a conversation",
        "Begin a new session, or choose another plan or model.",
    ),
    "tool_schema": Advice(
        "the server cannot work with the schema of a tool",
        "Update the server, or leave the tool out (tools.exclude of its MCP server in the settings).",
    ),
    "broken_answer": Advice(
        "the model's answer broke off, or the server could not read what the model wrote",
        "Send the prompt again; if that fails too, choose another model.",
    ),
    "unknown": Advice("the request failed", "Send the prompt again; if that fails too, choose another model."),
}

_UNREAD = frozenset({None, 400, 404, 413, 415, 422, 500, 501})
"""Statuses of a request that was looked at and not taken; None: told in the middle of an answer."""

_FAILED = frozenset({None, 500, 502, 503, 504, 520, 529})

MEANINGS: tuple[Rule, ...] = (
    Rule(
        "content_policy",
        r"content (?:management|filtering) policy|considered high risk|may contain (?:inappropriate|unsafe|content)"
        r"|safety system|inappropriate content",
        statuses=_UNREAD,
    ),
    Rule("context_overflow", statuses=_UNREAD, means=is_too_long),
    Rule("images_not_taken", statuses=_UNREAD, means=takes_no_images),
    Rule("image_too_large", statuses=_UNREAD, means=is_about_one_image),
    Rule(
        "format_error",
        r"\bjinja\b|chat[ _]template|conversation roles must alternate"
        r"|only user(?:,| and) (?:\w+ and )?assistant roles|system role (?:is )?not supported"
        r"|(?:parser|pars\w+|render\w*) (?:\w+ ){0,3}template",
        statuses=_UNREAD,
        advice="chat_template",
    ),
)

PROVIDER_RULES: tuple[Rule, ...] = (
    # Anthropic
    Rule("long_context_tier", r"extra usage is required for|long context beta is not yet available"),
    Rule(
        "thinking_signature",
        r"invalid `?signature`? in `?thinking`? block|expected `?thinking`? or `?redacted_thinking`?"
        r"|`?redacted_thinking`? blocks .{0,80}cannot be modified"
        r"|final position cannot contain `?thinking|missing (?:a )?`?thought_signature",
    ),
    Rule("billing", r"credit balance is too low|reached your specified api usage limits"),
    # OpenAI's Responses
    Rule(
        "thinking_signature",
        r"encrypted content .{0,400}could not be verified"
        r"|of type '(?:reasoning|function_call|message)' was provided without its required",
    ),
    Rule("content_policy", r"prompt was flagged as potentially violating"),
    # vLLM, SGLang, llama.cpp, and any server whose model takes no tools
    Rule("tools_unsupported", TOOLS_SWITCHED_OFF, advice="tools_switched_off"),
    Rule("tools_unsupported", NO_TOOLS),
    # OpenRouter
    Rule("provider_policy_blocked", r"no endpoints (?:found|available) matching your (?:data policy|guardrail)"),
    Rule("images_not_taken", r"no endpoints found .{0,60}\bimage"),
    Rule("model_not_found", r"no endpoints found|is not a valid model id"),
    # Google: its 429 asks for a look at the billing even where waiting helps; a limit of 0 never resets.
    Rule("billing", r"quota exceeded for metric: .{0,200}limit: 0(?![\d.])|prepa\w+ credits? (?:are|is) depleted"),
    _by_codes("rate_limit", "resource_exhausted"),
    Rule("tool_schema", BAD_SCHEMA, statuses=_UNREAD),
    _by_codes("tool_schema", "invalid_function_parameters"),
    # The numbers of z.ai, from docs.z.ai/api-reference/api-code
    _by_codes("billing", "1113 1309", _ZAI),
    _by_codes("auth_permanent", "1110 1111 1112 1121", _ZAI),
    _by_codes("rate_limit", "1302 1303 1304 1305 1308 1310 1313", _ZAI),
    _by_codes("overloaded", "1312", _ZAI),
    _by_codes("context_overflow", "1261", _ZAI),
    _by_codes("model_not_found", "1211 1311", _ZAI),
    _by_codes("content_policy", "1301", _ZAI),
    # Those of MiniMax, from platform.minimax.io/docs/api-reference/errorcode
    _by_codes("rate_limit", "1002 1041 2045 2056", _MINIMAX),
    _by_codes("auth", "1004 2049", _MINIMAX),
    _by_codes("billing", "1008", _MINIMAX),
    _by_codes("content_policy", "1026 1027", _MINIMAX),
    _by_codes("timeout", "1001", _MINIMAX),
    _by_codes("server_error", "1000 1013 1024 1033", _MINIMAX),
    # MiniMax
    Rule("context_overflow", r"^token limit$"),
    # Moonshot's coding plan
    Rule("provider_policy_blocked", r"only available for coding agents"),
)

STATUS_RULES: tuple[Rule, ...] = (
    Rule("rate_limit", statuses=frozenset({402}), names_wait=True),
    Rule("rate_limit", r"\bresets? (?:at|in|on)\b|/ ?\d+ ?h\b|per (?:hour|day)\b", statuses=frozenset({402})),
    Rule("context_overflow", codes=frozenset({"tokens_limit_reached"}), statuses=frozenset({413})),
    Rule("payload_too_large", r"request too large|tokens per min", statuses=frozenset({413})),
    Rule("payload_too_large", r"request too large for", statuses=frozenset({429})),
    Rule("billing", r"\bcredits?\b|insufficient balance|no licenses", statuses=frozenset({403})),
    Rule("content_policy", r"moderation|flagged", statuses=frozenset({403})),
    Rule(
        "format_error",
        r"^not found\.?$|page not found|invalid url|unknown (?:endpoint|path|route)|cannot post|no route",
        statuses=frozenset({404, 405}),
        advice="wrong_address",
    ),
    Rule("model_not_found", r"\bmodels?\b|\bdeployment\b", statuses=frozenset({404, 410})),
)

CODE_RULES: tuple[Rule, ...] = (
    _by_codes("thinking_signature", "invalid_encrypted_content"),
    _by_codes(
        "broken_answer",
        "tool_use_failed output_parse_failed json_validate_failed malformed_function_call malformed_tool_use "
        "malformed_model_output unexpected_tool_call",
    ),
    _by_codes(
        "content_policy",
        "content_filter content_policy_violation responsibleaipolicyviolation data_inspection_failed",
    ),
    _by_codes("provider_policy_blocked", "unsupported_country_region_territory unsupported_country"),
    _by_codes("auth_permanent", "account_deactivated organization_restricted api_key_revoked"),
    _by_codes(
        "billing",
        "insufficient_quota billing_error billing_hard_limit_reached insufficient_balance_error arrearage "
        "exceeded_current_quota_error usage_not_included insufficient_user_quota allocationquota.freetieronly "
        "budget_exceeded",
    ),
    _by_codes("auth", "invalid_api_key api_key_invalid incorrect_api_key_error invalid_authentication_error"),
    _by_codes("model_not_found", "model_not_found deploymentnotfound model_decommissioned unknown_model"),
    _by_codes("payload_too_large", "request_too_large payload_too_large"),
    _by_codes(
        "overloaded",
        "overloaded_error server_is_overloaded slow_down engine_overloaded_error service_unavailable_error "
        "unavailable_error unavailable serviceunavailableexception modelnotreadyexception "
        "insufficient_system_resource",
    ),
    _by_codes(
        "rate_limit",
        "rate_limit_exceeded rate_limit_error rate_limit_reached_error rate_limited ratelimitreached "
        "usage_limit_reached throttlingexception throttling throttling.ratequota toomanyrequestsexception",
    ),
)

MESSAGE_RULES: tuple[Rule, ...] = (
    Rule("broken_answer", NOT_READ),
    Rule(
        "payload_too_large",
        r"(?:request|payload|body)\b.{0,60}(?:too large|exceeds? the)"
        r"|(?:length less than or equal to|maximum length) \d{6,}",
    ),
    Rule(
        "billing",
        r"budget has been exceeded|exceeded ?budget|over budget"
        r"|insufficient (?:account )?(?:balance|credits?|funds|quota)|requires more credits|out of credits"
        r"|used all available credits|n't have any credits|exceeded your current quota|monthly included credits"
        r"|余额不足|no resource package|past invoices|account is in good standing|key limit exceeded",
    ),
    Rule(
        "auth_permanent", r"(?:key|account|organi[sz]ation|user) .{0,80}(?:deactivated|disabled|revoked|restricted)"
    ),
    Rule("auth_permanent", r"reported as leaked|not allowed for this organi[sz]ation|access terminated"),
    Rule(
        "auth",
        r"(?:invalid|incorrect|missing|no) (?:x-)?api[- ]?key|api key (?:is )?not valid|no auth credentials"
        r"|invalid (?:authentication|oauth token)|token has expired|api key .{0,40}(?:invalid|expired)",
    ),
    Rule(
        "provider_policy_blocked",
        r"country, region|user location is not supported|not available in your (?:country|region)",
    ),
    Rule(
        "content_policy",
        r"content (?:management|filtering) policy|considered high risk|may contain (?:inappropriate|unsafe)",
    ),
    Rule("overloaded", r"overloaded|over capacity|high demand|loading model|server is busy|temporarily unavailable"),
    Rule(
        "rate_limit",
        r"rate[- ]?limit|too many (?:requests|tokens)|quota exceeded|(?:requests|tokens) per (?:min|day)"
        r"|resource (?:has been )?exhausted|usage limit|concurrency limit|capacity exceeded|code: 1015|throttl",
    ),
    Rule(
        "model_not_found",
        r"model `?['\"]?[^\s`'\"]+[`'\"]? (?:was |is )?(?:not found|does not exist|not available|not supported)"
        r"|model (?:identifier is invalid|not found|not exist|does not exist|has been (?:decommissioned|deprecated))"
        r"|no such model|unknown model|no models? loaded|is not found for api version"
        r"|with on-demand throughput isn.t supported",
    ),
    Rule("timeout", r"timed? ?out\b|deadline exceeded", statuses=frozenset({500, 502, 503})),
)

GENERAL_RULES: tuple[Rule, ...] = (
    Rule("model_not_found", codes=frozenset({"not_found_error", "not_found"}), statuses=frozenset({404})),
    _by_codes("auth", "authentication_error permission_error unauthenticated permission_denied unauthorized"),
    _by_codes("auth", "unrecognizedclientexception accessdeniedexception expiredtokenexception"),
    _by_codes("timeout", "timeout_error deadline_exceeded modeltimeoutexception"),
    # A gateway's `api_error` may be anything: with a status that blames the request, the status is believed.
    Rule("server_error", codes=frozenset({"api_error"}), statuses=_FAILED),
    _by_codes("server_error", "server_error internal_error internal internal_server_error"),
    _by_codes("broken_answer", "finish_reason"),  # of ours, for an answer that ended badly
    _by_codes("server_error", "internalserverexception modelerrorexception modelstreamerrorexception"),
)

# A status within the body counts like that of the answer.
BY_STATUS: Mapping[int, Rule] = {
    401: Rule("auth"),
    402: Rule("billing"),
    403: Rule("auth"),
    **{status: Rule("format_error", advice="wrong_address") for status in (301, 302, 303, 307, 308)},
    404: Rule("format_error", advice="wrong_address"),
    405: Rule("format_error", advice="wrong_address"),
    407: Rule("connection"),
    408: Rule("timeout"),
    409: Rule("server_error"),
    413: Rule("payload_too_large"),
    425: Rule("server_error"),
    429: Rule("rate_limit"),
    451: Rule("provider_policy_blocked"),
    498: Rule("overloaded"),  # Groq: console.groq.com/docs/errors
    503: Rule("overloaded"),
    504: Rule("timeout"),
    522: Rule("timeout"),  # Cloudflare's 52x
    524: Rule("timeout"),
    529: Rule("overloaded"),
}

# A web page instead of an API's answer.
BY_PAGE: Mapping[int | None, Rule] = {
    400: Rule("format_error", advice="wrong_address"),
    403: Rule("provider_policy_blocked"),  # a firewall's: nobody has looked at the key
}

# Without a status: the request was read and refused, so that repeating it does not help.
REFUSED = _by_codes("format_error", "invalid_request_error invalid_argument validationexception badrequesterror")

TLS_BROKEN = (
    r"record.layer.failure|bad.record.mac|eof occurred in violation|unexpected.eof|decryption.failed|bad.length"
    r"|connection reset|alert.internal.error|handshake operation timed out|ssl connection has been closed"
)
