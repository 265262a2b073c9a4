"""Exporters and SNMP agents that answer nonsense, without end, or not at all, while a scenario is planned and runs."""

import gzip, os, random, socket, struct, threading, time
from ways import Folder, demand, run, way, ways

SCENARIO = """scenario.title = "x"
[[host]]
name = "esx"
adapters = [{{ name = "hba", part = "qle2560" }}]
counters = "{source}"
{credentials}
[[target]]
name = "n"
url = "null:"
size = "1GiB"
[[vm]]
name = "vm1"
host = "esx"
disks = [{{ target = "n" }}]
[workload.w]
block = "4KiB"
rate = "100 IOPS"
limit = 4
[plan]
workload = "w"
on = "vm1"
warmup = "0s"
measure = "2s"
"""
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
LINE = b"node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} %s\n"


def body(data):
    return OK + b"Content-Length: %d\r\n\r\n" % len(data) + data


def forever(head, part, peer):
    peer.sendall(head)
    while True:
        peer.sendall(part)


def slowly(data, peer):
    for byte in data:
        peer.sendall(bytes([byte]))
        time.sleep(0.2)


ANSWERS = [
    ("noise", os.urandom(65536)), ("nothing", b""), ("a silence", None),
    ("a body without an end", lambda peer: forever(OK + b"\r\n", b"# x\n" * 20_000, peer)),
    ("headers without an end", lambda peer: forever(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 60_000 + b"\r\n", peer)),
    ("one header without an end", lambda peer: forever(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65_536, peer)),
    ("one line without an end", lambda peer: forever(OK + b"\r\n", b"x" * 65_536, peer)),
    ("a byte in a fifth of a second", lambda peer: slowly(body(LINE % b"1"), peer)),
    ("a length of 2^64", OK + b"Content-Length: 18446744073709551616\r\n\r\nx"), ("a negative length", OK + b"Content-Length: -5\r\n\r\nx"),
    ("two lengths", OK + b"Content-Length: 3\r\nContent-Length: 300\r\n\r\nabc"),
    ("a part of 2^64 bytes", OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx"), ("parts that are none", OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"),
    ("a redirection to itself", b"HTTP/1.1 302 Found\r\nLocation: /metrics\r\nContent-Length: 0\r\n\r\n"),
    ("a redirection to a file", b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
    ("a compressed bomb", OK + b"Content-Encoding: gzip\r\n" + b"\r\n" + gzip.compress(bytes(64 << 20))),
    ("figures that are none", body(b"".join(LINE % value for value in (b"NaN", b"+Inf", b"-1e308", b"1e999", b"", b"0x10", b"\xff")))),
    ("half a million series", body(b"".join(b"node_disk_reads_completed_total{device=\"d%d\"} 1\n" % n for n in range(300_000)))),
    ("one series a hundred thousand times", body(LINE % b"1" * 100_000)),
    ("labels that steer a terminal", body(b'node_disk_reads_completed_total{device="\x1b]0;x\x07\xe2\x80\xae"} 1\n')),
    ("a status that is none", b"HTTP/1.1 99999999999 \xff\r\n\r\n"), ("a version of the future", b"HTTP/9.9 200 OK\r\n\r\n"),
]


def serve(answer):
    server = socket.create_server(("127.0.0.1", 0))

    def one(peer):
        try:
            peer.settimeout(20)
            peer.recv(65536)
            if answer is None:
                time.sleep(20)
            elif callable(answer):
                answer(peer)
            else:
                peer.sendall(answer)
            peer.close()
        except OSError:
            pass

    def accept():
        try:
            while True:
                peer, _ = server.accept()
                threading.Thread(target=one, args=(peer,), daemon=True).start()
        except OSError:
            pass
    threading.Thread(target=accept, daemon=True).start()
    return server


@ways("probes: exporters", ANSWERS)
def exporters(answer):
    server = serve(answer)
    with Folder() as folder:
        source = f"prometheus://127.0.0.1:{server.getsockname()[1]}"
        path = folder.write("s.toml", SCENARIO.format(source=source, credentials=""))
        run("plan", path, cwd=folder.path, memory=256 << 20)
        # A source holds up no load, whatever it says.
        run("run", path, "--quiet", "--out", folder("r.wsr"), cwd=folder.path, codes=(0,), memory=256 << 20)
        review = run("review", folder("r.wsr"), "--format", "json")
        demand("root:" not in review.out, "a file of this machine is in the record")
    server.close()


def length(data):
    return (bytes([len(data)]) if len(data) < 128 else b"\x82" + struct.pack(">H", len(data))) + data


AGENTS = [
    ("noise", lambda request: os.urandom(400)), ("nothing", lambda request: b""), ("what was asked", lambda request: request),
    ("a sequence of 2^32", lambda request: b"\x30\x84\xff\xff\xff\xff" + bytes(100)), ("sequences 600 deep", lambda request: b"\x30\x80" * 600),
    ("an identifier of 1,000 parts", lambda request: b"\x30" + length(b"\x02\x01\x01\x04\x06public\xa2" + length(request[-20:] + b"\x06" + length(b"\x81" * 1000)))),
    ("the same answer for ever", lambda request: request.replace(b"\xa1", b"\xa2", 1).replace(b"\xa5", b"\xa2", 1)),
]


@ways("probes: SNMP", AGENTS)
def snmp(answer):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def talk():
        try:
            while True:
                request, peer = server.recvfrom(65536)
                for _ in range(3):
                    server.sendto(answer(request), peer)
        except OSError:
            pass
    threading.Thread(target=talk, daemon=True).start()
    with Folder() as folder:
        secret = folder.write("secret", "community = public\n")
        os.chmod(secret, 0o600)
        source = f"snmp://127.0.0.1:{server.getsockname()[1]}"
        path = folder.write("s.toml", SCENARIO.format(source=source, credentials=f'credentials = "{secret}"'))
        run("plan", path, cwd=folder.path, memory=256 << 20)
        run("run", path, "--quiet", "--out", folder("r.wsr"), cwd=folder.path, codes=(0,), memory=256 << 20)
    server.close()


@ways("probes: credentials", [("that others may read", 0o644, "community = public\n"), ("of noise", 0o600, "\0\xff" * 100), ("of 8 MB", 0o600, "a = b\n" * 1_400_000),
                              ("that steer a terminal", 0o600, "\x1b[31m = \x07\n")])
def credentials(mode, text):
    with Folder() as folder:
        secret = folder.write("secret", text)
        os.chmod(secret, mode)
        path = folder.write("s.toml", SCENARIO.format(source="snmp://127.0.0.1:1", credentials=f'credentials = "{secret}"'))
        done = run("plan", path, cwd=folder.path)
        demand("public" not in done.text, "a secret is printed")
