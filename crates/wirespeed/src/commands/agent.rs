//! `wirespeed agent`: joins a fleet and waits for coordinators; makes a service that does; or waits on the socket that it was
//! started with.

mod install;

use crate::cli::{AgentAction, AgentArgs, CarrierChoice};
use crate::exit::{Exit, Failure};
use crate::{fleets, live};

pub fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    match (&args.action, args.carrier, &args.join.join) {
        (Some(AgentAction::Install(install)), _, _) => install::install(install),
        (None, Some(CarrierChoice::Stdin), _) => {
            let name = args.name.as_deref().unwrap_or(live::AGENT);
            live::serve_stdin(name, args.uncounted).map(|()| Exit::Met)
        }
        (None, None, Some(url)) => fleets::agent::join(args, url),
        (None, None, None) => Err(Failure::usage(
            "an agent needs the server that it joins: --join nats://HOST[:PORT]",
        )),
    }
}
