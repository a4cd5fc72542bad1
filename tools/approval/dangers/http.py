"""Requests: what they change elsewhere, what they carry out, and other connections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene
from tools.approval.dangers.words import Words, sort_words, texts
from tools.bash.reading import UNKNOWN, Argument, Invocation

_CURL_VALUES = (
    "--request", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "--form",
    "--form-string", "--json",
    "--upload-file", "--header", "--cookie", "--output", "--user", "--config", "--url", "--url-query",
    "--user-agent", "--referer",
    "--max-time", "--connect-timeout", "--retry", "--write-out", "--proxy", "--cacert", "--cert", "--key",
    "--dump-header",
    "--cookie-jar", "--stderr", "--trace", "--trace-ascii", "--libcurl", "--output-dir", "--resolve", "--variable",
    "--proxy-header",
    "--unix-socket", "--abstract-unix-socket", "--etag-save", "--hsts", "--alt-svc", "--mail-from", "--mail-rcpt",
    "--quote", "--range", "--preproxy", "--socks5", "--socks5-hostname", "--socks4", "--socks4a", "--proxy-user",
)  # fmt: skip
_CURL_LETTERS = "ADEFHKPQTUXYbcdeHmortuwxyzCh"
_WGET_VALUES = (
    "--post-file", "--post-data", "--body-file", "--body-data", "--method", "--header", "--output-document", "--user",
    "--directory-prefix", "--password", "--execute", "--input-file", "--use-askpass", "--referer", "--user-agent",
)  # fmt: skip
_CLIENTS = frozenset({"http", "https", "xh", "xhs", "curlie", "httpie"})
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
_SENDING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"})
_REACHES = frozenset({
    "ssh", "scp", "sftp", "nc", "ncat", "netcat", "telnet", "ftp", "lftp", "tftp", "socat", "ssh-copy-id", "mosh",
    "rlogin", "rsh",
    "rcp", "sendmail", "mail", "mailx", "mutt", "swaks", "msmtp", "croc", "wormhole", "magic-wormhole", "ngrok",
    "cloudflared", "bore",
    "localtunnel", "lt", "chisel", "frpc", "tailscale", "sshuttle", "autossh", "smbclient", "curlftpfs", "sshfs",
    "davfs2", "ffsend",
    "transfer", "gist", "pastebinit", "termbin", "ix", "0x0", "s4cmd", "rclone", "gofile", "onionshare",
    "proxychains", "proxychains4",
    "cryptcat", "pwncat", "udp-sender", "aircrack-ng", "nmap", "masscan", "sqlmap", "hydra", "msfconsole",
    "msfvenom", "responder", "bettercap",
    "mysqldump-secure", "iodine", "dnscat", "dnscat2", "hping3", "nping", "serveo", "pagekite", "expose", "zrok",
    "syncthing", "rsyncd", "nsupdate",
})  # fmt: skip
_NAME_SERVICES = frozenset({"dig", "drill", "delv", "host", "nslookup", "ping", "ping6", "whois", "traceroute",
    "traceroute6", "tracepath",
                            "mtr", "fping", "getent", "resolvectl", "kdig", "doggo", "dog", "arping"})  # fmt: skip
_SHOWN_ONLY = frozenset({"--version", "-V", "--help", "-h", "-G", "-Q"})


def judge_requests(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` sends out, and what it has a server do."""
    program = call.program.casefold()
    if program in {"curl", "curlie", "curl.exe"}:
        yield from _curl(call)
    elif program in {"wget", "wget2", "aria2c"}:
        yield from _wget(call)
    elif program in _CLIENTS:
        yield from _httpie(call)
    elif program in {"gh", "glab"}:
        yield from _forge(call)
    elif program in _NAME_SERVICES and any(UNKNOWN in one.text and one.text != UNKNOWN for one in call.arguments):
        if any(re.search(rf"{UNKNOWN}[^\s]*\.|\.[^\s]*{UNKNOWN}", one.text) for one in call.arguments):
            yield _sends()
    elif program in {"nc", "ncat", "netcat"} and _only_knocks(call):
        return
    elif program == "rsync":
        if any(_is_remote(one.text) for one in call.arguments) or any(
            one.text.startswith(("-e", "--rsh")) for one in call.arguments
        ):
            yield _reaches()
    elif program in {"ffmpeg", "avconv", "gst-launch-1.0", "cvlc", "vlc"} and _streams(call):
        yield _sends()
    elif (program in _REACHES and call.arguments and not _SHOWN_ONLY.intersection(texts(call.arguments)[:1])) or (
        program == "openssl" and texts(call.arguments)[:1] in (("s_client",), ("s_server",)) and not _is_local(call)
    ):
        yield _reaches()


