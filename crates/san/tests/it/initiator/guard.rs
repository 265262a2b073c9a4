//! The write guard at LUNs: what is protected, reserved or unnamed is not written, and a claim keeps others away.

use crate::initiator::peer::*;
use crate::prelude::*;

/// Why a load that writes is refused.
#[track_caller]
fn refused(target: TargetSpec, why: &str) {
    let step = step(vec![target], 1, &mixed(4096, 50.0, 4), Ns::millis(50));
    match run(&step) {
        Err(EngineError::Refused(told)) => assert!(told.contains(why), "{told}"),
        other => panic!("{other:?}"),
    }
}

/// A file that is served read-only, and how to say so.
fn read_only(size: u64) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().expect("room");
    file.as_file().set_len(size).expect("room");
    let spec = format!("file:{},ro", file.path().display());
    (file, spec)
}

#[test]
fn a_lun_is_written_only_with_its_own_token() {
    let (_file, read_only) = read_only(4 * MIB);
    let target = ours(&["ram:4MiB", "ram:4MiB", &read_only]);
    refused(TargetSpec::new("lun", url(&target, 0)), "LUN 0 of iqn.2026-11.example.wirespeed");
    let others = granted(&url(&target, 1)).write_token;
    refused(TargetSpec { write_token: others, ..TargetSpec::new("lun", url(&target, 0)) }, "stale");
    refused(granted(&url(&target, 2)), "it is write protected");
    target.stop().expect("it stops");
}

#[test]
fn a_claim_keeps_others_away_and_is_given_back() {
    let target = ours(&["ram:4MiB"]);
    let lun = granted(&url(&target, 0));
    let step = step(vec![lun.clone()], 1, &mixed(4096, 50.0, 4), Ns::millis(50));
    let mut engine = DiskEngine::new(Pinning::Never).with(schemes());
    sound(run_on(&mut engine, &step), "the first");
    let reserved = std::process::Command::new("iscsi-inq").arg("--help").output().is_ok();
    assert_eq!(
        schemes().inspect(&lun, true).fate,
        Ok(disk::Use::Write),
        "a process knows its own key"
    );
    drop(engine);
    sound(run(&step), "after the claim was given back");
    if !reserved {
        println!("skipped: no other initiator is installed (package libiscsi-bin)");
    }
    target.stop().expect("it stops");
}

#[test]
fn what_there_is_is_listed() {
    let (_file, read_only) = read_only(8 * MIB);
    let target = ours(&["ram:4MiB,block=4096", &read_only]);
    let found = discover(&format!("iscsi://{}", target.addresses()[0])).expect("it answers");
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(one.portals.len(), 1);
    let luns = one.luns.as_ref().expect("they are listed");
    let facts: Vec<_> = luns.iter().map(|lun| lun.facts.as_ref().expect("readable")).collect();
    assert_eq!(facts.iter().map(|f| f.size()).collect::<Vec<_>>(), [4 * MIB, 8 * MIB]);
    assert_eq!(
        facts.iter().map(|f| (f.block, f.read_only)).collect::<Vec<_>>(),
        [(4096, false), (512, true)]
    );
    assert_eq!(facts[0].serial.as_deref(), Some("serial-0"));
    assert!(facts[0].designator.as_ref().is_some_and(|d| d.starts_with("naa.")));
    assert_eq!(luns[1].url, url(&target, 1));
    target.stop().expect("it stops");
    assert!(
        discover("iscsi://127.0.0.1:1")
            .is_err_and(|e| e.to_string().contains("is a target listening"))
    );
}

/// A volume of this serial number that was made for the run, as its orders say.
fn said_to_be_made(target: &TargetServer, user: &str) -> TargetSpec {
    let url = url(target, 0).replace("iscsi://", &format!("iscsi://{user}"));
    TargetSpec { made_as: Some("serial-0".to_owned()), ..TargetSpec::new("lun", url) }
}

#[test]
fn only_what_says_itself_that_it_was_made_for_a_run_is_written_without_a_token() {
    // Whoever orders a load knows the serial number of somebody's volume; that alone opens nothing.
    let others = ours(&["ram:4MiB"]);
    refused(said_to_be_made(&others, ""), "does not say that it was made for a run");
    others.stop().expect("it stops");
    let own = ours_with(&["ram:4MiB"], |config| TargetSettings { for_a_run: true, ..config });
    let step = step(vec![said_to_be_made(&own, "")], 1, &mixed(4096, 50.0, 4), Ns::millis(50));
    sound(run(&step), "a volume of the run");
    own.stop().expect("it stops");
}

#[test]
fn a_secret_of_the_run_logs_in_every_session_of_a_worker() {
    let auth = || {
        let secret = Secret::new(b"it is drawn for the run").expect("a secret");
        Auth::Chap { users: vec![Credentials { name: "me".to_owned(), secret }], target: None }
    };
    let target = ours_with(&["ram:4MiB"], |config| TargetSettings {
        for_a_run: true,
        auth: auth(),
        ..config
    });
    let with = |secret: Option<&str>| {
        let secret = secret.map(engine::RunSecret::new);
        let target = TargetSpec { secret, ..said_to_be_made(&target, "me@") };
        run(&step(vec![target], 1, &mixed(4096, 50.0, 4), Ns::millis(50)))
    };
    sound(with(Some("it is drawn for the run")), "who knows the secret");
    for secret in [None, Some("it is drawn for another")] {
        let Err(why) = with(secret) else { panic!("{secret:?}: logged in") };
        let why = why.to_string();
        assert!(!why.contains("drawn"), "{why}");
    }
    target.stop().expect("it stops");
}
