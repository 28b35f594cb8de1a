//! The compressed protocol: a layer between packets and socket (or TLS), after the login.
//!
//! ```text
//! 3 bytes  length of the frame's content as it follows
//! 1 byte   sequence number: 0 in a command's first frame, then one up with each frame of either side, modulo 256
//! 3 bytes  length of the content once it is unpacked; 0 says that it is not packed
//! n bytes  content: any piece of the stream of packets, which may begin and end in the middle of one
//! ```
//!
//! (C1) A frame unpacks to as many bytes as it says, below 16 MiB; memory is taken as they come
//!      out, and shrinks back.
//! (C2) Frames are counted as packets are without compression; the packets inside are not.

use crate::channel::Channel;
use crate::flags::Capabilities;
use crate::socket::Wait;
use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::CompressionLevel;
use std::io::{self, ErrorKind, Read, Write};

const HEADER: usize = 7;
/// What is shorter costs more to pack than to send.
const PACK_MIN: usize = 50;
/// The most that goes into one frame.
const PIECE_MAX: usize = 0xff_ffff;
const _: () = assert!(HEADER == 3 + 1 + 3, "packed length, sequence number, length");
const _: () = assert!(PIECE_MAX == (1 << 24) - 1, "what three bytes can say");
/// Buffers that grew beyond this are given back once they are empty.
const SHRINK_ABOVE: usize = 64 << 10;
/// No frame's content needs a larger window.
const WINDOW_MAX: u64 = 16 << 20;

/// How frames are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// zlib's format (deflate).
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Algorithm {
    /// What a connection with these capabilities uses from its login on.
    pub(crate) fn of(capabilities: Capabilities) -> Option<Self> {
        if capabilities.has(Capabilities::COMPRESS) {
            Some(Self::Zlib)
        } else if capabilities.has(Capabilities::ZSTD_COMPRESSION) {
            Some(Self::Zstd)
        } else {
            None
        }
    }
}

/// A channel whose bytes travel in frames.
pub(crate) struct Compressed {
    pub(crate) inner: Channel,
    algorithm: Algorithm,
    /// The number of the next frame, whichever side sends it.
    sequence: u8,
    /// Bytes that came in before this layer did.
    early: Vec<u8>,
    /// A frame as it came.
    frame: Vec<u8>,
    /// What was in it; read up to `at`.
    content: Vec<u8>,
    at: usize,
    /// A frame to be sent.
    output: Vec<u8>,
    /// Its state is large and worth keeping.
    deflate: Option<Compress>,
}

impl Compressed {
    pub(crate) fn new(inner: Channel, algorithm: Algorithm, early: Vec<u8>) -> Self {
        let (frame, content, output) = (Vec::new(), Vec::new(), Vec::new());
        Self { inner, algorithm, sequence: 0, early, frame, content, at: 0, output, deflate: None }
    }

    /// A command begins.
    pub(crate) fn restart(&mut self) {
        self.sequence = 0;
    }

    fn read_inner(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.early.is_empty() {
            return self.inner.read(buf);
        }
        let n = self.early.len().min(buf.len());
        buf[..n].copy_from_slice(&self.early[..n]);
        self.early.drain(..n);
        Ok(n)
    }

