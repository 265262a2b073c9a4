"""A table of FCMGMT-MIB for snmpd's pass_persist: `OID TYPE VALUE` a line of the file, read anew for each request."""
import sys

ROOT = ".1.3.6.1.3.94"


def key(oid):
    return tuple(int(part) for part in oid.strip(".").split("."))


def table():
    rows = {}
    with open(sys.argv[1]) as file:
        for line in file:
            oid, kind, value = line.rstrip("\n").split(" ", 2)
            rows[key(ROOT + "." + oid)] = (kind, value)
    return rows


def answer(oid, rows):
    if oid not in rows:
        print("NONE", flush=True)
        return
    kind, value = rows[oid]
    print("." + ".".join(map(str, oid)), kind, value, sep="\n", flush=True)


while True:
    command = sys.stdin.readline().strip()
    if not command:
        break
    if command == "PING":
        print("PONG", flush=True)
    elif command in ("get", "getnext"):
        asked = key(sys.stdin.readline().strip())
        rows = table()
        if command == "getnext":
            asked = min((oid for oid in rows if oid > asked), default=None)
        answer(asked, rows)
    else:
        sys.stdin.readline()
        print("not-writable", flush=True)
