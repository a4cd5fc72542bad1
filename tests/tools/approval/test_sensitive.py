"""Which paths ask for themselves."""

from pathlib import Path

from tests.support.each import each
from tools.approval.sensitive import why_sensitive, why_sensitive_to_write


@each(
    "path",
    [
        "/home/u/.ssh/id_ed25519",
        "/home/u/.ssh/config",
        "/w/.git/config",
        "/w/.git/hooks/pre-commit",
        "/w/.GIT/config",
        "/w/sub/.git",
        "/home/u/.aws/credentials",
        "/home/u/.kube/config",
        "/home/u/.docker/config.json",
        "/home/u/.gnupg/ring",
        "/home/u/.hermes/config.yaml",
        "/w/.env",
        "/w/.ENV",
        "/w/.env.local",
        "/w/.env.production",
        "/w/.envrc",
        "/home/u/.netrc",
        "/home/u/.npmrc",
        "/home/u/.pypirc",
        "/w/id_rsa",
        "/w/id_rsa.pub",
        "/w/server.pem",
        "/w/server.key",
        "/w/credentials.json",
        "/w/credentials.yml",
        "/w/production.env",
        "/w/.env~",
        "/w/.env_local",
        "/w/.ENV_LOCAL",
        "/home/u/.pgpass",
        "/w/.htpasswd",
        "/home/u/.vault-token",
        "/home/u/_netrc",
        "/w/id_dsa.old",
        "/w/a.p12",
        "/w/a.PFX",
        "/w/a.keystore",
        "/w/a.jks",
        "/w/a.kdbx",
        "/w/kubeconfig",
        "/home/u/.dockercfg",
        "/w/.yarnrc.yml",
        "/w/terraform.tfstate",
        "/w/terraform.tfstate.backup",
        "/w/prod.tfvars",
        "/home/u/.config/gh/hosts.yml",
        "/home/u/.config/gcloud/x.db",
        "/home/u/.cargo/credentials.toml",
    ],
)
def test_a_path_that_holds_keys_or_hooks_is_sensitive(path):
    assert why_sensitive(Path(path))


@each(
    "path",
    [
        "/w/src/app.py",
        "/w/.env.example",
        "/w/.env.sample",
        "/w/.env.template",
        "/w/.env.local.example",
        "/w/.env_example",
        "/w/example.env",
        "/w/.config/ghost/x",
        "/w/gh/hosts.yml",
        "/w/.github/workflows/ci.yml",
        "/w/.gitignore",
        "/w/.dockerignore",
        "/w/environment.py",
        "/w/credentials.py",
        "/w/keys.md",
        "/w/git/config",
        "/",
    ],
)
def test_an_ordinary_path_is_not(path):
    assert why_sensitive(Path(path)) == ""


def test_a_private_directory_is_sensitive_as_a_whole_and_its_neighbour_is_not():
    private = (Path("/home/u/agent"),)

    assert why_sensitive(Path("/home/u/agent"), private)
    assert why_sensitive(Path("/home/u/agent/a/b"), private)
    assert not why_sensitive(Path("/home/u/agents/a"), private)


@each(
    "path",
    [
        "/home/u/.bashrc",
        "/home/u/.bash_profile",
        "/home/u/.profile",
        "/home/u/.zshrc",
        "/home/u/.zprofile",
        "/home/u/.ZSHENV",
        "/home/u/.config/fish/config.fish",
        "/home/u/.gitconfig",
        "/w/.gitmodules",
        "/w/.gitattributes",
        "/w/.vscode/tasks.json",
        "/w/.idea/workspace.xml",
        "/w/.husky/pre-commit",
        "/w/.github/workflows/ci.yml",
        "/home/u/.config/autostart/a.desktop",
        "/home/u/.local/bin/tool",
        "/w/.pre-commit-config.yaml",
    ],
)
def test_what_runs_later_is_sensitive_to_write_and_not_to_read(path):
    assert why_sensitive(Path(path)) == ""
    assert why_sensitive_to_write(Path(path))


