//! The privilege matrix: which statement needs which privileges, asked of a server by trying.
//!
//! 1. cases     Files in `cases/` hold statements, each with the smallest set of privileges that it
//!    needs ([`cases`]).
//! 2. sets      For each set of privileges an account is made: with nothing, with one privilege,
//!    with all but one, with what a case needs, and with that but one ([`sets`]).
//! 3. run       Each account tries each case; what a success changed is undone ([`run`]). A cell is
//!    a case and a set, its outcome is success, perhaps with rows, or an error number.
//! 4. record    The outcomes of a MySQL are kept in `expected/` ([`record`]).
//! 5. compare   Duramen's outcomes are held against them: equal, stricter, laxer ([`compare`]).
//!    Laxer is a hole.
//!
//! (M1) A set does not say what a case needs: each privilege alone and all but each are tried with
//!      every case, so that a privilege that opens more than it should is seen without anybody
//!      having thought of it.
//! (M2) What this server does not support it refuses to everybody: that is neither stricter nor
//!      laxer.

pub mod cases;
pub mod compare;
pub mod record;
pub mod run;
pub mod sets;

pub use servers::Result;
