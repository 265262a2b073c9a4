//! What every live engine shares: threads, barrier, phases, intervals, self-testimony.
