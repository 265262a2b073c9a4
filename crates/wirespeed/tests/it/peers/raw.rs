//! A small initiator that owes nothing to the project's own: bytes laid out by hand from RFC 7143. One command at a time, no
//! digests, no immediate data; and it can break off wherever a peer might.

use crate::prelude::*;
use std::io::{self, ErrorKind, Read, Write};

/// A hang guard: no answer takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session of one connection with one target.
pub struct Initiator {
    stream: TcpStream,
    cmd_sn: u32,
    exp_stat_sn: u32,
    tag: u32,
    /// The longest data segment that the target takes.
    segment: usize,
}

type Header = [u8; 48];

/// Where an initiator breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// In the middle of a header.
    Header,
    /// With commands sent and nothing of their answers read.
    Reads,
    /// With the data of a write announced and half of it sent.
    Data,
}

fn bad(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}

fn word(header: &Header, at: usize) -> u32 {
    u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"))
}

impl Initiator {
    /// Connects and logs in without authentication. `id` makes the session's identifier.
    pub fn login(address: &str, target: &str, name: &str, id: u32) -> io::Result<Initiator> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut own = Initiator { stream, cmd_sn: 1, exp_stat_sn: 0, tag: 0, segment: 8192 };
        let keys = format!(
            "InitiatorName={name}\0SessionType=Normal\0TargetName={target}\0HeaderDigest=None\0DataDigest=None\0\
             ImmediateData=No\0InitialR2T=Yes\0MaxRecvDataSegmentLength=65536\0"
        );
        let mut data = keys.as_bytes();
        for _ in 0..4 {
            let mut header = [0; 48];
            // From the operational stage straight to full feature, no authentication.
            header[..2].copy_from_slice(&[0x43, 0x87]);
            header[8] = 0x80;
            header[9..13].copy_from_slice(&id.to_be_bytes());
            header[24..28].copy_from_slice(&own.cmd_sn.to_be_bytes());
            own.send(header, data)?;
            let (header, text) = own.receive()?;
            if header[0] & 0x3f != 0x23 || header[36] != 0 {
                return Err(bad(format!("login refused: {:#04x}{:02x}", header[36], header[37])));
            }
            let text = String::from_utf8_lossy(&text).into_owned();
            let most =
                text.split('\0').find_map(|pair| pair.strip_prefix("MaxRecvDataSegmentLength="));
            own.segment = most.and_then(|n| n.parse().ok()).unwrap_or(own.segment).min(65536);
            if header[1] & 0x83 == 0x83 {
                own.settle()?;
                return Ok(own);
            }
            data = &[];
        }
        Err(bad("the login does not end"))
    }

    /// TEST UNIT READY until it is: a new nexus is told of resets first, as unit attentions.
    fn settle(&mut self) -> io::Result<()> {
        for _ in 0..4 {
            self.tag += 1;
            let mut header = [0; 48];
            header[..2].copy_from_slice(&[0x01, 0x81]);
            header[24..28].copy_from_slice(&self.cmd_sn.to_be_bytes());
            self.cmd_sn = self.cmd_sn.wrapping_add(1);
            self.send(header, &[])?;
            let (header, _) = self.receive()?;
            if header[0] & 0x3f == 0x21 && header[3] == 0 {
                return Ok(());
            }
        }
        Err(bad("the unit does not become ready"))
    }

    fn send(&mut self, mut header: Header, data: &[u8]) -> io::Result<()> {
        header[5..8].copy_from_slice(&(data.len() as u32).to_be_bytes()[1..]);
        if header[0] & 0x3f != 0x05 && header[0] & 0x3f != 0x00 {
            header[16..20].copy_from_slice(&self.tag.to_be_bytes());
        }
        header[28..32].copy_from_slice(&self.exp_stat_sn.to_be_bytes());
        self.stream.write_all(&header)?;
        self.stream.write_all(data)?;
        self.stream.write_all(&[0; 3][..data.len().wrapping_neg() % 4])
    }

    fn receive(&mut self) -> io::Result<(Header, Vec<u8>)> {
        loop {
            let mut header = [0; 48];
            self.stream.read_exact(&mut header)?;
            let len = word(&header, 4) as usize & 0x00ff_ffff;
            let mut data = vec![0; len.next_multiple_of(4)];
            self.stream.read_exact(&mut data)?;
            data.truncate(len);
            // What carries a status of its own: everything but an R2T, and a Data-In without one.
            let numbered = match header[0] & 0x3f {
                0x31 => false,
                0x25 => header[1] & 1 != 0,
                0x20 => word(&header, 16) != u32::MAX,
                _ => true,
            };
            if numbered {
                self.exp_stat_sn = word(&header, 24).wrapping_add(1);
            }
            // A sign of life is asked for.
            if header[0] & 0x3f == 0x20 && word(&header, 20) != u32::MAX {
                let mut answer = [0; 48];
                answer[..2].copy_from_slice(&[0x40, 0x80]);
                answer[8..16].copy_from_slice(&header[8..16]);
                answer[16..20].fill(0xff);
                answer[20..24].copy_from_slice(&header[20..24]);
                answer[24..28].copy_from_slice(&self.cmd_sn.to_be_bytes());
                self.send(answer, &[])?;
                continue;
            }
            return Ok((header, data));
        }
    }

    /// READ(16) or WRITE(16) of LUN 0.
    fn command(&mut self, write: bool, lba: u64, blocks: u32, bytes: u32) -> io::Result<()> {
        self.tag = self.tag.wrapping_add(1) & 0x7fff_ffff;
        let mut header = [0; 48];
        header[..2].copy_from_slice(&[0x01, if write { 0xa1 } else { 0xc1 }]);
        header[20..24].copy_from_slice(&bytes.to_be_bytes());
        header[24..28].copy_from_slice(&self.cmd_sn.to_be_bytes());
        header[32] = if write { 0x8a } else { 0x88 };
        header[34..42].copy_from_slice(&lba.to_be_bytes());
        header[42..46].copy_from_slice(&blocks.to_be_bytes());
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        self.send(header, &[])
    }

    /// Reads blocks of 512 bytes.
    pub fn read(&mut self, lba: u64, blocks: u32) -> io::Result<Vec<u8>> {
        let len = blocks * 512;
        self.command(false, lba, blocks, len)?;
        let mut data = vec![0; len as usize];
        loop {
            let (header, part) = self.receive()?;
            match header[0] & 0x3f {
                0x25 => {
                    let at = word(&header, 40) as usize;
                    let place = data
                        .get_mut(at..at + part.len())
                        .ok_or_else(|| bad("data beyond the end"))?;
                    place.copy_from_slice(&part);
                    if header[1] & 1 != 0 {
                        return Ok(data);
                    }
                }
                0x21 if header[3] == 0 => return Ok(data),
                code => {
                    return Err(bad(format!(
                        "a read ended with PDU {code:#x}, status {:#x}",
                        header[3]
                    )));
                }
            }
        }
    }

    /// Writes blocks of 512 bytes.
    pub fn write(&mut self, lba: u64, bytes: &[u8]) -> io::Result<()> {
        self.command(true, lba, (bytes.len() / 512) as u32, bytes.len() as u32)?;
        loop {
            let (header, _) = self.receive()?;
            match header[0] & 0x3f {
                0x31 => {
                    let (at, len) = (word(&header, 40) as usize, word(&header, 44) as usize);
                    let part = bytes
                        .get(at..at + len)
                        .ok_or_else(|| bad("data beyond the end is asked for"))?;
                    self.data_out(&header, at, part)?;
                }
                0x21 if header[3] == 0 => return Ok(()),
                code => {
                    return Err(bad(format!(
                        "a write ended with PDU {code:#x}, status {:#x}",
                        header[3]
                    )));
                }
            }
        }
    }

    /// What an R2T asks for.
    fn data_out(&mut self, r2t: &Header, at: usize, bytes: &[u8]) -> io::Result<()> {
        let segments = bytes.chunks(self.segment).enumerate();
        let last = bytes.len().div_ceil(self.segment) - 1;
        for (number, part) in segments {
            let mut header = [0; 48];
            header[..2].copy_from_slice(&[0x05, if number == last { 0x80 } else { 0 }]);
            header[8..16].copy_from_slice(&r2t[8..16]);
            header[16..24].copy_from_slice(&r2t[16..24]);
            header[36..40].copy_from_slice(&(number as u32).to_be_bytes());
            header[40..44].copy_from_slice(&((at + number * self.segment) as u32).to_be_bytes());
            self.send(header, part)?;
        }
        Ok(())
    }

    /// Takes its leave.
    pub fn logout(mut self) -> io::Result<()> {
        self.tag = self.tag.wrapping_add(1) & 0x7fff_ffff;
        let mut header = [0; 48];
        header[..2].copy_from_slice(&[0x46, 0x80]);
        header[24..28].copy_from_slice(&self.cmd_sn.to_be_bytes());
        self.send(header, &[])?;
        let (header, _) = self.receive()?;
        if header[0] & 0x3f != 0x26 || header[2] != 0 {
            return Err(bad(format!(
                "a logout ended with PDU {:#x}, response {}",
                header[0] & 0x3f,
                header[2]
            )));
        }
        Ok(())
    }

    /// Dies in the middle of something, in the blocks from `lba` on.
    pub fn break_off(mut self, how: Break, lba: u64) -> io::Result<()> {
        match how {
            Break::Header => self.stream.write_all(&[0x01, 0xc1, 0, 0, 0, 0, 0])?,
            // Half a MiB of answers, of which nobody reads a byte.
            Break::Reads => (0..8).try_for_each(|_| self.command(false, lba, 128, 65536))?,
            Break::Data => {
                self.command(true, lba, 128, 65536)?;
                self.command(true, lba, 128, 65536)?;
                let (header, _) = self.receive()?;
                if header[0] & 0x3f != 0x31 {
                    return Err(bad(format!(
                        "a write was answered with PDU {:#x}",
                        header[0] & 0x3f
                    )));
                }
                let len = (word(&header, 44) as usize).min(self.segment);
                let mut half = [0; 48];
                half[0] = 0x05;
                half[8..24].copy_from_slice(&header[8..24]);
                half[40..44].copy_from_slice(&header[40..44]);
                half[5..8].copy_from_slice(&(len as u32).to_be_bytes()[1..]);
                self.stream.write_all(&half)?;
                self.stream.write_all(&vec![0xee; len / 2])?;
            }
        }
        // Dropped without a logout.
        Ok(())
    }
}
