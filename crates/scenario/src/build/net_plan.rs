//! Network loads of plans: their members, what a plan with them may set, and the check that each of its steps is sound.

use super::plan::{Planner, is_searchable};
use super::receiver::ports_fit;
use super::{complain, place};
use crate::datum::Decoded;
use crate::decode::needed;
use crate::diagnostics::{At, Class, Mistake, Span};
use crate::directory::NameKind;
use crate::load::{Load, LoadFamily, NetWorkload, Uses};
use crate::model::{Axis, Lab, Plan, Setting};
use crate::names;
use crate::nearest::join;
use crate::network::{self, Receiver, ReceiverPlace};
use crate::settle::concerns;
use crate::tree::clip;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;
use units::duration;
use workload::{Carriage, NetFrames};

/// Streams of all network loads of a step, at most.
const STREAMS_MAX: u64 = 16_384;
/// How long a network load can be measured, at least and at most.
const MEASURE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(24 * 3600));
/// How long its warm-up and its cool-down can be.
const PHASE_MAX: Duration = Duration::from_secs(3600);
/// The least MTU of a link that carries IPv6 (RFC 8200, section 5).
const MTU_IPV6: u32 = 1280;

/// The receivers that a member of a network load reaches, by the member's name.
pub(super) type ReceiverReach<'a> = BTreeMap<&'a str, Vec<&'a Receiver>>;

/// The reach of every receiver, which is itself, and of every VM with nics.
pub(super) fn reach(lab: &Lab) -> ReceiverReach<'_> {
    let receivers: BTreeMap<&str, &Receiver> =
        lab.receivers.iter().map(|receiver| (receiver.name.as_str(), receiver)).collect();
    let itself = receivers.iter().map(|(name, receiver)| (*name, vec![*receiver]));
    let vms = lab.vms.iter().filter(|vm| !vm.nics.is_empty()).map(|vm| {
        let nics = vm.nics.iter().filter_map(|nic| receivers.get(nic.receiver.as_str()).copied());
        (vm.name.as_str(), nics.collect())
    });
    itself.chain(vms).collect()
}

impl<'a> Planner<'a> {
    /// The members of a load: VMs with targets, or VMs with receivers. Members of the other kind are reported as such.
    pub(super) fn members(&mut self, record: &Decoded, workload: &dyn LoadFamily) -> Vec<String> {
        let uses = workload.uses();
        // A pattern means disks only if its text says so: `esx*` is a host.
        let disks = record.texts("on").iter().any(|text| text.value.contains(".disk"));
        let kinds = workload.members().iter().copied();
        let kinds: Vec<NameKind> = kinds.filter(|kind| disks || *kind != NameKind::Disk).collect();
        let mut texts = record.texts("on");
        texts.retain(|text| !self.of_other_side(text, workload.name(), uses));
        let mut on = self.directory.find_all(&texts, &kinds, self.sink);
        // A pattern means those hosts that have disks of their own; most only carry VMs.
        let named: BTreeSet<String> = texts
            .iter()
            .filter(|text| !text.value.contains('*'))
            .flat_map(|text| names::expand(&text.value).unwrap_or_default())
            .collect();
        on.retain(|name| {
            let bare = self.directory.without_disks.contains(name);
            !bare || named.contains(name) || !self.directory.is(name, NameKind::Host)
        });
        let (without, what) = match uses {
            Uses::Disks => (&self.directory.without_disks, "disks"),
            Uses::Nics => (&self.directory.without_nics, "nics"),
        };
        if let Some(vm) = on.iter().find(|name| without.contains(*name)) {
            let at = place(record, "on");
            let kind = if self.directory.is(vm, NameKind::Host) { "host" } else { "VM" };
            let message = format!("on: the {kind} `{vm}` has no {what}");
            let help = match (uses, self.reach.keys().next()) {
                (Uses::Nics, Some(receiver)) => {
                    format!("give it `nics = [{{ receiver = \"{receiver}\" }}]`")
                }
                (Uses::Nics, None) => "give it `nics`, each with a [[receiver]]".to_owned(),
                (Uses::Disks, _) => self.a_disk(),
            };
            self.sink.push(|| Mistake::new(at, message).help(help));
        }
        on
    }

