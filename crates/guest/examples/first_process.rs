//! A first process that says what it found: the smallest program that a guest can boot.
//!
//! It reads lines from the port `lines`. `disk SERIAL` is answered with the device and its bytes, `count` with how often it was
//! asked, which is counted in the memory that outlives the guest; `die` ends the first process,
//! which no kernel survives; all else is echoed. When the host closes the port, the guest switches itself off.

use guest::init;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

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
            _ if line == "count" => counted()?.to_string(),
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

/// One more than the last time, also where that was before the guest booted.
fn counted() -> Result<u32, Box<dyn std::error::Error>> {
    let file = guest::kept::of_this_machine()?.ok_or("the machine keeps no memory")?;
    let (protection, none) = (libc::PROT_READ | libc::PROT_WRITE, std::ptr::null_mut());
    // SAFETY: a new mapping at an address of the kernel's choice, which stays for the life of the process.
    let at = unsafe { libc::mmap(none, 4096, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error().into());
    }
    // SAFETY: a page is mapped there, and is touched through this alone.
    let count = unsafe { &*at.cast::<AtomicU32>() };
    Ok(count.fetch_add(1, Ordering::Relaxed) + 1)
}
