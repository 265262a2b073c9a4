//! Where the counters of a lab's real devices come from, and which of a device's places is which hop.

/// Where the counters of a host, switch or array come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSource {
    /// The host, switch or array.
    pub device: String,
    /// What it is.
    pub kind: CountedDevice,
    /// From where.
    pub from: CountersFrom,
    /// The file with what the source asks for; where it is, never what it holds.
    pub credentials: Option<String>,
    /// Which place of the device is which hop.
    pub identities: Vec<HopIdentity>,
}

/// What has counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedDevice {
    /// A host.
    Host,
    /// A switch.
    Switch,
    /// An array.
    Array,
}

/// From where counters come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountersFrom {
    /// The machine that runs the scenario.
    Local,
    /// An agent of SNMP: `HOST` or `HOST:PORT`.
    Snmp(String),
    /// An exporter of Prometheus: `HOST:PORT` or `HOST:PORT/PATH`.
    Prometheus(String),
    /// The same over TLS.
    PrometheusTls(String),
}

/// A hop and what the place that counts for it is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopIdentity {
    /// The hop's name in the lab: `fabric:3`.
    pub hop: String,
    /// A WWN, a MAC address, a serial number, or the exact name that the device gives it.
    pub is: String,
}

impl CountersFrom {
    /// What a scenario writes for it; `None` for any other text.
    pub fn of(text: &str) -> Option<CountersFrom> {
        let address = |prefix| {
            let rest = text.strip_prefix(prefix)?;
            let plain = |rest: &&str| !rest.is_empty() && !rest.contains(['@', ' ', '?', '#']);
            Some(rest).filter(plain).map(str::to_owned)
        };
        match text {
            "local" => Some(CountersFrom::Local),
            _ => (address("snmp://").map(CountersFrom::Snmp))
                .or_else(|| address("prometheus://").map(CountersFrom::Prometheus))
                .or_else(|| address("prometheus+https://").map(CountersFrom::PrometheusTls)),
        }
    }
}

impl std::fmt::Display for CountersFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CountersFrom::Local => f.write_str("local"),
            CountersFrom::Snmp(address) => write!(f, "snmp://{address}"),
            CountersFrom::Prometheus(address) => write!(f, "prometheus://{address}"),
            CountersFrom::PrometheusTls(address) => write!(f, "prometheus+https://{address}"),
        }
    }
}
