//! A coordinator that may die and come back: what it was asked and told is kept as a journal keeps it, and gone through again.

use crate::arrays::ArraySpec;
use crate::assign::AssignedStep;
use crate::conversation::{Conversation, Effect, Input};
use clock::Ns;
use scenario::Step;

/// What a coordinator was asked or told.
#[derive(Clone)]
pub enum Call {
    Greet,
    Serve(Vec<ArraySpec>),
    Join,
    Begin(Box<Step>, Box<AssignedStep>),
    Handle(Input),
    Dismiss,
}

/// The coordinator's end, its journal, and what waits for it while it is away.
pub struct Coordinator {
    begin: Box<dyn Fn() -> Conversation>,
    conversation: Conversation,
    journal: Vec<(Ns, Call)>,
    /// All that it has done, in words.
    done: Vec<String>,
    waits: Option<Vec<Input>>,
}

impl Coordinator {
    pub fn new(begin: Box<dyn Fn() -> Conversation>) -> Coordinator {
        let conversation = begin();
        Coordinator { begin, conversation, journal: Vec::new(), done: Vec::new(), waits: None }
    }

    pub fn call(&mut self, now: Ns, call: Call) {
        match (call, &mut self.waits) {
            // Time that passes is nothing that waits.
            (Call::Handle(Input::Timer), Some(_)) => {}
            (Call::Handle(input), Some(waits)) => waits.push(input),
            (call, _) => {
                self.journal.push((now, call.clone()));
                obey(&mut self.conversation, now, call);
            }
        }
    }

    pub fn wake(&self) -> Ns {
        if self.waits.is_some() { Ns::MAX } else { self.conversation.wake() }
    }

    pub fn effect(&mut self) -> Option<Effect> {
        let effect = self.conversation.effect()?;
        self.done.push(format!("{effect:?}"));
        Some(effect)
    }

    pub fn lost(&mut self) -> Vec<String> {
        self.conversation.outcome().1
    }

    pub fn die(&mut self) {
        self.waits = Some(Vec::new());
    }

    /// Another process goes through the journal, which must lead it to the same deeds; then it hears what waits.
    #[track_caller]
    pub fn come_back(&mut self, now: Ns) {
        let Some(waits) = self.waits.take() else { return };
        let mut conversation = (self.begin)();
        let mut again = Vec::new();
        for (at, call) in &self.journal {
            // Dismissed and over: its outcome has been taken.
            obey(&mut conversation, *at, call.clone());
            while let Some(effect) = conversation.effect() {
                again.push(format!("{effect:?}"));
            }
        }
        assert_eq!(again, self.done, "the journal leads elsewhere");
        let over = self.journal.iter().any(|(_, call)| matches!(call, Call::Dismiss));
        if over {
            return;
        }
        self.conversation = conversation;
        self.call(now, Call::Handle(Input::Resumed));
        waits.into_iter().for_each(|input| self.call(now, Call::Handle(input)));
    }
}

fn obey(conversation: &mut Conversation, now: Ns, call: Call) {
    match call {
        Call::Greet => conversation.greet(now),
        Call::Serve(arrays) => conversation.serve(now, &arrays),
        Call::Join => conversation.join(now),
        Call::Begin(step, assigned) => conversation.begin_step(now, *step, *assigned),
        Call::Handle(input) => conversation.handle(now, input),
        Call::Dismiss => conversation.dismiss(),
    }
}
