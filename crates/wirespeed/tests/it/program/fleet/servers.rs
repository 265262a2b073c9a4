//! What tests of fleets need around the program: a NATS server that may be restarted, a wire to it that may be cut or damage
//! what it carries, and a client of its own, written from the protocol's description, that shares no code with the program.

use crate::prelude::*;
use crate::program::support::{Bench, program};
use std::io::Write;
use std::net::{Shutdown, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A child that does not outlive its test.
pub struct Keeper(pub Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Keeper {
    pub fn signal(&self, signal: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().expect("kill runs");
        assert!(sent.success(), "signal {signal}");
    }
}

/// Waits until something is there, so long as a busy machine may need.
#[track_caller]
pub fn wait_for<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3_600 {
        if let Some(found) = there() {
            return found;
        }
        pause(Ns::millis(50));
    }
    panic!("waited three minutes for {what}");
}

pub fn pause(time: Ns) {
    clock::sleep_until(clock::now().plus(time));
}

/// A NATS server with JetStream, on loopback.
pub struct NatsServer {
    dir: TempDir,
    pub port: u16,
    config: Option<String>,
    child: Option<Keeper>,
}

impl NatsServer {
    /// `None`, and a line that says so, where there is no server on this machine.
    pub fn start(config: Option<&str>) -> Option<NatsServer> {
        let there = Command::new("nats-server").arg("--version").stdout(Stdio::null()).status();
        if there.is_err() {
            assert!(std::env::var_os("CI").is_none(), "there is no nats-server here");
            println!("skipped: there is no nats-server here");
            return None;
        }
        let dir = tempfile::tempdir().expect("a scratch directory");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("bound").port();
        drop(free);
        let config = config.map(str::to_owned);
        let mut server = NatsServer { dir, port, config, child: None };
        server.up();
        Some(server)
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn up(&mut self) {
        let mut command = Command::new("nats-server");
        let (port, store) = (self.port.to_string(), self.dir.path().join("store"));
        command.args(["-a", "127.0.0.1", "-p", &port, "-js", "-sd"]).arg(&store);
        if let Some(config) = &self.config {
            let path = self.dir.path().join("server.conf");
            fs::write(&path, config).expect("the configuration is written");
            command.arg("-c").arg(path);
        }
        let log = File::create(self.dir.path().join("log")).expect("a log");
        command.stdout(Stdio::null()).stderr(log);
        self.child = Some(Keeper(command.spawn().expect("nats-server starts")));
        wait_for("the server", || TcpStream::connect(("127.0.0.1", self.port)).ok());
    }

    pub fn process(&self) -> u32 {
        self.child.as_ref().map_or(0, |child| child.0.id())
    }

    /// Kills it as a power failure of its process does.
    pub fn down(&mut self) {
        self.child = None;
    }
}

/// A wire to a server that can be cut, and that damages what it is told to.
pub struct Wire {
    pub port: u16,
    cut: Arc<AtomicBool>,
    damage: Arc<AtomicUsize>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    pub fn to(server: u16) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let wire = Wire { port, cut: Arc::default(), damage: Arc::default(), open: Arc::default() };
        let (cut, damage, open) =
            (Arc::clone(&wire.cut), Arc::clone(&wire.damage), Arc::clone(&wire.open));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                if cut.load(Ordering::SeqCst) {
                    continue;
                }
                let mut all = open.lock().expect("no panics");
                for end in [&client, &upstream] {
                    all.push(end.try_clone().expect("a descriptor"));
                }
                drop(all);
                let back = (upstream.try_clone(), client.try_clone());
                let damage = Arc::clone(&damage);
                std::thread::spawn(move || carry(client, upstream, Some(&damage)));
                if let (Ok(from), Ok(to)) = back {
                    std::thread::spawn(move || carry(from, to, None));
                }
            }
        });
        wire
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        for end in self.open.lock().expect("no panics").drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    pub fn mend(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }

    /// Damages so many of the next batches of intervals: one bit of each.
    pub fn damage(&self, batches: usize) {
        self.damage.store(batches, Ordering::SeqCst);
    }

    pub fn damage_left(&self) -> usize {
        self.damage.load(Ordering::SeqCst)
    }
}

