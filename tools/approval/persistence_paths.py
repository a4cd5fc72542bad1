"""The one table of places that others run later: what, by whom, and when.

Everything that has to know such a place reads it here: what a file tool asks about in every mode, what a command's
targets are judged by, what is looked at before and after a confined command, what a sandbox protects in a home, what
an undo and the copy of a workspace say of a file.

In the table is what runs by itself, or at a moment when nobody thinks of it: an editor that opens the directory, a
shell that enters it, git at a commit, another agent, the machines that build a push. Texts that tell agents what to
do are among them. What somebody runs on purpose (a Makefile, the scripts of package.json, a test, a Dockerfile) is
a workspace's ordinary content: it is what an agent is there to change, and the sandbox holds it when it runs here.

A pattern is a path whose parts may have `*` in them. It means that path and all below it, wherever it lies; behind
`~/` only in somebody's home, behind `/` only from the root on. Letter case does not matter.
"""

from __future__ import annotations

import functools
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RunLater:
    """Places that the same program runs at the same moment.

    Attributes:
        who, when: complete "is run by".
        patterns: as above.
        at_home: a home is where they count most: kept from commands that may change a whole home.
        is_read: they are texts that are followed.
        comes_with: installing packages changes these places: the programs that do so.
    """

    who: str
    when: str
    patterns: tuple[str, ...]
    at_home: bool = False
    is_read: bool = False
    comes_with: frozenset[str] = frozenset()

    @property
    def why(self) -> str:
        """Completes "which"."""
        return f"is {'read' if self.is_read else 'run'} by {self.who} {self.when}"


def _code(*names: str) -> tuple[str, ...]:
    """Settings that are written as programs."""
    return tuple(f"{name}.{kind}" for name in names for kind in ("js", "cjs", "mjs", "ts", "cts", "mts"))


_ENTERING = "when a shell enters the directory"
_OPENING = "when the directory is opened, or at a click"
_PUSH = "when a commit is pushed"
_JAVASCRIPT = frozenset({"npm", "pnpm", "yarn", "bun", "corepack"})
_PYTHON = frozenset({"pip", "pip3", "pipx", "uv", "poetry", "pdm", "hatch", "pipenv", "venv", "virtualenv", "conda",
                     "rye", "pixi"})  # fmt: skip