@each("path", ["/w/Makefile", "/w/.github/CODEOWNERS", "/w/bin/tool", "/w/.env.example", "/"])
def test_an_ordinary_path_is_not_sensitive_to_write(path):
    assert why_sensitive_to_write(Path(path)) == ""


def test_what_is_sensitive_to_read_is_sensitive_to_write():
    assert why_sensitive_to_write(Path("/w/.env")) == why_sensitive(Path("/w/.env"))
    assert why_sensitive_to_write(Path("/p/a"), (Path("/p"),)) == why_sensitive(Path("/p/a"), (Path("/p"),))


@each(
    "path",
    [
        # Browsers, on each system.
        "/home/u/.mozilla/firefox/a.default/logins.json",
        "/home/u/.config/google-chrome/Default/Cookies",
        "/home/u/.config/BraveSoftware/Brave-Browser/Default/Login Data",
        "/home/u/snap/firefox/common/x",
        "/home/u/.var/app/org.mozilla.firefox/x",
        "/Users/u/Library/Application Support/Google/Chrome/Default/Cookies",
        "/Users/u/Library/Application Support/Firefox/Profiles/a/key4.db",
        "/Users/u/Library/Safari/History.db",
        "/mnt/c/Users/u/AppData/Local/Microsoft/Edge/User Data/Default/Login Data",
        "/mnt/c/Users/u/AppData/Roaming/Mozilla/Firefox/Profiles/a/cookies.sqlite",
        # Password stores and keyrings.
        "/home/u/.password-store/mail.gpg",
        "/home/u/.local/share/keyrings/login.keyring",
        "/home/u/.config/Bitwarden/data.json",
        "/home/u/.config/1Password/x",
        "/Users/u/Library/Keychains/login.keychain-db",
        "/w/passwords.kdb",
        # Clouds, publishers, containers, hosts of code.
        "/home/u/.azure/x",
        "/home/u/.oci/config",
        "/home/u/.config/doctl/config.yaml",
        "/home/u/.config/netlify/config.json",
        "/home/u/.terraform.d/credentials.tfrc.json",
        "/home/u/.m2/settings.xml",
        "/home/u/.gem/credentials",
        "/home/u/.nuget/NuGet/NuGet.Config",
        "/home/u/.gradle/gradle.properties",
        "/home/u/.config/containers/auth.json",
        "/home/u/.config/glab-cli/config.yml",
        "/home/u/.config/hub",
        "/w/service-account.json",
        "/w/my-service_account-prod.json",
        "/w/config/secrets.yml",
        # Databases, histories, other keys.
        "/home/u/.my.cnf",
        "/home/u/.mongorc.js",
        "/home/u/.bash_history",
        "/home/u/.psql_history",
        "/home/u/.local/share/fish/fish_history",
        "/home/u/.config/sops/age/keys.txt",
        "/w/office.ovpn",
        "/w/wg0.conf",
        # The system's.
        "/etc/shadow",
        "/etc/shadow-",
        "/private/etc/sudoers.d/a",
        "/etc/wireguard/wg0.conf",
        "/etc/ssh/ssh_host_ed25519_key",
        "/run/secrets/db",
        "/proc/1/environ",
        "/proc/self/task/7/mem",
        # However it is written.
        "//etc/shadow",
        "/w/.env.",
        "/w/.ssh /config",
        "/w/.env::$DATA",
        "/w/GIT~1/config",
        "/w/.g\u200cit/config",
        "/w/.\u017f\u017fh/id",
        "/w/.AWS/Credentials",
        "/w/a\nb/.env",
        "/w/.env.local\n",
    ],
)
def test_secrets_of_many_programs_are_known_wherever_they_are(path):
    assert why_sensitive(Path(path))


