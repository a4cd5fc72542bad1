"""`hermes-acp permissions`: what you have allowed for good, listed and taken back."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from acp_adapter.cli.main import add_profile, command_parser, home_of, say_failed, whole_number
from acp_adapter.format import one_line, safe_text
from tools.approval.grants import FILE_NAME, KeptGrants, listed_grant
from tools.approval.permissions_file import KeptGrantsError

_EPILOG = """\
What you have allowed for good is in permissions.yaml in your home of settings, one entry each. Rules that you wrote
yourself are in config.yaml (approvals.deny, approvals.allow) and are changed there.

exit codes:
  0    it was done; list: also where nothing is kept
  1    it could not be done; stderr says why
  2    the command line was wrong

examples:
  hermes-acp permissions list
  hermes-acp permissions revoke 2
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp permissions` with the arguments `argv`; the result is the exit code."""
    options = _parsed(argv)
    try:
        kept = KeptGrants(home_of(options).root / FILE_NAME)
        return _list(kept, as_json=options.json) if options.action == "list" else _revoke(kept, options.number)
    except KeptGrantsError as problem:
        return say_failed("permissions", str(problem))


def _list(kept: KeptGrants, *, as_json: bool) -> int:
    found, problem = kept.all(), kept.problem
    if as_json:
        print(json.dumps([{**one.record.as_entry(), "counts": one.grant is not None} for one in found], indent=1))
    elif not found and not problem:
        print(f"Nothing is allowed for good: there are no entries in {safe_text(str(kept.path))}.")
    else:
        for number, one in enumerate(found, 1):
            answer = listed_grant(one)
            words = one_line(answer.words if answer.allowed else f"refused: {answer.words}")
            print(f"{number:>3}  {words}{f'  ({one_line(answer.note)})' if answer.note else ''}")
    return say_failed("permissions", problem) if problem else 0


def _revoke(kept: KeptGrants, number: int) -> int:
    found = kept.all()
    if number > len(found):
        return say_failed(
            "permissions", kept.problem or f"There is no entry {number}. Look at hermes-acp permissions list."
        )
    kept.remove(found[number - 1].record)
    answer = listed_grant(found[number - 1])
    print(f"No longer {'allowed' if answer.allowed else 'refused'}: {one_line(answer.words)}")
    return 0


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = command_parser("permissions", "Look at what you have allowed for good, and take it back.", _EPILOG)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list what is allowed for good", allow_abbrev=False)
    listing.add_argument("--json", action="store_true", help="print a JSON array")
    revoke = actions.add_parser("revoke", help="take an entry of the list back", allow_abbrev=False)
    revoke.add_argument("number", type=whole_number, metavar="N", help="its number in the list")
    for action in (listing, revoke):
        add_profile(action, "whose permissions are meant")
    return parser.parse_args(argv)
