"""Package registries: what builds fetch from. They are reached without a question, on the ports 80 and 443.

A host is here if it hands out packages, and if what a command sends there is read by the registry alone. None of them
is a drop box for anybody, but a command that has an account's token can publish there, and whoever runs the host sees
what is asked for. So hosts on which anybody's files or programs live (object stores, code forges, content networks
for all comers) are not here, nor are those that take uploads under a name of their own (upload.pypi.org).
"""

from __future__ import annotations

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Registry:
    """A host. `sends` is what a command could send there that others may come to see; '' for nothing known."""

    host: str
    serves: str
    sends: str = ""


_PUBLISHES = "packages, with an account's token"

REGISTRIES = (
    Registry("pypi.org", "the index of Python packages"),
    Registry("files.pythonhosted.org", "files of Python packages"),
    Registry("registry.npmjs.org", "npm packages", _PUBLISHES),
    Registry("registry.yarnpkg.com", "npm packages under yarn's name", _PUBLISHES),
    Registry("nodejs.org", "Node itself, and its headers for building add-ons"),
    Registry("crates.io", "the crates' API", _PUBLISHES),
    Registry("index.crates.io", "the index of crates"),
    Registry("static.crates.io", "files of crates"),
    Registry("static.rust-lang.org", "Rust itself, for rustup"),
    Registry(
        "proxy.golang.org",
        "Go modules",
        "a module's path, which the proxy asks the host for that stands in that path",
    ),
    Registry("sum.golang.org", "checksums of Go modules"),
    Registry("repo.maven.apache.org", "Maven Central"),
    Registry("repo1.maven.org", "Maven Central"),
    Registry("plugins.gradle.org", "Gradle plugins", _PUBLISHES),
    Registry("plugins-artifacts.gradle.org", "files of Gradle plugins"),
    Registry("services.gradle.org", "Gradle itself, for its wrapper"),
    Registry("rubygems.org", "Ruby gems", _PUBLISHES),
    Registry("index.rubygems.org", "the index of Ruby gems"),
    Registry("packagist.org", "the index of PHP packages"),
    Registry("repo.packagist.org", "the index of PHP packages"),
    Registry("api.nuget.org", "NuGet packages"),
    Registry("repo.hex.pm", "Elixir and Erlang packages"),
    Registry("builds.hex.pm", "what Elixir's mix installs itself with"),
    Registry("hackage.haskell.org", "Haskell packages", _PUBLISHES),
    Registry("pub.dev", "Dart packages", _PUBLISHES),
    Registry("cpan.metacpan.org", "Perl modules"),
    Registry("deb.debian.org", "Debian packages"),
    Registry("security.debian.org", "Debian's security updates"),
    Registry("archive.ubuntu.com", "Ubuntu packages"),
    Registry("security.ubuntu.com", "Ubuntu's security updates"),
    Registry("ports.ubuntu.com", "Ubuntu packages for other processors"),
    Registry("dl-cdn.alpinelinux.org", "Alpine packages"),
)
