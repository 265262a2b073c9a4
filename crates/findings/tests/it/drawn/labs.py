"""Labs with planted limits, drawn as scenario text, and how often attribution finds the limit.

    python3 labs.py study BINARY FIRST COUNT [--blind] [--estimate]   a table, the calibration curve, the Brier score
    python3 labs.py truth BINARY FIRST COUNT                          one line a lab: seed, limits, gain, IOPS
    python3 labs.py text SEED                                         the scenario of one lab
    python3 labs.py texts DIRECTORY TRUTHS                            the scenarios of a file of `truth`, as SEED.toml
    python3 labs.py blind DIRECTORY                                   copies of its records, SEED.blind.wsr, without every second hop
    python3 labs.py score DIRECTORY TRUTHS KIND                       scores SEED.KIND.json there: attributions as findings writes them

Nothing here knows the rules of attribution. A lab is drawn at random; one of its resources is then made scarce. What limits it
is found by experiment: each resource is doubled in the text, one at a time, and the lab is simulated again. The limit is the
resource whose doubling raises throughput most. Resources that gain nearly as much are accepted too. Where no single one
gains, pairs are tried; a lab in which pairs do not gain either is left out.

A delay is no resource: it has no capacity to double. "load" is the depth of a closed loop, or its think time halved; "rate" is
the rate of an open loop. `--blind` removes the counters of every second hop from the record before it is judged.
"""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

NOISE = 0.03        # gains that differ by less are equal
TIE = 0.1           # and so are those that differ by less than this part of the best
LEAST = 0.06        # a gain below this limits nothing


def pick(rng, *of):
    return rng.choice(of)


def draw(seed):
    """A lab at random, as a dictionary of figures; one resource is made scarce."""
    rng = random.Random(f"planted {seed}")
    lab = {"seed": seed}
    hosts = pick(rng, 1, 1, 1, 2, 2, 3)
    equal = rng.random() < 0.5
    lab["hosts"] = []
    for n in range(hosts):
        fresh = n == 0 or not equal
        before = lab["hosts"][0] if n else None
        lab["hosts"].append({
            "cores": pick(rng, 4, 8, 16) if fresh else before["cores"],
            "hba_rate": pick(rng, 400, 800, 1600) * rng.uniform(0.9, 1.1) if fresh else before["hba_rate"],
            "hba_iops": pick(rng, 0, 200e3, 400e3) if fresh else before["hba_iops"],
            "lun_queue": pick(rng, 32, 64, 128, 254) if fresh else before["lun_queue"],
            "vms": pick(rng, 1, 2, 3, 4) if hosts == 1 else pick(rng, 1, 2),
        })
    lab["cpu_us"] = rng.uniform(4, 15)
    lab["guest_us"] = rng.uniform(3, 8)
    lab["vcpus"] = pick(rng, 2, 4)
    lab["adapter_queue"] = pick(rng, 128, 254, 1024)
    lab["disk_queue"] = pick(rng, 64, 128, 256)
    lab["scsi_iops"] = pick(rng, 0, 0, 150e3, 300e3)
    lab["two_switches"] = rng.random() < 0.4
    lab["isl"] = rng.uniform(1200, 3000)
    lab["switch_rate"] = pick(rng, 1700, 3300)
    lab["ports"] = pick(rng, 1, 2, 2, 4)
    lab["policy"] = pick(rng, None, None, "round-robin", "least-queue")
    lab["port_rate"] = pick(rng, 400, 800, 1600) * rng.uniform(0.9, 1.1)
    lab["controllers"] = pick(rng, 1, 2)
    lab["controller_cores"] = pick(rng, 1, 2, 4)
    lab["controller_us"] = rng.uniform(3, 12)
    lab["latency_us"] = pick(rng, 10, 20, 100, 300, 1000, 3000)
    lab["array_iops"] = pick(rng, 0, 0, 100e3, 300e3)
    lab["array_rate"] = pick(rng, 0, 0, 1500, 3000)
    medium = pick(rng, "ram", "ram", "ssd", "disk", "disk")
    lab["medium"] = medium
    lab["cache_mb"] = pick(rng, 0, 16, 48, 128)
    lab["hit"] = pick(rng, 0, 30, 60, 90) if lab["cache_mb"] else 0
    lab["write_back"] = rng.random() < 0.6
    lab["raid"] = pick(rng, "raid-0", "raid-1", "raid-5", "raid-6", "raid-10")
    lab["disks"] = {"disk": pick(rng, 4, 8, 12, 24, 48), "ssd": pick(rng, 4, 6, 8)}.get(medium, 0)
    if lab["raid"] == "raid-1" and lab["disks"]:
        lab["disks"] = pick(rng, 2, 4, 8)
    lab["own_volumes"] = rng.random() < 0.7
    lab["seek_ms"] = rng.uniform(2.5, 8)
    lab["ssd_us"] = rng.uniform(60, 200)
    lab["ssd_rate"] = rng.uniform(200, 800)
    lab["channels"] = pick(rng, 2, 4, 8)
    lab["block_kib"] = pick(rng, 4, 8, 16, 32, 64, 128, 256)
    lab["read"] = pick(rng, 0, 30, 50, 70, 100, 100)
    lab["random"] = pick(rng, 100, 100, 100, 50, 0)
    if medium == "disk":
        lab["block_kib"] = pick(rng, 4, 8, 16, 64)
        lab["random"] = 100
    lab["depth"] = pick(rng, 4, 8, 16, 32, 64, 128)
    lab["think_us"] = pick(rng, 0, 0, 0, 0, 200, 1000, 5000)
    lab["unequal_depth"] = hosts > 1 and rng.random() < 0.4
    lab["rate"] = 0
    lab["poisson"] = rng.random() < 0.5
    scarce(rng, lab)
    return lab


