//! Exporters of Prometheus, scraped directly, plain or over TLS: node_exporter and NetApp Harvest.
//!
//! A page is asked for at each look, by one request with a deadline and a bound. What is no number, or negative, is absent.
//! Harvest computes its figures itself, over its own interval: such rates are summed over time, and are as coarse as that
//! interval.

use crate::credentials::Credentials;
#[cfg(not(feature = "tls"))]
use crate::http::Trust;
use crate::http::{self, PageAddress};
use crate::source::{Amount, Look, PLACES_MAX, Place, Source, Trouble};
#[cfg(feature = "tls")]
use crate::trust::Trust;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clock::Ns;
use hop::HopKind;
use record::CounterId;
use std::collections::{BTreeMap, BTreeSet};
use telemetry::exporter::{Is, gauge, labelled, metric};
use telemetry::{Flow, Measure};

const DEADLINE: Ns = Ns::secs(3);
/// Counters that nothing has moved for so long are of an idle machine.
const IDLE: Ns = Ns::secs(30);
const SECOND: f64 = 1e9;

/// An exporter.
pub struct Exporter {
    at: PageAddress,
    trust: Option<Trust>,
    authorization: Option<String>,
    keys: Vec<(HopKind, String)>,
    last: Vec<Vec<(CounterId, Amount)>>,
    moved: Ns,
}

/// A page: what each place says, by kind and name, and what it is known by.
#[derive(Debug, Default, PartialEq)]
pub struct Page {
    places: BTreeMap<(HopKind, String), Vec<(CounterId, Amount)>>,
    known_as: BTreeMap<(HopKind, String), BTreeSet<String>>,
    /// When the machine started, as the page has it.
    boot: Option<f64>,
}

/// Reads the page of an exporter.
/// # Errors
/// Nothing in it counts anything that is known here.
pub fn page(text: &str) -> Result<Page, Trouble> {
    let mut page = Page::default();
    let mut processors: BTreeSet<String> = BTreeSet::new();
    let mut modes: BTreeMap<&str, f64> = BTreeMap::new();
    let mut lines = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, labels, rest)) = labelled(line.trim()) else { continue };
        lines += 1;
        let of = |label: &str| labels.get(label).map_or("", String::as_str);
        let value = rest.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
        let Some(value) = value.filter(|value| value.is_finite() && *value >= 0.0) else {
            continue;
        };
        match name.as_str() {
            "node_disk_info" => {
                let key = (HopKind::BlockDevice, of("device").to_owned());
                let number = match (of("major"), of("minor")) {
                    ("", _) | (_, "") => String::new(),
                    (major, minor) => format!("dev.{major}:{minor}"),
                };
                page.knows(key, &[of("serial"), of("wwn"), of("path"), &number]);
            }
            "node_network_info" => {
                let key = (HopKind::InitiatorPort, of("device").to_owned());
                page.knows(key, &[of("address"), of("ifalias")]);
            }
            "node_dmi_info" => {
                let uuid = of("product_uuid");
                let known = if uuid.is_empty() { String::new() } else { format!("uuid.{uuid}") };
                page.knows((HopKind::HostCpu, "cpu".to_owned()), &[&known]);
            }
            "node_boot_time_seconds" => page.boot = Some(value),
            "node_cpu_seconds_total" => {
                let to = match of("mode") {
                    "idle" | "iowait" => continue,
                    "irq" | "softirq" => "interrupts",
                    "steal" => "steal",
                    _ => "other",
                };
                processors.insert(of("cpu").to_owned());
                *modes.entry(to).or_default() += value;
            }
            other => page.count(other, &labels, value),
        }
    }
    if !processors.is_empty() {
        let time = |modes: &[f64]| Amount::Total(modes.iter().sum::<f64>() * SECOND);
        let of = |mode: &str| modes.get(mode).copied().unwrap_or(0.0);
        let entries = page.places.entry((HopKind::HostCpu, "cpu".to_owned())).or_default();
        entries.extend([
            (CounterId::CpuBusy, time(&[of("other"), of("interrupts"), of("steal")])),
            (CounterId::CpuSoftirq, time(&[of("interrupts")])),
            (CounterId::CpuSteal, time(&[of("steal")])),
            (CounterId::CpuCount, Amount::Level(processors.len() as f64)),
        ]);
    }
    match page.places.is_empty() {
        true if lines == 0 => Err(Trouble::Garbage("its page holds no samples".to_owned())),
        true => {
            Err(Trouble::Garbage("no metric of node_exporter or Harvest is in its page".to_owned()))
        }
        false => Ok(page),
    }
}

