"""Destruction of what is elsewhere, told by the verb rather than by the tool: `anything apps destroy x`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene
from tools.approval.dangers.verb_tables import (
    CHANGING,
    CLOUD,
    DESTRUCTIVE,
    ENDING,
    LOCAL,
    NOUNS,
    OWN_JUDGES,
    PROJECT_TASKS,
    READING,
    REVERTING,
    SECRETIVE,
    TASK_RUNNERS,
)
from tools.approval.dangers.words import shown, texts
from tools.bash.reading import UNKNOWN, Invocation

_MAX_WORDS = 6
_INTERPRETERS = frozenset({"dotnet", "python", "python3", "php", "node", "bundle", "ruby", "tsx", "ts-node"})
# A file that is made is named after what it will do.
_MAKES_TEXTS = re.compile(r"generate|g|new|revision|scaffold|make:\S+|\w+:(?:generate|create|make|new)")
_MODULES_THAT_RUN = frozenset({"shell", "command", "raw", "script", "-a", "reboot", "file", "service"})
_PLAYERS = frozenset({"ansible-playbook", "salt", "puppet", "chef-client", "knife", "cap", "kamal"})
_ONLY_CHECKS = frozenset({"--check", "--list-tasks", "--list-hosts", "--syntax-check", "-C"})
_DEPLOYERS = frozenset({"vercel", "netlify", "eas", "now"})
_QUALIFIERS = frozenset({"batch", "bulk", "admin", "force", "async", "mass", "multi"})
_SERVICES_FIRST = frozenset(
    {"aws", "gcloud", "az", "oci", "aliyun", "ibmcloud", "openstack", "doctl", "gsutil", "awslocal"}
)
_MACHINES = frozenset({"compute", "machine", "machines", "instance", "vm", "console", "node", "server", "box", "env"})
_NAMED_SO = re.compile(r"(?:flush|destroy|purge|nuke|wipe)$")
_PIECES = re.compile(r"[-_:./]+|(?<=[a-z])(?=[A-Z])")
_FILE = re.compile(r".*\.[A-Za-z][A-Za-z0-9]{0,4}|.*/.*|.*=.*|https?:.*", re.DOTALL)
_ONLY_TELLS = re.compile(r"--help|-h|--version|--dry-?run(?:=(?!false|none).*)?|--dryrun|--what-if|--check-only")
_FLAGS = re.compile(
    r"--(?:delete|destroy|purge|prune|wipe|drop|force-reset|force-delete|delete-all|remove-all|erase"
    r"|terminate|nuke|flush|allow-destructive\S*|delete-\S+|purge-\S+|destroy-\S+)(?:=true)?"
)


def judge_verbs(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` takes away, stops or shows something by its verb."""
    program = call.program.casefold().removesuffix(".exe")
    if not program:
        return
    given = texts(call.arguments)
    if any(_ONLY_TELLS.fullmatch(text) for text in given) or "can-i" in given:
        return
    words = _words(call)
    if words and program in _INTERPRETERS and (runner := words[0].rpartition("/")[2]) in TASK_RUNNERS:
        program, words = runner, words[1:]
    if words and program in TASK_RUNNERS and _MAKES_TEXTS.fullmatch(words[0]):
        return
    if program in TASK_RUNNERS:
        yield from _tasks(program, words, given)
    if program in LOCAL or program in OWN_JUDGES:
        return
    yield from _elsewhere(program, words, given)


