//! Packets over a socket that is a pair of byte buffers.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::socket::{Socket, Timeouts};
use env::RealEnv;
use parking_lot::Mutex;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A socket in memory: gives its input in the given pieces, then the end, and counts what is
/// written.
#[derive(Default, Clone)]
pub(crate) struct Memory(pub(crate) Arc<Mutex<MemoryState>>);

#[derive(Default)]
pub(crate) struct MemoryState {
    pub(crate) pieces: VecDeque<Vec<u8>>,
    reads: usize,
    pub(crate) written: Vec<u8>,
    writes: usize,
}

impl Read for Memory {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        state.reads += 1;
        let Some(mut piece) = state.pieces.pop_front() else { return Ok(0) };
        let n = piece.len().min(buf.len());
        buf[..n].copy_from_slice(&piece[..n]);
        if n < piece.len() {
            state.pieces.push_front(piece.split_off(n));
        }
        Ok(n)
    }
}

impl Write for Memory {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        state.writes += 1;
        state.written.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket for Memory {
    fn set_read_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn set_write_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn is_local(&self) -> bool {
        true
    }

    fn shutdown(&self) -> io::Result<()> {
        Ok(())
    }
}

fn packets(pieces: Vec<Vec<u8>>, payload_max: usize) -> (Packets, Memory) {
    let memory = Memory::default();
    memory.0.lock().pieces = pieces.into();
    let line = Line::new(Box::new(memory.clone()), Arc::new(RealEnv), Timeouts::default()).unwrap();
    (Packets::new(line, payload_max), memory)
}

fn written(payload: &[u8]) -> Vec<u8> {
    let (mut packets, memory) = packets(Vec::new(), 0);
    packets.begin_packet().extend_from_slice(payload);
    packets.end_packet();
    packets.flush().unwrap();
    std::mem::take(&mut memory.0.lock().written)
}

#[test]
fn a_small_command_is_one_read_and_its_reply_one_write() {
    let (mut packets, memory) = packets(vec![b"\x05\0\0\0hello\x02\0\0\0hi".to_vec()], 100);
    let mut payload = Vec::new();
    packets.read(&mut payload, Wait::Command).unwrap();
    assert_eq!(payload, b"hello");
    for text in [&b"a"[..], b"bc"] {
        packets.begin_packet().extend_from_slice(text);
        packets.end_packet();
    }
    packets.flush().unwrap();
    assert_eq!(memory.0.lock().reads, 1);
    assert_eq!(memory.0.lock().writes, 1);
    assert_eq!(memory.0.lock().written, b"\x01\0\0\x01a\x02\0\0\x02bc");
    packets.continue_sequence(0);
    packets.read(&mut payload, Wait::Command).unwrap();
    assert_eq!(payload, b"hi");
    assert_eq!(memory.0.lock().reads, 1, "the second command had arrived with the first");
}

#[test]
fn long_payloads_are_split_and_joined() {
    for n in [PAYLOAD_MAX - 1, PAYLOAD_MAX, PAYLOAD_MAX + 1, 2 * PAYLOAD_MAX, 2 * PAYLOAD_MAX + 5] {
        let payload: Vec<u8> = (0..n).map(|i| (i / 251 + i) as u8).collect();
        let bytes = written(&payload);
        assert_eq!(bytes.len(), n + 4 * (1 + n / PAYLOAD_MAX));
        let (mut packets, memory) = packets(vec![bytes.clone()], n);
        let mut read = Vec::new();
        packets.read(&mut read, Wait::Command).unwrap();
        assert!(read == payload, "{n}");
        packets.continue_sequence(0);
        packets.put(&payload[..1], &payload[1..]).unwrap();
        packets.flush().unwrap();
        assert!(memory.0.lock().written == bytes, "put {n}");
        packets.payload_max = n - 1;
        memory.0.lock().pieces = vec![bytes].into();
        packets.continue_sequence(0);
        assert!(matches!(packets.read(&mut read, Wait::Command), Err(ReadError::TooLarge)));
        assert!(
            matches!(packets.read(&mut read, Wait::Command), Err(ReadError::Closed)),
            "all of it was skipped"
        );
    }
}

#[test]
fn memory_follows_the_bytes_that_arrived_and_shrinks_back() {
    let (mut packets, memory) = packets(vec![b"\xfe\xff\xff\0only this".to_vec()], 1 << 30);
    let mut payload = Vec::new();
    assert!(matches!(packets.read(&mut payload, Wait::Command), Err(ReadError::Aborted)));
    assert!(payload.capacity() <= 2 * SHRINK_ABOVE, "{}", payload.capacity());
    memory.0.lock().pieces = vec![written(&vec![1; 1 << 20]), written(b"x")].into();
    packets.continue_sequence(0);
    packets.read(&mut payload, Wait::Command).unwrap();
    assert_eq!(payload.len(), 1 << 20);
    packets.continue_sequence(0);
    packets.read(&mut payload, Wait::Command).unwrap();
    assert!(payload.capacity() <= BUFFER);
    packets.begin_packet().resize(1 << 20, 0);
    packets.end_packet();
    packets.flush().unwrap();
    assert!(packets.output.capacity() <= BUFFER);
}

#[test]
fn each_way_to_end() {
    let read = |bytes: &[u8]| {
        let (mut packets, _) = packets(vec![bytes.to_vec()], 10);
        packets.read(&mut Vec::new(), Wait::Command).unwrap_err()
    };
    assert!(matches!(read(b""), ReadError::Closed));
    assert!(matches!(read(b"\x01\0"), ReadError::Aborted));
    assert!(matches!(read(b"\x02\0\0\0x"), ReadError::Aborted));
    assert!(matches!(read(b"\x01\0\0\x01x"), ReadError::OutOfOrder { expected: 0, found: 1 }));
    assert!(matches!(read(b"\x0b\0\0\0hello world"), ReadError::TooLarge));
}

proptest! {
    #[test]
    fn random_bytes_in_random_pieces_never_panic(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10)
    ) {
        let (mut packets, _) = packets(pieces, 1000);
        let mut payload = Vec::new();
        while packets.read(&mut payload, Wait::Command).is_ok() {}
        prop_assert!(payload.capacity() <= 2 * SHRINK_ABOVE);
    }

