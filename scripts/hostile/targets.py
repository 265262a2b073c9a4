"""A target whose initiators are hostile: logins, text keys, PDUs, commands, quotas, slow peers; a tape library; and the local
socket over which a running target is asked. After each way another initiator writes a block and reads it again."""

import importlib.machinery, importlib.util, os, random, signal, socket, struct, subprocess, threading, time
from ways import HERE, Broke, Folder, alive, connect, demand, free_port, run, start, until, way, ways

LOADER = importlib.machinery.SourceFileLoader("losses", HERE + "/../soak-losses")
losses = importlib.util.module_from_spec(importlib.util.spec_from_loader("losses", LOADER))
LOADER.exec_module(losses)
NAME = losses.NAME


class Served:
    """A target with a volume in memory and one in a file."""

    def __init__(self, folder, *more, volumes=("ram:8MiB",)):
        self.port = losses.PORT = free_port()
        args = ["target", "serve", "--iqn", NAME, "--portal", f"127.0.0.1:{self.port}", *more]
        for volume in volumes:
            args += ["--volume", volume]
        self.process = start(*args, env={"XDG_RUNTIME_DIR": folder.path}, text=True)
        demand(self.process.stdout.readline(), "it serves")
        folder.keep(self.process)

    def well(self, lun=True):
        """It lives, within its memory, and serves another initiator."""
        alive(self.process, 512 << 20)
        if not lun:
            return
        for attempt in range(20):
            try:
                session = losses.Session(b"\x80\0\0\0\1\x07")
                data = os.urandom(4096)
                demand(session.write(3, data) == 0, "it writes")
                demand(read(session, 24, 8) == data, "it reads what was written")
                session.socket.close()
                return
            except losses.Lost as lost:
                time.sleep(0.25)
        raise Broke(f"no other initiator gets in: {lost}")


def read(session, block, count, lun=0):
    """READ (10); the data of all its PDUs."""
    session.tag += 1
    header = struct.pack(">BBHI", 0x01, 0xc1, 0, 0) + bytes([0, lun]) + bytes(6)
    header += struct.pack(">IIII", session.tag, count * 512, session.sn, 0) + struct.pack(">BBIBHB", 0x28, 0, block, 0, count, 0).ljust(16, b"\0")
    session.sn = (session.sn + 1) & 0xffffffff
    session.send(header)
    data = b""
    while True:
        answer, part = session.receive()
        if answer[0] & 0x3f == 0x25:
            data += part
        if answer[0] & 0x3f == 0x21 or answer[1] & 1:
            return data


def login_header(text_length, flags=0x87, ahs=0, isid=b"\x80\0\0\0\0\x02", tsih=0, cid=0, version=0):
    header = struct.pack(">BBBB", 0x43, flags, version, 0) + bytes([ahs]) + text_length.to_bytes(3, "big") + isid + struct.pack(">H", tsih)
    return (header + struct.pack(">IHHII", 0, cid, 0, 0, 0)).ljust(48, b"\0")


def keys(**more):
    text = {"InitiatorName": NAME + ".h", "TargetName": NAME, "SessionType": "Normal", **more}
    return b"".join(f"{key}={value}\0".encode("latin-1") for key, value in text.items())


def poke(port, data, seconds=1.0, half=False):
    """Sends bytes; what comes within the time."""
    answer = b""
    try:
        with connect(port, seconds) as peer:
            peer.sendall(data)
            if half:
                peer.shutdown(socket.SHUT_WR)
            while len(answer) < 1 << 20:
                part = peer.recv(65536)
                if not part:
                    break
                answer += part
    except OSError:
        pass
    return answer


def login(text, **header):
    return login_header(len(text), **header) + text + bytes(-len(text) % 4)


