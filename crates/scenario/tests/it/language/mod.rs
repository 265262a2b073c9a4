//! The language from outside: good scenarios, bad ones, overrides, anything at all, and the documents made from it.

mod bad;
mod catalogs;
mod documents;
mod good;
mod labs;
mod net;
mod net_ways;
mod overrides;
mod provenance;
mod robust;
mod san;
mod search;
mod steady;
mod support;
mod topology;
