//! What no file says: how fast a place is and which identity it has, from a small TOML file.
//!
//! ```toml
//! [[hop]]
//! name = "switch1/fc1/1"      # as the review names it, or by `id`: a WWPN, naa., a MAC address
//! rate = "800 MB/s"           # each way; or read-rate, write-rate, both-rate, operations, slots
//! same = ["array1/CT0.FC0"]   # other names or identities of the same place
//!
//! [[device]]
//! names = ["db1", "10.0.0.5"] # one host, switch or array under several names
//! ```

use super::model::canonical;
use record::CounterId;

/// Limits of one place.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownHop {
    /// Its name in the record.
    pub name: Option<String>,
    /// Its identity, in canonical form.
    pub id: Option<String>,
    /// What it can carry.
    pub limits: Vec<(CounterId, f64)>,
}

/// What the user says of places and devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Limits.
    pub hops: Vec<KnownHop>,
    /// Names and identities that are one place.
    pub same: Vec<Vec<String>>,
    /// Names that are one device.
    pub devices: Vec<Vec<String>>,
}

const RATES: [(&str, CounterId); 4] = [
    ("rate", CounterId::PortRate),
    ("read-rate", CounterId::ReadRate),
    ("write-rate", CounterId::WriteRate),
    ("both-rate", CounterId::BothRate),
];
const COUNTS: [(&str, CounterId); 3] = [
    ("operations", CounterId::OpsRate),
    ("slots", CounterId::Slots),
    ("processors", CounterId::CpuCount),
];

/// Reads a topology; `rate` turns the text of a rate into bytes a second.
/// # Errors
/// What is wrong, by the entry.
pub fn topology(
    text: &str,
    rate: &dyn Fn(&str) -> Result<f64, String>,
) -> Result<Topology, String> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    if let Some(key) = table.keys().find(|key| !["hop", "device"].contains(&key.as_str())) {
        return Err(format!("`{key}` is not known: a topology consists of [[hop]] and [[device]]"));
    }
    let all =
        |key: &str| table.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let (hops, devices) = (all("hop"), all("device"));
    if hops.is_empty() && devices.is_empty() {
        return Err("neither [[hop]] nor [[device]] is in it".to_owned());
    }
    let mut out = Topology::default();
    for (at, hop) in (1..).zip(&hops) {
        known(at, hop, rate, &mut out)?;
    }
    for (at, device) in (1..).zip(&devices) {
        let names = device.get("names").map(texts).unwrap_or_default();
        let only = device.as_table().is_some_and(|table| table.len() == 1);
        if !only || names.len() < 2 {
            return Err(format!(
                "device {at}: `names` lists two names or more, and nothing else is known of a device"
            ));
        }
        out.devices.push(names);
    }
    Ok(out)
}

/// The texts of a list, or none if one is something else.
fn texts(value: &toml::Value) -> Vec<String> {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |one: &toml::Value| one.as_str().map(str::to_owned);
    all.iter().map(text).collect::<Option<Vec<String>>>().unwrap_or_default()
}

fn known(
    at: usize,
    hop: &toml::Value,
    rate: &dyn Fn(&str) -> Result<f64, String>,
    to: &mut Topology,
) -> Result<(), String> {
    let table = hop.as_table().ok_or_else(|| format!("hop {at} is no table"))?;
    let mut out = KnownHop { name: None, id: None, limits: Vec::new() };
    let mut same = Vec::new();
    for (key, value) in table {
        let wrong = || format!("hop {at}: {key} = {value} is not what is expected");
        let text = value.as_str();
        let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
        if let Some((_, id)) = RATES.iter().find(|(name, _)| name == key) {
            let value =
                rate(text.ok_or_else(wrong)?).map_err(|e| format!("hop {at}: {key}: {e}"))?;
            out.limits.push((*id, value));
        } else if let Some((_, id)) = COUNTS.iter().find(|(name, _)| name == key) {
            out.limits.push((*id, number.filter(|n| *n > 0.0).ok_or_else(wrong)?));
        } else {
            match key.as_str() {
                "name" => out.name = Some(text.ok_or_else(wrong)?.to_owned()),
                "id" => out.id = Some(text.and_then(canonical).ok_or_else(|| {
                    format!("hop {at}: id = {value} is neither a WWPN, naa., a MAC address nor a serial number of an array")
                })?),
                "same" => same = Some(texts(value)).filter(|all| !all.is_empty()).ok_or_else(wrong)?,
                _ => return Err(format!("hop {at}: `{key}` is not known")),
            }
        }
    }
    let id = table.get("id").and_then(toml::Value::as_str).map(str::to_owned);
    let named: Vec<String> = out.name.iter().cloned().chain(id).collect();
    if named.is_empty() {
        return Err(format!("hop {at} has neither `name` nor `id`"));
    }
    if named.len() + same.len() > 1 {
        to.same.push(named.into_iter().chain(same).collect());
    }
    to.hops.push(out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_is_read_or_refused_by_its_key() {
        let rate = |text: &str| {
            text.trim_end_matches(" MB/s")
                .parse::<f64>()
                .map(|mb| mb * 1e6)
                .map_err(|e| e.to_string())
        };
        let one =
            topology("[[hop]]\nname = \"sw/fc1/1\"\nrate = \"800 MB/s\"\nslots = 32\n", &rate)
                .unwrap();
        assert_eq!(one.hops[0].limits, [(CounterId::PortRate, 8e8), (CounterId::Slots, 32.0)]);
        let id = topology("[[hop]]\nid = \"21:00:00:24:ff:00:00:01\"\noperations = 5000\n", &rate)
            .unwrap();
        assert_eq!(id.hops[0].id.as_deref(), Some("wwn.21000024ff000001"));
        let one = topology(
            "[[hop]]\nname = \"a\"\nsame = [\"b\"]\n[[device]]\nnames = [\"x\", \"10.0.0.1\"]\n",
            &rate,
        );
        let one = one.unwrap();
        assert_eq!(
            (one.same, one.devices),
            (
                vec![vec!["a".to_owned(), "b".to_owned()]],
                vec![vec!["x".to_owned(), "10.0.0.1".to_owned()]]
            )
        );
        for (text, what) in [
            ("x = 1", "`x` is not known"),
            ("", "neither [[hop]] nor [[device]]"),
            ("[[hop]]\nname = \"a\"\nsame = \"b\"", "same"),
            ("[[device]]\nnames = [\"x\"]", "two names"),
            ("[[hop]]\nrate = \"1 MB/s\"", "neither `name` nor `id`"),
            ("[[hop]]\nname = \"a\"\nspeed = 1", "`speed` is not known"),
            ("[[hop]]\nname = \"a\"\nslots = -1", "slots"),
            ("[[hop]]\nid = \"host1\"", "neither a WWPN"),
        ] {
            let error = topology(text, &rate).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
