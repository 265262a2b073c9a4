//! What the host of an agent counts: its own sources travel to the record as hops of the scenario's host.

use super::servers::NatsServer;
use super::{agents, check_record};
use crate::prelude::*;
use crate::program::support::{Bench, open};

/// An interface of this machine that is not loopback.
fn interface() -> Option<String> {
    let all = fs::read_dir("/sys/class/net").ok()?.flatten();
    let names = all.filter_map(|one| one.file_name().into_string().ok());
    let mut links =
        names.filter(|name| Path::new(&format!("/sys/class/net/{name}/device")).exists());
    links.find(|name| name != "lo")
}

/// Two VMs on a host that one agent stands for, one VM each on two agents of a host that none stands for, and an array that
/// no agent stands for.
fn scenario(port: &str) -> String {
    format!(
        "[scenario]\ntitle = \"counted\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
         [[host]]\nname = \"esx\"\nagents = \"a1\"\ncounters = \"local\"\n\
         adapters = [{{ name = \"nic\", part = \"qle3142\" }}]\n\
         identities = [{{ hop = \"esx.nic:0\", is = \"{port}\" }}]\n\
         [[host]]\nname = \"other\"\ncounters = \"local\"\n\
         [[array]]\nname = \"ssd\"\ncounters = \"local\"\n\
         [[vm]]\nname = \"vm{{1..2}}\"\nhost = \"esx\"\ndisks = [{{ target = \"n\" }}]\n\
         [[vm]]\nname = \"w{{1..2}}\"\nhost = \"other\"\nagents = \"a2 || a3\"\ndisks = [{{ target = \"n\" }}]\n\
         [workload.w]\nblock = \"4KiB\"\nrate = \"100 IOPS\"\nlimit = 4\n\
         [plan]\nworkload = \"w\"\non = [\"vm*\", \"w*\"]\nwarmup = \"0s\"\nmeasure = \"2s\"\ncooldown = \"1s\"\n"
    )
}

#[test]
fn an_agent_counts_the_host_that_it_stands_for() {
    let Some(server) = NatsServer::start(None) else { return };
    let port = interface();
    let bench = Bench::new(&scenario(port.as_deref().unwrap_or("none")));
    let _agents = agents(&bench, &server, 3);
    let url = server.url();
    bench.expect(0, &["run", "s.toml", "--fleet", &url, "--wait", "3", "--out", "r.wsr"]);
    check_record(&bench.path("r.wsr"), 4, &[]);
    let record = open(&bench.path("r.wsr"));
    let counters = record.counters(Some(0)).expect("readable");
    let counted = |hop: &str| -> BTreeSet<String> {
        let source = record.sources().iter().find(|source| source.name == hop);
        let source = source.unwrap_or_else(|| panic!("{hop}: {:?}", record.sources()));
        assert_eq!(source.agent, "a1");
        let own = counters.iter().filter(|one| one.source == source.id);
        own.map(|one| one.kind.name().to_owned()).collect()
    };
    assert!(counted("esx.cpu").contains("cpu-busy"), "{:?}", counted("esx.cpu"));
    let pressure = Path::new("/proc/pressure/cpu").exists();
    assert_eq!(counted("esx.cpu").contains("pressure-cpu"), pressure);
    if port.is_some() {
        assert!(counted("esx.nic:0").contains("read-bytes"), "{:?}", counted("esx.nic:0"));
    }
    // The other agents are on this machine too.
    let cpus = record.sources().iter().filter(|of| of.hop() == Some(record::HopKind::HostCpu));
    assert_eq!(cpus.map(|of| of.name.as_str()).collect::<Vec<_>>(), ["esx.cpu"]);
    let joined = "run on one machine: a1 counts esx.cpu for all of them";
    let mut events = record.events().iter();
    assert!(events.any(|of| of.code == "counters-joined" && of.text.contains(joined)));
    // What nobody counts is said, and is no hop of another machine.
    assert!(record.sources().iter().all(|source| source.name != "other.cpu"));
    let said = |words: &str| {
        let mut events = record.events().iter();
        events.any(|event| event.code == "counters-lost" && event.text.contains(words))
    };
    assert!(said("the VMs of `other` are on 2 agents"), "{:?}", record.events());
    assert!(said("no agent stands for `ssd`"), "{:?}", record.events());
}
