//! The compact form: what is written is read again, and damage is found.

use crate::readers::folder;
use clock::Ns;
use std::fs::File;
use std::io::Cursor;
use trace::{
    Layer, Origin, OwnReader, Summary, Tally, TraceFormat, TraceIo, TraceOptions, TraceReader,
    TraceWriter, detect, facts_of, open,
};
use workload::Dir;

fn all(reader: &mut dyn TraceReader) -> Vec<TraceIo> {
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

fn io(n: u64) -> TraceIo {
    let dirs = [Dir::Read, Dir::Write, Dir::Trim, Dir::Zero, Dir::Flush];
    let dir = dirs[(n * n % 5) as usize];
    TraceIo {
        at: Ns(n * 1_237 + n % 7),
        dir,
        fua: dir == Dir::Write && n.is_multiple_of(3),
        device: (n % 3) as u16,
        offset: if n.is_multiple_of(4) { u64::MAX - (1 << 20) } else { n * 4096 },
        len: if dir == Dir::Flush { 0 } else { 512 << (n % 9) },
        latency: (!n.is_multiple_of(11)).then(|| Ns(n * 17)),
        issuer: (n % 5) as u32 * 1_000_000,
    }
}

fn written(ios: &[TraceIo]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let origin = Origin { source: "a test".to_owned(), ..Origin::default() };
    let mut writer = TraceWriter::new(&mut bytes, &origin).unwrap();
    ios.iter().for_each(|io| writer.push(*io).unwrap());
    let names = ["sda", "a name with blanks", "c"].map(str::to_owned);
    let tally = Tally { merged: 7, notes: vec!["a note".to_owned()], ..Tally::default() };
    writer.finish(&names, &tally).unwrap();
    bytes
}

#[test]
fn what_is_written_is_read_again() {
    for count in [0, 1, 16_384, 40_000] {
        let ios: Vec<TraceIo> = (0..count).map(io).collect();
        let bytes = written(&ios);
        assert_eq!(detect(&bytes[..bytes.len().min(4096)]), Some(TraceFormat::Own));
        let mut reader = OwnReader::new(&bytes[..]).unwrap();
        assert_eq!(all(&mut reader), ios);
        assert_eq!(reader.origin().source, "a test");
        assert_eq!((reader.tally().merged, &reader.tally().notes[0][..]), (7, "a note"));
        if count > 2 {
            assert_eq!(reader.devices(), ["sda", "a name with blanks", "c"]);
        }
        let facts = facts_of(&mut Cursor::new(&bytes)).unwrap().expect("it has an end");
        assert_eq!(Some(&facts), reader.facts());
        assert_eq!(facts.ios, count);
        let mut again = Summary::default();
        ios.iter().for_each(|io| again.add(io));
        let names = facts.devices.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        let mut again = again.finish(&names, &facts.tally);
        again.digest.clone_from(&facts.digest);
        assert_eq!(again, facts, "what its end says is what it holds");
    }
}

#[test]
fn an_imported_trace_holds_the_same_and_is_smaller() {
    let Some(folder) = folder(1) else { return };
    let path = folder.join("msr.csv");
    let read = || {
        let inputs = vec![File::open(&path).unwrap()];
        open(inputs, b"", TraceFormat::Msr, &TraceOptions::default()).unwrap()
    };
    let mut reader = read();
    let ios = all(&mut *reader);
    let bytes = written(&ios);
    assert_eq!(all(&mut OwnReader::new(&bytes[..]).unwrap()), ios);
    let text = std::fs::metadata(&path).unwrap().len() as usize;
    assert!(bytes.len() * 3 < text, "{} of {text} bytes", bytes.len());
    assert_eq!(Layer::default(), Layer::Queue);
}

#[test]
fn damage_is_found() {
    let ios: Vec<TraceIo> = (0..20_000).map(io).collect();
    let bytes = written(&ios);
    let problem = |bytes: &[u8]| {
        let mut reader = OwnReader::new(bytes).err().map(Err).unwrap_or(Ok(OwnReader::new(bytes)));
        match &mut reader {
            Err(error) => Some(error.to_string()),
            Ok(Ok(reader)) => loop {
                match reader.next() {
                    Ok(None) => break None,
                    Ok(Some(_)) => {}
                    Err(error) => break Some(error.to_string()),
                }
            },
            Ok(Err(error)) => Some(error.to_string()),
        }
    };
    assert_eq!(problem(&bytes), None);
    // The last bytes are the place of the end, which streams do not need.
    for at in (0..bytes.len() - 16).step_by(1_013) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(problem(&damaged).is_some(), "byte {at}");
    }
    let cut = problem(&bytes[..bytes.len() / 2]).expect("a block is cut off");
    assert!(cut.contains("cut off"), "{cut}");
    let mut newer = bytes.clone();
    newer[7] = 2;
    assert!(problem(&newer).unwrap().contains("version 2"));
}

#[test]
fn a_trace_whose_writing_was_interrupted_is_read_up_to_its_last_block() {
    let ios: Vec<TraceIo> = (0..16_384).map(io).collect();
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, &Origin::default()).unwrap();
    ios.iter().for_each(|io| writer.push(*io).unwrap());
    drop(writer);
    let mut reader = OwnReader::new(&bytes[..]).unwrap();
    assert_eq!(all(&mut reader), ios);
    assert!(reader.tally().notes[0].contains("interrupted"));
    assert_eq!(facts_of(&mut Cursor::new(&bytes)).unwrap(), None);
}

/// Two in flight for 2 of 4 seconds and one for the others; what the last ones take afterwards is not of that time.
#[test]
fn the_mean_in_flight_is_of_the_time_that_the_trace_covers() {
    let mut summary = Summary::default();
    for (at, latency) in [(0, 2), (1, 2), (2, 9), (4, 90)] {
        summary.add(&TraceIo { at: Ns::secs(at), latency: Some(Ns::secs(latency)), ..io(0) });
    }
    let facts = summary.finish(&[], &Tally::default());
    assert_eq!((facts.concurrency(), facts.outstanding), (Some(1.5), 2));
}
