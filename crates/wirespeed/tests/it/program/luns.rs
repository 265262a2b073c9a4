//! LUNs from the command line: listed, loaded, verified, refused.

use crate::program::support::*;
use san::server::{PortalConfig, TargetServer, TargetSettings};
use san::volume::Volume;

const NAME: &str = "iqn.2026-11.example:luns";

/// A target with one volume in memory, and the URL of its portal.
fn target() -> (TargetServer, String) {
    let spec = "ram:8MiB".parse().expect("a volume");
    let volume = Volume::open(&spec, "serial-a").expect("room");
    let portal = PortalConfig::new("127.0.0.1:0".parse().expect("an address"));
    let config = TargetSettings::new(NAME, vec![portal], vec![volume]);
    let target = TargetServer::start(config).expect("it starts");
    let url = format!("iscsi://{}", target.addresses()[0]);
    (target, url)
}

#[test]
fn a_portal_is_listed_for_people_and_for_programs() {
    let (target, portal) = target();
    let bench = Bench::new("");
    let text = bench.expect(0, &["target", "ls", &portal]).stdout;
    assert!(text.starts_with(NAME) && text.contains("serial serial-a"), "{text}");
    let json = bench.expect(0, &["target", "ls", &portal, "--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let lun = &json["targets"][0]["luns"][0];
    assert_eq!(lun["url"], format!("{portal}/{NAME}/0"));
    assert_eq!((&lun["size"], &lun["block"]), (&(8 << 20).into(), &512.into()));
    bench.expect(2, &["target", "ls", "http://host"]);
    target.stop().expect("it stops");
    let gone = bench.expect(3, &["target", "ls", &portal]).stderr;
    assert!(gone.contains("is a target listening there?"), "{gone}");
}

#[test]
fn a_lun_is_verified_with_its_token_and_refused_without() {
    let (target, portal) = target();
    let bench = Bench::new("");
    let url = format!("{portal}/{NAME}/0");
    let load = ["disk", &url, "--read", "50", "--verify", "--time", "500ms", "--warmup", "0s"];
    let refused = bench.expect(4, &load).stderr;
    assert!(refused.contains("on which nothing was found"), "{refused}");
    let plan = bench.run(&["disk", &url, "--read", "50", "--plan"]).stdout;
    let token = plan.split("--write-token ").nth(1).and_then(|rest| rest.split('`').next());
    let token = token.unwrap_or_else(|| panic!("{plan}"));
    let granted = [&load[..], &["--write-token", token, "--out", "r.wsr"]].concat();
    let review = bench.expect(0, &granted).stdout;
    assert!(review.contains("reserved for this process"), "{review}");
    for agent in ["child", "in-process"] {
        let again = [&load[..], &["--write-token", token, "--agent", agent]].concat();
        bench.expect(0, &again);
    }
    target.stop().expect("it stops");
}

#[test]
fn a_secret_in_a_url_is_refused_and_not_repeated() {
    let bench = Bench::new("");
    let url = "iscsi://me%hushhush@127.0.0.1:1/iqn.2026-11.example:luns/0";
    let told = bench.expect(2, &["disk", url, "--time", "1s"]);
    assert!(told.stderr.contains("WIRESPEED_CHAP_SECRET"), "{}", told.stderr);
    assert!(!(told.stdout + &told.stderr).contains("hushhush"));
}
