//! Encrypted files beside plain ones, under power cuts, full disks, rotations and wrong keys.
#![allow(clippy::unwrap_used)]
use super::header::MAGIC;
use super::*;
use crate::SimEnv;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use stdx::random::Random;

const PATH: &str = "d/file";

fn machine(seed: u64) -> SimEnv {
    let env = SimEnv::new(seed).encrypted();
    env.create_dir_all(Path::new("d")).unwrap();
    env.sync_dir(Path::new("")).unwrap();
    env
}

fn create(env: &dyn Env) -> Arc<dyn File> {
    env.open(Path::new(PATH), OpenMode::CreateNewRows(Rows::Log)).unwrap()
}

fn content(env: &dyn Env) -> Vec<u8> {
    env.read_file(Path::new(PATH)).unwrap()
}

/// Writes, cuts and extensions at any place, compared with a plain file after each.
#[test]
fn behaves_as_a_plain_file() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let env = machine(seed);
        let file = create(&env);
        let other = env.open(Path::new(PATH), OpenMode::ReadWrite).unwrap();
        let plain = SimEnv::new(seed).unencrypted().open(Path::new("plain"), OpenMode::CreateNew).unwrap();
        for _ in 0..80 {
            let file = if random.chance(1, 3) { &other } else { &file };
            let limit = [20, 100, 5000, 20_000][random.below(4) as usize];
            if random.chance(1, 4) {
                let len = random.below(limit);
                file.set_len(len).unwrap();
                plain.set_len(len).unwrap();
            } else {
                let mut bytes = vec![0; random.below(limit) as usize];
                random.fill(&mut bytes);
                let offset =
                    if random.chance(1, 2) { plain.len().unwrap() } else { random.below(limit + 40) };
                file.write_at(&bytes, offset).unwrap();
                plain.write_at(&bytes, offset).unwrap();
            }
            assert_eq!(file.len().unwrap(), plain.len().unwrap(), "seed {seed}");
            let (from, n) = (random.below(limit), random.below(limit) as usize);
            let (mut ours, mut theirs) = (vec![0; n], vec![0; n]);
            let read = file.read_at(&mut ours, from).unwrap();
            assert_eq!(read, plain.read_at(&mut theirs, from).unwrap(), "seed {seed}");
            assert_eq!(ours, theirs, "seed {seed}");
        }
        let mut whole = vec![0; plain.len().unwrap() as usize];
        plain.read_exact_at(&mut whole, 0).unwrap();
        assert_eq!(content(&env), whole, "seed {seed}");
    }
}

#[test]
fn nothing_is_left_in_clear() {
    let env = machine(1);
    let file = create(&env);
    let secret = b"a secret that is long enough to be looked for";
    for at in 0..300 {
        file.write_at(secret, at * 41).unwrap();
    }
    let on_disk = content(&env.unencrypted());
    assert!(!on_disk.windows(8).any(|window| secret.windows(8).any(|part| part == window)));
    assert_eq!(file.read_at(&mut [0; 9], u64::MAX - 3).unwrap(), 0);
    assert!(file.write_at(b"far", u64::MAX - 3).is_err() && file.set_len(u64::MAX).is_err());
    assert!(file.is_encrypted() && content(&env).ends_with(secret));
    assert_eq!(on_disk.len() as u64, HEADER + file.len().unwrap() + 15);
}

/// An append completes the block of what is durable before it: a torn one must not harm that.
#[test]
fn power_cuts_harm_nothing_durable() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let env = machine(seed);
        let file = create(&env);
        let (mut whole, mut durable) = (Vec::new(), 0);
        if random.chance(1, 2) {
            file.set_len(random.below(3000)).unwrap();
        }
        for _ in 0..random.below(12) {
            let mut bytes = vec![0; 1 + random.below(700) as usize];
            random.fill(&mut bytes);
            file.write_at(&bytes, whole.len() as u64).unwrap();
            whole.extend(bytes);
            if random.chance(1, 2) {
                file.sync_data().unwrap();
                durable = whole.len();
            }
        }
        env.sync_dir(Path::new("d")).unwrap();
        let after = content(&env.reboot());
        assert_eq!(after[..durable], whole[..durable], "seed {seed}");
        // The others are there by sectors, or were never written.
        for (i, &byte) in after.iter().enumerate().skip(durable) {
            assert!(byte == 0 || whole.get(i) == Some(&byte), "seed {seed}, byte {i}");
        }
    }
}

/// A disk that is full in the middle of a write leaves what was there before.
#[test]
fn a_full_disk_harms_nothing() {
    for room in 0..70 {
        let env = machine(room);
        let file = create(&env);
        file.write_at(&[1; 37], 0).unwrap();
        env.set_capacity(Some(env.used() + room));
        let failed = file.write_at(&[2; 48], 37).is_err();
        assert_eq!(failed, room < 48);
        let now = content(&env);
        assert_eq!(now[..37], [1; 37], "room {room}");
        assert!(now[37..].iter().all(|byte| *byte == 2), "room {room}: {now:?}");
        env.set_capacity(None);
        file.write_at(&[3; 48], 37).unwrap();
        assert_eq!(content(&env), [[1; 37].as_slice(), &[3; 48]].concat());
    }
}

