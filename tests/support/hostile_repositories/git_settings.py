"""Settings of a repository that name a program, an address or another file, one by one and in odd spellings."""

from __future__ import annotations

import functools
from pathlib import Path

from tests.support.hostile_repositories.site import KINDS, Kind, Site, kind

STATUS, LOG, DIFF = "git status", "git log -1", "git diff"
_TERMINAL = "python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "
_CREDENTIAL = "printf 'url=https://example.com\\n\\n' | git credential fill"

Settings = dict[str, str]

# name of the kind: (settings, control, what goes into .gitattributes)
_PLAIN: dict[str, tuple[Settings, str, str]] = {
    "core.fsmonitor": ({"core.fsmonitor": "{trap}"}, STATUS, ""),
    "core.sshCommand": ({"core.sshCommand": "{trap}", "remote.o.url": "ssh://example.com/x"}, "git fetch o", ""),
    "core.gitProxy": ({"core.gitProxy": "{trap}", "remote.o.url": "git://example.com/x"}, "git fetch o", ""),
    "core.pager": ({"core.pager": "{trap}"}, _TERMINAL + LOG, ""),
    "pager.status": ({"pager.status": "{trap}"}, _TERMINAL + STATUS, ""),
    "pager.log": ({"pager.log": "{trap}"}, _TERMINAL + LOG, ""),
    "core.editor": ({"core.editor": "{trap}"}, "git commit --allow-empty", ""),
    "sequence.editor": ({"sequence.editor": "{trap}"}, "git checkout -q . && git rebase -i HEAD~1", ""),
    "core.askPass": ({"core.askPass": "{trap}"}, _CREDENTIAL, ""),
    "credential.helper": ({"credential.helper": "!{trap}"}, _CREDENTIAL, ""),
    "credential of a host": ({"credential.https://example.com.helper": "{trap}"}, _CREDENTIAL, ""),
    "filter clean": ({"filter.x.clean": "{trap}"}, STATUS, "* filter=x"),
    "filter process": ({"filter.x.process": "{trap}"}, STATUS, "* filter=x"),
    "filter smudge": ({"filter.x.smudge": "{trap}"}, "git checkout -- .", "* filter=x"),
    "filter clean that is required": ({"filter.x.clean": "{trap}", "filter.x.required": "true"}, DIFF, "* filter=x"),
    "filter with a name that is no ASCII": ({"filter.fïlter.clean": "{trap}"}, STATUS, "* filter=fïlter"),
    "filter with a name that has dots": ({"filter.a.b.clean": "{trap}"}, STATUS, "* filter=a.b"),
    "diff.external": ({"diff.external": "{trap}"}, DIFF, ""),
    "diff command": ({"diff.x.command": "{trap}"}, DIFF, "* diff=x"),
    "diff textconv": ({"diff.x.textconv": "{trap}"}, DIFF, "* diff=x"),
    "diff textconv of a log": ({"diff.x.textconv": "{trap}"}, "git log -1 -p", "* diff=x"),
    "merge driver": ({"merge.x.driver": "{trap}"}, "git checkout -q . ; git merge side", "* merge=x"),
    "difftool": ({"diff.tool": "x", "difftool.x.cmd": "{trap}"}, "git difftool -y", ""),
    "interactive.diffFilter": ({"interactive.diffFilter": "{trap}"}, _TERMINAL + "git add -p", ""),
    "alias": ({"alias.st": "!{trap}"}, "git st", ""),
    "gpg.program of a commit": ({"gpg.program": "{trap}", "commit.gpgSign": "true"}, "git commit -m x -a", ""),
    "gpg.ssh.defaultKeyCommand": (
        {"gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": "{trap}", "commit.gpgSign": "true"},
        "git commit -m x -a",
        "",
    ),
    "trailer command": (
        {"trailer.x.key": "X", "trailer.x.cmd": "{trap}"},
        "git interpret-trailers --trailer x=1 README.md",
        "",
    ),
    "tar command": ({"tar.x.command": "{trap}"}, "git archive --format=x HEAD", ""),
    "remote uploadpack": ({"remote.o.uploadpack": "{trap}", "remote.o.url": "{workspace}"}, "git fetch o", ""),
    "remote receivepack": ({"remote.o.receivepack": "{trap}", "remote.o.url": "{workspace}"}, "git push o main", ""),
    "remote ext": ({"remote.o.url": "ext::{trap}", "protocol.ext.allow": "always"}, "git fetch o", ""),
    "remote vcs": (
        {"remote.o.vcs": "ext", "remote.o.url": "{trap}", "protocol.ext.allow": "always"},
        "git fetch o",
        "",
    ),
    "url insteadOf": (
        {"url.ext::{trap} .insteadOf": "https://", "remote.o.url": "https://x", "protocol.ext.allow": "always"},
        "git fetch o",
        "",
    ),
    "core.attributesFile": (
        {"core.attributesFile": "{workspace}/.attributes", "filter.x.clean": "{trap}"},
        STATUS,
        "",
    ),
}


