//! Switches and other devices by SNMP v2c and v3: ports of IF-MIB, FCMGMT-MIB and FIBRE-CHANNEL-FE-MIB, and what is at the
//! other end of their cables, as LLDP and the name server tell.
//!
//! The client is `async-snmp`, in an async runtime of this source's own thread. Agents refresh their counters every few
//! seconds: a look at which nothing has moved anywhere is none, so that no interval is taken for idle that was not counted.

use crate::credentials::Credentials;
use crate::source::{Amount, Look, PLACES_MAX, Place, Source, Trouble};
use crate::twins::Twins;
use crate::watch::News;
use async_snmp::{
    Auth, AuthProtocol, Client, Error, Oid, PrivProtocol, Retry, UsmConfig, Value, VarBind,
    WalkOptions,
};
use clock::Ns;
use hop::HopKind;
use record::CounterId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use telemetry::{Flow, Measure, mib};
use tokio::runtime::{Builder, Runtime};

/// The port of an agent.
pub const PORT: u16 = 161;
const TIMEOUT: Duration = Duration::from_millis(1500);
/// Discovery ends here, with what was found.
const DISCOVERY: Ns = Ns::secs(30);
/// Nothing has moved for so long: the device is idle.
const IDLE: Ns = Ns::secs(30);
/// Hundredths of a second by which an agent's age may lag behind our clock.
const BEHIND: u64 = 100;
/// Requests of a look hold so many objects.
const OBJECTS_A_REQUEST: usize = 32;

/// An agent.
pub struct Snmp {
    address: String,
    auth: Auth,
    runtime: Runtime,
    client: Option<Client>,
    rows: Vec<PortRow>,
    /// What two MIBs say of one counter of one port.
    twins: Twins,
    news: Vec<News>,
    /// `sysUpTime` of the last look, when it was, and which life of the agent it belongs to.
    uptime: Option<(u32, Ns)>,
    life: u64,
    last: Vec<Vec<(CounterId, Amount)>>,
    moved: Ns,
}

/// A port and the objects that are asked for.
#[derive(Clone, Debug, Default)]
struct PortRow {
    objects: Vec<PortObject>,
    /// Those that another MIB counts of the same port: compared with the others, and not recorded.
    again: Vec<PortObject>,
    speed: Option<f64>,
    name: String,
}

/// An object, what it counts, and the bits that it has.
type PortObject = (Oid, CounterId, u32);

/// Values of discovery by object, then by index.
type Table = BTreeMap<&'static str, BTreeMap<String, Value>>;

const NAMES: &[&str] = &[
    "ifName",
    "ifAlias",
    "ifDescr",
    "ifPhysAddress",
    "ifHighSpeed",
    "ifSpeed",
    "connUnitPortWwn",
    "connUnitPortName",
    "connUnitPortSpeed",
    "fcFxPortName",
    "connUnitLinkPortWwnX",
    "connUnitLinkPortWwnY",
    "connUnitSnsPortName",
    "lldpLocPortId",
    "lldpRemChassisId",
    "lldpRemPortId",
];
const COUNTERS: &[&str] = &[
    "ifHCInOctets",
    "ifHCOutOctets",
    "ifInOctets",
    "ifOutOctets",
    "ifInErrors",
    "ifOutErrors",
    "ifInDiscards",
    "ifOutDiscards",
    "connUnitPortStatCountRxElements",
    "connUnitPortStatCountTxElements",
    "connUnitPortStatCountError",
    "connUnitPortStatCountBBCreditZero",
    "fcFxPortC3InOctets",
    "fcFxPortC3OutOctets",
    "fcFxPortC3Discards",
];

/// The tables that describe a port, with the objects of its name in order of preference.
const FAMILIES: [(&str, &[&str]); 3] =
    [("if", &["ifName", "ifDescr"]), ("connUnitPort", &["connUnitPortName"]), ("fcFxPort", &[])];

