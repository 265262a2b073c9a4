//! Any bytes as a trace of another program, or as a map of columns: no panic, I/Os in order of time, every message printable.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::{CsvMap, Histograms, Layer, TraceFormat, TraceOptions, detect, open};

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the format, or leaves it to the content.
    let Some((first, bytes)) = input.split_first() else { return };
    let plain = |text: &str| assert!(!text.chars().any(char::is_control), "{text:?}");
    if *first == b'h' {
        if let Err(error) = Histograms::read(bytes) {
            plain(&error.to_string());
        }
        return;
    }
    let (map, bytes) = match first {
        b'm' => {
            // A map, and after an empty line the table.
            let text = String::from_utf8_lossy(bytes);
            let (map, _) = text.split_once("\n\n").unwrap_or((&text, ""));
            match CsvMap::parse(map) {
                Ok(found) => (Some(found), bytes.get(map.len() + 2..).unwrap_or_default()),
                Err(error) => return assert!(!error.to_string().is_empty()),
            }
        }
        _ => (None, bytes),
    };
    let named = TraceFormat::ALL.get(usize::from(first.wrapping_sub(b'0'))).copied();
    let format = match (&map, named.or_else(|| detect(bytes))) {
        (Some(_), _) => TraceFormat::Csv,
        (None, Some(format)) => format,
        (None, None) => return,
    };
    let layer = if bytes.len() % 2 == 0 { Layer::Queue } else { Layer::Driver };
    let inputs = match format {
        TraceFormat::Blktrace => bytes.splitn(2, |b| *b == b'|').collect(),
        _ => vec![bytes],
    };
    let mut reader = match open(inputs, bytes, format, &TraceOptions { layer, map }) {
        Ok(reader) => reader,
        Err(error) => return plain(&error.to_string()),
    };
    let mut summary = trace::Summary::default();
    let mut latest = clock::Ns::ZERO;
    loop {
        match reader.next() {
            Ok(Some(io)) => {
                assert!(io.at >= latest || format == TraceFormat::Own, "{format:?}");
                latest = io.at;
                summary.add(&io);
            }
            Ok(None) => break,
            Err(error) => return plain(&error.to_string()),
        }
    }
    let facts = summary.finish(reader.devices(), &reader.tally());
    assert!(facts.by_dir.iter().sum::<u64>() == facts.ios);
});