def _elsewhere(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Iterator[Finding]:
    """What the words of a client do elsewhere."""
    if program in _PLAYERS:
        if _ONLY_CHECKS.isdisjoint(given):
            yield Finding("dangerous", "infrastructure", "runs commands on other machines", outside=True)
    elif (
        (program == "ansible" and not _MODULES_THAT_RUN.isdisjoint(given))
        or (program in {"bolt", "mco"} and words[1:2] == ("run",))
        or program in {"pyinfra", "rex"}
    ):
        yield Finding("dangerous", "infrastructure", "runs commands on other machines", outside=True)
    elif words[:1] == ("ssh",) or (words[1:2] == ("ssh",) and words[0] in _MACHINES):
        yield Finding("dangerous", "exfiltration", "reaches another machine", outside=True)
    elif (found := _by_verb(program, words, given)) is not None:
        yield found
    elif program in _DEPLOYERS and not {"--prod", "--production"}.isdisjoint(given):
        yield Finding("dangerous", "publishing", "deploys to production", outside=True)
    elif program in CLOUD and words and words[0].startswith(UNKNOWN):
        yield Finding("dangerous", "hidden", f"runs a command of {program} whose name is hidden", outside=True)
    elif program in CLOUD and program not in {"gh", "glab"}:
        yield from _in_cloud(program, words, given)
    elif any(_FLAGS.fullmatch(text) for text in given):
        yield Finding("dangerous", "infrastructure", f"deletes something through {shown(program)}", outside=True)


def _words(call: Invocation) -> tuple[str, ...]:
    """The first words that are no options, in order, values of options among them."""
    found = (text for text in texts(call.arguments) if text and not text.startswith("-"))
    return tuple(itertools.islice(found, _MAX_WORDS))


def _pieces(word: str) -> list[str]:
    return [piece.casefold() for piece in _PIECES.split(word) if piece]


def _by_verb(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Finding | None:
    own = _pieces(re.sub(r"\.(?:sh|py|pl|rb)$", "", program))
    if (len(own) > 1 and own[-1] in DESTRUCTIVE) or _NAMED_SO.search(program):
        return _takes_away(program)
    taking = DESTRUCTIVE | ENDING if program in CLOUD else DESTRUCTIVE | REVERTING
    for place, word in enumerate(words):
        if _FILE.fullmatch(word) or UNKNOWN in word:
            continue
        pieces = _unqualified(_pieces(word))
        if not pieces:
            continue
        if pieces[0] in READING and not any(piece in taking for piece in pieces[1:2]):
            if _is_noun(program, word, given):
                continue
            return (
                _shows(program, words) if any(piece in SECRETIVE for one in words for piece in _pieces(one)) else None
            )
        if pieces[0] in taking or _takes(pieces, word, program):
            return _takes_away(program)
        if pieces[0] in CHANGING and program not in CLOUD and place > 0:
            return None
    return None


def _unqualified(pieces: list[str]) -> list[str]:
    return pieces if _QUALIFIERS.isdisjoint(pieces[:1]) else pieces[1:]


def _is_noun(program: str, word: str, given: tuple[str, ...]) -> bool:
    """Whether a word that may mean looking is what the next one takes away: `aws logs delete-log-group`."""
    if program not in CLOUD or len(_pieces(word)) > 1 or word == "help":
        return False
    after = next((second for first, second in itertools.pairwise(given) if first == word), "")
    is_service = program in _SERVICES_FIRST and bool(_pieces(after)) and _pieces(after)[0] in DESTRUCTIVE
    return after in DESTRUCTIVE or is_service


def _takes(pieces: list[str], word: str, program: str) -> bool:
    """Whether a word of several pieces says what it does elsewhere: `apps:destroy`, `batch-delete-image`."""
    if program in CLOUD:
        return pieces[-1] in ENDING or any(piece in DESTRUCTIVE or piece in NOUNS for piece in pieces)
    return pieces[-1] in DESTRUCTIVE and ":" in word


def _takes_away(program: str) -> Finding:
    return Finding("dangerous", "infrastructure", f"deletes or ends something through {shown(program)}", outside=True)


def _shows(program: str, words: tuple[str, ...]) -> Finding | None:
    if words[:1] == ("search",):
        return None
    return Finding("dangerous", "credentials", f"shows secrets through {shown(program)}", outside=True)


def _in_cloud(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Iterator[Finding]:
    reads = CLOUD[program]
    if (program == "aws" and words[:2] in (("s3", "cp"), ("s3", "sync"), ("s3", "mv"))) or (
        program == "gsutil" and words[:1] in (("cp",), ("rsync",), ("mv",))
    ):
        yield Finding("dangerous", "exfiltration", "copies files to or from elsewhere", outside=True)
        return
    if not words or words[:2] in (("rollout", "status"), ("rollout", "history")):
        return
    if words[:2] in (("configure", "set"), ("config", "set")):
        yield Finding("dangerous", "persistence", f"changes the settings of {program}", outside=True)
        return
    for word in words:
        pieces = _unqualified(_pieces(word))
        changes = bool(pieces) and (
            pieces[0] in CHANGING or word in CHANGING or (":" in word and any(one in CHANGING for one in pieces))
        )
        builds = (program, word) == ("packer", "build")
        if (word in reads or (pieces and not changes and pieces[0] in READING)) and not builds:
            return
        if changes or builds:
            yield Finding("dangerous", "infrastructure", f"changes something through {shown(program)}", outside=True)
            return
    if "--auto-approve" in given or "-auto-approve" in given:
        yield Finding("dangerous", "infrastructure", f"changes something through {shown(program)}", outside=True)


def _tasks(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Iterator[Finding]:
    if {"--force-reset", "--accept-data-loss"}.intersection(given) or (
        program == "drizzle-kit" and "push" in words and "--force" in given
    ):
        yield Finding("dangerous", "sql", "deletes what is in the database")
        return
    if any(PROJECT_TASKS.fullmatch(word) for word in words):
        yield Finding("dangerous", "sql", "deletes what is in the database")
