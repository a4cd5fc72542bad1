"""Which paths ask for themselves."""

from pathlib import Path

import pytest

from tools.approval.sensitive import why_sensitive, why_sensitive_to_write


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
        "/w/credentials.yml",
        "/w/production.env",
        "/w/.env~",
        "/w/.env_local",
        "/w/.ENV_LOCAL",
        "/home/u/.pgpass",
        "/w/.htpasswd",
        "/home/u/.vault-token",
        "/home/u/_netrc",
        "/w/id_dsa.old",
        "/w/a.p12",
        "/w/a.PFX",
        "/w/a.keystore",
        "/w/a.jks",
        "/w/a.kdbx",
        "/w/kubeconfig",
        "/home/u/.dockercfg",
        "/w/.yarnrc.yml",
        "/w/terraform.tfstate",
        "/w/terraform.tfstate.backup",
        "/w/prod.tfvars",
        "/home/u/.config/gh/hosts.yml",
        "/home/u/.config/gcloud/x.db",
        "/home/u/.cargo/credentials.toml",
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
        "/w/.env.local.example",
        "/w/.env_example",
        "/w/example.env",
        "/w/.config/ghost/x",
        "/w/gh/hosts.yml",
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


@pytest.mark.parametrize(
    "path",
    [
        "/home/u/.bashrc",
        "/home/u/.bash_profile",
        "/home/u/.profile",
        "/home/u/.zshrc",
        "/home/u/.zprofile",
        "/home/u/.ZSHENV",
        "/home/u/.config/fish/config.fish",
        "/home/u/.gitconfig",
        "/w/.gitmodules",
        "/w/.gitattributes",
        "/w/.vscode/tasks.json",
        "/w/.idea/workspace.xml",
        "/w/.husky/pre-commit",
        "/w/.github/workflows/ci.yml",
        "/home/u/.config/autostart/a.desktop",
        "/home/u/.local/bin/tool",
        "/w/.pre-commit-config.yaml",
    ],
)
def test_what_runs_later_is_sensitive_to_write_and_not_to_read(path):
    assert why_sensitive(Path(path)) == ""
    assert why_sensitive_to_write(Path(path))


@pytest.mark.parametrize("path", ["/w/Makefile", "/w/.github/CODEOWNERS", "/w/bin/tool", "/w/.env.example", "/"])
def test_an_ordinary_path_is_not_sensitive_to_write(path):
    assert why_sensitive_to_write(Path(path)) == ""


def test_what_is_sensitive_to_read_is_sensitive_to_write():
    assert why_sensitive_to_write(Path("/w/.env")) == why_sensitive(Path("/w/.env"))
    assert why_sensitive_to_write(Path("/p/a"), (Path("/p"),)) == why_sensitive(Path("/p/a"), (Path("/p"),))
