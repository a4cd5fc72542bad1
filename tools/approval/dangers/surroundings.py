"""What outlives the project: settings of the desktop and the network, installed tools, stored caches."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from tools.approval.commands.classes import Classify
from tools.approval.dangers.finding import Family, Finding
from tools.approval.dangers.places import Scene, full_path, is_below, is_own
from tools.approval.dangers.words import texts
from tools.approval.harmless.proof import is_harmless
from tools.bash.reading import Invocation

_SETTINGS = "changes settings of the person's desktop"
_MACHINE = "changes settings of the machine"
_TOOLS = "removes installed tools, or what they have stored"
_LOADS = "makes programs run something else"

# Of each program: what its arguments look like where it changes something, what that is, and its family.
_CHANGES: Mapping[str, tuple[str, str, Family]] = {
    "gsettings": (r"(?:set|reset)\b|reset-recursively", _SETTINGS, "persistence"),
    "dconf": (r"(?:write|reset|load)\b", _SETTINGS, "persistence"),
    "xdg-settings": (r"set\b", _SETTINGS, "persistence"),
    "xdg-mime": (r"(?:default|install|uninstall)\b", _SETTINGS, "persistence"),
    "xdg-desktop-menu": (r"(?:un)?install\b", _SETTINGS, "persistence"),
    **dict.fromkeys(("kwriteconfig", "kwriteconfig5", "kwriteconfig6"), (r".", _SETTINGS, "persistence")),
    "xfconf-query": (r".*(?:^| )(?:-s|--set|-r|--reset)\b", _SETTINGS, "persistence"),
    "rfkill": (r"(?:un)?block\b|toggle\b", _MACHINE, "services"),
    "resolvectl": (r"(?:dns|domain|revert|default-route|llmnr|mdns|dnssec|dnsovertls|nta)\s+\S+\s+\S|revert",
                   _MACHINE, "services"),
    "arp": (r".*(?:^| )-[a-zA-Z]*[sd]\b", _MACHINE, "services"),
    "ethtool": (r"-[sKACGLNX]\b|--(?:change|set-\S+|offload|flash)", _MACHINE, "services"),
    "usbreset": (r".", "resets a device", "device"),
    "eject": (r".", "works on devices or filesystems", "device"),
    "logrotate": (r".*(?:^| )(?:-f|--force)\b", "rotates logs of the system", "system files"),
    "tmutil": (r"delete|disable|enable|restore|set|remove|thin|stopbackup|add",
               "changes backups of the machine", "deletion"),
    "softwareupdate": (r".*(?:^| )(?:-i|-ia|--install|-R|--restart|--ignore|--reset-ignored|--schedule|-a\b)",
                       _MACHINE, "services"),
    "keytool": (r".*(?:^| )-(?:delete|storepasswd|keypasswd|changealias|importkeystore)\b", "changes stored keys",
                "credentials"),
    "direnv": (r"(?:allow|permit|grant|edit)\b", "lets a file of the project run in every shell", "persistence"),
    "mkcert": (r".*-(?:un)?install\b", "changes which certificates are trusted", "persistence"),
    **dict.fromkeys(("update-ca-certificates", "update-ca-trust"), (r"", "changes which certificates are trusted",
                                                                    "system files")),
    "husky": (r"(?:add|set|init)\b", "installs hooks that run at each commit", "persistence"),
    **dict.fromkeys(("simple-git-hooks", "install-hooks"), (r"", "installs hooks that run at each commit",
                                                            "persistence")),
    **dict.fromkeys(("mosquitto_pub", "amqp-publish", "kcat", "kafkacat", "wscat", "websocat"),
                    (r"(?!.*(?:localhost|127\.0\.0\.1))(?!.* -[CL]\b).", "sends data out", "exfiltration")),
    "getent": (r"g?shadow\b", "reads the passwords of the system", "credentials"),
    "nix-collect-garbage": (r"(?!.*--dry-run)", _TOOLS, "deletion"),
    "nix": (r"(?:store\s+(?:gc|delete)|profile\s+(?:remove|wipe-history)|upgrade-nix)\b|collect-garbage", _TOOLS,
            "deletion"),
    "nix-store": (r".*--(?:gc|delete)\b", _TOOLS, "deletion"),
    **dict.fromkeys(("conda", "mamba", "micromamba"),
                    (r"(?:env\s+(?:remove|delete)|clean|(?:remove|uninstall)\s.*--all)\b", _TOOLS, "deletion")),
    "pnpm": (r"store\s+prune\b", _TOOLS, "deletion"),
    **dict.fromkeys(("pyenv", "rbenv", "nodenv", "goenv", "jenv", "asdf", "mise", "nvm", "fnm", "volta", "sdk",
                     "pipx"),
                    (r"uninstall|remove\b|implode|prune", _TOOLS, "deletion")),
    "rustup": (r"(?:self|toolchain|target|component)\s+(?:uninstall|remove)\b|self\s+update", _TOOLS, "deletion"),
    "ssh-keygen": (r".*(?:^| )-D\b", _LOADS, "hidden"),
    "tcpdump": (r".*(?:^| )-z\b", _LOADS, "hidden"),
    **dict.fromkeys(("apt", "apt-get", "aptitude", "apt-cache"),
                    (r".*(?:^| )(?:-o|--option)[ =]?(?:APT::Update::P|DPkg::|\S*Invoke|Dir::Bin|\S*::Run)",
                     _LOADS, "hidden")),
    "open": (r"(?!-e\b|-t\b|-R\b).*(?:-a\s+(?:Terminal|iTerm)|\.(?:command|app|pkg|dmg|terminal|workflow|scpt)\b)",
             "opens a program on the person's desktop", "hidden"),
}  # fmt: skip
_FROM_ANYWHERE = re.compile(
    r"(?:^| )(?:-i|--index-url|--extra-index-url|--registry|--source|--repository|--find-links|-f|--index)[ =]"
    r"http://(?!localhost|127\.|\[::1\])|(?:^| )--trusted-host[ =](?!localhost|127\.)\S",
)
_INSTALLERS = frozenset({
    "pip", "pip3", "uv", "pipx", "npm", "pnpm", "yarn", "bun", "npx", "gem", "bundle", "cargo", "poetry",
    "pdm", "nuget", "dotnet", "conda", "uvx", "easy_install",
})  # fmt: skip

_FOLDER_OPTION = re.compile(r"-C|--(?:directory|work-tree|git-dir|cwd|prefix|chdir|project-dir)(?:=(.+))?", re.DOTALL)
_GIT_LOOKS = frozenset({"status", "log", "diff", "show", "ls-files", "remote", "branch", "rev-parse", "blame"})


def judge_workplace(call: Invocation, scene: Scene, classify: Classify) -> Iterator[Finding]:
    """Whether `call` works inside this agent's own directory, by `cd`, `git -C` or `make -C`, and may change it."""
    folder = _folder_of(call)
    if call.elsewhere or folder is None or not is_own(folder, scene):
        return
    if any(is_below(folder, root) for root in scene.roots) or is_harmless(call, classify, scene.roots):
        return
    if call.program in {"git", "pushd"} and _only_goes_or_looks(call):
        return
    yield Finding("dangerous", "our configuration", "works inside this agent's own directory", outside=True)


def _folder_of(call: Invocation) -> str | None:
    """Where `call` works: its directory, and those that it is told to change to."""
    folder = call.cwd
    given = texts(call.arguments)
    for name, value in itertools.pairwise((*given, "")):
        glued = _FOLDER_OPTION.fullmatch(name)
        if glued is not None and (glued[1] or value):
            folder = full_path(glued[1] or value, folder)
    return folder


def _only_goes_or_looks(call: Invocation) -> bool:
    given = [text for text in texts(call.arguments) if not text.startswith("-")]
    return call.program != "git" or any(text in _GIT_LOOKS for text in given[:2])


def judge_surroundings(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` changes that outlives the project and its commands."""
    program, given = call.program.casefold(), texts(call.arguments)
    if {"--help", "--version", "--dry-run"}.intersection(given[:3]) or given == ("-h",):
        return
    line = " ".join(given)
    known = _CHANGES.get(program)
    if known is not None and re.match(known[0], line, re.DOTALL):
        yield Finding("dangerous", known[2], known[1], outside=True)
    if program in _INSTALLERS and _FROM_ANYWHERE.search(line):
        yield Finding("dangerous", "remote code", "installs from a place that nobody vouches for", outside=True)
