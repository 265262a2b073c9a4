//! `wirespeed serve [DIR]`: the page that stays open, wired to this program's plans, estimates and runs.

use crate::cli::ServeArgs;
use crate::commands::estimate::document::estimated;
use crate::commands::plan;
use crate::exit::{Exit, Failure};
use crate::labs::CompiledLab;
use crate::progress::limit;
use crate::{catalogs, live, out};
use campaign::HopLoad;
use review::estimate::Estimated;
use scenario::{CatalogFile, Scenario, Source, Stage, Step};
use serve::{Config, Plan, Program, ServeError, Tls, Unsolved};
use sim::estimate::Told;
use std::io;
use std::process::Command;
use std::sync::Arc;

/// Scenarios that the program carries, for who has none yet.
const CARRIED: [(&str, &str); 4] = [
    ("first.toml", include_str!("../../../../scenarios/first.toml")),
    ("capacity.toml", include_str!("../../../../scenarios/capacity.toml")),
    ("fabric.toml", include_str!("../../../../scenarios/fabric.toml")),
    ("lab2-esx-8gb.toml", include_str!("../../../../scenarios/lab2-esx-8gb.toml")),
];

pub fn serve(args: ServeArgs) -> Result<Exit, Failure> {
    let control = live::control()?;
    let program = Arc::new(ThisProgram { catalogs: catalogs::catalogs(&[])? });
    let config = Config {
        folder: args.dir,
        listen: args.listen,
        token: args.token_file,
        behind_proxy: args.behind_proxy,
        tls: args
            .tls_certificate
            .zip(args.tls_key)
            .map(|(certificate, key)| Tls { certificate, key }),
        names: args.name,
        read_only: args.read_only,
    };
    let quiet = args.quiet;
    let mut ready = |address: &str| {
        if !quiet {
            out::note(format_args!("the page is at {address} (Ctrl-C ends it; runs go on)"));
        }
    };
    match serve::serve(config, program, &|| control.stopped(), &mut ready) {
        Ok(()) => Ok(Exit::Met),
        Err(error @ (ServeError::Unsafe(_) | ServeError::Folder { .. })) => {
            Err(Failure::usage(error))
        }
        Err(error) => Err(Failure::incomplete(error)),
    }
}

/// The program around the page.
struct ThisProgram {
    catalogs: Vec<CatalogFile>,
}

impl Program for ThisProgram {
    fn source(&self, name: &str, text: String, overrides: Vec<(String, String)>) -> Source {
        Source { name: name.to_owned(), text, overrides, catalogs: self.catalogs.clone() }
    }

    fn plan(&self, scenario: &Scenario) -> Plan {
        let (text, document) = plan::described(scenario);
        Plan { text, document }
    }

    fn estimate(&self, scenario: &Scenario, steps: &[Step]) -> Result<Vec<Estimated>, Unsolved> {
        let stages: Vec<Stage> = steps.iter().cloned().map(Stage::Step).collect();
        let lab = CompiledLab::new(scenario, &stages).map_err(Unsolved::Lab)?;
        let solved = |step: &Step| {
            let plant = lab.plant(step).map_err(|error| Unsolved::Other(error.to_string()))?;
            let estimate = sim::estimate::estimate(&plant);
            let told = Told { step, plant: &plant, estimate: &estimate };
            Ok(estimated(&told, &[]))
        };
        steps.iter().map(solved).collect()
    }

    fn limit(&self, hops: &[HopLoad]) -> Vec<String> {
        limit::parts(hops)
    }

    fn command(&self) -> io::Result<Command> {
        std::env::current_exe().map(Command::new)
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        &CARRIED
    }
}
