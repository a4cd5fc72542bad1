"""Databases by their own clients. (SQL and scripts of them are read by `inline.py`.)"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.approval.dangers.finding import Finding
from tools.approval.dangers.places import Scene
from tools.approval.dangers.words import texts
from tools.bash.reading import UNKNOWN, Invocation

_REDIS = re.compile(
    r"flush(?:all|db)|del|unlink|config|shutdown|debug|script|eval|evalsha|module|slaveof|replicaof|migrate"
    r"|save|bgsave|rename|swapdb|acl|cluster|failover|bgrewriteaof|restore|getdel|hdel|lrem|ltrim|srem"
    r"|zrem\w*|xdel|xtrim|client|reset|spop",
    re.IGNORECASE,
)
_MONGO = re.compile(
    r"drop(?:Database|Index\w*|User|Role|All\w*)?\s*\(|\.(?:deleteMany|deleteOne|remove|findOneAndDelete"
    r"|bulkWrite|updateMany|renameCollection|shutdownServer|rename|\$where)\s*\(",
    re.IGNORECASE,
)
_MONGO_ASKS = re.compile(
    r"find(?:One)?|count\w*|estimatedDocumentCount|distinct|getIndexes|get(?:Collection|Sibling|DB|Name)\w*"
    r"|stats|explain|limit|skip|sort|pretty|toArray|forEach|map|print\w*|version|serverStatus|listDatabases"
    r"|hello|ObjectId|ISODate|Date|projection|hint|size|length|isoDate|tojson"
)
_CYPHER = re.compile(r"\b(?:delete|remove|drop)\b", re.IGNORECASE)
_TOOLS = re.compile(
    r"drop(?:db|user|lang)|mysqladmin|mongorestore|pg_resetwal|pg_ctl|pg_dropcluster|initdb|createuser"
    r"|pg_restore|mysql_secure_installation|mysql_install_db|influxd?|cqlsh|cypher-shell|nodetool"
    r"|rabbitmqctl|rabbitmqadmin|kafka-\S+|zookeeper-shell\S*|zkCli\S*|etcdctl|consul|curator_cli"
    r"|elasticsearch-\S+|neo4j-admin|cockroach|clickhouse\S*|couchdb|memcached-tool|nats|pulsar-admin"
)
_TOOLS_DROP = re.compile(
    r"(?:drop|delete|purge|remove|reset|destroy|truncate|flush|decommission|shutdown|clean|wipe|rmr|del|stop"
    r"|kill|clear|force|promote|stop_app|unregister|forget|evict)(?:[-_]\w+)*|--(?:delete\S*|drop\S*|clean"
    r"|force\S*|purge)",
    re.IGNORECASE,
)


def judge_databases(call: Invocation, scene: Scene) -> Iterator[Finding]:  # noqa: ARG001 - all families look alike
    """What `call` deletes from a database."""
    program, given = call.program.casefold(), texts(call.arguments)
    why = "deletes database content"
    if program in {"redis-cli", "valkey-cli", "keydb-cli", "iredis"}:
        told = (word for line in call.input.text.splitlines() for word in line.split()[:1])
        if any(_REDIS.fullmatch(text) for text in (*_redis_words(given), *told)):
            yield Finding("dangerous", "sql", why, outside=True)
        elif call.input.kind in {"command", "unknown"} or any(text == UNKNOWN for text in given):
            yield Finding("dangerous", "sql", "runs commands in a database that are not known", outside=True)
    elif program in {"mongosh", "mongo"}:
        script = " ".join((*given, call.input.text))
        if _MONGO.search(script):
            yield Finding("dangerous", "sql", why, outside=True)
        elif _only_asks(script):
            return
        elif "--eval" in given or any(text.startswith("--eval=") for text in given) or call.input.kind == "command":
            yield Finding("dangerous", "inline script", "runs an inline script", outside=True)
    elif (
        (program in {"dropdb", "dropuser", "droplang", "pg_dropcluster", "pg_resetwal"} and "--help" not in given)
        or (program == "cypher-shell" and _CYPHER.search(f"{given} {call.input.text}"))
        or (program in {"nc", "ncat", "memcat", "telnet"} and "flush_all" in call.input.text)
        or (
            _TOOLS.fullmatch(program)
            and any(_TOOLS_DROP.fullmatch(text) for text in (*given, *call.input.text.split()))
        )
    ):
        yield Finding("dangerous", "sql", why, outside=True)


def _only_asks(script: str) -> bool:
    called = re.findall(r"\b(\w+)\s*\(", script)
    return bool(called) and all(_MONGO_ASKS.fullmatch(name) for name in called)


def _redis_words(given: tuple[str, ...]) -> tuple[str, ...]:
    """What follows the options, each of which may take one word."""
    rest = list(given)
    while rest and rest[0].startswith("-"):
        takes = re.fullmatch(r"-[hpansuiDrdc]|--(?:user|pass|uri|tls\S*|cacert|cert|key|sni)", rest[0]) is not None
        rest = rest[2 if takes else 1 :]
    return tuple(word for text in rest for word in text.split())[:1]
