//! Any bytes as a workload file of another program: no panic, every place of a mistake within the text, every message
//! printable, and notes that belong to lines.

#![no_main]

use import::{Format, ImportError, Surroundings, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the program, or leaves it to the content.
    let Some((first, bytes)) = input.split_first() else { return };
    let format = match first {
        b'1' => Some(Format::Iometer),
        b'2' => Some(Format::Fio),
        b'3' => Some(Format::Vdbench),
        b'4' => Some(Format::Diskspd),
        _ => None,
    };
    let variable = &|name: &str| name.starts_with('S').then(|| "4k".to_owned());
    match import("file", bytes, format, &Surroundings { variable, processors: 2 }) {
        Ok(imported) => {
            let lines = bytes.iter().filter(|b| matches!(b, b'\n' | b'\r')).count() + 1;
            assert!(imported.notes.iter().all(|note| (1..=lines).contains(&note.line)));
            assert!(!imported.scenario.chars().any(|c| c.is_control() && c != '\n'));
        }
        Err(ImportError::Mistakes(mistakes)) => {
            assert!(!mistakes.is_empty(), "a refusal without a mistake");
            for mistake in &mistakes {
                let text = mistakes.text(mistake.place.origin);
                assert!(text.get(mistake.place.span.clone()).is_some());
            }
            assert!(!mistakes.to_string().chars().any(|c| c.is_control() && c != '\n'));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
