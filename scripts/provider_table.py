"""The table of providers in docs/models.md.

`python -m scripts.provider_table docs/models.md` renews it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from agent_core.providers.catalog import ALIASES, CUSTOM, SERVICES, SIGN_INS, Service

BEGIN = "<!-- providers: written by `make docs` from agent_core/providers/catalog.py -->"
END = "<!-- end of providers -->"


def catalog_table() -> str:
    """One row for each service, in Markdown."""
    rows = (_row(service) for service in SERVICES.values())
    head = ("| provider | service | address | key | protocol | to know |", "|---|---|---|---|---|---|")
    return "\n".join((*head, *rows))


def with_table(page: str) -> str:
    """The page with a fresh table between its two markers.

    Raises:
        ValueError: a marker is missing.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page needs the lines {BEGIN!r} and {END!r} around its table.")
    return f"{before}{BEGIN}\n{catalog_table()}\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite the page that the arguments name."""
    if len(arguments) != 1:
        sys.stderr.write("Usage: python -m scripts.provider_table docs/models.md\n")
        return 2
    page = Path(arguments[0])
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def _row(service: Service) -> str:
    others = sorted(alias for alias, name in ALIASES.items() if name == service.name)
    names = f"`{service.name}`" + "".join(f", `{alias}`" for alias in others)
    where = service.base_url or next(iter(service.hosts), "")
    address = f"`{where}`" if where else "yours"
    title = service.title if service is CUSTOM else f"[{service.title}]({service.source})"
    return f"| {names} | {title} | {address} | {_key(service)} | {_protocol(service)} | {service.note} |"


def _key(service: Service) -> str:
    variables = ", ".join(f"`{name}`" for name in service.keys)
    if service.sign_in is not None:
        sign_in = f"a sign-in at {SIGN_INS[service.sign_in]}"
        return f"{variables}, or {sign_in}" if variables else sign_in
    match service.access:
        case "sign-in":
            return "your account's token"
        case "optional":
            return f"{variables} if set" if variables else "none needed"
    return variables


def _protocol(service: Service) -> str:
    if service.api_mode is not None:
        return f"`{service.api_mode}`"
    return "`anthropic_messages`" if service.base_url.endswith("/anthropic") else "`chat_completions`"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
