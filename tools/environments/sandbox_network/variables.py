"""The environment variables that lead programs to the proxy."""

from __future__ import annotations

from collections.abc import Mapping

USER = "sandbox"
_DIRECT = "localhost,127.0.0.1,::1"


def proxy_variables(port: int, password: str, base: Mapping[str, str]) -> dict[str, str]:
    """For curl, pip, npm, yarn, cargo, go, gem, git, apt, Node's fetch, Maven and Gradle.

    Java's programs cannot give a password to a proxy; behind the supervisor they need none.

    Args:
        base: the environment to which they are added: what is set there for Java and git is kept.
    """
    proxy = f"http://{USER}:{password}@127.0.0.1:{port}"
    found = {"NO_PROXY": _DIRECT, "no_proxy": _DIRECT, "NODE_USE_ENV_PROXY": "1", "CARGO_HTTP_PROXY": proxy}
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        found |= {name: proxy, name.lower(): proxy}
    for name in ("YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"):
        found[name] = proxy
    for name in ("MAVEN_OPTS", "GRADLE_OPTS"):
        found[name] = f"{base.get(name, '')} {_java(port)}".strip()
    return found | _git(proxy, base)


def _java(port: int) -> str:
    return " ".join(f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}" for scheme in ("http", "https"))


def _git(proxy: str, base: Mapping[str, str]) -> dict[str, str]:
    """A setting of git's own goes before the variables: it must not lead past ours."""
    count = int(base["GIT_CONFIG_COUNT"]) if base.get("GIT_CONFIG_COUNT", "").isdecimal() else 0
    return {
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": "http.proxy",
        f"GIT_CONFIG_VALUE_{count}": proxy,
    }
