"""What secrets look like: the forms that services give their keys, so that one is known without its name."""

from __future__ import annotations

import re
from functools import cache

from tools.light_dataclass import dataclass

_START, _END = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"


@dataclass(frozen=True, slots=True)
class Shape:
    """One form.

    Attributes:
        what: whose secret it is, for the text that takes its place.
        probes: texts, one of which is in every such secret: nothing else is looked at where there is none.
        pattern: what is replaced: its group `secret`, or all of it where it has no such group.
    """

    what: str
    probes: tuple[str, ...]
    pattern: str

    def compiled(self) -> re.Pattern[str]:
        """The pattern; compiled at its first use, since most texts have none of these."""
        return _compiled(self.pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _key(what: str, prefix: str, rest: str, *probes: str) -> Shape:
    return Shape(what, probes or (prefix,), f"{_START}{prefix}{rest}{_END}")


_BEGIN_KEY = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_LINES = r"(?:\\[nr]|[A-Za-z0-9+/=\s:,.]|-(?!----)){16,}"

SHAPES: tuple[Shape, ...] = (
    Shape("private key", ("PRIVATE KEY",), rf"{_BEGIN_KEY}{_KEY_LINES}(?:-----END [A-Z0-9 ]{{1,40}}-----)?"),
    _key("anthropic key", "sk-ant-", r"[A-Za-z0-9_-]{16,}"),
    _key("api key", "sk-", r"(?!ant-)[A-Za-z0-9_-]{0,60}?[A-Za-z0-9]{16,}[A-Za-z0-9_-]{0,200}"),
    _key("stripe key", r"(?:sk|rk|pk)_(?:live|test|prod)_", "[A-Za-z0-9]{10,}", "_live_", "_test_", "_prod_"),
    _key("stripe webhook secret", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    _key("aws access key", "(?:AKIA|ASIA|ABIA|ACCA)", "[A-Z0-9]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _key("google api key", "AIza", "[A-Za-z0-9_-]{35}"),
    _key("google client secret", "GOCSPX-", "[A-Za-z0-9_-]{20,}"),
    _key("google token", r"ya29\.", "[A-Za-z0-9_-]{20,}", "ya29."),
    _key("github token", "gh[pousr]_", "[A-Za-z0-9]{36,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _key("github token", "github_pat_", "[A-Za-z0-9_]{22,255}"),
    _key(
        "gitlab token",
        "gl(?:pat|dt|rt|rtr|cbt|ptt|soat|ft|imt|agent|oas|ffct)-",
        "[A-Za-z0-9_.-]{19,}[A-Za-z0-9_-]",
        "gl",
    ),
    _key("slack token", "xox[abceoprs]-", "[A-Za-z0-9-]{10,}", "xox"),
    _key("slack token", "xapp-", r"\d-[A-Z0-9]{8,}-\d{8,}-[a-f0-9]{32,}"),
    Shape(
        "slack webhook", ("hooks.slack.com/",), r"(?<=hooks\.slack\.com/)[a-z]{4,12}/(?P<secret>[A-Za-z0-9/]{20,})"
    ),
    Shape("discord webhook", ("/api/webhooks/",), r"/api/webhooks/\d{10,25}/(?P<secret>[A-Za-z0-9_-]{40,})"),
    _key("telegram token", r"\d{8,10}:AA", "[A-Za-z0-9_-]{33}", ":AA"),
    _key("hugging face token", "hf_", "[A-Za-z0-9]{30,}"),
    _key("npm token", "npm_", "[A-Za-z0-9]{36}"),
    _key("pypi token", "pypi-", "[A-Za-z0-9_-]{40,}"),
    _key("docker token", "dckr_pat_", "[A-Za-z0-9_-]{20,}"),
    _key("sendgrid key", r"SG\.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", "SG."),
    _key("shopify token", "shp(?:at|ca|pa|ss)_", "[a-fA-F0-9]{32}", "shpat_", "shpca_", "shppa_", "shpss_"),
    _key("digitalocean token", "do[opr]_v1_", "[a-f0-9]{64}", "_v1_"),
    _key("databricks token", "dapi", "[a-f0-9]{32}(?:-[0-9])?"),
    _key("groq key", "gsk_", "[A-Za-z0-9]{40,}"),
    _key("xai key", "xai-", "[A-Za-z0-9]{40,}"),
    _key("perplexity key", "pplx-", "[A-Za-z0-9]{32,}"),
    _key("nvidia key", "nvapi-", "[A-Za-z0-9_-]{40,}"),
    _key("replicate token", "r8_", "[A-Za-z0-9]{30,}"),
    _key("search key", "tvly-", "[A-Za-z0-9_-]{20,}"),
    _key("firecrawl key", "fc-", "[a-f0-9]{32}"),
    _key("linear key", "lin_(?:api|oauth)_", "[A-Za-z0-9]{32,}", "lin_"),
    _key("notion token", "ntn_", "[A-Za-z0-9]{40,}"),
    _key("vault token", r"hv[sb]\.", "[A-Za-z0-9_-]{24,}", "hvs.", "hvb."),
    _key("atlassian token", "ATATT3", "[A-Za-z0-9_=-]{60,}"),
    _key("supabase token", "sbp_", "[a-f0-9]{40}"),
    _key("grafana token", "gl(?:sa|c)_", "[A-Za-z0-9_=+/]{32,}", "glsa_", "glc_"),
    _key("postman key", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}"),
    _key("age key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
    _key("new relic key", "NRAK-", "[A-Z0-9]{27}"),
    _key("doppler token", r"dp\.(?:pt|st|ct|sa)\.", "[A-Za-z0-9.]{40,}", "dp."),
    Shape("json web token", ("eyJ",), rf"{_START}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]{{10,}}"),
    Shape(
        "azure key", ("AccountKey=", "SharedAccessKey="), r"(?:Account|SharedAccess)Key=(?P<secret>[\w+/]{40,}={0,2})"
    ),
    Shape(
        "authorization header",
        ("uthorization", "UTHORIZATION"),
        r"(?i:authorization)[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?:[A-Za-z]{2,16} )?"
        r"(?P<secret>(?=[^\s\"'\\]{0,200}\d)[^\s\"'\\,;<>${}\[\]]{8,})",
    ),
    Shape("bearer token", ("earer ", "EARER "), r"(?i:\bbearer) (?P<secret>(?=[^\s]*\d)[\w.~+/-]{16,}={0,2})"),
    Shape(
        "basic credentials",
        ("asic ",),
        r"(?i:\bbasic) (?P<secret>(?=[a-z0-9+/]*[A-Z])[A-Za-z0-9+/]{16,}={0,2})(?![\w])",
    ),
    Shape(
        "cookie",
        ("ookie:", "OOKIE:", "ookie':", 'ookie":', 'ookie\\":'),
        r"(?i:cookie)[\"'\\]{0,3}: {0,3}[\"'\\]{0,3}(?P<secret>[\w.%!~*$-]{1,80}=[^\s\"'\\][^\r\n\"'\\]{5,4000})",
    ),
    Shape(
        "password in an address",
        ("://",),
        r"://[^\s:/?#@\"'<>\[]{0,256}:(?P<secret>(?![${<*])[^\s/@\"'<>\[\]]{1,256})@(?=[\w\[.-])",
    ),
    Shape(
        "value in an address",
        ("?", "&"),
        r"[?&](?i:api[_-]?key|apikey|key|token|(?:access|auth|id|refresh)_token|client_secret|secret|sig|signature"
        r"|password|passwd|pwd|x-amz-(?:signature|credential|security-token))="
        r"(?P<secret>(?=[A-Za-z._~%-]*\d)[\w.~%+/-]{8,}=?)",
    ),
)
"""In the order in which they are looked for: what is more exact comes first."""
