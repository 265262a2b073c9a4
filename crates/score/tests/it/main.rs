//! The behaviour of `score`, tested through its public interface.

mod ledger;