/// The version and the user that credentials mean.
/// # Errors
/// What is missing or not known.
fn auth(credentials: &Credentials) -> Result<Auth, String> {
    let of = |key| credentials.get(key);
    let Some(user) = of("user") else {
        let community = of("community").ok_or("it needs `community` (v2c) or `user` (v3)")?;
        return Ok(Auth::v2c(community.as_bytes().to_vec()));
    };
    let user = UsmConfig::new(user.as_bytes().to_vec());
    let protocol = match of("authentication").unwrap_or("sha") {
        "md5" => AuthProtocol::Md5,
        "sha" => AuthProtocol::Sha1,
        "sha224" => AuthProtocol::Sha224,
        "sha256" => AuthProtocol::Sha256,
        "sha384" => AuthProtocol::Sha384,
        "sha512" => AuthProtocol::Sha512,
        _ => return Err("authentication is md5, sha, sha224, sha256, sha384 or sha512".to_owned()),
    };
    let privacy = match of("privacy").unwrap_or("aes") {
        "des" => PrivProtocol::Des,
        "aes" => PrivProtocol::Aes128,
        "aes192" => PrivProtocol::Aes192Blumenthal,
        "aes256" => PrivProtocol::Aes256Blumenthal,
        _ => return Err("privacy is des, aes, aes192 or aes256".to_owned()),
    };
    let user = match (of("authentication-password"), of("privacy-password")) {
        (None, None) => Ok(user),
        (Some(own), None) => user.auth(protocol, own),
        (Some(own), Some(secret)) => user.auth_priv(protocol, own, privacy, secret),
        (None, Some(_)) => return Err("privacy needs `authentication-password` too".to_owned()),
    };
    user.map(Into::into).map_err(|e| e.to_string())
}

impl Snmp {
    /// The agent at an address, `HOST` or `HOST:PORT`.
    /// # Errors
    /// What the credentials lack; or the operating system has nothing to run it with.
    pub fn new(address: &str, credentials: &Credentials) -> Result<Snmp, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let has_port = address.rsplit_once(':').is_some_and(|(host, port)| {
            port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
        });
        Ok(Snmp {
            address: if has_port { address.to_owned() } else { format!("{address}:{PORT}") },
            auth: auth(credentials)?,
            runtime: runtime.map_err(|e| e.to_string())?,
            client: None,
            rows: Vec::new(),
            twins: Twins::default(),
            news: Vec::new(),
            uptime: None,
            life: 0,
            last: Vec::new(),
            moved: Ns::ZERO,
        })
    }

    fn client(&mut self) -> Result<Client, Trouble> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let options = WalkOptions { result_limit: Some(PLACES_MAX), ..WalkOptions::default() };
        let retry = Retry::fixed(1, Duration::ZERO).map_err(|e| Trouble::Silent(e.to_string()))?;
        let builder = Client::builder(self.address.as_str(), self.auth.clone())
            .request_timeout(TIMEOUT)
            .construction_timeout(TIMEOUT)
            .retry(retry)
            .max_oids_per_request(OBJECTS_A_REQUEST)
            .walk_options(options);
        let client = self.runtime.block_on(builder.connect()).map_err(trouble)?;
        Ok(self.client.insert(client).clone())
    }

    fn walk(
        &self,
        client: &Client,
        object: &'static str,
    ) -> Result<BTreeMap<String, Value>, Trouble> {
        let Some(root) = mib::number(object).and_then(|number| Oid::parse(number).ok()) else {
            return Ok(BTreeMap::new());
        };
        let collected = self.runtime.block_on(async { client.walk(root.clone())?.collect().await });
        let index = |bind: VarBind| {
            let index = bind.oid.strip_prefix(&root)?;
            Some((index.to_string(), bind.value))
        };
        match collected {
            Ok(all) => Ok(all.into_iter().filter_map(index).collect()),
            Err(error) => Err(trouble(error)),
        }
    }

    fn get(&mut self, oids: &[Oid]) -> Result<Vec<VarBind>, Trouble> {
        let client = self.client()?;
        let got = self.runtime.block_on(client.get_many(oids)).map_err(trouble);
        // Whatever went wrong, the next request begins anew: another address, another engine of v3.
        if got.is_err() {
            self.client = None;
        }
        Ok(got?.varbinds)
    }

    /// Notes the agent's age; whether it has begun anew since the last time.
    fn aged(&mut self, uptime: Option<u32>, at: Ns) -> bool {
        let (Some(now), before) = (uptime, self.uptime) else { return false };
        self.uptime = Some((now, at));
        // It grows by a hundred a second, and wraps after 497 days: one that is far behind that began anew in between.
        let began = before.is_some_and(|(old, then)| {
            let passed = at.since(then).0 / Ns::millis(10).0;
            let expected = (u64::from(old) + passed) % (1 << 32);
            let behind = (expected + (1 << 32) - u64::from(now)) % (1 << 32);
            (BEHIND..1 << 31).contains(&behind)
        });
        self.life += u64::from(began);
        began
    }
}

