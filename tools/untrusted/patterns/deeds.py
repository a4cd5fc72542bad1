"""Deeds that the agent is to do for somebody else: send data, collect keys, settle in, run what is hidden."""

from __future__ import annotations

from tools.untrusted.patterns.pattern import OUTSIDE, Pattern, words

_SENDING = words(
    "send sends post upload transmit exfiltrate forward leak email mail submit paste append embed include put "
    "encode attach report copy push deliver add insert render display share transfer make get"
)
_LOOT_WORDS = words(
    "credentials credential secrets secret passwords password tokens keys key env ssh id_rsa id_ed25519 environment "
    "conversation history cookies wallet prompt contents content data code private aws netrc "
    "keychain variables variable"
)
_PLACE_WORDS = words(
    "http https webhook server url endpoint address host api domain site form bucket gist issue pastebin "
    "example com net org io dev xyz app ru cn test invalid"
)
_LOOT = (
    r"(?:credentials?|secrets?|passwords?|(?:api|access|private|ssh|secret|aws|auth) (?:keys|tokens)"
    r"|(?:private|ssh|secret) key|environment variables?|env vars?"
    r"|\.env\b|\.ssh|id_rsa|id_ed25519|(?:this |the |our |whole |entire |full )(?:conversation"
    r"|chat)(?: history)?|chat history|conversation history"
    r"|system prompt|source code|cookies|(?:seed|recovery) phrases?|wallets?|\.aws/credentials|\.netrc"
    r"|keychain|contents? of (?:the |your |all |every )?\S{1,40}"
    r"|(?:the )?user\W?s (?:name|email|data|files?|messages?|personal|api key|keys?|tokens?|password)\w{0,8})"
)
_PLACE = (
    r"(?:https?://|webhook|(?:[\w-]{1,40}\.){1,4}(?:example|com|net|org|io|dev|xyz|site|app|ru|cn|test"
    r"|invalid)\b|[\w.+-]{1,40}@[\w-]{1,40}\.|"
    r"(?:my|our|the|a|this|their|external|remote|attacker\W?s) (?:\w{1,12} )?(?:server|url|endpoint|webhook"
    r"|address|host|api|domain|site|form|bucket|gist|issue|pastebin)\b|pastebin)"
)
_PRIVATE_FILE = (
    r"(?:\.env\b|\.ssh\b|id_rsa|id_ed25519|\.aws\b|credentials|\.netrc|\.npmrc|\.pypirc|\.git-credentials"
    r"|/etc/passwd|/etc/shadow|printenv|\.kube/config"
    r"|\.docker/config|\.hermes|\.gnupg|secrets?\.\w|(?<![\w-])env(?=\s?[|)`\n&;])|whoami|hostname|_key\b"
    r"|_token\b|_secret\b)"
)
_CARRIER = r"(?:curl|wget|nc|ncat|socat|httpie|scp|rsync|ftp|telnet|invoke-webrequest|invoke-restmethod|iwr|irm)"

