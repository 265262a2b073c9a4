//! Damaged traces of every form are read or refused, and nothing else: no panic, I/Os in order of time.

use crate::readers::folder;
use clock::{Ns, Rng};
use trace::{Layer, TraceFormat, TraceOptions, detect, open};

/// Reads to the end or to the first mistake; how many I/Os there were.
fn read(bytes: &[u8], format: TraceFormat, layer: Layer) -> u64 {
    let options = TraceOptions { layer, map: None };
    let head = &bytes[..bytes.len().min(4096)];
    let Ok(mut reader) = open(vec![bytes], head, format, &options) else { return 0 };
    let (mut count, mut latest) = (0, Ns::ZERO);
    loop {
        match reader.next() {
            Ok(Some(io)) => {
                assert!(io.at >= latest, "times run backwards");
                latest = io.at;
                count += 1;
            }
            Ok(None) => return count,
            Err(error) => {
                assert!(!error.to_string().chars().any(char::is_control), "{error}");
                return count;
            }
        }
    }
}

#[test]
fn damage_ends_in_an_answer() {
    let Some(folder) = folder(1) else { return };
    let mut rng = Rng::keyed(7, &[1]);
    let names = [
        "msr.csv",
        "alibaba.csv",
        "tencent.csv",
        "fio2.log",
        "fio3.log",
        "vscsi1.bin",
        "vscsi2.bin",
        "vscsi2.txt",
        "le.blktrace.0",
        "be.blktrace.1",
        "blkparse.txt",
    ];
    for name in names {
        let whole = std::fs::read(folder.join(name)).unwrap();
        let format = detect(&whole[..whole.len().min(4096)]).unwrap();
        assert!(read(&whole, format, Layer::Queue) > 0, "{name}");
        for _ in 0..150 {
            let mut bytes = whole.clone();
            for _ in 0..=rng.below(6) {
                let at = rng.below(bytes.len() as u64) as usize;
                match rng.below(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = rng.next_u64() as u8,
                    2 => bytes[at] ^= 1 << rng.below(8),
                    _ => {
                        let from = rng.below(bytes.len() as u64) as usize;
                        let part = bytes[from..(from + 60).min(bytes.len())].to_vec();
                        bytes.splice(at..at, part);
                    }
                }
            }
            read(&bytes, format, Layer::Queue);
            read(&bytes, format, Layer::Driver);
            for other in TraceFormat::ALL {
                read(&bytes[..bytes.len().min(2000)], other, Layer::Queue);
            }
        }
    }
}