fn trouble(error: Box<Error>) -> Trouble {
    let text = error.to_string();
    match *error {
        Error::Timeout { .. } | Error::Network { .. } => Trouble::Silent(text),
        _ => Trouble::Garbage(text),
    }
}

fn up_time() -> Oid {
    Oid::from_slice(&[1, 3, 6, 1, 2, 1, 1, 3, 0])
}

/// A counter: of 32 or 64 bits, or 8 bytes.
fn count(value: &Value) -> Option<(u64, u32)> {
    match value {
        Value::Counter32(n) => Some(((*n).into(), 32)),
        Value::Counter64(n) => Some((*n, 64)),
        Value::Gauge32(n) => Some(((*n).into(), 32)),
        Value::Integer(n) => u64::try_from(*n).ok().map(|n| (n, 0)),
        Value::OctetString(bytes) => {
            let bytes: [u8; 8] = bytes.as_ref().try_into().ok()?;
            Some((u64::from_be_bytes(bytes), 64))
        }
        _ => None,
    }
}

/// A text, or an address in hexadecimal.
fn words(value: &Value) -> String {
    let Value::OctetString(bytes) = value else { return String::new() };
    let is_text = !bytes.is_empty() && bytes.iter().all(|b| (0x20..0x7f).contains(b));
    match bytes.len() {
        6 | 8 if !is_text => hex(bytes),
        _ => String::from_utf8_lossy(bytes).trim_matches(char::from(0)).trim().to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
}

/// An address of 6 or 8 bytes, whatever its bytes look like.
fn address(value: &Value) -> String {
    match value {
        Value::OctetString(bytes)
            if matches!(bytes.len(), 6 | 8) && bytes.iter().any(|b| *b != 0) =>
        {
            hex(bytes)
        }
        _ => String::new(),
    }
}

/// What a port receives is read, and what it sends is written: how it looks from itself.
fn counter(object: &str) -> Option<CounterId> {
    if object == "connUnitPortStatCountBBCreditZero" {
        return Some(CounterId::CreditZero);
    }
    // `telemetry` has it as it looks from a host behind the port.
    match mib::measure(object)?.0 {
        Measure::Bytes(Flow::Write) => Some(CounterId::ReadBytes),
        Measure::Bytes(Flow::Read) => Some(CounterId::WriteBytes),
        Measure::Errors => Some(CounterId::Errors),
        Measure::Discards => Some(CounterId::Discards),
        _ => None,
    }
}

/// Places and rows of a discovery. A port that several MIBs count is one, known by its address.
fn ports(table: &Table) -> (Vec<Place>, Vec<PortRow>) {
    let (mut places, mut rows): (Vec<Place>, Vec<PortRow>) = (Vec::new(), Vec::new());
    let mut first_of: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    let of = |object: &str, index: &str| table.get(object).and_then(|column| column.get(index));
    for (family, names) in FAMILIES {
        let mut by_index: BTreeMap<&str, PortRow> = BTreeMap::new();
        for object in COUNTERS.iter().filter(|object| object.starts_with(family)) {
            let (Some(column), Some(id)) = (table.get(object), counter(object)) else { continue };
            for (index, value) in column {
                let wide = mib::wide(object).is_some_and(|wide| of(wide, index).is_some());
                let oid = mib::number(object)
                    .and_then(|number| Oid::parse(&format!("{number}.{index}")).ok());
                let (Some(oid), Some((_, bits)), false) = (oid, count(value), wide) else {
                    continue;
                };
                by_index.entry(index).or_default().objects.push((oid, id, bits));
            }
        }
        for (index, mut row) in by_index {
            if places.len() >= PLACES_MAX {
                break;
            }
            let name =
                names.iter().filter_map(|name| of(name, index)).map(words).find(|n| !n.is_empty());
            let name = name.unwrap_or_else(|| format!("{family} {index}"));
            row.speed = speed(table, index);
            let mut place = Place::new(HopKind::SwitchPort, name);
            for object in ["ifAlias", "ifDescr"] {
                place = place.known_as(&of(object, index).map(words).unwrap_or_default());
            }
            let mut wwn = None;
            for object in ["ifPhysAddress", "connUnitPortWwn", "fcFxPortName"] {
                let address = of(object, index).map(address).unwrap_or_default();
                place = place.known_as(&address);
                let known = telemetry::canonical(&address);
                wwn = wwn.or(known.filter(|id| id.starts_with("wwn.")));
            }
            place = beyond(table, place, index);
            let before = wwn.as_ref().and_then(|id| first_of.get(id).copied());
            if let Some((at, first)) = before.filter(|(_, first)| *first != family) {
                rows[at].merge(row, &mut places[at], (mib_of(first), mib_of(family)));
                places[at].merge(place);
                continue;
            }
            first_of.extend(wwn.map(|id| (id, (places.len(), family))));
            places.push(place);
            row.name.clone_from(&places[rows.len()].name);
            rows.push(row);
        }
    }
    for (place, row) in places.iter_mut().zip(&rows) {
        let rate = row.speed.map_or("unknown".to_owned(), |speed| format!("{speed} B/s"));
        place.facts.push(("rate".to_owned(), rate));
    }
    (places, rows)
}

/// The MIB of a family of objects.
fn mib_of(family: &str) -> &'static str {
    match family {
        "if" => "IF-MIB",
        "connUnitPort" => "FCMGMT-MIB",
        _ => "FIBRE-CHANNEL-FE-MIB",
    }
}

