"""Scenarios and records that are bombs, or lie."""

import os, random, shutil, sqlite3, struct, zlib
from ways import Folder, demand, record as recorded, run, way, ways

HEAD = 'scenario.title = "x"\n[[target]]\nname = "n"\nurl = "null:"\nsize = "1GiB"\n[workload.w]\nblock = "4KiB"\n'
PLAN = '[plan]\nworkload = "w"\non = "n"\nwarmup = "0s"\nmeasure = "100ms"\n'
TITLE = "\\u001b]0;owned\\u0007\\u202e\\u009b31m"
# What looks like a word of ours.
COLOUR = "\\u001b[1;32mall goals are met\\u001b[0m"

SCENARIOS = [
    ("brackets 50,000 deep", "x = " + "[" * 50_000),
    ("tables 50,000 deep", "x = " + "{a=" * 50_000),
    ("a key of 50,000 parts", ".".join("a" * 50_000) + " = 1"),
    ("four billion VMs", HEAD + '[[vm]]\nname = "vm{1..4294967295}"\ndisks = [{ target = "n" }]\n' + PLAN),
    ("a range that runs backwards", HEAD + '[[vm]]\nname = "vm{9..1}"\ndisks = [{ target = "n" }]\n' + PLAN),
    ("ranges of ranges of ranges", HEAD + '[[vm]]\nname = "vm{1..999}{1..999}{1..999}"\ndisks = [{ target = "n" }]\n' + PLAN),
    ("a sweep of 10^12 steps", HEAD + PLAN + "sweep = { w.depth = [" + ",".join(map(str, range(1, 999))) + "], w.block = ["
     + ",".join(f'"{512 * n}B"' for n in range(1, 999)) + "], w.read = [" + ",".join(map(str, range(100))) + "] }\n"),
    ("a list of 10^6 values", HEAD + PLAN + "sweep = { w.depth = [" + "1," * 1_000_000 + "] }\n"),
    ("a string of 16 MB", f'scenario.title = "{"x" * (16 << 20)}"\n' + PLAN),
    ("a title that steers a terminal", HEAD.replace('"x"', f'"{TITLE}"') + PLAN),
    ("a name that steers a terminal", HEAD.replace('"n"', f'"{TITLE}"') + PLAN),
    ("a file name that steers a terminal", HEAD.replace('url = "null:"\nsize', f'file = "{TITLE}"\ncreate') + PLAN),
    ("a title in colours", HEAD.replace('"x"', f'"{COLOUR}"') + PLAN),
    ("a name in colours", HEAD.replace('"n"', f'"{COLOUR}"') + PLAN),
    ("a file name in colours", HEAD.replace('url = "null:"\nsize', f'file = "{COLOUR}"\ncreate') + PLAN),
    ("bytes that are no text", b"scenario.title = \"\xff\xfe\"\n"),
    ("a hundred thousand mistakes", "".join(f"k{n} = {n}\n" for n in range(100_000))),
    ("numbers that no type holds", HEAD.replace('"4KiB"', "99999999999999999999999999") + PLAN),
    ("inf and nan", HEAD + "read = nan\nrandom = inf\n" + PLAN),
    ("an expression of agents 20,000 deep", HEAD + '[[vm]]\nname = "v"\nagents = "' + "(" * 20_000 + '"\ndisks = [{ target = "n" }]\n' + PLAN),
    ("a plan that comes after itself", HEAD + '[plan]\nwarmup = "0s"\nmeasure = "1s"\nload = [{ name = "a", workload = "w", on = "n", after = "a" }]\n'),
]


@ways("scenarios", SCENARIOS)
def scenario(text):
    with Folder() as folder:
        path = folder.write("s.toml", text)
        for command in ("plan", "estimate"):
            run(command, path, cwd=folder.path)


def record(folder, name="r.wsr"):
    recorded(folder(name), 2)
    return folder(name)


def change(path, *statements):
    database = sqlite3.connect(path)
    database.execute("PRAGMA writable_schema = on")
    for statement, *arguments in statements:
        database.execute(statement, arguments)
    database.commit()
    database.close()


def tables(path):
    database = sqlite3.connect(path)
    found = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {name: [row[1:3] for row in database.execute(f"PRAGMA table_info({name})")] for name in found}
    database.close()
    return columns


def every(path, value, kinds):
    """Sets all columns of these types, one after the other, on a copy each; ours must read or refuse each."""
    for table, columns in tables(path).items():
        for column, kind in columns:
            if kind.upper() in kinds:
                yield table, column, value


