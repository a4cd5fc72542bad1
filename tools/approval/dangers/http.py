"""Requests: what they change elsewhere, what they carry out, and other connections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene
from tools.approval.dangers.words import Words, sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation

_CURL_VALUES = (
    "--request", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "--form",
    "--form-string", "--json", "--upload-file", "--header", "--cookie", "--output", "--user", "--config",
    "--url", "--url-query", "--user-agent", "--referer", "--max-time", "--connect-timeout", "--retry",
    "--write-out", "--proxy", "--cacert", "--cert", "--key", "--dump-header", "--cookie-jar", "--stderr",
    "--trace", "--trace-ascii", "--libcurl", "--output-dir", "--resolve", "--variable", "--proxy-header",
    "--unix-socket", "--abstract-unix-socket", "--etag-save", "--hsts", "--alt-svc", "--mail-from",
    "--mail-rcpt", "--quote", "--range", "--preproxy", "--socks5", "--socks5-hostname", "--socks4",
    "--socks4a", "--proxy-user",
)  # fmt: skip
_CURL_LETTERS = "ADEFHKPQTUXYbcdeHmortuwxyzCh"
_WGET_VALUES = (
    "--post-file", "--post-data", "--body-file", "--body-data", "--method", "--header", "--output-document",
    "--user", "--directory-prefix", "--password", "--execute", "--input-file", "--use-askpass", "--referer",
    "--user-agent",
)  # fmt: skip
_CURLS = frozenset({"curl", "curlie", "curl.exe"})
_WGETS = frozenset({"wget", "wget2", "aria2c"})
_FORGES = frozenset({"gh", "glab"})
_NETCATS = frozenset({"nc", "ncat", "netcat"})
_CLIENTS = frozenset({"http", "https", "xh", "xhs", "httpie"})
_LOOPBACK = re.compile(
    r"(?:https?://)?(?:[^/@]*@)?(?:localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0"
    r"|[\w-]+\.localhost)(?::[\d￼]+)?(?:[/?#]|$)|:\d+(?:/|$)",
    re.IGNORECASE,
)
_METADATA = re.compile(
    r"(?:https?://)?(?:169\.254\.|metadata\.google|100\.100\.100\.200|\[?fd00:ec2|\[?fe80:)", re.IGNORECASE
)
_DESTROYING_URL = re.compile(
    r"[/_?=&-](?:delete|destroy|drop|purge|shutdown|terminate|remove|wipe|flush|reset|prune|kill)\w*", re.IGNORECASE
)
_CURL_BODIES = (
    "-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "-F", "--form",
    "--form-string", "--json",
)  # fmt: skip
_CURL_HEADERS = ("-H", "--header", "--proxy-header", "-A", "--user-agent", "-e", "--referer")
_CURL_PROXIES = ("-x", "--proxy", "--preproxy", "--socks5", "--socks5-hostname", "--socks4", "--socks4a")
_SENT_FILE = re.compile(r"[^@:=]*@")
_ENGINE = re.compile(r"docker|containerd|podman")
_HTTPIE_VALUES = (
    "--auth", "--auth-type", "--output", "--timeout", "--session", "--session-read-only", "--raw", "--print",
    "--style", "--pretty", "--proxy", "--verify", "--cert", "--cert-key", "--ssl", "--ciphers",
    "--max-redirects", "--max-headers", "--history-print", "--response-charset", "--response-mime",
    "--format-options", "--boundary", "--default-scheme",
)  # fmt: skip
_METHOD = re.compile(r"[A-Za-z]{3,7}")
_ITEM = re.compile(r"[\w\]]:?=(?!=)|@")
_STREAMED = re.compile(r"(?:^|=|\]|dst=)(?:tcp|udp|rtmps?|rtp|srt|rtsps?|https?|s?ftp|icecast|tls|zmq)://")
_STREAMED_HERE = re.compile(r"://(?:[^/@]*@)?(?:localhost|127\.|\[::1\])")
_STREAMERS = frozenset({"ffmpeg", "avconv", "gst-launch-1.0", "cvlc", "vlc"})
_PART_OF_A_NAME = re.compile(rf"{UNKNOWN}[^\s]*\.|\.[^\s]*{UNKNOWN}")
_REMOTE = re.compile(r"(?!-)(?:[\w.-]+@)?[\w.-]+::?(?!$)|rsync://|[\w.@-]+:$")
_DESTROYING = frozenset({"DELETE", "PURGE", "UNLINK", "BAN"})
_FORGE_VALUES = (
    "--method", "--field", "--raw-field", "--input", "--header", "--repo", "--jq", "--hostname", "--title",
    "--body", "--cache", "--template", "--preview",
)  # fmt: skip
_FORGE_CHANGES = frozenset({
    "create", "delete", "merge", "close", "edit", "comment", "review", "upload", "transfer", "archive",
    "rename", "set", "run", "cancel", "rerun", "reopen", "ready", "lock", "remove", "disable", "enable",
    "add", "sync", "fork", "logout", "login", "refresh", "import", "approve", "revoke", "publish", "stop",
    "rebuild", "unarchive", "pin", "unpin", "develop",
})  # fmt: skip
_DELETION = re.compile(r"delete|remove", re.IGNORECASE)
_MUTATION = re.compile(rf"mutation|=@|^(?:query=)?{UNKNOWN}")
_SENDING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"})
_REACHES = frozenset({
    "ssh", "scp", "sftp", "nc", "ncat", "netcat", "telnet", "ftp", "lftp", "tftp", "socat", "ssh-copy-id",
    "mosh", "rlogin", "rsh", "rcp", "sendmail", "mail", "mailx", "mutt", "swaks", "msmtp", "croc", "wormhole",
    "magic-wormhole", "ngrok", "cloudflared", "bore", "localtunnel", "lt", "chisel", "frpc", "tailscale",
    "sshuttle", "autossh", "smbclient", "curlftpfs", "sshfs", "davfs2", "ffsend", "transfer", "gist",
    "pastebinit", "termbin", "ix", "0x0", "s4cmd", "rclone", "gofile", "onionshare", "proxychains",
    "proxychains4", "cryptcat", "pwncat", "udp-sender", "aircrack-ng", "nmap", "masscan", "sqlmap", "hydra",
    "msfconsole", "msfvenom", "responder", "bettercap", "mysqldump-secure", "iodine", "dnscat", "dnscat2",
    "hping3", "nping", "serveo", "pagekite", "expose", "zrok", "syncthing", "rsyncd", "nsupdate",
})  # fmt: skip
_NAME_SERVICES = frozenset({
    "dig", "drill", "delv", "host", "nslookup", "ping", "ping6", "whois", "traceroute", "traceroute6",
    "tracepath", "mtr", "fping", "getent", "resolvectl", "kdig", "doggo", "dog", "arping",
})  # fmt: skip
_SHOWN_ONLY = frozenset({"--version", "-V", "--help", "-h", "-G", "-Q"})


def judge_requests(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` sends out, and what it has a server do."""
    program = call.program.casefold()
    judge = _JUDGES.get(program)
    if judge is not None:
        yield from judge(call)
    elif _is_to_others(program, call):
        yield _reaches()