TABLE: tuple[RunLater, ...] = (
    # Shells, the desktop, the system.
    RunLater("shells", "when one starts or ends", (
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile",
        ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc",
        ".config/fish", ".config/zsh", ".config/bash", ".config/nushell", ".config/elvish", ".config/xonsh",
        ".config/powershell", ".xonshrc",
        ".oh-my-zsh", ".bashrc.d", ".zshrc.d", ".zimrc", ".zpreztorc", ".p10k.zsh", ".blerc",
    ), at_home=True),
    RunLater("shells", "when one starts", ("config.fish", "*profile.ps1", ".config/starship.toml")),
    RunLater("the desktop or the system", "when somebody signs in", (
        ".xinitrc", ".xsession", ".xsessionrc", ".xprofile", ".xserverrc", ".pam_environment", ".config/autostart",
        ".config/systemd", ".config/environment.d", ".local/share/systemd", ".local/share/applications",
        ".local/share/dbus-1", "Library/LaunchAgents", "Library/LaunchDaemons", "Library/StartupItems",
    ), at_home=True),
    RunLater("the desktop or the system", "when somebody signs in", (
        "Start Menu/Programs/Startup", ".config/sway", ".config/i3", ".config/hypr", ".config/plasma-workspace",
    )),
    RunLater("the system", "at a set time", ("crontab",)),
    RunLater("the system", "when mail or a sign-in arrives", (
        ".rhosts", ".forward", ".procmailrc", "authorized_keys", "authorized_keys2",
    )),
    RunLater("the system", "when it starts, or at a set time", (
        "/etc/cron*", "/etc/anacrontab", "/var/spool/cron", "/var/spool/at", "/etc/systemd", "/lib/systemd",
        "/usr/lib/systemd", "/run/systemd", "/etc/init.d", "/etc/inittab", "/etc/rc*", "/etc/xinetd*", "/etc/udev",
        "/lib/udev", "/usr/lib/udev", "/etc/modules-load.d", "/etc/xdg/autostart", "/etc/X11", "/etc/update-motd.d",
        "/etc/motd*", "/etc/apt/apt.conf*", "/etc/logrotate*", "/etc/network", "/etc/networkmanager/dispatcher.d",
        "/Library/LaunchAgents", "/Library/LaunchDaemons", "/Library/StartupItems",
    )),
    RunLater("shells and programs of everybody", "when one starts", (
        "/etc/profile*", "/etc/bash*", "/etc/zsh*", "/etc/fish", "/etc/environment*", "/etc/ld.so*", "/etc/pam*",
        "/etc/sudoers*",
    )),
    RunLater("programs of the whole machine", "when they start", (
        "/etc/hosts", "/etc/resolv.conf", "/etc/passwd", "/etc/group", "/etc/gitconfig", "/etc/ssh",
    ), is_read=True),
    RunLater("shells", "when somebody types its name", (
        ".local/bin", ".local/lib", ".cargo/bin", "~/go/bin", "~/.asdf", "~/.pyenv", "~/.nvm",
    ), at_home=True),
    RunLater("shells", "when somebody types its name", (
        "~/bin", ".npm-global/bin", ".deno/bin", ".bun/bin", "~/.volta", "~/.rbenv", "~/.nodenv", "~/.jenv",
        "~/.sdkman", "~/.pixi/bin", "~/.krew/bin", "~/.dotnet/tools", "~/.composer/vendor/bin",
        "~/.local/share/mise", "~/.local/share/pipx",
    )),
    # Editors.
    RunLater("VS Code and editors made of it", _OPENING, (
        ".vscode", "*.code-workspace", ".vscode-insiders", ".vscodium", ".cursor", ".windsurf", ".trae", ".void",
        ".theia",
    )),
    RunLater("JetBrains' editors", _OPENING, (".idea", ".run", ".fleet", ".ideavimrc")),
    RunLater("Vim or Neovim", "when it starts in the directory", (
        ".vim", "_vimrc", ".gvimrc", ".nvimrc", ".nvim", ".nvim.lua", ".exrc", "_exrc", ".lazy.lua",
        ".lvimrc", ".local.vimrc", ".vimspector.json", ".neoconf.json", ".projections.json", ".vsvimrc",
        "Session.vim",
    )),
    RunLater("Vim or Neovim", "when it starts", (".vimrc", ".config/nvim", ".config/vim"), at_home=True),
    RunLater("Emacs", "when it starts, or opens a file below", (
        ".dir-locals.el", ".dir-locals-2.el", ".projectile", ".emacs.el", "_emacs", ".doom.d", ".config/doom",
        ".spacemacs", ".emacs.desktop",
    )),
    RunLater("Emacs", "when it starts", (".emacs", ".emacs.d", ".config/emacs"), at_home=True),
    RunLater("editors", _OPENING, (
        ".zed", ".config/zed", ".helix", ".config/helix", "*.sublime-project", "*.sublime-build",
        ".config/sublime-text", ".kakrc", ".config/kak", ".nanorc", ".config/micro", ".lapce", ".nova", ".atom",
        ".vs", "*.csproj.user", "*.vcxproj.user", "launchSettings.json", ".project", ".externalToolBuilders",
        "*.xcscheme", "*.pro.user", "CMakeLists.txt.user", "nbproject", ".ipython", ".jupyter",
        ".kateproject", "jupyter_notebook_config.py", "jupyter_server_config.py", "jupyter_lab_config.py",
        "ipython_config.py",
    )),
    RunLater("language servers", "when an editor opens a file", (
        ".ccls", ".clangd", ".luarc.json", ".luarc.jsonc", "rust-analyzer.toml", "rust-project.json",
        ".solargraph.yml", ".ycm_extra_conf.py", ".clj-kondo", ".lsp", ".bsp", ".tern-project",
    )),
    RunLater("editors and linters", "when a file is opened or saved", (
        *_code(".prettierrc", "prettier.config", ".eslintrc", "eslint.config", ".stylelintrc", "stylelint.config",
               ".babelrc", "babel.config", ".postcssrc", ".swcrc", ".remarkrc", ".mocharc", ".jestrc", ".nycrc",
               ".oxlintrc", ".markdownlint-cli2", ".dprintrc", ".ncurc", ".syncpackrc"),
        ".pylintrc", "pylintrc", ".eslintrc", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml", ".rubocop.yml",
        ".flake8", "mypy.ini", ".mypy.ini", ".luacheckrc", ".golangci.yml", ".golangci.yaml", ".golangci.toml",
        "phpstan.neon", "phpstan.neon.dist", ".credo.exs", ".formatter.exs", ".php-cs-fixer.php",
        ".php-cs-fixer.dist.php",
        ".scalafix.conf", ".rspec",
    )),
    # Agents.
    RunLater("coding agents", "when one works in the directory", (
        ".claude", ".claude.json", ".claude-plugin", ".mcp.json", "mcp.json", ".gemini", ".codex", ".kiro", ".roo",
        ".roomodes", ".cline", ".kilocode", ".kilocodemodes", ".amazonq", ".opencode", "opencode.json",
        "opencode.jsonc", ".crush", ".crush.json", "crush.json", ".aider.conf.yml", ".aider.conf.yaml",
        ".aider.model.settings.yml", ".continue", ".continuerc.json", ".junie", ".qwen", ".qoder", ".augment",
        ".factory", ".goose", ".amp", ".cody", ".tabnine", ".openhands", ".devin", ".warp", ".agent", ".agents",
        ".forge", "forge.yaml", ".zencoder", ".codebuddy", ".lingma", ".copilot", ".letta", ".vibe", ".pi", ".mcp",
        ".codeium",
        ".blackbox", ".jules",
        ".config/goose", ".config/opencode", ".config/crush",
        ".hermes/config.yaml", ".hermes/plugins", ".hermes/hooks", ".hermes/skills",
        ".hermes/commands", ".hermes/agents", ".hermes/tools", ".hermes/mcp.json", ".hermes/rules",
        ".github/agents", ".github/hooks", ".github/skills",
    )),
    RunLater("coding agents", "as what they are to do", (
        "AGENTS.md", "AGENTS.override.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md",
        "CODEX.md", "CRUSH.md", "WARP.md", ".hermes.md", "HERMES.md", ".cursorrules", ".windsurfrules", ".clinerules",
        ".clinerules-*", ".roorules", ".roorules-*", ".continuerules", ".goosehints", ".augment-guidelines",
        ".openhands_instructions", ".rules", ".aiassistant", ".github/copilot-instructions.md",
        ".github/instructions", ".github/prompts", ".github/chatmodes",
    ), is_read=True),
    # git and its kind; the machines of others.
    RunLater("git", "with its next command", (
        ".git", "*.git/hooks", "*.git/config", "HEAD", ".gitmodules", ".gitattributes", ".lfsconfig",
    )),
    RunLater("git", "with its next command", (".gitconfig", ".config/git"), at_home=True),
    RunLater("git", "at a commit or another of its moments", (
        ".githooks", ".git-hooks", ".husky", ".huskyrc", ".huskyrc.*", ".pre-commit-config.yaml",
        ".pre-commit-config.yml", ".pre-commit-hooks.yaml", "prek.toml", "lefthook.yml", "lefthook.yaml",
        "lefthook.toml", "lefthook.json", "lefthook-local.*", ".lefthook.*", ".lefthook-local.*", ".lefthook",
        ".overcommit.yml", ".simple-git-hooks.*", "simple-git-hooks.*", "captainhook.json", "grumphp.yml",
        "grumphp.yml.dist", ".lintstagedrc", ".lintstagedrc.*", "lint-staged.config.*", ".commitlintrc",
        ".commitlintrc.*", "commitlint.config.*", ".czrc", ".cz.json", ".cz.toml", ".cz.yaml", ".cz-config.js",
        ".gitreview",
    )),
    RunLater("version control", "with its next command", (
        ".jj/repo/config.toml", ".jj/config.toml", ".jj/workspace-config.toml", ".jj/repo/store/git_target",
        ".jjconfig.toml", ".config/jj", ".hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath", ".hg/hooks", ".hgrc",
        ".hgsub", ".config/hg", "mercurial.ini", ".svn/hooks", ".subversion", ".bzr/branch/branch.conf", ".bazaar",
        "_darcs/prefs", ".pijul/config", ".pijul/hooks", ".fossil-settings", ".sl/config", ".p4config",
    )),
    RunLater("the machines that build it", _PUSH, (
        ".github/workflows", ".github/actions", ".gitea/workflows", ".gitea/actions", ".forgejo/workflows",
        ".forgejo/actions", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".gitlab-ci", ".gitlab/ci", ".circleci",
        ".buildkite", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".travis.yml", ".drone.yml",
        ".drone.jsonnet", ".drone.star", "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines",
        ".azuredevops", ".vsts-ci.yml", "bitbucket-pipelines.yml", "Jenkinsfile", "Jenkinsfile.*", ".jenkins",
        "appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".cirrus.star", ".semaphore", "codemagic.yaml", ".teamcity",
        ".builds", ".build.yml", "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "buildspec.yaml",
        "appspec.yml", "netlify.toml", "vercel.json", "render.yaml", "railway.json", "railway.toml", "fly.toml",
        "Procfile",
        "bitrise.yml", "wercker.yml", "screwdriver.yaml", ".harness", ".zuul.yaml",
        ".zuul.d", "zuul.d", ".tekton", ".readthedocs.yaml", ".readthedocs.yml", ".prow.yaml", ".tugboat",
        ".concourse.yml", ".release-it.*", ".releaserc", ".releaserc.*", "release.config.*",
    )),
    # What a directory brings when it is entered, and what programs read wherever they start.
    RunLater("direnv and its kind", _ENTERING, (
        ".envrc", ".direnvrc", ".autoenv", ".autoenv.zsh", ".autoenv_leave.zsh", ".shadowenv.d", "devbox.json",
        "devenv.nix", "devenv.yaml", "shell.nix", ".rbenv-vars", ".pyenv-vars",
    )),
    RunLater("direnv and its kind", _ENTERING, (".config/direnv", ".config/mise"), at_home=True),
    RunLater("programs", "as their environment", (
        ".env", ".env.local", ".env.*.local", ".env.development", ".env.production", ".env.staging", ".env.test",
    ), is_read=True),
    RunLater("version managers", "when a program is started in the directory", (
        ".mise.toml", "mise.toml", ".mise.*.toml", "mise.*.toml", ".mise", "mise/config*.toml", "mise/tasks",
        ".config/mise.toml", ".config/mise.*.toml", ".rtx.toml", ".tool-versions", ".asdfrc", ".ruby-version",
        ".ruby-gemset", ".node-version", ".nvmrc", ".python-version", ".python-versions", ".go-version",
        ".java-version", ".sdkmanrc", ".jabbarc", ".terraform-version", ".opentofu-version", ".tofu-version",
        ".php-version", ".perl-version", ".lua-version", ".swift-version", ".crystal-version", ".dvmrc",
        ".bun-version", ".zigversion", ".fvmrc", ".fvm", ".flutter-version", ".exenv-version",
        ".rvmrc", ".versions.conf", ".rbenv-gemsets", "rust-toolchain", "rust-toolchain.toml", ".prototools",
        ".bazelversion", ".bazeliskrc",
    )),
    RunLater("package managers", "with their next command", (
        ".npmrc", "pip.conf", "pip.ini", ".yarnrc", ".yarnrc.yml", ".yarnrc.yaml", ".yarn/releases",
        ".pnpmfile.cjs", ".pnpmfile.mjs",
        "pnpmfile.js", "bunfig.toml", ".bunfig.toml", ".condarc", ".mambarc", "uv.toml", ".config/uv", "poetry.toml",
        ".gemrc", ".bundle/config", ".bundle/plugin", ".cargo/config", ".mvn", ".gradle/init.gradle*",
        ".gradle/init.d", "gradle/wrapper", ".sbtopts", ".jvmopts", ".sbt", ".lein", "profiles.clj", ".luarocks",
        "nuget.config", "Directory.Build.*", "Directory.Packages.props", ".config/dotnet-tools.json", ".paket",
        ".bazelrc", "user.bazelrc", "tools/bazel", ".buckconfig", ".buckconfig.local", ".pants.rc",
        ".config/composer", ".config/yarn",
    )),
    RunLater("package managers", "with their next command", (
        "~/.npmrc", ".pip", ".config/pip", ".cargo/config.toml",
    ), at_home=True),
    RunLater("Node.js", "when a program of the project starts, and the editor", (
        ".pnp.cjs", ".pnp.loader.mjs", ".yarn/plugins", ".yarn/sdks",
    ), comes_with=_JAVASCRIPT),
    RunLater("whoever runs the project's tools, editors among them", "by their names", (
        "node_modules/.bin",
    ), comes_with=_JAVASCRIPT),
    RunLater("whoever runs the project's tools, editors among them", "by their names", (
        "vendor/bin",
    ), comes_with=frozenset({"composer"})),
    RunLater("whoever activates the environment, editors among them", "by itself", (
        ".venv/bin", ".venv/Scripts", "venv/bin", "venv/Scripts", "env/bin", "env/Scripts", ".virtualenv/bin",
        "virtualenv/bin", "pyvenv.cfg", ".venv/pyvenv.cfg", "venv/pyvenv.cfg", "env/pyvenv.cfg",
        "__pypackages__/*/bin",
    ), comes_with=_PYTHON),
    RunLater("Python", "whenever it starts", (
        "site-packages/*.pth", "dist-packages/*.pth", "site-packages/sitecustomize.py",
        "site-packages/usercustomize.py",
        *(f"{name}/lib/*/site-packages/{file}" for name in (".venv", "venv", "env")
          for file in ("*.pth", "sitecustomize.py", "usercustomize.py")),
    ), comes_with=_PYTHON),
    RunLater("Python", "whenever it starts", ("sitecustomize.py", "usercustomize.py", ".pythonrc", ".pythonrc.py")),
    RunLater("debuggers and interpreters", "when one starts in the directory", (
        ".gdbinit", ".gdbearlyinit", ".lldbinit", ".lldbinit-*", ".radare2rc", ".valgrindrc", ".pdbrc", ".pdbrc.py",
        ".irbrc", "_irbrc", ".pryrc", ".rdebugrc", ".byebugrc", ".perldb", ".Rprofile", ".Renviron", "Rprofile.site",
        ".octaverc", ".juliarc.jl", ".julia/config", ".ghci", ".ocamlinit", ".iex.exs", ".erlang", ".sbclrc",
        ".guile", ".racketrc", ".swiplrc", ".tclshrc", ".wishrc", ".user.ini", "php.ini", ".htaccess",
        ".psqlrc", ".sqliterc", ".duckdbrc", ".usqlrc", ".mongorc.js", ".mongoshrc.js", ".my.cnf", ".mylogin.cnf",
    )),
    RunLater("programs at a terminal", "when one starts", (
        ".screenrc", ".byobu", ".config/tmux", ".config/kitty", ".config/alacritty", ".config/wezterm",
        ".wezterm.lua", ".config/ghostty", ".hyper.js", ".config/zellij", ".tmuxinator.yml", ".tmuxinator.yaml",
        ".tmuxp.yaml", ".tmuxp.yml", ".tmuxp.json", ".ackrc", ".lesskey", ".lessfilter", ".curlrc", ".wgetrc",
        ".digrc", ".mailcap", ".mailrc", ".muttrc", ".mutt",
    )),
    RunLater("tmux", "when it starts", (".tmux.conf",), at_home=True),
    RunLater("task runners", "by themselves, or by the name of a task", (
        "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml",
        "nodemon.json", ".nodemonrc", ".watchmanconfig", ".air.toml", "bacon.toml", "mprocs.yaml", ".overmind.env",
        "Tiltfile", "Vagrantfile", "Guardfile", ".Guardfile",
    )),
    RunLater("whoever opens the directory in a container or in the cloud", _OPENING, (
        ".devcontainer", ".devcontainer.json", ".gitpod.yml", ".gitpod.Dockerfile", ".gitpod", ".idx", ".replit",
        "replit.nix", ".codesandbox", ".stackblitzrc", "devfile.yaml", ".devfile.yaml", ".lando.yml",
        ".lando.local.yml", ".ddev", ".docksal",
    )),
)  # fmt: skip
PACKAGE_MANAGERS = frozenset[str]().union(*(row.comes_with for row in TABLE))
"""The programs that change some of these places by installing packages."""

