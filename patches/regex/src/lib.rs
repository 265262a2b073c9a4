//! `regex-lite` under the name of `regex`.
//!
//! The client of NATS alone uses regular expressions: it reads a server's version and a file of credentials with one each, once a
//! connection. Unicode's tables and the fast engines of `regex` for that are a megabyte of what people install.

pub use regex_lite::*;