/// (X4 of `file.rs`): what was written is read while appends go on in the same block.
#[test]
fn readers_see_whole_blocks_among_appends() {
    let dir = tempfile::tempdir().unwrap();
    let env = EncryptingEnv::new(Arc::new(crate::RealEnv), Arc::new(Encryption::of_a_test()));
    let path = dir.path().join("file");
    let file = env.open(&path, OpenMode::CreateNewRows(Rows::Log)).unwrap();
    file.write_at(&[0; 1 << 20], 0).unwrap();
    let written = AtomicU64::new(0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for at in (0..1 << 20).step_by(7) {
                file.write_at(&[0xa5; 7][..7.min((1 << 20) - at)], at as u64).unwrap();
                written.store(at as u64 + 1, SeqCst);
            }
            written.store(u64::MAX, SeqCst);
        });
        threads.spawn(|| {
            let reader = env.open(&path, OpenMode::Read).unwrap();
            loop {
                let end = written.load(SeqCst);
                if end == u64::MAX {
                    break;
                }
                let from = end.saturating_sub(40);
                let mut bytes = vec![0; (end - from) as usize];
                reader.read_exact_at(&mut bytes, from).unwrap();
                assert!(bytes.iter().all(|byte| *byte == 0xa5), "{end}: {bytes:?}");
            }
        });
    });
}

fn key_file(env: &dyn Env, keys: &[u8]) {
    let text: String = keys.iter().map(|key| format!("{key:02x}").repeat(32) + "\n").collect();
    env.replace_private_file(Path::new("keys"), format!("# ours\n\n{text}").as_bytes()).unwrap();
}

fn with_keys(env: &SimEnv) -> (EncryptingEnv, Arc<Encryption>) {
    let inner = env.unencrypted();
    let encryption = Arc::new(Encryption::with_key_file(&inner, Path::new("keys")).unwrap());
    encryption.set(Rows::Log, true);
    (EncryptingEnv::new(Arc::new(inner), encryption.clone()), encryption)
}