/// Carries bytes one way until either end closes.
fn carry(mut from: TcpStream, mut to: TcpStream, damage: Option<&AtomicUsize>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let word = b"Intervals";
        let at = bytes[..count].windows(word.len()).position(|window| window == word);
        if let (Some(at), Some(damage)) = (at, damage)
            && at + 40 < count
            && damage.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
        {
            bytes[at + 39] ^= 0x10;
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// A client by the protocol's description: it subscribes, publishes, and hears messages.
pub struct Client {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Client {
    pub fn new(port: u16) -> Client {
        let writer = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        let reader = BufReader::new(writer.try_clone().expect("a descriptor"));
        let mut client = Client { reader, writer };
        client.say("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n");
        client
    }

    fn say(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).expect("the server listens");
    }

    pub fn subscribe(&mut self, subject: &str) {
        self.say(&format!("SUB {subject} 1\r\n"));
    }

    pub fn publish(&mut self, subject: &str, payload: &[u8]) {
        let mut bytes = format!("PUB {subject} {}\r\n", payload.len()).into_bytes();
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(b"\r\n");
        self.writer.write_all(&bytes).expect("the server listens");
    }

    pub fn request(&mut self, subject: &str, reply: &str, payload: &[u8]) {
        self.publish(&format!("{subject} {reply}"), payload);
    }

    /// The next message: its subject, where an answer is wanted, and its payload.
    pub fn next(&mut self) -> (String, Option<String>, Vec<u8>) {
        loop {
            let mut line = String::new();
            assert!(self.reader.read_line(&mut line).expect("the server speaks") > 0, "it closed");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["PING"] => self.say("PONG\r\n"),
                ["MSG", subject, _, rest @ ..] => {
                    let size: usize = rest.last().expect("a size").parse().expect("a size");
                    let reply = (rest.len() == 2).then(|| rest[0].to_owned());
                    return ((*subject).to_owned(), reply, self.payload(size));
                }
                ["HMSG", subject, _, rest @ ..] => {
                    let sizes: Vec<usize> =
                        rest.iter().filter_map(|word| word.parse().ok()).collect();
                    let [.., head, all] = sizes[..] else { panic!("sizes: {line}") };
                    let reply = (rest.len() == 3).then(|| rest[0].to_owned());
                    return ((*subject).to_owned(), reply, self.payload(all)[head..].to_vec());
                }
                _ => {}
            }
        }
    }

    fn payload(&mut self, size: usize) -> Vec<u8> {
        let mut payload = vec![0; size + 2];
        self.reader.read_exact(&mut payload).expect("the server speaks");
        payload.truncate(size);
        payload
    }
}

/// An agent of the program.
pub fn agent(bench: &Bench, url: &str, name: &str, more: &[&str]) -> Keeper {
    agent_of(bench.command(&[]), bench, url, name, more)
}

/// One that another program starts, whose last words are these.
pub fn agent_by(
    mut starter: Command,
    bench: &Bench,
    url: &str,
    name: &str,
    more: &[&str],
) -> Keeper {
    bench.surround(&mut starter);
    starter.arg(program());
    agent_of(starter, bench, url, name, more)
}

/// One that this command is, once it is told what it is to be.
pub fn agent_of(
    mut command: Command,
    bench: &Bench,
    url: &str,
    name: &str,
    more: &[&str],
) -> Keeper {
    let log = File::create(bench.path(&format!("{name}.log"))).expect("a log");
    command.args(["agent", "--join", url, "--name", name]);
    if !more.contains(&"--spool") {
        command.args(["--spool", "."]);
    }
    command.args(more);
    Keeper(command.stdout(Stdio::null()).stderr(log).spawn().expect("the program starts"))
}
