//! Headers: known bytes, what is refused, and every header there and back.

mod bytes;
mod refused;
mod round;
