//! The page that stays open: the real server, asked over real sockets, by readers, programs and attackers; and by a browser.

mod attacks;
mod http;
mod library;
mod live;
mod look;
mod pictures;
mod prometheus;
mod start;
mod tls;

use crate::program::support::Bench;

/// A record in the bench's folder: a short load on `null:`.
#[track_caller]
fn short_run(bench: &Bench, name: &str) {
    let run = ["disk", "null:", "--time", "300ms", "--warmup", "0s", "-q", "--out", name];
    bench.expect(0, &run);
}
