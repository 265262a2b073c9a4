"""The page (`wirespeed serve`) with hostile clients: requests that are none, names and paths, tokens, streams without end."""

import json, os, random, re, socket, threading, time
from ways import Broke, Folder, alive, connect, demand, record, run, start, until, way, ways

TOKEN = "a-token-of-sixteen-and-more"


class Page:
    def __init__(self, folder, token=False, *more):
        os.mkdir(folder("lib"))
        record(folder("lib/r.wsr"))
        folder.write("secret.txt", "precious")
        args = ["serve", folder("lib"), "--listen", "127.0.0.1:0", *more]
        if token:
            path = folder.write("token", TOKEN)
            os.chmod(path, 0o600)
            args += ["--token-file", path]
        self.process = start(*args, text=True)
        line = self.process.stderr.readline()
        folder.keep(self.process)
        self.port = int(re.search(r":(\d+)/", line).group(1))
        self.host = f"127.0.0.1:{self.port}"

    def ask(self, data, seconds=3):
        """Sends bytes; what comes until the other end has nothing more to say."""
        answer = b""
        try:
            with connect(self.port, seconds) as peer:
                peer.sendall(data)
                while len(answer) < 4 << 20:
                    part = peer.recv(65536)
                    if not part:
                        break
                    answer += part
        except OSError:
            pass
        return answer

    def get(self, path, *lines, method="GET", body=b""):
        head = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", "Connection: close", *lines]
        if body:
            head.append(f"Content-Length: {len(body)}")
        return self.ask("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)

    def well(self, token=False):
        alive(self.process, 512 << 20)
        lines = [f"Authorization: Bearer {TOKEN}"] if token else []
        for _ in range(20):
            answer = self.get("/api/v1/records", *lines)
            if b" 200 " in answer[:20]:
                return
            time.sleep(0.5)
        raise Broke(f"it serves nothing: {answer[:200]!r}")


def request(*lines):
    return lambda page: "\r\n".join(lines).format(host=page.host).encode("latin-1") + b"\r\n\r\n"


REQUESTS = [
    ("two lengths", request("POST /api/v1/plan HTTP/1.1", "Host: {host}", "Content-Length: 5", "Content-Length: 500", "", "abcde")),
    ("a length and parts", request("POST /api/v1/plan HTTP/1.1", "Host: {host}", "Content-Length: 5", "Transfer-Encoding: chunked", "", "0", "", "GET / HTTP/1.1")),
    ("a length of 2^64", request("POST /api/v1/plan HTTP/1.1", "Host: {host}", "Content-Length: 18446744073709551616")),
    ("a part of 2^64 bytes", request("POST /api/v1/plan HTTP/1.1", "Host: {host}", "Transfer-Encoding: chunked", "", "ffffffffffffffff", "x")),
    ("parts with a megabyte of remarks", lambda page: b"POST /api/v1/plan HTTP/1.1\r\nHost: " + page.host.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * (1 << 20)),
    ("ten thousand headers", lambda page: b"GET / HTTP/1.1\r\nHost: " + page.host.encode() + b"\r\n" + b"X: y\r\n" * 10_000 + b"\r\n"),
    ("a header of a megabyte", lambda page: b"GET / HTTP/1.1\r\nHost: " + page.host.encode() + b"\r\nX: " + b"y" * (1 << 20) + b"\r\n\r\n"),
    ("a path of a megabyte", lambda page: b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: " + page.host.encode() + b"\r\n\r\n"),
    ("a thousand requests at once", lambda page: (b"GET / HTTP/1.1\r\nHost: " + page.host.encode() + b"\r\n\r\n") * 1000),
    ("the greeting of HTTP/2", lambda page: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(1000)), ("a greeting of TLS", lambda page: b"\x16\x03\x01\x02\x00" + bytes(512)),
    ("no host", request("GET / HTTP/1.1")), ("two hosts", request("GET / HTTP/1.1", "Host: {host}", "Host: evil.example")),
    ("a whole address of another site", request("GET http://evil.example/ HTTP/1.1", "Host: {host}")),
    ("a host with a user", request("GET / HTTP/1.1", "Host: a@{host}")), ("a host with a dot", request("GET / HTTP/1.1", "Host: 127.0.0.1.:80")),
    ("a tunnel", request("CONNECT evil.example:443 HTTP/1.1", "Host: {host}")), ("TRACE", request("TRACE / HTTP/1.1", "Host: {host}", "Cookie: a=b")),
    ("a method that is none", request("\x1b[31m / HTTP/1.1", "Host: {host}")), ("headers with zeros", request("GET / HTTP/1.1", "Host: {host}", "X: \0\0")),
    ("a folded header", request("GET / HTTP/1.1", "Host: {host}", "X: a", " Origin: b")), ("a range of 2^64", request("GET / HTTP/1.1", "Host: {host}", "Range: bytes=0-18446744073709551615")),
    ("a thousand ranges", request("GET / HTTP/1.1", "Host: {host}", "Range: bytes=" + ",".join("0-1" for _ in range(1000)))),
    ("an upgrade to a web socket", request("GET /api/v1/live HTTP/1.1", "Host: {host}", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13")),
]


@ways("page: requests", REQUESTS)
def requests(make):
    with Folder() as folder:
        page = Page(folder)
        answer = page.ask(make(page))
        demand(b"precious" not in answer, "a file out of the folder is told")
        demand(b"evil.example" not in answer, "another site's name comes back")
        page.well()


PATHS = ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/%252e%252e/secret.txt", "/..%c0%afsecret.txt", "/..\\secret.txt", "/records/../../secret.txt",
         "/api/v1/records/..%2f..%2fsecret.txt", "/api/v1/records/%00", "/api/v1/records/" + "a" * 5000, "//secret.txt", "/./../secret.txt", "/%ff%fe", "/api/v1/records/r.wsr%0d%0aX:%20y"]


@ways("page: paths", [(f"{path[:40]!r}", path) for path in PATHS])
def paths(path):
    with Folder() as folder:
        page = Page(folder)
        for kind in (path, "/records" + path, "/api/v1" + path):
            answer = page.get(kind)
            demand(b"precious" not in answer, "a file out of the folder is told")
            demand(b"\nX: y" not in answer, "a header of the client's comes back")
            demand(b" 500 " not in answer[:20], "an error of its own")
        page.well()


ORIGINS = [("no origin and no header", []), ("another site", ["Origin: http://evil.example"]), ("the origin `null`", ["Origin: null"]),
           ("the page's name with another port", ["Origin: http://127.0.0.1:1"]), ("https in the place of http", ["Origin: https://{host}"]),
           ("a name that begins like the page's", ["Origin: http://{host}.evil.example"]), ("a form of another site", ["Origin: http://evil.example", "Content-Type: text/plain"]),
           ("a fetch of another site", ["Sec-Fetch-Site: cross-site", "Wirespeed-Request: 1", "Origin: http://evil.example"])]


@ways("page: changes asked for by others", [(name, lines) for name, lines in ORIGINS])
def origins(lines):
    with Folder() as folder:
        page = Page(folder)
        body = json.dumps({"kind": "run", "scenario": "x"}).encode()
        answer = page.get("/api/v1/runs", *[line.format(host=page.host) for line in lines], method="POST", body=body)
        demand(answer[9:12] in (b"400", b"403", b"421"), f"not refused: {answer[:60]!r}")
        page.well()


@way("page: tokens", "500 guesses, and logins of a megabyte")
def guesses():
    with Folder() as folder:
        page = Page(folder, True)
        for number in range(500):
            answer = page.get("/api/v1/records", f"Authorization: Bearer {'x' * (number % 40)}{number}")
            demand(b" 200 " not in answer[:20], "a guess is let in")
        for text in (b"token=" + b"x" * (1 << 20), b"token=", b"\0" * 1000, b'{"token":' + b"[" * 50_000):
            answer = page.get("/login", f"Origin: http://{page.host}", "Content-Type: application/x-www-form-urlencoded", method="POST", body=text)
            demand(b"et-cookie" not in answer, "a wrong token logs in")
        for line in ("Authorization: Basic x", "Authorization: bearer", "Cookie: " + "a=b; " * 500, "Authorization: Bearer " + TOKEN[:-1], "Authorization: Bearer " + TOKEN + "x"):
            demand(b" 200 " not in page.get("/api/v1/records", line)[:20], "let in without the token")
        page.well(True)


@ways("page: bodies", [
    ("JSON 100,000 deep", b"[" * 100_000), ("JSON of a number of 10^6 digits", b"9" * 1_000_000), ("noise", os.urandom(100_000)), ("a scenario that is a bomb", json.dumps(
        {"text": "x = " + "[" * 50_000, "scenario": "y"}).encode()), ("a scenario of four billion VMs", json.dumps({"text": 'vm = [{ name = "v{1..4294967295}" }]'}).encode()),
    ("half a pair of UTF-16", b'{"text":"\\ud800"}'), ("a body of 2 MiB", b"x" * (2 << 20)),
])
def bodies(body):
    with Folder() as folder:
        page = Page(folder)
        for path in ("/api/v1/plan", "/api/v1/runs", "/api/v1/estimate", "/start", "/records/x/notes"):
            answer = page.get(path, "Wirespeed-Request: 1", "Content-Type: application/json", method="POST", body=body)
            demand(b" 500 " not in answer[:20] and b"panicked" not in answer, f"{path}: {answer[:100]!r}")
        page.well()


@way("page: clients", "300 streams that are never read")
def streams():
    with Folder() as folder:
        page = Page(folder)
        peers = []
        for number in range(300):
            try:
                peer = connect(page.port)
                path = ("/library/changes", "/api/v1/live/x/events")[number % 2]
                peer.sendall(f"GET {path} HTTP/1.1\r\nHost: {page.host}\r\nAccept: text/event-stream\r\n\r\n".encode())
                peers.append(peer)
            except OSError:
                break
        time.sleep(1)
        alive(page.process, 512 << 20)
        for peer in peers:
            peer.close()
        page.well()


@way("page: clients", "250 heads that never end")
def heads():
    with Folder() as folder:
        page = Page(folder)
        peers = []
        for _ in range(250):
            try:
                peer = connect(page.port)
                peer.sendall(b"GET / HTTP/1.1\r\nX: ")
            except OSError:
                # It need not take them; it must go on.
                break
            peers.append(peer)
        page.well()
        for peer in peers:
            peer.close()


@way("page: library", "records that are bombs, links and pipes in the folder")
def library():
    with Folder() as folder:
        page = Page(folder)
        os.symlink(folder("secret.txt"), folder("lib/l.wsr"))
        os.mkfifo(folder("lib/p.wsr"))
        os.symlink("/", folder("lib/root"))
        os.symlink(".", folder("lib/self"))
        folder.write("lib/n.wsr", random.Random(1).randbytes(1 << 20))
        folder.write("lib/\x1b]0;x\x07<script>alert(1)<.wsr".replace("/alert", "alert").replace("<script>", "<script>"), b"x")
        folder.write("lib/r.wsr.notes.json", b"[" * 100_000)
        folder.write("lib/.wirespeed-library.json", b"{" * 100_000)
        time.sleep(3)
        for path in ("/", "/api/v1/records"):
            answer = page.get(path)
            demand(b"precious" not in answer and b"<script>alert" not in answer, "what is in the folder gets out")
        page.well()
