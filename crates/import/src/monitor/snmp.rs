//! SNMP walks as `snmpwalk` prints them: IF-MIB and FCMGMT-MIB. Walks follow each other; the agent's `sysUpTime` dates them.
//!
//! What an agent counts are ports of a switch, unless it is a host's: by its `sysServices`, applications and no frames forwarded between
//! ports; or by its operating system or tables of a computer, where it has no table of a bridge. A host's port reads what it receives; a
//! switch's port receives what is written.

use super::Options;
use super::counters::{Look, Looks};
use super::error::ReadError;
use super::format::MonitorFormat;
use super::lines::Lines;
use super::model::{Feed, Flow, Measure, Place, canonical, moment_at};
use super::stacked::{PortKind, settle};
use super::stamp::{Stamp, moment, stamp};
use record::HopKind;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use telemetry::mib::{self, object};

/// One walk.
#[derive(Default)]
struct Walk {
    at: Option<i64>,
    uptime: Option<f64>,
    name: String,
    values: BTreeMap<(String, String), String>,
}

impl Walk {
    fn value(&self, object: &str, index: &str) -> Option<&String> {
        self.values.get(&(object.to_owned(), index.to_owned()))
    }

    /// Whether it has counters.
    fn counts(&self) -> bool {
        self.values.keys().any(|(object, _)| mib::measure(object).is_some())
    }

    /// Whether the agent is a host's, and why.
    fn host(&self) -> Option<&'static str> {
        let has =
            |objects: &[&str]| self.values.keys().any(|(of, _)| objects.contains(&of.as_str()));
        if self.values.keys().any(|(object, _)| object.starts_with("connUnit"))
            || has(&["dot1dBaseNumPorts"])
        {
            return None;
        }
        // Applications (64), and frames forwarded between ports (2): agents say both without meaning it.
        let services = self.value("sysServices", "0").and_then(|value| count(value));
        let serves = services.is_none_or(|n| n == 0.0 || n as u64 & 64 != 0);
        let system = self.value("sysObjectID", "0").is_some_and(|of| mib::is_host_system(bare(of)));
        if services.is_some_and(|n| n as u64 & 64 != 0 && n as u64 & 2 == 0) {
            Some("its agent says that it serves applications and forwards no frames")
        } else if serves && system {
            Some("its agent is that of an operating system for hosts, and has no table of a bridge")
        } else if serves && has(mib::OF_COMPUTERS) {
            Some("its agent has tables of a computer, and none of a bridge")
        } else {
            None
        }
    }

    /// What an interface is by its `ifType`, if it is no wire: `ieee8023adLag(161)`, `161` or the name alone.
    fn kind(&self, index: &str) -> Option<PortKind> {
        match self.interface_type(index)?.as_str() {
            "161" | "ieee8023adLag" | "54" | "propMultiplexor" => Some(PortKind::Group),
            "53" | "propVirtual" | "131" | "tunnel" | "135" | "l2vlan" | "136" | "l3ipvlan"
            | "209" | "bridge" => Some(PortKind::Virtual),
            _ => None,
        }
    }

    fn is_loopback(&self, index: &str) -> bool {
        let kind = self.interface_type(index);
        kind.is_some_and(|kind| matches!(kind.as_str(), "24" | "softwareLoopback"))
            || self.value("ifDescr", index).is_some_and(|name| text(name) == "lo")
    }

    fn interface_type(&self, index: &str) -> Option<String> {
        let value = bare(self.value("ifType", index)?);
        let number = value.split_once('(').map(|(_, rest)| rest.trim_end_matches(')'));
        Some(number.unwrap_or(value).to_owned())
    }

    /// Bytes a second; `ifSpeed` ends at 4.3 Gbit/s, which it says of everything faster.
    fn speed(&self, index: &str) -> Option<f64> {
        let of = |object: &str| {
            self.value(object, index).and_then(|value| count(value)).filter(|n| *n > 0.0)
        };
        let narrow = || of("ifSpeed").filter(|bits| *bits < f64::from(u32::MAX));
        let mbit = of("ifHighSpeed").or_else(|| narrow().map(|bits| bits / 1e6))?;
        // Of Fibre Channel the name of a speed is no more than that.
        let fibre = self.interface_type(index);
        let fibre = fibre.is_some_and(|kind| matches!(kind.as_str(), "56" | "fibreChannel"));
        let named = || telemetry::fc_speed(&format!("{} Gbit", mbit / 1e3));
        fibre.then(named).flatten().or(Some(mbit * 125_000.0))
    }

    /// The address of a port: a MAC address or a WWN that is not all zeros.
    fn address(&self, index: &str) -> Option<String> {
        let of = |object: &str| self.value(object, index);
        let value = of("ifPhysAddress").or_else(|| of("connUnitPortWwn"))?;
        // `0:c:29:3:4:5` and `00 0C 29 03 04 05`.
        let parts = bare(value).trim_matches('"').split([' ', ':']).filter(|p| !p.is_empty());
        let parts: Vec<String> = parts.map(|part| format!("{part:0>2}")).collect();
        let id = canonical(&parts.join(":"))?;
        id.bytes().skip(4).any(|digit| digit != b'0').then_some(id)
    }
}

