//! Frames and messages on any bytes: none panics, and a message that was read can be written and read again.

#![no_main]

use fleet::frame;
use fleet::message::{FromAgent, ToAgent};
use fleet::sequence::Numbered;
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|bytes: &[u8]| {
    whole_way::<Numbered<FromAgent>>(bytes);
    whole_way::<Numbered<ToAgent>>(bytes);
    // Most bytes announce a frame that does not come: as the body of one they reach the messages.
    let framed = [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
    whole_way::<Numbered<FromAgent>>(&framed);
    whole_way::<Numbered<ToAgent>>(&framed);
});

fn whole_way<M: Serialize + DeserializeOwned>(mut bytes: &[u8]) {
    while let Ok(Some(message)) = frame::read::<M>(&mut bytes) {
        let written = write(&message);
        let read_back = frame::read::<M>(&mut written.as_slice());
        let read_back = read_back.expect("what was written can be read").expect("it is there");
        assert_eq!(write(&read_back), written, "read back as something else");
    }
}

fn write<M: Serialize>(message: &M) -> Vec<u8> {
    let mut written = Vec::new();
    frame::write(&mut written, message, &mut Vec::new()).expect("what was read can be written");
    written
}
