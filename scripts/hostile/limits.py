"""Surroundings: limits, descriptors, places that are missing, environments that make no sense."""

import ctypes, os, struct, subprocess
from ways import PROGRAM, Broke, Folder, Skip, demand, run, way, ways

NULL = "disk null: --warmup 0s --time 50ms --quiet --out r.wsr"
FILE = "disk t --create 1MiB --read 0 --warmup 0s --time 50ms --quiet --out r.wsr"


def shell(line, codes=(0, 2, 3, 4), said=True, **more):
    with Folder() as folder:
        done = run(line=["sh", "-c", line], cwd=folder.path, env={"W": PROGRAM}, codes=codes, said=said, **more)
    if any(word in done.err for word in ("unshare:", "setpriv:", "prlimit:", "umount:")):
        raise Skip(done.err.strip().splitlines()[-1])
    return done


@ways("limits", [
    ("a stack of 64 KiB", f"ulimit -s 64; $W {FILE}", (0,)),
    ("a stack of 16 KiB", f"ulimit -s 16; $W {NULL}", (0,)),
    ("a stack of 64 KiB that cannot be raised", f"ulimit -s 64; exec setpriv --bounding-set=-sys_resource $W {NULL}", (0,)),
    ("an unlimited stack", f"ulimit -s unlimited; $W {FILE}", (0,)),
    ("six open files", f"ulimit -n 6; $W {FILE}", (3,)),
    ("eight open files", f"ulimit -n 8; $W {FILE}", (3, 4)),
    ("twelve open files and a page", f"ulimit -n 12; $W {FILE}; $W review r.wsr -o page.html", (0, 3)),
    ("no further process", f"chmod 777 .; exec setpriv --reuid=65534 --clear-groups prlimit --nproc=1 $W {NULL}", (3,)),
    ("100 MB of addresses", f"ulimit -v 100000; $W {NULL}", (0, 3, 127)),
    ("150 MB of addresses, a target", f"ulimit -v 150000; timeout 3 $W target serve --portal 127.0.0.1:0 --volume ram:1GiB", (0, 3, 4, 124, 127)),
    ("8 MB of data", f"ulimit -d 8000; $W {NULL}", (0, 3, 127)),
    ("files of one block", f"ulimit -f 1; $W {FILE}", (3,)),
    ("no locked memory", f"ulimit -l 0; $W {FILE}", (0,)),
    ("no signals may wait", f"ulimit -i 0; $W {NULL}", (0, 3)),
    ("standard input closed", f"$W {FILE} <&-", (0,)),
    ("standard output closed", "$W catalog ls >&-", (0, 3)),
    ("standard error closed", f"$W {FILE} 2>&-", (0,)),
    ("all three closed", f"$W {FILE} <&- >&- 2>&-", (0,)),
    ("standard error closed, a mistake", "$W disk 2>&-", (2,)),
    ("output to a full device", "$W catalog ls >/dev/full", (3,)),
    ("messages to a full device", f"$W {FILE} 2>/dev/full", (0,)),
    ("output to a reader that has gone", "$W catalog ls --format json | head -c 1 >/dev/null", (0,)),
    ("home and temporary folder that cannot be written", f"HOME=/proc TMPDIR=/proc XDG_RUNTIME_DIR=/proc XDG_CONFIG_HOME=/proc $W {FILE}", (0,)),
    ("an empty environment", f'exec env -i "$W" {FILE}', (0,)),
    ("a folder that is gone", f"mkdir g; cd g; rmdir ../g; $W {NULL}", (2, 3)),
    ("an umask of 0777", f"umask 0777; $W {FILE}", (0, 3, 4)),
    ("no /proc", f"unshare --mount sh -c 'umount -l /proc && exec $W {FILE}'", (3,)),
    ("no /sys", f"unshare --mount sh -c 'umount -l /sys && exec $W {FILE}'", (0,)),
    ("no /dev", f"unshare --mount sh -c 'mount -t tmpfs none /dev && exec $W {FILE}'", (0, 3)),
    ("an empty network namespace", "exec unshare --net timeout 3 $W target serve --portal 127.0.0.1:0 --volume ram:1MiB", (3, 124)),
    ("a width of one column", f"COLUMNS=1 TERM=xterm $W {NULL}; COLUMNS=1 $W review r.wsr", (0,)),
    ("a width of 10^18 columns", f"COLUMNS=1000000000000000000 $W {NULL}; COLUMNS=1000000000000000000 $W review r.wsr", (0,)),
    ("a language and a time zone that are none", f"LANG=xx_YY.UTF-99 LC_ALL=- TZ=':/../..' TERM= $W {FILE}", (0,)),
])
def surroundings(line, codes):
    shell(line, codes, said="2>&-" not in line and "/dev/full" not in line and "124" not in line)


def without_io_uring():
    """The calls of io_uring fail with EPERM, as seccomp profiles of containers have it."""
    libc = ctypes.CDLL(None)
    code = b"".join(struct.pack("<HBBI", *one) for one in [
        (0x20, 0, 0, 0), (0x35, 0, 2, 425), (0x25, 1, 0, 427), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer)), 16)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
        os._exit(99)


@way("limits", "no io_uring, by seccomp")
def no_io_uring():
    with Folder() as folder:
        done = run(*FILE.replace("t --create", folder("t") + " --create").replace("r.wsr", folder("r.wsr")).split(),
                   preexec_fn=without_io_uring, codes=(0, 99))
        if done.code == 99:
            raise Skip("no seccomp filters")
        review = run("review", folder("r.wsr"), "--format", "json")
        demand("pread" in review.out, "it says by which interface it went")


@way("limits", "arguments that are no text")
def no_text():
    run(b"disk", b"\xff\xfe\x00".replace(b"\x00", b""), codes=(2, 3, 4))
    run(b"run", b"\xc3\x28.toml", codes=(2, 3))


@way("limits", "an argument of 100,000 bytes")
def long_argument():
    run("disk", "x" * 100_000, codes=(2, 3))
    run("disk", "null:", "--block", "9" * 100_000, codes=(2,))
    run("review", "../" * 30_000, codes=(2, 3))


@way("limits", "numbers beyond all measure")
def huge_numbers():
    for option, value in [("--block", "18446744073709551615"), ("--depth", "4294967296"), ("--time", "1e400s"), ("--time", "99999999999h"),
                          ("--rate", "nan IOPS"), ("--rate", "-1 IOPS"), ("--read", "1e9"), ("--workers", "4294967295"),
                          ("--random", "-0"), ("--seed", "-1"), ("--warmup", "584y")]:
        run("disk", "null:", option, value, "--plan", codes=(0, 2, 3))
