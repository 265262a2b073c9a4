//! The language from outside: good scenarios, bad ones, overrides, anything at all, and the documents made from it.

mod bad;
mod documents;
mod good;
mod labs;
mod net;
mod overrides;
mod robust;
mod san;
mod search;
mod steady;
mod support;
mod topology;
