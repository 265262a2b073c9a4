//! Receivers and nics: where the far ends of network loads are, and which VMs reach them.

use super::lab::LabBuilder;
use super::{complain, place};
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake, Sink};
use crate::directory::{NameKind, deal};
use crate::model::Vm;
use crate::names;
use crate::network::{AddressFamily, Receiver, ReceiverPlace, TokenFrom, VmNic};
use crate::tree::clip;
use std::net::{IpAddr, Ipv6Addr};

/// Nics of a VM, at most: each is a hop of every network load on it.
const NICS_MAX: usize = 64;
/// Bytes of the name of an interface, at most: Linux's IFNAMSIZ without its end.
const INTERFACE_MAX: usize = 15;
/// Bytes of a host's name, at most (RFC 1035, section 2.3.4).
const HOST_MAX: usize = 253;

impl LabBuilder<'_> {
    /// The receivers of one definition.
    pub(super) fn receivers(&mut self, record: &Decoded, names: &[String]) -> Vec<Receiver> {
        let n = names.len();
        let family = record.word("family").map(|at| family(at.value));
        let token = token(record);
        let places = self.places(record, family, n);
        let sources = self.sources(record, family, &places, n);
        let adjust = self.interfaces(record, n);
        if token.is_none()
            && !record.has("token_file")
            && !record.has("token_env")
            && let Some(far) = places.iter().flatten().find(|place| !place.is_loopback())
        {
            self.sink.push(|| needs_token(record, far));
        }
        let source_port = record.count("source_port").and_then(|at| u16::try_from(at.value).ok());
        let rate = self.link_rate(record);
        self.nowhere(record);
        let sites = self.sites(record, n);
        let modelled = record.has("host") && !record.has("address") && !record.has("embedded");
        // Mistakes have been reported.
        let usual = if modelled { ReceiverPlace::Modelled } else { ReceiverPlace::Embedded };
        let each = names.iter().zip(places).zip(sources).zip(adjust).zip(sites);
        each.map(|((((name, place), source), adjust), site)| Receiver {
            name: name.clone(),
            place: place.unwrap_or_else(|| usual.clone()),
            family,
            source,
            source_port,
            token: token.clone(),
            adjust,
            rate,
            site,
        })
        .collect()
    }

    /// The address of each of `n` receivers; none where that is wrong, which has been reported.
    fn places(
        &mut self,
        record: &Decoded,
        family: Option<AddressFamily>,
        n: usize,
    ) -> Vec<Option<ReceiverPlace>> {
        if record.flag("embedded").is_some_and(|at| !at.value) && !record.has("address") {
            let problem = "it does not run on this machine, so it needs an `address` instead";
            complain(record, "embedded", problem, self.sink);
        }
        let Some(text) = record.text("address") else {
            let embedded = record.flag("embedded").is_some_and(|at| at.value);
            return vec![embedded.then_some(ReceiverPlace::Embedded); n];
        };
        let addresses = self.texts_each(record, "address", n);
        if n > 1 && names::expand_path(&text.value).is_ok_and(|all| all.len() == 1) {
            let problem = format!("{n} receivers would share one; put the range of `name` into it");
            complain(record, "address", problem, self.sink);
        }
        let mut places = Vec::with_capacity(n);
        let mut told = false;
        for address in &addresses {
            let place = match address.as_deref().map(|address| place_of(address, family)) {
                Some(Ok(place)) => Some(place),
                Some(Err((problem, help))) => {
                    // One definition, one mistake.
                    if !std::mem::replace(&mut told, true) {
                        let message = format!("address: {problem}");
                        self.sink.push(|| Mistake::new(text.at, message).maybe_help(help));
                    }
                    None
                }
                None => None,
            };
            places.push(place);
        }
        places
    }

    /// The local address of all streams, for each of `n` receivers.
    fn sources(
        &mut self,
        record: &Decoded,
        family: Option<AddressFamily>,
        places: &[Option<ReceiverPlace>],
        n: usize,
    ) -> Vec<Option<IpAddr>> {
        let mut sources = Vec::with_capacity(n);
        let mut problems: Vec<String> = Vec::new();
        for (text, place) in self.texts_each(record, "source", n).iter().zip(places) {
            let source = text.as_deref().map(|text| {
                let source: IpAddr = text.parse().map_err(|_| {
                    format!("`{}` is not an IP address of this machine", clip(text))
                })?;
                match far_family(place.as_ref(), family) {
                    Some(far) if far != family_of(source) => {
                        let far = if far == AddressFamily::Ipv4 { "IPv4" } else { "IPv6" };
                        Err(format!("the receiver is reached over {far}, and `{source}` is not"))
                    }
                    _ => Ok(source),
                }
            });
            match source {
                Some(Err(problem)) => {
                    problems.push(problem);
                    sources.push(None);
                }
                Some(Ok(source)) => sources.push(Some(source)),
                None => sources.push(None),
            }
        }
        if let Some(problem) = problems.into_iter().next() {
            complain(record, "source", problem, self.sink);
        }
        sources
    }

    /// The interface on the route to each of `n` receivers, where it may be changed.
    fn interfaces(&mut self, record: &Decoded, n: usize) -> Vec<Option<String>> {
        let names = self.texts_each(record, "adjust", n);
        let wrong = |name: &&String| {
            name.len() > INTERFACE_MAX
                || name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '/' || c == ':')
                || matches!(name.as_str(), "." | "..")
        };
        if let Some(name) = names.iter().flatten().find(wrong) {
            let problem =
                format!("`{}` is not the name of an interface, such as `eth1`", clip(name));
            complain(record, "adjust", problem, self.sink);
        } else if let Some(lo) = names.iter().flatten().find(|name| *name == "lo") {
            let problem = format!("`{lo}` is loopback, which must not be changed");
            complain(record, "adjust", problem, self.sink);
        }
        names
    }

    /// The text under a key for each of `n` receivers: one for all, or as many as there are.
    pub(super) fn texts_each(
        &mut self,
        record: &Decoded,
        key: &str,
        n: usize,
    ) -> Vec<Option<String>> {
        let Some(text) = record.text(key) else { return vec![None; n] };
        let dealt = names::expand_path(&text.value).and_then(|all| deal(&all, false, n));
        match dealt {
            Ok(all) => all.into_iter().map(Some).collect(),
            Err(problem) => {
                complain(record, key, problem, self.sink);
                vec![None; n]
            }
        }
    }

    /// Gives every VM of one definition its nics, and enters their hops.
    pub(super) fn nics(&mut self, vm: &Decoded, vms: &mut [Vm]) {
        // Wrong nics have been reported.
        let wrong = vm.slot("nics").is_some_and(|slot| slot.value.is_none());
        if !wrong && vm.records("nics").is_empty() {
            self.directory.without_nics.extend(vms.iter().map(|vm| vm.name.clone()));
        }
        if let Some(surplus) = vm.records("nics").get(NICS_MAX) {
            let message = format!("nics: a VM has at most {NICS_MAX}");
            self.sink.push(|| Mistake::new(surplus.at, message));
        }
        for nic in vm.records("nics").into_iter().take(NICS_MAX) {
            if !self.directory.afford(vms.len(), nic.at, self.sink) {
                return;
            }
            let receivers = self.dealt(nic, "receiver", &[NameKind::Receiver], vms.len());
            let hosts: Vec<Option<String>> = vms.iter().map(|vm| vm.host.clone()).collect();
            if nic.has("adapter") && hosts.iter().any(Option::is_none) {
                complain(nic, "adapter", "the VM has no `host`, so there is no adapter", self.sink);
            }
            let adapters = self.adapters_of(nic, "adapter", &hosts);
            let mut twice = None;
            for ((vm, receiver), adapter) in vms.iter_mut().zip(receivers).zip(adapters) {
                let Some(receiver) = receiver else { continue };
                if vm.nics.iter().any(|nic| nic.receiver == receiver) {
                    twice.get_or_insert((vm.name.clone(), receiver));
                    continue;
                }
                let hop = format!("{}.{receiver}", vm.name);
                self.directory.declare(hop, NameKind::NetHop, place(nic, "receiver"), self.sink);
                vm.nics.push(VmNic { receiver, adapter });
            }
            if let Some((vm, receiver)) = twice {
                let problem = format!("`{vm}` already has a nic to `{receiver}`");
                complain(nic, "receiver", problem, self.sink);
            }
        }
    }
}

