"""Which answers to planted labs are right; shares nothing with attribution.

    python3 judge.py LABS LIMITS DIRECTORY < ANSWERS

LABS is the folder of labs.py, LIMITS its list of what limits each lab by experiment. A line of ANSWERS is a JSON object: `case`,
the folder in DIRECTORY that write.py wrote, its `seed`, and `limits`, answers as findings writes them. A line of ones and zeros
comes back for each: whether the answer names what limits the lab.
"""

import json
import os
import sys

BEHIND = {"port_rate", "switch_rate", "isl", "controller", "array_iops", "array_rate", "disks", "cache"}


def resources(labs, lab, limit, names):
    """The resources of the lab that an answer names; None where it is "not determined"."""
    if limit["kind"] == "unknown":
        return None
    if limit["kind"] in ("none", "depth", "latency", "generator", "rate"):
        # Of a load that is only observed nobody knows whether its depth or its rate is what ends it.
        return {"load", "rate"}
    found = set()
    ends = [limit.get(key) for key in ("hop", "first", "second", "drain")] + list(limit.get("also") or [])
    for end in filter(None, ends):
        if end.endswith(" behind the host"):
            found |= BEHIND | {f"hba_{kind}:{n}" for kind in ("rate", "iops") for n in range(len(lab["hosts"]))}
            continue
        hop = names.get(end, end)
        if hop.endswith(".disk0") and limit.get("why") != "slots":
            # A disk as its guest sees it is all that is behind it.
            found |= BEHIND | {"disk_queue", "adapter_queue", "scsi_iops"}
            found |= {f"{kind}:{n}" for kind in ("hba_rate", "hba_iops", "lun_queue") for n in range(len(lab["hosts"]))}
            continue
        whys = [limit["why"]] if "why" in limit else ["", "slots", "ops", "rate"]
        if limit["kind"] in ("path-imbalance", "slow-drain"):
            whys = ["rate", ""]
        for why in whys:
            found |= labs.resources(lab, hop, why)
    return found


def main(argv):
    sys.path.insert(0, argv[0])
    sys.dont_write_bytecode = True
    import labs
    truth = {seed: set(names) for seed, _, _, _, names in labs.truths(argv[1])}
    for line in sys.stdin:
        answer = json.loads(line)
        with open(os.path.join(argv[2], answer["case"], "names.json")) as file:
            names = json.load(file)
        lab = labs.draw(int(answer["seed"]))
        right = []
        for limit in answer["limits"]:
            found = resources(labs, lab, limit, names)
            right.append("1" if found is not None and found & truth[int(answer["seed"])] else "0")
        print("".join(right))


if __name__ == "__main__":
    main(sys.argv[1:])
