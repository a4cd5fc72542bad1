"""Publishing packages, and what comes back by itself: timers, start-up entries."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene
from tools.approval.dangers.verb_tables import LOCAL, OWN_JUDGES
from tools.approval.dangers.words import sort_words, texts
from tools.bash.reading import Invocation

_PUBLISHES: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun", "lerna", "nx", "jsr", "deno", "ni"),
        re.compile(r"publish|unpublish|deprecate|dist-tag|owner|access|token|adduser|npm"),
    ),
    "cargo": re.compile(r"publish|yank|owner|release|login"),
    **dict.fromkeys(("gem", "rake"), re.compile(r"push|yank|owner|release|signin")),
    **dict.fromkeys(
        ("poetry", "uv", "twine", "hatch", "flit", "pdm", "rye", "maturin", "conda", "anaconda"),
        re.compile(r"publish|upload|register|token|login"),
    ),
    **dict.fromkeys(("dotnet", "nuget"), re.compile(r"push|delete")),
    **dict.fromkeys(
        ("mvn", "mvnw", "gradle", "gradlew", "sbt"),
        re.compile(r"(?:\S*:)?(?:deploy|publish\w*|release:perform|upload\w*)"),
    ),
    **dict.fromkeys(("dart", "flutter"), re.compile(r"publish")),
    "pod": re.compile(r"push"),
    "mix": re.compile(r"hex\.publish|hex\.retire"),
    "vsce": re.compile(r"publish|unpublish"),
    "ovsx": re.compile(r"publish"),
    "goreleaser": re.compile(r"release"),
    "changeset": re.compile(r"publish"),
    "oras": re.compile(r"push"),
    "crane": re.compile(r"push|delete"),
    "skopeo": re.compile(r"copy|delete|sync"),
    "chart-releaser": re.compile(r"upload"),
    "opam": re.compile(r"publish"),
    "luarocks": re.compile(r"upload"),
    "stack": re.compile(r"upload"),
    "cabal": re.compile(r"upload"),
    "composer": re.compile(r"publish"),
    "asdf": re.compile(r"publish"),
    "web-ext": re.compile(r"sign"),
    "snapcraft": re.compile(r"upload|release|push"),
    "eas": re.compile(r"submit|update"),
    "modal": re.compile(r"deploy"),
    "huggingface-cli": re.compile(r"upload\S*|delete-\S+"),
    "hf": re.compile(r"upload"),
    "conan": re.compile(r"upload"),
    "ko": re.compile(r"publish|build|apply|resolve|create"),
}  # fmt: skip
_ALWAYS = frozenset({
    "semantic-release", "release-it", "np", "clojars", "cpan-upload", "fastlane", "surge", "gh-pages",
})  # fmt: skip
# Whatever tool says it first: `anything publish`.
_ANY_PUBLISHER = re.compile(r"publish|unpublish")
_OTHER_WORK = frozenset({"run", "run-script", "exec", "install", "add", "i", "view", "info", "config"})
_KEEP_SETTINGS = frozenset(
    {"npm", "pnpm", "yarn", "pip", "pip3", "go", "composer", "gem", "bundle", "conda", "poetry", "cargo"}
)
_LOOKS = frozenset({"--version", "--help", "-h", "doctor", "status"})
_DRY = frozenset({"--dry-run", "--help", "-h", "--dry-run=true"})
_SHORT_DRY = frozenset({"cargo", "rake", "dart", "flutter"})  # to others `-n` means that they do not ask
_TO_AN_INDEX = frozenset({"upload", "register"})  # of a setup.py
_MANY_GOALS = frozenset({"mvn", "mvnw", "gradle", "gradlew", "sbt", "rake"})  # they do all that they are told
_KINDS = frozenset({"package", "pkg", "module", "crate", "extension", "chart", "image"})
_VALUES = (
    "pCF",
    ("--project", "--registry", "--filter", "--workspace", "--cwd", "--dir", "--prefix", "--directory"),
)  # fmt: skip
_COMES_BACK = frozenset({"at", "batch", "atrm", "schtasks", "anacron", "fcron", "fcrontab", "incrontab"})
_MANAGERS = frozenset({"systemctl", "launchctl", "loginctl"})
_STARTS_AGAIN = re.compile(r"enable(?:-linger)?|load|bootstrap|submit|link|edit|set-default|start|import-environment")
_GO_KEEPS = frozenset({"-w", "--w", "-u", "--u"})
_SHOWS_SETTINGS = frozenset({"get", "list", "ls", "debug", "path"})


def judge_publishing(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` puts something before the public."""
    program, given = call.program.casefold(), texts(call.arguments)
    behind = itertools.dropwhile(lambda text: posixpath.basename(text) != "setup.py", (call.written, *given))
    if not _TO_AN_INDEX.isdisjoint(behind):
        yield Finding("dangerous", "publishing", "publishes a package", outside=True)
    if not _DRY.isdisjoint(given) or (program in _SHORT_DRY and "-n" in given):
        return
    verbs = _PUBLISHES.get(program, _ANY_PUBLISHER)
    if program in _ALWAYS or any(verbs.fullmatch(text) for text in _verbs_of(program, call)):
        yield Finding("dangerous", "publishing", "publishes a package", outside=True)


