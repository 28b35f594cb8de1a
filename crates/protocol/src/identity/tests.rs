//! Certificates and keys: made once, stored, private.

#![allow(clippy::unwrap_used)]

use super::*;
use env::RealEnv;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tempfile::TempDir;

fn identity(folder: &TempDir) -> Identity {
    Identity::lazy(Arc::new(RealEnv), folder.path())
}

#[test]
fn made_once_and_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = identity(&folder);
    assert!(first.may_have_tls());
    assert!(first.tls().is_some());
    let sealed = encrypt(first.rsa().unwrap().public_pem().as_bytes(), b"secret").unwrap();
    for (file, mode) in [("private_key.pem", 0o600), ("server-key.pem", 0o600)] {
        let permissions = std::fs::metadata(folder.path().join(file)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{file}");
    }
    let second = identity(&folder);
    assert!(second.load_tls().is_ok());
    assert_eq!(second.rsa().unwrap().decrypt(&sealed).unwrap(), b"secret");
    assert_eq!(second.rsa().unwrap().decrypt(b"not sealed"), None);
    let public = RealEnv.read_file(&folder.path().join("public_key.pem")).unwrap();
    assert_eq!(public, second.rsa().unwrap().public_pem().as_bytes());
}

/// The folder of a server that stops right after its start may belong to another process the next
/// moment.
#[test]
fn nothing_is_written_behind_the_end() {
    let names = |folder: &TempDir| {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        entries.map(|e| e.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    for delay in [0, 1, 20, 200] {
        let folder = tempfile::tempdir().unwrap();
        let (identity, ahead) = Identity::start(Arc::new(RealEnv), folder.path(), None).unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        drop(ahead);
        let at_end = names(&folder);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(names(&folder), at_end, "after {delay} ms");
        assert!(identity.tls().is_some() && identity.rsa().is_some(), "who needs them gets them");
    }
}

#[test]
fn a_key_that_is_there_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    identity(&folder).tls().unwrap();
    let key = RealEnv.read_file(&folder.path().join("server-key.pem")).unwrap();
    RealEnv.remove_file(&folder.path().join("server-cert.pem")).unwrap();
    assert!(identity(&folder).tls().is_some());
    assert_eq!(RealEnv.read_file(&folder.path().join("server-key.pem")).unwrap(), key);
}

#[test]
fn nonsense_in_a_file_turns_tls_off_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    RealEnv.replace_file(&folder.path().join("server-cert.pem"), b"nonsense").unwrap();
    RealEnv.replace_file(&folder.path().join("private_key.pem"), b"nonsense").unwrap();
    let identity = identity(&folder);
    assert!(identity.tls().is_none());
    assert!(identity.rsa().is_none());
    assert!(!identity.may_have_tls());
    assert_eq!(RealEnv.read_file(&folder.path().join("server-cert.pem")).unwrap(), b"nonsense");
}

#[test]
fn the_older_form_of_rsa_keys_is_read() {
    let folder = tempfile::tempdir().unwrap();
    identity(&folder).rsa().unwrap();
    let pkcs8 = pem::parse(RealEnv.read_file(&folder.path().join("private_key.pem")).unwrap()).unwrap();
    // SEQUENCE, version and algorithm, OCTET STRING: the rest is PKCS #1.
    let pkcs1 = &pkcs8.contents()[26..];
    let text = pem::encode(&pem::Pem::new("RSA PRIVATE KEY", pkcs1));
    let key = RsaKey::from_pem(text.as_bytes()).unwrap();
    let sealed = encrypt(key.public_pem().as_bytes(), b"x").unwrap();
    assert_eq!(key.decrypt(&sealed).unwrap(), b"x");
}
