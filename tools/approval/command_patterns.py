"""What dangerous commands look like. `^` is where a simple command starts with its program's bare name."""

from __future__ import annotations

_DISK = r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk)"
_SHELL = r"(?:ba|z|da|k|fi|c|tc)?sh"
_INTERPRETER = r"(?:python|perl|ruby|node|php|lua|pypy|deno|bun)[\d.]*"
_ROOT_OR_HOME = r"(?:/[/.]*\*?|~/*\*?|\$(?:HOME\b|\{HOME\})/*\*?)"

FORBIDDEN_PATTERNS: tuple[tuple[str, str], ...] = (
    (rf"^rm\b(?:\s+\S+)*?\s+{_ROOT_OR_HOME}(?=\s|$)", "deletes the root or home directory"),
    (r"^mkfs(?:\.\w+)?\b.*/dev/", "makes a filesystem on a device"),
    (rf"^dd\b.*\bof={_DISK}", "writes over a raw device"),
    (rf"^(?:tee|cp|shred|wipefs|blkdiscard)\b.*\s{_DISK}", "writes over a raw device"),
    (rf">\s*{_DISK}", "writes over a raw device"),
    (r"(?<![\w:.])([\w:.]{1,40})\s*\(\s*\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}", "is a fork bomb"),
)
"""Commands that no mode runs: `(regex, what it does)`."""

REDIRECTION_PATTERNS: tuple[tuple[str, str], ...] = (
    # Not a write: to another descriptor (>&2), and to the null device or the standard streams.
    (r">{1,2}(?![>(])\|?\s*(?!&\d+(?=[\s;&|)]|$)|&-|/dev/(?:null|stdout|stderr|tty)\b)[^\s>]", "writes a file"),
)
"""Searched outside quotes only, where it is certain what is quoted."""

_HIDDEN = "runs a program whose name is hidden"
_INLINE = "runs an inline script"
_FEEDS = "feeds text to an interpreter"
_NETWORK = "sends data out"
_WRITES = "writes files"
_GIT = r"^git(?:\s+(?:-c\s+\S+|--?\S+))*\s+"

