//! Sources that misbehave: agents and exporters that are silent, slow, broken, endless, or say nonsense. Whoever asks waits no
//! longer than it said, and gets no number.

use crate::support::{look, trouble};
use clock::Ns;
use probe::credentials::Credentials;
use probe::scrape::Exporter;
use probe::snmp::Snmp;
use probe::source::{Amount, Look, Place, Source, Trouble};
use probe::watch::Watch;
use record::CounterId;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

/// An agent that answers each request with what this makes of it, until it is dropped.
struct BadAgent {
    address: String,
    _end: Sender<()>,
}

/// What an exporter does with a connection.
type Answers = fn(TcpStream);

fn agent(answer: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static) -> BadAgent {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("an address").to_string();
    socket.set_read_timeout(Some(Ns::millis(100).into())).expect("a timeout");
    let (end, ended) = mpsc::channel();
    thread::spawn(move || {
        let mut request = [0; 65_536];
        while ended.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
            let Ok((length, from)) = socket.recv_from(&mut request) else { continue };
            if let Some(bytes) = answer(&request[..length]) {
                let _ = socket.send_to(&bytes, from);
            }
        }
    });
    BadAgent { address, _end: end }
}

fn snmp(agent: &BadAgent, credentials: &str) -> Watch {
    let credentials = Credentials::parse(credentials).expect("credentials");
    let source = Snmp::new(&agent.address, &credentials).expect("a source");
    Watch::start("bad", Box::new(source)).expect("a thread")
}

const V2C: &str = "community = public";
const V3: &str = "user = a\nauthentication-password = 12345678\nprivacy-password = 12345678";

#[test]
fn an_agent_that_says_nonsense_has_no_ports() {
    type Answer = fn(&[u8]) -> Option<Vec<u8>>;
    let answers: [(&str, Answer); 8] = [
        ("silent", |_| None),
        ("empty", |_| Some(Vec::new())),
        ("an echo", |request| Some(request.to_vec())),
        ("cut off", |request| Some(request[..request.len() / 2].to_vec())),
        ("text", |_| Some(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())),
        ("zeros", |_| Some(vec![0; 60_000])),
        ("long lengths", |_| {
            Some([vec![0x30, 0x84, 0xff, 0xff, 0xff, 0xff], vec![0x30; 900]].concat())
        }),
        // A response with an error: too big, and then nothing that was asked for.
        ("refusing", |request| {
            let mut answer = request.to_vec();
            let pdu = answer.iter().position(|b| matches!(*b, 0xa0 | 0xa1 | 0xa5))?;
            answer[pdu] = 0xa2;
            Some(answer)
        }),
    ];
    let waited: Vec<_> = answers
        .into_iter()
        .flat_map(|(what, answer)| [V2C, V3].map(|user| (what, answer, user)))
        .map(|(what, answer, user)| {
            thread::spawn(move || {
                let agent = agent(answer);
                let watch = snmp(&agent, user);
                trouble(&watch, Ns::secs(8));
                assert_eq!(watch.latest(clock::now()), None, "{what}");
            })
        })
        .collect();
    waited.into_iter().for_each(|thread| thread.join().expect("no source breaks its asker"));
}

/// Serves connections one after the other by this.
fn exporter(serve: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten().take(64) {
            serve(stream);
        }
    });
    address
}

fn scraped(address: &str) -> Watch {
    let source = Exporter::new(address, &Credentials::default()).expect("a source");
    Watch::start("bad", Box::new(source)).expect("a thread")
}

/// Reads the request and answers.
fn reply(mut stream: TcpStream, answer: &[u8]) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request);
    let _ = stream.write_all(answer);
}

