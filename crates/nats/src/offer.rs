//! The coordinator's side of giving agents another program: offered to one at a time, piece by piece, until it is back.

use crate::coordinator::Fleet;
use crate::runtime::pause;
use crate::server::NatsError;
use crate::update;
use crate::wire::{self, Call, Reply};
use bytes::Bytes;
use std::time::Duration;

/// How often a piece is sent before the agent counts as gone.
const TRIES: u32 = 20;

/// How long an agent may take until it is back.
const BACK: Duration = Duration::from_secs(60);

impl Fleet {
    /// Has an agent run another program; the release that it announces afterwards.
    /// # Errors
    /// Where it is not there, refuses, or does not come back; it then runs the program that it ran before, unless this says
    /// that it did not come back.
    pub fn update(&self, name: &str, program: &[u8]) -> Result<String, NatsError> {
        let failed = |why: String| NatsError::Agents(vec![format!("agent `{name}`: {why}")]);
        let own = name.to_owned();
        let there =
            self.who(Duration::from_secs(2), move |there| there.iter().any(|one| one.name == own))?;
        let before = there
            .iter()
            .find(|one| one.name == name)
            .ok_or_else(|| failed("it is not there".to_owned()))?
            .instance;
        let digest = update::digest(program);
        let offer = Call::Offer { digest: digest.clone(), size: program.len() as u64 };
        match self.asked(name, &offer)? {
            Ok(Reply::Received) => {}
            Ok(Reply::Refused(why)) | Err(why) => return Err(failed(why)),
            Ok(other) => return Err(failed(format!("it answers {other:?}"))),
        }
        self.hand_over(name, &Bytes::copy_from_slice(program)).map_err(failed)?;
        // Without an answer it may have gone before that was heard.
        if let Ok(Reply::Refused(why)) = self.asked(name, &Call::Replace { digest })? {
            return Err(failed(why));
        }
        let own = name.to_owned();
        let back = move |one: &wire::Announcement| one.name == own && one.instance != before;
        let is_back = back.clone();
        let there = self.who(BACK, move |there| there.iter().any(&is_back))?;
        let back = there.into_iter().find(back);
        back.map(|one| one.release)
            .ok_or_else(|| failed("it took the program and did not come back".to_owned()))
    }

    /// Asks one agent something.
    fn asked(&self, name: &str, call: &Call) -> Result<Result<Reply, String>, NatsError> {
        Ok(self.runtime.wait(self.call(name, call))?)
    }

    /// Sends all pieces, each until the agent has it.
    fn hand_over(&self, name: &str, program: &Bytes) -> Result<(), String> {
        let (client, subject) = (self.client.clone(), self.subjects.update(name));
        let pieces: Vec<Bytes> = update::pieces(program).collect();
        let all = async move {
            for piece in pieces {
                let mut problem = String::new();
                for attempt in 0.. {
                    if attempt == TRIES {
                        return Err(problem);
                    }
                    let answer = client.request(subject.clone(), piece.clone()).await;
                    match answer.map(|message| wire::decode(&message.payload)) {
                        Ok(Ok(Reply::Received)) => break,
                        Ok(Ok(Reply::Refused(why))) => return Err(why),
                        Ok(Ok(Reply::Unknown)) => {
                            return Err("it was started again meanwhile".to_owned());
                        }
                        Ok(Ok(Reply::Again)) => {
                            problem = "a piece came damaged again and again".to_owned()
                        }
                        Ok(Ok(other)) => problem = format!("it answers {other:?}"),
                        Ok(Err(error)) => problem = error.to_string(),
                        Err(error) => problem = error.to_string(),
                    }
                    pause(Duration::from_millis(100)).await;
                }
            }
            Ok(())
        };
        self.runtime.wait(all).map_err(|error| error.to_string())?
    }
}
