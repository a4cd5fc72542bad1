"""Secrets are taken out of text; what only looks like one stays."""

import json
import random
import string
import sys
import threading
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.each import each
from tools.redaction import Redactor, redact

LETTERS = string.ascii_letters + string.digits


def made(count, alphabet=LETTERS):
    """A value as services make them; always the same."""
    return "".join(random.Random(count).choices(alphabet, k=count - 1)) + "7"


HEX = "0123456789abcdef"
PEM = "-----BEGIN {0}PRIVATE KEY-----\n" + "\n".join(made(64) for _ in range(5)) + "\n-----END {0}PRIVATE KEY-----"
BY_SHAPE = {
    "openai": ("sk-" + made(48), "api key"),
    "openai project": ("sk-proj-" + made(40) + "-" + made(30) + "_" + made(20), "api key"),
    "openrouter": ("sk-or-v1-" + made(64, HEX), "api key"),
    "anthropic": ("sk-ant-api03-" + made(40) + "-" + made(40), "anthropic key"),
    "aws": ("AKIA" + made(16, string.ascii_uppercase + string.digits), "aws access key"),
    "google": ("AIza" + made(35), "google api key"),
    "google oauth": ("GOCSPX-" + made(28), "google client secret"),
    "github classic": ("ghp_" + made(36), "github token"),
    "github oauth": ("gho_" + made(36), "github token"),
    "github fine": ("github_pat_" + made(22) + "_" + made(59), "github token"),
    "gitlab": ("glpat-" + made(20), "gitlab token"),
    "slack bot": ("xoxb-123456789012-1234567890123-" + made(24), "slack token"),
    "slack user": ("xoxp-1234567890-" + made(30), "slack token"),
    "slack app": ("xapp-1-A0123456789-1234567890123-" + made(64, HEX), "slack token"),
    "stripe": ("sk_live_" + made(24), "stripe key"),
    "stripe test": ("rk_test_" + made(24), "stripe key"),
    "hugging face": ("hf_" + made(34), "hugging face token"),
    "npm": ("npm_" + made(36), "npm token"),
    "pypi": ("pypi-AgEIcHlwaS5vcmc" + made(120), "pypi token"),
    "sendgrid": (f"SG.{made(22)}.{made(43)}", "sendgrid key"),
    "groq": ("gsk_" + made(52), "groq key"),
    "telegram": ("1234567890:AA" + made(33), "telegram token"),
    "digitalocean": ("dop_v1_" + made(64, HEX), "digitalocean token"),
    "jwt": (f"eyJ{made(30)}.eyJ{made(60)}.{made(43)}", "json web token"),
    "vault": ("hvs." + made(28), "vault token"),
    "search": ("tvly-" + made(32), "search key"),
    "rsa": (PEM.format("RSA "), "private key"),
    "pkcs8": (PEM.format(""), "private key"),
    "openssh": (PEM.format("OPENSSH "), "private key"),
    "pem in json": (PEM.format("").replace("\n", "\\n"), "private key"),
}
AROUND = [
    "{}",
    "Incorrect API key provided: {}. You can find yours at https://example.com.",
    'the "{}" was refused',
    "x={}",
    "[{}]",
    "line one\n  {}\nline three",
    "https://api.example.com/v1?id={}&more=1",
    '{{"error": {{"message": "bad {}"}}}}',
]
BY_NAME = [
    ("OPENAI_API_KEY={}", made(40)),
    ('api_key = "{}"', made(32)),
    ("export AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzz789"),
    ('{{"client_secret": "{}"}}', made(40)),
    ("'auth_token': '{}'", made(32, HEX)),
    ('{{\\"password\\": \\"{}\\"}}', "Tr0ub4dor&3x"),
    ("DB_PASSWORD={}", "hunter2hunter"),
    ("password: {}", "correct7horse!battery"),
    ("secret_key => '{}'", made(50, HEX)),
    ("Authorization: Bearer {}", made(40)),
    ("authorization: token {}", made(40, HEX)),
    ('"Authorization": "Basic {}"', "dXNlcjpwYXNzd29yZDEyMw=="),
    ("curl -H 'Authorization: Bearer {}' https://x", made(20)),
    ("x-api-key: {}", made(24)),
    ("Cookie: session={}; theme=dark", made(30)),
    ("Set-Cookie: sid={}", made(30)),
    ("postgres://app:{}@db.example.com:5432/x", "s3cr3t!pw"),
    ("git clone https://oauth2:{}@git.example.com/a/b", made(20)),
    ("redis://:{}@cache:6379", "p4ssw0rdlong"),
    ("GET /v1/models?key={}", made(39)),
    ("https://s3.example.com/a?X-Amz-Signature={}", made(64, HEX)),
    ("https://hooks.slack.com/services/{}", "T00000000/B00000000/" + made(24)),
    ("DefaultEndpointsProtocol=https;AccountKey={}", made(86) + "=="),
    ("api-key: {}", "0b7e1f6c-2d0c-4b8e-9a57-1f2e3d4c5b6a"),
]
HARMLESS = [
    '"integrity": "sha512-' + made(86) + '=="',
    "sha256:" + made(64, HEX),
    "commit 9f2b1c4d5e6f708192a3b4c5d6e7f8091a2b3c4d",
    "id: 123e4567-e89b-12d3-a456-426614174000",
    "session_token_id = 123e4567-e89b-12d3-a456-426614174000",
    f"data:image/png;base64,{made(4000, LETTERS + '+/')}",
    'checksum = "' + made(64, HEX) + '"',
    "--hash=sha256:" + made(64, HEX),
    "cache_key: npm-linux-" + made(64, HEX),
    "max_tokens: 4096",
    "token_count = 12345678901234567",
    "tokenizer = AutoTokenizer.from_pretrained('gpt2-medium-2024')",
    "password = getpass.getpass('Password: ')",
    'api_key = os.environ["OPENAI_API_KEY_2024"]',
    "api_key: ${OPENAI_API_KEY_FOR_2024}",
    "secret: string;",
    "password: <your-password-123>",
    'api_key="your-api-key-1234567890abc"',
    "API_KEY=xxxxxxxxxxxxxxxx1234",
    'token_url: "https://auth.example.com/oauth2/v1/token"',
    "secrets: inherit",
    "key_env: OPENAI_API_KEY",
    "sk-learn is a library, and so is sk-image; task-management-of-2024-projects",
    'class="sk-estimator-doc-link sk-toggleable__label"',
    "AKIA is what they begin with",
    "The header is Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN_2024_LONG",
    "Bearer authentication is described in RFC6750",
    "https://example.com:8443/path@version",
    "git@github.com:owner/repository-2024.git",
    "see http://localhost:3000/?page=2&sort=created_at",
    "const privateKey = await loadPrivateKey(path)",
    "-----BEGIN CERTIFICATE-----\n" + made(64) + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + made(64) + "\n-----END PUBLIC KEY-----",
    "Set PASSWORD and SECRET in .env",
    "error: the token was rejected (status 401)",
    "secret = /run/secrets/database_password_2024",
    "credentials: same-origin",
    "if token == expected_token_2024_value:",
    "npm_config_registry=https://registry.npmjs.org/",
    "hf_hub_download(repo_id='x')",
    "The basic idea12345678901234567 of it",
    "password_hash_rounds: 12",
    "id_token_signing_alg_values_supported: [RS256]",
    "uses: actions/checkout@b4ffde65f46336ab88eb53be808477a3936bae11",
]


