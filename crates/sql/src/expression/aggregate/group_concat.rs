//! GROUP_CONCAT: a group's texts, in an order if one is asked for, as one text of at most
//! `group_concat_max_len` bytes.
//!
//! Texts that no longer fit are not kept: without ORDER BY none is taken once the length is
//! reached, with it the last ones in order are dropped now and then.

use super::sort_key;
use crate::expression::{OrderTerm, Row};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::Charset;
use datum::value::Datum;

/// What GROUP_CONCAT has besides its argument.
#[derive(Debug, Clone)]
pub(crate) struct Concat {
    /// What the texts are sorted by.
    pub order: Vec<OrderTerm>,
    /// What stands between the texts.
    pub separator: Box<[u8]>,
    /// The result's character set.
    pub charset: Charset,
}

impl Concat {
    /// What a row's text sorts by.
    pub(super) fn order_key(&self, cx: &mut Context, row: Row<'_>) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        for OrderTerm { expr, descending } in &self.order {
            let start = key.len();
            sort_key(&expr.eval(cx, row)?, &expr.ty, &mut key)?;
            if *descending {
                key[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        Ok(key)
    }
}

/// The texts of a group, each with the key it sorts by.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    list: Vec<(Vec<u8>, Vec<u8>)>,
    /// Bytes of all texts with their separators.
    bytes: usize,
    /// Some text was left out.
    dropped: bool,
}

/// Texts are dropped when there are so many bytes more than fit.
const SLACK: usize = 64 * 1024;

impl Gathered {
    /// Takes a text in, with the key that it sorts by. Returns the bytes of memory that it takes.
    pub(super) fn add(&mut self, concat: &Concat, value: Datum<'_>, key: Vec<u8>, max: usize) -> usize {
        if concat.order.is_empty() && self.bytes > max {
            self.dropped = true;
            return 0;
        }
        let text = value.into_bytes().into_owned();
        self.bytes += text.len() + concat.separator.len();
        let grown = key.len() + text.len() + 2 * std::mem::size_of::<Vec<u8>>();
        self.list.push((key, text));
        if self.bytes > max.saturating_mul(2).saturating_add(SLACK) {
            self.drop_last(concat, max);
        }
        grown
    }

    fn sort(&mut self, concat: &Concat) {
        if !concat.order.is_empty() {
            // Stable: equal ones stay in the order that they came in.
            self.list.sort_by(|a, b| a.0.cmp(&b.0));
        }
    }

    /// Keeps the first texts in order, up to the one that reaches the length.
    fn drop_last(&mut self, concat: &Concat, max: usize) {
        self.sort(concat);
        let mut bytes = 0;
        let reaches = |(_, text): &(Vec<u8>, Vec<u8>)| {
            bytes += text.len() + concat.separator.len();
            bytes > max + concat.separator.len()
        };
        if let Some(last) = self.list.iter().position(reaches) {
            self.dropped |= last + 1 < self.list.len();
            self.list.truncate(last + 1);
        }
        self.bytes = bytes;
    }

    /// The group's text, cut at a character with warning 1260 where it is too long; NULL if there
    /// was none. `rows` are those that went into the groups before it, by which the warning says
    /// the row.
    pub(super) fn finish(mut self, concat: &Concat, cx: &mut Context, rows: &mut usize) -> Datum<'static> {
        if self.list.is_empty() {
            return Datum::Null;
        }
        self.sort(concat);
        let max = cx.settings.group_concat_max_len();
        let mut out = Vec::with_capacity(self.bytes.min(max));
        let before = *rows;
        *rows += self.list.len();
        for (i, (_, text)) in self.list.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(&concat.separator);
            }
            out.extend_from_slice(text);
            if out.len() > max || out.len() == max && (self.dropped || i + 1 < self.list.len()) {
                let row = if out.len() > max { i + 1 } else { i + 2 };
                out.truncate(max);
                let whole = concat.charset.valid_prefix(&out);
                out.truncate(whole);
                *rows = before + row;
                cx.warn(error::CUT_VALUE_GROUP_CONCAT.with(&[rows, &"GROUP_CONCAT("]));
                break;
            }
        }
        Datum::owned(out)
    }
}
