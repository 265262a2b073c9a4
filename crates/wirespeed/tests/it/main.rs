//! The whole program, as its users, their browsers and other programs meet it.

/// Names that most modules use.
mod prelude {
    pub use clock::Ns;
    pub use record::{Record, Status};
    pub use serde_json::{Value, json};
    pub use std::collections::{BTreeMap, BTreeSet};
    pub use std::fs;
    pub use std::fs::File;
    pub use std::io::{BufRead, BufReader, Read};
    pub use std::net::TcpStream;
    pub use std::path::{Path, PathBuf};
    pub use std::process::{Child, Command, Stdio};
    pub use std::time::Duration;
    pub use tempfile::TempDir;
}

mod bench_statistics;
mod browser;
#[path = "../../benches/peers/estimate.rs"]
mod estimate;
mod labs;
mod peers;
mod program;
mod serve;
#[path = "../../../findings/tests/support/mod.rs"]
mod sketch;
