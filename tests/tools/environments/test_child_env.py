"""Which variables commands get."""

import pytest

from tests.support.each import each
from tools.environments.child_env import (
    bare_environment,
    child_environment,
    client_environment,
    is_secret,
    terminal_environment,
)


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
