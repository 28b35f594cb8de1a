//! AES_ENCRYPT and AES_DECRYPT, in the mode that `block_encryption_mode` names.
//!
//! A key of any length is folded to the mode's by exclusive or, unless a key derivation function is
//! named: `AES_ENCRYPT(text, key [, iv [, 'hkdf' [, salt [, info]]]])`,
//! `.. 'pbkdf2_hmac' [, salt [, iterations]]`, both over SHA-512. Modes of whole blocks pad as PKCS
//! #7 has it.

use std::borrow::Cow;
use std::num::NonZeroU32;

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{hkdf, pbkdf2};

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("aes_decrypt", (2, 6), decrypted_type, aes_decrypt),
    f("aes_encrypt", (2, 6), encrypted_type, aes_encrypt),
];

const BLOCK: usize = 16;
const ITERATIONS: std::ops::RangeInclusive<u32> = 1000..=65_535;

fn encrypted_type(arguments: &[Expr], _: &Typing) -> Type {
    let ty = &arguments[0].ty;
    let width = if ty.family.is_text() { ty.collation.charset().char_len_max() } else { 1 };
    let length = ty.length.saturating_mul(width) / BLOCK as u32 * BLOCK as u32;
    let length = length.saturating_add(BLOCK as u32).min(16 * 1024 * 1024);
    Type::text(Collation::BINARY, Coercibility::Literal, length)
}

fn decrypted_type(arguments: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::BINARY, Coercibility::Literal, arguments[0].ty.text_length())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chaining {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

struct Mode {
    chaining: Chaining,
    algorithm: &'static Algorithm,
    key_len: usize,
}

impl Mode {
    /// From a place among the values of `block_encryption_mode`.
    fn at(place: u64) -> Self {
        let (algorithm, key_len) = match place % 3 {
            0 => (&AES_128, 16),
            1 => (&AES_192, 24),
            _ => (&AES_256, 32),
        };
        let chaining = match place / 3 {
            0 => Chaining::Ecb,
            1 => Chaining::Cbc,
            2 => Chaining::Cfb1,
            3 => Chaining::Cfb8,
            4 => Chaining::Cfb128,
            _ => Chaining::Ofb,
        };
        Mode { chaining, algorithm, key_len }
    }

    fn pads(&self) -> bool {
        matches!(self.chaining, Chaining::Ecb | Chaining::Cbc)
    }

    fn encrypt(&self, key: &[u8], iv: [u8; BLOCK], mut text: Vec<u8>) -> Result<Vec<u8>, Unspecified> {
        if self.pads() {
            let padding = BLOCK - text.len() % BLOCK;
            text.resize(text.len() + padding, padding as u8);
        }
        let key = UnboundCipherKey::new(self.algorithm, key)?;
        let key = match self.chaining {
            Chaining::Ecb => EncryptingKey::ecb(key)?,
            Chaining::Cbc => EncryptingKey::cbc(key)?,
            Chaining::Cfb1 => EncryptingKey::cfb1(key)?,
            Chaining::Cfb8 => EncryptingKey::cfb8(key)?,
            Chaining::Cfb128 => EncryptingKey::cfb128(key)?,
            Chaining::Ofb => EncryptingKey::ofb(key)?,
        };
        let context = match self.chaining {
            Chaining::Ecb => EncryptionContext::None,
            _ => EncryptionContext::Iv128(FixedLength::from(iv)),
        };
        key.less_safe_encrypt(&mut text, context)?;
        Ok(text)
    }

    fn decrypt(&self, key: &[u8], iv: [u8; BLOCK], mut text: Vec<u8>) -> Result<Vec<u8>, Unspecified> {
        let key = UnboundCipherKey::new(self.algorithm, key)?;
        let key = match self.chaining {
            Chaining::Ecb => DecryptingKey::ecb(key)?,
            Chaining::Cbc => DecryptingKey::cbc(key)?,
            Chaining::Cfb1 => DecryptingKey::cfb1(key)?,
            Chaining::Cfb8 => DecryptingKey::cfb8(key)?,
            Chaining::Cfb128 => DecryptingKey::cfb128(key)?,
            Chaining::Ofb => DecryptingKey::ofb(key)?,
        };
        let context = match self.chaining {
            Chaining::Ecb => DecryptionContext::None,
            _ => DecryptionContext::Iv128(FixedLength::from(iv)),
        };
        key.decrypt(&mut text, context)?;
        if self.pads() {
            let padding = usize::from(*text.last().ok_or(Unspecified)?);
            let cut_at = text.len().checked_sub(padding).ok_or(Unspecified)?;
            if !(1..=BLOCK).contains(&padding) || text[cut_at..].iter().any(|&b| usize::from(b) != padding) {
                return Err(Unspecified);
            }
            text.truncate(cut_at);
        }
        Ok(text)
    }
}

/// Mode, key and initialisation vector.
type Setting = (Mode, Vec<u8>, [u8; BLOCK]);

/// What both functions need besides the text; `None` if any of it is NULL.
fn setting<'a>(cx: &mut Context, call: Call<'a>, name: &str) -> Result<Option<Setting>> {
    let mode = Mode::at(cx.settings.variables().uint(ids::BLOCK_ENCRYPTION_MODE));
    let Some(password) = call.text(cx, 1)? else { return Ok(None) };
    let mut iv = [0; BLOCK];
    if mode.chaining == Chaining::Ecb {
        if call.count() > 2 && call.text(cx, 2)?.is_some_and(|iv| !iv.is_empty()) {
            cx.warn(error::WARN_OPTION_IGNORED.with(&[&"IV"]));
        }
    } else {
        if call.count() < 3 {
            return Err(error::WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&name]));
        }
        let Some(given) = call.text(cx, 2)? else { return Ok(None) };
        let Some(start) = given.first_chunk::<BLOCK>() else {
            return Err(error::AES_INVALID_IV.with(&[&name, &BLOCK]));
        };
        iv = *start;
    }
    let key = if call.count() > 3 {
        derive(cx, call, &mode, &password, name)?
    } else {
        Some(fold(&password, mode.key_len))
    };
    Ok(key.map(|key| (mode, key, iv)))
}

