//! Keys of hosts, switches and arrays that say where their counters come from.

use super::{KeyField, PLAIN, TableDef, Type, optional, required};

pub(super) const COUNTERS: KeyField = optional(
    "counters",
    Type::Refs("a source of counters"),
    "Source of its counters in a live run, or a list of them: `local` (the machine that runs the scenario), \
     `snmp://HOST[:PORT]`, or `prometheus://HOST:PORT[/PATH]` (with TLS `prometheus+https://`).",
);
pub(super) const CREDENTIALS: KeyField = optional(
    "credentials",
    Type::Text,
    "Path of the file with the credentials for `counters`, readable by its owner only.",
);
pub(super) const IDENTITIES: KeyField = optional(
    "identities",
    Type::Tables(&IDENTITY),
    "Which port or part of the device is which hop.",
);

static IDENTITY: TableDef = TableDef {
    title: "an identity",
    id: "identity",
    doc: "A hop of a device and the identity under which the device counts it. Names are compared exactly; nothing is \
          guessed from similar names.",
    fields: &[
        required("hop", Type::Text, "The hop: `esx.hba:0`, `fabric:3`, `ssd1:0`."),
        required(
            "is",
            Type::Text,
            "WWPN, MAC address, serial number, ifAlias, or the exact name that the source uses: `eth1/3`, `host4`.",
        ),
    ],
    ..PLAIN
};