DANGEROUS_PATTERNS: list[tuple[str, str]] = [
    # programs hidden from this net
    (r"^[^\s=$]*\$[A-Za-z_{@*!]", _HIDDEN),
    (r"^[^\s=]*\$'", _HIDDEN),
    (r"(?:^|[;&|]|\b(?:then|do|else)\s)\s*[\"']?(?:\$\((?!\()|`)", _HIDDEN),
    (r"^\{[^\s}]*,", _HIDDEN),
    (r"(?:^|[;&|(])\s*/[^\s=]*[?*\[]", _HIDDEN),
    (r"^eval\b|^base64\b.*\s(?:-\w*d|--decode)|^xxd\b.*\s-\w*r", "runs or unpacks hidden text"),
    (r"^(?:LD_PRELOAD|LD_LIBRARY_PATH|DYLD_\w+|BASH_ENV|GIT_SSH\w*|GIT_EXTERNAL_DIFF|\w*PAGER|\w*EDITOR)=", _HIDDEN),
    # programs that run others
    (rf"^{_SHELL}(?!\s+--(?:version|help))(?:\s+-\S*)*\s*(?:<.*)?$|^{_SHELL}\b.*\s-\w*s\b", _FEEDS),
    (rf"^{_INTERPRETER}(?:\s+-(?![vVh]+\b)\w*)*\s*(?:/dev/stdin\s*)?(?:<.*)?$", _FEEDS),
    (rf"(?:\b{_SHELL}|\b{_INTERPRETER}|\bsource|(?:^|\s)\.)\s+(?:-\S+\s+)*<\(", _FEEDS),
    (rf"^{_SHELL}(?:\s+-\S+(?:\s+\w+)?)*?\s+-\w*c\b", _INLINE),
    (r"^(?:python|pypy)[\d.]*(?:\s+-[XW]\s+\S+|\s+-\w+)*?\s+-\w*c", _INLINE),
    (r"^(?:perl|ruby|lua|osascript)[\d.]*(?:\s+-\S+)*?\s+-\w*e", _INLINE),
    (r"^(?:node|bun)\b(?:\s+-\S+)*?\s+(?:-\w*[ep]\b|--(?:eval|print)\b)", _INLINE),
    (r"^php[\d.]*(?:\s+-\S+)*?\s+-r\b|^deno\s+eval\b", _INLINE),
    (r"\bsystem\s*\(|\|\s*getline\b|\|\s*\"[a-z/]", _INLINE),
    (r"(?:^|^; |\|\s*)[gmn]?awk\b.*\bprintf?\b.*>", "writes a file through awk"),
    (r"^find\b.*\s-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)\b", "runs or deletes through find"),
    (r"^fd(?:find)?\b.*\s(?:-x|--exec\S*)\b", "runs a command for each file"),
    (r"^xargs\b|^parallel\b", "runs a command for each input"),
    (r"^(?:trap\s+['\"]?[^\s'\"-]|(?:watch|script|flock|tmux|screen|expect|at|batch)\b)", "runs another command"),
    (r"^(?:vim?|nvim|view|emacs|nano|ed|ex|less|man)\b", "opens a program that can run and write anything"),
    # files
    (r"^rm\b", "deletes files"),
    (r"^(?:rmdir|unlink|shred|truncate)\b", "deletes files"),
    (r"^(?:tee|install|mv|cp|ln|patch)\b", _WRITES),
    (r"^(?:tar|bsdtar)\s+(?:-?\w*x|.*\s-\w*x|.*--extract\b|.*--to-command)", _WRITES),
    (r"^unzip\b(?!\s+-(?:l|t|Z|v)\b)|^(?:7z\w*|unrar)\s+[xe]\b|^cpio\b", _WRITES),
    (r"^sort\b.*\s(?:-\w*o|--output)", _WRITES),
    (r"^(?:sed|perl|ruby|g?awk)\b.*\s(?:-\w*i|--in-place)", "edits files in place"),
    (r"\bs([/|#,@])[^\n/|#,@]*\1[^\n/|#,@]*\1[gpim\d]*[ew]\b", "runs or writes through sed"),
    (r"^sed\b.*(?:[\d$/]|\s['\"]?)[ew]\s+[\w./]", "runs or writes through sed"),
    (r"^(?:chmod|chown|chgrp|setfacl|chattr)\b", "changes permissions or ownership"),
    (
        r"(?:^|[\s\"'=/<@:])\.(?:env|ssh|aws|gnupg|netrc|kube|docker|hermes|npmrc|pypirc|git-credentials)\b",
        "touches credentials or settings",
    ),
    (r"\bid_(?:rsa|ed25519|ecdsa)\b|\.pem\b", "touches credentials or settings"),
    (r"\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)\b", "installs something that comes back"),
    (r"(?<![\w.-])/(?:etc|boot|sys|proc)\b", "touches the system"),
    (r"\.git/(?:hooks|config)\b", "changes git hooks or settings"),
    # the machine
    (r"^(?:sudo|doas|su|pkexec|runuser|chroot|nsenter|unshare)\b", "runs with other rights"),
    (r"^(?:dd|mkfs\S*|fdisk|parted|mkswap|wipefs|losetup|mount|umount)\b", "works on devices"),
    (r"^(?:systemctl|service|shutdown|reboot|halt|poweroff|init|launchctl)\b", "controls services or power"),
    (r"^(?:kill|pkill|killall|skill|fuser\s+-\w*k)\b", "ends processes"),
    (r"^crontab\b", "installs something that comes back"),
    (
        (
            r"^(?:apt|apt-get|dnf|yum|pacman|apk|zypper|brew)\s+(?:-\S+\s+)*(?:remove|purge|autoremove|uninstall|"
            r"-R\w*)\b"
        ),
        "removes system packages",
    ),
    # git
    (
        _GIT + r"(?:push|clean|restore|rebase|filter-(?:branch|repo)|update-ref|gc|replace|send-email)\b",
        "changes git history, the work tree or a remote",
    ),
    (_GIT + r"reset\b.*\s--(?:hard|merge|keep)\b", "throws away changes"),
    (_GIT + r"(?:checkout|switch)\b(?:.*\s(?:--|\.|-\w*f|--force|--discard-changes))(?=\s|$)", "throws away changes"),
    (
        _GIT + r"(?:branch\b.*\s(?-i:-\w*D|--delete)|tag\s+-d|stash\s+(?:drop|clear)|reflog\s+(?:expire|delete))",
        "deletes git history",
    ),
    (
        _GIT + r"(?:apply|am|mv|rm|worktree\s+remove|submodule\s+(?:deinit|foreach)|bisect\s+run)\b",
        "changes files through git",
    ),
    (
        _GIT + r"config\b(?!\s+(?:--(?:global|local|system)\s+)?(?:--get\S*|--list|-l|get|list)\b)",
        "changes git settings",
    ),
    (
        r"^git\s+(?:\S+\s+)*?(?-i:-c)\s+\S*(?:alias|core|pager|diff|ssh|editor|hook|filter|credential)\S*=",
        "runs git with other settings",
    ),
    # services elsewhere
    (
        (
            r"^(?:docker|podman|nerdctl|kubectl|oc|helm|terraform|tofu|pulumi|aws|gcloud|az)\b.*(?<!-)\b(?:rm|rmi|"
            r"delete|destroy|prune|down|terminate|purge|kill|stop|uninstall|apply|run|exec|drain|scale|cp|rb|mv|"
            r"sync)\b"
        ),
        "changes containers, clusters or cloud resources",
    ),
    (
        (
            r"^(?:npm|pnpm|yarn|cargo|gem|poetry|uv|twine|hatch|flit)\s+(?:-\S+\s+)*(?:publish|unpublish|"
            r"deprecate|upload|push|yank|owner)\b"
        ),
        "publishes a package",
    ),
    (
        (
            r"^gh\s+\S+\s+(?:create|delete|merge|close|edit|comment|review|upload|transfer|archive|rename|set|run|"
            r"cancel)\b"
        ),
        "changes things on GitHub",
    ),
    (r"^gh\s+api\b.*\s(?:-X|--method|-f|-F|--field|--raw-field|--input)", "changes things on GitHub"),
    (r"\b(?:drop|truncate)\s+(?:table|database|schema|index)\b|\bdelete\s+from\b", "deletes database content"),
    (r"^(?:dropdb|redis-cli\b.*\bflush\w*)", "deletes database content"),
    # the network
    (r"^(?:ssh|scp|sftp|rsync|nc|ncat|netcat|telnet|ftp|socat)\b", "reaches another machine"),
    (r"/dev/(?:tcp|udp)/", "reaches another machine"),
    (r"^curl\b.*\s(?-i:-[a-zA-Z#]*[dFT]|-[a-zA-Z#]*X(?!\s*(?:GET|HEAD)\b))", _NETWORK),
    (r"^curl\b.*\s--(?:request(?![\s=]+(?:GET|HEAD)\b)|data|form|upload-file|json|config)", _NETWORK),
    (
        (
            r"^curl\b.*\s(?:(?-i:-[a-zA-Z#]*(?:o(?!\s*(?:/dev/null|-(?:\s|$)))|O|"
            r"K))|--(?:output(?![\s=]+/dev/null)|remote-name))"
        ),
        _WRITES,
    ),
    (r"^wget\b.*\s--(?:post|body|method)", _NETWORK),
    (r"^wget\b(?!.*\s(?:-\w*O\s*(?:-(?:\s|$)|/dev/null)|--spider\b|--version\b|--output-document[= ]-))", _WRITES),
    (r"^(?:curl|wget|http|https|xh)\b.*(?:\$\(|`)", _NETWORK),
]
"""Commands that ask: `(regex, what it does)`. The list may be extended."""
