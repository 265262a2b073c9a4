//! A configurable login policy, scripts for either end, and a conversation of both.

use iscsi::chap::{Challenge, Credentials, Secret};
use iscsi::login::{
    Admission, Admitted, Auth, Initiator, InitiatorAuth, InitiatorConfig, InitiatorStep, IscsiName,
    Login, LoginAccess, LoginError, LoginPolicy, TargetConfig, TargetLogin, TargetStep,
};
use iscsi::params::DesiredParams;
use iscsi::pdu::{Isid, LoginRequest, LoginResponse, LoginStatus, Request, Response, Stage};
use iscsi::text;

pub const INITIATOR: &str = "iqn.1999-07.com.os:hostid.77";
pub const TARGET: &str = "iqn.1999-07.com.example:diskarray.sn.88";
pub const TSIH: u16 = 0x1234;
pub const TARGETS_CHALLENGE: Challenge = Challenge { id: 0x27, bytes: [0xa5; 32] };
pub const INITIATORS_CHALLENGE: Challenge = Challenge { id: 0xf0, bytes: [0x5a; 32] };

pub fn name(name: &str) -> IscsiName {
    name.parse().expect("a name")
}

pub fn secret(secret: &str) -> Secret {
    Secret::new(secret.as_bytes()).expect("a secret")
}

pub fn user(name: &str, word: &str) -> Credentials {
    Credentials { name: name.to_owned(), secret: secret(word) }
}

/// Two users, and a target with a secret of its own.
pub fn chap() -> Auth {
    Auth::Chap {
        users: vec![user("bob", "the secret of bob"), user("eve", "the secret of eve")],
        target: Some(user("disk", "the secret of the disk")),
    }
}

/// The access to grant, and the requests seen.
pub struct Door {
    pub access: Result<LoginAccess, LoginStatus>,
    pub asked: Vec<(String, Option<String>)>,
}

impl Door {
    pub fn new(auth: Auth) -> Door {
        Door { access: Ok(LoginAccess { portal_group: 3, alias: None, auth }), asked: Vec::new() }
    }
}

impl LoginPolicy for Door {
    fn access(
        &mut self,
        initiator: &IscsiName,
        target: Option<&IscsiName>,
    ) -> Result<LoginAccess, LoginStatus> {
        self.asked.push((initiator.to_string(), target.map(ToString::to_string)));
        self.access.clone()
    }
}

pub fn target(wishes: DesiredParams) -> TargetLogin {
    TargetLogin::new(TargetConfig { wishes, window: 128 }, TARGETS_CHALLENGE)
}

pub fn config(auth: InitiatorAuth) -> InitiatorConfig {
    InitiatorConfig {
        name: name(INITIATOR),
        alias: None,
        target: Some(name(TARGET)),
        auth,
        wishes: DesiredParams::default(),
        isid: Isid([0x80, 1, 2, 3, 4, 5]),
        tsih: 0,
        cid: 1,
        cmd_sn: 100,
    }
}

/// Text of pairs, written with spaces between them.
pub fn pairs(pairs: &str) -> Vec<u8> {
    pairs.split_whitespace().flat_map(|pair| pair.bytes().chain([0])).collect()
}