def _build(settings: Settings, attributes: str, site: Site) -> None:
    site.write(".attributes", "* filter=x\n")
    if attributes:
        site.write(".gitattributes", f"{attributes}\n")
    for name, value in settings.items():
        site.set(site.filled(name), value)
    site.change()


KINDS.extend(
    Kind(name, functools.partial(_build, settings, attributes), control)
    for name, (settings, control, attributes) in _PLAIN.items()
)


@kind("core.hooksPath", STATUS)
def hooks_path(site: Site) -> None:
    site.plant(".hooks/post-index-change")
    site.set("core.hooksPath", ".hooks")


@kind("attributes in .git/info", STATUS)
def info_attributes(site: Site) -> None:
    site.write(".git/info/attributes", "* filter=x\n")
    site.set("filter.x.clean", "{trap}")


@kind("attributes of a folder", DIFF)
def folder_attributes(site: Site) -> None:
    site.write("deep/er/a.txt", "one\n")
    site.commit()
    site.write("deep/er/.gitattributes", "*.txt diff=x\n")
    site.write("deep/er/a.txt", "two\n")
    site.set("diff.x.textconv", "{trap}")


@kind("core.worktree that leads outside", "git checkout -q -- SPRUNG")
def work_tree(site: Site) -> None:
    site.write("SPRUNG", "written by a checkout\n")
    site.commit()
    site.set("core.worktree", "{outside}")


@kind("core.alternateRefsCommand", "git fetch -q side.git")
def alternate_refs(site: Site) -> None:
    site.git("clone", "-q", "--bare", ".", "side.git")
    site.git("commit", "-q", "--allow-empty", "-m", "Ahead", cwd=_checkout(site))
    site.write(".git/objects/info/alternates", f"{site.outside / 'other' / '.git' / 'objects'}\n")
    site.set("core.alternateRefsCommand", "{trap}")


def _checkout(site: Site) -> Path:
    site.git("clone", "-q", "side.git", str(site.outside / "other"))
    return site.outside / "other"


