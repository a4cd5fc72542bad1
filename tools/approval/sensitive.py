"""Paths that hold keys, credentials or hooks: they ask even where other paths of a workspace do not."""

from __future__ import annotations

import fnmatch
import functools
import itertools
import re
from pathlib import Path

_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".git", ".hermes"})
_DIRECTORY_PAIRS = frozenset({(".config", "gh"), (".config", "gcloud")})
_NAMES = (
    ".env", ".env.*", ".env_*", ".env~", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc",
    ".pgpass", ".htpasswd", ".vault-token", ".git-credentials", ".dockercfg", "kubeconfig",
    "id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*", "*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "*.jks",
    "*.kdbx", "credentials", "credentials.*", "terraform.tfstate*", "*.tfvars",
)  # fmt: skip
# Templates of `.env` files, and source code about credentials.
_HARMLESS = (
    ".env*.example", ".env*.sample", ".env*.template", ".env*.dist",
    ".env_example", ".env_sample", ".env_template", "example.env", "sample.env", "template.env",
    "credentials.py", "credentials.pyi", "credentials.js", "credentials.jsx", "credentials.ts", "credentials.tsx",
    "credentials.go", "credentials.rs", "credentials.rb", "credentials.java", "credentials.kt", "credentials.cs",
    "credentials.c", "credentials.cpp", "credentials.h", "credentials.php", "credentials.swift", "credentials.md",
    "credentials.rst", "credentials.html",
)  # fmt: skip
# What something else runs later without being asked.
_STARTS_DIRECTORIES = frozenset({".vscode", ".idea", ".husky"})
_STARTS_PAIRS = frozenset({(".github", "workflows"), (".config", "autostart"), (".local", "bin")})
_STARTS_NAMES = frozenset(
    {
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv",
        ".zlogin", ".zlogout", "config.fish", ".gitconfig", ".gitmodules", ".gitattributes",
        ".pre-commit-config.yaml",
    }
)  # fmt: skip


def why_sensitive(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Why `path` asks for itself («holds …»), or '' when it is ordinary.

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if any(path == root or root in path.parents for root in private):
        return "holds this agent's own settings"
    folded = _folded(path)
    hit = next((part for part in folded if part in _DIRECTORIES), None)
    if hit is not None:
        return f"is inside {hit}"
    if pair := _pair(folded, _DIRECTORY_PAIRS):
        return f"is inside {pair}"
    name = folded[-1] if folded else ""
    if _named(_NAMES).match(name) and not _named(_HARMLESS).match(name):
        return "may hold credentials"
    return ""


def why_sensitive_to_write(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Like `why_sensitive`, and also for what something else runs later: shell start-up files, editor settings, CI.

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if reason := why_sensitive(path, private):
        return reason
    folded = _folded(path)
    # The last part is the file itself.
    hit = next((part for part in folded[:-1] if part in _STARTS_DIRECTORIES), "") or _pair(folded, _STARTS_PAIRS)
    if hit:
        return f"is inside {hit}, whose files may be run later"
    return "may be run or read by other programs later" if folded and folded[-1] in _STARTS_NAMES else ""


def _folded(path: Path) -> list[str]:
    # Letter case does not protect: the file system may not tell `.ENV` from `.env`.
    return [part.casefold() for part in path.parts]


def _pair(parts: list[str], pairs: frozenset[tuple[str, str]]) -> str:
    return next(("/".join(pair) for pair in itertools.pairwise(parts) if pair in pairs), "")


@functools.cache
def _named(names: tuple[str, ...]) -> re.Pattern[str]:
    # One expression: a search asks this of every file that it finds.
    return re.compile("|".join(map(fnmatch.translate, names)))
