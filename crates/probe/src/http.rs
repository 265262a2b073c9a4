//! One request of HTTP/1.1, plain or over TLS, with a deadline and a bound: what scraping an exporter takes, and nothing else.

#[cfg(feature = "tls")]
use crate::trust::Trust;
use clock::Ns;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Bytes of a page at most.
pub const PAGE_MAX: usize = 32 << 20;
const HEAD_MAX: usize = 64 << 10;

/// Where a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAddress {
    /// `HOST:PORT`.
    pub authority: String,
    /// With its leading slash.
    pub path: String,
}

/// Nobody is trusted without TLS.
#[cfg(not(feature = "tls"))]
#[derive(Clone, Copy, Debug)]
pub enum Trust {}

/// A connection on which nothing takes longer than until a moment, however slowly the other end drips.
struct Timed {
    stream: TcpStream,
    until: Ns,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.since(clock::now()) {
            Ns::ZERO => Err(io::Error::new(ErrorKind::TimedOut, SLOW)),
            left => Ok(Some(left.into())),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(to)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Why nothing came.
const SLOW: &str = "it is too slow";

/// An error in words: one of a timeout says the same however it came about, and one of TLS says that it is.
fn words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => SLOW.to_owned(),
        ErrorKind::InvalidData => match error.to_string() {
            why if why.contains("UnknownIssuer") => {
                "its certificate is of no authority that is trusted here: name the one that signed it, `ca = FILE` in the file of \
                 credentials"
                    .to_owned()
            }
            why if why.contains("CaUsedAsEndEntity") => {
                "its certificate is that of an authority (`CA:TRUE`) and none of a host: have one made for the host".to_owned()
            }
            why => format!("TLS: {why}"),
        },
        _ => error.to_string(),
    }
}

/// Fetches a page, over TLS where whom to trust is given. `authorization` is the value of that header.
/// # Errors
/// A sentence: it cannot be reached, is late, too long, cut off, not trusted, or says no.
pub fn get(
    at: &PageAddress,
    trust: Option<&Trust>,
    authorization: Option<&str>,
    until: Ns,
) -> Result<String, String> {
    let addresses = at.authority.to_socket_addrs().map_err(|e| e.to_string())?;
    let mut tried = Err("its name has no address".to_owned());
    for address in addresses.take(4) {
        let left = until.since(clock::now());
        if left == Ns::ZERO {
            return Err(SLOW.to_owned());
        }
        tried = TcpStream::connect_timeout(&address, left.into()).map_err(|e| words(&e));
        if tried.is_ok() {
            break;
        }
    }
    let stream = Timed { stream: tried?, until };
    let allowed = authorization.map_or(String::new(), |text| format!("Authorization: {text}\r\n"));
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: text/plain;version=0.0.4\r\nConnection: close\r\n{allowed}\r\n",
        at.path, at.authority
    );
    match trust {
        None => ask(stream, &request),
        #[cfg(not(feature = "tls"))]
        Some(trust) => match *trust {},
        #[cfg(feature = "tls")]
        Some(trust) => {
            let host = at.authority.rsplit_once(':').map_or(&*at.authority, |(host, _)| host);
            ask(rustls::StreamOwned::new(trust.session(host)?, stream), &request)
        }
    }
}

/// Sends a request and reads until the page is whole.
fn ask(mut stream: impl Read + Write, request: &str) -> Result<String, String> {
    stream.write_all(request.as_bytes()).map_err(|e| words(&e))?;
    let (mut all, mut part) = (Vec::new(), vec![0_u8; 64 << 10]);
    loop {
        if let Some(page) = answer(&all, false)? {
            return Ok(page);
        }
        if all.len() > PAGE_MAX {
            return Err(format!("its page is longer than {PAGE_MAX} bytes"));
        }
        match stream.read(&mut part) {
            Ok(0) => return answer(&all, true)?.ok_or_else(|| "its answer is cut off".to_owned()),
            Ok(length) => all.extend_from_slice(&part[..length]),
            Err(error) => return Err(words(&error)),
        }
    }
}

/// The page of an answer, once it is whole; `ended` where no more bytes come.
/// # Errors
/// It is no answer of HTTP, or one that says no.
pub fn answer(bytes: &[u8], ended: bool) -> Result<Option<String>, String> {
    let Some(end) = bytes.windows(4).take(HEAD_MAX).position(|four| four == b"\r\n\r\n") else {
        let long = bytes.len() > HEAD_MAX || ended && !bytes.is_empty();
        return if long { Err("it does not speak HTTP".to_owned()) } else { Ok(None) };
    };
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let code = status.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    match code {
        Some("200") => {}
        Some(code) if code.bytes().all(|b| b.is_ascii_digit()) => {
            return Err(format!("it answers {code}"));
        }
        _ => return Err("it does not speak HTTP".to_owned()),
    }
    let header = |name: &str| {
        head.split("\r\n").skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let body = &bytes[end + 4..];
    let whole = if header("transfer-encoding").is_some_and(|of| of.eq_ignore_ascii_case("chunked"))
    {
        chunked(body)?
    } else if let Some(length) = header("content-length") {
        let length: usize = length.parse().map_err(|_| "its length is no number".to_owned())?;
        body.get(..length).map(<[u8]>::to_vec)
    } else {
        ended.then(|| body.to_vec())
    };
    match whole {
        Some(whole) => {
            String::from_utf8(whole).map(Some).map_err(|_| "its page is no text".to_owned())
        }
        None => Ok(None),
    }
}

/// The bytes of chunks, once the last one is there.
fn chunked(mut body: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut out = Vec::new();
    loop {
        let Some(end) = body.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
        let size = String::from_utf8_lossy(&body[..end]);
        let size = size.split(';').next().unwrap_or_default().trim();
        let wrong = || "its chunks are broken".to_owned();
        let size = usize::from_str_radix(size, 16).map_err(|_| wrong())?;
        let rest = &body[end + 2..];
        if size == 0 {
            return Ok(Some(out));
        }
        let next = size.checked_add(2).filter(|next| *next <= PAGE_MAX).ok_or_else(wrong)?;
        let (Some(chunk), Some(behind)) = (rest.get(..size), rest.get(next..)) else {
            return Ok(None);
        };
        out.extend_from_slice(chunk);
        body = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn a_page_is_whole_or_not_yet_or_never() {
        let page = |text: &str, ended| answer(text.as_bytes(), ended);
        let whole = Ok(Some("a 1\n".to_owned()));
        assert_eq!(page("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\nmore", false), whole);
        assert_eq!(page("HTTP/1.0 200 OK\r\n\r\na 1\n", true), whole);
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\na \r\n2\r\n1\n\r\n0\r\n\r\n";
        assert_eq!(page(chunks, false), whole);
        for end in 0..chunks.len() - 5 {
            assert_eq!(page(&chunks[..end], false), Ok(None), "{end}");
        }
        for wrong in [
            "SSH-2.0\r\n\r\n",
            "HTTP/1.1 403 No\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            "HTTP/1.1 200",
        ] {
            assert!(page(wrong, true).is_err(), "{wrong}");
        }
        assert_eq!(page("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na 1\n", true), Ok(None));
    }
}
