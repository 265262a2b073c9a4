"""Files of other programs that are bombs, or lie: archives, nested markup, tables without end, numbers that are none."""

import bz2, gzip, io, json, lzma, os, random, struct, subprocess, threading, zipfile
from ways import Folder, demand, run, way, ways

CHANCE = random.Random(20)


def nested(times, data, pack):
    for _ in range(times):
        data = pack(data)
    return data


def zipped(data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.csv", data)
    return out.getvalue()


def laughs():
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{entities}]><Profile><TimeSpans>&l11;</TimeSpans></Profile>'


IOSTAT = "Linux 6.1.0 (h)  11/23/26  _x86_64_  (2 CPU)\n\n{stamp}\nDevice r/s rkB/s w/s wkB/s %util\nsda {a} {b} {c} 4.0 5.0\n\n"
PDH = '"(PDH-CSV 4.0) (UTC)(0)","\\\\h\\PhysicalDisk(0)\\Disk Reads/sec"\r\n'
MSR = "128166372003061629,h,0,Read,{offset},{size},1331\n"

# Each: its name, what is in the file, and the commands that are to read it.
EXPLAIN, IMPORT, FIT = ("explain",), ("import",), ("fit",)
FILES = [
    ("a gzip bomb of 256 MiB", lambda: gzip.compress(bytes(256 << 20), 9), EXPLAIN),
    ("an xz bomb of 256 MiB", lambda: lzma.compress(bytes(256 << 20), preset=0), EXPLAIN),
    ("a bzip2 bomb of 64 MiB", lambda: bz2.compress(bytes(64 << 20)), IMPORT),
    ("an archive in an archive, ten deep", lambda: nested(10, bytes(16 << 20), zipped), EXPLAIN),
    ("a billion laughs", laughs, IMPORT),
    ("a billion laughs as monitoring", laughs, EXPLAIN),
    ("markup 100,000 deep", lambda: "<Profile>" + "<a>" * 100_000, IMPORT),
    ("markup with an attribute of 8 MB", lambda: f'<Profile x="{"y" * (8 << 20)}"/>', IMPORT),
    ("markup with 200,000 attributes", lambda: "<Profile " + " ".join(f'a{n}="1"' for n in range(200_000)) + "/>", IMPORT),
    ("markup with an outside entity", lambda: '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><Profile>&e;</Profile>', IMPORT),
    ("a table of 10^6 columns", lambda: ",".join(f"c{n}" for n in range(1_000_000)) + "\n" + ",".join("1" * 1_000_000) + "\n", EXPLAIN),
    ("a PDH table of 300,000 counters", lambda: '"(PDH-CSV 4.0) (UTC)(0)"' + ',"\\\\h\\PhysicalDisk(0 x)\\Disk Reads/sec"' * 300_000 + "\n", EXPLAIN),
    ("one line of 32 MB", lambda: "x" * (32 << 20), EXPLAIN),
    ("32 MB of line ends", lambda: "\n" * (32 << 20), EXPLAIN),
    ("16 MB of quotation marks", lambda: '"' * (16 << 20), EXPLAIN),
    ("iostat of inf and nan", lambda: IOSTAT.format(stamp="11/23/26 10:00:00", a="inf", b="nan", c="-inf") * 3, EXPLAIN),
    ("iostat of 1e308", lambda: IOSTAT.format(stamp="11/23/26 10:00:00", a="1e308", b="1e308", c="-1e308") * 3, EXPLAIN),
    ("iostat of the year 99999", lambda: IOSTAT.format(stamp="12/31/99999 25:61:61", a=1, b=2, c=3) * 3, EXPLAIN),
    ("iostat whose time runs backwards", lambda: "".join(
        IOSTAT.format(stamp=f"11/23/26 10:00:{59 - n:02}", a=1, b=2, c=3) for n in range(60)), EXPLAIN),
    ("PDH dates that are none", lambda: PDH + '"02/30/2026 99:99:99.999","1"\r\n"-1/-1/-1","nan"\r\n"","inf"\r\n', EXPLAIN),
    ("PDH of one moment a hundred thousand times", lambda: PDH + '"11/23/2026 10:00:00.000","1"\r\n' * 100_000, EXPLAIN),
    ("two samples ten thousand years apart", lambda: PDH + '"01/01/0001 00:00:00.000","1"\r\n"12/31/9999 23:59:59.000","1"\r\n', EXPLAIN),
    ("JSON 100,000 deep", lambda: '{"sysstat":' + "[" * 100_000, EXPLAIN),
    ("JSON of a number of 10^6 digits", lambda: '{"sysstat":{"hosts":[' + "9" * 1_000_000 + "]}}", EXPLAIN),
    ("JSON of iostat with strings for numbers", lambda: json.dumps({"sysstat": {"hosts": [{"nodename": "\x1b]0;x\x07", "statistics": [
        {"timestamp": "\u202e", "disk": [{"disk_device": "../../x", "r/s": "NaN", "w/s": {}, "util": []}]}]}]}}), EXPLAIN),
    ("fio's JSON with negative and endless figures", lambda: json.dumps({"fio version": "fio-3", "timestamp": -1, "jobs": [
        {"jobname": "x" * 100_000, "read": {"iops": -1e308, "bw": 2**63, "clat_ns": {"percentile": {"nan": -1}}}}] * 100}), EXPLAIN),
    ("a Prometheus page with a million series", lambda: "# TYPE node_disk_reads_completed_total counter\n" + "".join(
        f'node_disk_reads_completed_total{{device="d{n}"}} {n}\n' for n in range(300_000)), EXPLAIN),
    ("UTF-16 with half of a pair", lambda: b"\xff\xfe" + b"\x00\xd8A\x00" * 100_000, EXPLAIN),
    ("zeros", lambda: bytes(4 << 20), EXPLAIN),
    ("noise as monitoring", lambda: CHANCE.randbytes(4 << 20), EXPLAIN),
    ("noise as a workload", lambda: CHANCE.randbytes(1 << 20), IMPORT),
    ("noise as a trace", lambda: CHANCE.randbytes(4 << 20), FIT),
    ("an empty file", lambda: b"", EXPLAIN),
    ("fio with 50,000 jobs", lambda: "".join(f"[j{n}]\nrw=read\nfilename=f{n}\nsize=1m\n" for n in range(12_000)), IMPORT),
    ("fio that clones a job 4 billion times", lambda: "[a]\nrw=read\nnumjobs=4294967295\nsize=1g\n", IMPORT),
    ("fio with sizes beyond 2^64", lambda: "[a]\nrw=read\nsize=99999999999999999999p\nbs=0-99999999999g\niodepth=-1\n", IMPORT),
    ("fio that includes itself", lambda: "include file\n[a]\nrw=read\n", IMPORT),
    ("fio's bssplit that never sums", lambda: "[a]\nrw=read\nsize=1g\nbssplit=" + ":".join(f"{n}k/0" for n in range(1, 50_000)) + "\n", IMPORT),
    ("vdbench that refers to itself", lambda: "sd=sd1,lun=/dev/x,size=1g\nwd=wd1,sd=sd*\nrd=rd1,wd=wd1,forxfersize=(1-100000000-1),"
                                              "iorate=(1-100000000-1),elapsed=1\n", IMPORT),
    ("Iometer with negative counts", lambda: "Version 1.1.0\n'ACCESS SPECIFICATIONS ====\n'Access specification name,default assignment\n"
                                             "\tx,2\n'size,% of size,% reads,% random,delay,burst,align,reply\n\t-1,-1,900,1e99,-5,0,0,0\n"
                                             "'End access specifications\n", IMPORT),
    ("an MSR trace of offsets beyond 2^64", lambda: (MSR.format(offset=2**64, size=2**64) + MSR.format(offset=-1, size=-1)) * 1000, FIT),
    ("an MSR trace of sizes of 2^63", lambda: MSR.format(offset=2**63 - 1, size=2**63 - 1) * 1000, FIT),
    ("an MSR trace whose I/Os are all at one moment", lambda: MSR.format(offset=0, size=512) * 100_000, FIT),
    ("fio's log that closes what it never opened", lambda: "fio version 2 iolog\n/x close\n/x close\n/y read 0 0\n/x write -1 -1\n" * 1000, FIT),
    ("a blktrace of lengths that cannot be", lambda: struct.pack("<IIQQIIIIIHH", 0x65617407, 1, 2**63, 2**63, 2**32 - 1, 1, 1, 1, 0, 0, 65535) * 1000, FIT),
    ("a vscsiStats histogram of 2^64 in each bin", lambda: ("Histogram: IO lengths of commands,virtual machine worldGroupID,1\nmin,0\nmax,-1\n"
                                                           "mean,nan\ncount,18446744073709551616\nFrequency,Histogram Bucket Limit\n"
                                                           "18446744073709551615,4096\n") * 100, FIT),
]


