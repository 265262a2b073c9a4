//! Integration tests of `engine`.

mod crew;
mod meter;
mod timeline;