def _sign(site: Site) -> None:
    head, _, message = site.git("cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
    signed = site.git("hash-object", "-t", "commit", "-w", "--stdin", given=f"{head}\n{signature}\n\n{message}\n")
    site.git("update-ref", "HEAD", signed)


@kind("gpg.program of a signed commit", LOG)
def gpg_program(site: Site) -> None:
    _sign(site)
    site.set("gpg.program", "{trap}")
    site.set("log.showSignature", "true")


@kind("gpg.openpgp.program of a signed commit", LOG)
def gpg_openpgp(site: Site) -> None:
    _sign(site)
    site.set("gpg.openpgp.program", "{trap}")
    site.set("log.showSignature", "true")


@kind("signatures that a log format asks for", LOG)
def gpg_format(site: Site) -> None:
    _sign(site)
    site.set("gpg.program", "{trap}")
    site.set("format.pretty", "%h %G?")


# Other files, and other ways to write the same. No option of ours can overrule a filter.

CLEAN = '[filter "x"]\n\tclean = {trap}\n'
"""The text of a setting."""


def _filters(site: Site) -> None:
    site.write(".gitattributes", "* filter=x\n")
    site.change()


@kind("include.path", STATUS)
def include(site: Site) -> None:
    _filters(site)
    site.write(".settings", site.filled(CLEAN))
    site.set("include.path", "../.settings")


@kind("include of an include", STATUS)
def includes(site: Site) -> None:
    _filters(site)
    site.write(".git/more", "[include]\npath = most\n")
    site.write(".git/most", site.filled(CLEAN))
    site.set("include.path", "more")


@kind("include from the person's home directory", STATUS)
def include_home(site: Site) -> None:
    _filters(site)
    (site.user / "settings").write_text(site.filled(CLEAN))
    site.set("include.path", "~/settings")


@kind("includeIf gitdir", STATUS)
def include_if(site: Site) -> None:
    _filters(site)
    site.write(".settings", site.filled(CLEAN))
    site.set("includeIf.gitdir:**.path", "../.settings")


@kind("includeIf onbranch", STATUS)
def include_on_branch(site: Site) -> None:
    _filters(site)
    site.write(".settings", site.filled(CLEAN))
    site.set("includeIf.onbranch:main.path", "../.settings")


@kind("includeIf hasconfig", STATUS)
def include_if_remote(site: Site) -> None:
    _filters(site)
    site.write(".settings", site.filled(CLEAN))
    site.set("remote.o.url", "https://example.com/x")
    site.set("includeIf.hasconfig:remote.*.url:https://**.path", "../.settings")


@kind("config.worktree", STATUS)
def config_worktree(site: Site) -> None:
    _filters(site)
    site.set("core.repositoryFormatVersion", "1")
    site.set("extensions.worktreeConfig", "true")
    site.write(".git/config.worktree", site.filled(CLEAN))


# What comes behind the settings of the repository.
_SPELLINGS: dict[str, str] = {
    "on the line of the section": '[filter "x"] clean={trap}\n',
    "in other letters": '[FiLtEr "x"]\n\tClEaN = {trap}\n',
    "in the old way to write a section": "[filter.x]\n\tclean = {trap}\n",
    "with a backslash that nothing needs": '[filter "\\x"]\n\tclean = {trap}\n',
    "continued on the next line": '[filter "x"]\n\tclean = \\\n{trap}\n',
    "continued within quotes": '[filter "x"]\n\tclean = "{trap}\\\n"\n',
    "with quotes in the middle": '[filter "x"]\n\tclean = {outside}/t"rap"\n',
    "behind a comment that ends in a backslash": '[filter "x"]\n\t# \\\n\tclean = {trap}\n',
    "behind a comment on the line of the section": '[filter "x"] ; clean = true\n\tclean = {trap}\n',
    "behind carriage returns": '[filter "x"]\r\n\trequired = false\r\n\tclean = {trap}\r\n',
    "continued behind a carriage return": '[filter "x"]\r\n\tclean = \\\r\n{trap}\r\n',
    "behind four mebibytes": "# xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n" * (5 * 1024 * 32) + CLEAN,
    "behind a value of five mebibytes": f"[x]\n\ty = {'z' * 5 * 1024 * 1024}\n{CLEAN}",
    "behind many sections": "[x]\ny=z\n" * 100_000 + CLEAN,
}


def _spelling(text: str, site: Site) -> None:
    _filters(site)
    config = site.workspace / ".git" / "config"
    config.write_bytes(config.read_bytes() + site.filled(text).encode())


KINDS.extend(Kind(f"filter {name}", functools.partial(_spelling, text), STATUS) for name, text in _SPELLINGS.items())


@kind("config that begins with a byte order mark", STATUS)
def byte_order_mark(site: Site) -> None:
    _filters(site)
    config = site.workspace / ".git" / "config"
    config.write_bytes(b"\xef\xbb\xbf" + site.filled(CLEAN).encode() + config.read_bytes())


# A commit, a tree or a file that is missing has git fetch it from the remote of a partial clone.


def _partial_clone(missing: str, settings: Settings, site: Site) -> None:
    name = site.git("rev-parse", missing)
    site.set("core.repositoryFormatVersion", "1")
    for key, value in {"remote.o.promisor": "true", **_ALLOWED, **settings}.items():
        site.set(key, value)
    site.change()
    (site.workspace / ".git" / "objects" / name[:2] / name[2:]).unlink()


_ALLOWED = {f"protocol.{name}.allow": "always" for name in ("ssh", "git", "file")}
_EXT = {"remote.o.url": "ext::{trap}", "protocol.ext.allow": "always"}
_PROMISORS: dict[str, tuple[str, Settings, str]] = {
    "through ext": ("HEAD", _EXT, LOG),
    "through a protocol that is allowed": ("HEAD", {"remote.o.url": "ext::{trap}", "protocol.allow": "always"}, LOG),
    "through ssh": ("HEAD", {"remote.o.url": "ssh://example.com/x", "core.sshCommand": "{trap}"}, LOG),
    "through a proxy": ("HEAD", {"remote.o.url": "git://example.com/x", "core.gitProxy": "{trap}"}, LOG),
    "through an uploadpack": ("HEAD", {"remote.o.url": "{workspace}", "remote.o.uploadpack": "{trap}"}, LOG),
    "through a vcs": (
        "HEAD",
        {"remote.o.vcs": "ext", "remote.o.url": "{trap}", "protocol.ext.allow": "always"},
        LOG,
    ),
    "that an extension names": ("HEAD", {**_EXT, "remote.o.promisor": "false", "extensions.partialClone": "o"}, LOG),
    "without a tree": ("HEAD^{tree}", _EXT, STATUS),
    "without a file": ("HEAD:sums.py", _EXT, DIFF),
}
KINDS.extend(
    Kind(f"partial clone {name}", functools.partial(_partial_clone, missing, settings), control)
    for name, (missing, settings, control) in _PROMISORS.items()
)
