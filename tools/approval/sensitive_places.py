"""Which places hold secrets: the lists behind `sensitive`. All in lower case.

A path in a list counts wherever it is: in the person's home, in another's, in a copy of one. On macOS and Windows the
same programs keep their things elsewhere; those places are listed everywhere, as homes are mounted and copied.
"""

from __future__ import annotations

_CHROMIUMS = (
    "google-chrome",
    "google-chrome-beta",
    "chromium",
    "bravesoftware",
    "microsoft-edge",
    "vivaldi",
    "opera",
)
_ON_MACS = (
    "google/chrome", "chromium", "bravesoftware", "microsoft edge", "vivaldi", "com.operasoftware.opera", "firefox",
    "arc", "thunderbird", "1password", "bitwarden", "keepassxc", "signal", "slack", "discord", "com.apple.tcc",
    "gcloud", "doctl", "github-copilot",
)  # fmt: skip
_ON_WINDOWS = (
    "local/google/chrome", "local/chromium", "local/bravesoftware", "local/microsoft/edge", "local/vivaldi",
    "roaming/opera software", "roaming/mozilla", "roaming/thunderbird", "local/microsoft/credentials",
    "local/microsoft/vault", "roaming/microsoft/credentials", "roaming/microsoft/protect", "roaming/microsoft/crypto",
    "roaming/microsoft/vault", "roaming/bitwarden", "local/1password", "roaming/keepassxc", "roaming/gcloud",
    "roaming/gnupg", "roaming/github cli", "roaming/doctl", "roaming/composer/auth.json",
    "roaming/nuget/nuget.config", "roaming/postgresql/pgpass.conf",
)  # fmt: skip
_IN_CONFIG = (
    *_CHROMIUMS,
    # Sign-ins of tools, by themselves or with their settings.
    "gh", "glab-cli", "hub", "gcloud", "doctl", "heroku", "fly", "netlify", "vercel", ".wrangler", "hcloud", "scw",
    "linode-cli", "op", "sops", "age", "rclone", "stripe", "openai", "github-copilot", "configstore", "helm/registry",
    "composer/auth.json", "containers/auth.json", "pypoetry/auth.toml", "pip/pip.conf", "git/credentials",
    "1password", "bitwarden", "keepassxc", "filezilla", "signal", "slack", "discord", "wireguard",
)  # fmt: skip

GUARDED_PLACES = (
    ".ssh", ".gnupg", ".pki", ".aws", ".azure", ".kube", ".docker", ".git", ".hermes", ".password-store", ".oci",
    ".bluemix", ".fly", ".terraform.d", ".kaggle", ".snowsql", ".snowflake", ".huggingface", ".mozilla",
    ".thunderbird", ".electrum", ".bitcoin", ".ethereum", ".wrangler/config", ".dbt/profiles.yml",
    ".cache/huggingface/token", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
    ".nuget/nuget/nuget.config", ".composer/auth.json", ".bundle/config", ".pip/pip.conf", ".streamlit/secrets.toml",
    ".local/share/keyrings", ".local/share/kwalletd", ".local/share/com.vercel.cli", ".local/share/telegramdesktop",
    ".local/share/heroku", "snap/firefox", "snap/chromium", "snap/brave",
    ".var/app/org.mozilla.firefox", ".var/app/org.chromium.chromium", ".var/app/com.google.chrome",
    ".var/app/com.brave.browser", ".var/app/com.microsoft.edge", ".var/app/org.keepassxc.keepassxc",
    "library/keychains", "library/cookies", "library/safari", "library/messages", "library/mail",
    *(f".config/{name}" for name in _IN_CONFIG),
    *(f"library/application support/{name}" for name in _ON_MACS),
    *(f"appdata/{name}" for name in _ON_WINDOWS),
)  # fmt: skip
"""Directories that are secret as a whole, and files that are so at that place."""