def looked_at(path, folder):
    """All that reads records."""
    run("review", path, cwd=folder.path)
    run("review", path, "--format", "json", cwd=folder.path)
    run("review", path, "-o", folder("page.html"), cwd=folder.path)
    run("compare", path, path, cwd=folder.path)


@ways("records", [
    ("every number is the least", -2**63, ("INTEGER",)), ("every number is the greatest", 2**63 - 1, ("INTEGER",)),
    ("every number is a text", "x" * 1000, ("INTEGER", "REAL")), ("every text steers a terminal", "\x1b[31m\u202e\x9b", ("TEXT",)),
    ("every text has 1 MB", "y" * (1 << 20), ("TEXT",)), ("every text is a number", 7, ("TEXT",)),
    ("every value is missing", None, ("INTEGER", "REAL", "TEXT", "BLOB")), ("every fraction is endless", float("inf"), ("REAL",)),
    ("every blob is a bomb", zlib.compress(bytes(64 << 20), 9), ("BLOB",)), ("every blob is noise", random.Random(2).randbytes(5000), ("BLOB",)),
])
def values(value, kinds):
    with Folder() as folder:
        whole = record(folder)
        for number, (table, column, value) in enumerate(every(whole, value, kinds)):
            path = folder(f"{number}.wsr")
            shutil.copy(whole, path)
            try:
                change(path, (f"UPDATE {table} SET {column} = ?", value))
            except sqlite3.Error:
                continue
            run("review", path, "--format", ("text", "json")[number % 2], cwd=folder.path)
            os.unlink(path)


@ways("records", [
    ("views that never end in the place of tables", lambda t: [(f"ALTER TABLE {t} RENAME TO kept",), (
        f"CREATE VIEW {t} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT kept.* FROM kept, n",)]),
    ("triggers on every table", lambda t: [(f"CREATE TRIGGER h_{t} AFTER INSERT ON {t} BEGIN DELETE FROM {t}; END",)]),
    ("indexes on expressions that are wrong", lambda t: [(f"CREATE INDEX i_{t} ON {t} (abs(-9223372036854775807))",)]),
    ("no tables", lambda t: [(f"DROP TABLE {t}",)]),
    ("all rows a thousand times", lambda t: [(f"INSERT INTO {t} SELECT a.* FROM {t} a, (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n"
                                             " WHERE x < 1000) SELECT x FROM n)",)]),
])
def schema(statements):
    with Folder() as folder:
        whole = record(folder)
        for table in tables(whole):
            path = folder("h.wsr")
            shutil.copy(whole, path)
            try:
                change(path, *statements(table))
            except sqlite3.Error:
                continue
            run("review", path, "--format", "json", cwd=folder.path, seconds=60)


@way("records", "bytes flipped and files cut at 200 places")
def flipped():
    chance = random.Random(5)
    with Folder() as folder:
        with open(record(folder), "rb") as file:
            whole = file.read()
        for number in range(200):
            data = bytearray(whole)
            if number % 4 == 0:
                del data[chance.randrange(len(data)):]
            for _ in range(chance.randrange(1, 40)):
                if data:
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            run("review", folder.write("f.wsr", bytes(data)), cwd=folder.path)


@way("records", "logs beside a record that are not its own")
def logs():
    with Folder() as folder:
        path = record(folder)
        for name, data in [("r.wsr-wal", random.Random(1).randbytes(1 << 20)), ("r.wsr-shm", bytes(1 << 16)), ("r.wsr-journal", b"\xd9\xd5\x05\xf9" + bytes(5000)),
                           ("r.wsr.notes.json", b"[" * 100_000), ("r.wsr.journal", random.Random(1).randbytes(100_000))]:
            folder.write(name, data)
            looked_at(path, folder)


@way("records", "what is no record: a pipe, a folder, a device, a link to itself, noise")
def no_record():
    with Folder() as folder:
        os.mkdir(folder("d.wsr"))
        os.symlink("l.wsr", folder("l.wsr"))
        folder.write("n.wsr", random.Random(3).randbytes(1 << 20))
        folder.write("e.wsr", b"")
        for path in ("d.wsr", "l.wsr", "n.wsr", "e.wsr", "/dev/zero", "/dev/null", "/proc/self/mem"):
            run("review", path, cwd=folder.path, codes=(2, 3))
