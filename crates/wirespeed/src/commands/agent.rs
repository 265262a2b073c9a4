//! `wirespeed agent`: waits for a coordinator on the socket that it was started with.

use crate::cli::{Agent, Carrier};
use crate::exit::{Exit, Failure};
use crate::live;

pub fn agent(args: &Agent) -> Result<Exit, Failure> {
    match args.carrier {
        Carrier::Stdin => live::serve_stdin(&args.name).map(|()| Exit::Met),
    }
}
