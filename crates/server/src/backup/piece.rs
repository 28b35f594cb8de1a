//! A file of a repository: compressed, with checksums, and encrypted if there is a key.
//!
//! | part | bytes |
//! | --- | --- |
//! | magic | `DURPIECE` |
//! | version | 2 (u8) |
//! | flags | u8: 1 encrypted |
//! | length of the name | u16 |
//! | salt | 32; zeros in a file that is not encrypted |
//! | name | the file's path in the repository, with `/` |
//! | checksum | of all before it (XXH3, 64 bits) |
//! | chunks | length here (u32), length of the content with bit 31 for the last chunk and bit 30 for one that is compressed (u32), then the bytes |
//!
//! Numbers are little-endian. A chunk's content has at most 1 MiB; compressed it is one block of
//! LZ4. Behind the bytes stands, without a key, a checksum of the chunk's head, its number and its
//! bytes (XXH3, 64 bits). With a key the bytes are encrypted by AES-256-GCM; the chunk's number is
//! the nonce, the head is authenticated with it, and the tag stands at the end. Each file has a key
//! of its own, made of the key, the salt and all in front of the chunks (HKDF-SHA256), so that no
//! nonce is used twice. The last chunk's content is the SHA-256 of all before it and their length
//! (u64): a file that was cut at a chunk, or put together of several, is told from a whole one.
//!
//! A file is what its path in the repository says: a piece of the log is named after its log file
//! and its range, a manifest stands in its backup's folder, a table's name has a hash. So one that
//! stands in another one's place is refused, and with a key it can't be made to say that it belongs
//! there.

use super::backend::Output;
use super::key::Key;
use crate::log_tool::{ToolError, printable};
use aws_lc_rs::aead::{Aad, LessSafeKey, Nonce};
use aws_lc_rs::digest::{Context, SHA256};
use env::Env;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const MAGIC: &[u8; 8] = b"DURPIECE";
const VERSION: u8 = 2;
const ENCRYPTED: u8 = 1;
/// The head without the name and the checksum.
const HEAD: usize = 44;
const SALT: std::ops::Range<usize> = 12..HEAD;
/// The longest name that is read, in bytes.
const NAME_MAX: usize = 4096;
const CHUNK_HEAD: usize = 8;
const LAST: u32 = 1 << 31;
const PACKED: u32 = 1 << 30;
/// The content of a chunk, in bytes.
pub(super) const CHUNK: usize = 1 << 20;
/// What an encrypted chunk has behind it, and a checksum less.
const TAG: usize = 16;
const SUM: usize = 8;

/// SHA-256 of a file's content.
pub(super) type Sha256 = [u8; 32];

fn nonce(number: u32) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

fn checksum(head: &[u8], number: u32, bytes: &[u8]) -> u64 {
    let mut sum = Xxh3::new();
    sum.update(head);
    sum.update(&number.to_le_bytes());
    sum.update(bytes);
    sum.digest()
}

/// What a piece's content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    /// In bytes.
    pub(super) len: u64,
    pub(super) sha256: Sha256,
}

/// A piece that is being written. It has its name only when it is whole and durable.
pub(super) struct PieceWriter {
    path: PathBuf,
    output: Box<dyn Output>,
    key: Option<LessSafeKey>,
    pending: Vec<u8>,
    number: u32,
    len: u64,
    digest: Context,
}

impl PieceWriter {
    /// `name` is the path in the repository, `path` what messages call it.
    pub(super) fn create(
        env: &dyn Env,
        mut output: Box<dyn Output>,
        path: &Path,
        name: &str,
        key: Option<&Key>,
    ) -> Result<Self, ToolError> {
        let mut head = vec![0; HEAD];
        head[..8].copy_from_slice(MAGIC);
        head[8] = VERSION;
        if key.is_some() {
            head[9] = ENCRYPTED;
            env.random(&mut head[SALT]);
        }
        let name_len = u16::try_from(name.len()).ok().filter(|&len| usize::from(len) <= NAME_MAX);
        let name_len = name_len.ok_or_else(|| {
            ToolError::Refused(format!("'{}' has too long a name for a file of a backup", path.display()))
        })?;
        head[10..12].copy_from_slice(&name_len.to_le_bytes());
        head.extend_from_slice(name.as_bytes());
        let sum = xxhash_rust::xxh3::xxh3_64(&head);
        let key = key.map(|key| key.of_file(&head[SALT], &head));
        output.append(&head)?;
        output.append(&sum.to_le_bytes())?;
        let (pending, digest) = (Vec::new(), Context::new(&SHA256));
        Ok(Self { path: path.to_owned(), output, key, pending, number: 0, len: 0, digest })
    }

    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<(), ToolError> {
        self.len += bytes.len() as u64;
        self.digest.update(bytes);
        while !bytes.is_empty() {
            let n = bytes.len().min(CHUNK - self.pending.len());
            self.pending.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if self.pending.len() == CHUNK {
                self.chunk(0)?;
            }
        }
        Ok(())
    }

