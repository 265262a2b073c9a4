"""Simulated labs written out as their monitoring would have shown them; shares nothing with the readers.

    python3 write.py DIRECTORY SEED MEAN FORMAT [blind] [busy] [on=120] [off=60] [into=NAME]
    python3 write.py DIRECTORY all FILE      the same for each line of FILE, without DIRECTORY

Reads DIRECTORY/SEED.wsr, a record of the simulator, and writes into DIRECTORY/SEED.MEAN.FORMAT/ the files of a system that does
the same work in bursts: on for two minutes and off for one, both exponential, or as `on` and `off` say, for sixty samples of MEAN
seconds. With `busy` other programs take all processor time that the work leaves, at every moment. FORMAT is

    fabric    esxtop of each host, an SNMP walk of each switch, CSV of controllers, disks, ports and back end of the array, with
              maps and the speeds that no file says in topology.toml
    esxtop    esxtop of each host alone
    iostat    iostat -xt within each VM
    sadf      sadf -j of each VM

With `blind` every second file, map or host of `fabric` is left out. Numbers are rounded as the programs round, and the
switches' octets wrap at 64 bits. names.json says which hop of the lab a name of the review is. The first sample of every file is
of the time before: readers leave it out.
"""

import hashlib
import json
import os
import random
import sqlite3
import sys
from datetime import datetime, timedelta, timezone

SAMPLES = 60
START = datetime(2024, 5, 7, 9, 0, 0, tzinfo=timezone.utc)
SPEEDS = ("read-rate", "write-rate", "rate")


class Lab:
    """Means of the measured time, by source."""

    def __init__(self, path):
        db = sqlite3.connect(path)
        (self.frm, self.to), = db.execute("SELECT measure_ns, cooldown_ns FROM step LIMIT 1")
        self.seconds = (self.to - self.frm) / 1e9
        self.kind, self.group, self.name = {}, {}, {}
        for source, kind, name, group in db.execute("SELECT source, coalesce(hop_kind, kind), name, group_name FROM source"):
            self.kind[name], self.group[name], self.name[source] = kind, group, name
        self.value = {}
        rows = db.execute("SELECT source, name, unit, from_ns, to_ns, value FROM counter WHERE part IS NULL AND from_ns >= ? AND to_ns <= ?",
                          (self.frm, self.to))
        area = {}
        for source, name, unit, frm, to, value in rows:
            if value is None:
                continue
            key = (self.name[source], name)
            seconds = (to - frm) / 1e9
            level = name in ("queue-depth-mean", "waiting", "slots-used", "slots-waiting", "slots", "servers", "ops-rate", *SPEEDS, "both-rate")
            total, time = area.get(key, (0.0, 0.0))
            area[key] = (total + value * (seconds if level else 1.0), time + seconds)
        self.value = {key: total / time for key, (total, time) in area.items() if time > 0}
        self.load = {}
        for source, *figures in db.execute("SELECT source, read_ops, read_bytes, read_service_sum_ns, write_ops, write_bytes, write_service_sum_ns FROM total"):
            self.load[self.name[source]] = [(n or 0) / self.seconds for n in figures]
        db.close()

    def of(self, *kinds):
        return [name for name, kind in self.kind.items() if kind in kinds]

    def cpu(self, hop):
        """Processor time in percent, and whether it follows the load."""
        return ("full", 99.6) if self.busy else ("rate", 100 * min(1.0, self.get(hop, "busy") / 1e9))

    def get(self, hop, counter, other=0.0):
        return self.value.get((hop, counter), other)


def activity(seed, mean, burst=120.0, pause=60.0):
    """The share of each sample in which the load is on."""
    if pause <= 0:
        return [1.0] * (SAMPLES + 1)
    rng = random.Random(f"bursts {seed} {mean}")
    shares, on, left = [], True, rng.expovariate(1 / burst)
    for _ in range(SAMPLES + 1):
        rest, share = float(mean), 0.0
        while rest > 0:
            part = min(rest, left)
            share += part if on else 0.0
            rest, left = rest - part, left - part
            if left <= 0:
                on = not on
                left = rng.expovariate(1 / burst if on else 1 / pause)
        shares.append(share / mean)
    return shares


def naa(volume):
    return "naa.6" + hashlib.sha256(volume.encode()).hexdigest()[:31]


def when(n, mean):
    return START + timedelta(seconds=n * mean)


