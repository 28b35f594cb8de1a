//! Backups on simulated disks and by simulated clocks: power cuts, and a year that takes minutes.
#![allow(clippy::unwrap_used)]

mod flawed;
mod machine;
mod object_storage;
mod power_cuts;
mod year;