def scarce(rng, lab):
    """Makes one resource scarce, by a factor at random. Whether it limits then is for the experiment to say."""
    less = 2.0 ** rng.uniform(1.5, 5.5)
    deep = rng.random() < 0.8
    kinds = ["load", "load", "host", "vcpus", "queue", "queue", "lun_queue", "lun_queue", "scsi", "hba_rate", "hba_iops",
             "isl", "port", "controller", "array_iops", "array_rate", "switch", "medium", "medium", "medium", "medium",
             "rate", "rate", "overload"]
    kind = rng.choice(kinds)
    host = rng.choice(lab["hosts"])
    if deep and kind not in ("load", "rate", "overload"):
        lab["depth"] = max(lab["depth"], pick(rng, 32, 64, 128))
        lab["think_us"] = 0
    if kind == "load":
        lab["depth"] = pick(rng, 1, 2, 4, 8)
        lab["think_us"] = pick(rng, 0, 0, 500, 5000, 20000)
    elif kind == "host":
        host["cores"] = 1
        lab["cpu_us"] *= less / 2
    elif kind == "vcpus":
        lab["vcpus"] = 1
        lab["guest_us"] *= less / 2
    elif kind == "queue":
        lab[pick(rng, "adapter_queue", "disk_queue")] = pick(rng, 4, 8, 16, 32)
        lab["latency_us"] = max(lab["latency_us"], pick(rng, 200, 1000))
    elif kind == "lun_queue":
        host["lun_queue"] = pick(rng, 4, 8, 16, 32, 64, 128)
        lab["depth"] = max(lab["depth"], 2 * host["lun_queue"])
        lab["disk_queue"] = max(lab["disk_queue"], 2 * host["lun_queue"])
        lab["latency_us"] = max(lab["latency_us"], pick(rng, 300, 1000, 3000))
    elif kind == "scsi":
        lab["scsi_iops"] = 150e3 / less
    elif kind == "hba_rate":
        host["hba_rate"] /= less / 2
    elif kind == "hba_iops":
        host["hba_iops"] = 200e3 / less
    elif kind == "isl":
        lab["two_switches"], lab["isl"] = True, 1200 / less
    elif kind == "port":
        lab["port_rate"] /= less / 2
    elif kind == "controller":
        lab["controller_us"] *= less
    elif kind == "array_iops":
        lab["array_iops"] = 100e3 / less
    elif kind == "array_rate":
        lab["array_rate"] = 1500 / less
    elif kind == "switch":
        lab["switch_rate"] = rng.uniform(80, 300)
    elif kind == "medium" and lab["medium"] != "ram":
        lab["disks"] = 2 if lab["medium"] == "ssd" else max(2, lab["disks"] // pick(rng, 1, 2, 4))
        if lab["raid"] in ("raid-5", "raid-6"):
            lab["disks"] = max(lab["disks"], 4)
        lab["channels"] = 2
    elif kind in ("rate", "overload"):
        lab["open"] = rng.uniform(0.2, 0.97) if kind == "rate" else rng.uniform(1.3, 3)
        lab["think_us"] = 0


def part(name, kind, **figures):
    rows = [f'  {{ name = "{key}", value = "{value}", source = "drawn", kind = "assumed" }},'
            for key, value in figures.items() if value is not None]
    return "\n".join(["[[part]]", f'name = "{name}"', f'kind = "{kind}"', "figures = [", *rows, "]"])


def mbps(value):
    return f"{value:.2f} MB/s"


def some(value, text):
    return text if value else None


def text(lab):
    """The lab as a scenario."""
    out = ["[scenario]", f'title = "lab {lab["seed"]}"', f"seed = {lab['seed'] % 1000 + 1}"]
    for n, host in enumerate(lab["hosts"]):
        out.append(part(f"server-{n}", "host", cores=host["cores"]))
        out.append(part(f"hba-{n}", "hba", port_rate=mbps(host["hba_rate"]), lun_queue=host["lun_queue"],
                        iops_max=some(host["hba_iops"], f"{host['hba_iops']:.0f} IOPS")))
    out.append(part("hyper", "hypervisor", cpu_per_io=f"{lab['cpu_us']:.2f}us"))
    out.append(part("scsi", "virtual-scsi", adapter_queue=lab["adapter_queue"], disk_queue=lab["disk_queue"],
                    cpu_per_io=f"{lab['guest_us']:.2f}us",
                    iops_max=some(lab["scsi_iops"], f"{lab['scsi_iops']:.0f} IOPS")))
    out.append(part("fc", "switch", ports=32, port_rate=mbps(lab["switch_rate"])))
    out.append(part("store", "array", ports=lab["ports"], port_rate=mbps(lab["port_rate"]), controllers=lab["controllers"],
                    controller_time_per_io=f"{lab['controller_us']:.2f}us", controller_cores=lab["controller_cores"],
                    latency=f"{lab['latency_us']}us",
                    iops_max=some(lab["array_iops"], f"{lab['array_iops']:.0f} IOPS"),
                    rate_max=some(lab["array_rate"], mbps(lab["array_rate"])),
                    cache=some(lab["cache_mb"], f"{lab['cache_mb']} MB"),
                    hit_share=some(lab["cache_mb"], f"{lab['hit']}%"),
                    write_back=some(lab["cache_mb"], "yes" if lab["write_back"] else "no")))
    out.append(part("spindle", "disk", seek_mean=f"{lab['seek_ms']:.2f}ms", rotation_half="2ms", rate_outer="200 MB/s",
                    rate_inner="120 MB/s", size="600 GB"))
    out.append(part("flash", "disk", read_latency=f"{lab['ssd_us']:.0f}us", write_latency=f"{lab['ssd_us'] / 2:.0f}us",
                    read_rate=mbps(lab["ssd_rate"]), write_rate=mbps(lab["ssd_rate"] / 2), channels=lab["channels"]))
    medium = {"ram": "ram", "ssd": "flash", "disk": "spindle"}[lab["medium"]]
    out.append(f'[[array]]\nname = "arr"\npart = "store"\nmedia = "{medium}"')
    out.append('[[switch]]\nname = "near"\npart = "fc"')
    far = "near"
    if lab["two_switches"]:
        far = "far"
        out.append('[[switch]]\nname = "far"\npart = "fc"')
        out.append(f'[[link]]\nname = "isl"\nfrom = "near"\nto = "far"\nrate = "{mbps(lab["isl"])}"')
    vm = 0
    for n, host in enumerate(lab["hosts"]):
        out.append(f'[[host]]\nname = "h{n}"\npart = "server-{n}"\nhypervisor = "hyper"\n'
                   f'adapters = [{{ name = "hba", part = "hba-{n}" }}]')
        out.append(f'[[link]]\nfrom = "h{n}.hba"\nto = "near"')
        for _ in range(host["vms"]):
            lun = f"arr/v{vm if lab['own_volumes'] else 0}"
            out.append(f'[[vm]]\nname = "vm{vm}"\nhost = "h{n}"\nvcpus = {lab["vcpus"]}\nscsi = "scsi"\n'
                       f'disks = [{{ lun = "{lun}", map = "rdm" }}]')
            if lab["policy"] and lab["ports"] > 1:
                out.append(f'[[path]]\nname = "way{vm}"\nfrom = "vm{vm}"\nto = "{lun}"\npolicy = "{lab["policy"]}"')
            vm += 1
    for port in range(lab["ports"]):
        out.append(f'[[link]]\nfrom = "{far}"\nto = "arr:{port}"')
    for volume in range(vm if lab["own_volumes"] else 1):
        disks = f'disks = {lab["disks"]}\nraid = "{lab["raid"]}"\n' if lab["disks"] else ""
        out.append(f'[[volume]]\nname = "v{volume}"\narray = "arr"\nsize = "400 GB"\n{disks}')
    loads = []
    first = lab["hosts"][0]["vms"]
    for name, members, more in (("near", range(first), 1), ("rest", range(first, vm), 2)):
        if not members:
            continue
        issue = f"depth = {lab['depth'] * (more if lab['unequal_depth'] else 1)}"
        if lab["rate"]:
            issue = f'rate = "{lab["rate"] / vm:.1f} IOPS"\narrivals = "{"poisson" if lab["poisson"] else "fixed"}"'
            issue += f"\nlimit = {lab.get('limit', 256)}"
        elif lab["think_us"]:
            issue += f'\nthink = "{lab["think_us"]}us"'
        out.append(f'[workload.{name}]\nblock = "{lab["block_kib"]}KiB"\nread = {lab["read"]}\nrandom = {lab["random"]}\n{issue}')
        loads.append(f'{{ workload = "{name}", on = {json.dumps([f"vm{m}" for m in members])} }}')
    slow = lab["medium"] == "disk"
    out.append(f'[plan]\nload = [{", ".join(loads)}]\nwarmup = "{"2s" if slow else "150ms"}"\n'
               f'measure = "{"4s" if slow else "300ms"}"')
    return "\n".join(out) + "\n"


def changed(lab, **figures):
    return {**lab, **figures}


def of_host(lab, n, figure, by=2):
    hosts = [dict(host) for host in lab["hosts"]]
    hosts[n][figure] *= by
    return changed(lab, hosts=hosts)


def doubled(lab):
    """Each resource with the lab in which it is doubled."""
    out = {}
    for figure in ("vcpus", "adapter_queue", "disk_queue", "scsi_iops", "switch_rate", "port_rate", "array_iops", "array_rate"):
        if lab[figure]:
            out[figure] = changed(lab, **{figure: 2 * lab[figure]})
    for n, host in enumerate(lab["hosts"]):
        for figure in ("cores", "hba_rate", "hba_iops", "lun_queue"):
            if host[figure]:
                out[f"{figure}:{n}"] = of_host(lab, n, figure)
    out["controller"] = changed(lab, controller_cores=2 * lab["controller_cores"])
    if lab["two_switches"]:
        out["isl"] = changed(lab, isl=2 * lab["isl"])
    if lab["disks"]:
        out["disks"] = changed(lab, disks=2 * lab["disks"])
    if lab["cache_mb"]:
        out["cache"] = changed(lab, cache_mb=2 * lab["cache_mb"])
    if lab["rate"]:
        out["rate"] = changed(lab, rate=2 * lab["rate"])
    else:
        out["load"] = changed(lab, depth=2 * lab["depth"])
        if lab["think_us"]:
            out["load/think"] = changed(lab, think_us=lab["think_us"] / 2)
    return out


class Bench:
    def __init__(self, binary, estimate=False):
        self.binary, self.verb = binary, "estimate" if estimate else "simulate"
        self.dir = tempfile.mkdtemp(prefix="planted-")
        self.made = 0

    def run(self, *args):
        done = subprocess.run([self.binary, *args], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(args)}: {done.stderr[-600:]}")
        return done.stdout

    def record(self, lab):
        self.made += 1
        base = os.path.join(self.dir, f"{lab['seed']}-{self.made}")
        with open(base + ".toml", "w") as out:
            out.write(text(lab))
        self.run(self.verb, base + ".toml", "--out", base + ".wsr", "--quiet")
        return base

    def review(self, base):
        return json.loads(self.run("review", base + ".wsr", "--format", "json"))["steps"][0]

    def drop(self, base):
        for end in (".toml", ".wsr", ".wsr-wal", ".wsr-shm"):
            if os.path.exists(base + end):
                os.remove(base + end)

    def iops(self, lab):
        base = self.record(lab)
        step = self.review(base)
        self.drop(base)
        return step["total"]["both"]["iops"]


def opened(bench, lab):
    """Turns the load of a lab into an open one, at a share of what it carries closed."""
    share = lab.pop("open", None)
    if share:
        deep = changed(lab, depth=max(lab["depth"], 64))
        lab["rate"] = max(share * bench.iops(deep), 10.0)
    return lab


def prepared(bench, seed):
    return opened(bench, draw(seed))


def truth(bench, lab, iops):
    """What limits the lab by experiment: the accepted resources and the gain of the best; `None` where that is not clear."""
    labs = doubled(lab)
    gains = {}
    for name, more in labs.items():
        resource = name.split("/")[0]
        gain = bench.iops(more) / iops - 1
        gains[resource] = max(gain, gains.get(resource, -1.0))
    best = max(gains.values())
    if best >= LEAST:
        near = max(NOISE, TIE * best)
        return sorted(name for name, gain in gains.items() if gain >= best - near), best
    pairs = {}
    hops = [name for name in labs if "/" not in name]
    for i, a in enumerate(hops):
        for b in hops[i + 1:]:
            both = merged(lab, labs[a], labs[b])
            pairs[a, b] = bench.iops(both) / iops - 1
            if pairs[a, b] >= 2 * LEAST:
                return [a, b], pairs[a, b]
    return None


def merged(lab, a, b):
    """Both changes of a lab at once."""
    out = {key: (b[key] if a[key] == lab[key] else a[key]) for key in lab}
    out["hosts"] = [{key: (y[key] if x[key] == host[key] else x[key]) for key in host}
                    for host, x, y in zip(lab["hosts"], a["hosts"], b["hosts"])]
    return out


def resources(lab, hop, why):
    """The resources that a hop of the record consists of; of a wire those of both ends."""
    if hop.startswith("vm"):
        if hop.endswith(".cpu"):
            return {"vcpus"}
        if hop.endswith(".scsi0"):
            return {"adapter_queue"} if why == "slots" else {"scsi_iops"}
        return {"disk_queue"}
    if hop.startswith("h") and hop[1].isdigit():
        n = hop[1]
        if hop.endswith(".cpu"):
            return {f"cores:{n}"}
        if "arr/" in hop:
            return {f"lun_queue:{n}"}
        if "hba-" in hop:
            return {f"hba_rate:{n}", "switch_rate"}
        return {f"hba_iops:{n}"} if why == "ops" else {f"hba_rate:{n}", "switch_rate"}
    if hop.startswith(("far-arr", "near-arr", "arr:")):
        return {"port_rate", "switch_rate"}
    if hop.startswith("isl"):
        return {"isl"}
    if hop.startswith(("near:", "far:")):
        return {"switch_rate", "isl", "port_rate"} | {f"hba_rate:{n}" for n in range(len(lab["hosts"]))}
    if hop.startswith("arr.controller"):
        return {"controller"}
    if hop.startswith("arr.cache"):
        return {"cache"}
    if hop.endswith(".disks"):
        return {"disks"}
    if hop.startswith("arr.backend"):
        return {"array_iops"} if why == "ops" else {"array_rate"} if why == "rate" else {"array_iops", "array_rate"}
    return set()


def named(lab, limit, gone):
    """The resources that an answer names, or `None` where it is "not determined"."""
    kind = limit["kind"]
    if kind == "hop":
        # Without counters nothing tells which of a hop's limits it is.
        whys = lambda hop: ("ops", "rate") if hop in gone and limit["why"] != "slots" else (limit["why"],)
        return set().union(*(resources(lab, hop, why) for hop in [limit["hop"], *limit["also"]] for why in whys(hop)))
    if kind == "two":
        return set().union(*(resources(lab, limit[end], why) for end in ("first", "second") for why in ("", "slots", "ops")))
    if kind == "path-imbalance":
        return resources(lab, limit["hop"], "rate")
    if kind == "slow-drain":
        return resources(lab, limit["drain"] or limit["hop"], "")
    if kind == "unknown":
        return None
    return {"rate"} if kind == "rate" else {"load"}


def missing(lab, limit):
    """The resources of the hops that a "not determined" asks counters of."""
    hops = [text.split(" of ")[-1] for text in limit["missing"]]
    return set().union(set(), *(resources(lab, hop, why) for hop in hops for why in ("slots", "ops", "rate")))


def hidden(base, seed):
    """Every second hop of a record, with its source."""
    db = sqlite3.connect(base + ".wsr")
    hops = [hop for hop in db.execute("SELECT source, name FROM source WHERE hop_kind IS NOT NULL ORDER BY source")]
    db.close()
    return set(hops[seed % 2::2])


def blinded(base, seed):
    """Removes the counters of every second hop; the hops."""
    gone = hidden(base, seed)
    db = sqlite3.connect(base + ".wsr")
    db.executemany("DELETE FROM counter WHERE source = ?", [(source,) for source, _ in gone])
    db.commit()
    db.close()
    return gone


def judged(bench, seed, blind, known=None):
    """One lab: its truth, the answer, and whether that is right; `None` where the lab is left out."""
    lab = prepared(bench, seed)
    base = bench.record(lab)
    gone = blinded(base, seed) if blind else set()
    step = bench.review(base)
    bench.drop(base)
    if not step["attribution"]:
        return None
    found = known or truth(bench, lab, step["total"]["both"]["iops"])
    return found and row(lab, found, step["total"]["both"]["iops"], step["attribution"], gone)


def row(lab, found, iops, said, gone):
    """What is said of a lab beside its truth."""
    accepted, gain = found
    names = named(lab, said["limit"], {hop for _, hop in gone})
    if names is None:
        # Not determined is right where the limit's own counters are what was removed, and it says so.
        dark = set().union(set(), *(resources(lab, hop, why) for _, hop in gone for why in ("slots", "ops", "rate")))
        right = bool(set(accepted) & dark & missing(lab, said["limit"]))
    else:
        right = bool(names & set(accepted))
    return {"seed": lab["seed"], "truth": accepted, "gain": gain, "iops": iops, "limit": said["limit"],
            "probability": said["probability"], "right": right, "undetermined": names is None and not right,
            "clue": said["clues"][0]["text"] if said["clues"] else ""}


def table(found):
    kinds = {}
    for row in found:
        kinds.setdefault(row["truth"][0].split(":")[0], []).append(row)
    count = lambda rows, key: sum(1 for row in rows if row[key])
    print("limit by experiment   labs   right   wrong   not determined")
    for kind, rows in [*sorted(kinds.items()), ("all", found)]:
        right, dark = count(rows, "right"), count(rows, "undetermined")
        print(f"{kind:20} {len(rows):5} {right:7} {len(rows) - right - dark:7} {dark:16}")
    print("\nstated probability   labs   mean stated   right")
    bins = [(low / 10, (low + 1) / 10) for low in range(0, 9)] + [(0.9, 1.01)]
    for low, high in bins:
        rows = [row for row in found if low <= row["probability"] < high]
        if rows:
            stated = sum(row["probability"] for row in rows) / len(rows)
            print(f"{low:.1f} to {min(high, 1):.1f} {len(rows):14} {stated:13.3f} {100 * count(rows, 'right') / len(rows):6.1f}%")
    brier = sum((row["probability"] - row["right"]) ** 2 for row in found) / len(found)
    sure = [row for row in found if row["probability"] >= 0.9 and not row["right"] and not row["undetermined"]]
    print(f"Brier score {brier:.4f}\nright {100 * count(found, 'right') / len(found):.1f}% of {len(found)} labs; "
          f"wrong at 0.9 or more: {len(sure)}")


def each(work, seeds):
    def safe(seed):
        try:
            return work(seed)
        except RuntimeError as error:
            print(f"{seed}: {error}", file=sys.stderr)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(safe, seeds))


