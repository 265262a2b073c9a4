//! The record file from outside: what is written comes back, what is refused says why, and neither a kill, nor a full
//! disk, nor a damaged byte makes a record lie or a reader panic.

mod child;
mod common;
mod crash;
mod damage;
mod documentation;
mod follow;
mod histogram;
mod live;
mod opening;
mod percentiles;
mod round_trip;
mod rounds;
mod size;
mod storage;
mod writing;
