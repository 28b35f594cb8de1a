//! Frames over a socket in memory.

use super::*;
use crate::packet::tests::Memory;
use crate::socket::{Line, Timeouts};
use env::RealEnv;
use proptest::prelude::*;
use std::sync::Arc;

fn layer(memory: &Memory, algorithm: Algorithm, early: Vec<u8>) -> Compressed {
    let line = Line::new(Box::new(memory.clone()), Arc::new(RealEnv), Timeouts::default()).unwrap();
    Compressed::new(Channel::Plain(line), algorithm, early)
}

/// The frames that `pieces` become.
fn sent(algorithm: Algorithm, pieces: &[Vec<u8>]) -> Vec<u8> {
    let memory = Memory::default();
    let mut writer = layer(&memory, algorithm, Vec::new());
    for piece in pieces {
        writer.write_all(piece).unwrap();
    }
    std::mem::take(&mut memory.0.lock().written)
}

/// What is read from frames that arrive in pieces of `step` bytes, the first of them early.
fn received(algorithm: Algorithm, frames: &[u8], step: usize) -> io::Result<Vec<u8>> {
    let mut pieces = frames.chunks(step).map(<[u8]>::to_vec);
    let early = pieces.next().unwrap_or_default();
    let memory = Memory::default();
    memory.0.lock().pieces.extend(pieces);
    let mut read = Vec::new();
    layer(&memory, algorithm, early).read_to_end(&mut read).map(|_| read)
}

fn frame(sequence: u8, content: &[u8], plain: usize) -> Vec<u8> {
    let n = (content.len() as u32).to_le_bytes();
    let p = (plain as u32).to_le_bytes();
    [&[n[0], n[1], n[2], sequence, p[0], p[1], p[2]], content].concat()
}

/// The example of MySQL's page on compressed packets: a query of 33 bytes, sent as it is.
#[test]
fn short_content_is_not_packed() {
    let query = b"\x09\0\0\0\x03select 1".to_vec();
    let frames = sent(Algorithm::Zlib, &[query]);
    assert_eq!(frames, b"\x0d\0\0\0\0\0\0\x09\0\0\0\x03select 1");
}

#[test]
fn long_content_takes_less_room() {
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let content = b"all the same, all the same, ".repeat(100_000);
        let frames = sent(algorithm, std::slice::from_ref(&content));
        assert!(frames.len() < content.len() / 20, "{algorithm:?}: {}", frames.len());
        assert_eq!(received(algorithm, &frames, 5000).unwrap(), content);
    }
}

#[test]
fn what_unpacks_to_another_length_is_refused() {
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let content = vec![0; 1 << 20];
        let good = sent(algorithm, &[content]);
        let packed = &good[HEADER..];
        for plain in [1, (1 << 20) - 1, (1 << 20) + 1, 0xff_ffff] {
            assert!(received(algorithm, &frame(0, packed, plain), 99).is_err(), "{algorithm:?} {plain}");
        }
        assert!(received(algorithm, &frame(1, packed, 1 << 20), 99).is_err(), "out of order");
        assert!(received(algorithm, &good[..good.len() - 1], 99).is_err(), "cut short");
    }
}

#[test]
fn a_window_beyond_every_frame_is_refused() {
    // Magic number, no content size, a window of 2^(10 + 31) bytes; then one that says its size:
    // 2^63 bytes.
    let magic = 0xfd2f_b528_u32.to_le_bytes();
    let window = [&magic[..], &[0, 0xf8, 1, 0, 0]].concat();
    assert_eq!(zstd_window(&window), Some(1 << 41));
    assert!(received(Algorithm::Zstd, &frame(0, &window, 100), 99).is_err());
    let sized = [&magic[..], &[0xe0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0]].concat();
    assert_eq!(zstd_window(&sized), Some(1 << 63));
    assert!(received(Algorithm::Zstd, &frame(0, &sized, 100), 99).is_err());
}

proptest! {
    #[test]
    fn any_stream_comes_through(
        pieces in prop::collection::vec((any::<Vec<u8>>(), 1_usize..40), 0..8),
        step in 1_usize..50,
        zstd: bool,
    ) {
        let algorithm = if zstd { Algorithm::Zstd } else { Algorithm::Zlib };
        let pieces: Vec<_> = pieces.into_iter().map(|(bytes, times)| bytes.repeat(times)).collect();
        prop_assert_eq!(received(algorithm, &sent(algorithm, &pieces), step).unwrap(), pieces.concat());
    }

    #[test]
    fn random_frames_never_panic(content: Vec<u8>, plain in 0_usize..5000, zstd: bool, real: bool) {
        let algorithm = if zstd { Algorithm::Zstd } else { Algorithm::Zlib };
        let magic: &[u8] = if real { &[0x28, 0xb5, 0x2f, 0xfd] } else { &[] };
        let _ = received(algorithm, &frame(0, &[magic, &content].concat(), plain), 7);
    }
}