    /// A disk that a VM could have, of what the lab has.
    fn a_disk(&self) -> String {
        let first = |kind| self.directory.names_of(kind).next();
        let disk = match (first(NameKind::Volume), first(NameKind::Array), first(NameKind::Target))
        {
            (Some(volume), ..) => format!("lun = \"{volume}\""),
            (None, Some(array), _) => format!("lun = \"{array}/auto\""),
            (None, None, Some(target)) => format!("target = \"{target}\""),
            (None, None, None) => "lun = \"ARRAY/VOLUME\"".to_owned(),
        };
        format!("give it `disks = [{{ {disk} }}]`")
    }

    /// Reports a member that only a workload of the other kind could run on.
    fn of_other_side(&mut self, text: &At<String>, workload: &str, uses: Uses) -> bool {
        let other = match uses {
            Uses::Disks => NameKind::Receiver,
            Uses::Nics => NameKind::Target,
        };
        let items = names::expand(&text.value).unwrap_or_default();
        let Some(item) = items.into_iter().find(|item| self.directory.is(item, other)) else {
            return false;
        };
        let (item, workload) = (clip(&item), clip(workload));
        self.sink.push(|| match uses {
            Uses::Disks => Mistake::new(
                text.at,
                format!("`{item}` is a receiver, and `{workload}` is a disk workload"),
            )
            .help("disk workloads run on VMs and targets; receivers take workloads of `kind = \"net\"`"),
            Uses::Nics => Mistake::new(
                text.at,
                format!("`{item}` is a target, and `{workload}` is a network workload"),
            )
            .help("network workloads run on VMs with nics and on receivers"),
        });
        true
    }

    /// The phases of a plan: its own, or else a workload's.
    pub(super) fn phases(&mut self, record: &Decoded, loads: &[Load]) -> [Duration; 3] {
        let preset = loads.iter().find_map(|load| load.workload.family().phases());
        if preset.is_none()
            && !record.means("measure")
            && let Some(field) = record.def.field("measure")
        {
            self.sink.push(|| needed(record, record.def.title, field));
        }
        let time = |key, usual| record.time(key).map_or(usual, |at| at.value);
        let [mut warmup, measure, cooldown] = preset.unwrap_or(super::plan::PHASES);
        if !loads.is_empty() && loads.iter().all(Load::ends) {
            // What a job does counts from its beginning.
            warmup = Duration::ZERO;
        }
        [time("warmup", warmup), time("measure", measure), time("cooldown", cooldown)]
    }

    /// Interface settings of a plan besides its axes.
    pub(super) fn frames(&mut self, record: &Decoded) -> NetFrames {
        NetFrames {
            mtu: super::count_u32(record, "mtu"),
            offload: record.word("offload").map(|at| at.value == "on"),
        }
    }

    /// Reports what a plan with these network loads may not set.
    pub(super) fn check_nets(&mut self, record: &Decoded, plan: &Plan) {
        self.check_keys(record, plan);
        self.check_adjust(record, plan);
        if plan.net_loads().next().is_none() {
            return;
        }
        self.check_phases(record, plan);
        self.check_twice(record, plan);
        self.check_streams(record, plan);
    }

    /// Steadiness and searches apply to disk loads.
    fn check_keys(&mut self, record: &Decoded, plan: &Plan) {
        if record.has("steady") && plan.net_loads().next().is_some() {
            let problem = "the phases of a network load are agreed with its receiver before the step; give `warmup` instead";
            complain(record, "steady", problem, self.sink);
        }
        if is_searchable(plan) {
            return;
        }
        for (key, problem) in [
            (
                "search",
                "only loads of disk workloads can be searched; sweep over `streams` or `message` instead",
            ),
            ("precondition", "it applies to targets of disk workloads, and there are none"),
        ] {
            let none = record.word(key).is_some_and(|at| at.value == "none");
            if record.has(key) && !none {
                complain(record, key, problem, self.sink);
            }
        }
    }