impl Page {
    fn knows(&mut self, key: (HopKind, String), ids: &[&str]) {
        let known = self.known_as.entry(key).or_default();
        known.extend(ids.iter().filter(|id| !id.is_empty()).map(|id| (*id).to_owned()));
    }

    fn count(&mut self, name: &str, labels: &BTreeMap<String, String>, value: f64) {
        let label = |label: &str| labels.get(label).cloned().unwrap_or_default();
        let (kind, place, entry) = if let Some((kind, named, is)) = metric(name) {
            let Some(entry) = entry(is, value) else { return };
            (kind, label(named), entry)
        } else if let Some(known) = gauge(name) {
            let parts: Vec<String> = known.labels.iter().map(|part| label(part)).collect();
            let Some((id, unit)) = counter(known.measure) else { return };
            (known.kind, parts.join("/"), (id, Amount::Rate(value * known.factor * unit)))
        } else {
            return;
        };
        let known = self.places.len() < PLACES_MAX;
        if place.is_empty()
            || place == "lo"
            || !known && !self.places.contains_key(&(kind, place.clone()))
        {
            return;
        }
        self.places.entry((kind, place)).or_default().push(entry);
    }
}

/// The counter of a measure, and how much of it one is.
fn counter(measure: Measure) -> Option<(CounterId, f64)> {
    use CounterId::{Busy, Discards, Errors, QueueTime, ReadBytes, ReadOps, WriteBytes, WriteOps};
    Some(match measure {
        Measure::Ops(Flow::Read) => (ReadOps, 1.0),
        Measure::Ops(Flow::Write) => (WriteOps, 1.0),
        Measure::Bytes(Flow::Read) => (ReadBytes, 1.0),
        Measure::Bytes(Flow::Write) => (WriteBytes, 1.0),
        Measure::Errors => (Errors, 1.0),
        Measure::Discards => (Discards, 1.0),
        Measure::Busy => (Busy, SECOND),
        Measure::InFlight => (QueueTime, SECOND),
        _ => return None,
    })
}

fn entry(is: Is, value: f64) -> Option<(CounterId, Amount)> {
    Some(match is {
        Is::Rate(measure) => {
            let (id, unit) = counter(measure)?;
            (id, Amount::Total(value * unit))
        }
        Is::Spent(Flow::Read) => (CounterId::ReadTime, Amount::Total(value * SECOND)),
        Is::Spent(Flow::Write) => (CounterId::WriteTime, Amount::Total(value * SECOND)),
        Is::Speed if value > 0.0 => (CounterId::PortRate, Amount::Level(value)),
        _ => return None,
    })
}

impl Exporter {
    /// The page at `HOST:PORT[/PATH]`, by default `/metrics`, over TLS. Its certificate is believed if an authority has signed
    /// it that the credentials name, or without that one that this machine trusts.
    /// # Errors
    /// As [`Exporter::new`], or there is no such authority.
    #[cfg(feature = "tls")]
    pub fn over_tls(address: &str, credentials: &Credentials) -> Result<Exporter, String> {
        let trust = Some(Trust::of(credentials.get("ca").map(std::path::Path::new))?);
        Ok(Exporter { trust, ..Exporter::at(address, credentials)? })
    }

    /// The page at `HOST:PORT[/PATH]`, by default `/metrics`, by plain HTTP.
    /// # Errors
    /// The address is none, or the credentials are of another kind.
    pub fn new(address: &str, credentials: &Credentials) -> Result<Exporter, String> {
        if credentials.get("ca").is_some() {
            return Err("`ca` is for `prometheus+https://`: this address is plain HTTP".to_owned());
        }
        Exporter::at(address, credentials)
    }

    fn at(address: &str, credentials: &Credentials) -> Result<Exporter, String> {
        let (authority, path) = match address.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (address, "/metrics".to_owned()),
        };
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
        let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        if port.is_none() || !plain(authority) || !plain(&path) {
            return Err("it is written `prometheus://HOST:PORT` or `prometheus://HOST:PORT/PATH`"
                .to_owned());
        }
        let of = |key| credentials.get(key).filter(|text| plain(text));
        let authorization = match (of("token"), of("user"), of("password")) {
            (Some(token), _, _) => Some(format!("Bearer {token}")),
            (None, Some(user), Some(password)) => {
                Some(format!("Basic {}", BASE64.encode(format!("{user}:{password}"))))
            }
            _ if credentials.is_anonymous() => None,
            _ => return Err("it takes `token`, or `user` and `password`, in ASCII".to_owned()),
        };
        let at = PageAddress { authority: authority.to_owned(), path };
        let trust = None;
        Ok(Exporter {
            at,
            trust,
            authorization,
            keys: Vec::new(),
            last: Vec::new(),
            moved: Ns::ZERO,
        })
    }

    fn page(&self) -> Result<Page, Trouble> {
        let until = clock::now().plus(DEADLINE);
        let text = http::get(&self.at, self.trust.as_ref(), self.authorization.as_deref(), until)
            .map_err(Trouble::Silent)?;
        page(&text)
    }
}