def _only_knocks(call: Invocation) -> bool:
    """Whether a netcat only looks whether a port of this machine is open."""
    words = sort_words(call.arguments, "wipsX")
    return words.has("-z") and bool(words.plain) and _LOOPBACK.match(words.plain[0]) is not None


def _streams(call: Invocation) -> bool:
    """Whether what is made goes to another machine: an address that is not behind `-i`."""
    given = texts(call.arguments)
    return any(
        re.search(r"(?:^|=|\]|dst=)(?:tcp|udp|rtmps?|rtp|srt|rtsps?|https?|s?ftp|icecast|tls|zmq)://", text)
        and (not place or given[place - 1] != "-i")
        and not re.search(r"://(?:[^/@]*@)?(?:localhost|127\.|\[::1\])", text)
        for place, text in enumerate(given)
        if given and (place == len(given) - 1 or "=" in text)
    )


def _is_local(call: Invocation) -> bool:
    """Whether the host of `-connect` is this machine."""
    hosts = sort_words(call.arguments, "", ("-connect", "-host", "-proxy")).values("-connect", "-host", "-proxy")
    return bool(hosts) and all(_LOOPBACK.match(host.text) for host in hosts)


def _is_remote(text: str) -> bool:
    return bool(re.match(r"(?!-)(?:[\w.-]+@)?[\w.-]+::?(?!$)|rsync://|[\w.@-]+:$", text)) and not text.startswith(
        ("./", "/")
    )


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
    if words.has("--unix-socket", "--abstract-unix-socket"):
        sockets = words.values("--unix-socket", "--abstract-unix-socket")
        if any("docker" in one.text or "containerd" in one.text or "podman" in one.text for one in sockets):
            yield Finding("dangerous", "containers", "talks to the engine that runs all containers", outside=True)
            return
    methods = [value.text.upper() for value in words.values("-X", "--request")]
    posts = words.values(
        "-d",
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--data-ascii",
        "-F",
        "--form",
        "--form-string",
        "--json",
    )
    uploads = words.values("-T", "--upload-file")
    carries = any(
        _carries(value)
        for value in words.values("-H", "--header", "--proxy-header", "-A", "--user-agent", "-e", "--referer")
    )
    carries = carries or any(_carries_cookie(value) for value in words.values("-b", "--cookie"))
    carries = carries or any(re.match(r"[^@:=]*@", value.text) for value in words.values("--url-query", "--variable"))
    if words.values("-Q", "--quote", "--mail-from", "--mail-rcpt"):
        carries = True
    proxies = words.values("-x", "--proxy", "--preproxy", "--socks5", "--socks5-hostname", "--socks4", "--socks4a")
    if not all(_LOOPBACK.match(re.sub(r"^socks\w*://", "", proxy.text)) for proxy in proxies):
        carries = True
    if words.has("-G", "--get") and not any("@" in value.text or UNKNOWN in value.text for value in posts):
        posts = ()
    yield from _judged(urls, methods, has_body=bool(posts), sends_files=bool(uploads), carries=carries)


def _wget(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "OoaPUtTiQewlBDRAIX", _WGET_VALUES)
    methods = [value.text.upper() for value in words.values("--method")]
    has_file = bool(words.values("--post-file", "--body-file"))
    has_body = bool(words.values("--post-data", "--body-data"))
    if words.values("-e", "--execute", "--use-askpass"):
        yield Finding("dangerous", "hidden", "makes wget run other settings")
    carries = any(_carries(value) for value in words.values("--header", "-U", "--user-agent", "--referer"))
    yield from _judged(words.operands, methods, has_body=has_body, sends_files=has_file, carries=carries)


