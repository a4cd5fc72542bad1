"""What is done about a failed request."""

from __future__ import annotations

from agent_core.model_request.retry_policy import (
    Compress,
    DropImages,
    FallBack,
    GiveUp,
    LeaveOutTools,
    Refresh,
    Rotate,
    Situation,
    Unseal,
    Wait,
    decide,
)
from agent_core.providers.errors import ClassifiedError
from tests.support.each import each


def failure(reason, flags="", *, retry_after=None, status=None):
    return ClassifiedError(
        reason=reason,
        retryable="retry" in flags,
        should_compress="compress" in flags,
        should_rotate_credential="rotate" in flags,
        should_fallback="fallback" in flags,
        retry_after=retry_after,
        status_code=status,
        public_message="it failed",
    )


LIMIT = failure("rate_limit", "retry rotate fallback")
OVERLOADED = failure("overloaded", "retry fallback")


@each(
    ("failed", "ways", "step"),
    [
        (OVERLOADED, {}, Wait(None)),
        (OVERLOADED, {"failures": 4}, GiveUp()),
        (OVERLOADED, {"failures": 3, "can_fall_back": True}, Wait(None)),
        (OVERLOADED, {"failures": 4, "can_fall_back": True}, FallBack()),
        (OVERLOADED, {"can_rotate": True}, Wait(None)),
        (LIMIT, {"can_rotate": True, "can_fall_back": True}, Rotate()),
        (LIMIT, {"can_fall_back": True}, FallBack()),
        (LIMIT, {}, Wait(None)),
        (failure("rate_limit", "retry", retry_after=20.0), {}, Wait(20.0)),
        (failure("rate_limit", "retry", retry_after=3000.0), {}, GiveUp()),
        (failure("rate_limit", "retry", retry_after=300.0), {}, Wait(300.0)),
        (failure("rate_limit", "retry", retry_after=300.5), {}, GiveUp()),
        (failure("billing", "rotate fallback"), {}, GiveUp()),
        (failure("billing", "rotate fallback"), {"can_rotate": True}, Rotate()),
        (failure("auth", "rotate fallback", status=401), {"can_refresh": True, "can_rotate": True}, Refresh()),
        (failure("auth", "rotate fallback", status=401), {"can_rotate": True}, Rotate()),
        (failure("auth", "rotate fallback", status=401), {"can_fall_back": True}, FallBack()),
        (failure("auth", "rotate fallback", status=401), {}, GiveUp()),
        (failure("auth", status=403), {"can_refresh": True}, Refresh()),
        (failure("auth", status=404), {"can_refresh": True}, GiveUp()),
        (failure("tool_schema", "fallback"), {"can_leave_out_tools": True, "can_fall_back": True}, LeaveOutTools()),
        (failure("tool_schema", "fallback"), {"can_fall_back": True}, FallBack()),
        (failure("tool_schema", "fallback"), {}, GiveUp()),
        (failure("auth_permanent", status=401), {"can_refresh": True}, Refresh()),
        (failure("provider_policy_blocked", status=403), {"can_refresh": True}, Refresh()),
        (failure("content_policy", status=403), {"can_refresh": True}, GiveUp()),
        (failure("context_overflow", "compress"), {"can_drop_images": True}, GiveUp()),
        (failure("payload_too_large", "compress"), {}, GiveUp()),
        (failure("context_overflow", "compress"), {"can_compress": True}, Compress()),
        (failure("context_overflow", "compress"), {}, GiveUp()),
        (failure("payload_too_large", "compress"), {"can_drop_images": True}, DropImages()),
        (failure("payload_too_large", "compress"), {"can_compress": True, "can_drop_images": True}, Compress()),
        (failure("connection", "retry compress"), {"can_compress": True}, Wait(None)),
        (failure("connection", "retry compress"), {"can_compress": True, "failures": 2}, Compress()),
        (failure("image_too_large"), {"can_drop_images": True}, DropImages()),
        (failure("image_too_large"), {}, GiveUp()),
        (failure("thinking_signature", "retry"), {"can_unseal": True}, Unseal()),
        (failure("model_not_found", "fallback"), {"can_fall_back": True}, FallBack()),
        (failure("content_policy"), {"can_fall_back": True, "can_rotate": True}, GiveUp()),
        (failure("unknown", "retry"), {}, Wait(None)),
        (failure("unknown", "retry"), {"failures": 2}, GiveUp()),
    ],
)
def test_the_way_on(failed, ways, step):
    assert decide(failed, Situation(**{"failures": 1, "attempts": 4, **ways})) == step
