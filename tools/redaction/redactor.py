"""Takes secrets out of text."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable

from tools.redaction.assignments import assigned_secrets
from tools.redaction.disguises import forms_of
from tools.redaction.shapes import SHAPES, Shape

Redact = Callable[[str], str]

_SHORTEST = 8
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])")
_NEAR = 300


def redact(text: str) -> str:
    """`text` with `[redacted: github token]` in place of what has the shape or the name of a secret.

    What is redacted already stays as it is. The text keeps its line breaks, but for those within a private key.
    """
    for shape in SHAPES:
        if any(probe in text for probe in shape.probes):
            text = _without(text, shape)
    return _with_replaced(text, assigned_secrets(text), lambda _: "[redacted: secret]")


class Redactor:
    """`redact`, which also knows secrets of our own by their value. One may serve several threads."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._learning = threading.Lock()
        # Replaced together, so that who reads needs no lock.
        self._known: tuple[frozenset[str], re.Pattern[str] | None] = frozenset(), None
        self.learn(known)

    def learn(self, secrets: Iterable[str]) -> None:
        """From now on take these out, too, also encoded; those that are too short to be secrets are passed over."""
        forms = frozenset(form for secret in secrets if len(secret) >= _SHORTEST for form in forms_of(secret))
        with self._learning:
            known, _ = self._known
            if forms <= known:
                return
            known |= forms
            # The longest first: one key may begin with another.
            ordered = sorted(known, key=len, reverse=True)
            self._known = known, re.compile("|".join(map(re.escape, ordered)))

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        known, pattern = self._known
        if pattern is not None and any(secret in text for secret in known):
            text = pattern.sub("[redacted: our key]", text)
        return redact(text)


def _without(text: str, shape: Shape) -> str:
    pattern, shown = shape.compiled(), f"[redacted: {shape.what}]"
    if "secret" not in pattern.groupindex:
        if shape.what == "aws access key":
            text = _without_aws_secrets(text, pattern)
        return pattern.sub(shown, text)
    return pattern.sub(lambda found: _replaced(found, shown), text)


def _replaced(found: re.Match[str], shown: str) -> str:
    start, end = found.span("secret")
    return f"{found[0][: start - found.start()]}{shown}{found[0][end - found.start() :]}"


def _without_aws_secrets(text: str, key_ids: re.Pattern[str]) -> str:
    """The secret key has no form of its own; it is what stands near its id and is 40 signs long."""
    near: list[tuple[int, int]] = []
    for found in key_ids.finditer(text):
        start, end = max(0, found.start() - _NEAR), found.end() + _NEAR
        if near and start <= near[-1][1]:
            near[-1] = (near[-1][0], end)
        else:
            near.append((start, end))
    return _with_replaced(text, near, lambda part: _AWS_SECRET.sub(lambda secret: _aws(secret[0]), part))


def _aws(value: str) -> str:
    is_digest = all(sign in "0123456789abcdef" for sign in value)
    return value if is_digest else "[redacted: aws secret key]"


def _with_replaced(text: str, places: Iterable[tuple[int, int]], replaced: Redact) -> str:
    """`text` with each of `places`, which follow each other, replaced."""
    pieces, done = [], 0
    for start, end in places:
        pieces += [text[done:start], replaced(text[start:end])]
        done = end
    return "".join((*pieces, text[done:])) if pieces else text
