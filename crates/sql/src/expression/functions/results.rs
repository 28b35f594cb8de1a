//! What is reported to clients of the functions' results beyond their family: whether they can be
//! NULL, and how many digits they have. One table for all functions, recorded from MySQL's column
//! definitions; `tests/result_types.rs` compares each with operands of every type.
//!
//! What is not here can be NULL, and is as long as its line in the functions' table says.

use super::{Function, MADE_BYTES_MAX, Typing};
use crate::expression::Expr;
use datum::types::{Family, Type};

/// When a result can be NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// Whatever the operands are.
    Possible,
    /// If an operand can be.
    OfOperands,
    /// Never.
    None,
    /// If an operand can be; in a strict sql_mode always.
    OfTexts,
    /// The same, and where the result may have more than [`MADE_BYTES_MAX`].
    OfMade,
    /// In a strict sql_mode only.
    Strict,
}
use Nulls::{None as Never, OfMade, OfOperands, OfTexts, Possible, Strict};

/// What a function's result is described as.
struct ResultMetadata {
    name: &'static str,
    nulls: Nulls,
    /// The display width, sign included, of a number; 0 where the type has it.
    width: u32,
}

const fn t(name: &'static str, nulls: Nulls, width: u32) -> ResultMetadata {
    ResultMetadata { name, nulls, width }
}

/// By name.
static TABLE: &[ResultMetadata] = &[
    t("abs", OfOperands, 0),
    t("aes_encrypt", OfMade, 0),
    t("ascii", OfOperands, 4),
    t("benchmark", Possible, 1),
    t("bit_count", OfOperands, 21),
    t("bit_length", OfOperands, 11),
    t("ceil", OfOperands, 0),
    t("ceiling", OfOperands, 0),
    t("char_length", OfOperands, 11),
    t("character_length", OfOperands, 11),
    t("charset", Strict, 0),
    t("coercibility", Never, 10),
    t("collation", Strict, 0),
    t("compress", OfMade, 0),
    t("concat", OfMade, 0),
    t("concat_ws", OfMade, 0),
    t("connection_id", Never, 21),
    t("crc32", OfOperands, 10),
    t("current_role", Strict, 0),
    t("current_user", Strict, 0),
    t("datediff", Possible, 9),
    t("day", Possible, 3),
    t("dayofmonth", Possible, 3),
    t("dayofweek", Possible, 2),
    t("dayofyear", Possible, 4),
    t("degrees", OfOperands, 0),
    t("export_set", OfMade, 0),
    t("field", Never, 11),
    t("find_in_set", OfOperands, 11),
    t("floor", OfOperands, 0),
    t("format", OfTexts, 0),
    t("format_bytes", OfTexts, 0),
    t("found_rows", Never, 21),
    t("get_lock", Possible, 1),
    t("greatest", OfOperands, 0),
    t("gtid_subset", OfOperands, 21),
    t("gtid_subtract", OfMade, 0),
    t("hex", OfTexts, 0),
    t("hour", Possible, 4),
    t("insert", OfMade, 0),
    t("instr", OfOperands, 11),
    t("interval", Never, 2),
    t("is_ipv4", OfOperands, 1),
    t("is_ipv4_compat", OfOperands, 1),
    t("is_ipv4_mapped", OfOperands, 1),
    t("is_ipv6", OfOperands, 1),
    t("json_contains", Possible, 21),
    t("json_contains_path", Possible, 21),
    t("json_overlaps", OfOperands, 1),
    t("json_pretty", OfTexts, 0),
    t("json_storage_free", OfOperands, 21),
    t("json_valid", Possible, 21),
    t("last_insert_id", OfOperands, 21),
    t("lcase", OfTexts, 0),
    t("least", OfOperands, 0),
    t("left", OfTexts, 0),
    t("length", OfOperands, 11),
    t("locate", OfOperands, 11),
    t("lower", OfTexts, 0),
    t("lpad", OfMade, 0),
    t("ltrim", OfTexts, 0),
    t("make_set", OfTexts, 0),
    t("member of", OfOperands, 1),
    t("mid", OfTexts, 0),
    t("minute", Possible, 3),
    t("month", Possible, 3),
    t("octet_length", OfOperands, 11),
    t("ord", OfOperands, 21),
    t("period_add", OfOperands, 21),
    t("period_diff", OfOperands, 21),
    t("pi", Never, 0),
    t("position", OfOperands, 11),
    t("quarter", Possible, 2),
    t("quote", OfMade, 0),
    t("radians", OfOperands, 0),
    t("rand", OfOperands, 0),
    t("random_bytes", OfTexts, 0),
    t("regexp_instr", OfOperands, 21),
    t("regexp_like", OfOperands, 1),
    t("release_all_locks", Never, 21),
    t("repeat", OfMade, 0),
    t("replace", OfMade, 0),
    t("reverse", OfTexts, 0),
    t("right", OfTexts, 0),
    t("round", OfOperands, 0),
    t("row_count", Never, 21),
    t("rpad", OfMade, 0),
    t("rtrim", OfTexts, 0),
    t("second", Possible, 3),
    t("session_user", Strict, 0),
    t("sign", OfOperands, 21),
    t("sleep", OfOperands, 21),
    t("soundex", OfTexts, 0),
    t("space", OfMade, 0),
    t("statement_digest", OfTexts, 0),
    t("statement_digest_text", OfTexts, 0),
    t("strcmp", OfOperands, 2),
    t("substr", OfTexts, 0),
    t("substring", OfTexts, 0),
    t("substring_index", OfTexts, 0),
    t("system_user", Strict, 0),
    t("time_to_sec", Possible, 10),
    t("to_base64", OfMade, 0),
    t("to_days", Possible, 8),
    t("truncate", OfOperands, 0),
    t("ucase", OfTexts, 0),
    t("uncompressed_length", OfOperands, 11),
    t("unix_timestamp", OfOperands, 0),
    t("upper", OfTexts, 0),
    t("user", Strict, 0),
    t("uuid", Strict, 0),
    t("uuid_short", Never, 21),
    t("version", Never, 0),
    t("week", Possible, 3),
    t("weekday", Possible, 2),
    t("weekofyear", Possible, 3),
    t("yearweek", Possible, 7),
];

/// The type of a call, with what the table says of the function.
pub(crate) fn type_of(function: &Function, arguments: &[Expr], typing: Typing, ty: Type) -> Type {
    let Ok(found) = TABLE.binary_search_by_key(&function.name, |metadata| metadata.name) else { return ty };
    let ResultMetadata { nulls, width, .. } = TABLE[found];
    let nullable = match nulls {
        Possible => true,
        OfOperands => any_nullable(arguments),
        Never => false,
        OfTexts => typing.text_is_nullable(arguments),
        OfMade => typing.text_is_nullable(arguments) || u64::from(ty.byte_length()) >= MADE_BYTES_MAX,
        Strict => typing.strict,
    };
    let is_integer = ty.family == Family::Integer;
    Type { nullable, length: if width > 0 && is_integer { width } else { ty.length }, ..ty }
}

/// True if one of the operands can be NULL.
pub(crate) fn any_nullable(operands: &[Expr]) -> bool {
    operands.iter().any(|operand| operand.ty.nullable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_known() {
        assert!(TABLE.is_sorted_by(|a, b| a.name < b.name));
        for metadata in TABLE.iter().filter(|metadata| metadata.name != "member of") {
            assert!(super::super::find(metadata.name).is_some(), "{}", metadata.name);
        }
    }
}
