//! A scripted initiator that sends well-formed and malformed PDUs.

use crate::prelude::*;
use crate::target::test_target::{NAME, PATIENCE};
use iscsi::chap::Challenge;
use iscsi::login::{Initiator, InitiatorAuth, InitiatorConfig, InitiatorStep, Login, LoginError};
use iscsi::pdu::{
    BHS_LEN, Bhs, Cdb, DataOut, Isid, Lengths, LogoutReason, LogoutRequest, Lun, R2t, RESERVED_TAG,
    Response, ScsiCommand, ScsiResponse, TaskAttribute, TaskFunction, TaskOutcome, TaskRequest,
    TextRequest, pad,
};
use std::io::{self, Read, Write};

/// Who logs in, and how.
pub fn who(name: &str) -> InitiatorConfig {
    InitiatorConfig {
        name: format!("iqn.2024-01.org.example:{name}").parse().expect("a name"),
        alias: None,
        target: Some(NAME.parse().expect("a name")),
        auth: InitiatorAuth::None,
        wishes: DesiredParams {
            initial_r2t: true,
            immediate_data: false,
            ..DesiredParams::default()
        },
        isid: Isid([0x80, 0, 0, 0, 0, 1]),
        tsih: 0,
        cid: 0,
        cmd_sn: 1,
    }
}

/// A connection that has logged in.
pub struct Hand {
    pub stream: TcpStream,
    pub login: Login,
    pub cmd_sn: u32,
    pub exp_stat_sn: u32,
    tag: u32,
    /// What a SCSI response brought besides: sense data.
    pub sense: Vec<u8>,
}

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u8,
    pub data: Vec<u8>,
}

/// A socket on which a read that takes too long fails.
pub fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    stream.set_nodelay(true).expect("an option");
    stream
}

/// The same from another address of this machine.
pub fn connect_from(from: &str, to: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let own = SocketAddr::new(from.parse().expect("an address"), 0);
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &own).expect("loopback has this address");
    connect(&socket, &to).expect("a connection");
    TcpStream::from(socket)
}

/// Whether the other end closes the connection, whatever it says before.
pub fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 4096];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

impl Hand {
    /// Logs in to a portal.
    pub fn enter(to: SocketAddr, config: InitiatorConfig) -> Result<Hand, LoginError> {
        Hand::over(connect(to), config)
    }