impl PortRow {
    /// Takes in what another MIB counts of the same port: what this one does not count, or counts in narrower numbers. The rest is
    /// compared. The place says what is counted by which.
    fn merge(&mut self, other: PortRow, place: &mut Place, (own, theirs): (&str, &str)) {
        let bits = |of: &[PortObject], id: CounterId| {
            of.iter().filter(|object| object.1 == id).map(|object| object.2).min()
        };
        let ids: BTreeSet<CounterId> = other.objects.iter().map(|object| object.1).collect();
        let mut taken = Vec::new();
        for id in ids {
            let wider = bits(&other.objects, id) > bits(&self.objects, id);
            let of = |all: &[PortObject]| -> Vec<PortObject> {
                all.iter().filter(|object| object.1 == id).cloned().collect()
            };
            let (ours, new) = (of(&self.objects), of(&other.objects));
            match wider {
                true => {
                    self.objects.retain(|object| object.1 != id);
                    self.objects.extend(new);
                    self.again.extend(ours);
                    taken.push(id);
                }
                false => self.again.extend(new),
            }
        }
        self.speed = self.speed.or(other.speed);
        let list = |taken_over: bool| {
            let of = self.objects.iter().map(|object| object.1);
            let of = of.filter(|id| taken.contains(id) == taken_over);
            let names: BTreeSet<&str> = of.map(|id| id.name()).collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        let said = [(list(false), own), (list(true), theirs)];
        let said = said.iter().filter(|(ids, _)| !ids.is_empty());
        let said: Vec<String> = said.map(|(ids, mib)| format!("{ids} from {mib}")).collect();
        place.facts.push(("counted-by".to_owned(), said.join("; ")));
    }
}

/// Bytes a second of a port.
fn speed(table: &Table, index: &str) -> Option<f64> {
    let number = |object: &str| {
        let value = table.get(object)?.get(index)?;
        count(value).map(|(n, _)| n as f64).filter(|n| *n > 0.0)
    };
    let megabits = number("ifHighSpeed").map(|n| n * 1e6 / 8.0);
    let bits = || number("ifSpeed").filter(|n| *n < 4.29e9).map(|n| n / 8.0);
    let kilobytes = || number("connUnitPortSpeed").map(|n| n * 1e3);
    megabits.or_else(bits).or_else(kilobytes)
}

/// What is at the other end of a port's cable, from LLDP, links of FCMGMT, and the name server.
fn beyond(table: &Table, mut place: Place, index: &str) -> Place {
    let columns = |object: &str| table.get(object).into_iter().flatten();
    let mut far: Vec<String> = Vec::new();
    // Remote systems are listed by the number of the local port, whose name stands in a table of its own.
    for (local, name) in columns("lldpLocPortId") {
        if !place.is(&words(name)) && !place.is(&address(name)) {
            continue;
        }
        for (at, value) in columns("lldpRemPortId") {
            if at.split('.').nth(1) != Some(local.as_str()) {
                continue;
            }
            let chassis = table.get("lldpRemChassisId").and_then(|column| column.get(at));
            let (own, chassis) = (address(value), chassis.map(address).unwrap_or_default());
            far.push(if own.is_empty() { format!("{chassis}/{}", words(value)) } else { own });
        }
    }
    for (at, near) in columns("connUnitLinkPortWwnX") {
        let other = table.get("connUnitLinkPortWwnY").and_then(|column| column.get(at));
        far.extend(other.filter(|_| place.is(&address(near))).map(address));
    }
    // The name server's index: that of the port, then three octets of the address.
    for (at, name) in columns("connUnitSnsPortName") {
        let mut parts = at.rsplitn(4, '.');
        if parts.nth(3) == Some(index) {
            far.push(address(name));
        }
    }
    for id in far.into_iter().filter(|id| !id.is_empty()) {
        place.beyond.insert(telemetry::canonical(&id).unwrap_or(id));
    }
    place
}

impl Source for Snmp {
    fn discover(&mut self) -> Result<Vec<Place>, Trouble> {
        let client = self.client()?;
        let began = clock::now();
        let mut table = Table::new();
        for object in NAMES.iter().chain(COUNTERS) {
            if clock::now().since(began) > DISCOVERY {
                return Err(Trouble::Silent("finding its ports takes too long".to_owned()));
            }
            match self.walk(&client, object) {
                Ok(column) => table.insert(object, column),
                Err(why) => {
                    self.client = None;
                    return Err(why);
                }
            };
        }
        let (places, rows) = ports(&table);
        if places.is_empty() {
            let text =
                "it counts at no port: neither IF-MIB nor FCMGMT-MIB nor FIBRE-CHANNEL-FE-MIB";
            return Err(Trouble::Garbage(text.to_owned()));
        }
        (self.rows, self.last, self.moved) = (rows, Vec::new(), began);
        self.twins = Twins::default();
        Ok(places)
    }