fn fold(password: &[u8], key_len: usize) -> Vec<u8> {
    let mut key = vec![0; key_len];
    for (i, &b) in password.iter().enumerate() {
        key[i % key_len] ^= b;
    }
    key
}

struct KeyLength(usize);

impl hkdf::KeyType for KeyLength {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive<'a>(
    cx: &mut Context,
    call: Call<'a>,
    mode: &Mode,
    password: &[u8],
    name: &str,
) -> Result<Option<Vec<u8>>> {
    let Some(function) = call.text(cx, 3)? else { return Ok(None) };
    let salt: Cow<'_, [u8]> = match call.count() {
        5.. => match call.text(cx, 4)? {
            Some(salt) => salt,
            None => return Ok(None),
        },
        _ => Cow::Borrowed(&[]),
    };
    let mut key = vec![0; mode.key_len];
    let wrong = || error::AES_INVALID_KDF_NAME.with(&[&name]);
    match function.to_ascii_lowercase().as_slice() {
        b"hkdf" => {
            let info = match call.count() {
                6 => match call.text(cx, 5)? {
                    Some(info) => info,
                    None => return Ok(None),
                },
                _ => Cow::Borrowed(&[][..]),
            };
            let secret = hkdf::Salt::new(hkdf::HKDF_SHA512, &salt).extract(password);
            let info: [&[u8]; 1] = [&info];
            let expanded = secret.expand(&info, KeyLength(mode.key_len));
            expanded.and_then(|okm| okm.fill(&mut key)).map_err(|_| wrong())?;
        }
        b"pbkdf2_hmac" => {
            let iterations = match call.count() {
                6 => match call.int(cx, 5)? {
                    Some(n) => u32::try_from(n).unwrap_or(0),
                    None => return Ok(None),
                },
                _ => *ITERATIONS.start(),
            };
            let valid = NonZeroU32::new(iterations).filter(|_| ITERATIONS.contains(&iterations));
            let Some(iterations) = valid else {
                return Err(error::AES_INVALID_KDF_ITERATIONS.with(&[&name]));
            };
            pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, iterations, &salt, password, &mut key);
        }
        _ => return Err(wrong()),
    }
    Ok(Some(key))
}

fn aes_encrypt<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let (mode, key, iv) = not_null!(setting(cx, call, "aes_encrypt"));
    Ok(mode.encrypt(&key, iv, text.into_owned()).map_or(Datum::Null, Datum::owned))
}

/// NULL for what was not made by AES_ENCRYPT with this key.
fn aes_decrypt<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let (mode, key, iv) = not_null!(setting(cx, call, "aes_decrypt"));
    Ok(mode.decrypt(&key, iv, text.into_owned()).map_or(Datum::Null, Datum::owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::BLOCK_ENCRYPTION_MODES;

    #[test]
    fn every_mode_there_and_back() {
        for place in 0..BLOCK_ENCRYPTION_MODES.len() as u64 {
            let mode = Mode::at(place);
            for len in 0..40 {
                let text = vec![b'x'; len];
                let key = fold(b"a password longer than any key of thirty-two bytes", mode.key_len);
                let secret = mode.encrypt(&key, [7; BLOCK], text.clone()).unwrap();
                assert_eq!(
                    mode.decrypt(&key, [7; BLOCK], secret).unwrap(),
                    text,
                    "{}",
                    BLOCK_ENCRYPTION_MODES[place as usize]
                );
            }
        }
    }
}