    /// The phases must suit both ends of a test.
    fn check_phases(&mut self, record: &Decoded, plan: &Plan) {
        let (least, most) = MEASURE;
        if record.time("measure").is_some() && !(least..=most).contains(&plan.measure) {
            let (least, most) = (duration(least), duration(most));
            let problem = format!("a network load is measured for {least} to {most}");
            complain(record, "measure", problem, self.sink);
        }
        for (key, time) in [("warmup", plan.warmup), ("cooldown", plan.cooldown)] {
            if time > PHASE_MAX {
                let problem = format!("with a network load it is at most {}", duration(PHASE_MAX));
                complain(record, key, problem, self.sink);
            }
        }
    }

    /// A workload runs on a hop once, since its streams are named after both.
    fn check_twice(&mut self, record: &Decoded, plan: &Plan) {
        let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
        for net in plan.net_loads() {
            let name = &net.workload.name;
            for member in net.on {
                if !seen.insert((name, member)) {
                    let message = format!("`{member}` runs `{name}` in another load already");
                    let at = place(record, "load");
                    self.sink.push(|| {
                        Mistake::new(at, message)
                            .help("increase its `streams`, or define another workload")
                    });
                    return;
                }
            }
        }
    }

    /// MTU and offloads: there must be an interface that may be changed, and it must carry the load.
    fn check_adjust(&mut self, record: &Decoded, plan: &Plan) {
        let axis = |key: &str| plan.sweep.iter().find(|axis| axis.key == key);
        for key in ["mtu", "offload"] {
            let swept = axis(key).and_then(|_| record.record("sweep")?.slot(key)).map(|s| s.key.at);
            let given = record.slot(key).map(|slot| slot.key.at);
            if let (Some(_), Some(at)) = (given, swept) {
                let message = format!("the plan already sets `{key}`");
                self.sink.push(|| Mistake::new(at, message));
            }
            let Some(at) = given.or(swept) else { continue };
            if !self.adjusts(plan) && !self.is_modelled(plan) {
                self.sink.push(|| no_interface(key, plan, at));
            }
        }
        let least = |axis: Option<&Axis>| {
            let mtu = |value: &Setting| match value {
                Setting::Mtu(mtu) => Some(*mtu),
                _ => None,
            };
            axis.into_iter().flat_map(|axis| &axis.values).filter_map(mtu).min()
        };
        let least = least(axis("mtu")).into_iter().chain(plan.frames.mtu).min();
        if let Some(mtu) = least.filter(|mtu| *mtu < MTU_IPV6)
            && let Some(six) = self.adjusted_over_ipv6(plan)
        {
            let at = match (record.slot("mtu"), record.record("sweep").and_then(|s| s.slot("mtu")))
            {
                (Some(slot), _) | (None, Some(slot)) => slot.key.at,
                (None, None) => record.at,
            };
            let message = format!(
                "mtu: `{}` is reached over IPv6, which needs at least {MTU_IPV6}, not {mtu}",
                six.name
            );
            self.sink.push(|| Mistake::new(at, message));
        }
    }

