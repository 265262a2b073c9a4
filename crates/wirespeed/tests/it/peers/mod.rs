//! Other people's initiators against `wirespeed target serve`: libiscsi's conformance tests and tools, and QEMU's block layer.
//! They are Debian packages, named in `packages.txt`; a test that lacks one says `skipped:`.

mod churn;
mod conformance;
mod guests;
mod monitors;
mod raw;
mod report;
mod served;
mod tools;
