//! The sources of a scenario, each with its thread, made of what the scenario says of each device.

use super::{FoundPlaces, is_local};
use clock::Ns;
use probe::credentials::Credentials;
use probe::fc::FcHosts;
use probe::host::Host;
use probe::interface::Interfaces;
use probe::scrape::Exporter;
use probe::scsi::ScsiDevices;
use probe::snmp::Snmp;
use probe::source::{Place, Source, Trouble};
use probe::watch::Watch;
use record::HopKind;
use scenario::{CountedDevice, CounterSource, CountersFrom};
use std::path::Path;
use telemetry::Machine;

/// Bytes of a file with credentials, at most.
const CREDENTIALS_MAX: u64 = 64 << 10;

/// What a machine tells of itself, by the name that messages give it.
pub const LOCAL: [&str; 4] = ["processors", "interfaces", "FC hosts", "SCSI devices"];

/// The sources of a scenario.
pub struct CountedSources {
    specs: Vec<CounterSource>,
    watches: Vec<Watch>,
    /// Of each spec the numbers of its watches, or why it has none.
    of: Vec<Result<Vec<usize>, String>>,
}

impl CountedSources {
    /// Starts a thread for each; `None` where there are none.
    pub fn start(specs: &[CounterSource]) -> Option<CountedSources> {
        if specs.is_empty() {
            return None;
        }
        let mut out = CountedSources { specs: specs.to_vec(), watches: Vec::new(), of: Vec::new() };
        for spec in specs {
            let started = out.begin(spec);
            out.of.push(started);
        }
        Some(out)
    }

    fn begin(&mut self, spec: &CounterSource) -> Result<Vec<usize>, String> {
        let mut numbers = Vec::new();
        for (name, source) in sources(spec)? {
            let name = match is_local(spec) {
                true => format!("{} of this machine", name),
                false => name,
            };
            let watch = Watch::start(&name, source).map_err(|e| e.to_string())?;
            numbers.push(self.watches.len());
            self.watches.push(watch);
        }
        Ok(numbers)
    }

    /// What the scenario says.
    pub fn all(&self) -> &[CounterSource] {
        &self.specs
    }

    /// The threads.
    pub fn watches(&self) -> &[Watch] {
        &self.watches
    }

    /// The places of a device, waiting until `until` at most.
    pub fn found(&self, at: usize, until: Ns) -> (CounterSource, FoundPlaces) {
        let (spec, mut out) = (self.specs[at].clone(), FoundPlaces::default());
        match &self.of[at] {
            Err(why) => out.troubles.push((spec.from.to_string(), Trouble::Silent(why.clone()))),
            Ok(numbers) => {
                for number in numbers {
                    let watch = &self.watches[*number];
                    match watch.places(until) {
                        Ok(places) => out.places.extend(places.into_iter().map(|of| (*number, of))),
                        Err(why) => out.troubles.push((watch.name().to_owned(), why)),
                    }
                }
            }
        }
        (spec, out)
    }
}

/// A reader with its name in messages.
type NamedSource = (String, Box<dyn Source>);

/// The readers of one device.
fn sources(spec: &CounterSource) -> Result<Vec<NamedSource>, String> {
    let name = spec.from.to_string();
    Ok(match &spec.from {
        CountersFrom::Local => local(),
        CountersFrom::Snmp(address) => {
            vec![(name, Box::new(Snmp::new(address, &credentials(spec)?)?))]
        }
        CountersFrom::Prometheus(address) => {
            vec![(name, Box::new(Exporter::new(address, &credentials(spec)?)?))]
        }
        CountersFrom::PrometheusTls(address) => {
            vec![(name, Box::new(Exporter::over_tls(address, &credentials(spec)?)?))]
        }
    })
}

/// What the places of a source tell of its machine.
pub fn machine<'a>(places: impl Iterator<Item = &'a Place>) -> Machine {
    let mut out = Machine::default();
    let own = |kind| {
        use HopKind::{ArrayCpu, HostCpu, InitiatorPort, SwitchPort};
        matches!(kind, Some(HostCpu | ArrayCpu | InitiatorPort | SwitchPort))
    };
    places
        .filter(|place| own(place.kind))
        .flat_map(|place| &place.ids)
        .for_each(|id| out.known_as(id));
    out
}

/// What this machine is known by.
pub fn this_machine() -> Machine {
    let all: Vec<Place> = local()
        .into_iter()
        .flat_map(|(_, mut source)| source.discover().unwrap_or_default())
        .collect();
    machine(all.iter())
}

fn local() -> Vec<NamedSource> {
    let sys = Path::new("/sys");
    let readers: [Box<dyn Source>; 4] = [
        Box::new(Host::new(Path::new("/proc"), None)),
        Box::new(Interfaces::new(sys)),
        Box::new(FcHosts::new(sys)),
        Box::new(ScsiDevices::new(sys)),
    ];
    LOCAL.iter().map(|name| (*name).to_owned()).zip(readers).collect()
}

/// Reads the credentials of a source. Nothing of them enters a message.
fn credentials(spec: &CounterSource) -> Result<Credentials, String> {
    let Some(path) = &spec.credentials else { return Ok(Credentials::default()) };
    let bytes = san::private_file(Path::new(path), CREDENTIALS_MAX)
        .map_err(|e| format!("credentials {path}: {e}"))?;
    let text =
        String::from_utf8(bytes).map_err(|_| format!("credentials {path}: it is no text"))?;
    Credentials::parse(&text).map_err(|why| format!("credentials {path}: {why}"))
}

/// Whether a source is this machine, as a host of the lab.
pub fn is_local_host(source: &CounterSource) -> bool {
    is_local(source) && source.kind == CountedDevice::Host
}

/// What can be read on this machine: what is there, and what is missing.
pub fn readable() -> (Vec<String>, Vec<String>) {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for (name, mut source) in local() {
        match source.discover() {
            Ok(places) if name == "processors" => {
                there.push(name);
                let facts = places.into_iter().flat_map(|place| place.facts);
                missing.extend(facts.map(|(key, why)| format!("{key}: {why}")));
            }
            Ok(places) => there.push(format!("{} {name}", places.len())),
            Err(why) => missing.push(format!("{name}: {why}")),
        }
    }
    match probe::tcp::established() {
        Ok(_) => there.push("TCP sessions".to_owned()),
        Err(why) => missing.push(format!("TCP sessions: {why}")),
    }
    (there, missing)
}
