//! Sources of counters: what a device's `counters`, `credentials` and `identities` mean.

use super::complain;
use super::lab::{LabBuilder, expanded};
use crate::counted::{CountedDevice, CounterSource, CountersFrom, HopIdentity};
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake};
use crate::model::Vm;
use crate::tree::clip;

/// Hops that one device may name, at most.
const IDENTITIES_MAX: usize = 256;

impl LabBuilder<'_> {
    /// The sources of counters of all devices.
    pub(super) fn counters(&mut self, root: &Decoded) -> Vec<CounterSource> {
        let sections = [
            ("host", CountedDevice::Host),
            ("switch", CountedDevice::Switch),
            ("array", CountedDevice::Array),
        ];
        let mut sources: Vec<CounterSource> = Vec::new();
        for (section, kind) in sections {
            for record in root.records(section) {
                sources.extend(self.counter_source(record, kind));
            }
        }
        sources
    }

    /// The sources of one device: one, or several that count the same machine.
    fn counter_source(&mut self, record: &Decoded, kind: CountedDevice) -> Vec<CounterSource> {
        let texts = record.texts("counters");
        if texts.is_empty() {
            for key in ["credentials", "identities"].into_iter().filter(|key| record.has(key)) {
                complain(
                    record,
                    key,
                    "it needs `counters`, which says where they come from",
                    self.sink,
                );
            }
            return Vec::new();
        }
        let Some(from) = texts.iter().map(|text| self.counters_from(text)).collect() else {
            return Vec::new();
        };
        let from: Vec<CountersFrom> = from;
        if let Some(again) = (1..from.len()).find(|at| from[..*at].contains(&from[*at])) {
            let message = format!("counters: `{}` is listed twice", from[again]);
            self.sink.push(|| Mistake::new(texts[again].at, message));
            return Vec::new();
        }
        let [device] = &expanded(record)[..] else {
            complain(
                record,
                "counters",
                "each device has counters of its own: define them one by one",
                self.sink,
            );
            return Vec::new();
        };
        let credentials = record.text("credentials").map(|at| at.value.to_string());
        if credentials.is_some() && from.iter().all(|of| *of == CountersFrom::Local) {
            complain(record, "credentials", "`counters = \"local\"` asks for none", self.sink);
        }
        let agent = from.iter().position(|of| matches!(of, CountersFrom::Snmp(_)));
        if let Some(at) = agent.filter(|_| credentials.is_none()) {
            self.sink.push(|| {
                Mistake::new(texts[at].at, "an agent of SNMP asks for credentials")
                    .class(Class::Absence)
                    .help("add `credentials = \"FILE\"`; the file says `community = …` (v2c), or `user = …` and its passwords (v3)")
            });
        }
        let identities = self.identities(record, device);
        let source = |from: CountersFrom| {
            // The file is the agent's where there is one: an exporter beside it is asked without.
            let asks = match from {
                CountersFrom::Local => false,
                CountersFrom::Snmp(_) => true,
                CountersFrom::Prometheus(_) | CountersFrom::PrometheusTls(_) => agent.is_none(),
            };
            let credentials = credentials.clone().filter(|_| asks);
            let (device, identities) = (device.clone(), identities.clone());
            CounterSource { device, kind, from, credentials, identities }
        };
        from.into_iter().map(source).collect()
    }

    fn counters_from(&mut self, text: &At<String>) -> Option<CountersFrom> {
        let from = CountersFrom::of(&text.value);
        if from.is_none() {
            self.sink.push(|| {
                let message = format!("counters: `{}` is no source of counters", clip(&text.value));
                let help = "write `local`, `snmp://HOST`, `prometheus://HOST:PORT` or `prometheus+https://HOST:PORT`; users and \
                            passwords are in the file that `credentials` names";
                Mistake::new(text.at, message).help(help)
            });
        }
        from
    }

    fn identities(&mut self, record: &Decoded, device: &str) -> Vec<HopIdentity> {
        let mut out: Vec<HopIdentity> = Vec::new();
        for one in record.records("identities") {
            let (Some(hop), Some(is)) = (one.text("hop"), one.text("is")) else { continue };
            let (hop, is) = (hop.value.to_string(), is.value.trim().to_owned());
            let behind = hop.strip_prefix(device).map(|rest| rest.chars().next());
            if !matches!(behind, Some(None | Some('.' | ':' | '/'))) {
                let message = format!(
                    "`{}` is no hop of `{device}`: its hops begin with its name, as `{device}:0`",
                    clip(&hop)
                );
                complain(one, "hop", message, self.sink);
            } else if out.iter().any(|of| of.hop == hop) {
                complain(
                    one,
                    "hop",
                    format!("`{}` has an identity already", clip(&hop)),
                    self.sink,
                );
            } else if is.is_empty() || out.iter().any(|of| of.is == is) {
                let message =
                    if is.is_empty() { "it is empty" } else { "another hop has this identity" };
                complain(one, "is", message, self.sink);
            } else if out.len() == IDENTITIES_MAX {
                complain(one, "hop", format!("{IDENTITIES_MAX} identities at most"), self.sink);
            } else {
                out.push(HopIdentity { hop, is });
            }
        }
        out
    }
}

/// Gives the sources of hosts the virtual ports of their VMs as hops, `VM.vport`.
pub(super) fn virtual_ports(vms: &[Vm], sources: &mut [CounterSource]) {
    for source in sources.iter_mut().filter(|source| source.kind == CountedDevice::Host) {
        let here = vms.iter().filter(|vm| vm.host.as_ref() == Some(&source.device));
        let port = |vm: &Vm| {
            let is = vm.wwpn.clone()?;
            Some(HopIdentity { hop: format!("{}.vport", vm.name), is })
        };
        source.identities.extend(here.filter_map(port));
    }
}

#[cfg(test)]
mod tests {
    use crate::Source;

    #[test]
    fn the_virtual_port_of_a_vm_is_a_hop_of_its_host() {
        let text = r#"
            scenario.title = "virtual ports"
            target = [{ name = "t", url = "null:", size = "1MiB" }]
            host = [
              { name = "esx", counters = "local", adapters = [{ name = "hba", npiv = true }] },
              { name = "other" },
            ]
            vm = [
              { name = "vm{1..2}", host = "esx", npiv = true, wwpn = "c0:50:76:00:a1:b2:00:0{1..2}" },
              { name = "vm3", host = "other", npiv = true, wwpn = "c0:50:76:00:a1:b2:00:03" },
            ]
            workload.w = { block = "4KiB" }
            plan = { workload = "w", on = "t", measure = "1s" }
        "#;
        let source = Source { name: "t.toml".into(), text: text.into(), ..Source::default() };
        let scenario = crate::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let [host] = &scenario.lab.counters[..] else { panic!("one source of counters") };
        let hops: Vec<_> =
            host.identities.iter().map(|of| (of.hop.as_str(), of.is.as_str())).collect();
        let expected =
            [("vm1.vport", "c0:50:76:00:a1:b2:00:01"), ("vm2.vport", "c0:50:76:00:a1:b2:00:02")];
        assert_eq!(hops, expected);
    }
}
