"""Requests: what they change elsewhere, what they carry out, and other connections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Finding
from tools.approval.commands.dangers.scene import Scene, Words, listed, sort_words, texts
from tools.approval.commands.dangers.table import options_with_values

# The options whose value may be the next argument.
_VALUES = options_with_values(r"""
    curl   ADEFHKPQTUXYbcdeHmortuwxyzCh --request --data --data-raw --data-binary --data-urlencode --data-ascii \
           --form --form-string --json --upload-file --header --cookie --output --user --config --url --url-query \
           --user-agent --referer --max-time --connect-timeout --retry --write-out --proxy --cacert --cert --key \
           --dump-header --cookie-jar --stderr --trace --trace-ascii --libcurl --output-dir --resolve --variable \
           --proxy-header \
           --unix-socket --abstract-unix-socket --etag-save --hsts --alt-svc --mail-from --mail-rcpt --quote --range \
           --preproxy --socks5 --socks5-hostname --socks4 --socks4a --proxy-user
    wget   OoaPUtTiQewlBDRAIX --post-file --post-data --body-file --body-data --method --header --output-document \
           --user --directory-prefix --password --execute --input-file --use-askpass --referer --user-agent
    http   apoAsP --auth --auth-type --output --timeout --session --session-read-only --raw --print --style --pretty \
           --proxy --verify --cert --cert-key --ssl --ciphers --max-redirects --max-headers --history-print \
           --response-charset --response-mime --format-options --boundary --default-scheme
    gh     XfFHRq --method --field --raw-field --input --header --repo --jq --hostname --title --body --cache \
           --template --preview
    nc     wipsX
""")  # fmt: skip
_LOOPBACK = re.compile(
    r"(?:https?://|socks\w*://)?(?:[^/@]*@)?(?:localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0"
    rf"|[\w-]+\.localhost)(?::[\d{UNKNOWN}]+)?(?:[/?#]|$)|:\d+(?:/|$)",
    re.IGNORECASE,
)
_METADATA = re.compile(
    r"(?:https?://)?(?:169\.254\.|metadata\.google|100\.100\.100\.200|\[?fd00:ec2|\[?fe80:)", re.IGNORECASE
)
_DESTROYING = frozenset({"DELETE", "PURGE", "UNLINK", "BAN"})
_DESTROYING_URL = re.compile(
    r"[/_?=&-](?:delete|destroy|drop|purge|shutdown|terminate|remove|wipe|flush|reset|prune|kill)\w*", re.IGNORECASE
)
_READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"})
_CURL_BODIES = listed("""
    -d --data --data-raw --data-binary --data-urlencode --data-ascii -F --form --form-string --json
""")
_CURL_HEADERS = listed("-H --header --proxy-header -A --user-agent -e --referer")
_CURL_PROXIES = listed("-x --proxy --preproxy --socks5 --socks5-hostname --socks4 --socks4a")
_CURL_SENDS = listed("-Q --quote --mail-from --mail-rcpt")
_SENT_FILE = re.compile(r"[^@:=]*@")
_ENGINE = re.compile(r"docker|containerd|podman")
_METHOD = re.compile(r"[A-Za-z]{3,7}")
_ITEM = re.compile(r"[\w\]]:?=(?!=)|@")
_STREAMED = re.compile(r"(?:^|=|\]|dst=)(?:tcp|udp|rtmps?|rtp|srt|rtsps?|https?|s?ftp|icecast|tls|zmq)://")
_STREAMED_HERE = re.compile(r"://(?:[^/@]*@)?(?:localhost|127\.|\[::1\])")
_OTHER_MACHINE = re.compile(r"(?!-)(?:[\w.-]+@)?[\w.-]+::?(?!$)|rsync://|[\w.@-]+:$|-e|--rsh")
_DELETION = re.compile(r"delete|remove", re.IGNORECASE)
_MUTATION = re.compile(rf"mutation|=@|^(?:query=)?{UNKNOWN}")
_API_FIELDS = ("-f", "-F", "--field", "--raw-field")

_REACHES = Finding("dangerous", "exfiltration", "reaches another machine", outside=True)
_SENDS = Finding("dangerous", "exfiltration", "sends data out", outside=True)
_DESTROYS = Finding("dangerous", "infrastructure", "deletes something through a request", outside=True)
_ON_A_FORGE = Finding("dangerous", "infrastructure", "changes things on GitHub", outside=True)


def judge_requests(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` sends out, and what it has a server do."""
    if (judge := _JUDGES.get(call.program.casefold())) is not None:
        yield from judge(call)


def _words(call: Invocation, client: str) -> Words:
    return sort_words(call.arguments, *_VALUES[client])


def _rsync(call: Invocation) -> Iterator[Finding]:
    if any(map(_OTHER_MACHINE.match, texts(call.arguments))):
        yield _REACHES


def _openssl(call: Invocation) -> Iterator[Finding]:
    hosts = sort_words(call.arguments, "", ("-connect", "-host", "-proxy")).values("-connect", "-host", "-proxy")
    is_local = bool(hosts) and all(_LOOPBACK.match(host.text) for host in hosts)
    if texts(call.arguments[:1]) in (("s_client",), ("s_server",)) and not is_local:
        yield _REACHES


