//! A link of known rate between two hosts: both tools must report the same throughput.
//!
//! The hosts are two network namespaces, the link is a pair of virtual interfaces, and the kernel's token bucket shapes
//! the sender's output. Congestion control is pinned, since the kernel's default differs from machine to machine.

use crate::PAIRS;
use crate::estimate::Estimate;
use crate::streams::{Ours, Theirs};
use crate::target::{call, words};
use crate::tools::Problem;
use std::path::Path;

/// The two ends, from the block of addresses that documentation uses.
const NEAR: &str = "192.0.2.1";
const FAR: &str = "192.0.2.2";
/// The tolerance between them.
const SHARE: f64 = 0.02;

/// Two namespaces with a link between them; gone when it is dropped.
struct Link {
    near: String,
    far: String,
}

/// Links of 100 and of 400 MB/s.
pub fn report(scratch: &Path) -> Result<(), Problem> {
    let Some(link) = Link::new() else {
        println!("\nskipped: (r) needs root, and a kernel with network namespaces and tbf");
        return Ok(());
    };
    for megabytes in [100, 400] {
        link.shape(megabytes)?;
        println!(
            "\n(r) one TCP stream through a link shaped to {megabytes} MB/s, cubic\n  A: wirespeed net send\n  B: iperf3"
        );
        agree(scratch, &link)?;
    }
    Ok(())
}

fn agree(scratch: &Path, link: &Link) -> Result<(), Problem> {
    let ours = Ours::across(scratch, &link.near, &link.far, FAR)?;
    let theirs = Theirs::across(&link.near, &link.far, FAR)?;
    println!("  pair      A MB/s      B MB/s     A/B");
    let mut ratios = Vec::with_capacity(PAIRS);
    for number in 1..=PAIRS {
        let a = ours.run(&["--congestion", "cubic"])?.rate;
        let b = theirs.run(&["-C", "cubic"])?.rate;
        println!("  {number:4} {:>11.1} {:>11.1} {:7.4}", a / 1e6, b / 1e6, a / b);
        ratios.push(a / b);
    }
    let Estimate { median, confidence, low, high } =
        Estimate::of(&ratios).expect("ten rounds are enough");
    let (least, most) = (1.0 - SHARE, 1.0 + SHARE);
    let verdict = match () {
        () if low >= least && high <= most => "met",
        () if high < least || low > most => "MISSED",
        () => "undecided",
    };
    println!(
        "  A/B: median {median:.4}, {:.1}% interval {low:.4} to {high:.4}; within {}%: {verdict}",
        100.0 * confidence,
        SHARE * 100.0
    );
    Ok(())
}

impl Link {
    fn new() -> Option<Link> {
        let id = std::process::id();
        let link = Link { near: format!("wsb{id}n"), far: format!("wsb{id}f") };
        let (near, far) = (&link.near[..], &link.far[..]);
        for all in [
            &["netns", "add", near][..],
            &["netns", "add", far],
            &["-n", near, "link", "add", "out", "type", "veth", "peer", "name", "in", "netns", far],
            &["-n", near, "addr", "add", &format!("{NEAR}/30"), "dev", "out"],
            &["-n", far, "addr", "add", &format!("{FAR}/30"), "dev", "in"],
            &["-n", near, "link", "set", "out", "up"],
            &["-n", far, "link", "set", "in", "up"],
        ] {
            call(&mut words("ip", all)).ok()?;
        }
        // Whether the kernel can shape is known after it has.
        link.shape(100).ok()?;
        Some(link)
    }

    /// The shaper of the near end: a bucket of 4 ms, and a queue of 20 ms behind it.
    fn shape(&self, megabytes: u64) -> Result<(), Problem> {
        let (rate, burst) =
            (format!("{}bit", megabytes * 8_000_000), format!("{}b", megabytes * 4_000));
        let all = ["netns", "exec", &self.near, "tc", "qdisc", "replace", "dev", "out", "root"];
        let tbf = ["tbf", "rate", &rate, "burst", &burst, "latency", "20ms"];
        call(&mut words("ip", &[&all[..], &tbf].concat())).map(drop)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for name in [&self.near, &self.far] {
            // A missing one need not be removed.
            let _ = call(&mut words("ip", &["netns", "del", name]));
        }
    }
}
