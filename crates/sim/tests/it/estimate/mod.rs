//! The estimator on hand-made plants: against exact solutions, against small simulators that share no code with it, against
//! the event engine, against its own bounds; what must hold in any network; and its bottlenecks.

mod arrays;
mod company;
mod in_a_row;
pub mod labs;
mod limits;
mod links_in_a_row;
pub mod properties;
mod routes;
mod shared_link;
mod simulated;
mod truth;
