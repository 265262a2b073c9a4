//! The live block engine: queues, workers and the write guard.