    /// Logs in over a connection.
    pub fn over(mut stream: TcpStream, config: InitiatorConfig) -> Result<Hand, LoginError> {
        let mut machine = Initiator::new(config, Challenge { id: 7, bytes: [7; 32] });
        let mut input = Vec::new();
        let mut output = machine.start();
        loop {
            stream.write_all(&output).expect("a target that listens");
            output.clear();
            let (used, step) = loop {
                if let Some(step) = machine.receive(&input)? {
                    break step;
                }
                let mut more = [0; 4096];
                let got = match stream.read(&mut more) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    got => got.expect("an answer"),
                };
                assert!(got > 0, "the target closed the connection during the login");
                input.extend_from_slice(&more[..got]);
            };
            input.drain(..used);
            match step {
                InitiatorStep::Send(bytes) => output = bytes,
                InitiatorStep::Redirected { .. } => panic!("nothing moves here"),
                InitiatorStep::Done(login) => {
                    assert!(input.is_empty(), "nothing comes unasked");
                    let (cmd_sn, exp_stat_sn) = (login.cmd_sn, login.stat_sn);
                    return Ok(Hand {
                        stream,
                        login: *login,
                        cmd_sn,
                        exp_stat_sn,
                        tag: 0,
                        sense: Vec::new(),
                    });
                }
            }
        }
    }

    /// Logs in, and hears that it was powered on.
    #[track_caller]
    pub fn ready(to: SocketAddr, name: &str) -> Hand {
        let mut hand = Hand::enter(to, who(name)).expect("a login");
        hand.calm();
        hand
    }

    /// Lets the unit say what is pending.
    #[track_caller]
    pub fn calm(&mut self) {
        for _ in 0..8 {
            if self.command(&[0; 6], 0, &[]).status == 0 {
                return;
            }
        }
        panic!("the unit has no end of attentions");
    }

    pub fn send(&mut self, bhs: &Bhs, data: &[u8]) {
        let mut pdu = bhs.to_vec();
        pdu.extend_from_slice(data);
        pdu.resize(pdu.len() + usize::from(pad(data.len() as u32)), 0);
        self.stream.write_all(&pdu).expect("a target that takes it");
    }

    /// The next PDU with its data.
    pub fn receive(&mut self) -> io::Result<(Response, Vec<u8>)> {
        let mut bhs = [0; BHS_LEN];
        self.stream.read_exact(&mut bhs)?;
        let len = Lengths::of(&bhs).data;
        let mut data = vec![0; len as usize + usize::from(pad(len))];
        self.stream.read_exact(&mut data)?;
        data.truncate(len as usize);
        Ok((Response::parse(&bhs, &[]).expect("a PDU as the RFC has them"), data))
    }

    /// Begins a command; its tag. Reads expect `reads` bytes, writes announce `writes`.
    pub fn begin(&mut self, cdb: &[u8], reads: u32, writes: u32) -> u32 {
        self.begin_as(cdb, reads, writes, TaskAttribute::Simple)
    }

    pub fn begin_as(
        &mut self,
        cdb: &[u8],
        reads: u32,
        writes: u32,
        attribute: TaskAttribute,
    ) -> u32 {
        self.tag += 1;
        let command = ScsiCommand {
            immediate: false,
            is_final: true,
            read: reads > 0,
            write: writes > 0,
            attribute,
            lun: Lun::new(0),
            task_tag: self.tag,
            expected_len: reads.max(writes),
            read_len: None,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            cdb: Cdb::new(cdb).expect("a command"),
            data_len: 0,
        };
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        self.send(&command.encode(), &[]);
        self.tag
    }

    /// A whole command.
    #[track_caller]
    pub fn command(&mut self, cdb: &[u8], reads: u32, out: &[u8]) -> Answer {
        let tag = self.begin(cdb, reads, out.len() as u32);
        self.finish(tag, out)
    }

    /// Goes on with a command until it ends, sending what is asked for.
    #[track_caller]
    pub fn finish(&mut self, tag: u32, out: &[u8]) -> Answer {
        let mut got = Vec::new();
        loop {
            let (response, data) = self.receive().expect("an answer");
            match response {
                Response::DataIn(pdu) => {
                    assert_eq!(pdu.task_tag, tag);
                    got.resize(got.len().max(pdu.offset as usize), 0);
                    got.extend_from_slice(&data);
                    if let Some(end) = pdu.status {
                        self.exp_stat_sn = pdu.sequence.stat_sn.wrapping_add(1);
                        return Answer { status: end.status, data: got };
                    }
                }
                Response::R2t(r2t) => self.feed(&r2t, out),
                Response::Command(ScsiResponse { status, sequence, task_tag, .. }) => {
                    assert_eq!(task_tag, tag);
                    self.exp_stat_sn = sequence.stat_sn.wrapping_add(1);
                    self.sense = data;
                    return Answer { status, data: got };
                }
                other => panic!("{other:?} instead of an answer to the command"),
            }
        }
    }

    /// Sends the header of a Data-Out PDU that an R2T asks for, and none of its data.
    pub fn announce(&mut self, r2t: &R2t, data_len: u32) {
        let pdu = DataOut {
            is_final: false,
            lun: Lun::new(0),
            task_tag: r2t.task_tag,
            transfer_tag: r2t.transfer_tag,
            exp_stat_sn: self.exp_stat_sn,
            data_sn: 0,
            offset: r2t.offset,
            data_len,
        };
        self.stream.write_all(&pdu.encode()).expect("it is taken");
    }

    /// Sends what an R2T asks for.
    pub fn feed(&mut self, r2t: &R2t, out: &[u8]) {
        let from = r2t.offset as usize;
        let burst = &out[from..from + r2t.desired_len as usize];
        let most = self.login.params.max_send as usize;
        let pieces = burst.len().div_ceil(most);
        for (number, piece) in burst.chunks(most).enumerate() {
            let pdu = DataOut {
                is_final: number + 1 == pieces,
                lun: Lun::new(0),
                task_tag: r2t.task_tag,
                transfer_tag: r2t.transfer_tag,
                exp_stat_sn: self.exp_stat_sn,
                data_sn: number as u32,
                offset: r2t.offset + (number * most) as u32,
                data_len: piece.len() as u32,
            };
            self.send(&pdu.encode(), piece);
        }
    }

    /// The R2T of a write that has begun.
    #[track_caller]
    pub fn r2t(&mut self) -> R2t {
        match self.receive().expect("an R2T").0 {
            Response::R2t(r2t) => r2t,
            other => panic!("{other:?} instead of an R2T"),
        }
    }

    /// Asks for a function, for immediate delivery.
    pub fn manage(&mut self, function: TaskFunction, referenced_tag: u32) {
        self.tag += 1;
        let request = TaskRequest {
            immediate: true,
            function,
            lun: Lun::new(0),
            task_tag: self.tag,
            referenced_tag,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            ref_cmd_sn: self.cmd_sn.wrapping_sub(1),
            exp_data_sn: 0,
        };
        self.send(&request.encode(), &[]);
    }

    /// What the function came to.
    #[track_caller]
    pub fn managed(&mut self) -> TaskOutcome {
        match self.receive().expect("an answer").0 {
            Response::Task(response) => response.outcome,
            other => panic!("{other:?} instead of the end of a function"),
        }
    }

    /// Sends a whole text request, for immediate delivery.
    pub fn ask(&mut self, text: &[u8]) {
        let request = TextRequest {
            immediate: true,
            is_final: true,
            goes_on: false,
            lun: Lun::new(0),
            task_tag: 1,
            transfer_tag: NO_TASK,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            data_len: text.len() as u32,
        };
        self.send(&request.encode(), text);
    }

    /// Logs out of the session.
    #[track_caller]
    pub fn logout(mut self) {
        self.tag += 1;
        let request = LogoutRequest {
            immediate: true,
            reason: LogoutReason::CloseSession,
            task_tag: self.tag,
            cid: self.login.cid,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.send(&request.encode(), &[]);
        match self.receive().expect("an answer").0 {
            Response::Logout(_) => assert!(is_closed(&mut self.stream)),
            other => panic!("{other:?} instead of the answer to a logout"),
        }
    }

    /// The additional sense code of the last command that failed.
    pub fn sense_code(&self) -> u16 {
        // Two bytes of length, then fixed format: the code stands at 12.
        self.sense.get(14..16).map_or(0, |code| u16::from_be_bytes([code[0], code[1]]))
    }

    pub fn write(&mut self, lba: u8, data: &[u8]) -> Answer {
        self.command(&transfer(0x2a, lba, data.len()), 0, data)
    }

    pub fn read(&mut self, lba: u8, len: usize) -> Answer {
        self.command(&transfer(0x28, lba, len), len as u32, &[])
    }
}

/// READ (10) or WRITE (10).
pub fn transfer(code: u8, lba: u8, len: usize) -> [u8; 10] {
    let blocks = (len / 512) as u16;
    let [high, low] = blocks.to_be_bytes();
    [code, 0, 0, 0, 0, lba, 0, high, low, 0]
}

/// A buffer that differs from others.
pub fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8) ^ seed).collect()
}

/// The reserved tag, for functions about no task.
pub const NO_TASK: u32 = RESERVED_TAG;
