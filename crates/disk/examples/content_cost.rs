//! How fast content is made on one processor: bytes a second that are available for filling, for several ratios.
//!
//! `cargo run --release -p disk --example content_cost`

use clock::Ns;
use disk::ContentMaker;
use std::hint::black_box;
use workload::Reduction;

/// One write while filling.
const CHUNK: usize = 1 << 20;

/// How long each is measured.
const TIME: Ns = Ns::secs(2);

fn main() {
    println!("compress  dedupe    GB/s");
    for (compress, dedupe) in [(1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (4.0, 2.0)] {
        let content = ContentMaker::new(Reduction { compress, dedupe }, 1);
        println!("{compress:>8}  {dedupe:>6}  {:>6.1}", rate(&content) / 1e9);
    }
}

/// Bytes a second.
fn rate(content: &ContentMaker) -> f64 {
    let mut chunk = vec![0; CHUNK];
    let began = clock::now();
    let mut bytes = 0;
    while clock::now().since(began) < TIME {
        content.write(bytes, black_box(&mut chunk));
        bytes += CHUNK as u64;
    }
    bytes as f64 / clock::now().since(began).as_secs_f64()
}