def _netcat(call: Invocation) -> Iterator[Finding]:
    words = _words(call, "nc")
    # It may look whether a port of this machine is open.
    only_knocks = words.has("-z") and bool(words.plain) and _LOOPBACK.match(words.plain[0]) is not None
    given = texts(call.arguments[:1])
    if given and not only_knocks and given[0] not in {"--version", "-V", "--help", "-h"}:
        yield _REACHES


def _stream(call: Invocation) -> Iterator[Finding]:
    """Whether what is made goes to another machine: an address that is not behind `-i`."""
    given = texts(call.arguments)
    if any(
        _STREAMED.search(text)
        and given[place - 1] != "-i"
        and not _STREAMED_HERE.search(text)
        and (place == len(given) - 1 or "=" in text)
        for place, text in enumerate(given)
    ):
        yield _SENDS


def _curl(call: Invocation) -> Iterator[Finding]:
    words = _words(call, "curl")
    if words.values("-K", "--config"):
        yield _SENDS
        return
    if any(_ENGINE.search(one.text) for one in words.values("--unix-socket", "--abstract-unix-socket")):
        yield Finding("dangerous", "containers", "talks to the engine that runs all containers", outside=True)
        return
    methods = [value.text.upper() for value in words.values("-X", "--request")]
    bodies = words.values(*_CURL_BODIES)
    if words.has("-G", "--get") and not any("@" in value.text or UNKNOWN in value.text for value in bodies):
        bodies = ()
    sends = bool(bodies or words.values("-T", "--upload-file"))
    urls = (*words.operands, *words.values("--url"))
    yield from _judged(urls, methods, sends=sends, carries=_curl_carries(words))


def _curl_carries(words: Words) -> bool:
    """Whether something goes out beside a body: in a header, a cookie, the query, a mail, or through a proxy."""
    cookies = words.values("-b", "--cookie")
    return (
        any(map(_carries, (*words.values(*_CURL_HEADERS), *cookies)))
        or any("=" not in value.text for value in cookies)
        or any(_SENT_FILE.match(value.text) for value in words.values("--url-query", "--variable"))
        or bool(words.values(*_CURL_SENDS))
        or not all(_LOOPBACK.match(one.text) for one in words.values(*_CURL_PROXIES))
    )


def _wget(call: Invocation) -> Iterator[Finding]:
    words = _words(call, "wget")
    methods = [value.text.upper() for value in words.values("--method")]
    sends = bool(words.values("--post-file", "--body-file", "--post-data", "--body-data"))
    carries = any(_carries(value) for value in words.values("--header", "-U", "--user-agent", "--referer"))
    yield from _judged(words.operands, methods, sends=sends, carries=carries)


def _httpie(call: Invocation) -> Iterator[Finding]:
    words = _words(call, "http")
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
        yield _DESTROYS
    elif any(_METADATA.match(url.text) for url in urls):
        yield Finding("dangerous", "credentials", "asks a metadata service for credentials", outside=True)
    elif any(UNKNOWN in method for method in methods):
        yield _SENDS
    elif sends or any(method not in _READING for method in methods):
        if not is_local:
            yield _SENDS
        elif any(_DESTROYING_URL.search(url.text) for url in urls):
            yield _DESTROYS
    elif not is_local and (carries or any(_tells(url.text) for url in urls)):
        yield _SENDS


def _tells(url: str) -> bool:
    """Whether a name or a path that nobody knows goes out behind a host, or as a part of it: `…/?q=$(cat x)`."""
    rest = re.sub(r"^(?:https?|ftp|dict|gopher)://", "", url)
    is_host = rest == UNKNOWN or rest.startswith(f"{UNKNOWN}/")
    is_port = re.fullmatch(rf"[^/{UNKNOWN}]+:{UNKNOWN}(?:/[^{UNKNOWN}]*)?", rest) is not None
    return UNKNOWN in rest and not is_host and not is_port


def _carries(header: Argument) -> bool:
    return header.text.startswith("@") or UNKNOWN in header.text


def _forge_api(call: Invocation) -> Iterator[Finding]:
    words = _words(call, "gh")
    if words.plain[:1] != ("api",):
        return
    methods = [value.text.upper() for value in words.values("-X", "--method")]
    fields = words.values(*_API_FIELDS)
    is_graphql = words.plain[1:] == ("graphql",)
    only_queries = is_graphql and not words.has("--input") and not any(_MUTATION.search(one.text) for one in fields)
    sends = any(method != "GET" for method in methods) if methods else bool(fields or words.values("--input"))
    if "DELETE" in methods or (is_graphql and any(map(_DELETION.search, texts(call.arguments)))):
        yield _DESTROYS
    elif sends and not only_queries:
        yield _ON_A_FORGE


_JUDGES: Mapping[str, Callable[[Invocation], Iterator[Finding]]] = {
    **dict.fromkeys(("curl", "curlie", "curl.exe"), _curl),
    **dict.fromkeys(("wget", "wget2", "aria2c"), _wget),
    **dict.fromkeys(("http", "https", "xh", "xhs", "httpie"), _httpie),
    **dict.fromkeys(("gh", "glab"), _forge_api),
    **dict.fromkeys(("ffmpeg", "avconv", "gst-launch-1.0", "cvlc", "vlc"), _stream),
    **dict.fromkeys(("nc", "ncat", "netcat"), _netcat),
    "rsync": _rsync,
    "openssl": _openssl,
}  # fmt: skip
