//! `wirespeed agent`: waits for a coordinator on the socket that it was started with.

use crate::cli::{AgentArgs, CarrierChoice};
use crate::exit::{Exit, Failure};
use crate::live;

pub fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    match args.carrier {
        CarrierChoice::Stdin => live::serve_stdin(&args.name).map(|()| Exit::Met),
    }
}