fn family(word: &str) -> AddressFamily {
    if word == "ipv6" { AddressFamily::Ipv6 } else { AddressFamily::Ipv4 }
}

fn family_of(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Ipv4 } else { AddressFamily::Ipv6 }
}

/// The address family of a receiver, where it is known.
fn far_family(
    place: Option<&ReceiverPlace>,
    family: Option<AddressFamily>,
) -> Option<AddressFamily> {
    let literal = match place? {
        ReceiverPlace::At { host, .. } => host.parse().ok().map(family_of),
        ReceiverPlace::Embedded | ReceiverPlace::Modelled => None,
    };
    literal.or(family)
}

fn token(record: &Decoded) -> Option<TokenFrom> {
    let file = record.text("token_file").map(|at| TokenFrom::File(at.value));
    file.or_else(|| record.text("token_env").map(|at| TokenFrom::Env(at.value)))
}

fn needs_token(record: &Decoded, far: &ReceiverPlace) -> Mistake {
    let message = format!("{far} is not a loopback address, so the receiver requires a token");
    Mistake::new(place(record, "address"), message)
        .class(Class::Absence)
        .help("add `token_file = \"…\"` or `token_env = \"…\"`; a scenario never contains the token itself")
}

/// A problem, and help.
type ReceiverProblem = (String, Option<String>);

