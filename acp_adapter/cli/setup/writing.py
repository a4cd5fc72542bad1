"""Puts what was chosen into its places, and tells the person which these are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from acp_adapter.cli.setup.choosing import with_new_key
from acp_adapter.cli.setup.files import alone, planned_files, write
from acp_adapter.cli.setup.key_store import Store, forget, stored
from acp_adapter.cli.setup.plan import choice_for, dropped, in_the_way, key_variable, server_of
from acp_adapter.cli.terminal.safe_text import safe_text
from agent_core import system_keyring
from agent_core.config import read_env
from agent_core.kept_variables import KeptVariables
from agent_core.signed_out import SignedOut

if TYPE_CHECKING:
    from acp_adapter.cli.setup.choosing import Person
    from acp_adapter.cli.setup.plan import Wanted
    from agent_core.config import Configuration


def with_moved_key(config: Configuration, wanted: Wanted) -> Wanted:
    """The same with the key that .env has or names, so that it gets to another place."""
    variable = key_variable(config, server_of(config, wanted.provider), wanted.base_url)
    if wanted.key or variable not in read_env(config.home.env_file):
        return wanted
    key = choice_for(config, wanted).api_key
    return with_new_key(config, wanted, key) if key else wanted


def chosen_store(
    config: Configuration, names: Mapping[str, str], asked: Store | None, person: Person | None
) -> Store:
    """Where these keys go: as the command line says, or the person, or else where they were before."""
    if asked is not None or not names:
        return asked or "file"
    before = any(_is_kept(config, name) for name in names)
    if person is None or not system_keyring.is_usable():
        return "keyring" if before else "file"
    kept = person.agrees(
        "Keep keys in the system's keyring? Otherwise they are in .env, readable by you alone.", default=before
    )
    return "keyring" if kept else "file"


def write_all(
    config: Configuration,
    wanted: Wanted | None,
    tool_keys: Mapping[str, str],
    asked: Store | None,
    person: Person | None,
) -> None:
    """Write the choice and the keys.

    Raises:
        SetupFailed, KeyringFailed: it could not be done, and nothing was.
    """
    keys = {**tool_keys, **({wanted.variable: wanted.key} if wanted is not None and wanted.key else {})}
    store = chosen_store(config, keys, asked, person)
    values = {} if wanted is None else wanted.values(server_of(config, wanted.provider))
    gone = frozenset() if wanted is None else dropped(config, wanted)
    # What cannot be written is found out before the keyring is touched.
    planned_files(config.home, values, gone, keys)
    with stored(config.home, keys, store) as variables, alone(config.home):
        files = planned_files(config.home, values, gone, variables)
        write(config.home, files)
    for file in files:
        kept = f" (what it was: {file.backup})" if file.backup else ""
        print(f"Written: {safe_text(str(file.path))}{safe_text(kept)}")
    if store == "keyring" and keys:
        print(f"In the system's keyring, as {safe_text(system_keyring.service_of(config.home))}: {', '.join(keys)}")
        return
    for name in filter(lambda name: _is_kept(config, name), keys):
        if problem := forget(config.home, name):
            print(f"Note: {problem}")


def tell_choice(config: Configuration, wanted: Wanted) -> None:
    """Say what answers from now on, and what stands in its way."""
    SignedOut(config.home).clear()
    for sentence in in_the_way(wanted, os.environ):
        print(f"Note: {sentence}")
    print(f"{safe_text(wanted.provider)}:{safe_text(wanted.model)} answers in new sessions from now on.", flush=True)


def _is_kept(config: Configuration, name: str) -> bool:
    return isinstance(config.environ, KeptVariables) and config.environ.keeps(name)
