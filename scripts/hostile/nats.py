"""A fleet over NATS with hostile peers: forged calls and messages, foreign groups, what is too long, what comes again, servers that
are none. A client of its own speaks the protocol of NATS. After each way the agent answers, and a run on it is complete."""

import json, os, random, shutil, socket, subprocess, threading, time
from ways import Folder, Skip, alive, connect, demand, free_port, resident, run, start, until, way, ways

SCENARIO = """scenario.title = "x"
[[target]]
name = "n"
url = "null:"
size = "1GiB"
[[vm]]
name = "vm1"
agents = "*"
disks = [{ target = "n" }]
[workload.w]
block = "4KiB"
rate = "100 IOPS"
limit = 4
[plan]
workload = "w"
on = "vm1"
warmup = "0s"
measure = "1s"
"""


class Client:
    """Just enough of NATS: CONNECT, PUB, SUB."""

    def __init__(self, port):
        self.socket = connect(port)
        self.heard, self.buffer = [], b""
        self.socket.sendall(b'CONNECT {"verbose":false,"pedantic":false,"headers":true}\r\nPING\r\n')
        threading.Thread(target=self.listen, daemon=True).start()

    def publish(self, subject, data, reply=""):
        self.socket.sendall(f"PUB {subject} {reply + ' ' if reply else ''}{len(data)}\r\n".encode() + data + b"\r\n")

    def subscribe(self, subject):
        self.socket.sendall(f"SUB {subject} 1\r\n".encode())

    def listen(self):
        self.socket.settimeout(None)
        try:
            while part := self.socket.recv(1 << 20):
                self.buffer += part
                while b"\r\n" in self.buffer:
                    line, rest = self.buffer.split(b"\r\n", 1)
                    words = line.split()
                    if words and words[0] in (b"MSG", b"HMSG"):
                        size = int(words[-1])
                        if len(rest) < size + 2:
                            break
                        reply = words[3].decode() if words[0] == b"MSG" and len(words) == 5 else ""
                        self.heard.append((words[1].decode(), rest[:size], words[0], reply))
                        rest = rest[size + 2:]
                    elif words and words[0] == b"PING":
                        self.socket.sendall(b"PONG\r\n")
                    self.buffer = rest
        except OSError:
            pass


