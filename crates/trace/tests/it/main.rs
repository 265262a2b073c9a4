//! Tests of the readers of traces, of the compact form, and of what is counted.

mod damaged;
mod fits;
mod own;
mod peers;
mod readers;
mod refused;
