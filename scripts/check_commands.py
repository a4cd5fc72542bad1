"""`python -m scripts.check_commands`: what is missed in the corpus of commands, and what asks for nothing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.support import command_corpus as corpus


def main() -> int:
    """Print the rates by family and each wrong verdict; 1 if there is one."""
    parser = argparse.ArgumentParser("python -m scripts.check_commands", description=__doc__)
    parser.add_argument("family", nargs="*", help="only these families (part of a name)")
    parser.add_argument("--folder", type=Path, default=corpus.FOLDER, help="another corpus")
    parser.add_argument("--rates", action="store_true", help="only the table")
    parser.add_argument(
        "--not-safe", action="store_true", help="also the read-only commands that are not proven safe"
    )
    chosen = parser.parse_args()
    entries = corpus.load(chosen.folder)
    if chosen.family:
        entries = tuple(entry for entry in entries if any(part in entry.family for part in chosen.family))
    families = corpus.by_family(corpus.judge(entries))
    for rates in families:
        safe = sum(verdict.level == "safe" for verdict in rates.verdicts)
        told = f", {safe} proven safe" if rates.label in {"safe", "ordinary"} else ""
        print(f"{rates.family:26} {rates.label:10} {len(rates.verdicts):4}  {rates.right_percent:6.1f} %{told}")
    wrong = [verdict for rates in families for verdict in rates.wrong]
    if not chosen.rates:
        _list("MISSED", [one for one in wrong if one.is_missed])
        _list("FALSE ALARMS", [one for one in wrong if one.is_false_alarm])
    if chosen.not_safe:
        unproven = (one for rates in families if rates.label == "safe" for one in rates.verdicts)
        _list("NOT PROVEN SAFE", [one for one in unproven if one.level != "safe"])
    return 1 if wrong else 0


def _list(title: str, verdicts: list[corpus.Verdict]) -> None:
    if verdicts:
        print(f"\n{title} ({len(verdicts)})")
    for verdict in verdicts:
        print(f"  {verdict.entry.family}: {verdict}")


if __name__ == "__main__":
    sys.exit(main())