# Below places of the table, and not what is run: copies of whole workspaces, caches, what a program notes for itself.
_EXCEPTIONS = (
    ".claude/worktrees", ".claude/projects", ".claude/todos", ".claude/shell-snapshots", ".claude/history.jsonl",
    ".claude/statsig", ".claude/debug", ".claude/file-history", ".claude/session-env", ".claude/ide", ".claude/logs",
    ".claude/cache", ".claude/telemetry", ".cursor/worktrees", ".cursor/extensions", ".vscode/extensions",
    ".codex/history.jsonl", ".gemini/tmp", ".gemini/history",
    ".codex/sessions", ".codex/log", ".idea/shelf", ".idea/caches", ".idea/httpRequests", ".idea/dataSources",
    ".idea/usage.statistics.xml", ".vs/*/*/FileContentIndex", ".husky/_/.gitignore", ".roo/cache", ".crush/logs",
    ".crush/crush.db*", ".continue/index", ".openhands/cache", ".ipython/profile_default/history.sqlite*",
)  # fmt: skip


@dataclass(slots=True)
class Step:
    """A part of the patterns that begin alike.

    Attributes:
        names: what follows, by its folded name; `forms`: what follows that has `*` in it.
        place: what a path that ends here is; None where it only leads on.
    """

    names: dict[str, Step] = field(default_factory=dict)
    forms: list[tuple[re.Pattern[str], Step]] = field(default_factory=list)
    place: RunLater | None = None
    _any: re.Pattern[str] | None = None

    def after(self, folded: str) -> Iterator[Step]:
        """What a name leads to."""
        if (named := self.names.get(folded)) is not None:
            yield named
        if self.forms and self._form.fullmatch(folded):
            yield from (step for form, step in self.forms if form.fullmatch(folded))

    def leads(self, folded: str) -> bool:
        """Whether a name leads anywhere."""
        return folded in self.names or (bool(self.forms) and self._form.fullmatch(folded) is not None)

    @property
    def _form(self) -> re.Pattern[str]:
        # One expression for all of them: most names fit none.
        if self._any is None:
            self._any = re.compile("|".join(form.pattern for form, _ in self.forms), re.DOTALL)
        return self._any


