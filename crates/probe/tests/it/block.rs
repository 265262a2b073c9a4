//! The counters of block devices, parsed and as this machine has them.

use clock::Ns;
use probe::block::{Stat, parse, under};
use proptest::prelude::*;
use std::path::Path;

#[test]
fn a_line_of_counters_has_its_units() {
    let line = "21514782   275380 681380759 10140362  2468348   494310 268074256  1265239        3  1020776 11469190   \
                347409       31 180709224    61037    28121     2549\n";
    let expected = Stat {
        reads: 21_514_782,
        reads_merged: 275_380,
        read_bytes: 681_380_759 * 512,
        read_time: Ns::millis(10_140_362),
        writes: 2_468_348,
        writes_merged: 494_310,
        write_bytes: 268_074_256 * 512,
        write_time: Ns::millis(1_265_239),
        in_flight: 3,
        busy: Ns::millis(1_020_776),
        queued: Ns::millis(11_469_190),
    };
    assert_eq!(parse(line), Some(expected));
}

#[test]
fn what_is_no_line_of_counters_is_none() {
    for text in [
        "",
        "1 2 3",
        "a b c d e f g h i j k",
        "1 2 3 4 5 6 7 8 -9 10 11",
        "1,2,3,4,5,6,7,8,9,10,11",
    ] {
        assert_eq!(parse(text), None, "{text:?}");
    }
}

#[test]
fn paths_without_a_device_have_none() {
    for path in ["/proc/self/stat", "/nowhere/at/all", "/dev/null", ""] {
        assert!(under(Path::new(path)).is_empty(), "{path}");
    }
}

#[test]
fn the_devices_of_this_machine_have_names_and_counters_that_grow() {
    let Ok(entries) = std::fs::read_dir("/sys/block") else {
        return println!("skipped: no /sys/block");
    };
    let devices = entries.flatten().flat_map(|e| under(&Path::new("/dev").join(e.file_name())));
    for device in devices {
        let (before, after) = (device.look(), device.look());
        assert!(!device.name().is_empty() && after.at >= before.at);
        if let (Some(before), Some(after)) = (before.stat, after.stat) {
            assert!(after.reads >= before.reads && after.write_bytes >= before.write_bytes);
        }
    }
}

proptest! {
    #[test]
    fn no_line_is_too_odd(numbers in prop::collection::vec(any::<u64>(), 0..20), text in ".*") {
        let line: Vec<String> = numbers.iter().map(u64::to_string).collect();
        prop_assert_eq!(parse(&line.join(" ")).is_some(), numbers.len() >= 11);
        let _ = parse(&text);
    }
}
