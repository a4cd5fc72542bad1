"""Publishing packages, and what comes back by itself: timers, start-up entries."""

from __future__ import annotations

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
    **dict.fromkeys(("poetry", "uv", "twine", "hatch", "flit", "pdm", "rye", "maturin", "conda", "anaconda"),
                    re.compile(r"publish|upload|register|token|login")),
    **dict.fromkeys(("dotnet", "nuget"), re.compile(r"push|delete")),
    **dict.fromkeys(("mvn", "mvnw", "gradle", "gradlew", "sbt"),
    re.compile(r"(?:\S*:)?(?:deploy|publish\w*|release:perform|upload\w*)")),
    **dict.fromkeys(("dart", "flutter"), re.compile(r"publish")),
    "pod": re.compile(r"push"), "mix": re.compile(r"hex\.publish|hex\.retire"),
    "vsce": re.compile(r"publish|unpublish"),
    "ovsx": re.compile(r"publish"), "semantic-release": re.compile(r".*"), "release-it": re.compile(r".*"),
    "goreleaser": re.compile(r"release"), "np": re.compile(r".*"), "changeset": re.compile(r"publish"),
    "oras": re.compile(r"push"), "crane": re.compile(r"push|delete"), "skopeo": re.compile(r"copy|delete|sync"),
    "chart-releaser": re.compile(r"upload"), "clojars": re.compile(r".*"), "opam": re.compile(r"publish"),
    "luarocks": re.compile(r"upload"), "cpan-upload": re.compile(r".*"), "stack": re.compile(r"upload"),
    "cabal": re.compile(r"upload"), "composer": re.compile(r"publish"), "asdf": re.compile(r"publish"),
    "web-ext": re.compile(r"sign"), "snapcraft": re.compile(r"upload|release|push"), "fastlane": re.compile(r".*"),
    "eas": re.compile(r"submit|update"), "modal": re.compile(r"deploy"), "surge": re.compile(r".*"),
    "gh-pages": re.compile(r".*"),
    "huggingface-cli": re.compile(r"upload\S*|delete-\S+"), "hf": re.compile(r"upload"),
    "conan": re.compile(r"upload"), "ko": re.compile(r"publish|build|apply|resolve|create"),
}  # fmt: skip
# Whatever tool says it first: `anything publish`.
_ANY_PUBLISHER = re.compile(r"publish|unpublish")
_OTHER_WORK = frozenset({"run", "run-script", "exec", "install", "add", "i", "view", "info", "config"})
_KEEP_SETTINGS = frozenset(
    {"npm", "pnpm", "yarn", "pip", "pip3", "go", "composer", "gem", "bundle", "conda", "poetry", "cargo"}
)
_LOOKS = frozenset({"--version", "--help", "-h", "doctor", "status"})
_DRY = frozenset({"--dry-run", "-n", "--help", "-h", "--dry-run=true"})


def judge_publishing(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` puts something before the public."""
    program, given = call.program.casefold(), texts(call.arguments)
    if any(text.rsplit("/", 1)[-1] == "setup.py" for text in (call.written, *given[:3])) and {
        "upload",
        "register",
    }.intersection(given):
        yield Finding("dangerous", "publishing", "publishes a package", outside=True)
    verbs = _PUBLISHES.get(program, None if program in LOCAL or program in OWN_JUDGES else _ANY_PUBLISHER)
    if verbs is None or _DRY.intersection(given):
        return
    words = sort_words(
        call.arguments,
        "pCF",
        ("--project", "--registry", "--filter", "--workspace", "--cwd", "--dir", "--prefix", "--directory"),
    )
    if verbs is _ANY_PUBLISHER and not _publishes_packages(words.plain):
        return
    first = words.plain[:3] if program not in {"mvn", "gradle", "gradlew", "mvnw"} else words.plain
    if words.plain[:1] and words.plain[0] in _OTHER_WORK and words.plain[:2] != ("npm", "publish"):
        return
    if program in {
        "np",
        "surge",
        "gh-pages",
        "semantic-release",
        "release-it",
        "fastlane",
        "clojars",
        "cpan-upload",
    } or any(verbs.fullmatch(text) for text in first):
        yield Finding("dangerous", "publishing", "publishes a package", outside=True)


def _publishes_packages(words: tuple[str, ...]) -> bool:
    return words[:1] in (("publish",), ("unpublish",)) or (
        words[1:2] == ("publish",)
        and words[0] in {"package", "pkg", "module", "crate", "extension", "chart", "image"}
    )


def judge_persistence(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001
    """Whether `call` installs something that comes back by itself."""
    program, given = call.program.casefold(), texts(call.arguments)
    why = "installs something that comes back"
    if program == "crontab":
        if given[:1] != ("-l",):
            yield Finding("dangerous", "persistence", why, outside=True)
    elif program in {"at", "batch", "atrm", "schtasks", "anacron", "fcron", "fcrontab", "incrontab", "osascript"}:
        if program != "osascript" or "login item" in " ".join(given):
            yield Finding("dangerous", "persistence", why, outside=True)
    elif program in {"systemctl", "launchctl", "loginctl"}:
        if any(
            re.fullmatch(
                r"enable(?:-linger)?|load|bootstrap|submit|link|edit|set-default|start|import-environment", text
            )
            for text in given[:3]
        ):
            yield Finding("dangerous", "persistence", why, outside=True)
    elif program in {"pre-commit", "husky", "lefthook"} and given[:1] == ("install",):
        yield Finding("dangerous", "persistence", "installs hooks that run at each commit")
    else:
        yield from _left_behind(program, given)


def _left_behind(program: str, given: tuple[str, ...]) -> Iterator[Finding]:
    if program in _KEEP_SETTINGS and _sets_something(program, given):
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


def _sets_something(program: str, given: tuple[str, ...]) -> bool:
    words = [text for text in given if not text.startswith("-")]
    if program == "go":
        return words[:1] == ["env"] and bool({"-w", "-u"}.intersection(given))
    if program in {"bundle", "poetry"} and "--local" in given:
        return False
    return len(words) > 1 and words[0] in {"config", "set"} and words[1] not in {"get", "list", "ls", "debug", "path"}