    fn chunk(&mut self, last: u32) -> Result<(), ToolError> {
        let content = std::mem::take(&mut self.pending);
        let packed = lz4_flex::block::compress(&content);
        let (mut stored, flag) = match packed.len() < content.len() {
            true => (packed, PACKED),
            false => (content.clone(), 0),
        };
        let behind = if self.key.is_some() { TAG } else { SUM };
        let mut head = [0; CHUNK_HEAD];
        head[..4].copy_from_slice(&((stored.len() + behind) as u32).to_le_bytes());
        head[4..].copy_from_slice(&(content.len() as u32 | last | flag).to_le_bytes());
        match &self.key {
            Some(key) => {
                let sealed = key.seal_in_place_append_tag(nonce(self.number), Aad::from(&head), &mut stored);
                sealed.map_err(|_| ToolError::Refused("can't encrypt a chunk".into()))?;
            }
            None => {
                let sum = checksum(&head, self.number, &stored);
                stored.extend_from_slice(&sum.to_le_bytes());
            }
        }
        // 4 PiB.
        self.number = self.number.checked_add(1).ok_or_else(|| {
            ToolError::Refused(format!("'{}' would have too many chunks", self.path.display()))
        })?;
        self.output.append(&head)?;
        self.output.append(&stored)?;
        self.pending = content;
        self.pending.clear();
        Ok(())
    }

    /// Gives it its name (F1 of `backend.rs`).
    pub(super) fn finish(mut self) -> Result<Content, ToolError> {
        if !self.pending.is_empty() {
            self.chunk(0)?;
        }
        let digest = std::mem::replace(&mut self.digest, Context::new(&SHA256)).finish();
        let mut sha256 = [0; 32];
        sha256.copy_from_slice(digest.as_ref());
        self.pending.extend_from_slice(&sha256);
        self.pending.extend_from_slice(&self.len.to_le_bytes());
        self.chunk(LAST)?;
        let Self { output, len, .. } = self;
        output.finish()?;
        Ok(Content { len, sha256 })
    }
}

fn damaged(path: &Path, what: &str) -> ToolError {
    ToolError::Refused(format!("'{}' is damaged: {what}", path.display()))
}

/// The head of a piece, with its name, as far as its checksum says that it is one.
fn read_head(input: &mut dyn Read, path: &Path) -> Result<Vec<u8>, ToolError> {
    let failed = |e| ToolError::io("read", path, e);
    let mut head = vec![0; HEAD];
    let n = read_full(input, &mut head).map_err(failed)?;
    if n < HEAD || head[..8] != *MAGIC {
        return Err(damaged(path, "it does not begin as a file of a backup does"));
    }
    if head[8] != VERSION {
        let (path, version) = (path.display(), head[8]);
        return Err(ToolError::Refused(format!(
            "'{path}' is of format {version}, which this version of duramen does not know: it is at {VERSION}"
        )));
    }
    let name_len = usize::from(u16::from_le_bytes([head[10], head[11]]));
    if name_len > NAME_MAX {
        return Err(damaged(path, "its name has an impossible length"));
    }
    let mut rest = vec![0; name_len + SUM];
    let n = read_full(input, &mut rest).map_err(failed)?;
    head.extend_from_slice(&rest[..name_len]);
    if n < rest.len() || rest[name_len..] != xxhash_rust::xxh3::xxh3_64(&head).to_le_bytes() {
        return Err(damaged(path, "its head is not what was written"));
    }
    Ok(head)
}

