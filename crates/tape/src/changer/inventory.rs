//! What is in which element, and its file: a text that is replaced as a whole, so that after any interruption either the old or
//! the new state is there.

use super::{DRIVES_FROM, MAILSLOTS_FROM, ROBOT, SLOTS_FROM};
use crate::shelf::{Case, INVENTORY, Shelf};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

/// The kind of an element, by its type code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ElementKind {
    Robot = 1,
    Slot = 2,
    Mailslot = 3,
    Drive = 4,
}

impl ElementKind {
    pub const ALL: [ElementKind; 4] =
        [ElementKind::Robot, ElementKind::Slot, ElementKind::Mailslot, ElementKind::Drive];
}

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub address: u16,
    pub kind: ElementKind,
    pub barcode: Option<String>,
    /// The slot that its cartridge came from.
    pub source: Option<u16>,
    /// An operator put the cartridge there.
    pub imported: bool,
}

impl Element {
    /// Takes the cartridge out, with the slot that it came from.
    pub fn empty(&mut self) -> (Option<String>, Option<u16>) {
        (self.barcode.take(), self.source.take())
    }
}

/// All elements, in order of their addresses.
pub(crate) struct Inventory {
    pub elements: Vec<Element>,
    shelf: Arc<Shelf>,
}

const FIRST_LINE: &str = "wirespeed-library 1";

impl Inventory {
    /// The elements of a library; what is stored is in them, as far as there are so many and the cartridges are there.
    pub fn open(
        shelf: Arc<Shelf>,
        slots: u16,
        mailslots: u16,
        drives: u16,
    ) -> io::Result<Inventory> {
        let counts = [
            (ElementKind::Robot, ROBOT, 1),
            (ElementKind::Mailslot, MAILSLOTS_FROM, mailslots),
            (ElementKind::Drive, DRIVES_FROM, drives),
            (ElementKind::Slot, SLOTS_FROM, slots),
        ];
        let elements = counts.into_iter().flat_map(|(kind, first, count)| {
            let of = move |address| Element {
                address,
                kind,
                barcode: None,
                source: None,
                imported: false,
            };
            (first..first + count).map(of)
        });
        let mut inventory = Inventory { elements: elements.collect(), shelf };
        if let Some(text) = inventory.shelf.inventory()? {
            inventory.parse(&text)?;
        }
        Ok(inventory)
    }

    /// A cartridge on its shelf.
    pub fn case(&self, barcode: &str) -> Case {
        Case { shelf: Arc::clone(&self.shelf), barcode: barcode.to_owned() }
    }

    /// The index of an address.
    pub fn index(&self, address: u16) -> Option<usize> {
        self.elements.iter().position(|one| one.address == address)
    }

    /// The element of an address.
    pub fn at(&self, address: u16) -> Option<&Element> {
        self.elements.get(self.index(address)?)
    }

    /// The first address of a kind, and how many there are.
    pub fn range(&self, kind: ElementKind) -> (u16, u16) {
        let mut of_kind = self.elements.iter().filter(|one| one.kind == kind);
        let count = of_kind.clone().count() as u16;
        (of_kind.next().map_or(0, |one| one.address), count)
    }

    /// Looks which cartridges there are; whether something changed. `imports`: new ones may come into import and export
    /// elements.
    pub fn rescan(&mut self, imports: bool) -> io::Result<bool> {
        let before = self.elements.clone();
        let there = self.shelf.barcodes()?;
        for element in self.elements.iter_mut().filter(|one| one.kind != ElementKind::Drive) {
            if element.barcode.as_ref().is_some_and(|barcode| !there.contains(barcode)) {
                element.empty();
            }
        }
        let known: BTreeSet<String> =
            self.elements.iter().filter_map(|one| one.barcode.clone()).collect();
        for barcode in there.difference(&known) {
            self.put(barcode, imports);
        }
        let changed = self.elements != before;
        if changed && let Err(error) = self.store() {
            self.elements = before;
            return Err(error);
        }
        Ok(changed)
    }

    /// Puts a new cartridge where there is room: first where operators put it.
    pub fn put(&mut self, barcode: &str, imports: bool) {
        let kinds: &[ElementKind] =
            if imports { &[ElementKind::Mailslot, ElementKind::Slot] } else { &[] };
        let free = kinds.iter().find_map(|kind| {
            self.elements.iter().position(|one| one.kind == *kind && one.barcode.is_none())
        });
        if let Some(index) = free {
            let element = &mut self.elements[index];
            element.barcode = Some(barcode.to_owned());
            element.imported = element.kind == ElementKind::Mailslot;
        }
    }

    /// Puts a new cartridge into the first free slot; whether there was one.
    pub fn shelve(&mut self, barcode: &str) -> bool {
        let free =
            self.elements.iter_mut().find(|o| o.kind == ElementKind::Slot && o.barcode.is_none());
        let Some(element) = free else { return false };
        element.barcode = Some(barcode.to_owned());
        true
    }

    /// Puts the cartridge of each slot into the drive of its number.
    pub fn load_all(&mut self) {
        let ((slots, count), (drives, _)) =
            (self.range(ElementKind::Slot), self.range(ElementKind::Drive));
        for number in 0..count {
            let (slot, drive) = (slots + number, drives + number);
            let ends = self.index(slot).zip(self.index(drive));
            let Some((from, to)) = ends else { continue };
            let barcode = self.elements[from].empty().0;
            let element = &mut self.elements[to];
            (element.source, element.barcode) = (barcode.as_ref().map(|_| slot), barcode);
        }
    }

    /// Keeps it.
    pub fn store(&self) -> io::Result<()> {
        let mut text = format!("{FIRST_LINE}\n");
        for one in &self.elements {
            let Some(barcode) = &one.barcode else { continue };
            let source = one.source.unwrap_or(0);
            let imported = if one.imported { " imported" } else { "" };
            // A String takes every line.
            let _ = writeln!(text, "element {} {barcode} {source}{imported}", one.address);
        }
        let crc = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, "crc {crc:08x}");
        self.shelf.keep_inventory(&text)
    }

    fn parse(&mut self, text: &str) -> io::Result<()> {
        let damaged = || {
            let what =
                format!("{INVENTORY} is damaged; remove it, and all cartridges are in slots");
            io::Error::new(io::ErrorKind::InvalidData, what)
        };
        let (body, crc) = text.trim_end().rsplit_once('\n').ok_or_else(damaged)?;
        let body = format!("{body}\n");
        let stored = crc.strip_prefix("crc ").and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let mut lines = body.lines();
        if stored != Some(crc32c::crc32c(body.as_bytes())) || lines.next() != Some(FIRST_LINE) {
            return Err(damaged());
        }
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, address, barcode, source, rest @ ..] = words.as_slice() else {
                return Err(damaged());
            };
            let address: u16 = address.parse().map_err(|_| damaged())?;
            let source: u16 = source.parse().map_err(|_| damaged())?;
            // What has no element any more is found among the cartridges, and put into another.
            if let Some(index) = self.index(address) {
                let element = &mut self.elements[index];
                element.barcode = Some((*barcode).to_owned());
                element.source = Some(source).filter(|source| *source != 0);
                element.imported = *rest == ["imported"];
            }
        }
        Ok(())
    }
}