GUARDED_NAMES = frozenset(
    {
        ".env", ".env~", ".envrc", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", "pgpass.conf",
        ".my.cnf", ".mylogin.cnf", ".mongorc.js", ".mongoshrc.js", ".dbshell", ".htpasswd", ".vault-token",
        ".git-credentials", ".dockercfg", "kubeconfig", "credentials", ".boto", ".s3cfg", ".databrickscfg",
        ".terraformrc", "terraform.rc", "rclone.conf", ".credentials.json", "application_default_credentials.json",
        "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "secrets.env", "secrets.properties",
        "age.key", "age-key.txt", "ipsec.secrets", "wallet.dat", "key3.db", "key4.db", "logins.json",
        "cookies.sqlite", "login data", ".lesshst", ".viminfo", "fish_history", ".zhistory",
        "consolehost_history.txt", "ntuser.dat",
    }
)  # fmt: skip
GUARDED_SUFFIXES = frozenset(
    {
        ".env", ".pem", ".key", ".ppk", ".p8", ".p12", ".pfx", ".pkcs12", ".keystore", ".jks", ".bks", ".kdb",
        ".kdbx", ".psafe3", ".agilekeychain", ".opvault", ".1pux", ".keychain", ".keychain-db", ".ovpn", ".agekey",
        ".keytab", ".tfvars", ".tfstate", ".kubeconfig", ".mobileprovision",
    }
)  # fmt: skip
GUARDED_FORMS = (
    r"\.env[._].*|id_(?:rsa|ed25519|ecdsa|dsa)(?!\w*\.(?:py|js|ts|go|rs|c|h|md)$).*|credentials\..*"
    r"|terraform\.tfstate.*|wg\d+\.conf|\.\w+_history"
)
"""Names, as an expression for the whole of one."""
GUARDED_JSON = (
    r".*\.tfvars\.json|(?:.*[-_.])?service[-_]?account(?:[-_.].*)?\.json|.*firebase-adminsdk.*\.json"
    r"|client_secret.*\.json"
)
"""Names that end in `.json`, likewise."""
HARMLESS_FORMS = (
    # Templates, source code about credentials, and certificates that everybody may have.
    r".*[._-](?:example|sample|template|tmpl|dist|defaults|schema)(?:\.(?:json|ya?ml|toml|env))?|\.env\.d\.ts"
    r"|(?:example|sample|template)\.env"
    r"|credentials(?:[._-][\w-]+)*\.(?:pyi?|[cm]?[jt]sx?|go|rs|rb|erb|java|kts?|cs|c|cc|cpp|h|hpp|php|swift|scala|dart"
    r"|exs?|lua|vue|svelte|md|mdx|rst|html|css|feature|graphql|proto|sql|svg|png)"
    r"|cacert\.pem|ca[-_]?bundle\.pem|(?:.*[-_.])?pub(?:lic)?\.pem"
)
"""Names that one of the lists above has, and that are no secret all the same."""

GUARDED_AT_ROOT = (
    r"(?:/private)?/etc/(?:g?shadow|sudoers|master\.passwd|krb5\.keytab|security/opasswd|ssl/private|ssh/ssh_host_"
    r"|pki/tls/private|letsencrypt/(?:live|archive|accounts)|wireguard|openvpn|ipsec\.|swanctl|ppp/|kubernetes"
    r"|networkmanager/system-connections|wpa_supplicant|docker/key)"
    r"|/(?:var/)?run/(?:secrets|credentials|keys|agenix)(?:/|$)|/var/lib/(?:docker|kubelet|sss|bluetooth|iwd)(?:/|$)"
    r"|(?:/private)?/var/(?:db/(?:dslocal|sudo)|spool/cron|mail|backups)(?:/|$)|/library/keychains"
    r"|/proc/(?:[^/]+/(?:task/[^/]+/)?(?:environ|mem|maps|auxv|pagemap)$|kcore$)|/dev/(?:k?mem|port)$"
)
"""Paths of a system, as an expression for their beginning."""
