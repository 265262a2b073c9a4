"""The program as functions: arguments in, documents out."""

import json
import os
import shutil
import subprocess
from pathlib import Path


class WirespeedError(Exception):
    """The program refused, or could not do, what it was asked for."""

    def __init__(self, code, message):
        super().__init__(message.strip() or f"wirespeed ended with {code}")
        self.code = code


def program():
    """The program's path: of the environment variable WIRESPEED, of this package, or on the search path."""
    named = os.environ.get("WIRESPEED")
    carried = Path(__file__).parent / "bin" / "wirespeed"
    found = named or (str(carried) if carried.is_file() else shutil.which("wirespeed"))
    if not found:
        raise WirespeedError(2, "the program `wirespeed` was not found: name it in WIRESPEED")
    return found


def _call(arguments, fine=(0, 1)):
    """Runs the program. Its exit code 1 says that a goal is not met, which is a result."""
    done = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode not in fine:
        raise WirespeedError(done.returncode, done.stderr)
    return done.stdout


def _sets(settings):
    return [word for key, value in (settings or {}).items() for word in ("--set", f"{key}={value}")]


def _recorded(command, scenario, out, settings):
    from ._record import Record

    _call([command, scenario, "--quiet", "--out", out, "--format", "json", *_sets(settings)])
    return Record(out)


def run(scenario, out, set=None):
    """Runs a scenario; its record."""
    return _recorded("run", scenario, out, set)


def simulate(scenario, out, set=None):
    """Simulates a scenario; its record."""
    return _recorded("simulate", scenario, out, set)


def plan(scenario, set=None):
    """A dry run: the steps, the time, the targets."""
    return json.loads(_call(["plan", scenario, "--format", "json", *_sets(set)], (0, 2, 3, 4)) or "{}")


def estimate(scenario, set=None):
    """What the lab of a scenario will carry, without running anything."""
    return json.loads(_call(["estimate", scenario, "--format", "json", *_sets(set)]))


def review(record):
    """The findings of a record."""
    return json.loads(_call(["review", record, "--format", "json"], (0, 1, 3)))


def export(record, format):
    """A record in the form of another program, as text: csv, fio-json, influx, iometer, junit, markdown, …"""
    return _call(["review", record, "--format", format], (0, 1, 3))


def write_table(record, rows, path):
    """The rows of a record as a table of Apache Parquet."""
    _call(["review", record, "--format", "parquet", "--rows", rows, "--quiet", "-o", path], (0, 1, 3))


def compare(baseline, *others):
    """Compares records with the first."""
    return json.loads(_call(["compare", baseline, *others, "--format", "json"]))


def main():
    """The command `wirespeed` of a wheel that carries the program: the program itself, in place of Python."""
    import sys

    path = program()
    os.execv(path, [path, *sys.argv[1:]])