impl Source for Exporter {
    fn discover(&mut self) -> Result<Vec<Place>, Trouble> {
        let page = self.page()?;
        (self.last, self.moved) = (Vec::new(), clock::now());
        self.keys = page.places.keys().cloned().collect();
        let place = |key: &(HopKind, String)| {
            let mut place = Place::new(key.0, &key.1);
            for id in page.known_as.get(key).into_iter().flatten() {
                place = place.known_as(id);
            }
            let rates = page.places[key].iter().any(|of| matches!(of.1, Amount::Rate(_)));
            place.fact("resolution", if rates { "the exporter's own interval" } else { "" })
        };
        Ok(self.keys.iter().map(place).collect())
    }

    fn look(&mut self) -> Result<Option<Look>, Trouble> {
        let mut page = self.page()?;
        let at = clock::now();
        let life = page.boot.map_or(0, |seconds| seconds as u64);
        let mut take = |key: &(HopKind, String)| page.places.remove(key).unwrap_or_default();
        let places: Vec<Vec<(CounterId, Amount)>> = self.keys.iter().map(&mut take).collect();
        let counts = places.iter().flatten().any(|of| matches!(of.1, Amount::Total(_)));
        if counts && places == self.last && at.since(self.moved) < IDLE {
            return Ok(None);
        }
        if places != self.last {
            self.moved = at;
        }
        self.last.clone_from(&places);
        Ok(Some(Look { at, life, places }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 900\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 30\n\
        node_cpu_seconds_total{cpu=\"1\",mode=\"softirq\"} 5\nnode_cpu_seconds_total{cpu=\"1\",mode=\"steal\"} 1.5\n\
        node_disk_read_bytes_total{device=\"sda\"} 1.024e+06\nnode_disk_io_time_seconds_total{device=\"sda\"} 2.5\n\
        node_disk_written_bytes_total{device=\"sda\"} NaN\nnode_disk_info{device=\"sda\",serial=\"S1\",wwn=\"0x5000c500a1b2c3d4\"} 1\n\
        node_network_receive_bytes_total{device=\"eth0\"} 77\nnode_network_receive_bytes_total{device=\"lo\"} 5\n\
        node_network_speed_bytes{device=\"eth0\"} 1.25e+09\nnode_boot_time_seconds 1.7e+09\n";

    fn of<'a>(page: &'a Page, kind: HopKind, name: &str) -> &'a [(CounterId, Amount)] {
        page.places.get(&(kind, name.to_owned())).map_or(&[], Vec::as_slice)
    }

    #[test]
    fn a_page_of_node_exporter_is_read_with_its_units() {
        let page = page(PAGE).expect("a page");
        let disk = of(&page, HopKind::BlockDevice, "sda");
        assert_eq!(
            disk,
            [
                (CounterId::ReadBytes, Amount::Total(1_024_000.0)),
                (CounterId::Busy, Amount::Total(2.5e9))
            ]
        );
        let cpu = of(&page, HopKind::HostCpu, "cpu");
        assert_eq!(cpu[0], (CounterId::CpuBusy, Amount::Total(36.5e9)));
        assert_eq!(cpu[3], (CounterId::CpuCount, Amount::Level(2.0)));
        assert_eq!(of(&page, HopKind::InitiatorPort, "lo"), []);
        assert_eq!(page.boot, Some(1.7e9));
    }

    #[test]
    fn a_gauge_of_harvest_is_a_rate_of_its_place() {
        let text =
            "volume_read_data{svm=\"svm1\",volume=\"vol0\"} 5000\nnode_cpu_busy{node=\"n1\"} 50\n";
        let page = page(text).expect("a page");
        assert_eq!(
            of(&page, HopKind::Volume, "svm1/vol0"),
            [(CounterId::ReadBytes, Amount::Rate(5000.0))]
        );
        assert_eq!(of(&page, HopKind::Controller, "n1"), [(CounterId::Busy, Amount::Rate(0.5e9))]);
    }

    #[test]
    fn a_page_without_counters_says_so() {
        for text in
            ["", "<html>\n", "go_goroutines 7\n", "node_disk_read_bytes_total{device=\"sda\"} -1\n"]
        {
            assert!(page(text).is_err(), "{text}");
        }
    }
}