CHANCE = random.Random(9)
LOGINS = [
    ("additional header segments of 1,020 bytes", lambda: login_header(0, ahs=255) + bytes(255 * 4)),
    ("data of 16 MB announced", lambda: login_header(0xffffff) + bytes(100_000)),
    ("a hundred thousand keys", lambda: login(b"".join(b"X-k%d=1\0" % n for n in range(800)))),
    ("one key a hundred times", lambda: login(keys() + b"MaxBurstLength=512\0" * 100)),
    ("keys without a value", lambda: login(keys() + b"HeaderDigest\0=\0==\0\0\0")),
    ("keys of zeros alone", lambda: login(bytes(8000))),
    ("a name of 8,000 bytes", lambda: login(keys(InitiatorName="iqn." + "x" * 7000))),
    ("a name that steers a terminal", lambda: login(keys(InitiatorName="iqn.\x1b]0;x\x07\x9b31m"))),
    ("numbers that are none", lambda: login(keys(MaxRecvDataSegmentLength="-1", FirstBurstLength="0x", MaxBurstLength="99999999999999999999"))),
    ("numbers of 2^24 and more", lambda: login(keys(MaxRecvDataSegmentLength="16777215", FirstBurstLength="16777216", MaxConnections="65536"))),
    ("lists of a thousand digests", lambda: login(keys(HeaderDigest=",".join(["CRC32C", "X"] * 500)))),
    ("stages that run backwards", lambda: login(keys(), flags=0x8d)),
    ("a stage that is none", lambda: login(keys(), flags=0x8a)),
    ("text that goes on for ever", lambda: login(keys(), flags=0x44) * 500),
    ("a session that is not there", lambda: login(keys(), tsih=0xffff)),
    ("versions of the future", lambda: login(keys(), version=0x7f)),
    ("another target's name", lambda: login(keys(TargetName="iqn.2026-01.example:other/../../x"))),
    ("SendTargets before the login", lambda: bytes([0x04, 0x80]) + bytes(2) + (0).to_bytes(4, "big") + bytes(40)),
    ("every opcode before the login", lambda: b"".join(bytes([op, 0x80]) + bytes(46) for op in range(64))),
    ("a greeting of TLS", lambda: bytes.fromhex("16030100c8010000c40303") + bytes(200)),
    ("a request of HTTP", lambda: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 10),
    ("noise", lambda: CHANCE.randbytes(200_000)),
    ("CHAP that was not asked for", lambda: login(keys(AuthMethod="CHAP", CHAP_A="5", CHAP_N="x", CHAP_R="0x" + "00" * 1000), flags=0x81)),
]


@ways("target: logins", LOGINS)
def logins(make):
    with Folder() as folder:
        served = Served(folder)
        for half in (False, True):
            poke(served.port, make(), half=half)
        served.well()


def command(tag, cdb, edtl=0, flags=0x81, lun=0, sn=1, data=b""):
    header = struct.pack(">BBHI", 0x01, flags, 0, len(data)) + struct.pack(">Q", lun << 48) + struct.pack(">IIII", tag, edtl, sn, 0)
    return header + cdb.ljust(16, b"\0") + data + bytes(-len(data) % 4)


def pdu(opcode, flags=0x80, data=b"", rest=bytes(40)):
    return struct.pack(">BBHI", opcode, flags, 0, len(data)) + rest[:40] + data + bytes(-len(data) % 4)