/// Reads walks.
pub(super) fn read(name: &str, from: impl BufRead, options: &Options) -> Result<Feed, ReadError> {
    let mut lines = Lines::new(from)?;
    let mut walks: Vec<Walk> = Vec::new();
    let mut date: Option<i64> = None;
    let mut known = 0;
    while let Some((number, line)) = lines.text()? {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let Some((oid, value)) = entry(line) else {
            match stamp(line)
                .filter(Stamp::is_dated)
                .and_then(|_| moment(line, &options.calendar, 0))
            {
                Some(at) => date = Some(at),
                // A value of several lines goes on.
                None if known > 0 => {}
                None => {
                    return Err(ReadError::new(
                        number,
                        1,
                        "`OID = TYPE: value` or `OID|type|value` is expected",
                    ));
                }
            }
            continue;
        };
        let Some((object, index)) = object(&oid) else { continue };
        known += 1;
        let key = (object.to_owned(), index.to_owned());
        if walks.last().is_none_or(|walk| {
            date.is_some() && !walk.values.is_empty() || walk.values.contains_key(&key)
        }) {
            walks.push(Walk { at: date.take(), ..Walk::default() });
        }
        let Some(walk) = walks.last_mut() else { continue };
        match object {
            "sysUpTime" => walk.uptime = ticks(value),
            "sysName" => walk.name = text(value),
            _ => {}
        }
        walk.values.insert(key, value.to_owned());
    }
    inherit(&mut walks);
    table(name, &walks, options)
}

