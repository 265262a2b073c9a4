//! Statements derived from a record, with the numbers that prove them.