@each(
    "path",
    [
        "/w/src/credentials.service.ts",
        "/w/src/aws_credentials.py",
        "/w/credentials.json.example",
        "/w/secrets.yml.sample",
        "/w/secrets.py",
        "/w/.secrets.baseline",
        "/w/.env.d.ts",
        "/w/prod.tfvars.example",
        "/w/certs/cacert.pem",
        "/w/keys/public.pem",
        "/w/settings.xml",
        "/w/gradle.properties",
        "/w/gradle/gradle.properties",
        "/w/nuget.config",
        "/w/.vercel/project.json",
        "/w/.bundle/gems/x",
        "/w/.config/jest.json",
        "/w/Library/Books/x",
        "/w/firefox/profile.py",
        "/w/history.md",
        "/w/browser_history.py",
        "/w/etc/openvpn.md",
        "/etc/hosts",
        "/etc/passwd",
        "/etc/os-release",
        "/proc/cpuinfo",
        "/w/key.py",
        "/w/id_rsa_test.go",
        "/w/known.keys",
    ],
)
def test_what_only_sounds_like_a_secret_is_none(path):
    assert why_sensitive(Path(path)) == ""


@each(
    "path",
    [
        "/home/u/.config/systemd/user/a.service",
        "/home/u/Library/LaunchAgents/a.plist",
        "/home/u/.xprofile",
        "/home/u/.vimrc",
        "/home/u/.config/nvim/init.lua",
        "/home/u/.cargo/bin/cargo",
        "/etc/cron.d/a",
        "/etc/profile.d/a.sh",
        "/w/.devcontainer/devcontainer.json",
        "/w/.zed/tasks.json",
        "/w/app.code-workspace",
        "/w/.exrc",
        "/w/.mcp.json",
        "/w/.cursor/mcp.json",
        "/w/.claude/settings.json",
        "/w/.githooks/pre-commit",
        "/w/lefthook.yml",
        "/w/.gitlab-ci.yml",
        "/w/.circleci/config.yml",
        "/w/Jenkinsfile",
        "/w/server.git/hooks/post-receive",
        "/w/.venv/lib/python3.11/site-packages/a.pth",
        "/w/sitecustomize.py",
        "/w/.vscode",
        "/w/.local/bin",
    ],
)
def test_what_the_editor_or_git_or_another_agent_runs_asks_before_it_is_changed(path):
    assert why_sensitive(Path(path)) == ""
    assert why_sensitive_to_write(Path(path))


@each(
    "path",
    [
        "/w/package.json",
        "/w/conftest.py",
        "/w/setup.py",
        "/w/Dockerfile",
        "/w/build.rs",
        "/w/Makefile",
        "/w/docs/agents.rst",
        "/w/src/head.py",
        "/w/.claude/worktrees/fix/src/app.py",
        "/w/.github/ISSUE_TEMPLATE/bug.md",
        "/w/model.pth",
        "/w/lib/hooks/useUser.ts",
        "/w/.config/jest.config.js",
        "/w/.local/share/x",
    ],
)
def test_what_the_sandbox_holds_when_it_runs_is_ordinary(path):
    assert why_sensitive_to_write(Path(path)) == ""


@each(
    ("path", "why"),
    [
        ("/home/u/.ssh/config", "is inside .ssh"),
        ("/home/u/.config/gh/hosts.yml", "is inside .config/gh"),
        ("/home/u/.m2/settings.xml", "may hold credentials"),
        ("/home/u/.bash_history", "may hold what was typed"),
        ("/etc/shadow", "holds secrets of the system"),
        (
            "/w/.vscode/tasks.json",
            "is run by VS Code and editors made of it when the directory is opened, or at a click",
        ),
        ("/w/.mcp.json", "is run by coding agents when one works in the directory"),
        ("/w/AGENTS.md", "is read by coding agents as what they are to do"),
    ],
)
def test_the_reason_says_what_it_is(path, why):
    assert why_sensitive_to_write(Path(path)) == why
