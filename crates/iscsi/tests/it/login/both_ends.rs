//! Both ends against each other: every authentication method, pair of digests, and session type.

use crate::login::support::{
    Door, Ended, INITIATORS_CHALLENGE, TARGETS_CHALLENGE, TSIH, chap, config, converse, target,
    user,
};
use iscsi::chap::ChapError;
use iscsi::login::{Auth, Initiator, InitiatorAuth, InitiatorConfig, Login, LoginError};
use iscsi::params::{DesiredParams, Digest, Params, SessionType};
use iscsi::pdu::LoginStatus;

fn meet(initiator: InitiatorConfig, auth: Auth, wishes: DesiredParams) -> Ended {
    let mut initiator = Initiator::new(initiator, INITIATORS_CHALLENGE);
    converse(&mut initiator, &mut target(wishes), &mut Door::new(auth))
}

/// Both ends have completed the login with the same result.
#[track_caller]
fn agreed(ended: Ended) -> Login {
    let (at_initiator, at_target) = (ended.initiator.expect("in"), ended.target.expect("in"));
    let (mine, theirs) = (at_initiator.params, at_target.params);
    assert_eq!((mine.max_recv, mine.max_send), (theirs.max_send, theirs.max_recv));
    let Params { max_recv, max_send, .. } = theirs;
    assert_eq!(Params { max_recv, max_send, ..mine }, theirs);
    // In a discovery session the target does not tell its portal group.
    let told = at_target.portal_group.filter(|_| at_target.target.is_some());
    assert_eq!(at_initiator.portal_group, told);
    let Login { params, portal_group, .. } = at_target;
    assert_eq!(Login { params, portal_group, ..at_initiator }, at_target);
    at_target
}

fn bob(word: &str) -> InitiatorAuth {
    InitiatorAuth::Chap { user: user("bob", word), target: None }
}

fn mutual(disk: &str) -> InitiatorAuth {
    let target = Some(user("disk", disk));
    InitiatorAuth::Chap { user: user("bob", "the secret of bob"), target }
}

#[test]
fn every_pair_of_authentication_and_digest() {
    use Digest::{Allowed, Never, Preferred, Required};
    let proofs = [
        (InitiatorAuth::None, Auth::None, None),
        (bob("the secret of bob"), Auth::None, None),
        (bob("the secret of bob"), chap(), Some("bob")),
        (mutual("the secret of the disk"), chap(), Some("bob")),
    ];
    for (initiator, auth, user) in &proofs {
        for header in [Never, Preferred, Required] {
            for data in [Never, Allowed, Required] {
                for normal in [true, false] {
                    let mut config = config(initiator.clone());
                    config.wishes.header_digest = header;
                    config.wishes.data_digest = data;
                    config.target = config.target.filter(|_| normal);
                    let target = config.target.clone();
                    let login = agreed(meet(config, auth.clone(), DesiredParams::default()));
                    assert_eq!(login.params.header_digest, header != Never);
                    assert_eq!(login.params.data_digest, data == Required);
                    assert_eq!((login.user.as_deref(), login.target), (*user, target));
                    let session = if normal { SessionType::Normal } else { SessionType::Discovery };
                    assert_eq!((login.params.session, login.tsih), (session, TSIH));
                    assert_eq!((login.cmd_sn, login.max_cmd_sn), (100, 227));
                }
            }
        }
    }
}

#[test]
fn a_target_with_its_own_settings() {
    let wishes = DesiredParams {
        header_digest: Digest::Required,
        immediate_data: false,
        initial_r2t: true,
        max_burst: 4096,
        first_burst: 1024,
        ..DesiredParams::default()
    };
    let login = agreed(meet(config(InitiatorAuth::None), Auth::None, wishes.clone()));
    assert!(login.params.header_digest && login.params.initial_r2t && !login.params.immediate_data);
    assert_eq!((login.params.max_burst, login.params.first_burst), (4096, 1024));
    // In a discovery session nothing but the digest counts.
    let config = InitiatorConfig { target: None, ..config(InitiatorAuth::None) };
    assert!(agreed(meet(config, Auth::None, wishes)).params.header_digest);
}

#[test]
fn refused_logins() {
    let denied = LoginError::Refused(LoginStatus::AUTHENTICATION_FAILURE);
    let ended = meet(config(bob("the secret of Bob")), chap(), DesiredParams::default());
    assert_eq!(ended.initiator, Err(denied.clone()));
    assert_eq!(ended.target, Err(LoginError::Chap(ChapError::Proof)));

    let ended = meet(config(InitiatorAuth::None), chap(), DesiredParams::default());
    assert_eq!(ended.initiator, Err(denied.clone()));

    // The target is somebody else.
    let ended = meet(config(mutual("another secret")), chap(), DesiredParams::default());
    assert_eq!(ended.initiator, Err(LoginError::Chap(ChapError::Proof)));

    // A target without a secret of its own.
    let Auth::Chap { users, .. } = chap() else { panic!("chap") };
    let auth = Auth::Chap { users, target: None };
    let ended = meet(config(mutual("the secret of the disk")), auth, DesiredParams::default());
    assert_eq!(ended.initiator, Err(denied));

    // Both ends drew the same challenge, which is indistinguishable from a reflected one.
    let mut initiator = Initiator::new(config(mutual("the secret of the disk")), TARGETS_CHALLENGE);
    let ended =
        converse(&mut initiator, &mut target(DesiredParams::default()), &mut Door::new(chap()));
    assert_eq!(ended.initiator, Err(LoginError::Chap(ChapError::Reflected)));

    let mut door = Door::new(Auth::None);
    door.access = Err(LoginStatus::NOT_FOUND);
    let mut initiator = Initiator::new(config(InitiatorAuth::None), INITIATORS_CHALLENGE);
    let ended = converse(&mut initiator, &mut target(DesiredParams::default()), &mut door);
    assert_eq!(ended.initiator, Err(LoginError::Refused(LoginStatus::NOT_FOUND)));
}

#[test]
fn incompatible_digests() {
    for (mine, theirs) in [(Digest::Required, Digest::Never), (Digest::Never, Digest::Required)] {
        let mut config = config(InitiatorAuth::None);
        config.wishes.data_digest = mine;
        let wishes = DesiredParams { data_digest: theirs, ..DesiredParams::default() };
        let ended = meet(config, Auth::None, wishes);
        assert!(ended.initiator.is_err(), "{mine:?} and {theirs:?}");
    }
}

#[test]
fn another_connection_of_a_session() {
    for auth in [Auth::None, chap()] {
        let config = InitiatorConfig {
            tsih: 77,
            cid: 2,
            cmd_sn: 690,
            wishes: DesiredParams {
                header_digest: Digest::Preferred,
                max_recv: 1024,
                ..DesiredParams::default()
            },
            ..config(bob("the secret of bob"))
        };
        let login = agreed(meet(config, auth, DesiredParams::default()));
        assert_eq!((login.tsih, login.cid, login.max_cmd_sn), (77, 2, 827));
        assert!(login.params.header_digest);
        assert_eq!((login.params.max_recv, login.params.max_send), (262_144, 1024));
    }
}
