//! Unit attentions: who hears of what, in which order, and which commands hear nothing.

use iscsi::scsi::{Attention, Nexus};

use crate::scsi::rig::{Rig, THIN, code, good, refused, reply};

#[test]
fn a_reset_is_told_on_every_path() {
    let rig = Rig::new();
    for (attention, sense) in [(Attention::DeviceReset, 0x2903), (Attention::BusReset, 0x2902)] {
        rig.device.unit(THIN).unwrap().reset(attention);
        for nexus in [&rig.a, &rig.b] {
            refused(rig.on(THIN, nexus, "00", &[]), sense);
            good(rig.on(THIN, nexus, "00", &[]));
        }
    }
}

#[test]
fn who_is_asked_who_he_is_answers() {
    let rig = Rig::new();
    rig.device.reset();
    for cdb in ["12 00 00 00 24 00", "a0 00 00 000000 00000100 00 00"] {
        reply(rig.run(cdb));
    }
    refused(rig.run("ff"), 0x2000);
    let sense = reply(rig.run("03 00 00 00 12 00"));
    assert_eq!((sense[2], &sense[12..14]), (6, &[0x29, 0x02][..]));
    good(rig.run("00"));
    refused(rig.on(THIN, &rig.b, "28 00 00000000 00 0001 00", &[]), 0x2902);
}

#[test]
fn conditions_queue_up_in_order_and_once() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    for _ in 0..3 {
        unit.raise(Attention::CapacityChanged);
        unit.raise(Attention::LunsChanged);
        unit.raise(Attention::InquiryChanged);
    }
    let heard: Vec<_> = (0..4).map(|_| code(&rig.run("00"))).collect();
    assert_eq!(heard, [Some(0x2a09), Some(0x3f0e), Some(0x3f03), None]);
    reply(rig.on(THIN, &rig.b, "a0 00 00 000000 00000100 00 00", &[]));
    let heard: Vec<_> = (0..3).map(|_| code(&rig.on(THIN, &rig.b, "00", &[]))).collect();
    assert_eq!(heard, [Some(0x2a09), Some(0x3f03), None], "REPORT LUNS told the other one");
}

#[test]
fn a_reset_takes_the_place_of_what_was_pending() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    unit.raise(Attention::CapacityChanged);
    unit.reset(Attention::DeviceReset);
    unit.raise(Attention::CapacityChanged);
    let heard: Vec<_> = (0..3).map(|_| code(&rig.run("00"))).collect();
    assert_eq!(heard, [Some(0x2903), Some(0x2a09), None]);
    let fresh = Nexus::new("iqn.c", [0; 6], 1);
    rig.device.join(&fresh);
    unit.reset(Attention::DeviceReset);
    refused(rig.on(THIN, &fresh, "00", &[]), 0x2900);
    good(rig.on(THIN, &fresh, "00", &[]));
}

#[test]
fn views_close_while_something_is_pending() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    unit.raise(Attention::CapacityChanged);
    let pending = unit.view(&rig.a);
    assert!(!pending.reads && !pending.writes);
    refused(rig.run("28 00 00000000 00 0001 00"), 0x2a09);
    assert_ne!(unit.generation(), pending.generation);
    assert!(unit.view(&rig.a).reads && !unit.view(&rig.b).reads);
}

#[test]
fn parameters_are_not_interrupted() {
    let rig = Rig::new();
    let cdb = crate::scsi::rig::parse("15 10 00 00 04 00");
    let unit = rig.device.unit(THIN).unwrap();
    assert_eq!(rig.device.begin(THIN, &rig.a, &cdb, 4), iscsi::scsi::Action::Parameters(4));
    unit.raise(Attention::CapacityChanged);
    good(rig.device.parameters(THIN, &rig.a, &cdb, &[0; 4]));
    refused(rig.run("00"), 0x2a09);
}

#[test]
fn a_session_that_takes_the_place_of_another_is_not_lost_with_it() {
    let rig = Rig::new();
    good(rig.run("16"));
    rig.device.join(&rig.a);
    rig.device.leave(&rig.a);
    refused(rig.run("00"), 0x2900);
    good(rig.on(THIN, &rig.b, "16", &[]));
    rig.device.reset();
    refused(rig.run("00"), 0x2902);
    rig.device.leave(&rig.a);
    rig.device.leave(&rig.a);
    rig.device.reset();
    good(rig.run("00"));
}
