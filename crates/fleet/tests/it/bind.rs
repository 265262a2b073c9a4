//! Which agents get which VMs: against every way there is, tried one by one.

use fleet::{Candidate, bind};
use scenario::{AgentChoice, Scenario, Source, Stage};
use std::collections::{BTreeMap, BTreeSet};

fn candidate(name: &str, site: &str) -> Candidate {
    let known = BTreeMap::from([("site".to_owned(), site.to_owned())]);
    Candidate { name: name.to_owned(), known, problem: None }
}

fn scenario(lab: &str, vms: &str) -> Scenario {
    let text = format!(
        "[scenario]\ntitle = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n{lab}\
         [workload.w]\nblock = \"4KiB\"\n[plan]\nworkload = \"w\"\non = [{vms}]\nmeasure = \"1s\"\n"
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

#[test]
fn what_one_machine_alone_carries_is_named() {
    let text = "[[array]]\nname = \"ssd\"\nembedded = { ports = [{ name = \"p1\" }] }\n\
                [[volume]]\nname = \"v\"\narray = \"ssd\"\nsize = \"1MiB\"\n\
                [[vm]]\nname = \"vm\"\ndisks = [{ target = \"n\" }]\n";
    let scenario = scenario(text, "\"vm\"");
    let missing =
        bind(&scenario, &stages(&scenario), &[candidate("a1", "a")]).expect_err("an array");
    assert!(missing[0].contains("embedded array `ssd`"), "{missing:?}");
}
