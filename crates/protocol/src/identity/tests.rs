//! Certificates and keys: made once, kept, private.

#![allow(clippy::unwrap_used)]

use super::*;
use env::RealEnv;
use std::os::unix::fs::PermissionsExt;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("duramen-identity-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn identity(&self) -> Identity {
        Identity::lazy(Arc::new(RealEnv), &self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn made_once_and_found_again() {
    let folder = Folder::new("made");
    let first = folder.identity();
    assert!(first.may_have_tls());
    assert!(first.tls().is_some());
    let sealed = encrypt(first.rsa().unwrap().public_pem().as_bytes(), b"secret").unwrap();
    for (file, mode) in [("private_key.pem", 0o600), ("server-key.pem", 0o600)] {
        let permissions = std::fs::metadata(folder.0.join(file)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{file}");
    }
    let second = folder.identity();
    assert!(second.load_tls().is_ok());
    assert_eq!(second.rsa().unwrap().decrypt(&sealed).unwrap(), b"secret");
    assert_eq!(second.rsa().unwrap().decrypt(b"not sealed"), None);
    let public = RealEnv.read_file(&folder.0.join("public_key.pem")).unwrap();
    assert_eq!(public, second.rsa().unwrap().public_pem().as_bytes());
}

#[test]
fn a_key_that_is_there_is_kept() {
    let folder = Folder::new("kept");
    folder.identity().tls().unwrap();
    let key = RealEnv.read_file(&folder.0.join("server-key.pem")).unwrap();
    RealEnv.remove_file(&folder.0.join("server-cert.pem")).unwrap();
    assert!(folder.identity().tls().is_some());
    assert_eq!(RealEnv.read_file(&folder.0.join("server-key.pem")).unwrap(), key);
}

#[test]
fn nonsense_in_a_file_turns_tls_off_and_stays_as_it_is() {
    let folder = Folder::new("nonsense");
    RealEnv.replace_file(&folder.0.join("server-cert.pem"), b"nonsense").unwrap();
    RealEnv.replace_file(&folder.0.join("private_key.pem"), b"nonsense").unwrap();
    let identity = folder.identity();
    assert!(identity.tls().is_none());
    assert!(identity.rsa().is_none());
    assert!(!identity.may_have_tls());
    assert_eq!(RealEnv.read_file(&folder.0.join("server-cert.pem")).unwrap(), b"nonsense");
}

#[test]
fn the_older_form_of_rsa_keys_is_read() {
    let folder = Folder::new("pkcs1");
    folder.identity().rsa().unwrap();
    let pkcs8 = pem::parse(RealEnv.read_file(&folder.0.join("private_key.pem")).unwrap()).unwrap();
    // SEQUENCE, version and algorithm, OCTET STRING: the rest is PKCS #1.
    let pkcs1 = &pkcs8.contents()[26..];
    let text = pem::encode(&pem::Pem::new("RSA PRIVATE KEY", pkcs1));
    let key = RsaKey::from_pem(text.as_bytes()).unwrap();
    let sealed = encrypt(key.public_pem().as_bytes(), b"x").unwrap();
    assert_eq!(key.decrypt(&sealed).unwrap(), b"x");
}