def esxtop(lab, host, shares, mean, out, names):
    vms = [name for name in lab.load if lab.of_host(name) == host]
    columns, values = [], []

    def add(obj, instance, counter, value):
        columns.append(f"\\\\{host}\\{obj}({instance})\\{counter}")
        values.append(value)

    for vm in vms:
        r, rb, rt, w, wb, wt = lab.load[vm]
        for counter, on in (("Commands/sec", r + w), ("Reads/sec", r), ("Writes/sec", w),
                            ("MBytes Read/sec", rb / 2**20), ("MBytes Written/sec", wb / 2**20)):
            add("Virtual Disk", f"{vm}:scsi0:0", counter, ("rate", on))
        add("Virtual Disk", f"{vm}:scsi0:0", "Average MilliSec/Read", ("mean", rt / r / 1e6 if r else 0.0))
        add("Virtual Disk", f"{vm}:scsi0:0", "Average MilliSec/Write", ("mean", wt / w / 1e6 if w else 0.0))
    for queue in (name for name in lab.of("lun-queue") if lab.group[name] == host):
        volume = queue.split(".", 2)[2]
        ops = (lab.get(queue, "read-ops") + lab.get(queue, "write-ops"))
        if ops <= 0:
            continue
        waiting, used = lab.get(queue, "slots-waiting"), lab.get(queue, "slots-used")
        lun, kernel, device = naa(volume), waiting / ops * 1e3, used / ops * 1e3
        names[lun] = names[f"{host}/{lun}"] = queue
        for counter, on in (("Commands/sec", ops), ("Reads/sec", lab.get(queue, "read-ops")), ("Writes/sec", lab.get(queue, "write-ops")),
                            ("MBytes Read/sec", lab.get(queue, "read-bytes") / 2**20), ("MBytes Written/sec", lab.get(queue, "write-bytes") / 2**20)):
            add("Physical Disk SCSI Device", lun, counter, ("rate", on))
        for counter, on in (("Average Driver MilliSec/Command", device), ("Average Kernel MilliSec/Command", kernel),
                            ("Average Guest MilliSec/Command", device + kernel), ("Average Queue MilliSec/Command", kernel)):
            add("Physical Disk SCSI Device", lun, counter, ("mean", on))
        if lab.get(queue, "slots"):
            add("Physical Disk SCSI Device", lun, "Device Q Depth", ("level", lab.get(queue, "slots")))
        add("Physical Disk SCSI Device", lun, "Active Commands", ("snapshot", used))
        add("Physical Disk SCSI Device", lun, "Queued Commands", ("snapshot", waiting))
    for number, hba in enumerate(name for name in lab.of("adapter") if lab.group[name] == host):
        ops = lab.get(hba, "read-ops") + lab.get(hba, "write-ops")
        names[f"vmhba{number}"] = names[f"{host}/vmhba{number}"] = hba
        for counter, on in (("Commands/sec", ops), ("Reads/sec", lab.get(hba, "read-ops")), ("Writes/sec", lab.get(hba, "write-ops")),
                            ("MBytes Read/sec", lab.get(hba, "read-bytes") / 2**20), ("MBytes Written/sec", lab.get(hba, "write-bytes") / 2**20)):
            add("Physical Disk Adapter", f"vmhba{number}", counter, ("rate", on))
    cpu = f"{host}.cpu"
    cores = int(lab.get(cpu, "servers", 1)) or 1
    names["host.cpu"] = names[f"{host}/host.cpu"] = cpu
    for n in range(cores):
        add("Physical Cpu", n, "% Util Time", lab.cpu(cpu))
    add("Physical Cpu", "_Total", "% Util Time", lab.cpu(cpu))
    rng = random.Random(f"snapshots {host}")
    with open(os.path.join(out, f"{host}.csv"), "w") as file:
        file.write(",".join(f'"{c}"' for c in ["(PDH-CSV 4.0) (UTC)(0)", *columns]) + "\n")
        for n, share in enumerate(shares):
            cells = [when(n, mean).strftime("%m/%d/%Y %H:%M:%S")]
            for how, on in values:
                if how == "full":
                    cells.append(f"{0.0 if n == 0 else 99.6:.2f}")
                elif how == "rate":
                    cells.append(f"{0.0 if n == 0 else on * share:.2f}")
                elif how == "mean":
                    cells.append(f"{on if share > 0 else 0.0:.2f}")
                elif how == "level":
                    cells.append(f"{on:.0f}")
                else:
                    cells.append(f"{on if rng.random() < share else 0.0:.0f}")
            file.write(",".join(f'"{c}"' for c in cells) + "\n")