class Fleet:
    """A server and one agent."""

    def __init__(self, folder):
        if shutil.which("nats-server") is None:
            raise Skip("nats-server is not here")
        self.folder, self.port = folder, free_port()
        server = subprocess.Popen(["nats-server", "-js", "-a", "127.0.0.1", "-p", str(self.port), "-sd", folder("js")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        folder.keep(server)
        self.url = f"nats://127.0.0.1:{self.port}"
        for _ in range(100):
            try:
                connect(self.port).close()
                break
            except OSError:
                time.sleep(0.1)
        self.agent = folder.keep(start("agent", "--join", self.url, "--name", "one", "--spool", folder.path, text=True))
        threading.Thread(target=lambda: [None for _ in self.agent.stdout], daemon=True).start()
        until(lambda: "one" in run("fleet", "ls", "--fleet", self.url, "--format", "json", codes=(0, 1, 3)).out, 30, "the agent joins")
        self.client = Client(self.port)
        self.path = folder.write("s.toml", SCENARIO)

    def run(self, **more):
        return run("run", self.path, "--fleet", self.url, "--quiet", "--patience", "30s", "--out", self.folder("r.wsr"), seconds=90, **more)

    def well(self):
        alive(self.agent, 512 << 20)
        if os.path.exists(self.folder("r.wsr")):
            for name in os.listdir(self.folder.path):
                if name.startswith("r.wsr"):
                    os.unlink(self.folder(name))
        for attempt in range(4):
            done = self.run()
            # On a busy machine an agent may still be reading what it was sent.
            if "none of the 0 that are there" not in done.err:
                break
        demand(done.code == 0, f"a run on it: {done.code}: {done.err[-300:]}")


CHANCE = random.Random(11)
CALL = "wirespeed.default.agent.one"
PAYLOADS = [
    ("noise", [CHANCE.randbytes(n) for n in (1, 20, 500, 100_000)]), ("nothing", [b""] * 50), ("JSON 100,000 deep", [b"[" * 100_000, b'{"a":' * 20_000]),
    ("arrays of 2^32 in MessagePack", [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff" + bytes(100)]),
    ("MessagePack 100,000 deep", [b"\x91" * 100_000, b"\x81\xa1a" * 30_000]), ("a megabyte", [bytes(1_000_000)]),
    ("5,000 calls", [b'{"Release":{"run":"nobody"}}'] * 5000),
    ("a call of a carrier of the future", [json.dumps({"Engage": {"carrier": 2**32 - 1, "protocol": 2**32 - 1, "group": "default", "run": "x", "title": "\x1b[31m", "instance": 2**64 - 1}}).encode()]),
    ("an engagement of another group", [json.dumps({"Engage": {"carrier": 1, "protocol": 1, "group": "other", "run": "x" * 100_000, "title": "t", "instance": None}}).encode()]),
    ("pings of runs that are not there", [json.dumps({"Ping": {"run": f"r{n}", "next": 2**63, "again": 2**63}}).encode() for n in range(200)]),
]


@ways("fleet: calls", PAYLOADS)
def calls(payloads):
    with Folder() as folder:
        fleet = Fleet(folder)
        for payload in payloads:
            for subject in (CALL, "wirespeed.default.who", "wirespeed.default.down.one.run", "wirespeed.other.agent.one"):
                fleet.client.publish(subject, payload, "_INBOX.h.1")
        time.sleep(0.5)
        fleet.well()


@way("fleet: parts", "all that a run said, said again, changed by a bit, and in another order")
def replayed():
    with Folder() as folder:
        fleet = Fleet(folder)
        fleet.client.subscribe("wirespeed.>")
        done = fleet.run()
        demand(done.code == 0, done.err[-300:])
        heard = [(subject, data) for subject, data, kind, _ in fleet.client.heard if kind == b"MSG"]
        demand(heard, "a run says something")
        for round_ in range(3):
            order = heard[:]
            CHANCE.shuffle(order)
            for subject, data in order:
                changed = bytearray(data)
                if round_ and changed:
                    changed[CHANCE.randrange(len(changed))] ^= 1 << CHANCE.randrange(8)
                fleet.client.publish(subject, bytes(changed), "_INBOX.h.2")
        time.sleep(1)
        fleet.well()


@way("fleet: parts", "all that a run says, said again at once by another")
def echoed():
    with Folder() as folder:
        fleet = Fleet(folder)
        fleet.client.subscribe("wirespeed.>")
        stop = threading.Event()

        def echo():
            at = 0
            while not stop.is_set():
                heard = fleet.client.heard
                limit = min(len(heard), at + 50, 3000)
                while at < limit:
                    subject, data, kind, _ = heard[at]
                    if kind == b"MSG" and ".who" not in subject:
                        fleet.client.publish(subject, data)
                    at += 1
                time.sleep(0.02)
        thread = threading.Thread(target=echo)
        thread.start()
        try:
            done = fleet.run()
            demand(done.code in (0, 1, 3), f"{done.code}")
        finally:
            stop.set()
            thread.join()
        fleet.well()


@ways("fleet: announcements", [
    ("1,000 agents that are not there", lambda n: json.dumps({"name": f"ghost{n}"}).encode()), ("noise", lambda n: os.urandom(200)),
    ("agents whose names steer a terminal", lambda n: json.dumps({"name": "\x1b]0;x\x07\u202e", "carrier": 1}).encode()), ("a megabyte each", lambda n: b"x" * 900_000 if n < 60 else b""),
])
def announced(make):
    with Folder() as folder:
        fleet = Fleet(folder)
        fleet.client.subscribe("wirespeed.default.who")
        stop = threading.Event()

        def answer():
            at = 0
            while not stop.is_set():
                # Every question who is there is answered by strangers.
                while at < len(fleet.client.heard):
                    reply = fleet.client.heard[at][3]
                    at += 1
                    try:
                        for number in range(1000 if reply else 0):
                            fleet.client.publish(reply, make(number))
                    except OSError:
                        # The server has had enough of it.
                        return
                time.sleep(0.02)
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            for command in ("ls", "doctor"):
                run("fleet", command, "--fleet", fleet.url, codes=(0, 1, 3))
        finally:
            stop.set()
            thread.join()
        fleet.well()


@ways("fleet: servers", [
    ("one that answers noise", os.urandom(4096)), ("one that says nothing", b""), ("one that announces 4 GB", b"INFO {" + b"x" * (4 << 20)),
    ("one whose greeting is 50,000 deep", b"INFO " + b"[" * 50_000 + b"\r\n"), ("one that sends messages without an end", b'INFO {"server_id":"x","version":"2.9.0","max_payload":1048576,"headers":true,"jetstream":true,"proto":1,"go":"","host":"","port":1}\r\n'
     + b"MSG a 1 4294967295\r\n" + bytes(1 << 20)),
])
def servers(answer):
    server = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def serve():
        server.settimeout(0.2)
        while not stopped.is_set():
            try:
                peer, _ = server.accept()
                threading.Thread(target=lambda peer=peer: (peer.sendall(answer), stopped.wait(20), peer.close()), daemon=True).start()
            except OSError:
                pass
    threading.Thread(target=serve, daemon=True).start()
    with Folder() as folder:
        url = f"nats://127.0.0.1:{server.getsockname()[1]}"
        run("fleet", "ls", "--fleet", url, codes=(2, 3), seconds=60)
        agent = folder.keep(start("agent", "--join", url, "--spool", folder.path, text=True))
        time.sleep(1)
        demand(agent.poll() in (None, 2, 3) and (agent.poll() is not None or resident(agent) < 256 << 20), f"an agent ends with {agent.poll()}")
        path = folder.write("s.toml", SCENARIO)
        run("run", path, "--fleet", url, "--patience", "3s", "--quiet", "--out", folder("r.wsr"), codes=(2, 3), seconds=60)
    stopped.set()
    server.close()


@way("fleet: secrets", "a coordinator and an agent without the server's token")
def no_token():
    with Folder() as folder:
        if shutil.which("nats-server") is None:
            raise Skip("nats-server is not here")
        port = free_port()
        folder.keep(subprocess.Popen(["nats-server", "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", folder("js"), "--auth", "the-right-token-of-all"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        time.sleep(1)
        wrong = folder.write("wrong", "not-the-token")
        os.chmod(wrong, 0o600)
        url = f"nats://127.0.0.1:{port}"
        for more in ([], ["--token-file", wrong]):
            run("fleet", "ls", "--fleet", url, *more, codes=(2, 3))
            done = run("agent", "--join", url, "--spool", folder.path, *more, codes=(2, 3))
            demand("not-the-token" not in done.text, "a secret is printed")
