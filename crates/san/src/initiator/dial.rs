//! Session setup: a TCP connection and the login. It blocks, for a bounded time, before a worker's start.

use super::link::{Link, Lost};
use super::network;
use super::url::{PortalUrl, Secrets, SessionOptions};
use clock::Ns;
use iscsi::chap::{Challenge, ChapError, Credentials, Secret};
use iscsi::discovery;
use iscsi::initiator::{LoginNumbers, Session, Settings};
use iscsi::login::{
    Initiator, InitiatorAuth, InitiatorConfig, InitiatorStep, IscsiName, Login, LoginError,
    MAX_LOGIN_PDU, NameError,
};
use iscsi::params::DesiredParams;
use iscsi::pdu::Isid;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;
use thiserror::Error;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a login may take in all.
const LOGIN: Ns = Ns::secs(10);

/// Redirections that are followed.
const REDIRECTIONS: u32 = 4;

/// Data of one write that goes unasked, and data of one sequence: enough that no target is asked twice for a usual block.
const BURST: u32 = 1 << 20;

/// The longest data segment that is taken.
const SEGMENT: u32 = 1 << 20;

/// Why there is no session.
#[derive(Debug, Error)]
pub enum DialError {
    /// The portal does not answer.
    #[error("{portal} cannot be reached ({error}); is a target listening there?")]
    Unreachable {
        /// Where.
        portal: String,
        /// What the system says.
        error: io::Error,
    },
    /// A name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The login failed.
    #[error("{portal} refuses the login: {error}")]
    Login {
        /// Where.
        portal: String,
        /// Why.
        error: LoginError,
    },
    /// The connection broke, or nothing came for too long.
    #[error("{portal} broke off the login ({error})")]
    Broken {
        /// Where.
        portal: String,
        /// What the system says.
        error: io::Error,
    },
    /// A secret is unavailable or invalid.
    #[error("{0}")]
    Secret(String),
    /// The target sends from one place to the next.
    #[error("{0} redirects too many times")]
    Redirected(String),
    /// What came after the login makes no sense.
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// Which session.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    pub portal: &'a PortalUrl,
    /// The target; nothing for a discovery session.
    pub target: Option<&'a str>,
    pub options: SessionOptions,
    pub initiator: &'a str,
    /// What makes this session another one than the rest of this initiator.
    pub isid: Isid,
    /// How many commands can be under way.
    pub slots: u32,
}

/// A connection that has logged in.
struct Entered {
    socket: TcpStream,
    login: Login,
    /// What was read behind the login's last PDU.
    early: Vec<u8>,
}

/// Which session a connection belongs to.
#[derive(Clone, Copy)]
struct SessionSlot {
    /// 0 for a new one.
    tsih: u16,
    cid: u16,
    cmd_sn: u32,
}

impl Call<'_> {
    /// Connects and logs in, over as many connections as were asked for; follows redirections. Yields the session and,
    /// if the target reports it, the tag of the portal group of the connection.
    pub fn enter(&self) -> Result<(Link, Option<u16>), DialError> {
        let auth = auth(self.portal)?;
        let (mut host, mut port) = (self.portal.host.clone(), self.portal.port);
        let leading = SessionSlot { tsih: 0, cid: 0, cmd_sn: 1 };
        for _ in 0..=REDIRECTIONS {
            match self.once(&host, port, leading, auth.clone())? {
                DialOutcome::In(entered) => return self.complete(*entered, (&host, port), &auth),
                DialOutcome::Elsewhere(to) => (host, port) = (to.host, to.port),
            }
        }
        Err(DialError::Redirected(self.portal.to_string()))
    }

    /// The rest of the session's connections, as far as the target lets them in: without them it works as well.
    fn complete(
        &self,
        entered: Entered,
        portal: (&str, u16),
        auth: &InitiatorAuth,
    ) -> Result<(Link, Option<u16>), DialError> {
        let Entered { socket, login, early } = entered;
        let settings = Settings::from(&login.params);
        let session = Session::new(settings, LoginNumbers::from(&login), self.slots);
        let mut link = Link::new(socket, session, &early)?;
        let wished = self.options.connections.get();
        let most = u16::from(wished).min(login.params.max_connections.max(1));
        if most < wished.into() {
            link.falls_short(wished, format!("the target allows {most}"));
        }
        for cid in 1..most {
            let place = SessionSlot { tsih: login.tsih, cid, cmd_sn: link.session().next_cmd_sn() };
            match self.once(portal.0, portal.1, place, auth.clone()) {
                Ok(DialOutcome::In(entered)) => link.join(
                    entered.socket,
                    Settings::from(&entered.login.params),
                    LoginNumbers::from(&entered.login),
                    &entered.early,
                )?,
                Ok(DialOutcome::Elsewhere(_)) => {
                    link.falls_short(wished, "the target redirects the next connection".to_owned());
                    break;
                }
                Err(e) => {
                    link.falls_short(wished, e.to_string());
                    break;
                }
            }
        }
        Ok((link, login.portal_group))
    }

    fn once(
        &self,
        host: &str,
        port: u16,
        place: SessionSlot,
        auth: InitiatorAuth,
    ) -> Result<DialOutcome, DialError> {
        let portal =
            PortalUrl { host: host.to_owned(), port, user: None, secret: None }.to_string();
        let mut socket = connect(host, port)
            .map_err(|error| DialError::Unreachable { portal: portal.clone(), error })?;
        let SessionSlot { tsih, cid, cmd_sn } = place;
        let config = InitiatorConfig {
            name: self.initiator.parse()?,
            alias: None,
            target: self.target.map(str::parse::<IscsiName>).transpose()?,
            auth,
            wishes: wishes(self.options),
            isid: self.isid,
            tsih,
            cid,
            cmd_sn,
        };
        let challenge =
            challenge().map_err(|e| DialError::Secret(format!("no random bytes ({e})")))?;
        let mut machine = Initiator::new(config, challenge);
        let ended = talk(&mut socket, &mut machine).map_err(|trouble| match trouble {
            Trouble::Io(error) => DialError::Broken { portal: portal.clone(), error },
            Trouble::Login(error) => DialError::Login { portal: portal.clone(), error: *error },
        })?;
        Ok(match ended {
            Talk::In(login, early) => {
                DialOutcome::In(Box::new(Entered { socket, login: *login, early }))
            }
            Talk::Elsewhere(to) => DialOutcome::Elsewhere(to),
        })
    }
}

