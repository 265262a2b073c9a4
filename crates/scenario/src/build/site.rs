//! Where receivers stand in a lab that is simulated: their hosts, the hosts that send to them, and the adapters between.

use super::lab::LabBuilder;
use super::{complain, place};
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake};
use crate::directory::NameKind;
use crate::network::ReceiverSite;

impl LabBuilder<'_> {
    /// The places of `n` receivers of one definition; none of those that are no part of the lab.
    pub(super) fn sites(&mut self, record: &Decoded, n: usize) -> Vec<Option<ReceiverSite>> {
        for key in ["adapter", "from", "from_adapter"] {
            let needs = if key == "from_adapter" { "from" } else { "host" };
            if record.has(key) && !record.has(needs) {
                let problem = format!("it needs `{needs}`, which names the host");
                complain(record, key, problem, self.sink);
            }
        }
        let hosts = self.dealt(record, "host", &[NameKind::Host], n);
        let from = self.dealt(record, "from", &[NameKind::Host], n);
        let adapters = self.adapters_of(record, "adapter", &hosts);
        let from_adapters = self.adapters_of(record, "from_adapter", &from);
        let ends = hosts.into_iter().zip(adapters).zip(from.into_iter().zip(from_adapters));
        let sites: Vec<Option<ReceiverSite>> = ends
            .map(|((host, adapter), (from, from_adapter))| {
                Some(ReceiverSite { host: host?, adapter, from, from_adapter })
            })
            .collect();
        let alone = |site: &&ReceiverSite| site.from.as_deref() == Some(site.host.as_str());
        if let Some(site) = sites.iter().flatten().find(alone) {
            let problem = format!("the receiver itself runs on `{}`; name another host", site.host);
            complain(record, "from", problem, self.sink);
        }
        sites
    }

    /// The adapter or team at `key` of each of these hosts, by its short name or its full one.
    pub(super) fn adapters_of(
        &mut self,
        record: &Decoded,
        key: &str,
        hosts: &[Option<String>],
    ) -> Vec<Option<String>> {
        let Some(text) = record.text(key) else { return vec![None; hosts.len()] };
        let mut found = Vec::with_capacity(hosts.len());
        for host in hosts {
            let Some(host) = host else {
                found.push(None);
                continue;
            };
            let prefix = format!("{host}.");
            let full = match text.value.starts_with(&prefix) {
                true => text.value.clone(),
                false => format!("{prefix}{}", text.value),
            };
            let kinds: &[NameKind] = match self.directory.is(&full, NameKind::Team) {
                true => &[NameKind::Team],
                false => &[NameKind::Adapter],
            };
            let names = self.directory.find(&At::new(text.at, full), kinds, self.sink);
            found.push(names.and_then(|found| found.names.into_iter().next()));
        }
        found
    }

    /// Reports a receiver that is nowhere.
    pub(super) fn nowhere(&mut self, record: &Decoded) {
        let given = ["address", "embedded", "host"].iter().any(|key| record.slot(key).is_some());
        if !given {
            self.sink.push(|| {
                let message = "[[receiver]] needs one of `address`, `embedded` or `host`";
                Mistake::new(place(record, "name"), message)
                    .class(Class::Absence)
                    .help("a live run uses an `address` or this machine (`embedded = true`), a simulation a `host` of \
                           the lab")
            });
        }
    }
}
