"""Which variables commands get."""

import os
import subprocess

import pytest

from tests.support.each import each
from tools.environments.child_env import (
    bare_environment,
    child_environment,
    client_environment,
    is_secret,
    terminal_environment,
)
from tools.settings import Passthrough


@each(
    "name",
    [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "openai_api_key",
        "MISTRAL_APIKEY",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "DB_PASSWORD",
        "MYSQL_PASSWD",
        "CLIENT_SECRET",
        "DEPLOY_PRIVATE_KEY",
        "STRIPE_KEY",
        "GITLAB_PAT",
        "MYSQL_PWD",
        "SMTP_PASS",
        "gpg_passphrase",
        "SENTRY_DSN",
        "NPM_CONFIG__AUTH",
        "SLACK_WEBHOOK_URL",
        "AZURE_STORAGE_CONNECTION_STRING",
        "SESSION_COOKIE",
        "DEPLOY_CREDS",
        "DOCKER_AUTH_CONFIG",
        "BW_SESSION",
        "OP_SESSION_my_team",
        "SSHPASS",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        "GIT_PASSWORD",
        "GIT_TOKEN",
        "HERMES_HOME",
        "HERMES_MODEL",
        "hermes_anything",
    ],
)
def test_a_secret_is_not_passed_on(name):
    assert is_secret(name)
    assert name not in child_environment({name: "x"})


@each(
    "name",
    [
        "PATH",
        "PWD",
        "OLDPWD",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "HOME",
        "LANG",
        "VIRTUAL_ENV",
        "SSH_AUTH_SOCK",
        "DESKTOP_SESSION",
        "XDG_SESSION_TYPE",
        "GIT_AUTHOR_NAME",
        "GIT_CONFIG_KEY_0",
        "KEYBOARD",
        "XDG_SESSION_ID",
        "TOKENIZERS_PARALLELISM",
        "HTTPS_PROXY",
        "MY_HERMES_THING",
    ],
)
def test_an_ordinary_variable_is_passed_on(name):
    assert child_environment({name: "x"})[name] == "x"


@each(
    "value",
    [
        "postgres://u:p@h/db",
        "redis://:p@h:6379/0",
        "jdbc:postgresql://u:p%40@h/db",
        "https://u:p@packages.example/simple",
        "DSN=amqp://u:p@h",
    ],
)
def test_a_url_with_a_password_is_not_passed_on(value):
    assert is_secret("DATABASE_URL", value)
    assert "DATABASE_URL" not in child_environment({"DATABASE_URL": value})


_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
_PEM = "-----BEGIN {}PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END {}PRIVATE KEY-----\n"


@each(
    "value",
    [
        "ghp_" + "a1B2" * 9,
        "gho_" + "a1B2" * 9,
        "github_pat_" + "11ABCDEFG0" * 5,
        "glpat-" + "x9Y8z7W6v5U4t3S2r1Q0",
        _JWT,
        f"Bearer {_JWT}",
        _PEM.format("", ""),
        _PEM.format("RSA ", "RSA "),
        _PEM.format("OPENSSH ", "OPENSSH ").replace("\n", "\\n"),
        "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
        "rk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
        "sk-ant-api03-" + "aB3_" * 20,
        "sk-proj-" + "aB3x" * 12,
        "xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
        "AKIA" + "IOSFODNN7EXAMPL3",
        "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBW0"[:35],
        "npm_" + "a1B2" * 9,
        "hf_" + "aB3x" * 9,
        "SG." + "a1B2c3D4e5F6g7H8i9J0k1" + "." + "a1B2c3D4e5" * 4 + "abc",
        "https://hooks.slack.com/services/T00000000/B00000000/" + "aB3x" * 6,
        "https://api.example.com/x?api_key=a1b2c3d4e5f6",
        "https://me:$ecret@packages.example/simple",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + "aB3/" * 21 + "==",
        "Server=db;User Id=me;Password=S3cure!pass;",
        '{"client_secret": "a1B2c3D4e5F6g7H8"}',
        "prefix " + "ghp_" + "a1B2" * 9 + " suffix",
    ],
)
def test_a_value_that_looks_like_a_secret_is_not_passed_on_whatever_its_name(value):
    for made in (child_environment, terminal_environment, client_environment):
        assert "EDITOR_EXTRA" not in made({"EDITOR_EXTRA": value})