/// Fills the buffer, but for the end of the file.
fn read_full(input: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    let mut n = 0;
    while n < into.len() {
        match input.read(&mut into[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(n)
}

/// A piece that is read from front to back.
pub(super) struct PieceReader {
    path: PathBuf,
    input: Box<dyn Read + Send>,
    key: Option<LessSafeKey>,
    at: u64,
    number: u32,
    len: u64,
    digest: Option<Context>,
    content: Option<Content>,
}

impl PieceReader {
    /// `name` is the path in the repository, which must be what the file was written as; `path` is
    /// what messages call it.
    pub(super) fn open(
        mut input: Box<dyn Read + Send>,
        path: &Path,
        name: &str,
        key: Option<&Key>,
    ) -> Result<Self, ToolError> {
        let head = read_head(&mut *input, path)?;
        let found = &head[HEAD..];
        if found != name.as_bytes() {
            return Err(ToolError::Refused(format!(
                "'{}' is another file of a repository: it was written as '{}'",
                path.display(),
                printable(&String::from_utf8_lossy(found))
            )));
        }
        let key = match (head[9] & ENCRYPTED != 0, key) {
            (false, None) => None,
            (false, Some(_)) => {
                return Err(damaged(path, "it is not encrypted, and all others of the key are"));
            }
            (true, Some(key)) => Some(key.of_file(&head[SALT], &head)),
            (true, None) => {
                let path = path.display();
                return Err(ToolError::Refused(format!("'{path}' is encrypted: --key-file says with what")));
            }
        };
        Ok(Self {
            path: path.to_owned(),
            input,
            key,
            at: (head.len() + SUM) as u64,
            number: 0,
            len: 0,
            digest: Some(Context::new(&SHA256)),
            content: None,
        })
    }

    /// Bytes from where the last ones ended.
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, ToolError> {
        read_full(&mut *self.input, into).map_err(|e| ToolError::io("read", &self.path, e))
    }

    fn damaged(&self, what: &str) -> ToolError {
        ToolError::Refused(format!("'{}' is damaged: at {}: {what}", self.path.display(), self.at))
    }

    /// The next bytes; `None` at the end, when all of it was verified.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, ToolError> {
        if self.content.is_some() {
            return Ok(None);
        }
        let mut head = [0; CHUNK_HEAD];
        if self.fill(&mut head)? < CHUNK_HEAD {
            return Err(self.damaged("it ends too early"));
        }
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (stored_len, bits) = (word(0) as usize, word(4));
        let (len, behind) = ((bits & !(LAST | PACKED)) as usize, if self.key.is_some() { TAG } else { SUM });
        if len > CHUNK || stored_len < behind || stored_len - behind > len {
            return Err(self.damaged("a chunk has an impossible length"));
        }
        let mut stored = vec![0; stored_len];
        if self.fill(&mut stored)? < stored_len {
            return Err(self.damaged("it ends too early"));
        }
        match &self.key {
            Some(key) => {
                let opened = key.open_in_place(nonce(self.number), Aad::from(&head), &mut stored);
                if opened.is_err() {
                    return Err(self.damaged("the chunk is not what was encrypted with this key"));
                }
            }
            None => {
                let sum = checksum(&head, self.number, &stored[..stored_len - SUM]);
                if stored[stored_len - SUM..] != sum.to_le_bytes() {
                    return Err(self.damaged("a chunk's checksum is wrong"));
                }
            }
        }
        stored.truncate(stored_len - behind);
        let content = match bits & PACKED != 0 {
            true => match lz4_flex::block::decompress(&stored, len) {
                Ok(content) if content.len() == len => content,
                _ => return Err(self.damaged("a chunk can't be decompressed")),
            },
            false if stored.len() == len => stored,
            false => return Err(self.damaged("a chunk has an impossible length")),
        };
        self.at += (CHUNK_HEAD + stored_len) as u64;
        self.number = self.number.wrapping_add(1);
        if bits & LAST != 0 {
            self.finish(&content)?;
            return Ok(None);
        }
        self.len += content.len() as u64;
        self.digest.iter_mut().for_each(|digest| digest.update(&content));
        Ok(Some(content))
    }

    fn finish(&mut self, last: &[u8]) -> Result<(), ToolError> {
        let mut sha256 = [0; 32];
        if let Some(digest) = self.digest.take() {
            sha256.copy_from_slice(digest.finish().as_ref());
        }
        if last.len() != 40 || last[..32] != sha256 || last[32..] != self.len.to_le_bytes() {
            return Err(self.damaged("its content is not what it was when it was written"));
        }
        if self.fill(&mut [0])? > 0 {
            return Err(self.damaged("something stands behind its end"));
        }
        self.content = Some(Content { len: self.len, sha256 });
        Ok(())
    }

    /// Reads to the end, and hands over all bytes.
    pub(super) fn read_all(
        mut self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), ToolError>,
    ) -> Result<Content, ToolError> {
        while let Some(bytes) = self.next()? {
            take(&bytes)?;
        }
        match self.content {
            Some(content) => Ok(content),
            None => Err(self.damaged("it has no end")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::backend::Backend as _;
    use super::super::folder::Folder;
    use super::*;
    use env::{OpenMode, SimEnv};
    use std::sync::Arc;

    fn folder(env: &SimEnv) -> Folder {
        Folder::new(&(Arc::new(env.clone()) as Arc<dyn Env>), Path::new("/repository"))
    }

    fn open(env: &SimEnv, path: &Path, name: &str, key: Option<&Key>) -> Result<PieceReader, ToolError> {
        let input = folder(env).open("x.piece").unwrap().unwrap();
        PieceReader::open(input, path, name, key)
    }

    fn written(env: &SimEnv, key: Option<&Key>, content: &[u8]) -> (PathBuf, Content) {
        let path = PathBuf::from("/repository/x.piece");
        env.create_dir_all(Path::new("/repository")).unwrap();
        let output = folder(env).create("x.piece", content.len() as u64).unwrap();
        let mut writer = PieceWriter::create(env, output, &path, "x.piece", key).unwrap();
        content.chunks(700_001).for_each(|part| writer.append(part).unwrap());
        let content = writer.finish().unwrap();
        (path, content)
    }

    fn read(env: &SimEnv, path: &Path, key: Option<&Key>) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        let reader = open(env, path, "x.piece", key).map_err(|e| e.to_string())?;
        let content = reader.read_all(&mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        });
        let content = content.map_err(|e| e.to_string())?;
        assert_eq!(content.len, all.len() as u64);
        Ok(all)
    }

    #[test]
    fn contents_are_read_as_they_were_written() {
        let key = Key([7; 32]);
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            for key in [None, Some(&key)] {
                let env = SimEnv::new(1);
                let mut content = vec![0; len];
                env.random(&mut content[len / 2..]);
                let (path, told) = written(&env, key, &content);
                assert_eq!(told.len, len as u64);
                assert_eq!(read(&env, &path, key).unwrap(), content);
            }
        }
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_found() {
        let key = Key([7; 32]);
        for key in [None, Some(&key)] {
            let env = SimEnv::new(2);
            let (path, _) = written(&env, key, b"some rows, some rows, some rows, and a little more of them");
            let whole = env.read_file(&path).unwrap();
            let put = |bytes: &[u8]| {
                let file = env.open(&path, OpenMode::Create).unwrap();
                file.set_len(0).unwrap();
                file.write_at(bytes, 0).unwrap();
            };
            for at in 0..whole.len() {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                put(&changed);
                assert!(read(&env, &path, key).is_err(), "byte {at}");
            }
            for len in 0..whole.len() {
                put(&whole[..len]);
                assert!(read(&env, &path, key).is_err(), "cut at {len}");
            }
            put(&[&whole[..], b"x"].concat());
            assert!(read(&env, &path, key).unwrap_err().contains("behind its end"));
        }
    }

    /// Whoever can write changes the name in a file, and its checksum, too.
    #[test]
    fn a_piece_can_not_be_made_another_one() {
        let env = SimEnv::new(4);
        let key = Key([7; 32]);
        let (path, _) = written(&env, Some(&key), b"some rows");
        let told = open(&env, &path, "y.piece", Some(&key)).err().unwrap().to_string();
        assert!(told.contains("it was written as 'x.piece'"), "{told}");
        let mut forged = env.read_file(&path).unwrap();
        forged[HEAD] = b'y';
        let sum = HEAD + "x.piece".len();
        let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..sum]).to_le_bytes();
        forged[sum..sum + SUM].copy_from_slice(&checksum);
        env.replace_file(&path, &forged).unwrap();
        let reader = open(&env, &path, "y.piece", Some(&key)).unwrap();
        let told = reader.read_all(&mut |_| Ok(())).err().unwrap().to_string();
        assert!(told.contains("encrypted with this key"), "{told}");
    }

    #[test]
    fn another_key_and_none_are_told() {
        let env = SimEnv::new(3);
        let (path, _) = written(&env, Some(&Key([7; 32])), b"secret");
        assert!(read(&env, &path, Some(&Key([8; 32]))).unwrap_err().contains("encrypted with this key"));
        assert!(read(&env, &path, None).unwrap_err().contains("--key-file"));
        assert!(!env.read_file(&path).unwrap().windows(6).any(|w| w == b"secret"));
    }
}