def _httpie(call: Invocation) -> Iterator[Finding]:
    words = sort_words(call.arguments, "apotAvs", ("--auth", "--output", "--timeout", "--session", "--raw", "--body"))
    plain = words.plain
    method = plain[0].upper() if plain and re.fullmatch(r"[A-Za-z]{3,7}", plain[0]) and len(plain) > 1 else ""
    rest = words.operands[1:] if method else words.operands
    items = rest[1:]
    body = [one for one in items if re.search(r"[\w\]]:?=(?!=)|@", one.text) and "==" not in one.text]
    files = any(re.search(r"=?@", one.text) for one in body) or call.input.kind in {"file", "text", "command"}
    methods = [method] if method else []
    yield from _judged(rest[:1], methods, has_body=bool(body) or words.has("--raw"), sends_files=files, carries=False)


def _judged(
    urls: tuple[Argument, ...], methods: list[str], *, has_body: bool, sends_files: bool, carries: bool
) -> Iterator[Finding]:
    is_local = bool(urls) and all(_LOOPBACK.match(url.text) for url in urls)
    if any(method == "DELETE" or method in {"PURGE", "UNLINK", "BAN"} for method in methods):
        yield _destroys()
    elif any(_METADATA.match(url.text) for url in urls):
        yield Finding("dangerous", "credentials", "asks a metadata service for credentials", outside=True)
    elif any(UNKNOWN in method for method in methods):
        yield _sends()
    elif has_body or sends_files or any(method not in _SENDING for method in methods):
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
        and not re.fullmatch(rf"[^/]+:{UNKNOWN}(?:/.*)?", rest)
    )


def _carries(header: Argument) -> bool:
    return header.text.startswith("@") or UNKNOWN in header.text


def _carries_cookie(value: Argument) -> bool:
    return value.text.startswith("@") or "=" not in value.text or UNKNOWN in value.text


def _forge(call: Invocation) -> Iterator[Finding]:
    words = sort_words(
        call.arguments,
        "XfFHRq",
        (
            "--method",
            "--field",
            "--raw-field",
            "--input",
            "--header",
            "--repo",
            "--jq",
            "--hostname",
            "--title",
            "--body",
        ),
    )
    plain = words.plain
    if plain[:1] == ("api",):
        methods = [value.text.upper() for value in words.values("-X", "--method")]
        if "DELETE" in methods or (
            plain[1:2] == ("graphql",)
            and any(re.search(r"delete|remove", one.text, re.IGNORECASE) for one in call.arguments)
        ):
            yield _destroys()
        elif _changes_by_api(words, methods) and (
            plain[1:2] != ("graphql",) or any("mutation" in one.text for one in call.arguments)
        ):
            yield Finding("dangerous", "infrastructure", "changes things on GitHub", outside=True)
        return
    if plain[:2] in (("auth", "token"), ("auth", "status")) and (
        plain[1] == "token" or words.has("-t", "--show-token")
    ):
        yield Finding("dangerous", "credentials", "shows a token", outside=True)
    changing = {"create", "delete", "merge", "close", "edit", "comment", "review", "upload", "transfer", "archive",
        "rename", "set",
                "run", "cancel", "rerun", "reopen", "ready", "lock", "remove", "disable", "enable", "add", "sync",
                "fork", "logout", "login",
                "refresh", "import", "approve", "revoke", "publish", "stop", "rebuild", "unarchive", "pin",
                "unpin", "develop"}  # fmt: skip
    if len(plain) > 1 and plain[1] in changing and plain[0] not in {"browse", "status", "search"}:
        yield Finding("dangerous", "infrastructure", "changes things on GitHub", outside=True)
    if plain[:2] in (("extension", "install"), ("alias", "set")):
        yield Finding("dangerous", "remote code", "installs an extension that runs code")


def _changes_by_api(words: Words, methods: list[str]) -> bool:
    if any(method != "GET" for method in methods):
        return True
    return bool(words.values("-f", "-F", "--field", "--raw-field", "--input")) and "GET" not in methods
