"""Variables that hold secrets are known by their names; the secret in them is what must not get out."""

from __future__ import annotations

from tools.redaction import secret_values


def test_what_secret_names_hold_is_known_and_no_path_or_number() -> None:
    variables = {
        "SERVICE_API_KEY": "abcdefgh-1",
        "MY_TOKEN": "/run/secrets/token",
        "PIN_SECRET": "12345678",
        "PATH": "abcdefgh-2",
    }
    assert list(secret_values(variables)) == ["abcdefgh-1"]


def test_the_headers_of_a_collector_are_known_one_by_one() -> None:
    variables = {
        "OTEL_EXPORTER_OTLP_HEADERS": "x-team=team-key-0123,Authorization=Bearer%20abc-def-123",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-short=1,broken",
    }
    assert list(secret_values(variables)) == ["team-key-0123", "abc-def-123"]


def test_the_password_of_an_address_is_known_by_itself_whatever_the_variable_is_called() -> None:
    variables = {
        "DATABASE_URL": "postgres://me:s3same-%40pen@db.example.com/x",
        "HTTPS_PROXY": "http://me:short@proxy:3128",
        "CACHE": "redis://:postgres@localhost/0",
        "BROKEN": "http://[a:b@c",
    }
    assert list(secret_values(variables)) == ["s3same-%40pen", "s3same-@pen"]
