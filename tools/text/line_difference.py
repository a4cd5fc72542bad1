"""How two lines differ that a reader would take for the same: white space, quotes, escapes, look-alikes."""

from __future__ import annotations

import unicodedata

from tools.text.diffs import around_change

_MAX_SHOWN = 300
_LOOKALIKES = str.maketrans(
    {
        "‘": "'", "’": "'", "‚": "'", "′": "'", "“": '"', "”": '"', "„": '"', "″": '"',
        "–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "…": "...",
        "\u00a0": " ", "\u202f": " ", "\u200b": "", "\ufeff": "",
    }
)  # fmt: skip
_QUOTES = str.maketrans({"'": '"', "`": '"'})
_ESCAPES = (("\\n", "\n"), ("\\t", "\t"), ('\\"', '"'), ("\\'", "'"), ("\\\\", "\\"))


def normalised(line: str) -> str:
    """The line without what `describe_difference` has a name for, so that such lines compare equal."""
    if not line.isascii():
        line = unicodedata.normalize("NFKC", line.translate(_LOOKALIKES))
    return " ".join(line.translate(_QUOTES).split()).casefold()


def describe_difference(wrote: str, has: str) -> str:
    """How two different lines differ, for whoever sees the file's line too.

    Returns:
        «you wrote '…'» for other text, and «you wrote '…', the file has '…' (why)» for what is hardly to be seen.
    """
    reasons = _reasons(wrote, has)
    yours, theirs = map(repr, around_change(wrote, has, _MAX_SHOWN))
    if not reasons and len(has) <= _MAX_SHOWN:
        return f"you wrote {yours}"
    why = f" ({', '.join(reasons)})" if reasons else ""
    return f"you wrote {yours}, the file has {theirs}{why}"


def _reasons(wrote: str, has: str) -> list[str]:
    """What differs, where that has a name; blanks matter only where the rest is the same but for that."""
    reasons = _space_reasons(wrote, has)
    yours, theirs = wrote.strip(), has.strip()
    if yours == theirs:
        return reasons
    for name, same in (
        ("spaces within the line", lambda text: " ".join(text.split())),
        ("kind of quotes", lambda text: text.translate(_QUOTES)),
        ("upper and lower case", str.casefold),
        ("look-alike characters", lambda text: unicodedata.normalize("NFKC", text.translate(_LOOKALIKES))),
        ("escapes", _unescaped),
    ):
        if same(yours) == same(theirs):
            return [*reasons, name]
    return ["several small differences"] if normalised(wrote) == normalised(has) else []


def _space_reasons(wrote: str, has: str) -> list[str]:
    reasons: list[str] = []
    yours, theirs = _indent(wrote), _indent(has)
    if yours != theirs:
        reasons.append(f"indented with {_named(theirs)}, not {_named(yours)}")
    if wrote.endswith("\r") != has.endswith("\r"):
        reasons.append("Windows line ending" if has.endswith("\r") else "no Windows line ending")
    elif _tail(wrote) != _tail(has):
        reasons.append("white space at the end")
    return reasons


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _tail(line: str) -> str:
    return line[len(line.rstrip()) :]


def _named(space: str) -> str:
    counts = ((space.count("\t"), "tab"), (space.count(" "), "space"))
    named = [f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count]
    return " and ".join(named) or "nothing"


def _unescaped(text: str) -> str:
    for escaped, plain in _ESCAPES:
        text = text.replace(escaped, plain)
    return text
