//! Any bytes, and any texts in sound headers, to either end of a login: it ends within its bounds, every answer can be read,
//! and nobody gets in without the proof that is asked for.
//!
//! `$5` to `$8` in a text stand for the right response by that algorithm, so that what lies behind the proof is reached.

#![no_main]

use iscsi::chap::{Algorithm, Challenge, Credentials, Secret, encode, respond};
use iscsi::login::{
    Admitted, Auth, Initiator, InitiatorAuth, InitiatorConfig, InitiatorStep, IscsiName,
    LoginAccess, LoginPolicy, MAX_EXCHANGES, MAX_LOGIN_PDU, TargetConfig, TargetLogin, TargetStep,
};
use iscsi::params::DesiredParams;
use iscsi::pdu::{BHS_LEN, Isid, LoginStatus, Response};
use iscsi::text::parse;
use libfuzzer_sys::fuzz_target;

const ASKED_BY_TARGET: Challenge = Challenge { id: 1, bytes: [1; 32] };
const ASKED_BY_INITIATOR: Challenge = Challenge { id: 2, bytes: [2; 32] };

fn credentials(name: &str) -> Credentials {
    let secret = Secret::new(format!("the secret of {name}").as_bytes()).expect("a secret");
    Credentials { name: name.to_owned(), secret }
}

/// Lets everybody in whose name is not `iqn.not`, and asks for CHAP, or does not.
struct Door(bool);

impl LoginPolicy for Door {
    fn access(
        &mut self,
        who: &IscsiName,
        _: Option<&IscsiName>,
    ) -> Result<LoginAccess, LoginStatus> {
        if who.as_str() == "iqn.not" {
            return Err(LoginStatus::AUTHORIZATION_FAILURE);
        }
        let auth = match self.0 {
            false => Auth::None,
            true => {
                Auth::Chap { users: vec![credentials("bob")], target: Some(credentials("disk")) }
            }
        };
        Ok(LoginAccess { portal_group: 1, alias: None, auth })
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&bits, rest)) = input.split_first() else { return };
    let (raw, with_chap) = (bits & 1 != 0, bits & 2 != 0);
    let opcode = if bits & 4 == 0 { 0x43 } else { 0x23 };
    let (mut stream, mut proved) = (Vec::new(), false);
    if raw {
        stream.extend(rest);
    } else {
        // No text holds this byte, so it can stand between the steps: flags, and a text.
        for step in rest.split(|&byte| byte == 0xff) {
            let Some((&flags, text)) = step.split_first() else { continue };
            let text = filled_in(text, &mut proved, opcode == 0x43);
            stream.extend(pdu(opcode, flags, &text));
        }
    }
    match opcode {
        0x43 => at_target(&stream, with_chap, proved),
        _ => at_initiator(&stream, with_chap, proved),
    }
});

/// A text with the right responses in it.
fn filled_in(text: &[u8], proved: &mut bool, to_target: bool) -> Vec<u8> {
    let (challenge, who) =
        if to_target { (ASKED_BY_TARGET, "bob") } else { (ASKED_BY_INITIATOR, "disk") };
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let number = after.first().map(|&digit| digit.wrapping_sub(b'0'));
        let named = Algorithm::ALL.into_iter().find(|one| Some(one.number()) == number);
        match named.filter(|_| byte == b'$') {
            None => out.push(byte),
            Some(algorithm) => {
                *proved = true;
                let secret = credentials(who).secret;
                let response = respond(algorithm, challenge.id, &secret, &challenge.bytes);
                out.extend(encode(&response).bytes());
                rest = &after[1..];
            }
        }
    }
    out
}

/// A step of a login with its text: nothing of its header is wrong but, perhaps, the flags.
fn pdu(opcode: u8, flags: u8, text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; BHS_LEN];
    (bytes[0], bytes[1]) = (opcode, flags);
    bytes[4..8].copy_from_slice(&(text.len() as u32 & 0x00ff_ffff).to_be_bytes());
    // The last response of a target names its session.
    if opcode == 0x23 && flags & 0x83 == 0x83 {
        bytes[15] = 1;
    }
    bytes.extend(text);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn at_target(mut stream: &[u8], with_chap: bool, proved: bool) {
    let config = TargetConfig { wishes: DesiredParams::default(), window: 128 };
    let (mut target, mut door) = (TargetLogin::new(config, ASKED_BY_TARGET), Door(with_chap));
    for _ in 0..=MAX_EXCHANGES + 1 {
        let Some((consumed, step)) = target.receive(stream, &mut door) else {
            assert!(stream.len() < MAX_LOGIN_PDU, "a whole PDU is not seen");
            return;
        };
        stream = &stream[consumed..];
        let step = match step {
            TargetStep::Admit(admission) => {
                assert_eq!(admission.user.is_some(), with_chap, "in without a proof");
                target.admit(Admitted { tsih: 7, window: None })
            }
            step => step,
        };
        match step {
            TargetStep::Reply(reply) => readable(&reply),
            TargetStep::Failed { reply, .. } => {
                readable(&reply);
                return;
            }
            TargetStep::Done { reply, login } => {
                readable(&reply);
                assert!(!with_chap || (proved && login.user.as_deref() == Some("bob")));
                assert!(target.receive(stream, &mut door).is_none());
                return;
            }
            TargetStep::Admit(_) => panic!("asked twice"),
        }
    }
    panic!("a login without end");
}

fn readable(reply: &[u8]) {
    let (bhs, text) = reply.split_first_chunk().expect("a header");
    let Ok(Response::Login(response)) = Response::parse(bhs, &[]) else { panic!("{bhs:?}") };
    assert_eq!(text.len(), (response.data_len as usize).next_multiple_of(4));
    parse(&text[..response.data_len as usize], 200).expect("a text");
}

fn at_initiator(mut stream: &[u8], with_chap: bool, proved: bool) {
    let name = |name: &str| name.parse().expect("a name");
    let auth = match with_chap {
        false => InitiatorAuth::None,
        true => InitiatorAuth::Chap { user: credentials("bob"), target: Some(credentials("disk")) },
    };
    let config = InitiatorConfig {
        name: name("iqn.bob"),
        alias: None,
        target: Some(name("iqn.disk")),
        auth,
        wishes: DesiredParams::default(),
        isid: Isid::default(),
        tsih: 0,
        cid: 0,
        cmd_sn: 1,
    };
    let mut initiator = Initiator::new(config, ASKED_BY_INITIATOR);
    initiator.start();
    for _ in 0..=MAX_EXCHANGES {
        match initiator.receive(stream) {
            Ok(Some((consumed, InitiatorStep::Send(request)))) => {
                assert!(request.len() <= MAX_LOGIN_PDU);
                stream = &stream[consumed..];
            }
            Ok(Some((_, InitiatorStep::Done(login)))) => {
                assert_eq!(login.user.is_some(), with_chap, "let in by nobody knows whom");
                assert!(proved || !with_chap);
                return;
            }
            Ok(Some((_, InitiatorStep::Redirected { .. }))) | Ok(None) | Err(_) => return,
        }
    }
    panic!("a login without end");
}