/// What does not change may have been walked once: names, addresses, speeds. All walks of one agent have it.
fn inherit(walks: &mut [Walk]) {
    let names: BTreeSet<&str> = walks.iter().map(|walk| walk.name.as_str()).collect();
    if names.iter().filter(|name| !name.is_empty()).count() > 1 {
        return;
    }
    let lasting = |((object, _), _): &(&(String, String), &String)| {
        object != "sysUpTime" && mib::measure(object).is_none()
    };
    let known: BTreeMap<(String, String), String> = walks
        .iter()
        .rev()
        .flat_map(|walk| walk.values.iter().filter(lasting))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let name = names.iter().max().map(|name| (*name).to_owned()).unwrap_or_default();
    for walk in walks {
        walk.name.clone_from(&name);
        for (key, value) in &known {
            walk.values.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// The table of some walks.
fn table(name: &str, walks: &[Walk], options: &Options) -> Result<Feed, ReadError> {
    if walks.is_empty() {
        return Err(ReadError::new(
            1,
            1,
            "no object of IF-MIB or FCMGMT-MIB is in it; walk 1.3.6.1.2.1.1, 1.3.6.1.2.1.2, 1.3.6.1.2.1.31 and 1.3.6.1.3.94",
        ));
    }
    let mut feed = Feed::new(name, MonitorFormat::SnmpWalk);
    let mut looks = Looks::default();
    let mut indices = BTreeMap::new();
    let counting: Vec<&Walk> = walks.iter().filter(|walk| walk.counts()).collect();
    if counting.len() < 2 {
        let text = match counting.len() {
            0 => {
                "no counter of traffic is in it; walk 1.3.6.1.2.1.2, 1.3.6.1.2.1.31 and 1.3.6.1.3.94"
            }
            _ => {
                "one walk alone: counters that only grow need two; walk again after a minute, into the same file"
            }
        };
        return Err(ReadError::new(1, 1, text));
    }
    let first = counting.first().and_then(|walk| walk.uptime);
    for (nth, walk) in counting.iter().enumerate() {
        let up = walk.uptime.zip(first).and_then(|(now, then)| moment_at(now - then));
        let by_length = options.interval.map(|length| nth as i64 * length);
        let Some(at) = walk.at.or(up.filter(|_| nth == 0 || up > Some(0))).or(by_length) else {
            return Err(ReadError::new(
                1,
                1,
                "walks without dates and without sysUpTime (1.3.6.1.2.1.1.3): `--interval` says how long lies between",
            ));
        };
        indices = ports(&mut feed, &mut looks, walk, at);
        let addresses = walk.values.keys().filter(|(object, _)| object == "ipAdEntAddr");
        for (_, address) in addresses.filter(|(_, address)| !address.starts_with("127.")) {
            feed.alias(&walk.name, address);
        }
    }
    if let Some((host, why)) = walks.iter().find_map(|walk| Some((walk, walk.host()?))) {
        feed.assumed.push((host.name.clone(), format!("a host: {why}")));
    }
    let (mut speeds, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    if let Some(walk) = counting.last() {
        for (place, index) in indices {
            speeds.extend(walk.speed(&index).map(|speed| (place, speed)));
            kinds.extend(walk.kind(&index).map(|kind| (place, kind)));
        }
    }
    looks.fastest = speeds.clone();
    looks.fill(&mut feed)?;
    for row in 0..feed.rows.len() {
        speeds.iter().for_each(|(place, speed)| feed.put(row, *place, Measure::Speed, *speed));
    }
    settle(&mut feed, &kinds);
    feed.finish()
}

/// `ifHCInOctets[1]` of `snmpwalk -OX` as `ifHCInOctets.1`.
fn dotted(oid: &str) -> Cow<'_, str> {
    match oid.contains('[') {
        true => Cow::Owned(oid.replace("][", ".").replace('[', ".").replace(']', "")),
        false => Cow::Borrowed(oid),
    }
}

/// The number and the value of a line.
fn entry(line: &str) -> Option<(Cow<'_, str>, &str)> {
    let piped = || {
        let (oid, rest) = line.split_once('|')?;
        let (kind, value) = rest.split_once('|')?;
        // `4x`: bytes in hexadecimal, which digits alone do not show.
        Some((oid, if kind.ends_with('x') { rest } else { value }))
    };
    // `snmpwalk -Oq` has a blank between them.
    let quick = || line.split_once(' ').filter(|(oid, _)| object(&dotted(oid)).is_some());
    let (oid, value) = line.split_once(" = ").or_else(piped).or_else(quick)?;
    (!oid.contains(' ')).then_some((dotted(oid.trim()), value.trim()))
}

/// Whether a line is one of a walk.
pub(super) fn is(line: &str) -> bool {
    let start = line.trim_start_matches('.');
    let numbered = ["1.3.6.1", "iso.3.6.1", "iso.org.dod"].iter().any(|of| start.starts_with(of));
    entry(line).is_some_and(|(oid, _)| numbered || oid.contains("-MIB::") || object(&oid).is_some())
}

/// The digits of a value whose type says that they are hexadecimal: `4x|0027F8D8FAE9`.
fn hexadecimal(value: &str) -> Option<&str> {
    let (kind, digits) = value.split_once("x|")?;
    kind.bytes().all(|b| b.is_ascii_digit()).then_some(digits)
}

/// A value without its type.
fn bare(value: &str) -> &str {
    let kinds = [
        "Counter64:",
        "Counter32:",
        "Gauge32:",
        "INTEGER:",
        "STRING:",
        "Hex-STRING:",
        "Timeticks:",
        "OID:",
    ];
    let value = hexadecimal(value).unwrap_or(value);
    kinds.iter().find_map(|kind| value.strip_prefix(kind)).unwrap_or(value).trim()
}

/// A text; one that ends in a zero byte is printed in hexadecimal.
fn text(value: &str) -> String {
    let plain = bare(value).trim_matches('"');
    let hex = value.starts_with("Hex-STRING:") || hexadecimal(value).is_some();
    let decoded = || {
        let digits: String = plain.split_whitespace().collect();
        let pairs = digits.as_bytes().chunks_exact(2).map(std::str::from_utf8);
        let bytes: Option<Vec<u8>> =
            pairs.map(|pair| u8::from_str_radix(pair.ok()?, 16).ok()).collect();
        let text = String::from_utf8(bytes?).ok()?;
        let text = text.trim_end_matches('\0').to_owned();
        text.chars().all(|c| !c.is_control()).then_some(text)
    };
    hex.then(decoded).flatten().unwrap_or_else(|| plain.to_owned())
}

/// A number; of a counter in 8 bytes, as FCMGMT has it, all of them.
fn count(value: &str) -> Option<f64> {
    let digits = bare(value).trim_matches('"').trim();
    let hex = value.starts_with("Hex-STRING:") || digits.starts_with("0x");
    if hex || hexadecimal(value).is_some() {
        let hex: String = digits.trim_start_matches("0x").split_whitespace().collect();
        return u64::from_str_radix(&hex, 16).ok().map(|n| n as f64);
    }
    let octets: Vec<&str> = digits.split_whitespace().collect();
    if octets.len() == 8 && octets.iter().all(|o| o.len() == 2) {
        return u64::from_str_radix(&octets.concat(), 16).ok().map(|n| n as f64);
    }
    octets.first()?.parse().ok()
}

/// Seconds since the agent started: `(12345) 0:02:03.45`, the number, or `0:0:02:03.45` from days on.
fn ticks(value: &str) -> Option<f64> {
    if let [days, hours, minutes, seconds] = bare(value).split(':').collect::<Vec<_>>()[..] {
        let of = |text: &str| text.trim().parse::<f64>().ok();
        return Some(
            of(days)? * 86_400.0 + of(hours)? * 3600.0 + of(minutes)? * 60.0 + of(seconds)?,
        );
    }
    let digits: String =
        bare(value).trim_start_matches('(').chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<f64>().ok().map(|hundredths| hundredths / 100.0)
}

fn place(feed: &mut Feed, walk: &Walk, host: bool, index: &str) -> usize {
    let names = ["ifName", "ifDescr", "connUnitPortName"].into_iter();
    let names = names.filter_map(|object| walk.value(object, index).map(|v| text(v)));
    let name = names.into_iter().find(|name| !name.is_empty());
    let kind = if host { HopKind::InitiatorPort } else { HopKind::SwitchPort };
    let name = name.unwrap_or_else(|| format!("port {index}"));
    let mut place = Place::new(kind, name, walk.name.clone());
    place.ids.extend(walk.address(index));
    feed.place(place)
}

/// What it looks like from the other side of the cable.
fn turned(measure: Measure) -> Measure {
    match measure {
        Measure::Bytes(Flow::Read) => Measure::Bytes(Flow::Write),
        Measure::Bytes(Flow::Write) => Measure::Bytes(Flow::Read),
        other => other,
    }
}

/// Takes the counters of all ports; the ports with their indices.
fn ports(feed: &mut Feed, looks: &mut Looks, walk: &Walk, at: i64) -> BTreeMap<usize, String> {
    let mut indices = BTreeMap::new();
    let has = |object: &str, index: &str| walk.value(object, index).is_some();
    let host = walk.host().is_some();
    // A port that both MIBs count is counted once.
    let fibre = |object: &str| object.starts_with("connUnit");
    let counted = walk.values.keys().filter(|(object, _)| mib::measure(object).is_some());
    let interfaces: BTreeSet<String> = counted
        .filter(|(object, _)| !fibre(object))
        .filter_map(|(_, index)| walk.address(index))
        .collect();
    for ((object, index), value) in &walk.values {
        // What FC-FE counts of a port stands in FCMGMT too, by another index.
        let known = mib::measure(object).filter(|_| !object.starts_with("fcFx"));
        let Some((measure, bits)) = known else { continue };
        if fibre(object) && walk.address(index).is_some_and(|id| interfaces.contains(&id)) {
            continue;
        }
        // A narrow counter stands back where there is a wide one.
        if mib::wide(object).is_some_and(|wide| has(wide, index)) {
            continue;
        }
        let wraps = bits.map(|bits| 2_f64.powi(bits));
        if walk.is_loopback(index) {
            continue;
        }
        let place = place(feed, walk, host, index);
        indices.insert(place, index.clone());
        let measure = if host { turned(measure) } else { measure };
        if let Some(value) = count(value) {
            looks.add(at, Look { place, measure, value, wraps });
        }
    }
    indices
}
