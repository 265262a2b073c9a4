//! Rendering of a record and its findings.