    #[test]
    fn packets_in_any_pieces_are_read_back(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40_000), 0..4),
        piece in 1_usize..5000,
    ) {
        let (mut packets, memory) = packets(Vec::new(), 1 << 20);
        for payload in &payloads {
            packets.begin_packet().extend_from_slice(payload);
            packets.end_packet();
        }
        packets.flush().unwrap();
        let bytes = std::mem::take(&mut memory.0.lock().written);
        memory.0.lock().pieces = bytes.chunks(piece).map(<[u8]>::to_vec).collect();
        packets.continue_sequence(0);
        let mut read = Vec::new();
        for payload in &payloads {
            packets.read(&mut read, Wait::Remaining).unwrap();
            prop_assert_eq!(&read, payload);
        }
        prop_assert!(matches!(packets.read(&mut read, Wait::Remaining), Err(ReadError::Closed)));
    }
}

#[test]
fn output_is_taken_with_the_offset_of_its_last_packet() {
    let (mut packets, memory) = packets(vec![], 100);
    let mut taken = Vec::new();
    assert_eq!(packets.take_output(&mut taken), None);
    packets.continue_sequence(1);
    packets.begin_packet().extend_from_slice(b"a");
    packets.end_packet();
    let long = vec![b'b'; PAYLOAD_MAX + 1];
    packets.begin_packet().extend_from_slice(&long);
    packets.end_packet();
    assert_eq!(packets.take_output(&mut taken), Some(HEADER + 1));
    assert_eq!(taken.len(), HEADER + 1 + 2 * HEADER + long.len(), "it took two packets");
    assert_eq!(packets.take_output(&mut Vec::new()), None);
    packets.flush().unwrap();
    assert!(memory.0.lock().written.is_empty());
}
