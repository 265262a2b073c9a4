"""Writes one workload as traces of several programs, and beside each what a reader must find.

    python3 traces.py FOLDER SEED

For each trace NAME the file NAME.truth has a line for each I/O in order of issue: nanoseconds since the first I/O, kind, FUA, device,
offset, length, latency in nanoseconds (- where the format has none), and lines `tally WHAT COUNT`. Standard library only; nothing here
was taken from the program under test.
"""

import random
import struct
import sys

KINDS = {"read": "Read", "write": "Write", "trim": "Trim", "flush": "Flush"}


class Io:
    def __init__(self, at, kind, device, offset, length, latency, fua=False):
        self.at, self.kind, self.device = at, kind, device
        self.offset, self.length, self.latency, self.fua = offset, length, latency, fua


def workload(rng, count, devices, unit):
    """I/Os whose times and latencies are multiples of a unit of nanoseconds, in order of issue."""
    ios, at, run = [], 1_000 * unit, [0] * devices
    for _ in range(count):
        at += rng.randrange(1, 200_000 // min(unit, 1000)) * unit if unit < 10_000 else rng.randrange(0, 3) * unit
        device = rng.randrange(devices)
        length = rng.choice([512, 4096, 4096, 8192, 65536, 131072])
        if rng.random() < 0.4:
            offset = run[device]
        else:
            offset = rng.randrange(0, 1 << 22) * 512
        run[device] = offset + length
        kind = "read" if rng.random() < 0.7 else "write"
        latency = max(1, rng.randrange(50_000, 9_000_000) // unit) * unit
        ios.append(Io(at, kind, device, offset, length, latency))
    return ios


def truth(path, ios, names, latency=True, tally=(), fine=1):
    first = min(io.at // fine * fine for io in ios)
    order = sorted(range(len(ios)), key=lambda n: (ios[n].at // fine, n))
    with open(path + ".truth", "w") as out:
        for n in order:
            io = ios[n]
            took = io.latency if latency and io.latency is not None else "-"
            print(io.at // fine * fine - first, KINDS[io.kind], int(io.fua), names[io.device] or '""',
                  io.offset, io.length, took, file=out)
        for what, count in tally:
            if count:
                print("tally", what, count, file=out)


def shuffled(rng, ios):
    """In the order of a program that writes a record when it gets to it: neighbours change places."""
    order = list(ios)
    swapped = 0
    for n in range(len(order) - 1):
        if rng.random() < 0.1 and order[n].at < order[n + 1].at:
            order[n], order[n + 1] = order[n + 1], order[n]
    latest = -1
    for io in order:
        swapped += io.at < latest
        latest = max(latest, io.at)
    return order, swapped


def msr(folder, rng):
    ios = workload(rng, 700, 3, 100)
    order, swapped = shuffled(rng, ios)
    base = 128_166_372_016_382_155
    with open(folder + "/msr.csv", "w") as out:
        for io in order:
            print(f"{base + io.at // 100},hm,{io.device},{io.kind.capitalize()},{io.offset},{io.length},{io.latency // 100}", file=out)
    truth(folder + "/msr.csv", ios, ["hm.0", "hm.1", "hm.2"], tally=[("disordered", swapped)])


def alibaba(folder, rng):
    ios = workload(rng, 600, 4, 1000)
    with open(folder + "/alibaba.csv", "w") as out:
        print("device_id,opcode,offset,length,timestamp", file=out)
        for io in ios:
            print(f"{70 + io.device},{io.kind[0].upper()},{io.offset},{io.length},{1_577_808_000_000_000 + io.at // 1000}", file=out)
    truth(folder + "/alibaba.csv", ios, ["70", "71", "72", "73"], latency=False)


def tencent(folder, rng):
    ios = workload(rng, 400, 2, 1_000_000_000)
    with open(folder + "/tencent.csv", "w") as out:
        for io in ios:
            print(f"{1_538_323_199 + io.at // 1_000_000_000},{io.offset // 512},{io.length // 512},{int(io.kind == 'write')},{2313 + io.device}", file=out)
    truth(folder + "/tencent.csv", ios, ["2313", "2314"], latency=False)


def mapped(folder, rng):
    """A table of the user's own: names, a heading, milliseconds with a fraction of the completion, sectors in hexadecimal."""
    ios = workload(rng, 500, 2, 1000)
    with open(folder + "/mapped.csv", "w") as out:
        print("; made by hand", file=out)
        print("Disk;Kind;Done (ms);Sector;Sectors;Took (us)", file=out)
        others = 0
        for io in sorted(ios, key=lambda io: io.at + io.latency):
            done = io.at + io.latency
            print(f'"{"AB"[io.device]}";{"DiskRead" if io.kind == "read" else "DiskWrite"};{done // 1_000_000}.{done % 1_000_000:06d};'
                  f"{hex(io.offset // 512)};{io.length // 512};{io.latency // 1000}", file=out)
            if rng.random() < 0.05:
                others += 1
                print("A;FileRename;;;;", file=out)
    with open(folder + "/mapped.toml", "w") as out:
        out.write('separator = ";"\nheader = 2\ntime = "completion"\n[column]\ndevice = "Disk"\nkind = "Kind"\ntime = "Done (ms)"\n'
                  'offset = "Sector"\nsize = 5\nlatency = "Took (us)"\n[unit]\ntime = "ms"\nlatency = "us"\noffset = "sectors"\n'
                  'size = 512\n[kind]\nread = "DiskRead"\nwrite = ["DiskWrite"]\nothers = "skip"\n')
    latest, behind = -1, 0
    for io in sorted(ios, key=lambda io: io.at + io.latency):
        behind += io.at < latest
        latest = max(latest, io.at)
    truth(folder + "/mapped.csv", ios, ["A", "B"], tally=[("other", others), ("disordered", behind)])


def fio(folder, rng):
    ios = workload(rng, 500, 2, 1000)
    ios[7].kind, ios[7].offset, ios[7].length = "flush", 0, 0
    ios[9].kind = "trim"
    names = ["/dev/a", "/dev/b"]
    with open(folder + "/fio3.log", "w") as out:
        print("fio version 3 iolog", file=out)
        for name in names:
            print(f"5 {name} add\n6 {name} open", file=out)
        for io in ios:
            action = "datasync" if io.kind == "flush" else io.kind
            print(f"{io.at // 1000} {names[io.device]} {action} {io.offset} {io.length}", file=out)
        for name in names:
            print(f"999999999 {name} close", file=out)
    truth(folder + "/fio3.log", ios, names, latency=False, tally=[("other", 6)])
    waits, now = [], 0
    with open(folder + "/fio2.log", "w") as out:
        print("fio version 2 iolog\n/dev/a add\n/dev/a open", file=out)
        for n in range(200):
            if n % 10 == 0:
                now += rng.randrange(1, 50)
                print(f"/dev/a wait {now} 0", file=out)
            io = Io(now * 1_000_000, "read", 0, n * 4096, 4096, None)
            waits.append(io)
            print(f"/dev/a read {io.offset} {io.length}", file=out)
    truth(folder + "/fio2.log", waits, ["/dev/a"], latency=False, tally=[("other", 2)])


def vscsi(folder, rng):
    for version in (1, 2):
        ios = workload(rng, 400, 1, 1000)
        commands = {"read": [0x28, 0x88], "write": [0x2A, 0x8A]}
        others = 0
        with open(f"{folder}/vscsi{version}.bin", "wb") as out:
            for n, io in enumerate(ios):
                at, cmd = 2_756_778_716_647 + io.at // 1000, rng.choice(commands[io.kind])
                lbn = io.offset // 512
                if version == 1:
                    out.write(struct.pack("<IIIHHQQ", n, io.length, 1, cmd, 0x0103, lbn, at))
                else:
                    out.write(struct.pack("<HHIIIQQQ", cmd, 0x0203, n, io.length, 1, lbn, at, io.latency // 1000))
                if n % 50 == 49:
                    others += 1
                    if version == 1:
                        out.write(struct.pack("<IIIHHQQ", n, 36, 1, 0x12, 0x0103, 0, at))
                    else:
                        out.write(struct.pack("<HHIIIQQQ", 0x12, 0x0203, n, 36, 1, 0, at, 5))
        truth(f"{folder}/vscsi{version}.bin", ios, [""], latency=version == 2, tally=[("other", others)])
        with open(f"{folder}/vscsi{version}.txt", "w") as out:
            print(f"#Vscsi Cmd Trace. (Trace Format Version {version})", file=out)
            more = ",Response Time (microseconds)" if version == 2 else ""
            print(f"#Serial Number,IO Data Length,Num SG Entries,Command Type,LBN,Time Stamp (microseconds){more}", file=out)
            for n, io in enumerate(ios):
                more = f",{io.latency // 1000}" if version == 2 else ""
                print(f"{n},{io.length},1,{io.kind},{io.offset // 512},{2_756_778_716_647 + io.at // 1000}{more}", file=out)
        truth(f"{folder}/vscsi{version}.txt", ios, [""], latency=version == 2)


READ, WRITE, FLUSH, SYNC, QUEUE, REQUEUE, ISSUE, COMPLETE, FS = 1, 2, 4, 8, 16, 32, 64, 128, 256
NOTIFY, DISCARD, FUA = 1 << 10, 1 << 13, 1 << 15
LETTERS = {1: "Q", 2: "M", 4: "G", 6: "R", 7: "D", 8: "C", 12: "I"}


def block_layer(folder, rng):
    """Requests as Linux' block layer handles them: merged, given back, completed in parts."""
    events, queued, issued = [], [], []
    merged = requeued = parts_queue = parts_driver = 0
    at, busy = 5_000_000, 0

    def event(time, action, category, io_kind, sector, length, device, fua):
        flags = {"read": READ, "write": WRITE | SYNC, "trim": DISCARD | WRITE, "flush": FLUSH | WRITE | SYNC}[io_kind]
        events.append((time, action, category | flags | FS | (FUA if fua else 0), sector, length, device))

    for n in range(900):
        at += rng.randrange(1_000, 90_000)
        device = rng.randrange(2)
        kind = rng.choices(["read", "write", "trim", "flush"], [60, 35, 3, 2])[0]
        fua = kind == "write" and rng.random() < 0.2
        length = 0 if kind == "flush" else rng.choice([1, 8, 8, 16, 128, 1024]) * 512
        # No two requests in flight overlap, so that there is one truth.
        sector = 0 if kind == "flush" else (n * 8192 + rng.randrange(0, 256) * 8)
        latency = rng.randrange(20_000, 3_000_000) if kind != "flush" else 300
        bios = [(at, sector, length)]
        event(at, 1, QUEUE, kind, sector, length, device, fua)
        if kind in ("read", "write") and rng.random() < 0.2:
            for _ in range(rng.randrange(1, 4)):
                at += 700
                start = bios[-1][1] + bios[-1][2] // 512
                bios.append((at, start, 4096))
                event(at, 1, QUEUE, kind, start, 4096, device, fua)
                event(at + 10, 2, QUEUE, kind, start, 4096, device, fua)
                merged += 1
        else:
            event(at + 5, 4, QUEUE, kind, sector, length, device, fua)
        whole = sum(bio[2] for bio in bios)
        go = at + 2_000
        event(go, 7, ISSUE, kind, sector, whole, device, fua)
        if rng.random() < 0.05 and kind != "flush":
            event(go + 50, 6, REQUEUE, kind, sector, whole, device, fua)
            requeued += 1
            go += 5_000
            event(go, 7, ISSUE, kind, sector, whole, device, fua)
        done = go + latency
        halves = [(sector, whole, done)]
        if kind == "read" and whole >= 65536 and len(bios) == 1 and rng.random() < 0.5:
            first = whole // 2 // 512 * 512
            halves = [(sector, first, done - 10_000), (sector + first // 512, whole - first, done)]
            parts_queue += 1
            parts_driver += 1
        for start, bytes_, time in halves:
            event(time, 8, COMPLETE, kind, start, bytes_, device, fua)
        for time, start, bytes_ in bios:
            queued.append(Io(time, kind, device, start * 512, bytes_, done - time, fua))
        issued.append(Io(go, kind, device, sector * 512, whole, done - go, fua))
        if kind == "flush":
            at = done + 1_000
        elif rng.random() < 0.3:
            at += 500_000
        if kind == "flush":
            busy += 1
    # Never completed, and completed without having been seen.
    at += 10_000_000
    event(at, 1, QUEUE, "read", 1 << 33, 4096, 0, False)
    event(at + 9, 7, ISSUE, "read", 1 << 33, 4096, 0, False)
    queued.append(Io(at, "read", 0, (1 << 33) * 512, 4096, None))
    issued.append(Io(at + 9, "read", 0, (1 << 33) * 512, 4096, None))
    event(at + 20, 8, COMPLETE, "read", 1 << 34, 4096, 1, False)
    events.sort(key=lambda e: e[0])
    names = ["8,16", "8,32"]
    common = [("merged", merged), ("requeued", requeued), ("partial", parts_queue), ("open", 1), ("stray", 1)]
    # Numbers are given as devices are met.
    met = []
    for e in events:
        if e[5] not in met:
            met.append(e[5])
    for order, mark in (("<", "le"), (">", "be")):
        files = [open(f"{folder}/{mark}.blktrace.{cpu}", "wb") for cpu in range(3)]
        number = 0
        for time, action, category, sector, length, device in events:
            number += 1
            cpu = rng.randrange(3)
            dev = 8 << 20 | (16 if device == 0 else 32)
            payload = b"p" * rng.choice([0, 0, 0, 12]) if action == 1 else b""
            files[cpu].write(struct.pack(order + "IIQQIIIIIHH", 0x65617407, number, time, sector, length,
                                         category << 16 | action, 0, dev, cpu, 0, len(payload)) + payload)
            if number % 97 == 0:
                text = b"a process"
                files[cpu].write(struct.pack(order + "IIQQIIIIIHH", 0x65617407, number, time, 0, 0,
                                             NOTIFY << 16, 0, 0, cpu, 0, len(text)) + text)
        for file in files:
            file.close()
        for layer, ios in (("Q", queued), ("D", issued)):
            truth(f"{folder}/{mark}.blktrace.{layer}", ios, names, tally=common)
    with open(folder + "/blkparse.txt", "w") as out:
        for n, (time, action, category, sector, length, device) in enumerate(events):
            kind = ("F" if category & FLUSH else "") + ("D" if category & DISCARD else "W" if category & WRITE else "R" if length else "N")
            kind += ("F" if category & FUA else "") + ("S" if category & SYNC else "")
            where = f"{sector} + {length // 512} " if length else ""
            tail = "[0]" if action == 8 else "[fio]"
            print(f"  {names[device]} {n % 3:4d} {n + 1:8d} {time // 10 ** 9:5d}.{time % 10 ** 9:09d} {18615:5d}  {LETTERS[action]:>2s} {kind:>3s} {where}{tail}", file=out)
        print("CPU0 (8,16):\n Reads Queued:           0,        0KiB", file=out)
    for layer, ios in (("Q", queued), ("D", issued)):
        truth(f"{folder}/blkparse.txt.{layer}", ios, names, tally=common)


def main():
    folder, seed = sys.argv[1], int(sys.argv[2])
    for number, make in enumerate([msr, alibaba, tencent, mapped, fio, vscsi, block_layer]):
        make(folder, random.Random(seed * 100 + number))


main()