def _steps(patterns: Iterator[tuple[str, RunLater]]) -> Step:
    root = Step()
    for pattern, place in patterns:
        step = root
        for part in pattern.casefold().split("/"):
            step = _named(step, part) if "*" not in part else _formed(step, part)
        step.place = step.place or place
    return root


def _named(step: Step, part: str) -> Step:
    return step.names.setdefault(part, Step())


def _formed(step: Step, part: str) -> Step:
    text = ".*".join(map(re.escape, part.split("*")))
    known = next((after for form, after in step.forms if form.pattern == text), None)
    if known is not None:
        return known
    step.forms.append((re.compile(text, re.DOTALL), after := Step()))
    return after


@functools.cache
def anywhere() -> Step:
    """Where the patterns begin that count in every directory."""
    return _steps((each, row) for row in TABLE for each in row.patterns if each[0] not in "~/")


@functools.cache
def _in_homes() -> Step:
    return _steps((each[2:], row) for row in TABLE for each in row.patterns if each.startswith("~/"))


@functools.cache
def _from_root() -> Step:
    return _steps((each[1:], row) for row in TABLE for each in row.patterns if each.startswith("/"))


@functools.cache
def exceptions() -> Step:
    """Where the patterns begin of what is no place of the table, though it lies below one."""
    return _steps((each, TABLE[0]) for each in _EXCEPTIONS)