def walk(lab, switch, shares, mean, out, names):
    ports = [name for name in lab.of("switch-port") if lab.group[name] == switch]
    ports += [name for name in lab.of("trunk")] if switch == "near" else []
    sums = {}
    with open(os.path.join(out, f"{switch}.walk"), "w") as file:
        for n, share in enumerate(shares):
            file.write(when(n, mean).strftime("%Y-%m-%d %H:%M:%S") + "\n")
            file.write(f"SNMPv2-MIB::sysUpTime.0 = Timeticks: ({n * mean * 100 + 17}) 0:00\n")
            file.write(f"SNMPv2-MIB::sysName.0 = STRING: {switch}\n")
            for index, port in enumerate(ports, 1):
                names[port] = names[f"{switch}/{port}"] = port
                for counter, of in (("ifHCInOctets", "write-bytes"), ("ifHCOutOctets", "read-bytes")):
                    key = (index, counter)
                    sums[key] = sums.get(key, 2**63 + index) + int(lab.get(port, of) * share * mean)
                    file.write(f"IF-MIB::{counter}.{index} = Counter64: {sums[key] % 2**64}\n")
                file.write(f"IF-MIB::ifName.{index} = STRING: {port}\n")
                speed = max(lab.get(port, which) for which in SPEEDS)
                if speed:
                    file.write(f"IF-MIB::ifHighSpeed.{index} = Gauge32: {speed * 8 / 1e6:.0f}\n")


def array(lab, shares, mean, out, names, topology):
    """CSV of what an array shows: how busy its controllers and disks are, what its ports and back end carry."""
    kinds = {"controller": ("controller", 1), "disks": ("disks", 1), "target-port": ("ports", 0), "backend": ("backend", 0)}
    files = []
    for kind, (stem, timed) in kinds.items():
        hops = [hop for hop in lab.of(kind) if any((hop, c) in lab.value for c in ("busy", "read-bytes"))]
        if not hops:
            continue
        files.append(stem)
        with open(os.path.join(out, f"{stem}.toml"), "w") as map_:
            map_.write(f'kind = "{kind}"\ntime = "Time"\nplace = "Object"\ndevice = "arr"\nzone = "UTC"\nheader = ["Time", "Object", "{stem}"]\n[column]\n')
            if timed:
                map_.write('"Busy %" = { measure = "busy", unit = "%" }\n')
            map_.write('"Read MB/s" = { measure = "read-bytes", unit = "MB/s" }\n"Write MB/s" = { measure = "write-bytes", unit = "MB/s" }\n'
                       '"Reads/s" = { measure = "reads" }\n"Writes/s" = { measure = "writes" }\n')
        with open(os.path.join(out, f"{stem}.csv"), "w") as file:
            file.write(f"Time,Object,{stem},Busy %,Read MB/s,Write MB/s,Reads/s,Writes/s\n")
            for n, share in enumerate(shares):
                for hop in hops:
                    names[hop] = names[f"arr/{hop}"] = hop
                    servers = lab.get(hop, "servers", 1) or 1
                    busy = min(1.0, lab.get(hop, "busy") / 1e9)
                    cells = [100 * busy * share, lab.get(hop, "read-bytes") / 1e6 * share, lab.get(hop, "write-bytes") / 1e6 * share,
                             lab.get(hop, "read-ops") * share, lab.get(hop, "write-ops") * share]
                    file.write(f"{when(n, mean):%Y-%m-%d %H:%M:%S},{hop},x," + ",".join(f"{c:.1f}" for c in cells) + "\n")
        for hop in hops:
            limits(lab, hop, hop, topology)
    return files


def limits(lab, hop, name, topology):
    """What the operator knows of a hop: speeds of ports, and what the data sheet of an adapter or a back end says."""
    lines = [(key, f'"{lab.get(hop, of) / 1e6:.2f} MB/s"') for key, of in (("read-rate", "read-rate"), ("write-rate", "write-rate"), ("both-rate", "both-rate")) if lab.get(hop, of)]
    if lab.kind[hop] in ("adapter", "backend") and lab.get(hop, "ops-rate"):
        lines.append(("operations", f"{lab.get(hop, 'ops-rate'):.1f}"))
    if lines:
        topology.append(f'[[hop]]\nname = "{name}"\n' + "".join(f"{k} = {v}\n" for k, v in lines))