def _is_to_others(program: str, call: Invocation) -> bool:
    """Whether another machine is reached, in whatever way."""
    given = texts(call.arguments)
    match program:
        case "rsync":
            return any(_REMOTE.match(text) or text.startswith(("-e", "--rsh")) for text in given)
        case "openssl":
            return given[:1] in (("s_client",), ("s_server",)) and not _is_local(call)
        case _ if program in _NETCATS and _only_knocks(call):
            return False
        case _:
            return program in _REACHES and bool(given) and given[0] not in _SHOWN_ONLY


def _look_up(call: Invocation) -> Iterator[Finding]:
    if any(map(_PART_OF_A_NAME.search, texts(call.arguments))):
        yield _sends()


def _stream(call: Invocation) -> Iterator[Finding]:
    if _streams(call):
        yield _sends()


def _only_knocks(call: Invocation) -> bool:
    """Whether a netcat only looks whether a port of this machine is open."""
    words = sort_words(call.arguments, "wipsX")
    return words.has("-z") and bool(words.plain) and _LOOPBACK.match(words.plain[0]) is not None


def _streams(call: Invocation) -> bool:
    """Whether what is made goes to another machine: an address that is not behind `-i`."""
    given = texts(call.arguments)
    return any(
        _STREAMED.search(text)
        and given[place - 1] != "-i"
        and not _STREAMED_HERE.search(text)
        and (place == len(given) - 1 or "=" in text)
        for place, text in enumerate(given)
    )