def names_at_home() -> tuple[str, ...]:
    """Those places of the table that are kept from commands that may change a whole home, below it."""
    return tuple(each.removeprefix("~/") for row in TABLE if row.at_home for each in row.patterns if "*" not in each)


_HOME = re.compile(r"/(?:home|users)/[^/]+/|/(?:var/)?root/")


def run_later(path: Path | str) -> RunLater | None:
    """Who runs the file at a path later; None for an ordinary one. Text alone, no disk.

    Args:
        path: absolute, symbolic links resolved.
    """
    folded = folded_path(path)
    parts = folded.split("/")
    for number in range(len(parts)):
        found = _along(anywhere(), parts, number) if _begins(parts[number]) else None
        if found is not None and _along(exceptions(), parts, number) is None:
            return found
    home = _HOME.match(folded)
    below = folded[home.end() :] if home else _below_own_home(folded)
    if below and (found := _along(_in_homes(), below.split("/"), 0)) is not None:
        return found
    begin = 2 if parts[1:2] == ["private"] else 1
    return _along(_from_root(), parts, begin) if folded.startswith("/") else None


@functools.lru_cache(maxsize=4_096)  # the same directories are in very many paths
def _begins(part: str) -> bool:
    return anywhere().leads(part)


def _below_own_home(folded: str) -> str:
    own = f"{os.path.expanduser('~').casefold().rstrip('/')}/"  # noqa: PTH111 - never raises
    return folded[len(own) :] if folded.startswith(own) else ""


