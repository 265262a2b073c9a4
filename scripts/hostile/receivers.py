"""A receiver of network tests whose senders are hostile, and a sender whose receiver is."""

import json, os, socket, struct, threading, time
from ways import Folder, alive, connect, demand, free_port, run, start, way, ways

TOKEN = "a token of sixteen bytes and more"


class Receiving:
    def __init__(self, folder, token=None):
        self.port = free_port()
        env = {"WIRESPEED_NET_TOKEN": token} if token else {}
        self.env = env
        self.process = folder.keep(start("net", "receive", "--listen", f"127.0.0.1:{self.port}", env=env, text=True))
        threading.Thread(target=lambda: [None for _ in self.process.stdout], daemon=True).start()
        for _ in range(100):
            try:
                connect(self.port).close()
                break
            except OSError:
                time.sleep(0.05)

    def well(self, folder):
        alive(self.process, 512 << 20)
        run("net", "send", f"127.0.0.1:{self.port}", "--time", "1s", "--warmup", "0s", "--quiet", "--out", folder("n.wsr"),
            env=self.env, codes=(0,))


def frame(message):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack("<I", len(data)) + data


HELLO = {"hello": {"versions": [2, 2], "nonce": [7] * 16}}
SENDERS = [
    ("a message of 4 GB announced", [b"\xff\xff\xff\xff" + bytes(1000)]),
    ("JSON 500 deep before the greeting", [frame(b"[" * 900)]),
    ("noise", [os.urandom(4096)]),
    ("versions of 0 to 65,535", [frame({"hello": {"versions": [0, 65535], "nonce": [0] * 16}})]),
    ("versions that run backwards", [frame({"hello": {"versions": [9, 1], "nonce": [0] * 16}})]),
    ("two greetings", [frame(HELLO), frame(HELLO)]),
    ("a greeting and half a message", [frame(HELLO), b"\x40\0\0\0{"]),
    ("a test before the greeting", [frame({"prepare": {}})]),
    ("a test of 65,535 streams", [frame(HELLO), frame({"prepare": {"network": {"streams": 65535}}})]),
    ("JSON 100,000 deep after the greeting", [frame(HELLO), frame(b"[" * 100_000)]),
    ("a text of 3 MB", [frame(HELLO), frame(json.dumps({"x": "y" * (3 << 20)}).encode())]),
    ("10,000 questions for the time", [frame(HELLO)] + [frame({"clock": {"sent": n}}) for n in range(10_000)]),
    ("a start without a test", [frame(HELLO), frame({"start": {"at": 2**64 - 1, "since": 2**64 - 1}})]),
    ("an interface to be adjusted that was not offered", [frame(HELLO), frame({"adjust": {"mtu": 65535}})]),
    ("the end of a test that did not begin", [frame(HELLO), frame("done"), frame("stop"), frame("joined")]),
]


@ways("receiver", SENDERS)
def senders(pieces):
    with Folder() as folder:
        receiving = Receiving(folder)
        for _ in range(3):
            try:
                with connect(receiving.port, 1) as peer:
                    for piece in pieces:
                        peer.sendall(piece)
                    while peer.recv(65536):
                        pass
            except OSError:
                pass
        receiving.well(folder)


@way("receiver", "300 silent connections, and a hundred half greetings")
def silent():
    with Folder() as folder:
        receiving = Receiving(folder)
        peers = [connect(receiving.port) for _ in range(300)]
        for peer in peers[:100]:
            peer.send(b"\x10\0")
        receiving.well(folder)


@way("receiver", "a thousand wrong proofs")
def proofs():
    with Folder() as folder:
        receiving = Receiving(folder, TOKEN)
        for number in range(200):
            try:
                with connect(receiving.port, 2) as peer:
                    peer.sendall(frame(HELLO))
                    peer.recv(4096)
                    peer.sendall(frame({"proof": [number % 256] * 32}))
                    demand(b"welcome" not in peer.recv(4096), "a wrong proof is welcome")
            except OSError:
                pass
        receiving.well(folder)


@ways("receiver", [
    ("a receiver that answers noise", os.urandom(65536)), ("a receiver that announces 4 GB", b"\xff\xff\xff\x7f" + bytes(100)),
    ("a receiver that steers a terminal", frame({"refused": "\x1b]0;x\x07\x1b[31m\u202e" * 10})),
    ("a receiver that says nothing", b""),
])
def receivers(answer):
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        try:
            while True:
                peer, _ = server.accept()
                threading.Thread(target=lambda peer=peer: (peer.recv(65536), peer.sendall(answer), time.sleep(30)), daemon=True).start()
        except OSError:
            pass
    threading.Thread(target=serve, daemon=True).start()
    with Folder() as folder:
        run("net", "send", f"127.0.0.1:{server.getsockname()[1]}", "--time", "300ms", "--warmup", "0s", "--out", folder("n.wsr"), codes=(2, 3), seconds=60)
    server.close()