@each(
    ("name", "value"),
    [
        (
            "PATH",
            "/home/u/.nvm/versions/node/v20.1.0/bin:/nix/store/abcdfghijklmnpqrsvwxyz0123456789-git/bin:/usr/bin",
        ),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33:*.tar=01;31:*.pem=00;36:*.key=00;36"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus,guid=8c3b2a1f9e7d6c5b4a39281706f5e4d3"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-XXXXXXa1B2c3/agent.12345"),
        ("XDG_DATA_DIRS", "/usr/share/gnome:/var/lib/flatpak/exports/share:/usr/local/share"),
        ("XDG_RUNTIME_DIR", "/run/user/1000"),
        ("ITERM_SESSION_ID", "w0t0p0:1B2C3D4E-5F60-7182-93A4-B5C6D7E8F901"),
        ("INVOCATION_ID", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
        ("BUILD_ID", "123e4567-e89b-12d3-a456-426614174000"),
        ("GITHUB_SHA", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"),
        ("IMAGE", "app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        (
            "npm_package_integrity",
            "sha512-3Zx0xLh1VjU0f2n4YbX7T9QwK8mJ6pR5sL4aN2cV1dE0gH9iF8kO7uB6tM5yZ4xW3qA2rS1vC0nP==",
        ),
        ("VSCODE_IPC_HOOK_CLI", "/run/user/1000/vscode-ipc-3b1d4c6e-7a2f-4d5e-8f90-123456789abc.sock"),
        ("JAVA_OPTS", "-Djavax.net.ssl.trustStore=/etc/ssl/keystore -Xmx2g"),
        ("OPTS", "--auth-token-file=/run/x --key-file=/etc/ssl/key.pem"),
        ("FZF_DEFAULT_OPTS", "--bind ctrl-k:kill-line --color=hl:#ff0000 --preview 'bat {}'"),
        ("PROMPT_COMMAND", "history -a; printf '\\033]0;%s\\007' \"$PWD\""),
        ("KRB5CCNAME", "FILE:/tmp/krb5cc_1000"),
        ("GOFLAGS", "-ldflags=-X=main.commit=0123456789abcdef0123456789abcdef01234567"),
        ("PAGE", "https://github.com/o/r/blob/a94a8fe5ccb19ba61c4c0873d391e987982fbbd3/x?plain=1#L10-L20"),
        ("JUPYTER_KERNEL", '{"token_type": "bearer", "path": "/run/kernel-123e4567.json"}'),
        ("NOTE", "sk-learn, task-a1b2c3d4e5f6g7h8i9 and npm_config_cache"),
    ],
)
def test_an_ordinary_value_is_passed_on(name, value):
    assert child_environment({name: value})[name] == value


def test_a_value_that_looks_like_a_secret_is_passed_on_where_the_user_has_named_its_variable():
    value = "ghp_" + "a1B2" * 9
    given = {"EDITOR_EXTRA": value, "OTHER_EXTRA": value, "THIRD": value}
    assert child_environment(given, passed=Passthrough(("EDITOR_EXTRA", "OTHER_*"))).items() >= {
        ("EDITOR_EXTRA", value),
        ("OTHER_EXTRA", value),
    }
    assert "THIRD" not in child_environment(given, passed=Passthrough(("EDITOR_EXTRA", "OTHER_*")))
    assert client_environment(given, {"THIRD": value})["THIRD"] == value


_HEADER = "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hzXzEyMzQ1Njc4OTA="


@each(
    "secret",
    [
        ("http.https://github.com/.extraheader", _HEADER),
        ("url.https://oauth2:a1B2c3D4@gitlab.com/.insteadOf", "https://gitlab.com/"),
        ("http.proxy", "http://me:word@proxy:3128"),
    ],
)
def test_git_is_given_its_settings_without_those_that_are_secret(secret, tmp_path):
    settings = [("user.name", "me"), secret, ("core.abbrev", "12")]
    base = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_COUNT": "3"}
    for at, (key, value) in enumerate(settings):
        base |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    for made in (child_environment(base), client_environment(base)):
        told = subprocess.run(
            ["git", "config", "--list"], env=made, capture_output=True, text=True, check=True
        ).stdout
        assert {"user.name=me", "core.abbrev=12"} <= set(told.splitlines())
        assert secret[1] not in str(made.values())
        assert secret[0] not in str(made.values())
    assert child_environment(base, passed=Passthrough(("GIT_CONFIG_*",))).items() >= base.items()


@each(
    "value", ["postgres://h/db", "postgres://u@h:5432/db", "http://localhost:8080/a@b", "git@host:path", "a:b@c", ""]
)
def test_a_value_without_a_password_is_passed_on(value):
    assert child_environment({"DATABASE_URL": value})["DATABASE_URL"] == value


@each(
    ("name", "value"),
    [
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("NO_COLOR", "1"),
        ("TERM", "dumb"),
        ("EDITOR", "false"),
        ("DEBIAN_FRONTEND", "noninteractive"),
        ("PIP_NO_INPUT", "1"),
        ("PYTHONUNBUFFERED", "1"),
    ],
)
def test_programs_are_told_that_nobody_watches_whatever_the_user_has_set(name, value):
    assert child_environment({name: "less"})[name] == value


@pytest.mark.parametrize("name", ["MANPAGER", "AWS_PAGER", "FORCE_COLOR", "COLUMNS"])
def test_what_goes_before_these_is_taken_away(name):
    assert name not in child_environment({name: "x"})


def test_update_checks_are_off_unless_the_user_has_a_word():
    assert child_environment({})["PIP_DISABLE_PIP_VERSION_CHECK"] == "1"
    assert child_environment({"PIP_DISABLE_PIP_VERSION_CHECK": "0"})["PIP_DISABLE_PIP_VERSION_CHECK"] == "0"


def test_at_a_terminal_only_its_name_differs():
    assert terminal_environment({"A": "1"}) == child_environment({"A": "1"}) | {"TERM": "xterm-256color"}


def test_what_a_command_asks_for_by_name_wins_over_every_rule():
    made = child_environment({"PAGER": "less"}, {"PAGER": "more", "DEPLOY_TOKEN": "given"})

    assert (made["PAGER"], made["DEPLOY_TOKEN"]) == ("more", "given")


def test_the_given_variables_are_not_changed():
    base = {"OPENAI_API_KEY": "k", "A": "1"}

    child_environment(base, {"B": "2"})

    assert base == {"OPENAI_API_KEY": "k", "A": "1"}


def test_headers_for_our_own_requests_stay_with_us():
    """They hold `Authorization: Bearer …` where a gateway wants it."""
    base = {"ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer k", "OPENAI_CUSTOM_HEADERS": "x: k"}

    assert not base.keys() & child_environment(base).keys()


def test_a_persons_client_of_another_machine_gets_its_own_sign_in_and_no_key_of_ours():
    base = {
        "SSH_AUTH_SOCK": "/run/agent",
        "AWS_SECRET_ACCESS_KEY": "theirs",
        "DOCKER_AUTH_CONFIG": "theirs",
        "HTTPS_PROXY": "http://me:word@proxy",
        "OPENAI_API_KEY": "ours",
        "AZURE_OPENAI_API_KEY": "ours",
        "AWS_BEARER_TOKEN_BEDROCK": "ours",
        "HERMES_HOME": "ours",
        "GITHUB_TOKEN": "another's",
    }
    assert client_environment(base, {"NAMED_TOKEN": "n"}) == {
        **{
            name: base[name]
            for name in ("SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "DOCKER_AUTH_CONFIG", "HTTPS_PROXY")
        },
        "NAMED_TOKEN": "n",
    }


def test_a_helper_that_reads_what_strangers_wrote_gets_nothing_but_what_it_needs_to_start():
    base = {"PATH": "/bin", "LANG": "C.UTF-8", "LC_ALL": "C", "CORP_LLM": "k", "DATABASE_URL": "x"}
    assert bare_environment(base) == {"PATH": "/bin", "LANG": "C.UTF-8", "LC_ALL": "C"}