/// A name or an address with an optional port; an IPv6 address that has one is in brackets.
fn place_of(text: &str, family: Option<AddressFamily>) -> Result<ReceiverPlace, ReceiverProblem> {
    let text = text.trim();
    let example =
        || Some("write a name or an address, as in `192.0.2.2` or `far.example:6000`".to_owned());
    let (host, port) = split(text).map_err(|problem| (problem, example()))?;
    let address: Option<IpAddr> = host.parse().ok();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if address.is_none() && (host.is_empty() || host.len() > HOST_MAX || !host.chars().all(plain)) {
        return Err((format!("`{}` is neither a name nor an address", clip(text)), example()));
    }
    if address.is_none() && host.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err((format!("`{}` is not an IPv4 address", clip(host)), None));
    }
    if let (Some(address), Some(family)) = (address, family)
        && family_of(address) != family
    {
        let problem = format!("`{address}` is not of the family `{}`", family.word());
        return Err((problem, Some("remove `family`: the address determines it".to_owned())));
    }
    if address.is_some_and(|address| address.is_unspecified() || address.is_multicast()) {
        return Err((format!("`{host}` is not the address of one machine"), None));
    }
    Ok(ReceiverPlace::At { host: host.to_owned(), port })
}

/// Host and port.
fn split(text: &str) -> Result<(&str, u16), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let Some((host, after)) = rest.split_once(']') else {
            return Err(format!("`{}` has a `[` without `]`", clip(text)));
        };
        if host.parse::<Ipv6Addr>().is_err() {
            return Err(format!("`{}` is not an IPv6 address", clip(host)));
        }
        return match after.strip_prefix(':') {
            Some(digits) => Ok((host, port(digits)?)),
            None if after.is_empty() => Ok((host, Receiver::PORT)),
            None => Err(format!("after `]` there is `{}`, not `:PORT`", clip(after))),
        };
    }
    // An IPv6 address without brackets has no port.
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok((text, Receiver::PORT));
    }
    match text.split_once(':') {
        Some((host, digits)) => Ok((host, port(digits)?)),
        None => Ok((text, Receiver::PORT)),
    }
}

fn port(digits: &str) -> Result<u16, String> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let port = digits.parse::<u16>().ok().filter(|port| plain && *port > 0);
    port.ok_or_else(|| format!("`{}` is not a port number", clip(digits)))
}

/// Reports receivers whose interface has no room for the ports that a load's streams leave from.
pub(super) fn ports_fit(receiver: &Receiver, streams: u32, at: At<()>, sink: &mut Sink) {
    let Some(first) = receiver.source_port else { return };
    if u32::from(first) + streams > 65_536 {
        sink.push(|| {
            let name = &receiver.name;
            Mistake::new(
                at.at,
                format!(
                    "{streams} streams to `{name}` use ports from {first} on, and there are not enough ports"
                ),
            )
            .help("lower `source_port`, or remove it")
        });
    }
}
