//! The messages between sender and receiver.

use crate::TestSpec;
use crate::figures::EndFigures;
use crate::grid::TestStart;
use crate::interface::Adjusted;
use crate::report::SideReport;
use clock::Ns;
use serde::{Deserialize, Serialize};
use workload::NetFrames;

/// Chance that one end contributes to a proof.
pub(crate) type Nonce = [u8; 16];

/// Identifies a test on its data connections.
pub(crate) type Cookie = [u8; 16];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FromSender {
    /// The first message: the versions of these messages that it speaks, lowest and highest.
    Hello { versions: (u16, u16), nonce: Nonce },
    /// That it knows the token.
    Proof([u8; 32]),
    /// Asks for the time; `sent` comes back.
    Clock { sent: Ns },
    /// The receiver's interface is to be what was found with this over it, for as long as this connection lives; with nothing
    /// in it, everything is restored, or only described.
    Adjust(NetFrames),
    /// The test to come.
    Prepare(Box<TestSpec>),
    /// All of the sender's streams are through.
    Joined,
    /// Load begins at this moment of the receiver's clock, and cuts lie so.
    Start(TestStart),
    /// The test ends now, in order.
    Stop,
    /// The sender's workers send no more.
    Done,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FromReceiver {
    /// The version that both speak, and whether a token must be shown.
    Hello { version: u16, nonce: Nonce, token: bool },
    /// The token was right, or none is needed.
    Welcome,
    /// Not with this sender, or not this test.
    Refused(String),
    /// The receiver's clock when the question came and when the answer left.
    Clock { sent: Ns, came: Ns, left: Ns },
    /// The interface that this connection comes in by, as it is now.
    Adjusted(Box<Adjusted>),
    /// Where the test's data goes: the port of connections, or one for each stream of datagrams, and the probe's, each 0
    /// where there is none; and the name of the receiver's host and its kernel.
    Prepared { cookie: Cookie, port: u16, datagrams: Vec<u16>, probe: u16, host: (String, String) },
    /// All streams have arrived, all threads stand ready.
    Ready,
    /// What the receiver counted in an interval.
    Interval(Box<EndFigures>),
    /// What it counted in the test.
    Finished(Box<SideReport>),
    /// It could not go on.
    Failed(String),
}
