//! Any bytes as an iSCSI header with its additional segments, in both directions: what is understood can be written, and is
//! understood as the same.

#![no_main]

use iscsi::pdu::{BHS_LEN, Lengths, MAX_DATA, Request, Response, opcode, sense_segment, task_tag};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = sense_segment(bytes);
    let Some((bhs, rest)) = bytes.split_first_chunk::<BHS_LEN>() else { return };
    let lengths = Lengths::of(bhs);
    assert!(lengths.data <= MAX_DATA && lengths.total(true, true) % 4 == 0);
    let ahs = &rest[..lengths.ahs.min(rest.len())];
    if let Ok(request) = Request::parse(bhs, ahs) {
        assert!(opcode(bhs).is_ok());
        let written = request.encode();
        let mut segments = Vec::new();
        if let Request::Command(command) = &request {
            command.put_ahs(&mut segments);
        }
        assert_eq!(task_tag(&written), task_tag(bhs));
        assert_eq!(Lengths::of(&written), Lengths { ahs: segments.len(), data: lengths.data });
        assert_eq!(Request::parse(&written, &segments), Ok(request));
    }
    if let Ok(response) = Response::parse(bhs, ahs) {
        let written = response.encode();
        assert_eq!(Lengths::of(&written), lengths);
        assert_eq!(Response::parse(&written, &[]), Ok(response));
    }
});