def guest(lab, vm, shares, mean, out, names, form):
    r, rb, rt, w, wb, wt = lab.load[vm]
    flight = (rt + wt) / 1e9
    cpu = min(1.0, lab.get(f"{vm}.cpu", "busy") / 1e9)
    names[f"{vm}/sda"], names[f"{vm}/host.cpu"] = f"{vm}.disk0", f"{vm}.cpu"
    if len(lab.load) == 1:
        names["sda"], names["host.cpu"] = f"{vm}.disk0", f"{vm}.cpu"
    cores = int(lab.get(f"{vm}.cpu", "servers", 1)) or 1
    if form == "iostat":
        with open(os.path.join(out, f"{vm}.txt"), "w") as file:
            file.write(f"Linux 6.1.0 ({vm}) \t05/07/24 \t_x86_64_\t({cores} CPU)\n\n")
            for n, share in enumerate(shares):
                on = 1.0 if share > 0 else 0.0
                file.write(when(n, mean).strftime("%m/%d/%y %H:%M:%S") + "\n")
                file.write("avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n")
                used = 0.996 if lab.busy else cpu * share
                file.write(f"           {used * 50:.2f}    0.00   {used * 50:.2f}    0.00    0.00   {100 - used * 100:.2f}\n\n")
                file.write("Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util\n")
                cells = [r * share, w * share, rb / 1024 * share, wb / 1024 * share, 0, 0, 0, 0, rt / r / 1e6 * on if r else 0, wt / w / 1e6 * on if w else 0,
                         flight * share, rb / r / 1024 * on if r else 0, wb / w / 1024 * on if w else 0, 0, 100 * share * min(1.0, flight)]
                file.write("sda " + " ".join(f"{c:10.2f}" for c in cells) + "\n\n")
    else:
        statistics = []
        for n, share in enumerate(shares[1:], 1):
            on = 1.0 if share > 0 else 0.0
            at = when(n, mean)
            used = 0.996 if lab.busy else cpu * share
            wait = (rt + wt) / (r + w) / 1e6 * on if r + w else 0.0
            statistics.append({"timestamp": {"date": f"{at:%Y-%m-%d}", "time": f"{at:%H:%M:%S}", "utc": 1, "interval": mean},
                               "cpu-load": [{"cpu": "all", "user": round(used * 100, 2), "nice": 0.0, "system": 0.0, "iowait": 0.0, "steal": 0.0, "idle": round(100 - used * 100, 2)}],
                               "disk": [{"disk-device": "sda", "tps": round((r + w) * share, 2), "rkB": round(rb / 1024 * share, 2), "wkB": round(wb / 1024 * share, 2),
                                         "areq-sz": 0.0, "aqu-sz": round(flight * share, 2), "await": round(wait, 2), "util-percent": round(100 * share * min(1.0, flight), 2)}]})
        with open(os.path.join(out, f"{vm}.json"), "w") as file:
            json.dump({"sysstat": {"hosts": [{"nodename": vm, "sysname": "Linux", "number-of-cpus": cores, "statistics": statistics}]}}, file)


def main(argv):
    if argv[1] == "all":
        with open(argv[2]) as lines:
            for line in lines:
                main([argv[0], *line.split()])
        return
    folder, seed, mean, form, blind = argv[0], argv[1], int(argv[2]), argv[3], "blind" in argv[4:]
    more = dict(word.split("=", 1) for word in argv[4:] if "=" in word)
    lab = Lab(os.path.join(folder, f"{seed}.wsr"))
    text = open(os.path.join(folder, f"{seed}.toml")).read()
    where = {}
    for block in text.split("[[vm]]")[1:]:
        lines = dict(line.split(" = ", 1) for line in block.split("[[")[0].splitlines() if line.startswith(("name", "host")))
        where[lines["name"].strip('"')] = lines["host"].strip('"')
    lab.busy = "busy" in argv[4:]
    lab.of_host = lambda vm: where.get(vm)
    shares = activity(seed, mean, float(more.get("on", 120)), float(more.get("off", 60)))
    out = os.path.join(folder, more.get("into", f"{seed}.{mean}.{form}{'.blind' if blind else ''}"))
    os.makedirs(out, exist_ok=True)
    names, topology, order = {}, [], []
    if form in ("iostat", "sadf"):
        for vm in lab.load:
            guest(lab, vm, shares, mean, out, names, form)
    else:
        for host in sorted(set(where.values())):
            esxtop(lab, host, shares, mean, out, names)
            order.append(f"{host}.csv")
            if form == "fabric":
                for number, hba in enumerate(name for name in lab.of("adapter") if lab.group[name] == host):
                    name = f"{host}/vmhba{number}"
                    limits(lab, hba, name, topology)
    if form == "fabric":
        for switch in ("near", "far"):
            if any(lab.group[name] == switch for name in lab.of("switch-port")):
                walk(lab, switch, shares, mean, out, names)
                order.append(f"{switch}.walk")
        order += [f"{stem}.csv" for stem in array(lab, shares, mean, out, names, topology)]
        if blind:
            # A host's own counters stay where nothing else counts the load.
            gone = order[1 + int(seed) % 2::2]
            for file in gone:
                os.remove(os.path.join(out, file))
        with open(os.path.join(out, "topology.toml"), "w") as file:
            file.write("\n".join(topology))
    with open(os.path.join(out, "names.json"), "w") as file:
        json.dump(names, file)


if __name__ == "__main__":
    main(sys.argv[1:])