enum DialOutcome {
    In(Box<Entered>),
    Elsewhere(discovery::DiscoveredPortal),
}

enum Talk {
    /// The login is over; what was read behind it.
    In(Box<Login>, Vec<u8>),
    Elsewhere(discovery::DiscoveredPortal),
}

enum Trouble {
    Io(io::Error),
    Login(Box<LoginError>),
}

impl From<io::Error> for Trouble {
    fn from(e: io::Error) -> Trouble {
        Trouble::Io(e)
    }
}

impl From<LoginError> for Trouble {
    fn from(e: LoginError) -> Trouble {
        Trouble::Login(Box::new(e))
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let all: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    for address in all {
        match network::connect(&address, CONNECT) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Carries the login to its end.
fn talk(socket: &mut TcpStream, machine: &mut Initiator) -> Result<Talk, Trouble> {
    let deadline = clock::now().plus(LOGIN);
    let mut read = Vec::new();
    socket.set_write_timeout(Some(CONNECT))?;
    socket.write_all(&machine.start())?;
    loop {
        let Some((used, step)) = machine.receive(&read)? else {
            fill(socket, &mut read, deadline)?;
            continue;
        };
        read.drain(..used);
        match step {
            InitiatorStep::Send(bytes) => socket.write_all(&bytes)?,
            InitiatorStep::Done(login) => return Ok(Talk::In(login, read)),
            InitiatorStep::Redirected { to, .. } => return Ok(Talk::Elsewhere(to)),
        }
    }
}

/// Reads some more, until the deadline at the longest.
fn fill(socket: &mut TcpStream, read: &mut Vec<u8>, deadline: Ns) -> io::Result<()> {
    let silent = || io::Error::new(io::ErrorKind::TimedOut, "it takes too long");
    let left = deadline.since(clock::now());
    if left == Ns::ZERO || read.len() >= MAX_LOGIN_PDU {
        return Err(silent());
    }
    socket.set_read_timeout(Some(Duration::from_nanos(left.0)))?;
    let mut part = [0; 4096];
    match socket.read(&mut part) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(n) => {
            read.extend_from_slice(&part[..n]);
            Ok(())
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(silent()),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(e) => Err(e),
    }
}

fn wishes(options: SessionOptions) -> DesiredParams {
    DesiredParams {
        header_digest: SessionOptions::digest(options.header_digest),
        data_digest: SessionOptions::digest(options.data_digest),
        initial_r2t: options.initial_r2t,
        immediate_data: options.immediate_data,
        max_connections: options.connections.get().into(),
        max_recv: SEGMENT,
        max_burst: BURST,
        first_burst: BURST / 4,
        ..DesiredParams::default()
    }
}

fn auth(portal: &PortalUrl) -> Result<InitiatorAuth, DialError> {
    let Some(user) = &portal.user else { return Ok(InitiatorAuth::None) };
    let secrets = match &portal.secret {
        Some(secret) => Ok(Secrets { own: secret.reveal().as_bytes().to_vec(), mutual: None }),
        None => Secrets::from_environment(),
    };
    let Secrets { own, mutual } = secrets.map_err(DialError::Secret)?;
    let secret =
        |bytes: &[u8]| Secret::new(bytes).map_err(|e: ChapError| DialError::Secret(e.to_string()));
    let target = mutual.map(|bytes| secret(&bytes)).transpose()?;
    Ok(InitiatorAuth::Chap {
        user: Credentials { name: user.clone(), secret: secret(&own)? },
        // The target's name in CHAP is its own affair; what proves it is the secret.
        target: target.map(|secret| Credentials { name: String::new(), secret }),
    })
}

/// A fresh random challenge.
fn challenge() -> io::Result<Challenge> {
    let (mut id, mut bytes) = ([0; 1], [0; 32]);
    clock::unpredictable(&mut id)?;
    clock::unpredictable(&mut bytes)?;
    Ok(Challenge { id: id[0], bytes })
}