def _is_local(call: Invocation) -> bool:
    """Whether the host of `-connect` is this machine."""
    hosts = sort_words(call.arguments, "", ("-connect", "-host", "-proxy")).values("-connect", "-host", "-proxy")
    return bool(hosts) and all(_LOOPBACK.match(host.text) for host in hosts)


def _reaches() -> Finding:
    return Finding("dangerous", "exfiltration", "reaches another machine", outside=True)


def _sends() -> Finding:
    return Finding("dangerous", "exfiltration", "sends data out", outside=True)


def _destroys() -> Finding:
    return Finding("dangerous", "infrastructure", "deletes something through a request", outside=True)


def _curl(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, _CURL_LETTERS, _CURL_VALUES)
    urls = (*words.operands, *words.values("--url"))
    if words.values("-K", "--config"):
        yield _sends()
        return
    if any(_ENGINE.search(one.text) for one in words.values("--unix-socket", "--abstract-unix-socket")):
        yield Finding("dangerous", "containers", "talks to the engine that runs all containers", outside=True)
        return
    methods = [value.text.upper() for value in words.values("-X", "--request")]
    bodies = words.values(*_CURL_BODIES)
    if words.has("-G", "--get") and not any("@" in value.text or UNKNOWN in value.text for value in bodies):
        bodies = ()
    sends = bool(bodies or words.values("-T", "--upload-file"))
    yield from _judged(urls, methods, sends=sends, carries=_curl_carries(words))


def _curl_carries(words: Words) -> bool:
    """Whether something goes out beside a body: in a header, a cookie, the query, a mail, or through a proxy."""
    return (
        any(map(_carries, words.values(*_CURL_HEADERS)))
        or any(map(_carries_cookie, words.values("-b", "--cookie")))
        or any(_SENT_FILE.match(value.text) for value in words.values("--url-query", "--variable"))
        or bool(words.values("-Q", "--quote", "--mail-from", "--mail-rcpt"))
        or not all(_LOOPBACK.match(re.sub(r"^socks\w*://", "", one.text)) for one in words.values(*_CURL_PROXIES))
    )


def _wget(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "OoaPUtTiQewlBDRAIX", _WGET_VALUES)
    methods = [value.text.upper() for value in words.values("--method")]
    sends = bool(words.values("--post-file", "--body-file", "--post-data", "--body-data"))
    if words.values("-e", "--execute", "--use-askpass"):
        yield Finding("dangerous", "hidden", "makes wget run other settings")
    carries = any(_carries(value) for value in words.values("--header", "-U", "--user-agent", "--referer"))
    yield from _judged(words.operands, methods, sends=sends, carries=carries)


def _httpie(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "apoAsP", _HTTPIE_VALUES)
    plain = words.plain
    has_method = len(plain) > 1 and _METHOD.fullmatch(plain[0]) is not None
    url, items = (words.operands[1:2], plain[2:]) if has_method else (words.operands[:1], plain[1:])
    sends = words.has("--raw") or call.input.kind != "inherited"
    sends = sends or any(_ITEM.search(item) and "==" not in item for item in items)
    methods = [plain[0].upper()] if has_method else []
    carries = bool(words.values("--proxy")) or any(UNKNOWN in item for item in items)
    yield from _judged(url, methods, sends=sends, carries=carries)