    fn look(&mut self) -> Result<Option<Look>, Trouble> {
        let of = |row: &PortRow| {
            let all = row.objects.iter().chain(&row.again).map(|of| of.0.clone());
            all.collect::<Vec<Oid>>()
        };
        let objects = self.rows.iter().flat_map(of);
        let asked: Vec<Oid> = std::iter::once(up_time()).chain(objects).collect();
        let binds = self.get(&asked)?;
        let at = clock::now();
        let values: BTreeMap<&Oid, &Value> =
            binds.iter().map(|bind| (&bind.oid, &bind.value)).collect();
        let uptime = match values.get(&up_time()) {
            Some(Value::TimeTicks(ticks)) => Some(*ticks),
            _ => None,
        };
        if self.aged(uptime, at) {
            return Err(Trouble::Restarted);
        }
        let place = |row: &PortRow| {
            let entry = |(oid, id, _): &(Oid, CounterId, u32)| {
                let (raw, bits) = count(values.get(oid)?)?;
                Some((*id, Amount::Grows { raw, bits, unit: 1.0 }))
            };
            let mut out: Vec<_> = row.objects.iter().filter_map(entry).collect();
            // A part of a sum that is missing would be a decrease.
            if out.len() < row.objects.len() {
                out.clear();
            }
            out.extend(
                row.speed
                    .filter(|_| !out.is_empty())
                    .map(|rate| (CounterId::PortRate, Amount::Level(rate))),
            );
            out
        };
        let places: Vec<_> = self.rows.iter().map(place).collect();
        if places.iter().all(Vec::is_empty) {
            return Err(Trouble::Garbage("no object that it had is there any more".to_owned()));
        }
        if places == self.last && at.since(self.moved) < IDLE {
            return Ok(None);
        }
        if places != self.last {
            self.moved = at;
        }
        self.last.clone_from(&places);
        for (place, row) in self.rows.iter().enumerate() {
            for id in row.again.iter().map(|of| of.1).collect::<BTreeSet<_>>() {
                let sum = |all: &[PortObject]| {
                    let of = all.iter().filter(|of| of.1 == id);
                    of.map(|of| Some(count(values.get(&of.0)?)?.0 as f64)).sum::<Option<f64>>()
                };
                let Some(both) = sum(&row.objects).zip(sum(&row.again)) else { continue };
                self.news.extend(self.twins.see((place, id), at, both).map(|text| {
                    let text = format!("{}: {}: {text}", self.address, row.name);
                    News { at, code: "counters-conflict", text, warns: true }
                }));
            }
        }
        Ok(Some(Look { at, life: self.life, places }))
    }

    fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(of: &[u8]) -> Value {
        Value::OctetString(of.to_vec().into())
    }

    fn table(of: &[(&'static str, &str, Value)]) -> Table {
        let mut table = Table::new();
        for (object, index, value) in of {
            table.entry(object).or_default().insert((*index).to_owned(), value.clone());
        }
        table
    }

    #[test]
    fn a_wide_counter_stands_for_a_narrow_one() {
        let found = ports(&table(&[
            ("ifName", "3", bytes(b"eth1/3")),
            ("ifAlias", "3", bytes(b"to esx1")),
            ("ifPhysAddress", "3", bytes(&[0, 0x1b, 0x21, 1, 2, 3])),
            ("ifHighSpeed", "3", Value::Gauge32(25_000)),
            ("ifInOctets", "3", Value::Counter32(1)),
            ("ifHCInOctets", "3", Value::Counter64(1)),
            ("ifOutOctets", "3", Value::Counter32(1)),
        ]));
        let (place, row) = (&found.0[0], &found.1[0]);
        assert_eq!(place.name, "eth1/3");
        assert!(place.is("to esx1") && place.is("00:1b:21:01:02:03") && !place.is("eth1/30"));
        let bits: Vec<(CounterId, u32)> = row.objects.iter().map(|of| (of.1, of.2)).collect();
        assert_eq!(bits, [(CounterId::ReadBytes, 64), (CounterId::WriteBytes, 32)]);
        assert_eq!(row.speed, Some(25e9 / 8.0));
    }

    #[test]
    fn a_port_that_two_mibs_count_is_one() {
        let wwn = bytes(&[0x20, 1, 0, 5, 0x1e, 0x34, 0x35, 0x36]);
        let unit = "16.0.0.5.30.52.53.54.1";
        let found = ports(&table(&[
            ("ifName", "7", bytes(b"fc1/1")),
            ("ifPhysAddress", "7", wwn.clone()),
            ("ifInOctets", "7", Value::Counter32(1)),
            ("ifHCOutOctets", "7", Value::Counter64(1)),
            ("ifInErrors", "7", Value::Counter32(0)),
            ("ifName", "8", bytes(b"eth0")),
            ("ifPhysAddress", "8", bytes(&[0, 5, 0x1e, 0x34, 0x35, 0x36])),
            ("ifHCOutOctets", "8", Value::Counter64(1)),
            ("connUnitPortWwn", unit, wwn),
            ("connUnitPortName", unit, bytes(b"slot0 port1")),
            ("connUnitPortSpeed", unit, Value::Gauge32(1_700_000)),
            ("connUnitPortStatCountRxElements", unit, bytes(&[0; 8])),
            ("connUnitPortStatCountTxElements", unit, bytes(&[0; 8])),
            ("connUnitPortStatCountError", unit, bytes(&[0; 8])),
            ("connUnitPortStatCountBBCreditZero", unit, bytes(&[0; 8])),
        ]));
        let names: Vec<&str> = found.0.iter().map(|place| place.name.as_str()).collect();
        assert_eq!(names, ["fc1/1", "eth0"]);
        let (place, row) = (&found.0[0], &found.1[0]);
        assert!(place.is("slot0 port1") && place.is("20:01:00:05:1e:34:35:36"), "{place:?}");
        let of = |all: &[PortObject]| -> Vec<(CounterId, u32)> {
            let mut of: Vec<_> = all.iter().map(|of| (of.1, of.2)).collect();
            of.sort();
            of
        };
        use CounterId::{CreditZero, Errors, ReadBytes, WriteBytes};
        // The narrow counter of bytes stands back.
        let mut recorded = vec![(ReadBytes, 64), (WriteBytes, 64), (Errors, 64), (CreditZero, 64)];
        recorded.sort();
        assert_eq!(of(&row.objects), recorded);
        let mut again = vec![(ReadBytes, 32), (WriteBytes, 64), (Errors, 32)];
        again.sort();
        assert_eq!((of(&row.again), row.speed), (again, Some(1.7e9)));
        let by = &place.facts.iter().find(|fact| fact.0 == "counted-by").expect("who counts").1;
        assert!(by.contains("write-bytes from IF-MIB; "), "{by}");
        assert!(by.ends_with("from FCMGMT-MIB"), "{by}");
        assert_eq!(place.facts.iter().filter(|fact| fact.0 == "rate").count(), 1);
    }

    #[test]
    fn the_other_end_is_told_by_neighbours_links_and_the_name_server() {
        let wwn = |last| bytes(&[0x20, 0, 0, 5, 0x1e, 0, 0, last]);
        let unit = "16.0.0.5.30.1.2.3";
        let found = ports(&table(&[
            ("connUnitPortWwn", &format!("{unit}.1"), wwn(1)),
            ("connUnitPortStatCountTxElements", &format!("{unit}.1"), bytes(&[0; 8])),
            ("connUnitPortWwn", &format!("{unit}.2"), wwn(2)),
            ("connUnitPortStatCountTxElements", &format!("{unit}.2"), bytes(&[0; 8])),
            (
                "connUnitSnsPortName",
                &format!("{unit}.1.1.4.0"),
                bytes(&[0x10, 0, 0, 0, 0xc9, 1, 2, 3]),
            ),
            ("connUnitLinkPortWwnX", "9", wwn(2)),
            ("connUnitLinkPortWwnY", "9", wwn(7)),
            ("ifName", "5", bytes(b"swp5")),
            ("ifHCInOctets", "5", Value::Counter64(0)),
            ("lldpLocPortId", "12", bytes(b"swp5")),
            ("lldpRemPortId", "0.12.1", bytes(&[0, 0x1b, 0x21, 9, 9, 9])),
            ("lldpRemPortId", "0.13.1", bytes(&[0, 0x1b, 0x21, 9, 9, 8])),
        ]));
        let far: Vec<Vec<&str>> =
            found.0.iter().map(|place| place.beyond.iter().map(String::as_str).collect()).collect();
        assert_eq!(
            far,
            [vec!["mac.001b21090909"], vec!["wwn.10000000c9010203"], vec!["wwn.200000051e000007"]]
        );
    }

    #[test]
    fn credentials_say_which_version_is_spoken() {
        let of = |text: &str| auth(&Credentials::parse(text).expect("credentials"));
        assert!(of("community = public").is_ok());
        assert!(
            of("user = a\nauthentication-password = 12345678\nprivacy-password = 12345678").is_ok()
        );
        for wrong in
            ["", "user = a\nauthentication = crc\n", "user = a\nprivacy-password = 12345678"]
        {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
