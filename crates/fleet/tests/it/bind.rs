//! Which agents get which VMs: against every way there is, tried one by one.

use engine::{Fill, RunSecret};
use fleet::arrays::{ArrayAccess, ArraySpec, ArrayVolume, PortSpec, Portals};
use fleet::{Assignment, Candidate, bind};
use scenario::{AgentChoice, Scenario, Source, Stage};
use std::collections::{BTreeMap, BTreeSet};

fn candidate(name: &str, site: &str) -> Candidate {
    let known = BTreeMap::from([("site".to_owned(), site.to_owned())]);
    Candidate { name: name.to_owned(), known, problem: None }
}

fn scenario(lab: &str, vms: &str) -> Scenario {
    with_reads(lab, vms, 100)
}

/// The same with so many reads in a hundred operations.
fn with_reads(lab: &str, vms: &str, reads: u32) -> Scenario {
    let text = format!(
        "[scenario]\ntitle = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n{lab}\
         [workload.w]\nblock = \"4KiB\"\nread = {reads}\n[plan]\nworkload = \"w\"\non = [{vms}]\nmeasure = \"1s\"\n"
    );
    let source = Source { name: "t.toml".to_owned(), text, ..Source::default() };
    scenario::load(&source).unwrap_or_else(|d| panic!("{d}"))
}

/// VMs on a target of all, each with a choice or without.
fn lab(choices: &[Option<&str>]) -> Scenario {
    let vms: Vec<String> = (1..=choices.len()).map(|n| format!("vm{n}")).collect();
    let text = vms.iter().zip(choices).map(|(vm, choice)| {
        let agents = choice.map(|text| format!("agents = \"{text}\"\n")).unwrap_or_default();
        format!("[[vm]]\nname = \"{vm}\"\n{agents}disks = [{{ target = \"n\" }}]\n")
    });
    scenario(&text.collect::<String>(), "\"vm*\"")
}

fn stages(scenario: &Scenario) -> Vec<Stage> {
    scenario.stages()
}

/// Whether there is any way to give each VM an agent of its own that it takes, by trying all.
fn possible(vms: &[AgentChoice], agents: &[Candidate], taken: &mut BTreeSet<usize>) -> bool {
    let Some((vm, rest)) = vms.split_first() else { return true };
    (0..agents.len()).any(|n| {
        let takes = vm.takes(&agents[n].name, &|key| agents[n].known.get(key).cloned());
        if !takes || agents[n].problem.is_some() || !taken.insert(n) {
            return false;
        }
        let found = possible(rest, agents, taken);
        taken.remove(&n);
        found
    })
}

#[test]
fn each_vm_has_an_agent_of_its_own_wherever_that_is_possible() {
    let choices = ["site=a", "site=b", "*", "a*", "site!=a", "x1 || b1"];
    let all =
        [candidate("a1", "a"), candidate("a2", "b"), candidate("b1", "b"), candidate("x1", "a")];
    let (mut bound_times, mut refused_times) = (0, 0);
    for picked in 0..choices.len().pow(3) {
        let of = |n: u32| choices[picked / choices.len().pow(n) % choices.len()];
        let wanted = [of(0), of(1), of(2)];
        let scenario = lab(&wanted.map(Some));
        for there in 0..16_usize {
            let agents: Vec<Candidate> =
                (0..4).filter(|n| there >> n & 1 == 1).map(|n| all[n].clone()).collect();
            let parsed: Vec<AgentChoice> =
                wanted.iter().map(|text| AgentChoice::parse(text, "vm").expect(text)).collect();
            let expected = possible(&parsed, &agents, &mut BTreeSet::new());
            match bind(&scenario, &stages(&scenario), &agents) {
                Ok(bound) => {
                    assert!(expected, "{wanted:?} on {there:b}");
                    bound_times += 1;
                    let carriers: BTreeSet<usize> =
                        bound.binding.agents.values().copied().collect();
                    assert_eq!(carriers.len(), 3);
                    for (n, choice) in parsed.iter().enumerate() {
                        let place = bound.binding.agents[&format!("vm{}", n + 1)];
                        let agent = &agents[bound.used[place]];
                        assert!(choice.takes(&agent.name, &|key| agent.known.get(key).cloned()));
                    }
                }
                Err(missing) => {
                    assert!(!expected, "{wanted:?} on {there:b}: {missing:?}");
                    assert!(missing.iter().all(|text| text.contains("needs an agent with")));
                    refused_times += 1;
                }
            }
        }
    }
    assert!(bound_times > 100 && refused_times > 100, "{bound_times}, {refused_times}");
}