#[test]
fn a_missing_or_wrong_key_is_named() {
    let env = machine(1);
    key_file(&env, &[1]);
    let (ours, _) = with_keys(&env);
    create(&ours).write_at(b"rows", 0).unwrap();
    let id = ours.master_key_of(Path::new(PATH)).unwrap().unwrap();
    assert_eq!(MasterKey::new([1; 32]).id, id);

    key_file(&env, &[2, 3]);
    let (theirs, _) = with_keys(&env);
    let without = EncryptingEnv::new(Arc::new(env.unencrypted()), Arc::new(Encryption::without_key()));
    for (env, words) in [
        (&theirs, format!("'d/file' is encrypted with master key {id}, which is not in the key file")),
        (&without, format!("'d/file' is encrypted, and no key file was given: its master key is {id}")),
    ] {
        let found = first_locked(env, &[Path::new("none"), Path::new("d")]).unwrap().unwrap();
        assert_eq!(found.to_string(), words);
        for mode in [OpenMode::Read, OpenMode::ReadWrite, OpenMode::Create] {
            let error = env.open(Path::new(PATH), mode).err().unwrap();
            assert_eq!(EncryptionError::of(&error).unwrap().to_string(), words);
        }
    }
    assert!(!without.encrypts(Rows::Log) && !theirs.encrypts(Rows::Tables) && theirs.encrypts(Rows::Log));
    key_file(&env, &[2, 1, 3]);
    assert_eq!(content(&with_keys(&env).0), b"rows");
    for (text, why) in [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("12\n", "has no 64 hexadecimal digits in line 1"),
        (&format!("\n{}", "+1".repeat(32)), "has no 64 hexadecimal digits in line 2"),
        (&"\n".repeat(200_000), "has more than 131072 bytes"),
    ] {
        env.replace_file(Path::new("keys"), text.as_bytes()).unwrap();
        let error = Encryption::with_key_file(&env, Path::new("keys")).err().unwrap().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Plain files stay what they are, also those that have a header somewhere.
#[test]
fn plain_and_encrypted_files_lie_next_to_each_other() {
    let env = machine(1);
    create(&env).write_at(b"rows", 0).unwrap();
    let encrypted = content(&env.unencrypted());
    let plain = [vec![1; COPY as usize], MAGIC.to_vec(), vec![7; 300]].concat();
    env.replace_file(Path::new("d/plain"), &plain).unwrap();
    assert_eq!(env.read_file(Path::new("d/plain")).unwrap(), plain);
    assert_eq!(env.master_key_of(Path::new("d/plain")).unwrap(), None);
    // Either copy is enough; damage to both is told.
    for at in [0, COPY] {
        env.replace_file(Path::new(PATH), &encrypted).unwrap();
        let raw = env.unencrypted().open(Path::new(PATH), OpenMode::ReadWrite).unwrap();
        raw.write_at(&[0; USED], at).unwrap();
        assert_eq!(content(&env), b"rows");
        raw.write_at(&[0; 4], at + 60).unwrap();
        raw.write_at(&[0; 4], COPY - at + 60).unwrap();
        if at == COPY {
            let error = env.open(Path::new(PATH), OpenMode::Read).err().unwrap().to_string();
            assert_eq!(error, "'d/file' is encrypted, and both copies of its header are damaged");
        }
    }
}

/// A rotation that a power cut broke off, anywhere, leaves every file readable by the key file.
#[test]
fn power_cuts_in_a_rotation_lose_no_key() {
    for seed in 0..200 {
        let env = machine(seed);
        key_file(&env, &[1]);
        let (ours, _) = with_keys(&env);
        for i in 0..3_u8 {
            let path = format!("d/{i}");
            let file = ours.open(Path::new(&path), OpenMode::CreateNewRows(Rows::Log)).unwrap();
            file.write_at(&[i; 100], 0).unwrap();
            file.sync_data().unwrap();
        }
        for dir in ["d", ""] {
            env.sync_dir(Path::new(dir)).unwrap();
        }
        env.cut_at(1 + seed % 20);
        let rotated = ours.rotate_master_key(Rows::Log, &[Path::new("d")]);
        let env = env.reboot();
        let (ours, _) = with_keys(&env);
        let readable = |ours: &EncryptingEnv| {
            for i in 0..3_u8 {
                let path = format!("d/{i}");
                assert_eq!(ours.read_file(Path::new(&path)).unwrap(), [i; 100], "seed {seed}");
            }
        };
        readable(&ours);
        if rotated.is_ok() {
            assert!(seed % 20 > 15, "it has that many steps");
        }
        // The next one does all files; the keys before it may go then.
        let rotated = ours.rotate_master_key(Rows::Log, &[Path::new("d")]).unwrap();
        assert_eq!(rotated.files, 3);
        let text = String::from_utf8(env.read_file(Path::new("keys")).unwrap()).unwrap();
        let last = text.lines().last().unwrap();
        env.replace_file(Path::new("keys"), last.as_bytes()).unwrap();
        readable(&with_keys(&env).0);
    }
}

#[test]
fn a_rotation_uses_a_key_that_was_appended() {
    let env = machine(1);
    key_file(&env, &[1]);
    let (ours, _) = with_keys(&env);
    create(&ours).write_at(b"rows", 0).unwrap();
    key_file(&env, &[1, 2]);
    let before = env.read_file(Path::new("keys")).unwrap();
    let rotated = ours.rotate_master_key(Rows::Log, &[Path::new("d")]).unwrap();
    assert_eq!((rotated.key, rotated.files), (MasterKey::new([2; 32]).id, 1));
    assert_eq!(env.read_file(Path::new("keys")).unwrap(), before);
    // Files of another sort keep the key that they have until theirs is rotated.
    let rotated = ours.rotate_master_key(Rows::Tables, &[Path::new("d")]).unwrap();
    assert_eq!((rotated.key, rotated.files), (MasterKey::new([2; 32]).id, 0));
    assert_eq!(env.read_file(Path::new("keys")).unwrap(), before);
    assert_eq!(content(&ours), b"rows");
}

/// Nobody reads temporary files once their process has ended; a start is not stopped by them.
#[test]
fn temporary_files_end_with_the_process() {
    let env = machine(1);
    key_file(&env, &[1]);
    let (ours, encryption) = with_keys(&env);
    encryption.set(Rows::Temporary, true);
    let file = ours.open(Path::new("d/spill"), OpenMode::CreateNewRows(Rows::Temporary)).unwrap();
    file.write_at(b"rows", 0).unwrap();
    assert_eq!(ours.read_file(Path::new("d/spill")).unwrap(), b"rows");
    let (later, _) = with_keys(&env);
    assert!(later.read_file(Path::new("d/spill")).is_err());
    assert!(first_locked(&later, &[Path::new("d")]).unwrap().is_none());
    later.remove_large_file(Path::new("d/spill")).unwrap();
}

/// A data directory may have a server's socket in it, and folders.
#[test]
fn a_rotation_passes_over_what_is_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let [data, keys] = ["data", "keys"].map(|name| dir.path().join(name));
    crate::RealEnv.create_dir_all(&data.join("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(data.join("socket")).unwrap();
    crate::RealEnv.replace_private_file(&keys, "05".repeat(32).as_bytes()).unwrap();
    let encryption = Encryption::with_key_file(&crate::RealEnv, &keys).unwrap();
    encryption.set(Rows::Log, true);
    let env = EncryptingEnv::new(Arc::new(crate::RealEnv), Arc::new(encryption));
    env.open(&data.join("log"), OpenMode::CreateNewRows(Rows::Log)).unwrap();
    assert!(first_locked(&env, &[&data]).unwrap().is_none());
    assert_eq!(env.rotate_master_key(Rows::Log, &[&data]).unwrap().files, 1);
    assert_eq!(env.master_key_of(&data.join("log")).unwrap(), Some(last_key(&keys)));
}

fn last_key(path: &Path) -> KeyId {
    Keyring::read(&crate::RealEnv, path).unwrap().0.last().id
}
