//! Any bytes as the file of a cartridge, and as its index: it opens or is refused, what opens is read to its end, and can be written
//! on. The CRC of each structure is made right first, or nothing would get behind it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io;
use std::sync::{Arc, Mutex};
use tape::media::format::{HEADER, Header, Identity, START};
use tape::media::{Cartridge, Read, Storage};

#[derive(Clone)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Storage for Memory {
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.lock().expect("one thread");
        let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&mut self, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let data = parts.concat();
        let mut bytes = self.0.lock().expect("one thread");
        let (at, end) = (at as usize, at as usize + data.len());
        if end > 1 << 24 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[at..end].copy_from_slice(&data);
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.lock().expect("one thread").resize(len.min(1 << 24) as usize, 0);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().expect("one thread").len() as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes the checksums of a chain of records right, as far as they go.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let identity = Identity {
        uuid: [1; 16],
        barcode: "FUZZ01L6".to_owned(),
        generation: 6,
        capacity: 1 << 20,
    };
    let (head, mut previous) = identity.encode();
    bytes.resize(bytes.len().max(START as usize), 0);
    bytes[..head.len()].copy_from_slice(&head);
    let mut at = START as usize;
    while let Some(record) = bytes.get_mut(at..at + HEADER) {
        let field = |at: usize| u32::from_le_bytes([record[at], record[at + 1], 0, 0]);
        let header = Header {
            kind: record[4] & 3,
            codec: record[5] & 1,
            object: u64::from(record[8]),
            filemarks: u64::from(record[16]),
            size: field(24),
            stored: field(28),
            payload: u32::from_le_bytes([record[32], record[33], record[34], record[35]]),
            previous,
            epoch: u32::from(record[40]),
        };
        let (encoded, crc) = header.encode();
        record.copy_from_slice(&encoded);
        (previous, at) = (crc, at + HEADER + header.stored as usize);
    }
    bytes
}

fuzz_target!(|input: &[u8]| {
    let (bytes, index) = input.split_at(input.len() - input.len() / 4);
    let bytes = if input.first().is_some_and(|byte| byte & 1 == 0) {
        bytes.to_vec()
    } else {
        let mut whole = vec![0; START as usize];
        whole.extend_from_slice(bytes);
        sealed(whole)
    };
    let data = Memory(Arc::new(Mutex::new(bytes)));
    let index = Memory(Arc::new(Mutex::new(index.to_vec())));
    let Ok(mut cartridge) = Cartridge::open(Box::new(data), Some(Box::new(index))) else { return };
    let (mut place, mut room) = (cartridge.first(), vec![0; 70_000]);
    let mut objects = 0;
    while let Ok(Read::Block(_) | Read::Filemark) = cartridge.read(&mut place, &mut room) {
        objects += 1;
        assert_eq!(place.object, objects);
    }
    assert!(objects <= cartridge.end().object);
    let _ = cartridge.filemark(0);
    let mut place = cartridge.first();
    if cartridge.write(&mut place, b"again", true, 1 << 20).is_ok() {
        assert_eq!(cartridge.end().object, 1);
        let mut place = cartridge.first();
        assert!(matches!(cartridge.read(&mut place, &mut room), Ok(Read::Block(5))));
        assert!(matches!(cartridge.read(&mut place, &mut room), Ok(Read::End)));
    }
});
