//! Pairs and their limits.

use iscsi::text::{
    Assembly, MAX_KEY, MAX_PLAIN_VALUE, MAX_VALUE, TextError, boolean, list, number, parse, plain,
    push,
};

#[track_caller]
fn check(text: &[u8], expected: Result<&[(&str, &str)], TextError>) {
    assert_eq!(parse(text, 3), expected.map(<[_]>::to_vec));
}

#[test]
fn valid_and_invalid_pairs() {
    check(b"", Ok(&[]));
    check(b"a=b\0", Ok(&[("a", "b")]));
    check(b"a=\0", Ok(&[("a", "")]));
    check(b"a=b=c\0", Ok(&[("a", "b=c")]));
    check(b"X-com.example@a+b_c#1=\xc3\xa4\0", Ok(&[("X-com.example@a+b_c#1", "ä")]));
    // Some peers include the padding in the length.
    check(b"a=b\0\0\0", Ok(&[("a", "b")]));
    check(b"\0", Ok(&[]));
    check(b"\0a=b\0", Ok(&[("a", "b")]));
    check(b"a=b", Err(TextError::CutOff));
    check(b"a=b\0c=d", Err(TextError::CutOff));
    check(b"a\0", Err(TextError::NoEquals));
    check(b"=b\0", Err(TextError::Key));
    check(b"a b=c\0", Err(TextError::Key));
    check(b"\xc3\xa4=c\0", Err(TextError::Key));
    check(b"a=\xff\0", Err(TextError::Encoding("a".to_owned())));
    check(b"a=1\0b=2\0c=3\0", Ok(&[("a", "1"), ("b", "2"), ("c", "3")]));
    check(b"a=1\0b=2\0c=3\0d=4\0", Err(TextError::TooMany(3)));
}

#[test]
fn lengths() {
    let text = |key: usize, value: usize| {
        let mut text = Vec::new();
        push(&mut text, &"k".repeat(key), &"v".repeat(value));
        text
    };
    assert!(parse(&text(MAX_KEY, MAX_VALUE), 1).is_ok());
    assert_eq!(parse(&text(MAX_KEY + 1, 0), 1), Err(TextError::Key));
    let too_long = |max, len| TextError::Value { key: "k".to_owned(), len, max };
    let error = parse(&text(1, MAX_VALUE + 1), 1).expect_err("too long");
    assert_eq!(error, too_long(MAX_VALUE, MAX_VALUE + 1));
    assert_eq!(plain("k", &"v".repeat(MAX_PLAIN_VALUE)), Ok(()));
    let error = plain("k", &"v".repeat(MAX_PLAIN_VALUE + 1)).expect_err("too long");
    assert_eq!(error, too_long(MAX_PLAIN_VALUE, MAX_PLAIN_VALUE + 1));
}

#[test]
fn words_of_values() {
    assert_eq!(
        [boolean("Yes"), boolean("No"), boolean("yes"), boolean("")],
        [Some(true), Some(false), None, None]
    );
    assert_eq!(list("a,b,,c").collect::<Vec<_>>(), ["a", "b", "", "c"]);
    for (written, expected) in [
        ("0", Some(0)),
        ("007", Some(7)),
        ("4294967295", Some(u32::MAX)),
        ("0xfFfF", Some(0xffff)),
        ("0X10", Some(16)),
        ("4294967296", None),
        ("0x100000000", None),
        ("", None),
        ("0x", None),
        ("+1", None),
        ("0x+1", None),
        ("-1", None),
        (" 1", None),
        ("1a", None),
        ("1~2", None),
    ] {
        assert_eq!(number(written), expected, "{written:?}");
    }
}

#[test]
fn a_text_in_several_pdus() {
    let mut assembly = Assembly::new(8);
    assert_eq!(assembly.add(b"a=b"), Ok(()));
    assert_eq!(assembly.add(b""), Ok(()));
    assert_eq!(assembly.add(b"c\0e=f"), Ok(()));
    assert_eq!(assembly.add(b"x"), Err(TextError::TooLong(8)));
    assert_eq!(assembly.take(), b"a=bc\0e=f");
    // The next text has the whole limit again.
    assert_eq!(assembly.add(&[0; 9]), Err(TextError::TooLong(8)));
    assert_eq!(assembly.add(&[1; 8]), Ok(()));
    assert_eq!(assembly.take(), [1; 8]);
    assert_eq!(assembly.take(), []);
}
