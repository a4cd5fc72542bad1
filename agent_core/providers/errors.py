"""Why a model request failed and what helps: one classifier; the loop reads flags and never a provider's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    "model_not_found",
    "provider_policy_blocked",
    "content_policy",
    "format_error",
    "thinking_signature",
    "long_context_tier",
    "grammar_pattern",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class ClassifiedError:
    """What a failed request means for the turn.

    Attributes:
        retryable: the same request may succeed a little later.
        should_compress: it may succeed with less history.
        should_rotate_credential: another key of the same provider may be served.
        should_fallback: another model may answer.
        retry_after: seconds that the server asked us to wait; None where it did not say.
        public_message: one or two sentences that name provider, model, cause and next step.
    """

    reason: Reason
    retryable: bool
    should_compress: bool
    should_rotate_credential: bool
    should_fallback: bool
    retry_after: float | None
    status_code: int | None
    public_message: str
