//! A first process that says what it found: the smallest program that a guest can boot.
//!
//! It reads lines from the port `lines`. `disk SERIAL` is answered with the device and its bytes; `die` ends the first process,
//! which no kernel survives; all else is echoed. When the host closes the port, the guest switches itself off.

use guest::init;
use std::io::{self, BufRead, BufReader, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if init::name().is_none() {
        return Err("this runs as the first process of a guest only".into());
    }
    init::bring_up()?;
    let mut port = init::port("lines")?;
    for line in BufReader::new(port.try_clone()?).lines() {
        let line = line?;
        let answer = match line.split_once(' ') {
            Some(("disk", serial)) => match found(serial) {
                Ok(answer) => answer,
                Err(why) => format!("error: {why}"),
            },
            _ if line == "die" => return Err("told to die".into()),
            _ => line,
        };
        writeln!(port, "{answer}")?;
    }
    Err(init::power_off().into())
}

fn found(serial: &str) -> Result<String, Box<dyn std::error::Error>> {
    let device = init::disk(serial)?;
    let bytes = io::Seek::seek(&mut std::fs::File::open(&device)?, io::SeekFrom::End(0))?;
    Ok(format!("{} {bytes}", device.display()))
}
