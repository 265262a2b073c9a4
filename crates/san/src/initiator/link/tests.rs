//! Whatever a target answers in whatever order and in whatever pieces it comes: data is where it belongs.

use super::*;
use clock::Rng;
use iscsi::digest::{self, RunningDigest};
use iscsi::initiator::{Cdb, Command, CommandEnd, Transfer};
use iscsi::pdu::{
    BHS_LEN, DataIn, DataInStatus, Lun, NopIn, RESERVED_TAG, Request, Residual, Response,
    ScsiResponse, Sequence, ServiceResponse, TaskAttribute,
};
use std::io::{Read, Write};
use std::net::TcpListener;

const SLOTS: u32 = 12;
const ROOM: usize = 64 << 10;

/// Buffers in one piece of memory.
struct Slots(*mut u8);

impl Buffers for Slots {
    fn slot(&self, slot: u32) -> Option<(*mut u8, usize)> {
        (slot < SLOTS).then(|| (self.0.wrapping_add(slot as usize * ROOM), ROOM))
    }
}

/// Byte `at` of the data of a command.
fn byte(tag: u32, at: usize) -> u8 {
    (tag ^ tag >> 13).wrapping_mul(31).wrapping_add(at as u32 ^ (at >> 8) as u32) as u8
}

/// How a target behaves.
#[derive(Clone, Copy, Debug)]
struct Manner {
    header_digest: bool,
    data_digest: bool,
    /// The longest piece of data.
    segment: u32,
    /// The status comes by itself.
    apart: bool,
    /// In percent: answers out of order, failed commands, pings in between.
    disorder: u64,
    failures: u64,
    pings: u64,
}

struct Play {
    link: Link,
    peer: TcpStream,
    manner: Manner,
    rng: Rng,
    memory: Box<[u8]>,
    stat_sn: u32,
    /// Slots under way, with the tag and the length of the command and whether it fails.
    open: Vec<Option<(u32, u32, bool)>>,
    /// What the target has said and the socket has not taken.
    said: Vec<u8>,
    ended: u32,
}

impl Play {
    fn new(manner: Manner, seed: u64) -> Play {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (peer, _) = listener.accept().expect("a connection");
        let settings = Settings {
            send_segment: 8192,
            receive_segment: 1 << 20,
            first_burst: 8192,
            max_burst: 8192,
            initial_r2t: true,
            immediate_data: false,
            max_outstanding_r2t: 1,
            header_digest: manner.header_digest,
            data_digest: manner.data_digest,
        };
        let start = LoginNumbers { cmd_sn: 1, max_cmd_sn: 1 << 20, stat_sn: 1, cid: 0 };
        let link = Link::new(near, Session::new(settings, start, SLOTS), &[]).expect("a socket");
        let memory = vec![0; SLOTS as usize * ROOM].into_boxed_slice();
        let (rng, open) = (Rng::keyed(seed, &[1]), vec![None; SLOTS as usize]);
        Play { link, peer, manner, rng, memory, stat_sn: 1, open, said: Vec::new(), ended: 0 }
    }

    fn buffers(&mut self) -> Slots {
        Slots(self.memory.as_mut_ptr())
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.rng.next_u64() % 100 < percent
    }

    /// Gives commands to all free slots, and has the target answer them.
    fn ask(&mut self) {
        let mut asked = 0;
        for slot in 0..SLOTS {
            if self.open[slot as usize].is_none() && self.chance(70) {
                let len =
                    [512, 513, 4096, 8192, 40_000, 65_536][(self.rng.next_u64() % 6) as usize];
                let (transfer, attribute) = (Transfer::In(len), TaskAttribute::Simple);
                let command =
                    Command { lun: Lun::default(), cdb: Cdb::read(0, 1), transfer, attribute };
                self.link.session().command(slot, &command).expect("there is room");
                asked += 1;
            }
        }
        let buffers = self.buffers();
        self.link.send(&buffers).expect("it goes");
        let head = BHS_LEN + if self.manner.header_digest { 4 } else { 0 };
        let mut tags = Vec::new();
        for _ in 0..asked {
            let mut bytes = vec![0; head];
            self.peer.read_exact(&mut bytes).expect("a command");
            let request = Request::parse(bytes.first_chunk().expect("48 bytes"), &[]);
            let Ok(Request::Command(pdu)) = request else { panic!("a command") };
            let fails = self.chance(self.manner.failures);
            self.open[(pdu.task_tag & 0xffff) as usize] =
                Some((pdu.task_tag, pdu.expected_len, fails));
            tags.push((pdu.task_tag, pdu.expected_len, fails));
        }
        if self.chance(self.manner.disorder) && tags.len() > 1 {
            let at = (self.rng.next_u64() as usize) % tags.len();
            tags.rotate_left(at);
        }
        tags.into_iter().for_each(|(tag, len, fails)| self.answer(tag, len, fails));
    }

    fn sequence(&mut self, status: bool) -> Sequence {
        let stat_sn = self.stat_sn;
        self.stat_sn += u32::from(status);
        Sequence { stat_sn, exp_cmd_sn: 1, max_cmd_sn: 1 << 20 }
    }

