//! PERSISTENT RESERVE IN and OUT: actions and parameters (SPC-4, 6.15 and 6.16). `reservation` has their effects.

use super::cdb::{be16, be32, be64, field16, field32};
use super::command_table::{SHORT_LIST, invalid_field, invalid_parameter};
use super::readiness::reply;
use super::reservation::{CONFLICT, Effects, Moving, Registering, Registration, ReservationType};
use super::unit::{CommandCall, CommandResult};
use super::{Action, Ending, Nexus};

/// The longest parameter list, in bytes.
const LONGEST_LIST: u32 = 8192;
/// The length of a parameter list without additional transport IDs, except for REGISTER AND MOVE.
const BASIC_LIST: u32 = 24;

pub(super) fn reserve_in(call: &mut CommandCall<'_>) -> CommandResult {
    if call.state().classic.is_some() {
        return Err(CONFLICT);
    }
    let bytes = match call.cdb[1] & 0x1f {
        0x00 => read_keys(call),
        0x01 => read_reservation(call),
        0x02 => capabilities(call),
        _ => read_full_status(call),
    };
    reply(bytes, u32::from(field16::<7>(call.cdb)))
}

/// A list with its header: the generation and the length in bytes.
fn listed(call: &CommandCall<'_>, list: &[u8]) -> Vec<u8> {
    let mut bytes = call.state().reservations.generation.to_be_bytes().to_vec();
    bytes.extend((list.len() as u32).to_be_bytes());
    bytes.extend(list);
    bytes
}

fn read_keys(call: &CommandCall<'_>) -> Vec<u8> {
    let keys = call.state().reservations.registrations.iter().flat_map(|one| one.key.to_be_bytes());
    listed(call, &keys.collect::<Vec<u8>>())
}

fn read_reservation(call: &CommandCall<'_>) -> Vec<u8> {
    let reservations = &call.state().reservations;
    let Some(held) = &reservations.held else { return listed(call, &[]) };
    // With the types for all registrants no single key holds it.
    let key = if held.kind.shared() { 0 } else { reservations.key_of(&held.by).unwrap_or(0) };
    let mut descriptor = [0; 16];
    descriptor[..8].copy_from_slice(&key.to_be_bytes());
    descriptor[13] = held.kind as u8;
    listed(call, &descriptor)
}

fn capabilities(call: &CommandCall<'_>) -> Vec<u8> {
    let kept = u8::from(call.description().keeps_reservations);
    // Supported: RESERVE compatibility (CRH), transport IDs (SIP_C) and all target ports (ATP_C).
    let active = u8::from(call.state().reservations.kept);
    vec![0, 8, 0x10 | 0x08 | 0x04 | kept, 0x80 | active, 0xea, 0x01, 0, 0]
}

fn read_full_status(call: &CommandCall<'_>) -> Vec<u8> {
    let descriptors =
        call.state().reservations.registrations.iter().flat_map(|one| full_status(call, one));
    listed(call, &descriptors.collect::<Vec<u8>>())
}

fn full_status(call: &CommandCall<'_>, one: &Registration) -> Vec<u8> {
    let reservations = &call.state().reservations;
    let mut bytes = vec![0; 24];
    bytes[..8].copy_from_slice(&one.key.to_be_bytes());
    if let Some(held) = reservations.held.as_ref().filter(|_| reservations.holds(&one.nexus)) {
        bytes[12] = 0x01;
        bytes[13] = held.kind as u8;
    }
    if one.all_ports {
        bytes[12] |= 0x02;
    }
    bytes[18..20].copy_from_slice(&one.nexus.port.to_be_bytes());
    let transport = transport_id(&one.nexus.initiator);
    bytes[20..24].copy_from_slice(&(transport.len() as u32).to_be_bytes());
    bytes.extend(transport);
    bytes
}

/// A transport ID of an iSCSI initiator port (SPC-4, 7.6.4.6, format 01b).
fn transport_id(name: &str) -> Vec<u8> {
    let mut name = name.as_bytes().to_vec();
    name.resize((name.len() / 4 + 1).max(5) * 4, 0);
    let mut bytes = vec![0x45, 0];
    bytes.extend((name.len() as u16).to_be_bytes());
    bytes.extend(name);
    bytes
}

/// The initiator port named by a transport ID, and the length of the ID in bytes.
fn parse_transport_id(bytes: &[u8]) -> Option<(String, usize)> {
    if *bytes.first()? != 0x45 {
        return None;
    }
    let len = 4 + usize::from(be16(bytes, 2)?);
    if len < 24 || len % 4 != 0 {
        return None;
    }
    let field = bytes.get(4..len)?;
    let end = field.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&field[..end]).ok()?.to_ascii_lowercase();
    name.contains(",i,0x").then_some((name, len))
}

