//! Headers: known bytes, refusals, and round trips.

mod bytes;
mod refused;
mod round_trip;
