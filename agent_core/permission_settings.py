"""The user's settings and the project's about permissions, as the policy wants them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from agent_core.config import Configuration
from agent_core.project_policy import ApprovalMode, ProjectPolicy, read_project_policy, stricter
from tools.approval.rule_patterns import spelled_out, with_real_places
from tools.approval.rules import PermissionRule, allowlist_rules, parse_rule
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PermissionSettings:
    """What holds for every action of a session.

    Attributes:
        deny, allow: as in `Rules`.
        mode: when the person is asked; sessions begin in dont_ask with `off`.
        smart: a model may say yes to what comes back by itself.
        warnings: what of the project's settings was left out, for the person.
    """

    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    mode: ApprovalMode = "auto"
    smart: bool = False
    warnings: tuple[str, ...] = ()


def permission_settings(
    config: Configuration,
    roots: Sequence[Path],
    further: Sequence[ProjectPolicy] = (),
    there: Callable[[PermissionRule], Iterable[PermissionRule]] = lambda _: (),
) -> PermissionSettings:
    """Read what the user's settings and the projects in `roots` say. Blocks for small files.

    Args:
        roots: the session's directories; each may have a `.hermes/config.yaml` that narrows the user's settings.
        further: what projects say that are not on this machine.
        there: what a denying rule means besides on the machine that the session works on.
    """
    approvals, file = config.settings.approvals, config.home.config_file
    places = tuple(Path(os.path.realpath(root)) for root in roots)
    own = [parse_rule(text, f"approvals.deny in {file}") for text in approvals.deny]
    mode: ApprovalMode = approvals.mode
    warnings: list[str] = []
    for project in (*(read_project_policy(root, config.home.root) for root in roots), *further):
        own += project.deny
        mode = stricter(mode, project.mode)
        warnings += project.warnings
    return PermissionSettings(
        deny=tuple(
            dict.fromkeys(
                place
                for written in own
                for rule in spelled_out(written)
                for place in (*with_real_places(rule, places), *there(rule))
            )
        ),
        allow=(
            *(parse_rule(text, f"approvals.allow in {file}") for text in approvals.allow),
            *allowlist_rules(config.settings.command_allowlist, f"command_allowlist in {file}"),
        ),
        mode=mode,
        smart=approvals.smart and mode == "auto",
        warnings=tuple(warnings),
    )