fn page(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[test]
fn an_exporter_that_says_nonsense_has_no_places() {
    let kinds: [(&str, Answers); 7] = [
        ("closes", drop),
        ("is silent", |stream| {
            clock::sleep_until(clock::now().plus(Ns::secs(6)));
            drop(stream);
        }),
        ("drips", |mut stream| {
            for _ in 0..60 {
                let _ = stream.write_all(b"H");
                clock::sleep_until(clock::now().plus(Ns::millis(100)));
            }
        }),
        ("is cut off", |stream| {
            reply(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nnode_disk")
        }),
        ("has another page", |stream| reply(stream, &page("<html></html>"))),
        ("says no", |stream| reply(stream, b"HTTP/1.1 503 Later\r\n\r\n")),
        ("has no end", |mut stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while stream.write_all(&[b'#'; 65_536]).is_ok() {}
        }),
    ];
    for (what, serve) in kinds {
        let watch = scraped(&exporter(serve));
        trouble(&watch, Ns::secs(8));
        assert_eq!(watch.latest(clock::now()), None, "{what}");
    }
}

#[test]
fn an_exporter_that_begins_anew_or_loses_a_device_leaves_holes() {
    let bytes = Arc::new(Mutex::new(String::new()));
    let own = Arc::clone(&bytes);
    let address = exporter(move |stream| reply(stream, &page(&own.lock().expect("a page"))));
    let write = |boot: u64, of: &[(&str, u64)]| {
        let line = |(disk, bytes): &(&str, u64)| {
            format!("node_disk_read_bytes_total{{device=\"{disk}\"}} {bytes}\n")
        };
        let lines: String = of.iter().map(line).collect();
        *bytes.lock().expect("a page") = format!("node_boot_time_seconds {boot}\n{lines}");
    };
    write(7, &[("sda", 100), ("sdb", 10)]);
    let watch = scraped(&address);
    watch.places(clock::now().plus(Ns::secs(5))).expect("two disks");
    let read = |boot, of: &[(&str, u64)]| {
        write(boot, of);
        let totals = look(&watch).expect("a look");
        let value = |place: &Vec<(CounterId, f64)>| place.first().map(|entry| entry.1);
        totals.places.iter().map(value).collect::<Vec<_>>()
    };
    assert_eq!(read(7, &[("sda", 150), ("sdb", 10)]), [Some(0.0), Some(0.0)]);
    assert_eq!(read(7, &[("sda", 175)]), [Some(25.0), None]);
    assert_eq!(read(7, &[("sdb", 99), ("sda", 180), ("sdc", 5)]), [Some(30.0), Some(89.0)]);
    let anew = read(8, &[("sda", 500), ("sdb", 500)]);
    assert!(anew.iter().all(|value| value.is_some_and(f64::is_nan)));
    assert_eq!(read(8, &[("sda", 504), ("sdb", 500)])[0], Some(34.0));
}

/// A source that hangs in its second look, or breaks down there.
struct Hangs {
    looks: u32,
    breaks: bool,
}

impl Source for Hangs {
    fn discover(&mut self) -> Result<Vec<Place>, Trouble> {
        Ok(vec![Place::default()])
    }

    fn look(&mut self) -> Result<Option<Look>, Trouble> {
        self.looks += 1;
        if self.looks == 2 {
            assert!(!self.breaks, "a source that breaks down");
            clock::sleep_until(Ns::MAX);
        }
        let places = vec![vec![(CounterId::ReadOps, Amount::wide(1))]];
        Ok(Some(Look { at: clock::now(), life: 0, places }))
    }
}

#[test]
fn a_source_that_hangs_or_breaks_down_holds_up_nobody() {
    for breaks in [false, true] {
        let watch = Watch::start("hangs", Box::new(Hangs { looks: 0, breaks })).expect("a thread");
        watch.places(clock::now().plus(Ns::secs(5))).expect("a place");
        let first = look(&watch).expect("a look");
        for _ in 0..3 {
            watch.ask();
            let seen = watch.latest(clock::now().plus(Ns::millis(20)));
            // The last look until its patience ends; none at once where its reader is gone.
            assert!(seen.is_none() || seen == Some(first.clone()));
        }
        let until = clock::now().plus(probe::watch::PATIENCE).plus(Ns::millis(100));
        clock::sleep_until(until);
        assert_eq!(watch.latest(clock::now().plus(Ns::millis(200))), None);
        let codes: Vec<&str> = watch.news().into_iter().map(|news| news.code).collect();
        assert_eq!(codes, ["counters-lost"]);
        drop(watch);
    }
}
