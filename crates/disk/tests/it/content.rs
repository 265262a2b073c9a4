//! What is written can be reduced as far as was asked and no further: measured with two compressors and by counting.

use crate::prelude::*;
use disk::{BLOCK, ContentMaker, SECTOR};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// How far LZ4's ratio on chunks of 4 KiB, and that of repeated blocks, may be from what was asked for.
const TOLERANCE: f64 = 0.02;

/// The same for other compressors and larger chunks, up to a ratio of 8.
const TOLERANCE_ELSEWHERE: f64 = 0.08;

fn made(compress: f64, dedupe: f64, blocks: usize) -> Vec<u8> {
    let mut out = vec![0; blocks * BLOCK];
    ContentMaker::new(Reduction { compress, dedupe }, 99).write(0, &mut out);
    out
}

fn lz4(chunk: &[u8]) -> usize {
    lz4_flex::block::compress(chunk).len()
}

fn deflate(chunk: &[u8]) -> usize {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(chunk).expect("a Vec takes every byte");
    encoder.finish().expect("a Vec takes every byte").len()
}

/// Original over reduced, chunk by chunk; a chunk that does not shrink is kept as it is, as storage does.
fn ratio(data: &[u8], chunk: usize, compress: fn(&[u8]) -> usize) -> f64 {
    let reduced: usize = data.chunks(chunk).map(|c| compress(c).min(c.len())).sum();
    data.len() as f64 / reduced as f64
}

#[track_caller]
fn check_ratio(asked: f64, found: f64, tolerance: f64) {
    assert!((found / asked - 1.0).abs() <= tolerance, "{found} instead of {asked}");
}

#[test]
fn compression_is_what_was_asked_for_at_any_chunk() {
    for asked in [1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0] {
        let data = made(asked, 1.0, 256);
        check_ratio(asked, ratio(&data, BLOCK, lz4), TOLERANCE);
        check_ratio(asked, ratio(&data, BLOCK, deflate), TOLERANCE_ELSEWHERE);
        for compress in [lz4 as fn(&[u8]) -> usize, deflate] {
            check_ratio(asked, ratio(&data, 8 * BLOCK, compress), TOLERANCE_ELSEWHERE);
        }
    }
}

#[test]
fn blocks_are_repeated_as_often_as_was_asked_for() {
    for asked in [1.0, 1.1, 1.5, 2.0, 3.0, 10.0] {
        let data = made(1.0, asked, 4096);
        let different: HashSet<&[u8]> = data.chunks(BLOCK).collect();
        check_ratio(asked, 4096.0 / different.len() as f64, TOLERANCE);
    }
}

#[test]
fn repeated_blocks_are_no_gift_to_a_compressor() {
    let data = made(2.0, 2.0, 4096);
    check_ratio(2.0, ratio(&data, 16 * BLOCK, lz4), TOLERANCE_ELSEWHERE);
}

#[test]
fn by_default_no_two_sectors_are_alike() {
    for compress in [1.0, 8.0, 16.0] {
        let data = made(compress, 1.0, 4096);
        let different: HashSet<&[u8]> = data.chunks(SECTOR).collect();
        assert_eq!(different.len(), data.len() / SECTOR);
    }
}
