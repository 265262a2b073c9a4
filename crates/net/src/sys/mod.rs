//! The system calls that neither the standard library nor `rustix` has: options of Linux's own, TCP's figures, the error
//! queue of zero-copy sends, and many datagrams in one call. Everything `unsafe` of this crate is here.

mod batch;
mod cycles;
mod errqueue;
mod ethtool;
mod info;
mod multipath;
mod option;
mod signals;
pub(crate) mod socket;

pub(crate) use batch::{ReceiveBatch, SendBatch};
pub(crate) use cycles::Cycles;
pub(crate) use errqueue::{ErrorQueueRead, completions};
pub(crate) use ethtool::Ethtool;
pub(crate) use info::{TcpInfo, tcp_info};
pub(crate) use multipath::subflows;
pub(crate) use option::{
    congestion, enable_gro, enable_timestamps, enable_zero_copy, maximum_pace, queued_to_read,
    queued_to_send, segment_size, user_timeout, wake_at,
};
pub(crate) use signals::ignore_ending;