def main(argv):
    command = argv[0]
    if command == "text":
        print(text(draw(int(argv[1]))), end="")
        return
    if command == "texts":
        for seed, rate, *_ in truths(argv[2]):
            lab = draw(seed)
            # An open lab's rate came from the simulator.
            lab.pop("open", None)
            lab["rate"] = rate
            with open(os.path.join(argv[1], f"{seed}.toml"), "w") as out:
                out.write(text(lab))
        return
    if command == "blind":
        for name in sorted(os.listdir(argv[1])):
            base, end = os.path.join(argv[1], name[:-4]), name[-4:]
            if end == ".wsr" and "." not in name[:-4]:
                shutil.copyfile(base + end, base + ".blind" + end)
                blinded(base + ".blind", int(name[:-4]))
        return
    if command == "score":
        found = []
        for seed, _, iops, gain, accepted in truths(argv[2]):
            path = os.path.join(argv[1], f"{seed}.{argv[3]}.json")
            if os.path.exists(path):
                with open(path) as read:
                    said = json.load(read)
                gone = hidden(os.path.join(argv[1], str(seed)), seed) if argv[3] == "blind" else set()
                found.append(row(draw(seed), (accepted, gain), iops, said, gone))
        report(found)
        return
    bench = Bench(argv[1], "--estimate" in argv)
    seeds = range(int(argv[2]), int(argv[2]) + int(argv[3]))
    if command == "truth":
        def line(seed):
            lab = prepared(bench, seed)
            iops = bench.iops(lab)
            found = truth(bench, lab, iops)
            if found:
                print(f"{seed} {lab['rate']:.1f} {iops:.0f} {found[1]:.3f} {','.join(found[0])}", flush=True)
        each(line, seeds)
        return
    known = {}
    if "--known" in argv:
        known = {seed: (names, gain) for seed, _, _, gain, names in truths(argv[argv.index("--known") + 1])}
        seeds = [seed for seed in seeds if seed in known]
    report(list(filter(None, each(lambda seed: judged(bench, seed, "--blind" in argv, known.get(seed)), seeds))))


def truths(path):
    """The lines of `truth`."""
    with open(path) as read:
        for line in read:
            seed, rate, iops, gain, names = line.split()
            yield int(seed), float(rate), float(iops), float(gain), names.split(",")


def report(found):
    for of in found:
        if not of["right"]:
            print(json.dumps({key: of[key] for key in ("seed", "truth", "gain", "iops", "limit", "probability", "clue")}))
    table(found)


if __name__ == "__main__":
    main(sys.argv[1:])