WRITE = struct.pack(">BBIBHB", 0x2a, 0, 0, 0, 8, 0)
PDUS = [
    ("every opcode with every flag", lambda: [pdu(op, flags) for op in range(64) for flags in (0, 0x80, 0xff)]),
    ("a ping of 200 KB", lambda: [pdu(0x40, 0x80, bytes(200_000), struct.pack(">QIIII", 0, 9, 0xffffffff, 1, 0).ljust(40, b"\0"))]),
    ("5,000 pings that want no answer", lambda: [pdu(0x40, 0x80, b"x" * 64, struct.pack(">QIIII", 0, 0xffffffff, 0xffffffff, 1, 0).ljust(40, b"\0"))] * 5000),
    ("data that nothing asked for", lambda: [pdu(0x05, 0x80, bytes(4096), struct.pack(">QII", 0, 77, 0xffffffff).ljust(40, b"\0"))] * 100),
    ("data beyond the end of a write", lambda: [command(5, WRITE, 4096, 0x21), pdu(0x05, 0x80, bytes(8192), struct.pack(
        ">QIIIIIII", 0, 5, 0xffffffff, 0, 0, 0, 0, 0xfffff000))]),
    ("data with a tag of another transfer", lambda: [command(5, WRITE, 4096, 0x21), pdu(0x05, 0x80, bytes(4096), struct.pack(
        ">QIIIIIII", 0, 5, 0x12345678, 0, 0, 0, 0, 0))]),
    ("two commands of one tag", lambda: [command(5, WRITE, 4096, 0x21), command(5, WRITE, 4096, 0x21)]),
    ("command numbers that leap", lambda: [command(n, bytes(6), sn=(n * 0x10000000) & 0xffffffff) for n in range(64)]),
    ("a thousand commands at once", lambda: [command(n, struct.pack(">BBIBHB", 0x28, 0, 0, 0, 128, 0), 65536, 0xc1, sn=n + 1) for n in range(1000)]),
    ("a read and a write at once", lambda: [command(5, WRITE, 4096, 0xe1)]),
    ("an expected length of 4 GB", lambda: [command(5, WRITE, 0xffffffff, 0x21)]),
    ("a LUN that is not there", lambda: [command(n, WRITE, 4096, 0xa1, lun=n, sn=n) for n in range(1, 64)]),
    ("a LUN of another addressing", lambda: [command(1, bytes(6), lun=0xffff)]),
    ("task management of what is not there", lambda: [pdu(0x42, 0x80 | function, rest=struct.pack(">QIII", 0, 8, 0xdead, 1).ljust(40, b"\0")) for function in range(1, 16)]),
    ("a thousand task managements", lambda: [pdu(0x42, 0x82, rest=struct.pack(">QIII", 0, n, n, 1).ljust(40, b"\0")) for n in range(1000)]),
    ("a selective acknowledgement of everything", lambda: [pdu(0x50, 0x80 | kind, rest=struct.pack(">QII", 0, 0xffffffff, 1).ljust(40, b"\xff")) for kind in range(4)]),
    ("text keys in full feature phase", lambda: [pdu(0x04, 0x80, b"SendTargets=\xff\x1b[31m\0InitiatorName=x\0HeaderDigest=CRC32C\0",
                                                     struct.pack(">QIII", 0, 9, 0xffffffff, 1).ljust(40, b"\0"))] * 20),
    ("text that goes on for ever", lambda: [pdu(0x04, 0x40, b"X-a=" + b"y" * 8000, struct.pack(">QIII", 0, 9, 0xffffffff, 1).ljust(40, b"\0"))] * 400),
    ("a logout for a connection that is not there", lambda: [pdu(0x06, 0x82, rest=struct.pack(">QIHHI", 0, 1, 0xffff, 0, 1).ljust(40, b"\0"))]),
    ("header segments of every type", lambda: [struct.pack(">BBHBBH", 0x01, 0x81, 0, n, 0, 0) + bytes(40) + bytes([0, 4 * n & 0xff, n]) + bytes(4 * n) for n in range(60)]),
]


@ways("target: PDUs", PDUS)
def pdus(make):
    with Folder() as folder:
        served = Served(folder)
        for piece in (None, 7):
            try:
                session = losses.Session(b"\x80\0\0\0\0\x03")
                data = b"".join(make())
                if piece:
                    for at in range(0, min(len(data), 700), piece):
                        session.socket.sendall(data[at:at + piece])
                else:
                    session.socket.settimeout(1)
                    session.socket.sendall(data)
                    while session.socket.recv(65536):
                        pass
            except (OSError, losses.Lost):
                pass
        served.well()


def cdb_of(name):
    return {
        "a read beyond the end": struct.pack(">BBQIBB", 0x88, 0, 2**64 - 1, 2**32 - 1, 0, 0),
        "a write of 2^32 blocks": struct.pack(">BBQIBB", 0x8a, 0, 0, 2**32 - 1, 0, 0),
        "WRITE SAME of everything and more": struct.pack(">BBQIBB", 0x93, 0, 1, 2**32 - 1, 0, 0),
        "WRITE SAME without an end": struct.pack(">BBQIBB", 0x93, 1, 0, 0, 0, 0),
        "UNMAP with a list beyond its data": struct.pack(">BBIBHB", 0x42, 0, 0, 0, 0xffff, 0),
        "COMPARE AND WRITE of 255 blocks": struct.pack(">BBQ3xBBB", 0x89, 0, 2**63, 255, 0, 0),
        "PERSISTENT RESERVE OUT of every kind": None, "every CDB there is": None, "INQUIRY of every page": None,
        "MODE SELECT of noise": struct.pack(">BBxxxxxHB", 0x55, 0x11, 4000, 0),
        "REPORT LUNS into nothing": struct.pack(">BBxxxxIBB", 0xa0, 0, 0, 0, 0),
    }[name]