    /// Reads the next frame into `content`; false at the end of the stream.
    fn read_frame(&mut self) -> io::Result<bool> {
        let mut header = [0; HEADER];
        let mut n = self.read_inner(&mut header)?;
        if n == 0 {
            return Ok(false);
        }
        // The rest of what has begun does not wait as long as its beginning may.
        if let Some(line) = self.inner.line() {
            line.set_wait(Wait::Remaining);
        }
        while n < HEADER {
            match self.read_inner(&mut header[n..])? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                more => n += more,
            }
        }
        let [a, b, c, sequence, d, e, f] = header;
        let (packed, plain) = (u32::from_le_bytes([a, b, c, 0]), u32::from_le_bytes([d, e, f, 0]));
        if sequence != self.sequence {
            return Err(invalid("a frame out of order"));
        }
        self.sequence = sequence.wrapping_add(1);
        self.read_content(packed as usize)?;
        self.unpack(plain as usize)?;
        Ok(true)
    }

    fn read_content(&mut self, n: usize) -> io::Result<()> {
        give_back(&mut self.frame);
        let early = self.early.len().min(n);
        self.frame.extend(self.early.drain(..early));
        let missing = n - early;
        if (&mut self.inner).take(missing as u64).read_to_end(&mut self.frame)? < missing {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// (C1)
    fn unpack(&mut self, n: usize) -> io::Result<()> {
        give_back(&mut self.content);
        self.at = 0;
        if n == 0 {
            std::mem::swap(&mut self.content, &mut self.frame);
            return Ok(());
        }
        let bound = n as u64 + 1;
        let unpacked = match self.algorithm {
            Algorithm::Zlib => {
                ZlibDecoder::new(&self.frame[..]).take(bound).read_to_end(&mut self.content)?
            }
            Algorithm::Zstd => {
                if zstd_window(&self.frame).is_none_or(|window| window > WINDOW_MAX) {
                    return Err(invalid("a window larger than any frame"));
                }
                let decoder = StreamingDecoder::new(&self.frame[..]).map_err(io::Error::other)?;
                decoder.take(bound).read_to_end(&mut self.content)?
            }
        };
        if unpacked == n { Ok(()) } else { Err(invalid("a frame of another length than it says")) }
    }

    /// Appends `piece`, packed, to `output`; false if that made it no shorter.
    fn pack(&mut self, piece: &[u8]) -> io::Result<bool> {
        let start = self.output.len();
        match self.algorithm {
            Algorithm::Zlib => {
                let deflate = self.deflate.get_or_insert_with(|| Compress::new(Compression::fast(), true));
                deflate.reset();
                // What does not fit in as many bytes is not worth packing.
                self.output.reserve(piece.len());
                let status = deflate.compress_vec(piece, &mut self.output, FlushCompress::Finish);
                let ended = status.map_err(io::Error::other)? == Status::StreamEnd;
                Ok(ended && self.output.len() - start < piece.len())
            }
            Algorithm::Zstd => {
                pack_zstd(piece, &mut self.output);
                Ok(self.output.len() - start < piece.len())
            }
        }
    }
}

/// Never inlined, for it takes 160 KiB of stack: each write of a packet would touch all pages of
/// that, compressed or not.
#[inline(never)]
fn pack_zstd(piece: &[u8], out: &mut Vec<u8>) {
    ruzstd::encoding::compress(piece, out, CompressionLevel::Fastest);
}

impl Read for Compressed {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.at == self.content.len() {
            if !self.read_frame()? {
                return Ok(0);
            }
        }
        let n = buf.len().min(self.content.len() - self.at);
        buf[..n].copy_from_slice(&self.content[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Compressed {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let piece = &buf[..buf.len().min(PIECE_MAX)];
        give_back(&mut self.output);
        self.output.resize(HEADER, 0);
        let mut plain = piece.len();
        if plain < PACK_MIN || !self.pack(piece)? {
            self.output.truncate(HEADER);
            self.output.extend_from_slice(piece);
            plain = 0;
        }
        let content = (self.output.len() - HEADER) as u32;
        self.output[..3].copy_from_slice(&content.to_le_bytes()[..3]);
        self.output[3] = self.sequence;
        self.output[4..HEADER].copy_from_slice(&(plain as u32).to_le_bytes()[..3]);
        self.sequence = self.sequence.wrapping_add(1);
        self.inner.write_all(&self.output)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn give_back(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > SHRINK_ABOVE {
        buffer.shrink_to(0);
    }
}

/// The memory that a Zstandard frame asks its reader for: the window, or all of the content (RFC
/// 8878, 3.1.1.1).
fn zstd_window(frame: &[u8]) -> Option<u64> {
    let (descriptor, rest) = frame.strip_prefix(&0xfd2f_b528_u32.to_le_bytes())?.split_first()?;
    if descriptor & 0x20 == 0 {
        let window = rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(rest.get(dictionary..dictionary + size)?);
    Some(u64::from_le_bytes(bytes) + if size == 2 { 256 } else { 0 })
}

#[cfg(test)]
mod tests;
