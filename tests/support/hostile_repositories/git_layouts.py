"""Repositories that lie elsewhere or within each other; hooks, indexes, submodules; settings of the person."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.support.hostile_repositories.git_settings import CLEAN, DIFF, STATUS
from tests.support.hostile_repositories.site import Site, kind

_SOMEBODY = 64998


def _hostile_copy(site: Site, place: Path) -> Path:
    """The workspace's repository, moved to `place` with a program in its settings."""
    (site.workspace / ".git").rename(place)
    _arm(site, place)
    return place


def _arm(site: Site, git_dir: Path, tree: Path | None = None) -> None:
    """Settings that run the trap: one that an option can overrule, and some that none can."""
    for name in ("core.fsmonitor", "filter.x.clean", "diff.external"):
        site.git("config", "--file", str(git_dir / "config"), name, str(site.trap))
    ((tree or site.workspace) / ".gitattributes").write_text("* filter=x\n")
    if tree is None:
        site.change()


def _hostile_parent(site: Site) -> None:
    """The directory above is a repository that tracks the workspace's files."""
    parent = site.workspace.parent
    site.git("init", "-q", "--template=", cwd=parent)
    for name in ("README.md", "sums.py", "data.txt"):
        site.git("add", f"workspace/{name}", cwd=parent)
    site.git("commit", "-q", "-m", "Begin", cwd=parent)
    _arm(site, parent / ".git")


# Hooks.


@kind("hook post-index-change", STATUS)
def post_index_change(site: Site) -> None:
    site.plant(".git/hooks/post-index-change")


@kind("hook reference-transaction", "git branch new")
def reference_transaction(site: Site) -> None:
    site.plant(".git/hooks/reference-transaction")


@kind("hook pre-commit", "git commit -a -m x")
def pre_commit(site: Site) -> None:
    site.plant(".git/hooks/pre-commit")
    site.change()


@kind("hook post-checkout", "git checkout -q side")
def post_checkout(site: Site) -> None:
    site.plant(".git/hooks/post-checkout")


@kind("hooks folder that is a link", STATUS)
def linked_hooks(site: Site) -> None:
    site.plant(".hooks/post-index-change")
    (site.workspace / ".git" / "hooks").symlink_to("../.hooks")


# Repositories above, and beside.


@kind("empty .git with a hostile parent", STATUS)
def empty_git(site: Site) -> None:
    shutil.rmtree(site.workspace / ".git")
    (site.workspace / ".git").mkdir()
    _hostile_parent(site)


@kind(".git that is no repository, with a hostile parent", STATUS)
def broken_git(site: Site) -> None:
    shutil.rmtree(site.workspace / ".git" / "objects")
    _hostile_parent(site)


@kind(".git with a HEAD that is none, with a hostile parent", STATUS)
def no_head(site: Site) -> None:
    site.write(".git/HEAD", "nothing\n")
    _hostile_parent(site)


@kind("link to nowhere for a .git, with a hostile parent", STATUS)
def dangling_git(site: Site) -> None:
    shutil.rmtree(site.workspace / ".git")
    (site.workspace / ".git").symlink_to("nowhere")
    _hostile_parent(site)


@kind("no .git below a hostile parent, as in /tmp", STATUS)
def above(site: Site) -> None:
    shutil.rmtree(site.workspace / ".git")
    _hostile_parent(site)


@kind("folder of a hostile repository", STATUS, opened="deep/er")
def below(site: Site) -> None:
    site.write("deep/er/a.txt", "one\n")
    _arm(site, site.workspace / ".git")


@kind(".git that is a link", STATUS)
def linked_git(site: Site) -> None:
    (site.workspace / ".git").symlink_to(_hostile_copy(site, site.outside / "repository"))


@kind("config that is a link", STATUS)
def linked_config(site: Site) -> None:
    config = site.workspace / ".git" / "config"
    config.symlink_to(config.rename(site.outside / "config"))
    _arm(site, site.workspace / ".git")


@kind(".git that is a file", STATUS)
def git_file(site: Site) -> None:
    place = _hostile_copy(site, site.outside / "repository")
    site.write(".git", f"gitdir: {place}\n")


