//! A client of HTTP/1.1 as small as these tests need, over plain sockets: what a server is sent is exactly what stands here.

use crate::prelude::*;
use crate::program::support::Bench;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;

/// Guards against a server that hangs; nothing is measured by it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The page, served over a bench's folder.
pub struct Served {
    pub child: Child,
    /// `127.0.0.1:PORT`.
    pub host: String,
}

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Served {
    pub fn start(bench: &Bench, args: &[&str]) -> Served {
        Served::at("127.0.0.1:0", bench, args)
    }

    /// Served at an address, which need not be loopback.
    pub fn at(address: &str, bench: &Bench, args: &[&str]) -> Served {
        let fixed = ["serve", ".", "--listen", address];
        let mut command = bench.command(&[&fixed[..], args].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut said = BufReader::new(child.stderr.take().expect("it is a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a pipe can be read");
        let place = line.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let host = place.unwrap_or_else(|| panic!("no address in {line:?}")).to_owned();
        // What it says later must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Served { child, host }
    }

    /// A connection to it.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        stream
    }

    /// Sends these bytes, and reads one answer.
    #[track_caller]
    pub fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("it reads");
        answer(stream)
    }

    /// Asks for a path with headers and a body.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.host);
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() || method != "GET" {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        self.raw(&format!("{request}\r\n{body}"))
    }

    /// A page or a document.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    /// A document that is to be there.
    #[track_caller]
    pub fn document(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// A change, as a program asks for it.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("Wirespeed-Request", "1"), ("Content-Type", "application/json")];
        self.ask(method, path, &headers, &body.to_string())
    }

    /// A change, as a form of its own page asks for it.
    #[track_caller]
    pub fn form(&self, path: &str, body: &str) -> Answer {
        let origin = format!("http://{}", self.host);
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        self.ask("POST", path, &[("Origin", &origin), kind], body)
    }

    /// The identifiers of the records in the library, once all are read.
    #[track_caller]
    pub fn records(&self, count: usize) -> Vec<Value> {
        for _ in 0..600 {
            let all = self.document("/api/v1/records");
            let all = all["records"].as_array().cloned().unwrap_or_default();
            if all.len() == count && all.iter().all(|one| !one["summary"].is_null()) {
                return all;
            }
            clock::sleep_until(clock::now().plus(Ns::millis(100)));
        }
        panic!("the library has not read {count} records");
    }

    /// Kilobytes of memory in use.
    pub fn memory_kb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let line = line.expect("a process has memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// Reads one answer to its end, whatever its form.
#[track_caller]
pub fn answer(stream: TcpStream) -> Answer {
    let mut reader = BufReader::new(stream);
    let (status, head) = head(&mut reader);
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let mut body = Vec::new();
    if header("transfer-encoding").as_deref() == Some("chunked") {
        while let Some(part) = chunk(&mut reader) {
            body.extend(part);
        }
    } else if let Some(length) = header("content-length") {
        body = vec![0; length.parse().expect("a length")];
        reader.read_exact(&mut body).expect("a whole body");
    } else {
        let _ = reader.read_to_end(&mut body);
    }
    Answer { status, head, body }
}

/// The head of an answer; status 0 where the connection was closed without one.
pub fn head(reader: &mut BufReader<TcpStream>) -> (u16, String) {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        head += &line;
    }
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    (status.unwrap_or(0), head)
}

/// The next part of a body in parts; `None` at its end.
pub fn chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim(), 16).ok().filter(|length| *length > 0)?;
    let mut part = vec![0; length + 2];
    reader.read_exact(&mut part).ok()?;
    part.truncate(length);
    Some(part)
}

/// A stream of events: name and data of each, until it ends.
pub struct Events {
    reader: BufReader<TcpStream>,
    text: String,
}

impl Events {
    #[track_caller]
    pub fn open(served: &Served, path: &str) -> Events {
        let mut stream = served.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", served.host);
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut reader = BufReader::new(stream);
        let (status, head) = head(&mut reader);
        assert_eq!(status, 200, "{path}: {head}");
        Events { reader, text: String::new() }
    }

    /// The next event with data.
    pub fn next(&mut self) -> Option<(String, Value)> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
                };
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    return Some((name, serde_json::from_str(&data).expect("data is JSON")));
                }
            }
            let part = chunk(&mut self.reader)?;
            self.text += &String::from_utf8(part).expect("events are text");
        }
    }
}