@ways("imports", [(name, make, command) for name, make, command in FILES])
def read(make, command):
    with Folder() as folder:
        path = folder.write("file", make())
        more = ["--out", folder("r.wsr")] if command == EXPLAIN else []
        run(*command, path, *more, cwd=folder.path)


@ways("imports", [
    ("a folder in the place of a file", "/etc"), ("/dev/zero", "/dev/zero"), ("/dev/urandom", "/dev/urandom"),
    ("a file of /proc that cannot be read", "/proc/self/mem"), ("a link to itself", "loop"), ("a pipe that nobody writes", "pipe"),
])
def no_file(path):
    with Folder() as folder:
        os.symlink("loop", folder("loop"))
        os.mkfifo(folder("pipe"))
        if path == "pipe":
            # A pipe is waited for, as by any program; here its writer comes, and goes on for ever.
            def feed():
                try:
                    with open(folder("pipe"), "wb", 0) as pipe:
                        while True:
                            pipe.write(b"a,b,c\n" * 10_000)
                except OSError:
                    pass
            threading.Thread(target=feed, daemon=True).start()
        for command in ("explain", "import", "fit"):
            out = ["--out", folder("r.wsr")] if command == "explain" else []
            run(command, path, *out, cwd=folder.path, codes=(2, 3))
            if path == "pipe":
                break


@way("imports", "maps and topologies that are bombs")
def maps():
    with Folder() as folder:
        table = folder.write("t.csv", "a,b\n1,2\n")
        for number, text in enumerate(["[" * 50_000, "a = " + "[" * 50_000, "a.b" * 50_000 + " = 1", "x = \"" + "y" * (4 << 20) + "\"", "\0", "[a]\n" * 50_000]):
            path = folder.write(f"m{number}.toml", text)
            for option in ("--map", "--topology"):
                run("explain", table, option, path, "--out", folder("r.wsr"), codes=(2, 3))