def _verbs_of(program: str, call: Invocation) -> tuple[str, ...]:
    """The words among which is what `call` shall do."""
    words = sort_words(call.arguments, *_VALUES).plain
    if program in _MANY_GOALS:
        return words
    if not _OTHER_WORK.isdisjoint(words[:1]) or texts(call.arguments[:1]) == ("test",):
        return ()
    if program in _PUBLISHES:
        return words[:3]
    if program in LOCAL or program in OWN_JUDGES:
        return ()
    return words[:1] if _KINDS.isdisjoint(words[:1]) else words[1:2]


def judge_persistence(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """Whether `call` installs something that comes back by itself."""
    program, given = call.program.casefold(), texts(call.arguments)
    if (
        (program == "crontab" and given[:1] != ("-l",))
        or program in _COMES_BACK
        or (program == "osascript" and any("login item" in text for text in given))
        or (program in _MANAGERS and any(_STARTS_AGAIN.fullmatch(text) for text in given))
    ):
        yield Finding("dangerous", "persistence", "installs something that comes back", outside=True)
    elif program in {"pre-commit", "husky", "lefthook"} and given[:1] == ("install",):
        yield Finding("dangerous", "persistence", "installs hooks that run at each commit")
    else:
        yield from _left_behind(program, call)


def _left_behind(program: str, call: Invocation) -> Iterator[Finding]:
    given = texts(call.arguments)
    if program in _KEEP_SETTINGS and _sets_something(program, call):
        yield Finding(
            "dangerous", "persistence", f"changes the settings of {program} for all that follows", outside=True
        )
    elif program == "ssh-keygen" and "-R" in given:
        yield Finding("dangerous", "system files", "changes the machines that are trusted", outside=True)
    elif program == "ssh-copy-id" or (program == "ssh-add" and given[:1] not in (("-l",), ("-L",))):
        yield Finding("dangerous", "persistence", "gives somebody a way in", outside=True)
    elif program in {"code", "cursor", "codium"} and "--install-extension" in given:
        yield Finding("dangerous", "persistence", "installs an extension of the editor", outside=True)
    elif program in {"hermes", "hermes-acp", "hermes-agent"} and given and given[0] not in _LOOKS:
        yield Finding("dangerous", "our configuration", "controls this agent itself", outside=True)


def _sets_something(program: str, call: Invocation) -> bool:
    given, words = texts(call.arguments), sort_words(call.arguments, *_VALUES).plain
    if program == "go":
        return words[:1] == ("env",) and not _GO_KEEPS.isdisjoint(given)
    if program in {"bundle", "poetry"} and "--local" in given:
        return False
    return len(words) > 1 and words[0] in {"config", "set"} and words[1] not in _SHOWS_SETTINGS