DEEDS: tuple[Pattern, ...] = (
    Pattern(
        "exfiltration",
        (words("exfiltrate exfiltrating exfil leak steal"), _LOOT_WORDS),
        rf"\b(?:exfiltrat\w{{1,4}}|leak|steal) [^\n]{{0,60}}?{_LOOT}",
        not_after=r"\b(?:not|never|n\W?t|could|can|may|might|would|will|attackers?|to|or|prevent|avoid|from)\b",
    ),
    Pattern(
        "exfiltration",
        (_SENDING, _LOOT_WORDS, _PLACE_WORDS),
        rf"\b(?:send|post|upload|transmit|forward|email|mail|submit|paste|push|deliver"
        rf"|copy) [^\n]{{0,80}}?{_LOOT}[^\n]{{0,60}}? (?:to|at|via|into|using|through|with) [^\n]{{0,12}}?{_PLACE}",
        not_after=r"\b(?:not|never|n\W?t|avoid|cannot|that)\b",
    ),
    Pattern(
        "exfiltration",
        (_SENDING, _LOOT_WORDS, _PLACE_WORDS),
        rf"{_LOOT}[^\n]{{0,60}}?\b(?:send|post|upload|transmit|forward|email|submit|paste|share) (?:it|them"
        rf"|this|that|everything)(?: all)? (?:to|at|via|into|with) [^\n]{{0,12}}?{_PLACE}",
        not_after=r"\b(?:not|never|n\W?t|avoid|cannot)\b",
    ),
    Pattern(
        "exfiltration",
        (words("http https"), words("followed concatenated plus"), _LOOT_WORDS),
        rf"https?://[^\n]{{0,160}}?\b(?:followed by|concatenated with|plus) [^\n]{{0,60}}?(?:{_LOOT}|base64)",
    ),
    Pattern(
        "exfiltration",
        (words("cookie"), words("document"), words("fetch src img location xmlhttprequest open sendbeacon")),
        r"\b(?:fetch|src|location|open|sendbeacon)\b[^\n]{0,160}\+[^\n]{0,40}document\.cookie",
    ),
    Pattern(
        "exfiltration",
        (words("curl wget nc ncat socat"), words("echo printf")),
        r"\b(?:echo|printf)\b[^\n|]{0,60}\$\{?\w{0,40}(?:secret|token|key"
        r"|passw)\w{0,20}[^\n|]{0,40}\|[^\n]{0,60}\b(?:curl|wget|nc|ncat|socat)\b",
    ),
    Pattern(
        "exfiltration",
        (_SENDING, _LOOT_WORDS, words("url link image img parameter query request pixel markdown")),
        rf"\b(?:append|include|embed|encode|add|insert|put|attach|render|display) [^\n]{{0,120}}?(?:{_LOOT}"
        rf"|base64|summary)[^\n]{{0,80}}?"
        r" (?:in|into|to|as|of|with|at) [^\n]{0,30}?(?:(?:image|img|query|url|link|pixel|markdown) (?:url"
        r"|string|parameter|param|path|link|source|tag|whose)|query string|https?://)",
        not_after=r"\b(?:not|never|n\W?t|avoid|cannot)\b",
    ),
    Pattern(
        "exfiltration",
        (
            words("image img link url markdown"),
            words("replace replacing where substitute placeholder containing with"),
            _LOOT_WORDS,
        ),
        rf"\bhttps?://[^\s)]{{4,200}}[^\n]{{0,40}}\b(?:replac\w{{1,3}}|substitut\w{{1,3}}|where|containing"
        rf"|fill\w{{0,3}}) [^\n]{{0,80}}?{_LOOT}",
    ),
    Pattern(
        "exfiltration",
        (words("http https"),),
        r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,200}[?&/=](?:[\w%.-]{0,40}=)?(?:\{|\$\{?|%7b|<|\[|\("
        r"|__)[^)\s]{0,12}"
        r"(?:secret|token|key|data|conversation|history|password|env|content|summary|prompt|base64|encoded"
        r"|message|chat|creds?|info|result)",
    ),
    Pattern(
        "exfiltration",
        (words("curl wget nc ncat socat httpie scp rsync ftp telnet iwr irm"),),
        rf"\b{_CARRIER}\b[^\n]{{0,120}}?(?:\$\(|`|<\(|@|<|--upload-file\s|-t\s|--post-file\W"
        rf"|\$\{{?)[^\n]{{0,40}}?{_PRIVATE_FILE}",
        not_after=r"\b(?:not|never|n\W?t)\b",
    ),
    Pattern(
        "exfiltration",
        (
            words("curl wget nc ncat socat httpie scp rsync ftp telnet iwr irm"),
            words("cat tar base64 printenv env zip grep find gzip xxd set cp"),
        ),
        rf"\b(?:cat|tar|base64|printenv|env|zip|grep|find|gzip|xxd"
        rf"|set)\b(?:[^\n]{{0,160}}?{_PRIVATE_FILE})?[^\n|]{{0,120}}\|[^\n]{{0,80}}?{_CARRIER}\b",
        strong=True,
    ),
    Pattern(
        "exfiltration",
        (words("scp rsync"), words("ssh env aws")),
        r"\b(?:scp|rsync)\b[^\n]{0,80}(?:\.env|\.ssh|\.aws|id_rsa)[^\n]{0,60}[\w.-]{1,40}@?[\w.-]{1,60}:",
    ),
    Pattern(
        "exfiltration",
        (words("nslookup dig host ping"),),
        r"\b(?:nslookup|dig|host|ping)\s[^\n`]{0,60}\$\(|\b(?:nslookup|dig|ping)\s[^\n`]{0,60}`(?:whoami"
        r"|hostname|id|cat|head|tail|env|printenv|base64|xxd|ls)\b",
    ),
    Pattern(
        "exfiltration",
        (words("requests fetch urlopen post xmlhttprequest axios"), words("environ env process")),
        r"\b(?:requests\.(?:post|get|put)|urlopen|fetch|axios\.\w{3,4})\([^\n]{0,160}(?:os\.environ(?!\["
        r"|\.get)|process\.env(?!\.\w|\[)|dict\(os\.environ\)|\.ssh|id_rsa|\.aws)",
    ),
    Pattern(
        "exfiltration",
        (words("webhook requestbin pipedream ngrok burpcollaborator oast interact hookbin dnslog ceye beeceptor"),),
        r"\b(?:webhook\.site|requestbin\.\w{2,4}|[\w-]{1,40}\.m\.pipedream\.net"
        r"|[\w-]{1,40}\.ngrok(?:-free)?\.(?:io|app|dev)|burpcollaborator\.net|oast\.(?:fun|pro|me|live|site|online)"
        r"|interact\.sh|hookbin\.com|dnslog\.cn|ceye\.io|beeceptor\.com)\b",
        strong=False,
    ),
    Pattern(
        "credentials",
        (words("collect harvest gather steal dump extract grab enumerate"), _LOOT_WORDS),
        r"\b(?:collect|harvest|gather|steal|dump|extract|grab|enumerate) (?:all |any |every |the |your "
        r"|each )?(?:\w{1,12} ){0,3}?"
        r"(?:credentials|passwords|api keys|access tokens|secrets|private keys|ssh keys"
        r"|environment variables|browser cookies|wallets?|keychain)\b",
        not_after=r"\b(?:not|never|n\W?t|attackers?|to|can|could)\b",
    ),
    Pattern(
        "credentials",
        (
            words("find search look locate list hunt"),
            words("computer machine disk filesystem laptop workstation home"),
            _LOOT_WORDS,
        ),
        r"\b(?:find|search for|look for|locate|list|hunt for) (?:all |any |every "
        r"|the )?(?:\w{1,12} ){0,2}?(?:credentials|passwords|(?:private|ssh|api|secret) keys|access tokens"
        r"|secrets|wallets?)"
        r" ~2 (?:on|in|from|across) (?:this |the |my |your )?(?:\w{1,12} )?(?:computer|machine|disk"
        r"|file ?system|laptop|workstation|home)\b",
        not_after=r"\b(?:not|never|n\W?t|to|can|could)\b",
    ),
    Pattern(
        "credentials",
        (
            words("search scan look find locate grep"),
            words("home filesystem machine computer system disk"),
            _LOOT_WORDS,
        ),
        r"\b(?:search|scan|look (?:in|through)|grep|find|locate) ~4 (?:home|file ?system|machine|computer"
        r"|system|disk|hard drive) (?:directory |folder )?~4 "
        r"(?:credentials|passwords|(?:\w{1,10} )?keys?|tokens|secrets|wallets?)\b",
        not_after=r"\b(?:not|never|n\W?t)\b",
    ),
    Pattern(
        "credentials",
        (
            words("cat print output paste dump base64 show display include read"),
            words("ssh aws id_rsa id_ed25519 shadow netrc git gnupg npmrc hermes kube docker pypirc credentials"),
        ),
        r"\b(?:cat|print|output|paste|dump|base64|show|display|include|read|open"
        r"|attach) (?:\w{1,12} ){0,5}?['\"`]?(?:~|\$home|\$\{home\}|/home/\w{1,32}|/root|/users/\w{1,32})?/?"
        r"(?:\.ssh/(?:id_\w{1,12}(?!\.pub|\w)|\*)|\.aws/credentials|\.netrc\b|\.git-credentials"
        r"|\.hermes/\.env|\.gnupg\b|\.pypirc|etc/shadow|\.docker/config\.json|\.kube/config)",
        not_after=r"\b(?:not|never|n\W?t|must|cannot)\b",
    ),
    Pattern(
        "credentials",
        (
            words("print output show list include display echo dump reveal"),
            words("environment env"),
            words("all every entire full"),
        ),
        r"\b(?:print|output|show|list|include|display|echo|dump|reveal) (?:all |every |the entire "
        r"|the full )(?:of )?(?:the |your )?(?:environment|env) (?:variables|vars)\b",
        strong=False,
        kinds=OUTSIDE,
    ),
    Pattern(
        "credentials",
        (words("ask request prompt tell"), words("user"), words("password passphrase key token credentials secret")),
        r"\b(?:ask|request|prompt|tell) (?:the )?user (?:to |for )(?:\w{1,12} ){0,6}?(?:password|passphrase"
        r"|(?:api |private |ssh )(?:key|token)|credentials|seed phrase)\b",
        strong=False,
        kinds=OUTSIDE,
    ),
    Pattern(
        "persistence",
        (words("authorized_keys"),),
        r"(?:>>?|\b(?:add|append|write|insert|put|tee)\b)[^\n]{0,160}authorized_keys",
        not_after=r"\b(?:not|never|n\W?t)\b",
    ),
    Pattern(
        "persistence",
        (words("hermes"), words("add append write edit modify set change echo insert put create update")),
        r"(?:>>?|\b(?:add|append|write|edit|modify|set|change|echo|insert|put|create"
        r"|update)\b)[^\n]{0,120}\.hermes/(?:config\.yaml|permissions\.yaml|\.env|skills|plugins|memories"
        r"|tools|profiles)",
        not_after=r"\b(?:not|never|n\W?t)\b",
        kinds=OUTSIDE,
    ),
    Pattern(
        "persistence",
        (
            words("hooks bashrc zshrc profile crontab cron bash_profile launchagents systemd"),
            words("curl wget sh bash nc python base64"),
        ),
        r"(?:\.git/hooks|\.bashrc|\.zshrc|\.profile|\.bash_profile|crontab|cron job|launchagents"
        r"|systemd)[^\n]{0,160}(?:\b(?:curl|wget)\b[^\n]{0,120}\||/dev/tcp/|base64 )"
        r"|(?:\b(?:curl|wget)\b[^\n]{0,160}\||/dev/tcp/)[^\n,]{0,60}(?:>>|\b(?:in|into"
        r"|to)\b)[^\n,]{0,12}(?:\.git/hooks|\.bashrc|\.zshrc|\.profile|\.bash_profile|crontab)",
    ),
    Pattern(
        "persistence",
        (
            words("save remember store write add copy insert append include put persist"),
            words("instruction instructions rule prompt message text comment note following"),
            words("memory memories agents skill skills every all future sessions claude cursorrules readme"),
        ),
        r"\b(?:save|remember|store|write|add|copy|insert|append|include|put|persist) (?:this|these"
        r"|the following|the above|that) (?:\w{1,12} )?(?:instructions?|rules?|prompt|message|text|comment"
        r"|note|block|line)?s?"
        r" ?~3 (?:to|in|into|for|across|at) (?:\w{1,12} ){0,3}?(?:memory|memories|agents\.md|\.cursorrules"
        r"|skills?\b|every |all (?:other |future |the )|future |each )",
        kinds=frozenset({"tool_result", "web"}),
    ),
    Pattern(
        "persistence",
        (
            words("copy insert add replicate propagate"),
            words("instruction instructions prompt comment message text"),
            words("every all each"),
        ),
        r"\b(?:copy|insert|add|replicate|propagate) (?:this|these) (?:\w{1,12} )?(?:instructions?|prompt"
        r"|comment|message|text)s? (?:in)?to (?:every|all|each)\b",
    ),
    Pattern(
        "persistence",
        (
            words("bashrc zshrc profile bash_profile crontab launchagents autostart"),
            words("add append write echo install insert put"),
        ),
        r"(?:>>|\b(?:append|insert|write|install|add)\b)[^\n]{0,80}(?:\.bashrc|\.zshrc|\.bash_profile"
        r"|\.profile\b|crontab|launchagents|autostart)",
        strong=False,
        kinds=frozenset({"tool_result", "memory"}),
    ),
    Pattern(
        "payload",
        (
            words("decode decrypt deobfuscate rot13 unhex unscramble base64"),
            words("run execute follow eval obey perform do apply"),
        ),
        r"\b(?:decode|decrypt|deobfuscate|unhex|unscramble|base64.decode|rot13.decode) [^\n]{0,80}?(?:and"
        r"|then) (?:\w{1,12} ){0,2}?(?:run|execute|follow|eval|obey|perform|do|apply) (?:it|what|the|them"
        r"|this|as)\b",
        not_after=r"\b(?:not|never|n\W?t)\b",
    ),
    Pattern(
        "payload",
        (words("base64"), words("sh bash zsh python python3 perl eval source")),
        r"\bbase64\s+(?:-d|--decode|-di|-i\s+-d)\b[^\n]{0,120}\|\s{0,3}(?:sudo\s+)?(?:ba|z|da)?sh\b"
        r"|\b(?:eval|source|bash -c|sh -c)\b[^\n]{0,40}base64\s+(?:-d|--decode|-di)\b",
    ),
    Pattern(
        "payload",
        (words("exec eval"), words("b64decode atob fromhex decompress base64 fromcharcode buffer")),
        r"\b(?:exec|eval)\b[^\n]{0,60}(?:b64decode|atob|fromhex|decompress|fromcharcode|codecs\.decode"
        r"|buffer\.from)\s{0,2}\(",
    ),
    Pattern(
        "payload",
        (words("powershell pwsh"),),
        r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,80}\s-e(?:nc|ncodedcommand)?\s+[a-z0-9+/=]{16}",
    ),
    Pattern(
        "payload",
        (words("curl wget"), words("sh bash zsh python python3")),
        r"\b(?:curl|wget)\b[^\n|]{0,160}(?:http://(?!localhost|127\.)"
        r"|https?://(?:\d{1,3}\.){3}\d{1,3})[^\n|]{0,160}\|\s{0,3}(?:sudo\s+)?(?:(?:ba|z|da)?sh|python3?)\b",
    ),
    Pattern(
        "payload",
        (words("dev"), words("tcp")),
        r"\b(?:ba)?sh\s+-i\b[^\n]{0,40}/dev/tcp/|/dev/tcp/[\w.-]{3,60}/\d{2,5}",
    ),
)
