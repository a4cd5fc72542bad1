"""What is done to services: by the verb that a program is told, and by requests."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping

from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation
from tools.approval.commands.classes import Finding
from tools.approval.commands.dangers.scene import Scene, Words, listed, shown, sort_words, texts
from tools.approval.commands.dangers.table import options_with_values

# The verbs.

DESTRUCTIVE = frozenset(
    listed("""
    delete del destroy purge terminate unregister deregister prune remove rm rmi rb wipe drop deprovision teardown
    nuke erase flushall flushdb truncate revoke drain evict kill undeploy decommission obliterate uninstall expunge
    unpublish undefine zap dropdb mdelete trash shred removeall deleteall dropall unprovision rmr deletetopic rmdir
    removebucket dereg delall
""")
)
"""They take away, whoever says them."""
NOUNS = frozenset(listed("deletion removal termination destruction deregistration"))
ENDING = frozenset(
    listed("""
    stop restart reset flush cancel disable down shutdown poweroff reboot detach empty clear suspend rollback
    failover expire unset forget leave retire deactivate abort dispose vacate unlink downgrade pause hibernate halt
    quarantine sunset hard-reset power-off deallocate seal gc rekey deny cleanup
""")
)
"""They end or take away, where a client of infrastructure says them."""
REVERTING = frozenset(
    listed("""
    reset revert undo gc cancel disable shutdown poweroff rollback deactivate cleanup leave retire failover seal
    deny
""")
)
"""They end or take back, where a program says them that nobody here knows."""
READING = frozenset(
    listed("""
    get list ls describe show view status logs log inspect search help plan diff find read export history version
    info cat head explain top check validate lint test query lookup print dump whoami preview wait scan count stat
    stats select who tail monitor doctor fmt template outdated audit why completion docs size ping health estimate
    watch verify access reveal decrypt fetch open browse graph tree batch-get simulate compare serve dev build grep
    filter blame download pull
""")
)
CHANGING = frozenset(
    listed("""
    create change maintenance apply update put modify run start set patch edit replace scale execute deploy upgrade
    install add attach enable import taint untaint annotate label rollout expose cordon uncordon exec cp sync mv
    move rename copy up refresh promote register associate disassociate tag untag invoke publish send upload write
    grant bind unbind configure autoscale debug resize transfer merge close comment review archive invite rotate
    share apply-rules push submit trigger dispatch unlock force-unlock authorize approve secret ssh seek certificate
    reopen ready rerun fork sign lock pin unpin proxy port-forward
""")
)
SECRETIVE = frozenset(
    listed("""
    secret secrets password passwords credential credentials token tokens keychain vault kv passphrase apikey keys
    secretsmanager pass secretmanager
""")
)

# The programs.

_CLIENTS = (
    ("""
        aws gcloud az gsutil bq doctl linode-cli hcloud oci ibmcloud aliyun scw exo openstack vultr-cli civo
        flyctl fly heroku vercel netlify wrangler firebase supabase railway render s3cmd mc rclone azcopy eksctl
        kops rosa glab confluent stripe twilio pscale neonctl turso atlas mongocli tkn argo argocd flux linkerd
        vault consul boundary etcdctl istioctl velero serverless sls sam cdk amplify eb ecs-cli chalice zappa up
        cf gh
    """, """
        login auth configure init synth bootstrap-check local pr local-dev emulators:start
    """),
    ("""
        terraform tofu terragrunt terraform-docs packer pulumi cdktf
    """, """
        init providers output console format stack metadata login
    """),
    ("""
        kubectl oc helm k3s microk8s kustomize helmfile minikube kind k3d nomad kubeadm k9s
    """, """
        config cluster-info api-resources api-versions auth can-i kustomize repo dependency use-context env
        port-forward package status profile completion
    """),
    ("""
        ansible-playbook ansible chef-client puppet salt knife cap fab kamal nixops
    """, ""),
)  # fmt: skip
CLOUD: Mapping[str, frozenset[str]] = {
    program: frozenset(looks.split()) for programs, looks in _CLIENTS for program in programs.split()
}
"""Clients of infrastructure, each with the words that only look beyond those of `READING`."""
OWN_JUDGES = frozenset(
    listed("""
    git rsync docker podman nerdctl docker-compose podman-compose systemctl service launchctl supervisorctl apt
    apt-get aptitude dnf yum zypper pacman brew apk dpkg rpm snap flatpak hg svn jj crontab tmux screen rc-service
    rc-update loginctl nmcli ip iptables ufw find mount umount psql mysql mariadb sqlite3 sqlite redis-cli mongosh
    mongo curl wget http https xh journalctl kill pkill killall shutdown reboot hermes hermes-acp gio trash useradd
    passwd port nix-env
