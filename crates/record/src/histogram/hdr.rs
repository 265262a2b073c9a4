//! The three-digit form: the deflated V2 encoding of HdrHistogram, which its libraries in other languages read.

use super::layout::{BinLayout, HIGHEST};
use super::{Histogram, HistogramError, packed};
use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress};
use std::io::Read;

/// First bytes of the deflated form, and of the form inside it.
const DEFLATED_COOKIE: u32 = 0x1c84_9314;
const COOKIE: u32 = 0x1c84_9313;
/// Bytes of the deflated form before the zlib stream: cookie and length.
const DEFLATED_HEADER: usize = 8;
/// Bytes of the inner form before the counts.
const HEADER: usize = 40;
/// The most that a histogram can inflate to: its header, and five bytes a count. Anything larger is rejected.
const LARGEST: usize = HEADER + 5 * 33_792;

/// Encodes histograms, reusing its buffers.
pub(crate) struct Encoder {
    plain: Vec<u8>,
    zlib: Compress,
}

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder { plain: Vec::new(), zlib: Compress::new(Compression::default(), true) }
    }

    /// A histogram in the form for its digits.
    pub(crate) fn encode(&mut self, histogram: &Histogram) -> Vec<u8> {
        match histogram.layout {
            BinLayout::Fine => self.deflated(histogram),
            BinLayout::Coarse => packed::encode(histogram),
        }
    }

    fn deflated(&mut self, histogram: &Histogram) -> Vec<u8> {
        self.plain.clear();
        write_plain(histogram, &mut self.plain);
        // Enough room: the stated worst case of deflate is far below this.
        let mut out = Vec::with_capacity(DEFLATED_HEADER + 64 + self.plain.len() * 2);
        out.extend([0; DEFLATED_HEADER]);
        self.zlib.reset();
        let done = self.zlib.compress_vec(&self.plain, &mut out, FlushCompress::Finish);
        debug_assert!(matches!(done, Ok(flate2::Status::StreamEnd)), "there is room");
        let length = (out.len() - DEFLATED_HEADER) as u32;
        out[..4].copy_from_slice(&DEFLATED_COOKIE.to_be_bytes());
        out[4..8].copy_from_slice(&length.to_be_bytes());
        out.shrink_to_fit();
        out
    }
}

fn write_plain(histogram: &Histogram, out: &mut Vec<u8>) {
    out.extend(COOKIE.to_be_bytes());
    out.extend([0; 8]);
    out.extend(u32::from(histogram.digits()).to_be_bytes());
    out.extend(1u64.to_be_bytes());
    out.extend(HIGHEST.to_be_bytes());
    out.extend(1f64.to_be_bytes());
    let mut next = 0;
    for (index, count) in histogram.bins() {
        match (index - next) as i64 {
            0 => {}
            1 => write_number(0, out),
            empty => write_number(-empty, out),
        }
        write_number(count.into(), out);
        next = index + 1;
    }
    let length = (out.len() - HEADER) as u32;
    out[4..8].copy_from_slice(&length.to_be_bytes());
}

/// A signed number, zigzag-coded, seven bits a byte.
fn write_number(number: i64, out: &mut Vec<u8>) {
    let mut rest = (number << 1 ^ number >> 63) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads the deflated form.
pub(super) fn decode(bytes: &[u8]) -> Result<Histogram, HistogramError> {
    let plain = inflate(bytes)?;
    let counts = check_header(&plain)?;
    let mut histogram = Histogram::new();
    let (mut index, mut number, mut shift) = (0usize, 0u64, 0);
    for byte in counts {
        if shift >= 28 && byte & 0x80 != 0 {
            return Err(HistogramError::new("a count has more than 32 bits"));
        }
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 != 0 {
            continue;
        }
        let signed = (number >> 1) as i64 ^ -((number & 1) as i64);
        match u32::try_from(signed) {
            Ok(count) if index < BinLayout::Fine.bins() => {
                if count > 0 {
                    histogram.add(index, count);
                }
                index += 1;
            }
            Err(_) if signed < 0 => index = index.saturating_add(signed.unsigned_abs() as usize),
            Ok(_) => return Err(HistogramError::new("its counts go beyond its range")),
            Err(_) => return Err(HistogramError::new("a count has more than 32 bits")),
        }
        (number, shift) = (0, 0);
    }
    if shift > 0 {
        return Err(HistogramError::new("its last count is cut off"));
    }
    Ok(histogram)
}

/// The inner form of deflated bytes, inflated no further than the largest possible histogram.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, HistogramError> {
    if word(bytes, 0) != Some(DEFLATED_COOKIE) {
        return Err(HistogramError::new("they do not begin with HdrHistogram's cookie 0x1c849314"));
    }
    let stream = &bytes[DEFLATED_HEADER.min(bytes.len())..];
    if word(bytes, 4).map(|len| len as usize) != Some(stream.len()) {
        return Err(HistogramError::new("the length that they state is not theirs"));
    }
    let mut plain = Vec::new();
    ZlibDecoder::new(stream)
        .take(LARGEST as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|e| HistogramError::new(format!("they do not inflate: {e}")))?;
    if plain.len() > LARGEST {
        return Err(HistogramError::new(format!("they inflate to more than {LARGEST} bytes")));
    }
    Ok(plain)
}

/// The bytes of the counts, after checking the header.
fn check_header(plain: &[u8]) -> Result<&[u8], HistogramError> {
    let refuse = |what: &str| Err(HistogramError::new(what));
    if word(plain, 0) != Some(COOKIE) || plain.len() < HEADER {
        return refuse("no histogram is inside");
    }
    let (header, counts) = plain.split_at(HEADER);
    if word(header, 4).map(|len| len as usize) != Some(counts.len()) {
        return refuse("the length of its counts is not what it states");
    }
    if word(header, 8) != Some(0) {
        return refuse("it is shifted by an offset");
    }
    if word(header, 12) != Some(BinLayout::Fine.digits().into()) {
        return refuse("it has not three significant digits");
    }
    if header[16..24] != 1u64.to_be_bytes() || header[24..32] != HIGHEST.to_be_bytes() {
        return refuse("its range is not 1 ns to 1 h");
    }
    Ok(counts)
}

/// The big-endian word at an offset.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}