COMMANDS = ["a read beyond the end", "a write of 2^32 blocks", "WRITE SAME of everything and more", "WRITE SAME without an end",
            "UNMAP with a list beyond its data", "COMPARE AND WRITE of 255 blocks", "PERSISTENT RESERVE OUT of every kind",
            "every CDB there is", "INQUIRY of every page", "MODE SELECT of noise", "REPORT LUNS into nothing"]


def tell(session, cdb, data=b"", lun=0, edtl=None, reads=False):
    """A command with its data at once; its status, or `None` where it has none in time."""
    session.tag += 1
    flags = 0x81 | (0x20 if data else 0) | (0x40 if reads else 0)
    session.send(command(session.tag, cdb, len(data) if edtl is None else edtl, flags, lun, session.sn, data))
    session.sn = (session.sn + 1) & 0xffffffff
    while True:
        answer, _ = session.receive()
        if answer[0] & 0x3f == 0x21:
            return answer[3]
        if answer[0] & 0x3f == 0x25 and answer[1] & 1:
            return answer[3]
        if answer[0] & 0x3f == 0x31:
            # It is ready for more than comes: the command is left alone.
            return None


def storm(session_of, many, lun=0):
    """Commands one after the other, with a new session whenever one is lost."""
    session = session_of()
    for cdb, data, edtl, reads in many:
        for _ in range(2):
            try:
                session.socket.settimeout(3)
                tell(session, cdb, data, lun, edtl, reads)
                break
            except (losses.Lost, OSError):
                session = session_of()
    session.socket.close()


@ways("target: commands", [(name, name) for name in COMMANDS])
def commands(name):
    chance = random.Random(name)
    with Folder() as folder:
        served = Served(folder, volumes=("ram:8MiB", f"file:{folder('v')},size=1MiB"))
        fresh = lambda: losses.Session(b"\x80\0\0\0\0\x04")
        if name == "every CDB there is":
            many = [(bytes([op]) + chance.randbytes(15), chance.randbytes(chance.choice([0, 24, 512])), None, chance.random() < 0.3)
                    for op in range(256) for _ in range(2)]
        elif name == "INQUIRY of every page":
            many = [(struct.pack(">BBBHB", 0x12, 1, page, length, 0), b"", length, True) for page in range(256) for length in (0, 65535)]
        elif name == "PERSISTENT RESERVE OUT of every kind":
            many = [(struct.pack(">BBBxxIB", 0x5f, action, kind, length, 0), chance.randbytes(24), None, False)
                    for action in range(10) for kind in (0, 5, 0xff) for length in (0, 24, 2**32 - 1)]
        else:
            cdb = cdb_of(name)
            many = [(cdb, chance.randbytes(size), edtl, reads) for size, edtl, reads in
                    [(0, 0, False), (512, None, False), (4000, None, False), (0, 4096, True), (8192, 2**31, False)]]
        for lun in (0, 1):
            storm(fresh, many, lun)
        # What they may have reserved goes with the key.
        clear = losses.Session(b"\x80\0\0\0\0\x04")
        for _ in range(4):
            tell(clear, bytes(6))
        served.process.poll()
        if name not in ("every CDB there is", "PERSISTENT RESERVE OUT of every kind"):
            served.well()
        else:
            alive(served.process, 512 << 20)
            demand(poke(served.port, login(keys(SessionType="Discovery")))[:1] == b"\x23", "it answers a login")


@way("target: peers", "600 silent connections")
def silent():
    with Folder() as folder:
        served = Served(folder)
        peers = [connect(served.port) for _ in range(600)]
        served.well()
        del peers


