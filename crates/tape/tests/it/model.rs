//! Random commands against a model of a tape that shares no code with the drive (`reference/tape.py`).

use crate::rig::{Rig, content, python};
use iscsi::scsi::Sense;

fn block_length(rig: &Rig, length: u32) {
    let [_, a, b, c] = length.to_be_bytes();
    let list = [0, 0, 0x10, 8, 0, 0, 0, 0, 0, a, b, c];
    rig.check(1, &[0x15, 0x10, 0, 0, 12, 0], &list, 0).expect("a block length");
}

/// Executes the words of a command.
fn execute(rig: &Rig, words: &[&str]) -> (Result<(), Sense>, Vec<u8>) {
    let figure = |at: usize| words[at].parse::<i64>().expect("a figure");
    let three = |figure: i64| {
        let [.., a, b, c] = figure.to_be_bytes();
        [a, b, c]
    };
    let eight = |code: [u8; 4], figure: i64| {
        let mut cdb = code.to_vec();
        cdb.extend(figure.to_be_bytes());
        cdb.resize(16, 0);
        cdb
    };
    let (mut room, mut data) = (0, Vec::new());
    let cdb = match words[0] {
        "write" => {
            data = content(figure(1) as u64, figure(2) as usize);
            let [a, b, c] = three(figure(2));
            vec![0x0a, 0, a, b, c, 0]
        }
        "filemarks" => vec![0x10, 1, 0, 0, figure(1) as u8, 0],
        "read" => {
            room = figure(1) as usize;
            let [a, b, c] = three(figure(1));
            vec![0x08, if figure(2) == 1 { 2 } else { 0 }, a, b, c, 0]
        }
        "fixed" => {
            block_length(rig, figure(2) as u32);
            room = (figure(1) * figure(2)) as usize;
            vec![0x08, 1, 0, 0, figure(1) as u8, 0]
        }
        "space6" => {
            let [a, b, c] = three(figure(2));
            vec![0x11, figure(1) as u8, a, b, c, 0]
        }
        "space16" => eight([0x91, figure(1) as u8, 0, 0], figure(2)),
        "locate10" => {
            let [a, b, c] = three(figure(1));
            vec![0x2b, 0, 0, 0, a, b, c, 0, 0, 0]
        }
        "locate16" => eight([0x92, 0, 0, 0], figure(1)),
        "file" => eight([0x92, 0x08, 0, 0], figure(1)),
        "erase" => vec![0x19, 0, 0, 0, 0, 0],
        _ => vec![0x01, 0, 0, 0, 0, 0],
    };
    let (answer, bytes) = rig.run(1, &cdb, &data, room);
    if words[0] == "fixed" {
        block_length(rig, 0);
    }
    (answer.ending.sense.map_or(Ok(()), Err), bytes)
}

fn play(seed: &str) {
    let Some(script) = python("tape.py", &[seed, "700"]) else { return };
    let rig = Rig::with(|settings| settings.capacity = Some(1 << 30));
    rig.load();
    for (number, line) in script.lines().enumerate() {
        let (command, expected) = line.split_once(" | ").expect("two halves");
        let words: Vec<&str> = command.split(' ').collect();
        let expected: Vec<&str> = expected.split(' ').collect();
        let (result, bytes) = execute(&rig, &words);
        let place = format!("seed {seed}, line {number}: {line}");
        match result {
            Ok(()) => assert_eq!(expected[..4], ["-"; 4], "{place}: it succeeds"),
            Err(sense) => {
                let shown = [
                    (sense.key as u8).to_string(),
                    sense.code.to_string(),
                    sense.stream.to_string(),
                ];
                assert_eq!(expected[..3], shown, "{place}: {sense:?}");
                if expected[3] != "-" {
                    let information = sense.information.map(|one| one as i64);
                    assert_eq!(information, expected[3].parse().ok(), "{place}");
                }
            }
        }
        assert_eq!(bytes.len().to_string(), expected[4], "{place}");
        let (object, filemarks) = rig.position();
        assert_eq!([object.to_string(), filemarks.to_string()], expected[5..7], "{place}");
        if expected[7] != "-" {
            let mut blocks = bytes.as_slice();
            let numbers: Vec<&str> = expected[7].split(',').collect();
            let each = bytes.len() / numbers.len();
            for block in numbers {
                let (this, rest) = blocks.split_at(each);
                // The content does not depend on how much of it is read.
                let number = block.parse().expect("a number");
                assert_eq!(this, content(number, each), "{place}");
                blocks = rest;
            }
        }
    }
}

#[test]
fn a_drive_does_what_the_model_of_a_tape_does() {
    ["1", "2", "3", "4", "5", "6"].into_iter().for_each(play);
}
