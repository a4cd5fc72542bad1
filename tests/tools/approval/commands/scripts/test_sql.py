"""Statements of SQL, and the commands of the clients around them."""

from tests.support.each import each
from tools.approval.commands.classification import judge_script

ORDINARY = [
    "select 1",
    "select * from users where name = 'drop table x; '",
    "-- drop table x\nselect 1",
    "/* drop table x */ select replace(a, 'b', 'c') from t",
    "explain delete from x",
    "insert into a values ('delete from b')",
    "create table t (id int references u on delete cascade)",
    "delete from x where id = 1",
    "update x set a = 1 where id in (select 1)",
    "select truncate(1.2, 1)",
    'select "drop" from "delete"',
    "drop temporary table x",
    ".tables",
    ".schema x",
    ".mode csv\n.headers on\nselect 1",
    "\\dt",
    "\\d users",
    "pragma table_info(x);",
    "select 1 where a = 'it\\'s'",
    "alter table hits delete where id = 4",
    "alter table a add foreign key (b) references c on delete cascade on update cascade",
    "alter table a add column delete_at text",
]
DANGEROUS = [
    "drop table x",
    "DROP DATABASE x",
    "select 1; drop\ttable x",
    "drop/**/table x",
    "/*!50000 drop table x */",
    "truncate x",
    "delete from x",
    "delete from x where 1=1",
    "delete from x where id = 1 or 1 = 1",
    "delete from x where true",
    "update a set b = 1",
    "with d as (delete from x returning *) select * from d",
    "alter table x drop column y",
    "grant all on a to b",
    "create user x superuser",
    "do $$ begin delete from x; end $$",
    "execute 'drop table x'",
    "prepare s from 'drop table x'",
    "execute 'dr' || 'op table x'",
    "select '\\'; drop table x; --'",
    "select 'a\\'; -- '; drop table x",
    "select 1 # 2; drop table x",
    "/* /* */ drop table x /* */",
    "copy t to program 'rm x'",
    "copy t to '/srv/x'",
    "select 1 into outfile '/srv/x'",
    "select load_extension('./x')",
    "select pg_read_file('x')",
    "exec xp_cmdshell 'dir'",
    "\\! rm x",
    "\\copy t to program 'sh'",
    "select 'drop table ' || t from x \\gexec",
    ".shell rm x",
    ".system rm x",
    ".output /etc/passwd",
    ".once |sh",
    "system rm x",
    "alter table hits delete where 1",
    "alter table hits on cluster main delete where 1 = 1",
    "alter table logs update level = '' where true",
]


@each("source", ORDINARY)
def test_bounded_statements_and_data_are_ordinary(source: str):
    assert judge_script("psql", source).level == "ordinary"


@each("source", DANGEROUS)
def test_what_deletes_grants_writes_or_runs_is_dangerous(source: str):
    assert judge_script("sqlite3", source).level == "dangerous"


def test_why_says_what_is_lost():
    assert judge_script("mysql", "drop table x").why == "deletes database content"
    assert judge_script("mysql", "delete from x").findings[0].family == "sql"
