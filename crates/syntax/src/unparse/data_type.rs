//! Types as SQL.

use super::Writer;
use crate::ast::{Charset, DataType, GeometryKind, IntegerSize, LobSize, Sign};
use std::fmt::Write as _;

impl Writer {
    /// As in a column's definition.
    pub(super) fn data_type(&mut self, ty: &DataType) {
        use DataType::*;
        match ty {
            Integer { size, width, sign } => {
                self.put(match size {
                    IntegerSize::Tiny => "tinyint",
                    IntegerSize::Small => "smallint",
                    IntegerSize::Medium => "mediumint",
                    IntegerSize::Int => "int",
                    IntegerSize::Big => "bigint",
                });
                self.numbers(&[*width]);
                self.sign(*sign);
            }
            Decimal { precision, scale, sign } => self.real("decimal", *precision, *scale, *sign),
            Float { precision, scale, sign } => self.real("float", *precision, *scale, *sign),
            Double { precision, scale, sign } => self.real("double", *precision, *scale, *sign),
            Bit { width } => self.sized("bit", width.map(u64::from)),
            Char { length, charset } => {
                self.sized("char", *length);
                self.charset(charset);
            }
            Varchar { length, charset } => {
                self.sized("varchar", Some(*length));
                self.charset(charset);
            }
            Binary { length } => self.sized("binary", *length),
            Varbinary { length } => self.sized("varbinary", Some(*length)),
            Text { size, length, charset } => {
                self.put(lob_prefix(*size));
                self.sized("text", *length);
                self.charset(charset);
            }
            Blob { size, length } => {
                self.put(lob_prefix(*size));
                self.sized("blob", *length);
            }
            Enum { members, charset } => self.members("enum(", members, charset),
            Set { members, charset } => self.members("set(", members, charset),
            Date => self.put("date"),
            Time { precision } => self.sized("time", precision.map(u64::from)),
            Datetime { precision } => self.sized("datetime", precision.map(u64::from)),
            Timestamp { precision } => self.sized("timestamp", precision.map(u64::from)),
            Year => self.put("year"),
            Json => self.put("json"),
            Geometry(kind) => self.put(geometry(*kind)),
        }
    }

    pub(super) fn cast_type(&mut self, ty: &DataType) {
        match ty {
            DataType::Integer { sign, .. } => self.put(if sign.unsigned { "unsigned" } else { "signed" }),
            _ => self.data_type(ty),
        }
    }

    fn sized(&mut self, name: &str, length: Option<u64>) {
        self.put(name);
        if let Some(length) = length {
            self.put(&*format!("({length})"));
        }
    }

    /// `(a,b)`, of those that are there.
    fn numbers(&mut self, numbers: &[Option<u32>]) {
        let mut text = String::new();
        for number in numbers.iter().flatten() {
            let separator = if text.is_empty() { '(' } else { ',' };
            write!(text, "{separator}{number}").expect("a String takes everything");
        }
        if !text.is_empty() {
            text.push(')');
        }
        self.put(&*text);
    }

    fn real(&mut self, name: &str, precision: Option<u32>, scale: Option<u32>, sign: Sign) {
        self.put(name);
        self.numbers(&[precision, scale]);
        self.sign(sign);
    }

    fn sign(&mut self, sign: Sign) {
        if sign.unsigned {
            self.put(" unsigned");
        }
        if sign.zerofill {
            self.put(" zerofill");
        }
    }

    fn members(&mut self, open: &str, members: &[crate::ast::Text], charset: &Charset) {
        self.put(open);
        self.list(members, |writer, member| writer.string(member));
        self.put(")");
        self.charset(charset);
    }

    fn charset(&mut self, charset: &Charset) {
        if let Some(name) = &charset.charset {
            self.put(" CHARACTER SET ");
            self.word(name);
        }
        if charset.binary {
            self.put(" BINARY");
        }
        if let Some(name) = &charset.collation {
            self.put(" COLLATE ");
            self.word(name);
        }
    }
}

fn lob_prefix(size: LobSize) -> &'static str {
    match size {
        LobSize::Tiny => "tiny",
        LobSize::Normal => "",
        LobSize::Medium => "medium",
        LobSize::Long => "long",
    }
}

fn geometry(kind: GeometryKind) -> &'static str {
    match kind {
        GeometryKind::Geometry => "geometry",
        GeometryKind::Point => "point",
        GeometryKind::LineString => "linestring",
        GeometryKind::Polygon => "polygon",
        GeometryKind::MultiPoint => "multipoint",
        GeometryKind::MultiLineString => "multilinestring",
        GeometryKind::MultiPolygon => "multipolygon",
        GeometryKind::GeometryCollection => "geomcollection",
    }
}