pub(super) fn reserve_out(call: &mut CommandCall<'_>) -> CommandResult {
    if call.state().classic.is_some() {
        return Err(CONFLICT);
    }
    let length = field32::<5>(call.cdb);
    if !(BASIC_LIST..=LONGEST_LIST).contains(&length) {
        return Err(SHORT_LIST);
    }
    let Some(list) = call.parameters else { return Ok(Action::Parameters(length)) };
    if list.len() < length as usize {
        return Err(SHORT_LIST);
    }
    let before = call.state().reservations.kept;
    let effects = act(call, list)?;
    let state = call.change();
    for (nexus, attention) in effects.attentions {
        state.raise_for(&nexus, attention);
    }
    let keep = before || state.reservations.kept;
    let abort = if call.cdb[1] & 0x1f == 0x05 { effects.preempted } else { Vec::new() };
    if !keep && abort.is_empty() {
        return Ok(Action::End(Ending::GOOD));
    }
    Ok(Action::Reserved { keep, abort })
}

/// Decodes the service action and applies it to the reservations.
fn act(call: &mut CommandCall<'_>, list: &[u8]) -> Result<Effects, Ending> {
    let nexus = call.nexus;
    let action = call.cdb[1] & 0x1f;
    let key = be64(list, 0).ok_or(SHORT_LIST)?;
    let service_key = be64(list, 8).ok_or(SHORT_LIST)?;
    if action == 0x07 {
        let asked = moving(call, list, key, service_key)?;
        return call.change().reservations.register_and_move(nexus, &asked);
    }
    if list[20] & 0x08 == 0 && list.len() != BASIC_LIST as usize {
        return Err(SHORT_LIST);
    }
    let kind = kind(call);
    match action {
        0x00 | 0x06 => {
            let asked = registering(call, list, (action == 0x00).then_some(key), service_key)?;
            call.change().reservations.register(nexus, &asked)
        }
        0x01 => call.change().reservations.reserve(nexus, key, kind?),
        0x02 => call.change().reservations.release(nexus, key, kind.ok()),
        0x03 => call.change().reservations.clear(nexus, key),
        _ => call.change().reservations.preempt(nexus, key, service_key, kind),
    }
}

/// The scope, which must be the logical unit, and the type.
fn kind(call: &CommandCall<'_>) -> Result<ReservationType, Ending> {
    let field = call.cdb[2];
    if field >> 4 != 0 {
        return Err(invalid_field(2, Some(7)));
    }
    ReservationType::parse(field & 0x0f).ok_or(invalid_field(2, Some(3)))
}

/// The parameter list of REGISTER and REGISTER AND IGNORE EXISTING KEY.
fn registering(
    call: &CommandCall<'_>,
    list: &[u8],
    key: Option<u64>,
    to: u64,
) -> Result<Registering, Ending> {
    let flags = list[20];
    let keep = keep(call, flags, 20)?;
    let ports = if flags & 0x04 != 0 { call.device.ports().to_vec() } else { Vec::new() };
    let mut others = Vec::new();
    if flags & 0x08 != 0 {
        if key.is_none() {
            return Err(invalid_parameter(20));
        }
        let ids = list.get(28..).ok_or(SHORT_LIST)?;
        if be32(list, 24) != Some(ids.len() as u32) {
            return Err(SHORT_LIST);
        }
        let mut at = 0;
        while at < ids.len() {
            let (name, len) =
                parse_transport_id(&ids[at..]).ok_or(invalid_parameter(28 + at as u16))?;
            others.push(Nexus { initiator: name.into(), port: call.nexus.port });
            at += len;
        }
    }
    Ok(Registering { key, to, keep, ports, others })
}

/// APTPL, if the owner supports it.
fn keep(call: &CommandCall<'_>, flags: u8, byte: u16) -> Result<bool, Ending> {
    let keep = flags & 0x01 != 0;
    if keep && !call.description().keeps_reservations {
        Err(invalid_parameter(byte))
    } else {
        Ok(keep)
    }
}

/// The parameter list of REGISTER AND MOVE.
fn moving(call: &CommandCall<'_>, list: &[u8], key: u64, to: u64) -> Result<Moving, Ending> {
    let flags = list[17];
    let port = be16(list, 18).ok_or(SHORT_LIST)?;
    let len = be32(list, 20).ok_or(SHORT_LIST)?;
    let id = list.get(24..).ok_or(SHORT_LIST)?;
    if len as usize != id.len() {
        return Err(SHORT_LIST);
    }
    let (name, used) = parse_transport_id(id).ok_or(invalid_parameter(24))?;
    if used != id.len() {
        return Err(SHORT_LIST);
    }
    if !call.device.ports().contains(&port) {
        return Err(invalid_parameter(18));
    }
    let target = Nexus { initiator: name.into(), port };
    Ok(Moving { key, to, target, unregister: flags & 0x02 != 0, keep: keep(call, flags, 17)? })
}