def _along(step: Step, parts: Sequence[str], begin: int) -> RunLater | None:
    """The first place on the way that `parts` go from `begin` on."""
    for number in range(begin, len(parts)):
        following = list(step.after(parts[number]))
        if not following:
            return None
        if (place := next((each.place for each in following if each.place is not None), None)) is not None:
            return place
        if len(following) > 1:  # by its name, and by a form
            return next(filter(None, (_along(each, parts, number + 1) for each in following)), None)
        step = following[0]
    return None


def is_git_name(name: str) -> bool:
    """Whether a name is that of git's own directory, for one file system or another."""
    folded = folded_path(f"/{name}")
    return folded == "/.git" or folded.startswith(("/.git:", "/git~"))


# What a file system of Windows takes for the same name: dots and `::$DATA` at its end; GIT~1 is .git.
_END_OF_NAME = re.compile(r"(?<=[^/. ])[. ]+(?=/|$)|::?\$[a-z_]+(?=/|$)")
_SHORT_GIT = re.compile(r"/git~\d(?=/|$)")


def folded_path(path: Path | str) -> str:
    """The path as the file system may understand it: letter case does not protect, nor do signs that nobody sees."""
    text = str(path).casefold()
    if not text.isascii():
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    if text.startswith("//"):
        text = text[1:]
    if "./" in text or " /" in text or ":$" in text or text.endswith((".", " ")):
        text = _END_OF_NAME.sub("", text)
    return _SHORT_GIT.sub("/.git", text) if "git~" in text else text