@way("target: peers", "500 connections that are reset at once")
def resets():
    with Folder() as folder:
        served = Served(folder)
        for _ in range(500):
            peer = connect(served.port)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.send(login(keys()))
            peer.close()
        served.well()


@way("target: peers", "a login of one byte at a time")
def trickle():
    with Folder() as folder:
        served = Served(folder, "--login-time", "2s")
        peer = connect(served.port, 8)
        dropped = False
        try:
            for byte in login(keys())[:40]:
                peer.send(bytes([byte]))
                time.sleep(0.15)
            dropped = peer.recv(1) == b""
        except OSError:
            dropped = True
        demand(dropped, "its time for a login is over")
        served.well()


@way("target: peers", "a reader that asks for 64 MB and takes none")
def no_reader():
    with Folder() as folder:
        served = Served(folder)
        peers = []
        for number in range(4):
            session = losses.Session(b"\x80\0\0\0\0" + bytes([0x20 + number]))
            many = [command(n, struct.pack(">BBIBHB", 0x28, 0, 0, 0, 1024, 0), 524288, 0xc1, sn=session.sn + n) for n in range(32)]
            session.socket.setblocking(False)
            try:
                session.socket.send(b"".join(many))
            except OSError:
                pass
            peers.append(session)
        time.sleep(1)
        served.well()


@way("target: peers", "one name logs in 300 times, and the session is taken over 200 times")
def takeovers():
    with Folder() as folder:
        served = Served(folder)
        held = []
        for number in range(300):
            try:
                held.append(losses.Session(b"\x80\0\0" + number.to_bytes(3, "big")))
            except (losses.Lost, OSError):
                break
        demand(len(held) <= 256, f"{len(held)} sessions of one name")
        for _ in range(200):
            try:
                losses.Session(b"\x80\0\0\0\0\0")
            except (losses.Lost, OSError):
                pass
        for session in held:
            session.socket.close()
        time.sleep(1)
        served.well()


# Tapes.

def library(folder):
    return Served(folder, "--library", f"{folder('lib')},drives=1,slots=4,cartridges=2,capacity=32MB,rate=off", volumes=("ram:1MiB",))


TAPE = [
    ("a block of 16 MB announced", lambda c: [(struct.pack(">BB3sB", 0x0a, 0, b"\xff\xff\xff", 0), bytes(512), None, False)] * 3),
    ("16 million file marks", lambda c: [(struct.pack(">BB3sB", 0x10, 0, b"\xff\xff\xff", 0), b"", None, False)] * 3),
    ("spaces of 8 million, both ways", lambda c: [(struct.pack(">BB3sB", 0x11, kind, way, 0), b"", None, False)
                                                   for kind in range(8) for way in (b"\x7f\xff\xff", b"\x80\0\0")]),
    ("a position beyond all tapes", lambda c: [(struct.pack(">BBBBQxxxx", 0x92, kind << 3, 0, 0, 2**64 - 1), b"", None, False) for kind in range(4)]),
    ("moves between elements that are not there", lambda c: [(struct.pack(">BBHHHxxBB", 0xa5, 0, c.randrange(65536), c.randrange(65536), c.randrange(65536), 0, 0),
                                                              b"", None, False) for _ in range(200)]),
    ("status of 65,535 elements", lambda c: [(struct.pack(">BBHHB3sBB", 0xb8, kind | 0x10, 0, 0xffff, 1, b"\xff\xff\xff", 0, 0), b"", 0xffffff, True) for kind in range(5)]),
    ("MODE SELECT and LOG SELECT of noise", lambda c: [(bytes([op, 0x11]) + c.randbytes(6) + b"\x00\x40\0", c.randbytes(64), None, False) for op in (0x15, 0x55, 0x4c) for _ in range(40)]),
    ("2,000 CDBs of noise", lambda c: [(bytes([c.randrange(256)]) + c.randbytes(15), c.randbytes(c.choice([0, 16, 512])), None, c.random() < 0.3) for _ in range(700)]),
]


