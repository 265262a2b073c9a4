//! What only `ioctl(SIOCETHTOOL)` tells of an interface (linux/ethtool.h): its link's speed, its driver, and its features,
//! which it also sets. The kernel fills a buffer whose size it takes from the command or from its own tables, so each
//! command here says why its buffer is long enough.

use libc::{c_char, c_int};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Commands of linux/ethtool.h.
const GET_DRIVER: u32 = 0x03;
const GET_STRINGS: u32 = 0x1b;
const GET_SET_SIZE: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const GET_LINK: u32 = 0x4c;

/// The string set of the features' names.
const FEATURES: u32 = 4;
/// Bytes of a name in a string set.
const NAME: usize = 32;
/// Features that a kernel can have, at most: twice what its own type (`netdev_features_t`, 64 bits) holds.
const FEATURES_MAX: u32 = 128;
/// The speed of a link that is down, or that has none.
const UNKNOWN: u32 = u32::MAX;

/// The features of an interface, a bit each, in the order of their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// Can be changed.
    pub(crate) changeable: u128,
    /// Were asked for; what another feature or the driver forbids is off all the same.
    pub(crate) wanted: u128,
    pub(crate) active: u128,
}

/// An interface, asked by its name.
pub(crate) struct Ethtool {
    socket: OwnedFd,
    name: [c_char; libc::IFNAMSIZ],
}

impl Ethtool {
    /// Any socket will do to ask through, in the network namespace of this thread.
    pub(crate) fn open(interface: &str) -> io::Result<Ethtool> {
        let bytes = interface.as_bytes();
        let mut name = [0; libc::IFNAMSIZ];
        // One byte less: it ends in a zero.
        if bytes.is_empty() || bytes.len() >= name.len() || bytes.contains(&0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in name.iter_mut().zip(bytes) {
            *to = *from as c_char;
        }
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        Ok(Ethtool { socket, name })
    }

    /// Has the kernel read a command from `words`, and write its answer over it.
    /// # Safety
    /// `words` must be as long as the command's structure with everything behind it that the kernel fills.
    unsafe fn command(&self, words: &mut [u32]) -> io::Result<()> {
        let data = words.as_mut_ptr().cast::<c_char>();
        let mut request = libc::ifreq {
            ifr_name: self.name,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: data },
        };
        let fd = self.socket.as_raw_fd();
        // SAFETY: the descriptor is open, the request names an interface in a string that ends in a zero, and its data is
        // writable for as long as the caller promised.
        let rc: c_int = unsafe { libc::ioctl(fd, libc::SIOCETHTOOL as _, &raw mut request) };
        if rc >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The speed of the link in Mb/s; `None` where it is down, or where there is none.
    pub(crate) fn speed(&self) -> io::Result<Option<u32>> {
        // `struct ethtool_link_settings`: 12 words, then three masks of as many words as byte 15 says.
        const HEAD: usize = 12;
        let mut words = [0u32; HEAD];
        words[0] = GET_LINK;
        // SAFETY: with masks of no words, the kernel fills the structure alone.
        unsafe { self.command(&mut words)? };
        // It answers how long masks are, as a negative number.
        let masks = -i32::from(words[3].to_ne_bytes()[3] as i8);
        let Ok(masks @ 1..) = u8::try_from(masks) else { return Ok(None) };
        let mut words = vec![0u32; HEAD + 3 * usize::from(masks)];
        words[0] = GET_LINK;
        words[3] = u32::from_ne_bytes([0, 0, 0, masks]);
        // SAFETY: three masks of the length that the kernel asked for follow the structure.
        unsafe { self.command(&mut words)? };
        Ok((words[1] != UNKNOWN && words[1] != 0).then_some(words[1]))
    }

    /// The driver's name.
    pub(crate) fn driver(&self) -> io::Result<String> {
        // `struct ethtool_drvinfo`: the command, then 32 bytes of name, 196 bytes in all.
        let mut words = [0u32; 49];
        words[0] = GET_DRIVER;
        // SAFETY: it is the whole structure, which has nothing behind it.
        unsafe { self.command(&mut words)? };
        Ok(text(&words[1..9]))
    }

    /// The names of the features, by their bits; an empty one is a bit without a feature.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let count = self.count()?;
        // The set's number and its length, then the names.
        let mut words = vec![0u32; 3 + count as usize * NAME / 4];
        (words[0], words[1], words[2]) = (GET_STRINGS, FEATURES, count);
        // SAFETY: the set's length, which the kernel told and which never changes while it runs, is the room behind the head.
        unsafe { self.command(&mut words)? };
        Ok(words[3..].chunks_exact(NAME / 4).map(text).collect())
    }

