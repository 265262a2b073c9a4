//! Counters of Windows: physical disks, processors, network interfaces, in English, German, French and Spanish.

use super::model::{Flow, Leg, Measure, Place};
use super::pdh::{CounterName, Meaning};
use record::HopKind;

const SECOND: f64 = 1e9;

/// Objects by their names in each language.
const OBJECTS: &[(&str, &[&str])] = &[
    ("disk", &["PhysicalDisk", "Physikalischer Datenträger", "Disque physique", "Disco físico"]),
    ("logical", &["LogicalDisk", "Logischer Datenträger", "Disque logique", "Disco lógico"]),
    ("cpu", &["Processor", "Prozessor", "Processeur", "Procesador"]),
    (
        "cpu",
        &[
            "Processor Information",
            "Prozessorinformationen",
            "Informations sur le processeur",
            "Información del procesador",
        ],
    ),
    ("net", &["Network Interface", "Netzwerkschnittstelle", "Interface réseau", "Interfaz de red"]),
    ("net", &["Network Adapter", "Netzwerkadapter", "Carte réseau", "Adaptador de red"]),
];

/// Counters by their names in each language.
const COUNTERS: &[(&str, &[&str])] = &[
    ("reads", &["Disk Reads/sec", "Lesevorgänge/s", "Lectures disque/s", "Lecturas de disco/s"]),
    (
        "writes",
        &["Disk Writes/sec", "Schreibvorgänge/s", "Écritures disque/s", "Escrituras en disco/s"],
    ),
    (
        "read-bytes",
        &[
            "Disk Read Bytes/sec",
            "Bytes gelesen/s",
            "Lectures disque, octets/s",
            "Bytes leídos de disco/s",
        ],
    ),
    (
        "write-bytes",
        &[
            "Disk Write Bytes/sec",
            "Bytes geschrieben/s",
            "Écritures disque, octets/s",
            "Bytes escritos en disco/s",
        ],
    ),
    (
        "read-time",
        &[
            "Avg. Disk sec/Read",
            "Mittlere Sek./Lesevorgänge",
            "Moyenne disque s/lecture",
            "Promedio de segundos de disco/lectura",
        ],
    ),
    (
        "write-time",
        &[
            "Avg. Disk sec/Write",
            "Mittlere Sek./Schreibvorgänge",
            "Moyenne disque s/écriture",
            "Promedio de segundos de disco/escritura",
        ],
    ),
    // Of both directions together, where a log has no more.
    (
        "transfers",
        &[
            "Disk Transfers/sec",
            "Übertragungen/s",
            "Transferts disque/s",
            "Transferencias de disco/s",
        ],
    ),
    ("bytes", &["Disk Bytes/sec", "Bytes/s", "Octets disque/s", "Bytes de disco/s"]),
    (
        "time",
        &[
            "Avg. Disk sec/Transfer",
            "Mittlere Sek./Übertragung",
            "Moyenne disque s/transfert",
            "Promedio de segundos de disco/transferencia",
        ],
    ),
    (
        "mean-queue",
        &[
            "Avg. Disk Queue Length",
            "Durchschnittl. Warteschlangenlänge des Datenträgers",
            "Longueur moyenne de file d'attente du disque",
            "Longitud promedio de la cola de disco",
        ],
    ),
    (
        "queue",
        &[
            "Current Disk Queue Length",
            "Aktuelle Warteschlangenlänge",
            "Longueur actuelle de file d'attente du disque",
            "Longitud actual de la cola de disco",
        ],
    ),
    ("idle", &["% Idle Time", "Leerlaufzeit (%)", "% d'inactivité", "% de tiempo inactivo"]),
    (
        "cpu",
        &[
            "% Processor Time",
            "Prozessorzeit (%)",
            "% temps processeur",
            "% de tiempo de procesador",
        ],
    ),
    (
        "received",
        &["Bytes Received/sec", "Empfangene Bytes/s", "Octets reçus/s", "Bytes recibidos/s"],
    ),
    ("sent", &["Bytes Sent/sec", "Bytes gesendet/s", "Octets envoyés/s", "Bytes enviados/s"]),
    (
        "speed",
        &[
            "Current Bandwidth",
            "Aktuelle Bandbreite",
            "Bande passante actuelle",
            "Ancho de banda actual",
        ],
    ),
    (
        "discards",
        &[
            "Packets Outbound Discarded",
            "Ausgehende Pakete, verworfen",
            "Paquets sortants rejetés",
            "Paquetes de salida descartados",
        ],
    ),
];

fn known(
    table: &'static [(&'static str, &'static [&'static str])],
    name: &str,
) -> Option<&'static str> {
    let same = |other: &&str| other.to_lowercase() == name.to_lowercase();
    table.iter().find(|(_, names)| names.iter().any(&same)).map(|(word, _)| *word)
}

/// What a column is; `None` for one that explains nothing.
pub(super) fn meaning(name: &CounterName<'_>) -> Option<Meaning> {
    let object = known(OBJECTS, name.object)?;
    let counter = known(COUNTERS, name.counter)?;
    match object {
        "disk" if name.instance != "_Total" => disk(name, counter, false),
        // A volume of Windows: what its disks count, where these are in the file.
        "logical" if name.instance != "_Total" => disk(name, counter, true),
        "cpu" if matches!(name.instance, "_Total" | "") && counter == "cpu" => {
            let place = Place::new(HopKind::HostCpu, "host.cpu", name.host);
            Some(Meaning::new(place, Measure::Cpu, 0.01))
        }
        "net" => {
            let (measure, factor) = match counter {
                "received" => (Measure::Bytes(Flow::Read), 1.0),
                "sent" => (Measure::Bytes(Flow::Write), 1.0),
                "speed" => (Measure::Speed, 1.0 / 8.0),
                _ => return None,
            };
            let place = Place::new(HopKind::InitiatorPort, name.instance, name.host);
            Some(Meaning::new(place, measure, factor))
        }
        _ => None,
    }
}

fn disk(name: &CounterName<'_>, counter: &str, within: bool) -> Option<Meaning> {
    let mut place = Place::new(HopKind::BlockDevice, name.instance, name.host);
    place.within = within;
    let (measure, factor) = match counter {
        "reads" => (Measure::Ops(Flow::Read), 1.0),
        "writes" => (Measure::Ops(Flow::Write), 1.0),
        "read-bytes" => (Measure::Bytes(Flow::Read), 1.0),
        "write-bytes" => (Measure::Bytes(Flow::Write), 1.0),
        "read-time" => (Measure::Time(Leg::All, Flow::Read), SECOND),
        "write-time" => (Measure::Time(Leg::All, Flow::Write), SECOND),
        "transfers" => (Measure::Ops(Flow::Any), 1.0),
        "bytes" => (Measure::Bytes(Flow::Any), 1.0),
        "time" => (Measure::Time(Leg::All, Flow::Any), SECOND),
        "mean-queue" => (Measure::InFlight, 1.0),
        "queue" => (Measure::InFlightEnd, 1.0),
        "idle" => {
            let busy = Meaning::new(place, Measure::Busy, 0.01);
            return Some(Meaning { less_from: Some(100.0), ..busy });
        }
        _ => return None,
    };
    Some(Meaning::new(place, measure, factor))
}