@ways("tape library", TAPE)
def tapes(make):
    chance = random.Random(4)
    with Folder() as folder:
        served = library(folder)
        fresh = lambda: losses.Session(b"\x80\0\0\0\0\x05")
        load = struct.pack(">BBHHHxxBB", 0xa5, 0, 0, 1000, 0, 0, 0)
        for lun in (1, 2):
            storm(fresh, [(load, b"", None, False), (bytes([0x1b, 0, 0, 0, 1, 0]), b"", None, False), *make(chance)], lun)
        served.well()
        used = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder("lib")) for name in names)
        demand(used < 256 << 20, f"cartridges of {used >> 20} MiB")


@way("tape library", "cartridges that are cut, flipped, folders, links, pipes")
def cartridges():
    chance = random.Random(6)
    with Folder() as folder:
        library(folder)
        folder.__exit__
        for process in folder.processes:
            process.terminate()
            process.wait()
        files = sorted(os.path.join(at, name) for at, _, names in os.walk(folder("lib")) for name in names)
        demand(files, "a library has files")
        for path in files:
            with open(path, "rb") as file:
                whole = file.read()
            for number in range(6):
                data = bytearray(whole[:chance.randrange(len(whole) + 1)] if number % 2 else whole)
                for _ in range(20):
                    if data:
                        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                with open(path, "wb") as file:
                    file.write(data)
                serve_once(folder)
            os.unlink(path)
            os.symlink("/etc/passwd", path)
            before = open("/etc/passwd", "rb").read()
            serve_once(folder)
            demand(open("/etc/passwd", "rb").read() == before, "a link is followed and written")
            os.unlink(path)
            os.mkdir(path)
            serve_once(folder)
            os.rmdir(path)
            with open(path, "wb") as file:
                file.write(whole)


def serve_once(folder):
    """A library that is served for a moment, or refused in words."""
    process = start("target", "serve", "--portal", "127.0.0.1:0", "--library", f"{folder('lib')},rate=off", env={"XDG_RUNTIME_DIR": folder.path}, text=True)
    timer = threading.Timer(20, process.kill)
    timer.start()
    line = process.stdout.readline()
    process.terminate()
    said = process.stderr.read()
    process.wait()
    timer.cancel()
    demand(process.returncode in (0, 2, 3, 4) and "panicked" not in said, f"{process.returncode}: {said[-300:]}")
    demand(line or said.strip(), "it says why not")


# The local socket of a running target.

def sockets(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder.path) for name in names
            if os.path.exists(os.path.join(at, name)) and os.stat(os.path.join(at, name)).st_mode & 0o170000 == 0o140000]


@ways("control socket", [
    ("noise", lambda: random.Random(1).randbytes(100_000)), ("JSON 50,000 deep", lambda: b"[" * 50_000 + b"\n"),
    ("a request without an end", lambda: b"x" * (8 << 20)), ("a length of 4 GB", lambda: b"\xff\xff\xff\xff" * 100),
    ("nothing, from 300 clients", None),
])
def asked(make):
    with Folder() as folder:
        served = Served(folder)
        found = sockets(folder)
        demand(found, "a running target has a socket")
        peers = []
        for _ in range(300 if make is None else 2):
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(1)
            try:
                peer.connect(found[0])
                if make:
                    peer.sendall(make())
                    peer.recv(65536)
            except OSError:
                pass
            peers.append(peer)
        served.well()
        for peer in peers:
            peer.close()
        time.sleep(0.5)
        run("target", "status", "--format", "json", env={"XDG_RUNTIME_DIR": folder.path}, codes=(0,))


@ways("control socket", [("a server that answers noise", b"\x1b[31m" + bytes(100_000)), ("a server that never ends", None), ("a server that says nothing", b"")])
def false_server(answer):
    with Folder() as folder:
        served = Served(folder)
        path = sockets(folder)[0]
        served.process.kill()
        served.process.wait()
        if os.path.exists(path):
            os.unlink(path)
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(8)

        def serve():
            while True:
                try:
                    peer, _ = server.accept()
                    peer.sendall(answer if answer is not None else b"")
                    while answer is None:
                        peer.sendall(b"{" * 65536)
                    if answer:
                        peer.close()
                except OSError:
                    if server.fileno() < 0:
                        return
        threading.Thread(target=serve, daemon=True).start()
        run("target", "status", env={"XDG_RUNTIME_DIR": folder.path}, codes=(2, 3))
        server.close()
