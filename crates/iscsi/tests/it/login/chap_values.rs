//! Algorithms against vectors of another implementation, and all encodings of binary values.

use crate::login::support::secret;
use iscsi::chap::{
    Algorithm, Challenge, ChapError, MAX_BINARY, MAX_SECRET, Secret, decode, encode, encode_base64,
    identifier, respond,
};

/// Made with Python's hashlib over the byte 0x27, the secret, and the bytes 0 to 31.
const VECTORS: [(Algorithm, &str); 4] = [
    (Algorithm::Md5, "0x70c379aae91dc0783cc81646f61139e1"),
    (Algorithm::Sha1, "0x0cdae92f7d70138e257a8d8acbc25c76ad2716f2"),
    (Algorithm::Sha256, "0x4b8ae19dd0e91924ae1a055853cd8c1866f3bb8900c96f2bd7f3e6c455d738a8"),
    (Algorithm::Sha3, "0x1903e4f3f7f0eeadd3cf190f03efb47acd615855ca2f046b4b3382d8e90e8214"),
];

#[test]
fn known_vectors() {
    let challenge = Challenge { id: 0x27, bytes: std::array::from_fn(|at| at as u8) };
    let secret_of_16 = secret("secret of 16 byt");
    for (algorithm, expected) in VECTORS {
        let response = respond(algorithm, challenge.id, &secret_of_16, &challenge.bytes);
        assert_eq!(encode(&response), expected, "{algorithm:?}");
        assert!(challenge.is_met(algorithm, &secret_of_16, &response));
        // Another secret, identifier, length, byte, algorithm, and an empty response.
        assert!(!challenge.is_met(algorithm, &secret("secret of 16 byT"), &response));
        let other = Challenge { id: 0x28, ..challenge.clone() };
        assert!(!other.is_met(algorithm, &secret_of_16, &response));
        assert!(!challenge.is_met(algorithm, &secret_of_16, &response[1..]));
        let mut wrong = response.clone();
        wrong[0] ^= 0x80;
        assert!(!challenge.is_met(algorithm, &secret_of_16, &wrong));
        assert!(!challenge.is_met(algorithm, &secret_of_16, &[]));
        for (another, _) in VECTORS.iter().filter(|(another, _)| *another != algorithm) {
            assert!(!challenge.is_met(*another, &secret_of_16, &response));
        }
    }
}

#[test]
fn algorithms_have_numbers() {
    for (number, algorithm) in [
        ("5", Some(Algorithm::Md5)),
        ("6", Some(Algorithm::Sha1)),
        ("7", Some(Algorithm::Sha256)),
        ("8", Some(Algorithm::Sha3)),
        ("0x5", Some(Algorithm::Md5)),
        ("4", None),
        ("9", None),
        ("261", None),
        ("", None),
        ("MD5", None),
    ] {
        assert_eq!(Algorithm::parse(number), algorithm, "{number:?}");
    }
    assert_eq!(Algorithm::ALL.map(Algorithm::number), [8, 7, 6, 5]);
    assert_eq!(Algorithm::OFFERED.map(Algorithm::number), [8, 5, 7, 6]);
}

#[test]
fn binary_values() {
    for (written, expected) in [
        ("0x00ff10", Ok(&[0x00, 0xff, 0x10][..])),
        ("0X00FF10", Ok(&[0x00, 0xff, 0x10])),
        ("0x00Ff10", Ok(&[0x00, 0xff, 0x10])),
        ("0xf10", Ok(&[0x0f, 0x10])),
        ("0bAP8Q", Ok(&[0x00, 0xff, 0x10])),
        ("0BAP8QAA==", Ok(&[0x00, 0xff, 0x10, 0x00])),
        ("0bAP8QAA", Ok(&[0x00, 0xff, 0x10, 0x00])),
        ("0x", Err(ChapError::Length(0))),
        ("0b", Err(ChapError::Length(0))),
        ("", Err(ChapError::Encoding)),
        ("0", Err(ChapError::Encoding)),
        ("ff", Err(ChapError::Encoding)),
        ("0xfg", Err(ChapError::Encoding)),
        ("0x+f", Err(ChapError::Encoding)),
        ("0bA", Err(ChapError::Encoding)),
        ("0bA-_A", Err(ChapError::Encoding)),
        ("0ä00", Err(ChapError::Encoding)),
        ("ä", Err(ChapError::Encoding)),
    ] {
        assert_eq!(
            decode(written).as_deref(),
            expected.as_ref().map(|bytes| &bytes[..]),
            "{written:?}"
        );
    }
    let longest = [7; MAX_BINARY];
    assert_eq!(decode(&encode(&longest)), Ok(longest.to_vec()));
    assert_eq!(decode(&encode_base64(&longest)), Ok(longest.to_vec()));
    let longer = [7; MAX_BINARY + 1];
    assert_eq!(decode(&encode(&longer)), Err(ChapError::Length(MAX_BINARY + 2)));
    assert_eq!(decode(&encode_base64(&longer)), Err(ChapError::Length(MAX_BINARY + 1)));
}

#[test]
fn identifiers() {
    for (written, expected) in [
        ("0", Some(0)),
        ("255", Some(255)),
        ("0xff", Some(255)),
        ("256", None),
        ("", None),
        ("a", None),
    ] {
        assert_eq!(identifier(written).ok(), expected, "{written:?}");
    }
}

#[test]
fn secrets_are_bounded_and_never_printed() {
    assert_eq!(Secret::new(b"").err(), Some(ChapError::Secret(0)));
    assert_eq!(Secret::new(&[1; MAX_SECRET + 1]).err(), Some(ChapError::Secret(MAX_SECRET + 1)));
    assert!(Secret::new(&[1; MAX_SECRET]).is_ok());
    assert!(secret("eleven char").is_short() && !secret("twelve chars").is_short());
    assert!(secret("same").matches(&secret("same")));
    assert!(!secret("same").matches(&secret("samf")) && !secret("same").matches(&secret("sam")));
    let shown = format!("{:?} {:?}", secret("hunter2"), crate::login::support::chap());
    assert!(!shown.contains("hunter2") && !shown.contains("the secret"), "{shown}");
    assert!(!shown.contains("104, 117"), "{shown}");
}