@kind(".git file whose path ends in a blank", STATUS)
def git_file_blank(site: Site) -> None:
    plain = site.outside / "repository"
    shutil.copytree(site.workspace / ".git", plain)
    place = _hostile_copy(site, site.outside / "repository ")
    site.write(".git", f"gitdir: {place}\n")


@kind(".git file whose path ends in a tab", STATUS)
def git_file_tab(site: Site) -> None:
    shutil.copytree(site.workspace / ".git", site.outside / "repository")
    place = _hostile_copy(site, site.outside / "repository\t")
    site.write(".git", f"gitdir: {place}\n")


@kind(".git file with more than one line", STATUS)
def git_file_lines(site: Site) -> None:
    place = _hostile_copy(site, site.outside / "one\ntwo")
    site.write(".git", f"gitdir: {place}\n\n")


def _common(site: Site, name: str, named: str) -> None:
    """The repository shares what is in `name`, and says so in words that a reader who strips takes for another."""
    git = site.workspace / ".git"
    shared = site.workspace.parent / name
    shared.mkdir()
    for each in ("config", "objects", "refs"):
        (git / each).rename(shared / each)
    if name.strip() != name:
        shutil.copytree(shared, shared.with_name(name.strip()))
    (git / "commondir").write_text(named)
    _arm(site, shared)


@kind("commondir", STATUS)
def commondir(site: Site) -> None:
    _common(site, "shared", "../../shared\n")


@kind("commondir whose path ends in a blank", STATUS)
def commondir_blank(site: Site) -> None:
    _common(site, "shared ", "../../shared \n")


@kind("commondir whose path begins with a blank", STATUS)
def commondir_begins(site: Site) -> None:
    _common(site, " shared", f"{site.workspace.parent}/ shared")


@kind("work tree of a hostile repository", STATUS)
def work_tree(site: Site) -> None:
    main = site.workspace.rename(site.workspace.with_name("main"))
    site.git("worktree", "add", "-q", str(site.workspace), "side", cwd=main)
    _arm(site, main / ".git")


@kind("work tree with settings of its own", STATUS)
def work_tree_config(site: Site) -> None:
    main = site.workspace.rename(site.workspace.with_name("main"))
    site.git("worktree", "add", "-q", str(site.workspace), "side", cwd=main)
    site.set("core.repositoryFormatVersion", "1", cwd=main)
    site.set("extensions.worktreeConfig", "true", cwd=main)
    own = main / ".git" / "worktrees" / "workspace" / "config.worktree"
    own.write_text(site.filled(CLEAN))
    site.write(".gitattributes", "* filter=x\n")
    site.change()


@kind("objects of another repository", DIFF)
def alternates(site: Site) -> None:
    objects = site.workspace / ".git" / "objects"
    shutil.copytree(objects, site.outside / "objects")
    shutil.rmtree(objects)
    site.write(".git/objects/info/alternates", f"{site.outside}/objects\n")
    site.set("diff.external", "{trap}")
    site.change()


@kind("repository of another user", "git -c safe.directory='*' status", needs_root=True)
def another_user(site: Site) -> None:
    _arm(site, site.workspace / ".git")
    for path in (site.workspace, *site.workspace.rglob("*")):
        os.chown(path, _SOMEBODY, _SOMEBODY, follow_symlinks=False)


# Bare repositories with ordinary names.


def _bare(site: Site, place: Path) -> None:
    place.mkdir()
    for name in ("HEAD", "config", "objects", "refs", "index"):
        source = site.workspace / ".git" / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, place / name)
    site.git("config", "--file", str(place / "config"), "core.worktree", str(site.workspace))
    _arm(site, place)


@kind("bare repository in an ordinary folder", "cd docs && git status")
def bare_folder(site: Site) -> None:
    _bare(site, site.workspace / "docs")


@kind("bare repository as the opened folder", STATUS, opened="docs")
def bare_opened(site: Site) -> None:
    _bare(site, site.workspace / "docs")
    shutil.rmtree(site.workspace / ".git")


@kind("folder of a bare repository as the opened one", STATUS, opened="docs/refs")
def bare_inner(site: Site) -> None:
    _bare(site, site.workspace / "docs")


# Submodules.


