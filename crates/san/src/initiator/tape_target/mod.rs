//! Tape drives as targets of copies: `tape://HOST[:PORT]/TARGET/LUN`, with the LUN of the changer and the barcodes of cartridges
//! behind it. A drive is written and read from the beginning of its first cartridge to the end of its last.

mod append;
mod changer;
mod drive;
mod queue;

use super::initiator_name;
use clock::Ns;
use disk::{Opener, RemoteAccess, Resolver, Unreachable};
use drive::{TapeAddress, TapeDrive, TapeTrouble};
use engine::RunSecret;
use guard::{ReadableMedium, Remote, Warrant, WriteClaim};
use queue::TapeOpener;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The scheme of their URLs.
pub const TAPE_SCHEME: &str = "tape";

/// The size of a drive as a target, which has none: no copy reaches it.
const SIZE: u64 = 1 << 44;

/// Data transfer elements, and the first of them in a library where the URL names none.
const DRIVES_FROM: u16 = 256;

/// Finds drives by their URLs.
#[derive(Debug, Default)]
pub struct Tapes;

/// A drive that was found, with a cartridge.
pub struct TapeTarget {
    url: String,
    drive: Mutex<TapeDrive>,
    /// Vendor, product and unit serial number.
    model: String,
    serial: String,
    cartridges: String,
    /// The first bytes of its cartridge.
    beginning: Vec<u8>,
}

/// The reservation of a drive.
struct TapeClaim(Arc<TapeTarget>);

/// Reads a URL.
fn address(url: &str) -> Result<TapeAddress, Unreachable> {
    let wrong = |why: String| Unreachable::Url(format!("{why}, in `{url}`"));
    let rest = url.strip_prefix("tape:").ok_or_else(|| wrong("it is no URL of a tape".into()))?;
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (target, lun) = place.rsplit_once('/').ok_or_else(|| wrong("the LUN is missing".into()))?;
    let lun: u16 = lun.parse().map_err(|_| wrong(format!("`{lun}` is no LUN")))?;
    let mut found = TapeAddress {
        drive: format!("iscsi:{place}"),
        changer: None,
        cartridges: Vec::new(),
        retry: Ns::ZERO,
        initiator: initiator_name(),
    };
    let mut element = None;
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let number =
            || value.parse::<u16>().map_err(|_| wrong(format!("{key}: `{value}` is no number")));
        match key {
            "changer" => found.changer = Some((format!("iscsi:{target}/{value}"), number()?)),
            "element" => element = Some(number()?),
            "cartridges" => found.cartridges = value.split('+').map(str::to_owned).collect(),
            "retry" => {
                let time = units::parse_duration(value);
                found.retry = time.map_err(|e| wrong(format!("retry: {e}")))?.into();
            }
            _ => {
                let known = "`changer`, `element`, `cartridges` and `retry`";
                return Err(wrong(format!("`{key}` is no option of a tape; there are {known}")));
            }
        }
    }
    if let Some((_, changer)) = &mut found.changer {
        // Drives follow their changer, in the order of their elements.
        let behind = lun.checked_sub(*changer).and_then(|n| n.checked_sub(1));
        let behind = behind.map(|n| DRIVES_FROM + n);
        *changer = element.or(behind).ok_or_else(|| wrong("`element` is missing".into()))?;
    } else if !found.cartridges.is_empty() {
        return Err(wrong("`cartridges` needs a `changer`".into()));
    }
    Ok(found)
}

impl TapeTarget {
    fn find(url: &str) -> Result<TapeTarget, TapeFault> {
        let address = address(url)?;
        let cartridges = address.cartridges.join("+");
        let mut drive = TapeDrive::open(address)?;
        let mut inquiry = [0; 36];
        drive.ask(&[0x12, 0, 0, 0, 36, 0], &mut inquiry).map_err(TapeFault::command)?;
        if inquiry[0] & 0x1f != 1 {
            return Err(Unreachable::Target("it is no tape drive".to_owned()).into());
        }
        let mut page = [0; 255];
        let len = drive.ask(&[0x12, 1, 0x80, 0, 255, 0], &mut page).map_err(TapeFault::command)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let beginning = drive.beginning()?;
        Ok(TapeTarget {
            url: url.to_owned(),
            model: format!("{} {}", text(&inquiry[8..16]), text(&inquiry[16..32])),
            serial: text(page.get(4..len).unwrap_or_default()),
            cartridges,
            beginning,
            drive: Mutex::new(drive),
        })
    }

