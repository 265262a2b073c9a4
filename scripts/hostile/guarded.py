"""Targets that must not be written, by ways beside the guard's matrix: each holds data of somebody and is read again after."""

import fcntl, hashlib, os, random, shutil, socket, struct, subprocess, tempfile
from ways import PROGRAM, Broke, Folder, Skip, demand, run, way, ways

SIZE = 4 << 20
DATA = random.Random(8).randbytes(SIZE)
# A second: on a disk that others keep busy nothing may complete in less.
LOAD = ["--read", "0", "--warmup", "0s", "--time", "1s", "--quiet"]


def attempt(folder, target, *more, pass_fds=(), **rest):
    """A load of writes, with a token of the target if there is one; it must be refused or fail."""
    for token in (None, "plan"):
        words = []
        if token:
            plan = run("disk", target, "--read", "0", "--plan", pass_fds=pass_fds, **rest)
            _, _, after = plan.out.partition("its token: ")
            words = ["--write-token", after.split()[0], "--overwrite"] if after else ["--write-token", "ws-00000-00000", "--overwrite"]
        if os.path.exists(folder("r.wsr")):
            os.unlink(folder("r.wsr"))
        yield bool(words and words[1] != "ws-00000-00000"), run("disk", target, *LOAD, *more, *words, "--out", folder("r.wsr"), pass_fds=pass_fds, **rest)


def foreign(folder, name="f"):
    return folder.write(name, DATA)


def same(path):
    with open(path, "rb") as file:
        demand(file.read() == DATA, "data of somebody was written")


@ways("guard: names", [
    ("by a descriptor of its own", "/dev/fd/{fd}"), ("as standard input", "/dev/stdin"), ("by another process", "/proc/{pid}/fd/{fd}"),
    ("by another process's root", "/proc/{pid}/root{path}"), ("with a slash at its end", "{path}/"), ("with a dot at its end", "{path}/."),
    ("with ten thousand dots", "{dots}{path}"), ("by a scheme that is none", "file://{path}"), ("by a scheme in capitals", "ISCSI:{path}"),
    ("with a line end", "{path}\n"), ("with a blank", "{path} "),
])
def names(form):
    with Folder() as folder:
        path = foreign(folder)
        holder = os.open(path, os.O_RDONLY)
        target = form.format(fd=holder, pid=os.getpid(), path=path, dots="/." * 1500)
        with open(path, "rb") as stdin:
            for extra in ([], ["--overwrite"], ["--write-token", "ws-00000-00000", "--overwrite"]):
                run("disk", target, *LOAD, *extra, "--out", folder("r.wsr"), pass_fds=(holder,), stdin=stdin, cwd=folder.path, codes=(2, 3, 4))
                same(path)
        os.close(holder)


@ways("guard: what is no disk", [
    ("a folder", "{path}", "mkdir"), ("a pipe", "{path}", "mkfifo"), ("a socket", "{path}", "socket"), ("/dev/null", "/dev/null", None),
    ("/dev/zero", "/dev/zero", None), ("/dev/full", "/dev/full", None), ("/dev/mem", "/dev/mem", None), ("/dev/tty", "/dev/tty", None),
    ("/dev/random", "/dev/random", None), ("/dev/loop-control", "/dev/loop-control", None), ("/proc/sysrq-trigger", "/proc/sysrq-trigger", None),
    ("/proc/self/mem", "/proc/self/mem", None), ("/sys/power/state", "/sys/power/state", None), ("an empty name", "", None),
    ("the program itself", PROGRAM, None),
])
def no_disk(target, kind):
    with Folder() as folder:
        path = folder("x")
        keeper = None
        if kind == "mkdir":
            os.mkdir(path)
        elif kind == "mkfifo":
            os.mkfifo(path)
        elif kind == "socket":
            keeper = socket.socket(socket.AF_UNIX)
            keeper.bind(path)
        target = target.format(path=path)
        if kind is None and target and not os.path.exists(target):
            raise Skip(f"{target} is not here")
        run("disk", target, *LOAD, "--out", folder("r.wsr"), codes=(2, 3, 4), cwd=folder.path)
        run("disk", target, *LOAD, "--create", "1MiB", "--out", folder("r2.wsr"), codes=(2, 3, 4), cwd=folder.path)


def root_only():
    if os.geteuid():
        raise Skip("root is needed")


def mounted(folder, *options):
    point = folder("m")
    os.mkdir(point)
    if subprocess.run(["mount", *options, point], capture_output=True).returncode:
        raise Skip(f"mount {options[-1]} does not work here")
    folder.undo.append(lambda: subprocess.run(["umount", "-l", point], capture_output=True))
    return point


@way("guard: file systems", "a file of ours below an overlay")
def overlay():
    root_only()
    with Folder() as folder:
        for name in ("lower", "upper", "work"):
            os.mkdir(folder(name))
        run("disk", folder("lower/t"), "--create", "1MiB", *LOAD, "--out", folder("a.wsr"), codes=(0,))
        with open(folder("lower/t"), "rb") as file:
            before = file.read()
        point = mounted(folder, "-t", "overlay", "-o", f"lowerdir={folder('lower')},upperdir={folder('upper')},workdir={folder('work')}", "overlay")
        run("disk", point + "/t", *LOAD, "--out", folder("b.wsr"))
        with open(folder("lower/t"), "rb") as file:
            demand(file.read() == before, "the file below was written")


