//! Whether a cache or the device served, on a loop device that nobody else uses.

use crate::prelude::*;
use crate::program::support::Bench;

/// A loop device over a file; detached when dropped.
pub struct Loop(PathBuf);

impl Loop {
    /// `None`, with a line that says so, where there can be none.
    pub fn over(file: &Path) -> Option<Loop> {
        // Another test may take the free device in between: losetup then fails, and the next one is tried.
        for _ in 0..10 {
            let attached = Command::new("losetup").args(["-f", "--show"]).arg(file).output();
            match attached {
                Ok(out) if out.status.success() => {
                    return Some(Loop(String::from_utf8_lossy(&out.stdout).trim().into()));
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        println!("skipped: no loop device can be attached (root and losetup are needed)");
        None
    }

    pub fn path(&self) -> &str {
        self.0.to_str().expect("a plain path")
    }

    pub fn name(&self) -> &str {
        self.0.file_name().and_then(|n| n.to_str()).expect("a plain name")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

/// A device's accounting, turned on again when dropped: the device is used by others later, who expect it to count.
struct Switch(String);

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = fs::write(&self.0, "1");
    }
}

/// A bench with 4 MiB of data that does not repeat, on a loop device.
fn bench() -> Option<(Bench, Loop)> {
    let bench = Bench::new("");
    let image = bench.path("image");
    let words = (0..4_u32 << 18).map(|n| n.wrapping_mul(2_654_435_761));
    fs::write(&image, words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).expect("an image");
    let device = Loop::over(&image)?;
    Some((bench, device))
}

/// Reads a loop device, and returns the review and what it says of the reads as JSON.
fn read(bench: &Bench, device: &Loop, more: &[&str]) -> (String, serde_json::Value) {
    let base = ["disk", device.path(), "--block", "64KiB", "--time", "1s", "--out", "r.wsr"];
    let text = bench.expect(0, &[&base[..], more].concat()).stdout;
    let json = bench.expect(0, &["review", "r.wsr", "--format", "json"]).stdout;
    fs::remove_file(bench.path("r.wsr")).expect("the record");
    let json: serde_json::Value = serde_json::from_str(&json).expect("a review");
    (text, json["steps"][0]["served"][0].clone())
}

#[test]
fn what_the_page_cache_served_is_told_from_what_the_device_did() {
    let Some((bench, device)) = bench() else { return };
    let (text, direct) = read(&bench, &device, &[]);
    assert_eq!(direct["read"]["by"], "device", "{direct}");
    assert_eq!(direct["devices"][0], device.name());
    assert!(!text.contains("page cache"), "{text}");
    // Its node lies in memory, and it does not.
    assert!(!text.contains("a file in memory"), "{text}");
    // The whole device is in memory before the warm-up ends.
    let (text, buffered) = read(&bench, &device, &["--buffered"]);
    assert_eq!(buffered["read"]["by"], "cache", "{buffered}");
    let says = format!("of what was read came from the page cache, not from {}", device.name());
    assert!(text.contains(&says), "{text}");
}

#[test]
fn a_device_that_is_told_not_to_count_is_no_cache() {
    let Some((bench, device)) = bench() else { return };
    let switch = Switch(format!("/sys/block/{}/queue/iostats", device.name()));
    if fs::write(&switch.0, "0").is_err() {
        return println!("skipped: {} cannot be written", switch.0);
    }
    let (text, served) = read(&bench, &device, &["--buffered"]);
    drop(switch);
    assert!(served["read"].is_null(), "{served}");
    assert!(text.contains("its queue/iostats is 0"), "{text}");
}
