"""Which paths ask for themselves."""

from pathlib import Path

import pytest

from tools.approval.sensitive import why_sensitive


@pytest.mark.parametrize(
    "path",
    [
        "/home/u/.ssh/id_ed25519",
        "/home/u/.ssh/config",
        "/w/.git/config",
        "/w/.git/hooks/pre-commit",
        "/w/.GIT/config",
        "/w/sub/.git",
        "/home/u/.aws/credentials",
        "/home/u/.kube/config",
        "/home/u/.docker/config.json",
        "/home/u/.gnupg/ring",
        "/home/u/.hermes/config.yaml",
        "/w/.env",
        "/w/.ENV",
        "/w/.env.local",
        "/w/.env.production",
        "/w/.envrc",
        "/home/u/.netrc",
        "/home/u/.npmrc",
        "/home/u/.pypirc",
        "/w/id_rsa",
        "/w/id_rsa.pub",
        "/w/server.pem",
        "/w/server.key",
        "/w/credentials.json",
    ],
)
def test_a_path_that_holds_keys_or_hooks_is_sensitive(path):
    assert why_sensitive(Path(path))


@pytest.mark.parametrize(
    "path",
    [
        "/w/src/app.py",
        "/w/.env.example",
        "/w/.env.sample",
        "/w/.env.template",
        "/w/.github/workflows/ci.yml",
        "/w/.gitignore",
        "/w/.dockerignore",
        "/w/environment.py",
        "/w/credentials.py",
        "/w/keys.md",
        "/w/git/config",
        "/",
    ],
)
def test_an_ordinary_path_is_not(path):
    assert why_sensitive(Path(path)) == ""


def test_a_private_directory_is_sensitive_as_a_whole_and_its_neighbour_is_not():
    private = (Path("/home/u/agent"),)

    assert why_sensitive(Path("/home/u/agent"), private)
    assert why_sensitive(Path("/home/u/agent/a/b"), private)
    assert not why_sensitive(Path("/home/u/agents/a"), private)
