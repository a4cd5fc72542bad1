"""What dangerous commands look like. `^` is where a simple command starts with its program's bare name."""

from __future__ import annotations

_DISK = r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk)"
_SHELL = r"(?:ba|z|da|k|fi|c|tc)?sh"
_INTERPRETER = r"(?:python|perl|ruby|node|php|lua|pypy|deno|bun)[\d.]*"
_ROOT_OR_HOME = r"(?:/[/.]*\*?|~/*\*?|\$(?:HOME\b|\{HOME\})/*\*?)"
_SYSTEM = r"/(?:bin|boot|dev|etc|home|lib\w*|opt|proc|root|sbin|sys|usr|var|Users|System|Library|Applications)"

FORBIDDEN_PATTERNS: tuple[tuple[str, str], ...] = (
    (rf"^rm\b(?:[^\S\n]+\S+)*?[^\S\n]+{_ROOT_OR_HOME}(?=\s|$)", "deletes the root or home directory"),
    (rf"^rm\b(?:[^\S\n]+\S+)*?[^\S\n]+{_SYSTEM}/*\*?(?=\s|$)", "deletes a system directory"),
    (
        rf"^find\s(?=.*\s-delete\b)\s*(?:\S+[^\S\n]+)*?(?:{_ROOT_OR_HOME}|{_SYSTEM}/*)\s",
        "deletes the root or home directory",
    ),
    (
        rf"\bcd\s+{_ROOT_OR_HOME}\s*(?:&&|;|\n)\s*(?:\w+\s+)?rm\s+-(?=\w*r)\w+(?:\s+-\S+)*+\s+[.*]",
        "deletes the root or home directory",
    ),
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

_WORD_START = r"(?:^|(?<=[\s=<>:;&|(]))"

GLOB_PATTERNS: tuple[tuple[str, str], ...] = (
    # In what is left of a command without quotes; Q stands for text that was quoted.
    (_WORD_START + r"(?:~\w*|\$HOME\b|\$\{HOME\}|Q)/+[.Q][^\s/*?\[{]*[*?\[{]", "hides a name behind wildcards"),
    (
        _WORD_START + r"(?:~\w*|\$HOME\b|\$\{HOME\})?/(?:[^\s/*?\[]*/){0,2}[^\s/*?\[]*[*?\[]",
        "hides a name behind wildcards",
    ),
    (r"(?:^|(?<=[\s=<>:;&|(/]))\.\w*[*?\[{]", "hides a name behind wildcards"),
)
"""Names of the home, the system or hidden files that only the shell spells out."""

_HIDDEN = "runs a program whose name is hidden"
_INLINE = "runs an inline script"
_FEEDS = "feeds text to an interpreter"
_NETWORK = "sends data out"
_WRITES = "writes files"
_ARGUMENT = r"""(?:"[^"]*+"|'[^']*+'|[^\s"'])++"""
# The options before git's own command: no two alternatives match the same text, and none is given back.
_GIT = (
    rf"^git(?:\s+(?:-[cC]\s+{_ARGUMENT}|--(?:git-dir|work-tree|namespace|exec-path|config-env|super-prefix|attr-source)"
    rf"\s+{_ARGUMENT}|-{_ARGUMENT}))*+\s+"
)
# Python up to the option that says what it runs.
_PYTHON = (
    r"^(?:python|pypy)[\d.]*(?:\s+(?:(?-i:-[bBdEhiIOPqRsSuvVx]*[XW])\s+\S+|--check\S+\s+\S+"
    r"|(?!-[bBdEhiIOPqRsSuvVx?]*[cm])-\S*))*+\s+"
)
# Where a line of sed is; every pattern after it is looked for behind the first `sed`.
_SED = r"^(?>.*?(?<![\w.-])g?sed\s)"
_SED_ADDRESS = r"(?:\d+|\$|/(?:\\.|[^/\\\n])*+/i?)"

DANGEROUS_PATTERNS: list[tuple[str, str]] = [
    # programs hidden from this net
    (r"^[^\s=$]*\$[A-Za-z_{@*!]", _HIDDEN),
    (
        (
            r"\A(?s:(?>.*?(?:\bset\s+(?:-\w+\s+)*+(?:--|[^-\s])|\(\s*\)|\bfunction\s)).*)"
            r"(?:[;&|{(\n]|\b(?:then|do|else|exec|command|env|sudo)\s)\s*[\"']?\$\{?\d"
        ),
        _HIDDEN,
    ),
    (r"^[^\s=]*\$'", _HIDDEN),
    (r"(?:^|[;&|]|\b(?:then|do|else)\s)\s*[\"']?(?:\$\((?!\()|`)", _HIDDEN),
    (r"^\{[^\s}]*,", _HIDDEN),
    (r"(?:^|[;&|(])\s*/[^\s=]*[?*\[]", _HIDDEN),
    (r"^eval\b|^base64\b.*\s(?:-\w*d|--decode)|^xxd\b.*\s-\w*r", "runs or unpacks hidden text"),
    (r"^(?:LD_PRELOAD|LD_LIBRARY_PATH|DYLD_\w+|BASH_ENV|GIT_SSH\w*|GIT_EXTERNAL_DIFF|\w*PAGER|\w*EDITOR)=", _HIDDEN),
    (r"^alias\s.*=|^hash\s.*-\w*p|^enable\s.*-\w*f", _HIDDEN),
    # programs that run others
    (r"^set\s(?:.*\s)?(?:-[a-z]*m|-[a-z]*o\s+monitor)(?=\s|$)", "leaves a process behind"),
    (
        (
            r"^(?:setsid|nohup|disown|coproc|daemon(?:ize)?|start-stop-daemon|systemd-run|dtach|abduco|pm2|forever)"
            r"(?=\s|$)"
        ),
        "leaves a process behind",
    ),
    (rf"^{_SHELL}(?!\s+--(?:version|help))(?:\s+-\S*)*\s*(?:<.*)?$|^{_SHELL}\b.*\s-\w*s\b", _FEEDS),
    (rf"^{_INTERPRETER}(?:\s+-(?![vVh]+\b)\w*)*\s*(?:/dev/stdin\s*)?(?:<.*)?$", _FEEDS),
    (rf"(?:\b{_SHELL}|\b{_INTERPRETER}|\bsource|(?:^|\s)\.)\s+(?:-\S+\s+)*<\(", _FEEDS),
    (rf"^{_SHELL}(?:\s+-\S+(?:\s+\w+)?)*?\s+-\w*c\b", _INLINE),
    (_PYTHON + r"-(?-i:[bBdEhiIOPqRsSuvVx?]*c)", _INLINE),
    (_PYTHON + r"-\w*m\s*(?:timeit|code|(?:zip|tar)file\s+(?:-\w*[ec]|--(?:extract|create)))\b", _INLINE),
    (r"^(?:perl|ruby|lua|osascript)[\d.]*(?:\s+-\S+)*?\s+-\w*e", _INLINE),
    (r"^(?:node|bun)\b(?:\s+-\S+)*?\s+(?:-\w*[ep]\b|--(?:eval|print)\b)", _INLINE),
    (r"^(?:Rscript|(?-i:R)|julia|elixir|groovy|scala|raku|guile|racket|iex|erl)\s(?:.*\s)?(?:-e|--?eval)", _INLINE),
    (r"^jshell\b|^mongo(?:sh)?\b.*\s--eval", _INLINE),
    (r"^(?>.*?\b(?:psql|mysql|mariadb)\b).*(?:\\[!ogwi]|\\copy\b|\bsystem\s|\b(?:to|from)\s+program\b)", _INLINE),
    (r"^(?>.*?\bsqlite3?\b).*(?:[\s'\"])\.(?:sh(?!ow)|sy|ou|onc|im|sav|ba|cl|lo|rea|res|exc|tr|ar)\w*", _INLINE),
    (r"^cmake\s+-E\s+(?!(?:echo\w*|environment|capabilities|compare_files|sleep|cat|md5sum|sha\d+sum)\b)", _WRITES),
    (r"^php[\d.]*(?:\s+-\S+)*?\s+-r\b|^deno\s+eval\b", _INLINE),
    (r"\bsystem\s*\(|\|\s*getline\b|\|\s*\"[a-z/]", _INLINE),
    (r"(?:^|^; |\|\s*)[gmn]?awk\b(?>.*?\bprintf?\b).*>", "writes a file through awk"),
    (r"^find\b.*\s-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)\b", "runs or deletes through find"),
    (r"^fd(?:find)?\b.*\s(?:-x|--exec\S*)\b", "runs a command for each file"),
    (r"^(?:rg|ripgrep)\b.*\s--(?:pre|hostname-bin)(?=[=\s])|^a(?:g|ck)\b.*\s--pager", "runs a command for each file"),
    (r"^xargs\b|^parallel\b", "runs a command for each input"),
    (
        r"^(?:trap\s+['\"]?[^\s'\"-]|(?:watch|script|flock|tmux|screen|expect|at|batch)(?=\s|$))",
        "runs another command",
    ),
    (r"^(?:vim?|nvim|view|emacs|nano|ed|ex|less|man)\b", "opens a program that can run and write anything"),
    # files
    (r"^rm\b|^(?:(?:yarn|pnpm|bun)\s+(?:run\s+)?)?(?:rimraf|del-cli)\b", "deletes files"),
    (r"^(?:rmdir|unlink|shred|truncate)\b", "deletes files"),
    (r"^(?:tee|install|mv|cp|ln|patch)\b", _WRITES),
    (r"^(?:bsd|g)?tar\s+(?-i:(?:-?[a-zA-Z]*|.*\s-[a-zA-Z]*)[xcruAFI])", _WRITES),
    (
        (r"^(?:bsd|g)?tar\s.*--(?:cr|ext|get|app|upd|conc|cat|del|use-|to-c|checkpoint-|info-|new-vol|rsh-|gzip-c)"),
        _WRITES,
    ),
    (
        (
            r"^(?:gzip|gunzip|bzip2|bunzip2|xz|unxz|zstd|unzstd|lz4|compress|uncompress)\b"
            r"(?!.*\s(?:(?-i:-\w*[cltVh])|--(?:stdout|to-stdout|list|test|version|help)))"
            r"(?:\s+-\S*)*+\s+[^-\s<>\d]|^(?:gzip|gunzip|bzip2|xz|zstd)\b.*\s(?:-\w*f|--force)|^zip\s"
        ),
        _WRITES,
    ),
    (r"^c?split\b(?!\s+--(?:version|help))\s", _WRITES),
    (r"^uniq(?:\s+(?:-[fsw]\s+\d+|-\S+))*+\s+(?:-|[^-\s<>]\S*)\s+(?!\d*[<>]|#)[^-\s]", _WRITES),
    (
        r"^ps(?:\s+(?-i:-\w*[oOpCuUgGtsqk]\s+\S+|-\S*|[a-df-zA-Z]*[opOUtqk]\s+\S+|[a-df-zA-Z\d,]+(?=\s|$)))*+\s+(?-i:\w*e\w*)(?=\s|$)",
        "shows the environments of processes",
    ),
    (r"^unzip\b(?!\s+-(?:l|t|Z|v)\b)|^(?:7z\w*|unrar)\s+[xe]\b|^cpio\b", _WRITES),
    (r"^sort\b.*\s(?:-\w*o|--output)", _WRITES),
    (r"^(?:sed|perl|ruby|g?awk)\b.*\s(?:-\w*i|--in-place)", "edits files in place"),
    (
        (_SED + r".*(?<![a-z_])s([^\w\s\\])(?:\\.|(?!\1)[^\\\n])*+\1(?:\\.|(?!\1)[^\\\n])*+\1[gpim\d]*(?:w|e(?!\w))"),
        "runs or writes through sed",
    ),
    # After a space: `w F`. After an address: `/x/wF`. As the first thing of a script: `'wF'`.
    (_SED + r".*(?:[\d$/!{},;=]|\s['\"]?)\s*[ew]\s+[\w./~$]", "runs or writes through sed"),
    (
        (
            _SED + rf".*(?:['\"]|\s-\w*e\s*|--expression=)(?:[^'\"\n]*?[;{{}}])?\s*{_SED_ADDRESS}"
            rf"(?:,\s*{_SED_ADDRESS})?[\s!{{{{]*(?:w\s*[\w./~$]|e(?!\w))"
        ),
        "runs or writes through sed",
    ),
    (
        (
            _SED + rf"(?:-\S+\s+)*+['\"]?(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?!?)?"
            r"(?:w[\w./~$]*['\"\s]|e(?=['\"\s]|$))"
        ),
        "runs or writes through sed",
    ),
    (_SED + r".*\s(?:-\w*e\s*|--expression[=\s])['\"]?(?:w\s*[\w./~$]|e(?!\w))", "runs or writes through sed"),
    (r"^(?:chmod|chown|chgrp|setfacl|chattr)\b", "changes permissions or ownership"),
    (
        (
            r"(?:^|[\s\"'=/<@:])\.(?:env|ssh|aws|gnupg|netrc|kube|docker|hermes|npmrc|pypirc|git-credentials|"
            r"pgpass|htpasswd|vault-token|azure|dockercfg|cargo/credentials|config/(?:gh|gcloud))\b"
        ),
        "touches credentials or settings",
    ),
    (
        r"\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.(?:pem|p12|pfx|jks|keystore|kdbx|tfvars)\b|\bkubeconfig\b|\b_netrc\b",
        "touches credentials or settings",
    ),
    (r"\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)\b", "installs something that comes back"),
    (r"(?:(?<![\w.-])|(?<=\.\.))/(?:etc|boot|sys|proc)\b", "touches the system"),
    (r"\bproc/\S*env|/environ\b", "shows the environments of processes"),
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
        _GIT + r"(?:push|clean|restore|rebase|filter-(?:branch|repo)|update-ref|gc|replace|send-email|"
        r"checkout-index|read-tree|fast-import)\b",
        "changes git history, the work tree or a remote",
    ),
    (_GIT + r"reset\b.*\s--(?:hard|merge|keep)\b", "throws away changes"),
    (
        _GIT
        + r"(?:checkout|switch)\b.*\s(?:--|\.|-\w*f|-p|--(?:force|discard-changes|ours|theirs|patch|pathspec\S*))"
        r"(?=\s|$)",
        "throws away changes",
    ),
    (
        _GIT + r"checkout\b(?!.*\s(?:-b|--orphan|-t|--track)\b)(?:\s+-\S*)*+\s+"
        r"(?:[^-\s]\S*(?:\s+-\S*)*+\s+(?!\d*[<>]|#)[^-\s]|(?!\d*[<>])[^-\s][^\s./]*[./]|\.)",
        "may throw away changes",
    ),
    (
        _GIT + r"(?:branch\b.*\s(?-i:-\w*[DMf]\b|--delete|--force)|"
        r"tag\b.*\s(?:-\w*[df]\b|--delete|--force)|stash\s+(?:drop|clear)|reflog\s+(?:expire|delete))",
        "deletes git history",
    ),
    (_GIT + r"stash\b(?!\s+(?:list|show|pop|apply|branch|create)\b)", "takes changes out of the work tree"),
    (_GIT + r"grep\b.*\s(?:(?-i:-\w*O)|--op)", "opens files with a program"),
    (_GIT + r"(?:diff|merge)tool\b", "opens files with a program"),
    (_GIT + r".*\s--outp\w*[=\s]", _WRITES),
    (_GIT + r"archive\b.*\s(?:(?-i:-\w*o)|--o)|" + _GIT + r"bundle\s+create\b", _WRITES),
    (_GIT + r"format-patch\b(?!.*\s--stdout\b)", _WRITES),
    (
        _GIT + r"(?:apply|am|mv|rm|worktree\s+remove|submodule\s+(?:deinit|foreach)|bisect\s+run)\b",
        "changes files through git",
    ),
    (
        _GIT + r"config\b(?!\s+(?:--(?:global|local|system)\s+)?(?:--get\S*|--list|-l|get|list)\b)",
        "changes git settings",
    ),
    (
        (
            r"^git\s(?:.*\s)?(?:(?-i:-c)\s+['\"]?"
            r"(?>[^\s=]*?(?:alias|core|pager|diff|ssh|editor|hook|filter|credential))[^\s=]*=|--(?:exec-path=|config-env))"
        ),
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
    (
        (
            r"^curl\b.*\s(?:(?-i:-[#0-9aBfgGiIjkLlnNOpqRsSvVZ]*[Dc])|--(?:dump-header|cookie-jar|stderr|trace|libcurl|"
            r"etag-save|hsts|alt-svc))"
        ),
        _WRITES,
    ),
    (
        (
            r"^curl\b.*\s(?:(?-i:-[#0-9aBfgGiIjkLlnNOpqRsSvVZ]*H)\s*|--(?:proxy-)?header[=\s]\s*|--url-query[=\s]\s*"
            r"|--variable[=\s]\s*)[\"']?[^\s@:=]*@"
        ),
        _NETWORK,
    ),
    (
        (
            r"^curl\b.*\s(?:(?-i:-[#0-9aBfgGiIjkLlnNOpqRsSvVZ]*b)\s*|--cookie[=\s]\s*)[\"']?(?:@|[^\s=\"']+[\"']?(?:\s|$))"
        ),
        _NETWORK,
    ),
    (r"^wget\b.*\s--(?:post|body|method)", _NETWORK),
    (r"^wget\b(?!.*\s(?:-\w*O\s*(?:-(?:\s|$)|/dev/null)|--spider\b|--version\b|--output-document[= ]-))", _WRITES),
    (
        (
            r"^(?:curl|wget|https?|xh|dig|drill|delv|host|nslookup|ping6?|whois|traceroute6?|tracepath|mtr|"
            r"git\s.*(?:clone|fetch|pull|ls-remote))\b.*(?:\$\(|`|<\()"
        ),
        _NETWORK,
    ),
]
"""Commands that ask: `(regex, what it does)`. The list may be extended."""