def _submodule(site: Site) -> Path:
    """A repository within, which the outer one tracks as a submodule."""
    inner = site.workspace / "sub"
    inner.mkdir()
    site.git("init", "-q", "--template=", cwd=inner)
    (inner / "a.txt").write_text("one\n")
    site.git("add", ".", cwd=inner)
    site.git("commit", "-q", "-m", "Begin", cwd=inner)
    site.write(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
    site.git("-c", "advice.addEmbeddedRepo=false", "add", ".")
    site.git("commit", "-q", "-m", "More")
    return inner


@kind("submodule with fsmonitor", STATUS)
def submodule_arm(site: Site) -> None:
    inner = _submodule(site)
    _arm(site, inner / ".git", inner)


@kind("submodule with a filter", STATUS)
def submodule_filter(site: Site) -> None:
    inner = _submodule(site)
    (inner / ".git" / "info").mkdir(exist_ok=True)
    (inner / ".git" / "info" / "attributes").write_text("* filter=x\n")
    site.set("filter.x.clean", "{trap}", cwd=inner)
    (inner / "a.txt").write_text("two\n")


@kind("submodule whose repository is in .git/modules", STATUS)
def submodule_absorbed(site: Site) -> None:
    _submodule(site)
    site.git("submodule", "absorbgitdirs")
    _arm(site, site.workspace / ".git" / "modules" / "sub", site.workspace / "sub")


@kind("gitlink that .gitmodules does not name", STATUS)
def gitlink(site: Site) -> None:
    inner = _submodule(site)
    site.git("rm", "-q", "--cached", ".gitmodules")
    (site.workspace / ".gitmodules").unlink()
    _arm(site, inner / ".git", inner)


@kind("submodule with a hook", STATUS)
def submodule_hook(site: Site) -> None:
    inner = _submodule(site)
    site.plant("sub/.git/hooks/post-index-change")
    os.utime(inner / "a.txt", (1, 1))


@kind("submodule update command", "git submodule update")
def submodule_update(site: Site) -> None:
    _submodule(site)
    site.set("submodule.sub.url", "./sub")
    site.set("submodule.sub.update", "!{trap}")
    site.git("commit", "-q", "--allow-empty", "-m", "Other", cwd=site.workspace / "sub")


@kind("submodule whose remote is a program", "git fetch --recurse-submodules=yes -q . && git -C sub fetch o")
def submodule_remote(site: Site) -> None:
    inner = _submodule(site)
    site.set("remote.o.url", "ext::{trap}", cwd=inner)
    site.set("protocol.ext.allow", "always", cwd=inner)


@kind("repository within that nobody tracks", "cd vendor/lib && git status")
def untracked_repository(site: Site) -> None:
    lib = site.workspace / "vendor" / "lib"
    shutil.copytree(site.workspace / ".git", lib / ".git")
    _arm(site, lib / ".git", lib)


# Indexes.


@kind("split index", STATUS)
def split_index(site: Site) -> None:
    site.git("update-index", "--split-index")
    site.write(".git/info/attributes", "* filter=x\n")
    site.set("filter.x.clean", "{trap}")
    site.change()


@kind("index that says files are as they were", "git -c core.checkStat=minimal status; git update-index --refresh")
def flagged_index(site: Site) -> None:
    site.git("update-index", "--assume-unchanged", "README.md")
    site.plant(".git/hooks/post-index-change")
    site.change()


# What the person's own git settings say, and the repository's files make use of.


@kind("filter of the person's own settings that runs a file of the workspace", STATUS)
def users_filter(site: Site) -> None:
    (site.user / ".gitconfig").write_text('[filter "x"]\n\tclean = ./clean.sh\n')
    site.plant("clean.sh")
    site.write(".gitattributes", "* filter=x\n")
    site.change()


@kind("hooks folder that the person's own settings look for in each workspace", STATUS)
def users_hooks(site: Site) -> None:
    (site.user / ".gitconfig").write_text("[core]\n\thooksPath = .githooks\n")
    site.plant(".githooks/post-index-change")


@kind("person's own settings that include those of the workspace", STATUS)
def users_include(site: Site) -> None:
    (site.user / ".gitconfig").write_text(f"[include]\n\tpath = {site.workspace}/.gitconfig\n")
    site.write(".gitconfig", site.filled(CLEAN))
    site.write(".gitattributes", "* filter=x\n")
    site.change()