@each("around", AROUND)
@each("name", BY_SHAPE)
def test_a_key_is_known_by_its_shape_wherever_it_stands(name, around):
    secret, what = BY_SHAPE[name]

    told = redact(around.format(secret))

    assert secret not in told
    assert f"[redacted: {what}]" in told
    assert told.startswith(around.format("\0").partition("\0")[0])
    assert told.endswith(around.format("\0").partition("\0")[2])


@each(("around", "secret"), BY_NAME)
def test_a_value_is_known_by_the_name_before_it(around, secret):
    told = redact(around.format(secret))

    assert secret not in told
    assert "[redacted: " in told


@each("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text):
    assert redact(text) == text


def test_the_aws_secret_beside_its_id_goes_too_and_a_commit_id_stays():
    secret, commit = made(40, LETTERS + "+/"), made(40, HEX)

    told = redact(f"AKIA{made(16, string.ascii_uppercase)[:15]}7 {secret}\n{commit}")

    assert secret not in told
    assert commit in told


def test_a_private_key_without_its_end_goes_as_far_as_it_reaches():
    told = redact("before -----BEGIN PRIVATE KEY-----\n" + made(64) + "\n" + made(64))

    assert told == "before [redacted: private key]"


def test_a_service_account_stays_valid_json():
    account = {"type": "service_account", "private_key": PEM.format("") + "\n", "client_email": "a@b.example"}

    told = json.loads(redact(json.dumps(account)))

    assert told["client_email"] == "a@b.example"
    assert "BEGIN" not in told["private_key"]


def test_redacting_twice_changes_nothing_more():
    texts = [around.format(secret) for secret, _ in BY_SHAPE.values() for around in AROUND]
    texts += [around.format(secret) for around, secret in BY_NAME]

    assert [redact(redact(text)) for text in texts] == [redact(text) for text in texts]


class TestOurOwn:
    def test_a_key_that_has_no_shape_is_known_by_its_value(self):
        assert Redactor(["plain-old-words"])("say plain-old-words twice") == "say [redacted: our key] twice"

    def test_the_longer_of_two_that_begin_alike_goes_whole(self):
        assert Redactor(["abcdefgh", "abcdefgh-more"])("x abcdefgh-more y") == "x [redacted: our key] y"

    def test_what_is_too_short_to_be_a_secret_is_passed_over(self):
        assert Redactor(["none", ""])("there is none") == "there is none"

    def test_what_is_learnt_later_counts_from_then_on(self):
        redactor = Redactor()
        assert redactor("local-model-key") == "local-model-key"

        redactor.learn(["local-model-key"])

        assert redactor("local-model-key") == "[redacted: our key]"

    def test_what_another_thread_teaches_meanwhile_is_kept_as_well(self):
        redactor = Redactor()

        def slowly():
            yield "first-of-the-one"
            teacher = threading.Thread(target=redactor.learn, args=(["of-the-other"],))
            teacher.start()
            teacher.join()
            yield "second-of-the-one"

        redactor.learn(slowly())
        assert redactor("first-of-the-one of-the-other second-of-the-one") == " ".join(["[redacted: our key]"] * 3)

    def test_many_threads_that_teach_at_once_lose_no_secret(self):
        redactor, together = Redactor(), threading.Barrier(8)
        secrets = [[f"secret-{thread}-{number}-words" for number in range(12)] for thread in range(8)]

        def teach(mine):
            together.wait()
            for secret in mine:
                redactor.learn([secret])

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=teach, args=(mine,)) for mine in secrets]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        assert [secret for mine in secrets for secret in mine if secret in redactor(f"say {secret}")] == []


@given(st.text(max_size=400))
@settings(max_examples=80, deadline=None)
def test_any_text_is_taken_and_no_line_is_lost(text):
    assert redact(text).count("\n") == text.count("\n")


@each(
    "piece",
    [
        "a",
        "sk-",
        "sk-a",
        "eyJa.",
        "eyJaaaaaaaaa.eyJ",
        "://a:",
        "://",
        "token=",
        "password: a",
        "Authorization: ",
        "-----BEGIN PRIVATE KEY-----",
        "AKIA",
        "AKIAAAAAAAAAAAAAAAA7 ",
        "cookie: a=",
        "?key=",
        "Bearer a",
        " " * 3,
        "a/",
        "xoxb-",
        "gl",
        "secret_key_key_",
    ],
)
def test_the_time_grows_with_the_length_only(piece):
    small, large = ((piece * (length // len(piece) + 1))[:length] for length in (10_000, 80_000))
    limit = min(_seconds(small) for _ in range(5)) * 8 * 5 + 0.05

    # Whoever else uses the machine may make one try slow, not five.
    assert any(_seconds(large) < limit for _ in range(5))


def _seconds(text):
    begun = time.thread_time()
    redact(text)
    return time.thread_time() - begun