    fn adjusted_over_ipv6(&self, plan: &Plan) -> Option<&'a Receiver> {
        self.receivers(plan).find(|receiver| receiver.adjust.is_some() && is_ipv6(receiver))
    }

    /// Whether frames are those of a lab that is not present, whose disks are reached over them.
    fn is_modelled(&self, plan: &Plan) -> bool {
        let has_adapters = self.lab.hosts.iter().any(|host| !host.adapters.is_empty());
        let at_hand = self.lab.arrays.iter().any(|array| array.embedded.is_some());
        plan.net_loads().next().is_none() && has_adapters && !at_hand
    }

    fn adjusts(&self, plan: &Plan) -> bool {
        // At a host of the lab they are part of the model.
        self.receivers(plan).any(|receiver| receiver.adjust.is_some() || receiver.site.is_some())
    }

    /// The far ends of a plan's network loads, as often as they are reached.
    fn receivers<'p>(&'p self, plan: &'p Plan) -> impl Iterator<Item = &'a Receiver> + 'p {
        let members = plan.net_loads().flat_map(|net| net.on);
        members.filter_map(|member| self.reach.get(member.as_str())).flatten().copied()
    }

    /// How many streams the largest step has, and whether they have ports to leave from.
    fn check_streams(&mut self, record: &Decoded, plan: &Plan) {
        let at = place(record, if record.has("load") { "load" } else { "on" });
        let mut total: u64 = 0;
        let mut by_source: BTreeMap<&str, (&Receiver, u32, u32)> = BTreeMap::new();
        for net in plan.net_loads() {
            let workload = net.workload;
            let streams = most_streams(workload, plan);
            let hops = net.on.iter().filter_map(|member| self.reach.get(member.as_str())).flatten();
            for receiver in hops {
                total = total.saturating_add(streams.into());
                if receiver.source_port.is_some() {
                    let entry = by_source.entry(&receiver.name).or_insert((receiver, 0, 0));
                    entry.1 = entry.1.max(streams);
                    entry.2 += 1;
                    if matches!(workload.network.carriage, Carriage::Connects { .. }) {
                        self.sink.push(|| {
                            let message = format!(
                                "`{}` opens many connections, and `{}` sets a single `source_port`",
                                workload.name, receiver.name
                            );
                            Mistake::new(at, message)
                                .help("remove `source_port`: every connection needs its own port")
                        });
                        return;
                    }
                }
            }
        }
        if total > STREAMS_MAX {
            let message = format!("a step has {total} streams, more than {STREAMS_MAX}");
            self.sink.push(|| Mistake::new(at, message));
        }
        for (name, (receiver, streams, hops)) in by_source {
            if hops > 1 {
                let message = format!(
                    "{hops} network loads go to `{name}` at the same time, all from the ports of its `source_port`"
                );
                self.sink.push(|| Mistake::new(at, message).help("remove `source_port`"));
            } else {
                ports_fit(receiver, streams, At::new(at, ()), self.sink);
            }
        }
    }
}

/// Streams of a hop in both directions, in the step of the plan that has most.
fn most_streams(net: &NetWorkload, plan: &Plan) -> u32 {
    let mut streams = vec![net.network.streams];
    let mut headings = vec![net.network.heading];
    let axes = plan.sweep.iter().filter(|axis| concerns(&axis.key, &net.name));
    for value in axes.flat_map(|axis| &axis.values) {
        match value {
            Setting::Streams(n) => streams.push(*n),
            Setting::Direction(heading) => headings.push(*heading),
            _ => {}
        }
    }
    let streams = streams.into_iter().max().unwrap_or(0);
    let most = headings.into_iter().map(|heading| {
        let (up, down) =
            workload::Network { heading, streams, ..workload::Network::plain() }.ways();
        u32::from(up) + u32::from(down)
    });
    most.max().unwrap_or(0)
}

fn is_ipv6(receiver: &Receiver) -> bool {
    let literal = match &receiver.place {
        ReceiverPlace::At { host, .. } => host.parse::<IpAddr>().ok(),
        ReceiverPlace::Embedded | ReceiverPlace::Modelled => None,
    };
    literal
        .map_or(receiver.family == Some(network::AddressFamily::Ipv6), |address| address.is_ipv6())
}

/// There is no interface to set MTU or offloads at.
fn no_interface(key: &str, plan: &Plan, at: Span) -> Mistake {
    let on: Vec<String> =
        plan.net_loads().flat_map(|net| net.on).take(4).map(|name| format!("`{name}`")).collect();
    if on.is_empty() {
        return Mistake::new(
            at,
            format!("{key}: it applies to interfaces of network loads, and the plan has none"),
        );
    }
    let message = format!(
        "{key}: no receiver that {} reaches permits changes to an interface",
        join(&on, "or")
    );
    Mistake::new(at, message)
        .class(Class::Absence)
        .help("add `adjust = \"eth1\"` to the [[receiver]]: this permits changes to that interface of this machine; \
               in a simulated lab, `host` is enough")
}