def _judged(urls: tuple[Argument, ...], methods: list[str], *, sends: bool, carries: bool) -> Iterator[Finding]:
    is_local = bool(urls) and all(_LOOPBACK.match(url.text) for url in urls)
    if not _DESTROYING.isdisjoint(methods):
        yield _destroys()
    elif any(_METADATA.match(url.text) for url in urls):
        yield Finding("dangerous", "credentials", "asks a metadata service for credentials", outside=True)
    elif any(UNKNOWN in method for method in methods):
        yield _sends()
    elif sends or any(method not in _SENDING for method in methods):
        if not is_local:
            yield _sends()
        elif any(_DESTROYING_URL.search(url.text) for url in urls):
            yield _destroys()
    elif not is_local and (carries or any(_tells(url.text) for url in urls)):
        yield _sends()


def _tells(url: str) -> bool:
    """Whether a name or a path that nobody knows goes out behind a host, or as a part of it: `…/?q=$(cat x)`."""
    rest = re.sub(r"^(?:https?|ftp|dict|gopher)://", "", url)
    return (
        UNKNOWN in rest
        and not rest.startswith(UNKNOWN + "/")
        and rest != UNKNOWN
        and not re.fullmatch(rf"[^/{UNKNOWN}]+:{UNKNOWN}(?:/[^{UNKNOWN}]*)?", rest)
    )


def _carries(header: Argument) -> bool:
    return header.text.startswith("@") or UNKNOWN in header.text


def _carries_cookie(value: Argument) -> bool:
    return value.text.startswith("@") or "=" not in value.text or UNKNOWN in value.text


def _forge(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "XfFHRq", _FORGE_VALUES)
    plain = words.plain
    if plain[:1] == ("api",):
        methods = [value.text.upper() for value in words.values("-X", "--method")]
        is_graphql = plain[1:] == ("graphql",)
        if "DELETE" in methods or (is_graphql and any(map(_DELETION.search, texts(call.arguments)))):
            yield _destroys()
        elif _changes_by_api(words, methods) and not (is_graphql and _only_queries(words)):
            yield Finding("dangerous", "infrastructure", "changes things on GitHub", outside=True)
        return
    match plain:
        case ("auth", "token", *_):
            yield Finding("dangerous", "credentials", "shows a token", outside=True)
        case ("auth", "status", *_) if words.has("-t", "--show-token"):
            yield Finding("dangerous", "credentials", "shows a token", outside=True)
    if not _FORGE_CHANGES.isdisjoint(plain[1:2]):
        yield Finding("dangerous", "infrastructure", "changes things on GitHub", outside=True)
    if plain[:2] in (("extension", "install"), ("alias", "set")):
        yield Finding("dangerous", "remote code", "installs an extension that runs code")


def _only_queries(words: Words) -> bool:
    """Whether what GraphQL is asked is all there, and changes nothing."""
    fields = words.values("-f", "-F", "--field", "--raw-field")
    return not words.has("--input") and not any(_MUTATION.search(field.text) for field in fields)


def _changes_by_api(words: Words, methods: list[str]) -> bool:
    if methods:
        return any(method != "GET" for method in methods)
    return bool(words.values("-f", "-F", "--field", "--raw-field", "--input"))


_JUDGES: Mapping[str, Callable[[Invocation], Iterator[Finding]]] = {
    **dict.fromkeys(_CURLS, _curl),
    **dict.fromkeys(_WGETS, _wget),
    **dict.fromkeys(_CLIENTS, _httpie),
    **dict.fromkeys(_FORGES, _forge),
    **dict.fromkeys(_NAME_SERVICES, _look_up),
    **dict.fromkeys(_STREAMERS, _stream),
}  # fmt: skip
