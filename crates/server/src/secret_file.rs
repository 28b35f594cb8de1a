//! Files whose first line is a secret: a token, a password.

use env::{Env, OpenMode};
use std::path::Path;

/// What is read of the file, in bytes.
const LEN_MAX: usize = 4096;

/// The first line of a file that other users of this machine can't read; `len_min` bytes at least.
///
/// # Errors
/// What is wrong with the file, and what to do.
pub(crate) fn first_line(env: &dyn Env, path: &Path, len_min: usize) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let failed = |e: std::io::Error| format!("can't read '{shown}': {e}");
    let modes = rustix::fs::stat(path).map_err(|e| failed(e.into()))?.st_mode;
    if modes & 0o007 != 0 {
        return Err(format!("'{shown}' is open to all users of this machine: chmod 600 it"));
    }
    let file = env.open(path, OpenMode::Read).map_err(failed)?;
    let mut text = vec![0; LEN_MAX];
    let length = file.read_at(&mut text, 0).map_err(failed)?;
    text.truncate(length);
    let line = text.split(|&b| b == b'\n').next().unwrap_or_default().trim_ascii();
    if line.len() < len_min {
        return Err(format!(
            "the first line of '{shown}' is shorter than {len_min} bytes, which can be guessed: make one with \
             'openssl rand -hex 32'"
        ));
    }
    Ok(line.to_vec())
}
