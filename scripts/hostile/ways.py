"""What all hostile ways share: the list of them, how the program is called, and what counts as broken."""

import os, resource, shutil, signal, socket, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.abspath(os.environ.get("WIRESPEED", HERE + "/../../target/release/wirespeed"))
WAYS = []
# What a command may use, whatever it is given.
SECONDS, MEMORY = 40, 1 << 30


class Broke(Exception):
    """The program did what it must not do."""


class Skip(Exception):
    """Something that the way needs is not here."""


def way(area, name):
    """Marks a function as one hostile way: it returns where the program held, and raises `Broke` where not."""
    def mark(function):
        WAYS.append((area, name, function))
        return function
    return mark


def ways(area, cases):
    """One way for each of the cases: a name, and the arguments of the function."""
    def mark(function):
        for name, *arguments in cases:
            WAYS.append((area, name, lambda function=function, arguments=arguments: function(*arguments)))
        return function
    return mark


def demand(holds, why):
    if not holds:
        raise Broke(why)


class Done:
    def __init__(self, code, out, err, peak):
        self.code, self.out, self.err, self.peak = code, out, err, peak
        self.text = out + err


def start(*args, **more):
    """A command of the program that goes on."""
    environment = {**os.environ, "NO_COLOR": "1", **more.pop("env", {})}
    return subprocess.Popen([PROGRAM, *map(str, args)], env=environment, stdin=more.pop("stdin", subprocess.DEVNULL),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def run(*args, codes=(0, 1, 2, 3, 4), seconds=SECONDS, memory=MEMORY, said=True, **more):
    """A command that must end in time, with an exit code of ours, within its memory, and with words where it fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        environment = {**os.environ, "NO_COLOR": "1", **more.pop("env", {})}
        words = more.pop("line", None) or [PROGRAM, *args]
        process = subprocess.Popen(words, env=environment, stdin=more.pop("stdin", subprocess.DEVNULL),
                                   stdout=more.pop("stdout", out), stderr=more.pop("stderr", err), **more)
        limit = time.time() + seconds
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.time() > limit:
                process.kill()
                os.wait4(process.pid, 0)
                process.returncode = -9
                raise Broke(f"no end after {seconds} s")
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        done = Done(process.returncode, out.read(1 << 22).decode("utf-8", "replace"),
                    err.read(1 << 22).decode("utf-8", "replace"), usage.ru_maxrss * 1024)
    demand(done.code in codes, f"exit code {done.code}: {done.text[-400:]}")
    demand("panicked" not in done.text, f"a panic: {done.text[-400:]}")
    demand(done.peak < memory, f"{done.peak >> 20} MiB of memory")
    demand(not said or done.code in (0, 1) or done.text.strip(), f"exit code {done.code} without a word")
    demand("\x1b" not in done.text, "an escape reaches the terminal")
    return done


def record(path, seconds=1):
    """Makes a small record. A run that got no processor, on a busy machine, is incomplete: then once more."""
    for attempt in range(5):
        if os.path.exists(path):
            os.remove(path)
        done = run("disk", "null:", "--warmup", "0s", "--time", f"{seconds}s", "--quiet", "--out", path, codes=(0, 3))
        if done.code == 0:
            return
    raise Broke(f"no complete record in five attempts: {done.text[-400:]}")


class Folder:
    """A folder of a way's own, with the commands that are to be ended."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="hostile-")
        self.processes, self.undo = [], []
        return self

    def __call__(self, name):
        return self.path + "/" + name

    def write(self, name, data):
        with open(self(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))
        return self(name)

    def keep(self, process):
        self.processes.append(process)
        threading.Thread(target=lambda: [None for _ in process.stderr], daemon=True).start()
        return process

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for step in reversed(self.undo):
            step()
        shutil.rmtree(self.path, ignore_errors=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def resident(process):
    """Bytes of memory that a process uses."""
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def alive(process, memory=MEMORY):
    """A server must go on, within its memory."""
    demand(process.poll() is None, f"the server ended with {process.returncode}")
    demand(resident(process) < memory, f"the server uses {resident(process) >> 20} MiB")


def connect(port, seconds=5):
    peer = socket.create_connection(("127.0.0.1", port), seconds)
    peer.settimeout(seconds)
    return peer


def until(is_so, seconds, why):
    limit = time.time() + seconds
    while not is_so():
        demand(time.time() < limit, why)
        time.sleep(0.05)


def go(chosen):
    """Tries the ways of the chosen areas; how many there were, held, broke and were skipped."""
    counts, broke, skipped = {}, [], []
    for area, name, function in WAYS:
        if chosen and area not in chosen and name not in chosen:
            continue
        began = time.time()
        of = counts.setdefault(area, [0, 0])
        try:
            function()
        except Skip as why:
            skipped.append(f"{area}: {name}: {why}")
            print(f"skipped: {area}: {name}: {why}", flush=True)
            continue
        except Broke as why:
            broke.append(f"{area}: {name}")
            print(f"BROKE: {area}: {name}: {why}", flush=True)
            of[0] += 1
            continue
        except Exception as why:
            # What the way itself could not do is no reason to leave out the others.
            broke.append(f"{area}: {name}")
            print(f"BROKE: {area}: {name}: {type(why).__name__}: {why}", flush=True)
            of[0] += 1
            continue
        of[0] += 1
        of[1] += 1
        if os.environ.get("TIMES"):
            print(f"held: {area}: {name} ({time.time() - began:.1f} s)", flush=True)
    for area, (tried, held) in counts.items():
        print(f"{area}: {tried} tried, {held} held")
    tried, held = (sum(of[n] for of in counts.values()) for n in (0, 1))
    print(f"hostile: {tried} ways tried, {held} held, {len(broke)} broke, {len(skipped)} skipped", flush=True)
    return 1 if broke or not tried or (skipped and os.environ.get("CI")) else 0


def signal_safe():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.setrecursionlimit(10000)
