"""Wirespeed's records as frames, and its program as functions."""

from ._program import WirespeedError, compare, estimate, export, plan, program, review, run, simulate
from ._record import Record

__all__ = [
    "Record",
    "WirespeedError",
    "compare",
    "estimate",
    "export",
    "open",
    "plan",
    "program",
    "review",
    "run",
    "simulate",
]
__version__ = "0.1.0"


def open(path):
    """Opens the record of a run: finished, killed or still going on."""
    return Record(path)
