//! What a run leaves behind: sources, intervals, histograms, counters, events; the file format.