@way("guard: file systems", "a foreign file on a file system that is read-only")
def read_only():
    root_only()
    with Folder() as folder:
        point = mounted(folder, "-t", "tmpfs", "-o", "size=16m", "none")
        with open(point + "/f", "wb") as file:
            file.write(DATA)
        subprocess.run(["mount", "-o", "remount,ro", point], check=True)
        for _, done in attempt(folder, point + "/f"):
            demand(done.code in (2, 3, 4), f"exit code {done.code}")
        same(point + "/f")


@way("guard: file systems", "a foreign file mounted over one of ours")
def mounted_over():
    root_only()
    with Folder() as folder:
        run("disk", folder("t"), "--create", f"{SIZE}B", *LOAD, "--out", folder("a.wsr"), codes=(0,))
        path = foreign(folder)
        if subprocess.run(["mount", "--bind", path, folder("t")], capture_output=True).returncode:
            raise Skip("no bind mounts")
        try:
            done = run("disk", folder("t"), *LOAD, "--out", folder("b.wsr"), codes=(4,))
            same(path)
        finally:
            subprocess.run(["umount", folder("t")], check=True)


@ways("guard: file systems", [("a file that may only grow", "+a"), ("a file that may not change", "+i")])
def attributes(flag):
    root_only()
    with Folder() as folder:
        path = foreign(folder)
        if subprocess.run(["chattr", flag, path], capture_output=True).returncode:
            raise Skip("no such attribute here")
        try:
            for _, done in attempt(folder, path):
                demand(done.code in (2, 3, 4), f"exit code {done.code}")
            same(path)
        finally:
            subprocess.run(["chattr", "-" + flag[1:], path], check=True)


@way("guard: marks", "a mark of ours set on a foreign file")
def forged_mark():
    with Folder() as folder:
        run("disk", folder("t"), "--create", f"{SIZE}B", *LOAD, "--out", folder("a.wsr"), codes=(0,))
        path = foreign(folder)
        for name in os.listxattr(folder("t")):
            os.setxattr(path, name, os.getxattr(folder("t"), name))
        run("disk", path, *LOAD, "--out", folder("b.wsr"), codes=(4,))
        same(path)


@ways("guard: marks", [("a mark of noise", lambda: os.urandom(500)), ("a mark of zeros", lambda: bytes(100)), ("an empty mark", lambda: b""),
                       ("a mark of 60 KB", lambda: b"x" * 60_000)])
def mark(make):
    with Folder() as folder:
        run("disk", folder("t"), "--create", f"{SIZE}B", *LOAD, "--out", folder("a.wsr"), codes=(0,))
        with open(folder("t"), "r+b") as file:
            file.write(DATA)
        for name in os.listxattr(folder("t")):
            try:
                os.setxattr(folder("t"), name, make())
            except OSError:
                return
        run("disk", folder("t"), *LOAD, "--out", folder("b.wsr"), codes=(4,))
        same(folder("t"))


@way("guard: marks", "one of ours that is written with its times put back")
def put_back():
    with Folder() as folder:
        run("disk", folder("t"), "--create", f"{SIZE}B", *LOAD, "--out", folder("a.wsr"), codes=(0,))
        before = os.stat(folder("t"))
        with open(folder("t"), "r+b") as file:
            file.write(DATA)
        os.utime(folder("t"), ns=(before.st_atime_ns, before.st_mtime_ns))
        run("disk", folder("t"), *LOAD, "--out", folder("b.wsr"), codes=(4,))
        same(folder("t"))


@way("guard: replaced", "a file that becomes a link to a foreign one between plan and run")
def replaced():
    with Folder() as folder:
        path = foreign(folder)
        with open(folder("b"), "wb") as file:
            file.truncate(SIZE)
        plan = run("disk", folder("b"), "--read", "0", "--plan")
        token = plan.out.partition("its token: ")[2].split()[0]
        os.unlink(folder("b"))
        os.symlink(path, folder("b"))
        run("disk", folder("b"), *LOAD, "--write-token", token, "--overwrite", "--out", folder("r.wsr"), codes=(4,))
        same(path)


@way("guard: replaced", "names that change a hundred times while runs begin")
def racing():
    """A name leads to a file of ours and to a foreign one in turn: whatever is opened, the foreign one stays."""
    import threading, time
    with Folder() as folder:
        path = foreign(folder)
        run("disk", folder("own"), "--create", f"{SIZE}B", *LOAD, "--out", folder("a.wsr"), codes=(0,))
        over = threading.Event()

        def swap():
            number = 0
            while not over.is_set():
                number += 1
                os.symlink((path, folder("own"))[number % 2], folder("next"))
                os.rename(folder("next"), folder("name"))
                time.sleep(0.0005)
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            for number in range(12):
                run("disk", folder("name"), *LOAD, "--out", folder(f"{number}.wsr"))
                same(path)
        finally:
            over.set()
            thread.join()


@way("guard: results", "results over a link, a pipe, a folder and a device")
def results():
    with Folder() as folder:
        run("disk", "null:", "--warmup", "0s", "--time", "100ms", "--quiet", "--out", folder("r.wsr"), codes=(0,))
        path = foreign(folder)
        os.symlink(path, folder("l.html"))
        os.link(path, folder("h.html"))
        os.mkdir(folder("d.html"))
        for name in ("l.html", "h.html", "d.html", "f"):
            run("review", folder("r.wsr"), "-o", folder(name), "--format", "html", codes=(2, 3, 4))
            run("disk", "null:", "--warmup", "0s", "--time", "50ms", "--quiet", "--out", folder(name), codes=(2, 3, 4))
        same(path)