/// The reverse of [`pairs`].
pub fn words(text: &[u8]) -> String {
    let pairs = text::parse(text, 1000).expect("a text");
    pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// A PDU with its text and padding.
pub fn pdu(header: [u8; 48], text: &[u8]) -> Vec<u8> {
    let mut bytes = [&header[..], text].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A request as sent by the initiator of [`config`].
pub fn request(stage: Stage, next: Option<Stage>, text: &[u8]) -> LoginRequest {
    LoginRequest {
        goes_on: false,
        stage,
        next,
        version_max: 0,
        version_min: 0,
        isid: Isid([0x80, 1, 2, 3, 4, 5]),
        tsih: 0,
        task_tag: 9,
        cid: 1,
        cmd_sn: 100,
        exp_stat_sn: 50,
        data_len: text.len() as u32,
    }
}

/// A response of a target that agrees.
pub fn response(stage: Stage, next: Option<Stage>, text: &[u8]) -> LoginResponse {
    LoginResponse {
        goes_on: false,
        stage,
        next,
        version_max: 0,
        version_active: 0,
        isid: Isid([0x80, 1, 2, 3, 4, 5]),
        tsih: if next == Some(Stage::FullFeature) { TSIH } else { 0 },
        task_tag: 0,
        sequence: Default::default(),
        status: LoginStatus::SUCCESS,
        data_len: text.len() as u32,
    }
}

pub fn read_response(bytes: &[u8]) -> (LoginResponse, String) {
    let (bhs, rest) = bytes.split_first_chunk().expect("a header");
    match Response::parse(bhs, &[]) {
        Ok(Response::Login(login)) => (login, words(&rest[..login.data_len as usize])),
        other => panic!("{other:?}"),
    }
}

pub fn read_request(bytes: &[u8]) -> (LoginRequest, String) {
    let (bhs, rest) = bytes.split_first_chunk().expect("a header");
    match Request::parse(bhs, &[]) {
        Ok(Request::Login(login)) => (login, words(&rest[..login.data_len as usize])),
        other => panic!("{other:?}"),
    }
}

/// A target that answers one request after another, and admits every login.
pub struct Script {
    pub target: TargetLogin,
    pub door: Door,
    pub login: Option<Login>,
    pub why: Option<LoginError>,
    pub admission: Option<Admission>,
}

impl Script {
    pub fn new(auth: Auth) -> Script {
        Script::with(auth, DesiredParams::default())
    }

    pub fn with(auth: Auth, wishes: DesiredParams) -> Script {
        Script {
            target: target(wishes),
            door: Door::new(auth),
            login: None,
            why: None,
            admission: None,
        }
    }

    /// Sends one complete PDU, and reads the answer.
    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) -> (LoginResponse, String) {
        let (consumed, step) = self.target.receive(bytes, &mut self.door).expect("a whole PDU");
        let step = match step {
            TargetStep::Admit(admission) => {
                self.admission = Some(*admission);
                self.target.admit(Admitted { tsih: TSIH, window: None })
            }
            step => step,
        };
        let reply = match step {
            TargetStep::Reply(reply) => reply,
            TargetStep::Done { reply, login } => {
                self.login = Some(*login);
                reply
            }
            TargetStep::Failed { reply, why } => {
                self.why = Some(why);
                reply
            }
            TargetStep::Admit(_) => panic!("asked twice"),
        };
        assert!(self.why.is_some() || consumed == bytes.len(), "{consumed} bytes consumed");
        read_response(&reply)
    }

    /// Sends some pairs, and reads the answer.
    #[track_caller]
    pub fn say(
        &mut self,
        stage: Stage,
        next: Option<Stage>,
        text: &str,
    ) -> (LoginResponse, String) {
        let text = pairs(text);
        self.send(&pdu(request(stage, next, &text).encode(), &text))
    }

    /// Sends some pairs, and expects this answer and this transition.
    #[track_caller]
    pub fn expect(
        &mut self,
        (stage, next): (Stage, Option<Stage>),
        text: &str,
        granted: Option<Stage>,
        answer: &str,
    ) {
        let (response, words) = self.say(stage, next, text);
        assert_eq!(response.status, LoginStatus::SUCCESS, "{:?}", self.why);
        assert_eq!((response.stage, response.next), (stage, granted));
        assert_eq!(words, answer);
    }

    /// Sends some pairs, and expects a refusal.
    #[track_caller]
    pub fn refused(
        &mut self,
        stages: (Stage, Option<Stage>),
        text: &str,
        status: LoginStatus,
    ) -> LoginError {
        let (response, words) = self.say(stages.0, stages.1, text);
        assert_eq!((response.status, words.as_str()), (status, ""), "{:?}", self.why);
        assert_eq!(response.next, None);
        assert!(self.target.receive(&[0; 48], &mut self.door).is_none(), "it is over");
        self.why.clone().expect("a reason")
    }
}

/// The results of a conversation at both ends.
pub struct Ended {
    pub initiator: Result<Login, LoginError>,
    pub target: Result<Login, LoginError>,
}

/// Runs both ends until one of them ends the login. Every PDU arrives in three pieces.
#[track_caller]
pub fn converse(initiator: &mut Initiator, target: &mut TargetLogin, door: &mut Door) -> Ended {
    let mut request = initiator.start();
    let mut at_target = Err(LoginError::Stray);
    for _ in 0..40 {
        for part in [0, 47, request.len() - 1] {
            assert_eq!(target.receive(&request[..part], door), None, "{part} bytes");
        }
        let (consumed, step) = target.receive(&request, door).expect("a whole PDU");
        assert_eq!(consumed, request.len());
        let step = match step {
            TargetStep::Admit(admission) => {
                let tsih = if admission.tsih == 0 { TSIH } else { admission.tsih };
                let window = (admission.tsih != 0).then_some((700, 827));
                target.admit(Admitted { tsih, window })
            }
            step => step,
        };
        let reply = match step {
            TargetStep::Reply(reply) => reply,
            TargetStep::Done { reply, login } => {
                at_target = Ok(*login);
                reply
            }
            TargetStep::Failed { reply, why } => {
                at_target = Err(why);
                reply
            }
            TargetStep::Admit(_) => panic!("asked twice"),
        };
        assert_eq!(initiator.receive(&reply[..reply.len() - 1]), Ok(None));
        match initiator.receive(&reply) {
            Ok(Some((consumed, InitiatorStep::Send(next)))) => {
                assert_eq!(consumed, reply.len());
                request = next;
            }
            Ok(Some((_, InitiatorStep::Done(login)))) => {
                return Ended { initiator: Ok(*login), target: at_target };
            }
            Err(error) => return Ended { initiator: Err(error), target: at_target },
            other => panic!("{other:?}"),
        }
    }
    panic!("the conversation does not end");
}
