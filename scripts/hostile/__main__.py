"""Hostile ways to use the program: input, peers, surroundings and file systems that are meant to break it. Each is named and
counted; a way broke where the program crashes, hangs, swells, says nothing, steers a terminal, serves others no more, or
writes what it must not. Nothing here shares code with the program. Arguments choose areas or single ways; without any, all
are tried. The program is named by WIRESPEED. `make hostile` runs them."""

import os, sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import guarded, imports, labs, limits, nats, pages, probes, receivers, records, targets, ways

if __name__ == "__main__":
    ways.signal_safe()
    sys.exit(ways.go(sys.argv[1:]))
