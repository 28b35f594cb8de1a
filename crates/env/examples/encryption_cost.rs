//! What the encryption of files costs: the same work on plain and on encrypted files, in turns.
//!
//!     cargo run --release -p env --example encryption_cost -- [folder] [rounds]
//!
//! Files are in the system's cache, so that it is processor time and system calls that are
//! compared; the last line flushes.
#![allow(clippy::unwrap_used)]

use env::encryption::{EncryptingEnv, Encryption};
use env::{Env, File, OpenMode, RealEnv, Rows};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const LEN: u64 = 64 << 20;

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap_or_else(|| "data/encryption_cost".to_owned()));
    let rounds: u32 = args.next().map_or(7, |n| n.parse().unwrap());
    RealEnv.create_dir_all(&dir).unwrap();
    let encrypting = EncryptingEnv::new(Arc::new(RealEnv), Arc::new(Encryption::of_a_test()));
    let envs: [(&str, &dyn Env); 2] = [("plain", &RealEnv), ("encrypted", &encrypting)];
    let files = envs.map(|(name, env)| {
        let path = dir.join(name);
        let _ = env.remove_file(&path);
        env.open(&path, OpenMode::CreateNewRows(Rows::Log)).unwrap()
    });
    let whole = vec![0x5a; 1 << 20];
    let write_all = |file: &dyn File| (0..LEN >> 20).for_each(|i| file.write_at(&whole, i << 20).unwrap());
    files.iter().for_each(|file| write_all(&**file));
    compare("write 64 MiB, 1 MiB at a time", rounds, 1, &files, &write_all);
    let read = |file: &dyn File, len: usize, times: u64| {
        let mut buffer = vec![0; len];
        for i in 0..times {
            let at = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (LEN - len as u64);
            file.read_exact_at(&mut buffer, at).unwrap();
        }
    };
    compare("read 4 KiB anywhere", rounds, 5000, &files, &|file| read(file, 4096, 5000));
    compare("read 16 KiB anywhere", rounds, 2000, &files, &|file| read(file, 16 << 10, 2000));
    let append = |file: &dyn File, flushes: bool, times: u64| {
        for i in 0..times {
            file.write_at(&whole[..400], i * 400).unwrap();
            if flushes {
                file.sync_data().unwrap();
            }
        }
    };
    compare("write 400 bytes behind the last", rounds, 20_000, &files, &|file| append(file, false, 20_000));
    compare("the same, and flush", rounds, 500, &files, &|file| append(file, true, 500));
    for (name, env) in envs {
        env.remove_file(&dir.join(name)).unwrap();
    }
}

/// The median of so many rounds of each, one after the other in turns.
fn compare(what: &str, rounds: u32, each: u32, files: &[Arc<dyn File>; 2], work: &dyn Fn(&dyn File)) {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (file, times) in files.iter().zip(&mut times) {
            let begun = RealEnv.monotonic();
            work(&**file);
            times.push((RealEnv.monotonic() - begun) / each);
        }
    }
    let [plain, encrypted] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "{what:<34} plain {:>10.2} us, encrypted {:>10.2} us, ratio {:.2}",
        micros(plain),
        micros(encrypted),
        micros(encrypted) / micros(plain)
    );
}
