//! Unit attentions: recipients, order, and commands that do not report them.

use iscsi::scsi::{Nexus, UnitAttention};

use crate::scsi::rig::{Rig, THIN, code, good, refused, reply};

#[test]
fn a_reset_is_reported_on_every_path() {
    let rig = Rig::new();
    for (attention, sense) in
        [(UnitAttention::DeviceReset, 0x2903), (UnitAttention::BusReset, 0x2902)]
    {
        rig.device.unit(THIN).unwrap().reset(attention);
        for nexus in [&rig.a, &rig.b] {
            refused(rig.on(THIN, nexus, "00", &[]), sense);
            good(rig.on(THIN, nexus, "00", &[]));
        }
    }
}

#[test]
fn identification_is_answered_despite_attentions() {
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
fn conditions_are_queued_in_order_and_once() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    for _ in 0..3 {
        unit.raise(UnitAttention::CapacityChanged);
        unit.raise(UnitAttention::LunsChanged);
        unit.raise(UnitAttention::InquiryChanged);
    }
    let heard: Vec<_> = (0..4).map(|_| code(&rig.run("00"))).collect();
    assert_eq!(heard, [Some(0x2a09), Some(0x3f0e), Some(0x3f03), None]);
    reply(rig.on(THIN, &rig.b, "a0 00 00 000000 00000100 00 00", &[]));
    let heard: Vec<_> = (0..3).map(|_| code(&rig.on(THIN, &rig.b, "00", &[]))).collect();
    assert_eq!(heard, [Some(0x2a09), Some(0x3f03), None], "REPORT LUNS cleared the other one");
}

#[test]
fn a_reset_replaces_pending_conditions() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    unit.raise(UnitAttention::CapacityChanged);
    unit.reset(UnitAttention::DeviceReset);
    unit.raise(UnitAttention::CapacityChanged);
    let heard: Vec<_> = (0..3).map(|_| code(&rig.run("00"))).collect();
    assert_eq!(heard, [Some(0x2903), Some(0x2a09), None]);
    let fresh = Nexus::new("iqn.c", [0; 6], 1);
    rig.device.join(&fresh);
    unit.reset(UnitAttention::DeviceReset);
    refused(rig.on(THIN, &fresh, "00", &[]), 0x2900);
    good(rig.on(THIN, &fresh, "00", &[]));
}

#[test]
fn views_refuse_while_an_attention_is_pending() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    unit.raise(UnitAttention::CapacityChanged);
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
    unit.raise(UnitAttention::CapacityChanged);
    good(rig.device.parameters(THIN, &rig.a, &cdb, &[0; 4]));
    refused(rig.run("00"), 0x2a09);
}

#[test]
fn a_replacing_session_survives_the_replaced_one() {
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