""")
)
"""Programs that another family knows by themselves."""
LOCAL = frozenset(
    listed("""
    echo printf grep egrep fgrep rg ag ack sed awk gawk mawk jq yq cat head tail less more ls cd pwd mkdir touch cp
    mv rm rmdir ln chmod chown test [ [[ sort uniq wc cut tr diff cmp comm tee xargs fd fdfind tree stat file du df
    which type whereis man info export set unset read local declare readonly return exit true false : source . eval
    exec trap wait sleep seq date env printenv expr let shift getopts alias unalias hash history fc jobs bg fg
    ulimit umask times builtin command case for while if function say notify-send figlet cowsay toilet banner espeak
    logger wall write mail basename dirname realpath readlink bat nl fold fmt column paste join split rev tac od xxd
    hexdump strings base64 md5sum sha1sum sha256sum openssl gpg tar zip unzip gzip gunzip xz zstd 7z patch compgen
    complete bind shopt enable dirs pushd popd ps top htop free uptime whoami id pgrep pidof pstree pwdx lslocks
    groups hostname uname locale tty stty tput clear reset dd cal bc dc factor yes look locate mdfind open xdg-open
    pbcopy pbpaste xclip install shuf truncate tsort unlink apropos mktemp nproc lscpu lsblk lsof netstat ss dig
    nslookup host ping traceroute whois mapfile readarray typeset apt-cache dpkg-query time timeout nice nohup
    stdbuf watch python python3 python2 pypy pypy3 ipython node deno bun ruby perl php lua bash sh zsh dash ksh fish
    make gmake cmake ninja meson bazel buck just task rake gradle gradlew mvn mvnw ant sbt lein scons waf pytest tox
    nox jest vitest mocha karma cypress playwright rspec phpunit go cargo rustc rustup gcc g++ cc clang javac java
    kotlinc scala swift swiftc dotnet msbuild ghc stack cabal elixir mix iex erl rebar3 zig nim crystal dart flutter
    tsc ts-node tsx esbuild vite webpack rollup parcel turbo nx lerna next nuxt eslint prettier biome stylelint ruff
    black isort mypy pyright pylint flake8 pre-commit gofmt golangci-lint clippy-driver rustfmt clang-format
    shellcheck shfmt hadolint markdownlint vale coverage nosetests unittest hyperfine perf gdb lldb valgrind strace
    ltrace pandoc pdflatex latexmk sphinx-build mkdocs jekyll hugo gatsby ffmpeg convert magick protoc flex bison
    autoconf automake libtool pkg-config ccache sccache ctags cscope cloc tokei scc entr nodemon concurrently
    foreman npm npx pnpm pnpx yarn bunx pip pip3 pipx pipenv poetry uv uvx pdm rye hatch conda mamba micromamba gem
    bundle bundler composer nuget cocoapods pod carthage nvm fnm volta pyenv rbenv asdf mise rtx sdk goenv direnv
    virtualenv venv corepack n vcpkg conan luarocks opam cpan cpanm easy_install pip-compile pip-sync pixi nix
    devbox rustup-init
""")
)
"""Programs whose words are no verbs over something elsewhere: data, names of files, what belongs to the project."""
_TASK_RUNNERS = frozenset(
    listed("""
    rails rake artisan manage.py console prisma alembic sequelize sequelize-cli typeorm knex mix flyway liquibase
    diesel sqlx drizzle-kit dbmate goose migrate flask django-admin doctrine phinx php mikro-orm hasura strapi
    bin/rails yii spark dbt ecto supabase db-migrate sqitch wp airflow superset ef drush craft bin/console kit
""")
)
_PROJECT_TASKS = re.compile(
    r"(?:\w+:)*(?:db|database|schema|migrate|migrations?)[:.](?:\w+[:.])*(?:drop|reset|wipe|fresh|purge"
    r"|truncate\S*|drop_all|rollback:all|clean|nuke)(?::\S+)?|(?:doctrine:)?(?:schema|database):drop"
    r"|ecto\.(?:drop|reset)|flush|reset_db|sqlflush|reset_schema|drop|drop-all|dropall|clean|reset|down-to"
    r"|wipe|truncate|drop_db|dropdb|clear_cache_and_db|schema:drop|db:seed:replant|db:schema:load"
    r"|migrate:(?:fresh|reset|refresh|rollback|down)|db:rollback|db:truncate_all|purge|base|destroy|clear"
    r"|downgrade|revert|redo|undo|rollback|(?:\w+:)*migrat\w+:(?:undo|revert|down)(?::\w+)?",
    re.IGNORECASE,
)


# How a call is read: `anything apps destroy x`.

_MAX_WORDS = 6
_INTERPRETERS = frozenset(listed("dotnet python python3 php node bundle ruby tsx ts-node"))
# A file that is made is named after what it will do.
_MAKES_TEXTS = re.compile(r"generate|g|new|revision|scaffold|make:\S+|\w+:(?:generate|create|make|new)")
_MODULES_THAT_RUN = frozenset(listed("shell command raw script -a reboot file service"))
_PLAYERS = frozenset(listed("ansible-playbook salt puppet chef-client knife cap kamal"))
_ONLY_CHECKS = frozenset(listed("--check --list-tasks --list-hosts --syntax-check -C"))
_DEPLOYERS = frozenset(listed("vercel netlify eas now"))
_QUALIFIERS = frozenset(listed("batch bulk admin force async mass multi"))
_SERVICES_FIRST = frozenset(listed("aws gcloud az oci aliyun ibmcloud openstack doctl gsutil awslocal"))
_MACHINES = frozenset(listed("compute machine machines instance vm console node server box env"))
_NAMED_SO = re.compile(r"(?:flush|destroy|purge|nuke|wipe)$")
_PIECES = re.compile(r"[-_:./]+|(?<=[a-z])(?=[A-Z])")
_FILE = re.compile(r".*\.[A-Za-z][A-Za-z0-9]{0,4}|.*/.*|.*=.*|https?:.*", re.DOTALL)
_ONLY_TELLS = re.compile(
    r"--help|-h|--version|--dry-?run(?:=(?!false|none).*)?|--dryrun|--what-if|--check-only|can-i"
)
_FLAGS = re.compile(
    r"--(?:delete|destroy|purge|prune|wipe|drop|force-reset|force-delete|delete-all|remove-all|erase"
    r"|terminate|nuke|flush|allow-destructive\S*|delete-\S+|purge-\S+|destroy-\S+)(?:=true)?"
)
_COPIES = (
    ("aws", "s3 cp"),
    ("aws", "s3 sync"),
    ("aws", "s3 mv"),
    ("gsutil", "cp"),
    ("gsutil", "rsync"),
    ("gsutil", "mv"),
)


def judge_verbs(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """Whether `call` takes away, stops or shows something by its verb."""
    program, given = call.program.casefold().removesuffix(".exe"), texts(call.arguments)
    if not program or any(map(_ONLY_TELLS.fullmatch, given)):
        return
    found = (text for text in given if text and not text.startswith("-"))
    words = tuple(itertools.islice(found, _MAX_WORDS))
    if words and program in _INTERPRETERS and (runner := words[0].rpartition("/")[2]) in _TASK_RUNNERS:
        program, words = runner, words[1:]
    if program in _TASK_RUNNERS:
        if words and _MAKES_TEXTS.fullmatch(words[0]):
            return
        forces = not {"--force-reset", "--accept-data-loss"}.isdisjoint(given) or (
            program == "drizzle-kit" and "push" in words and "--force" in given
        )
        if forces or any(map(_PROJECT_TASKS.fullmatch, words)):
            yield Finding("dangerous", "sql", "deletes what is in the database")
    if program not in LOCAL and program not in OWN_JUDGES:
        yield from _elsewhere(program, words, given)


def _elsewhere(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Iterator[Finding]:
    """What the words of a client do elsewhere."""
    if program in _PLAYERS and not _ONLY_CHECKS.isdisjoint(given):
        return
    if (
        program in _PLAYERS
        or (program == "ansible" and not _MODULES_THAT_RUN.isdisjoint(given))
        or (program in {"bolt", "mco"} and words[1:2] == ("run",))
        or program in {"pyinfra", "rex"}
    ):
        yield _infrastructure("runs commands on other machines")
    elif words[:1] == ("ssh",) or (words[1:2] == ("ssh",) and words[0] in _MACHINES):
        yield Finding("dangerous", "exfiltration", "reaches another machine", outside=True)
    elif (found := _by_verb(program, words, given)) is not None:
        yield found
    elif program in _DEPLOYERS and not {"--prod", "--production"}.isdisjoint(given):
        yield Finding("dangerous", "publishing", "deploys to production", outside=True)
    elif program in CLOUD and words and words[0].startswith(UNKNOWN):
        yield Finding("dangerous", "hidden", f"runs a command of {program} whose name is hidden", outside=True)
    elif program in CLOUD and program not in {"gh", "glab"}:
        yield from _in_cloud(program, words, given)
    elif any(map(_FLAGS.fullmatch, given)):
        yield _infrastructure(f"deletes something through {shown(program)}")


def _infrastructure(why: str) -> Finding:
    return Finding("dangerous", "infrastructure", why, outside=True)


def _pieces(word: str) -> list[str]:
    return [piece.casefold() for piece in _PIECES.split(word) if piece]


def _unqualified(pieces: list[str]) -> list[str]:
    return pieces if _QUALIFIERS.isdisjoint(pieces[:1]) else pieces[1:]


def _by_verb(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Finding | None:
    """What the first word does that is a verb, and no name of a file."""
    takes_away = _infrastructure(f"deletes or ends something through {shown(program)}")
    own = _pieces(re.sub(r"\.(?:sh|py|pl|rb)$", "", program))
    if (len(own) > 1 and own[-1] in DESTRUCTIVE) or _NAMED_SO.search(program):
        return takes_away
    taking = DESTRUCTIVE | ENDING if program in CLOUD else DESTRUCTIVE | REVERTING
    for place, word in enumerate(words):
        pieces = [] if _FILE.fullmatch(word) or UNKNOWN in word else _unqualified(_pieces(word))
        if not pieces:
            continue
        if pieces[0] in READING and not any(piece in taking for piece in pieces[1:2]):
            if _is_noun(program, word, given):
                continue
            is_secret = any(piece in SECRETIVE for one in words for piece in _pieces(one))
            if not is_secret or words[0] == "search":
                return None
            return Finding("dangerous", "credentials", f"shows secrets through {shown(program)}", outside=True)
        if pieces[0] in taking or _takes(pieces, word, program):
            return takes_away
        if pieces[0] in CHANGING and program not in CLOUD and place > 0:
            return None
    return None


def _is_noun(program: str, word: str, given: tuple[str, ...]) -> bool:
    """Whether a word that may mean looking is what the next one takes away: `aws logs delete-log-group`."""
    if program not in CLOUD or len(_pieces(word)) > 1 or word == "help":
        return False
    after = next((second for first, second in itertools.pairwise(given) if first == word), "")
    is_service = program in _SERVICES_FIRST and bool(_pieces(after)) and _pieces(after)[0] in DESTRUCTIVE
    return after in DESTRUCTIVE or is_service


def _takes(pieces: list[str], word: str, program: str) -> bool:
    """Whether a word of several pieces says what it does elsewhere: `apps:destroy`, `batch-delete-image`."""
    if program in CLOUD:
        return pieces[-1] in ENDING or any(piece in DESTRUCTIVE or piece in NOUNS for piece in pieces)
    return pieces[-1] in DESTRUCTIVE and ":" in word


def _in_cloud(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> Iterator[Finding]:
    line = " ".join(words)
    if any(program == client and f"{line} ".startswith(f"{verb} ") for client, verb in _COPIES):
        yield Finding("dangerous", "exfiltration", "copies files to or from elsewhere", outside=True)
    elif words[:2] in (("configure", "set"), ("config", "set")):
        yield Finding("dangerous", "persistence", f"changes the settings of {program}", outside=True)
    elif words and not line.startswith(("rollout status", "rollout history")) and _changes(program, words, given):
        yield _infrastructure(f"changes something through {shown(program)}")


def _changes(program: str, words: tuple[str, ...], given: tuple[str, ...]) -> bool:
    """Whether the first word that says so changes something."""
    for word in words:
        pieces = _unqualified(_pieces(word))
        changes = bool(pieces) and (
            pieces[0] in CHANGING or word in CHANGING or (":" in word and any(one in CHANGING for one in pieces))
        )
        if (program, word) == ("packer", "build"):
            return True
        if word in CLOUD[program] or (pieces and not changes and pieces[0] in READING):
            return False
        if changes:
            return True
    return not {"--auto-approve", "-auto-approve"}.isdisjoint(given)


# Requests: what they change elsewhere, what they carry out, and other connections.

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