    fn count(&self) -> io::Result<u32> {
        // `struct ethtool_sset_info`: command, reserved, a mask of 64 bits, and a word for each set asked for.
        let mut words = [0u32; 5];
        words[0] = GET_SET_SIZE;
        let mask = (1u64 << FEATURES).to_ne_bytes();
        for (word, half) in words[2..4].iter_mut().zip(mask.as_chunks().0) {
            *word = u32::from_ne_bytes(*half);
        }
        // SAFETY: one set is asked for, and there is a word for it.
        unsafe { self.command(&mut words)? };
        match words[4] {
            count @ 1..=FEATURES_MAX => Ok(count),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The state of all features.
    pub(crate) fn features(&self) -> io::Result<Features> {
        // `struct ethtool_gfeatures`: command, number of blocks, then four words a block of 32 features.
        const BLOCKS: usize = FEATURES_MAX as usize / 32;
        let mut words = [0u32; 2 + 4 * BLOCKS];
        (words[0], words[1]) = (GET_FEATURES, BLOCKS as u32);
        // SAFETY: no more blocks are filled than are said to be there.
        unsafe { self.command(&mut words)? };
        let mut all = Features::default();
        for (block, words) in words[2..].chunks_exact(4).enumerate() {
            let at = |word: u32| u128::from(word) << (32 * block);
            // The fourth names those that no interface can change; they are not among those that can be.
            all.changeable |= at(words[0] & !words[3]);
            all.wanted |= at(words[1]);
            all.active |= at(words[2]);
        }
        Ok(all)
    }

    /// Asks for these features, a bit each: those of `which`, as they are in `on`.
    pub(crate) fn set_features(&self, count: usize, which: u128, on: u128) -> io::Result<()> {
        // `struct ethtool_sfeatures`: command, number of blocks, then two words a block. The number must be the kernel's.
        let blocks = count.div_ceil(32).min(FEATURES_MAX as usize / 32);
        let mut words = vec![0u32; 2 + 2 * blocks];
        (words[0], words[1]) = (SET_FEATURES, blocks as u32);
        for (block, words) in words[2..].chunks_exact_mut(2).enumerate() {
            let of = |bits: u128| (bits >> (32 * block)) as u32;
            (words[0], words[1]) = (of(which), of(on & which));
        }
        // SAFETY: as many blocks are read as are said to be there, and nothing is written.
        unsafe { self.command(&mut words) }
    }
}

/// Bytes up to the first zero, in words.
fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0);
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_tells_what_it_can() {
        let lo = Ethtool::open("lo").unwrap();
        let names = lo.names().unwrap();
        let bit = |name: &str| names.iter().position(|one| one == name).unwrap();
        let features = lo.features().unwrap();
        assert_ne!(features.active & (1 << bit("tx-tcp-segmentation")), 0);
        // Every kernel holds this one on for the loopback.
        assert_ne!(features.active & (1 << bit("loopback")), 0);
        assert_eq!(features.changeable & (1 << bit("loopback")), 0);
        assert!(lo.speed().is_err() || lo.speed().unwrap().is_none());
    }

    #[test]
    fn names_that_no_interface_has_are_refused() {
        for wrong in ["", "sixteen-letters-", "a\0b"] {
            assert!(Ethtool::open(wrong).is_err(), "{wrong:?}");
        }
        let nobody = Ethtool::open("no-such-one").unwrap();
        assert_eq!(nobody.features().unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