    fn answer(&mut self, tag: u32, len: u32, fails: bool) {
        if self.chance(self.manner.pings) {
            let sequence = self.sequence(false);
            let (lun, data_len) = (Lun::default(), 5);
            let (task_tag, transfer_tag) = (RESERVED_TAG, RESERVED_TAG);
            let ping = NopIn { lun, task_tag, transfer_tag, sequence, data_len };
            self.say(ping.into(), b"hello");
        }
        let mut at = 0;
        while at < len && !fails {
            let data_len = self.manner.segment.min(len - at);
            let last = at + data_len == len && !self.manner.apart;
            let sequence = self.sequence(last);
            let pdu = DataIn {
                is_final: last,
                acknowledge: false,
                status: last.then_some(DataInStatus { status: 0, residual: Residual::None }),
                lun: Lun::default(),
                task_tag: tag,
                transfer_tag: RESERVED_TAG,
                sequence,
                data_sn: at / self.manner.segment,
                offset: at,
                data_len,
            };
            let data: Vec<u8> = (at..at + data_len).map(|at| byte(tag, at as usize)).collect();
            self.say(pdu.into(), &data);
            at += data_len;
        }
        if fails || self.manner.apart {
            let sequence = self.sequence(true);
            let pdu = ScsiResponse {
                response: ServiceResponse::Completed,
                status: if fails { 8 } else { 0 },
                task_tag: tag,
                snack_tag: 0,
                sequence,
                exp_data_sn: 0,
                read_residual: Residual::None,
                residual: Residual::None,
                data_len: 0,
            };
            self.say(pdu.into(), &[]);
        }
    }

    fn say(&mut self, pdu: Response, data: &[u8]) {
        let header = pdu.encode();
        self.said.extend(header);
        if self.manner.header_digest {
            self.said.extend(digest::of(&header));
        }
        if data.is_empty() {
            return;
        }
        self.said.extend(data);
        let zeros = &[0; 3][..data.len().wrapping_neg() % 4];
        self.said.extend(zeros);
        if self.manner.data_digest {
            self.said.extend(RunningDigest::default().and(data).and(zeros).bytes());
        }
    }

    /// A part of what was said comes, and is taken in.
    fn listen(&mut self) {
        let most = [1, 47, 48, 49, 100, 4096, 9000, 70_000, 1 << 20];
        let most = most[(self.rng.next_u64() % most.len() as u64) as usize];
        let part: Vec<u8> = self.said.drain(..most.min(self.said.len())).collect();
        self.peer.set_nonblocking(false).expect("a socket");
        self.peer.write_all(&part).expect("there is room");
        let mut done = Vec::new();
        let buffers = self.buffers();
        let mut heard = |event| match event {
            Event::Done { slot, ending } => done.push((slot, ending)),
            other => panic!("{other:?}"),
        };
        while self.link.receive(&buffers, &mut heard).expect("a sound target") {}
        for (slot, ending) in done {
            self.check(slot, ending);
        }
    }

    fn check(&mut self, slot: u32, ending: CommandEnd) {
        let (tag, len, fails) = self.open[slot as usize].take().expect("it was under way");
        self.ended += 1;
        let CommandEnd::Status { status, moved, .. } = ending else { panic!("{ending:?}") };
        assert_eq!((status, moved), if fails { (8, 0) } else { (0, len) });
        let data = &self.memory[slot as usize * ROOM..][..moved as usize];
        let wrong = data.iter().enumerate().find(|(at, found)| **found != byte(tag, *at));
        assert_eq!(wrong, None, "slot {slot}, {len} bytes, {:?}", self.manner);
    }
}

#[track_caller]
fn check(manner: Manner) {
    for seed in 0..3 {
        let mut play = Play::new(manner, seed);
        for _ in 0..15 {
            play.ask();
            for _ in 0..6 {
                play.listen();
            }
        }
        while !play.said.is_empty() || play.open.iter().any(Option::is_some) {
            play.listen();
        }
        assert!(play.ended > 30, "{} commands, {manner:?}", play.ended);
    }
}

const PLAIN: Manner = Manner {
    header_digest: false,
    data_digest: false,
    segment: 1 << 20,
    apart: false,
    disorder: 0,
    failures: 0,
    pings: 0,
};

#[test]
fn data_is_where_it_belongs_whatever_the_target_does() {
    check(PLAIN);
    check(Manner { segment: 8192, ..PLAIN });
    check(Manner { segment: 1000, ..PLAIN });
    check(Manner { apart: true, ..PLAIN });
    check(Manner { disorder: 50, ..PLAIN });
    check(Manner { failures: 20, pings: 20, ..PLAIN });
    check(Manner { segment: 4096, apart: true, disorder: 30, failures: 10, pings: 10, ..PLAIN });
}

#[test]
fn data_is_where_it_belongs_with_digests() {
    let digests = Manner { header_digest: true, data_digest: true, ..PLAIN };
    check(digests);
    check(Manner { header_digest: false, segment: 1001, ..digests });
    check(Manner { data_digest: false, disorder: 50, ..digests });
    check(Manner { segment: 4095, apart: true, disorder: 30, failures: 10, pings: 10, ..digests });
}