    fn drive(&self) -> MutexGuard<'_, TapeDrive> {
        self.drive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a drive cannot be found.
struct TapeFault(Unreachable);

impl TapeFault {
    fn command(e: super::CommandError) -> TapeFault {
        TapeFault(Unreachable::Target(e.to_string()))
    }
}

impl From<Unreachable> for TapeFault {
    fn from(e: Unreachable) -> TapeFault {
        TapeFault(e)
    }
}

impl From<TapeTrouble> for TapeFault {
    fn from(e: TapeTrouble) -> TapeFault {
        TapeFault(Unreachable::Target(e.text))
    }
}

impl Resolver for Tapes {
    fn find(&self, url: &str, _: Option<&RunSecret>) -> Result<Arc<dyn Remote>, Unreachable> {
        Ok(Arc::new(TapeTarget::find(url).map_err(|TapeFault(e)| e)?))
    }

    fn opener(&self, targets: Vec<RemoteAccess>) -> Result<Box<dyn Opener>, Unreachable> {
        let one = || Unreachable::Url("a tape drive has a worker of its own".to_owned());
        let [access] = <[RemoteAccess; 1]>::try_from(targets).map_err(|_| one())?;
        let any: Arc<dyn Any + Send + Sync> = access.remote().clone();
        let target = any.downcast::<TapeTarget>().map_err(|_| one())?;
        Ok(Box::new(TapeOpener::new(access, target)))
    }
}

impl fmt::Debug for TapeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TapeTarget({})", self.url)
    }
}

impl fmt::Debug for TapeClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TapeClaim({})", self.0.url)
    }
}

impl ReadableMedium for TapeTarget {
    fn size(&self) -> u64 {
        SIZE
    }

    /// What stands at the beginning of the first cartridge; zeroes behind it.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.beginning.len());
        let there = &self.beginning[from..];
        let n = there.len().min(out.len());
        out[..n].copy_from_slice(&there[..n]);
        out[n..].fill(0);
        Ok(())
    }
}

impl Remote for TapeTarget {
    fn what(&self) -> String {
        let on = if self.cartridges.is_empty() { "" } else { " with " };
        format!("the tape drive {} ({}){on}{}", self.model, self.serial, self.cartridges)
    }

    fn block(&self) -> u32 {
        512
    }

    fn is_sequential(&self) -> bool {
        true
    }

    fn identity(&self) -> Vec<(&'static str, String)> {
        let cartridge = self.drive().cartridge().to_owned();
        vec![
            ("model", self.model.clone()),
            ("serial", self.serial.clone()),
            (
                "cartridges",
                if self.cartridges.is_empty() { cartridge } else { self.cartridges.clone() },
            ),
        ]
    }

    fn serial(&self) -> Option<&str> {
        Some(&self.serial)
    }

    /// A drive of ours, as far as it says: what asks for it by a number of this run is on this machine.
    fn is_made_for_a_run(&self) -> bool {
        self.model.starts_with("WIRESPED")
    }

    fn forbids(&self) -> Vec<String> {
        let mut mode = [0; 4];
        let protected = match self.drive().ask(&[0x1a, 0x08, 0, 0, 4, 0], &mut mode) {
            Ok(_) => mode[2] & 0x80 != 0,
            Err(_) => false,
        };
        protected.then(|| "its cartridge is write protected".to_owned()).into_iter().collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![("model", self.model.clone()), ("serial", self.serial.clone())];
        all.push(("cartridge", self.drive().cartridge().to_owned()));
        all
    }

    fn persistent_reserve_in(&self, command: &[u8; 10]) -> io::Result<Option<Vec<u8>>> {
        if self.drive().is_reserved() {
            // RESERVE UNIT and persistent reservations exclude each other.
            return Ok(None);
        }
        let mut room = vec![0; usize::from(u16::from_be_bytes([command[7], command[8]]))];
        match self.drive().ask(command, &mut room) {
            Ok(len) => {
                room.truncate(len);
                Ok(Some(room))
            }
            Err(e) if e.is_unknown() => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn is_ours(&self, key: u64) -> bool {
        super::keys::is_ours(key)
    }

    fn flush(&self) -> io::Result<()> {
        self.drive().flush().map_err(|e| io::Error::other(e.text))
    }

    fn claim(self: Arc<Self>, _warrant: Warrant) -> io::Result<Arc<dyn WriteClaim>> {
        self.drive().reserve().map_err(|e| io::Error::other(e.text))?;
        Ok(Arc::new(TapeClaim(self)))
    }
}

impl WriteClaim for TapeClaim {
    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a tape is not filled before it is written"))
    }

    fn describe(&self) -> String {
        "reserved (RESERVE UNIT)".to_owned()
    }

    fn still_held(&self) -> Result<(), String> {
        // A drive at work answers each write with a reservation conflict if it is another's.
        Ok(())
    }
}

impl Drop for TapeClaim {
    fn drop(&mut self) {
        self.0.drive().release();
    }
}