#[test]
fn a_count_deals_vms_in_turns_and_a_host_keeps_its_own_together() {
    let text = "[[host]]\nname = \"h\"\nagents = \"site=b\"\n\
                [[vm]]\nname = \"w{1..5}\"\nagents = \"2 of site=a\"\ndisks = [{ target = \"n\" }]\n\
                [[vm]]\nname = \"v{1..3}\"\nhost = \"h\"\ndisks = [{ target = \"n\" }]\n\
                [[vm]]\nname = \"u{1..2}\"\ndisks = [{ target = \"n\" }]\n";
    let scenario = scenario(text, "\"w*\", \"v*\", \"u*\"");
    let agents =
        [candidate("a1", "a"), candidate("a2", "a"), candidate("b1", "b"), candidate("c1", "c")];
    let bound = bind(&scenario, &stages(&scenario), &agents).expect("it fits");
    let of = |vm: &str| agents[bound.used[bound.binding.agents[vm]]].name.as_str();
    assert_eq!(["w1", "w2", "w3", "w4", "w5"].map(of), ["a1", "a2", "a1", "a2", "a1"]);
    assert_eq!(["v1", "v2", "v3"].map(of), ["b1"; 3]);
    assert_eq!(["u1", "u2"].map(of), ["c1"; 2]);
    // Without one of them it says who would have fitted, and why not.
    let mut few = agents.to_vec();
    few[1].problem = Some("is engaged in `x`".to_owned());
    let missing = bind(&scenario, &stages(&scenario), &few).expect_err("one is missing");
    let words = [
        "`w2`, `w4` needs an agent with `2 of site=a`",
        "`a1` carries `w1`",
        "`a2` is engaged in `x`",
    ];
    assert!(words.iter().all(|word| missing[0].contains(word)), "{missing:?}");
}

/// Two VMs with agents of their own, and their disks on volumes of an array, of which there are two.
fn on_array(array: &str, luns: [&str; 2], reads: u32) -> Scenario {
    let vms: String = ["vm1", "vm2"]
        .iter()
        .zip(luns)
        .map(|(vm, lun)| {
            let disks = format!("disks = [{{ lun = \"ssd/{lun}\" }}]");
            format!("[[vm]]\nname = \"{vm}\"\nagents = \"*\"\n{disks}\n")
        })
        .collect();
    let text = format!(
        "[[array]]\nname = \"ssd\"\n{array}\n\
         [[volume]]\nname = \"v{{1..2}}\"\narray = \"ssd\"\nsize = \"1MiB\"\n{vms}"
    );
    with_reads(&text, "\"vm*\"", reads)
}

const EMBEDDED: &str = "embedded = { ports = [{ name = \"p1\" }] }";

#[test]
fn a_volume_of_an_embedded_array_is_written_by_one_agent() {
    let agents = [candidate("a1", "a"), candidate("a2", "a")];
    let bound = |scenario: &Scenario| bind(scenario, &stages(scenario), &agents);
    assert!(bound(&on_array(EMBEDDED, ["v1", "v2"], 50)).is_ok());
    assert!(bound(&on_array(EMBEDDED, ["v1", "v1"], 100)).is_ok());
    let missing = bound(&on_array(EMBEDDED, ["v1", "v1"], 50)).expect_err("two would write it");
    assert!(missing[0].contains("`ssd/v1` is one LUN"), "{missing:?}");
}

#[test]
fn one_agent_fills_what_several_read_and_none_looks_at_it_meanwhile() {
    let scenario = on_array(EMBEDDED, ["v1", "v1"], 100);
    let agents = [candidate("a1", "a"), candidate("a2", "a")];
    let Ok(bound) = bind(&scenario, &stages(&scenario), &agents) else { panic!("it fits") };
    let steps: Vec<scenario::Step> = scenario.steps();
    let names = ["a1".to_owned(), "a2".to_owned()];
    let mut assignment =
        Assignment::bound(&scenario, &steps, 1, &names, &bound.binding).expect("it fits");
    let volume = |name: &str| ArrayVolume {
        name: name.to_owned(),
        size: 1 << 20,
        block: 512,
        thin: false,
        serial: format!("S-{name}"),
    };
    let access =
        ArrayAccess { address: [192, 0, 2, 1].into(), secret: RunSecret::new("it is secret") };
    let spec = ArraySpec {
        name: "ssd".to_owned(),
        threads: 0,
        scale: "100%".to_owned(),
        ports: vec![PortSpec { name: "p1".to_owned(), speed: None }],
        volumes: vec![volume("v1"), volume("v2")],
        library: None,
        limits: Vec::new(),
        access: Some(access),
    };
    let portals = Portals {
        array: "ssd".to_owned(),
        target: "iqn.x".to_owned(),
        addresses: vec![([192, 0, 2, 1], 7).into()],
    };
    assignment.stand(vec![spec], vec![portals]).expect("it stands");
    let assigned = assignment.step(&steps[0]).expect("a step");
    let of = |agent: usize| &assigned.specs[agent].as_ref().expect("a load").targets[0];
    for (agent, made_as, fill) in [(0, Some("S-v1"), Fill::Auto), (1, None, Fill::Elsewhere)] {
        let target = of(agent);
        assert_eq!((target.made_as.as_deref(), target.fill), (made_as, fill));
        assert_eq!(target.url, "iscsi://wirespeed@192.0.2.1:7/iqn.x/0");
        assert_eq!(target.secret.as_ref().map(RunSecret::reveal), Some("it is secret"));
        assert!(!format!("{target:?}").contains("it is secret"));
    }
}

#[test]
fn what_one_machine_alone_carries_is_named() {
    for (file, words) in [("emulated-lab1", "is emulated"), ("backup", "is a tape library")] {
        let path = format!("{}/../../scenarios/{file}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("a scenario");
        let source = Source { name: path, text, ..Source::default() };
        let scenario = scenario::load(&source).unwrap_or_else(|d| panic!("{d}"));
        let missing = bind(&scenario, &stages(&scenario), &[candidate("a1", "a")])
            .expect_err("what stands on the coordinator's machine");
        let named = |text: &String| text.contains("embedded array `") && text.contains(words);
        assert!(missing.iter().any(named), "{missing:?}");
    }
}
