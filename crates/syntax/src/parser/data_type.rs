//! Column types and the types that CAST makes.

use super::{Parsed, Parser};
use crate::ast::{Charset, DataType, GeometryKind, IntegerSize, LobSize, Remark, Sign};
use crate::keyword::Keyword as K;
use crate::sql_mode;
use crate::token::Token;

// What MySQL has announced to remove: the texts are the server's. The manual describes each in
// "Numeric Type Syntax".
const ZEROFILL: &str = "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD \
    function to zero-pad numbers, or store the formatted numbers in a CHAR column.";
const DISPLAY_WIDTH: &str = "Integer display width is deprecated and will be removed in a future release.";
const DIGITS: &str = "Specifying number of digits for floating point data types is deprecated and will be removed in a \
    future release.";
const UNSIGNED: &str = "UNSIGNED for decimal and floating point data types is deprecated and support for it will be \
    removed in a future release.";

impl Parser<'_> {
    /// A column's type with its attributes: sign, character set, BINARY; and COLLATE, where no
    /// column definition follows to take it.
    pub(super) fn data_type(&mut self) -> Parsed<DataType> {
        use DataType::*;
        let word = self.word();
        if word == K::OTHER {
            return Err(self.unexpected());
        }
        self.advance();
        Ok(match word {
            K::TINYINT | K::INT1 => self.integer_type(IntegerSize::Tiny)?,
            K::SMALLINT | K::INT2 => self.integer_type(IntegerSize::Small)?,
            K::MEDIUMINT | K::INT3 | K::MIDDLEINT => self.integer_type(IntegerSize::Medium)?,
            K::INT | K::INTEGER | K::INT4 => self.integer_type(IntegerSize::Int)?,
            K::BIGINT | K::INT8 => self.integer_type(IntegerSize::Big)?,
            K::BOOL | K::BOOLEAN => {
                Integer { size: IntegerSize::Tiny, width: Some(1), sign: Sign::default() }
            }
            // The attributes NOT NULL AUTO_INCREMENT UNIQUE are the column definition's business.
            K::SERIAL => Integer {
                size: IntegerSize::Big,
                width: None,
                sign: Sign { unsigned: true, zerofill: false },
            },
            K::DECIMAL | K::DEC | K::NUMERIC | K::FIXED => {
                let (precision, scale) = self.precision()?;
                Decimal { precision, scale, sign: self.decimal_sign(false) }
            }
            K::FLOAT | K::FLOAT4 => self.float_type()?,
            K::REAL if self.has_mode(sql_mode::REAL_AS_FLOAT) => self.float_type()?,
            K::DOUBLE | K::FLOAT8 | K::REAL => {
                if word == K::DOUBLE {
                    self.take_word(K::PRECISION);
                }
                let (precision, scale) = self.precision()?;
                Double { precision, scale, sign: self.decimal_sign(scale.is_some()) }
            }
            K::BIT => Bit { width: self.width()? },
            K::CHAR | K::CHARACTER => return self.char_type(false),
            K::NATIONAL => return self.national_type(),
            K::NCHAR => return self.char_type(true),
            K::NVARCHAR => self.varchar_type(true)?,
            K::VARCHAR | K::VARCHARACTER => self.varchar_type(false)?,
            K::BINARY => Binary { length: self.length()? },
            K::VARBINARY => Varbinary { length: self.in_parens(Self::length_number)? },
            K::TINYBLOB => Blob { size: LobSize::Tiny, length: None },
            K::BLOB => Blob { size: LobSize::Normal, length: self.length()? },
            K::MEDIUMBLOB => Blob { size: LobSize::Medium, length: None },
            K::LONGBLOB => Blob { size: LobSize::Long, length: None },
            K::TINYTEXT => self.text_type(LobSize::Tiny, None)?,
            K::TEXT => {
                let length = self.length()?;
                self.text_type(LobSize::Normal, length)?
            }
            K::MEDIUMTEXT => self.text_type(LobSize::Medium, None)?,
            K::LONGTEXT => self.text_type(LobSize::Long, None)?,
            K::LONG => self.long_type()?,
            K::ENUM => Enum { members: self.paren_texts()?, charset: self.charset_attributes(false)? },
            K::SET => Set { members: self.paren_texts()?, charset: self.charset_attributes(false)? },
            K::DATE => Date,
            K::TIME => Time { precision: self.width()? },
            K::DATETIME => Datetime { precision: self.width()? },
            K::TIMESTAMP => Timestamp { precision: self.width()? },
            K::YEAR => {
                match self.width()? {
                    None => {}
                    Some(4) => self.remark(Remark::YearWidth),
                    Some(_) => {
                        let message = "Invalid display width. Use YEAR instead.".to_owned();
                        return Err(self.error(1818, b"HY000", message));
                    }
                }
                self.sign();
                Year
            }
            K::JSON => Json,
            _ => Geometry(geometry(word).ok_or_else(|| self.unexpected())?),
        })
    }

    /// `[(n)]`
    fn width(&mut self) -> Parsed<Option<u32>> {
        match self.current.token {
            Token::LeftParen => self.in_parens(Self::small_integer).map(Some),
            _ => Ok(None),
        }
    }

    /// `[(n)]`, of any size.
    fn length(&mut self) -> Parsed<Option<u64>> {
        match self.current.token {
            Token::LeftParen => self.in_parens(Self::length_number).map(Some),
            _ => Ok(None),
        }
    }

    /// What no type is as long as is not a syntax error, however many digits it has.
    fn length_number(&mut self) -> Parsed<u64> {
        let digits = self.bytes(self.current);
        if digits.len() >= 20 && digits.iter().all(u8::is_ascii_digit) {
            self.advance();
            return Ok(u64::MAX);
        }
        self.integer()
    }

    /// `[(m [, d])]`
    fn precision(&mut self) -> Parsed<(Option<u32>, Option<u32>)> {
        if self.current.token != Token::LeftParen {
            return Ok((None, None));
        }
        self.in_parens(|parser| {
            let precision = parser.small_integer()?;
            let scale = if parser.take(Token::Comma) { Some(parser.small_integer()?) } else { None };
            Ok((Some(precision), scale))
        })
    }

    /// `[SIGNED | UNSIGNED | ZEROFILL] ..`
    fn sign(&mut self) -> Sign {
        let mut sign = Sign::default();
        while let Some(word) = self.take_any(&[K::SIGNED, K::UNSIGNED, K::ZEROFILL]) {
            sign.unsigned |= word != K::SIGNED;
            sign.zerofill |= word == K::ZEROFILL;
        }
        sign
    }

    /// The sign of a decimal, or of a double or float; `digits` are said after the point of these.
    fn decimal_sign(&mut self, digits: bool) -> Sign {
        let sign = self.sign();
        if sign.zerofill {
            self.remark(Remark::Removed(ZEROFILL));
        }
        if digits {
            self.remark(Remark::Removed(DIGITS));
        }
        if sign.unsigned && !sign.zerofill {
            self.remark(Remark::Removed(UNSIGNED));
        }
        sign
    }

    fn integer_type(&mut self, size: IntegerSize) -> Parsed<DataType> {
        let width = self.width()?;
        let sign = self.sign();
        if sign.zerofill {
            self.remark(Remark::Removed(ZEROFILL));
        }
        if width.is_some() {
            self.remark(Remark::Removed(DISPLAY_WIDTH));
        }
        Ok(DataType::Integer { size, width, sign })
    }

    fn float_type(&mut self) -> Parsed<DataType> {
        let (precision, scale) = self.precision()?;
        Ok(DataType::Float { precision, scale, sign: self.decimal_sign(scale.is_some()) })
    }

    fn text_type(&mut self, size: LobSize, length: Option<u64>) -> Parsed<DataType> {
        if length.is_none_or(|_| size == LobSize::Normal) && self.take_word(K::BYTE) {
            return Ok(DataType::Blob { size, length });
        }
        Ok(DataType::Text { size, length, charset: self.charset_attributes(false)? })
    }

    /// After CHAR.
    fn char_type(&mut self, national: bool) -> Parsed<DataType> {
        if self.take_word(K::VARYING) || national && self.take_any(&[K::VARCHAR, K::VARCHARACTER]).is_some() {
            return self.varchar_type(national);
        }
        let length = self.length()?;
        if !national && self.take_word(K::BYTE) {
            return Ok(DataType::Binary { length });
        }
        Ok(DataType::Char { length, charset: self.charset_attributes(national)? })
    }

    fn varchar_type(&mut self, national: bool) -> Parsed<DataType> {
        if national {
            self.take_word(K::VARYING);
        }
        let length = self.in_parens(Self::length_number)?;
        if !national && self.take_word(K::BYTE) {
            return Ok(DataType::Varbinary { length });
        }
        Ok(DataType::Varchar { length, charset: self.charset_attributes(national)? })
    }

    /// After NATIONAL.
    fn national_type(&mut self) -> Parsed<DataType> {
        match self.expect_any(&[K::CHAR, K::CHARACTER, K::VARCHAR, K::VARCHARACTER])? {
            K::CHAR | K::CHARACTER => self.char_type(true),
            _ => self.varchar_type(true),
        }
    }

    /// After LONG: `LONG VARCHAR`, `LONG VARBINARY`, `LONG`.
    fn long_type(&mut self) -> Parsed<DataType> {
        let size = LobSize::Medium;
        if self.take_word(K::VARBINARY) {
            return Ok(DataType::Blob { size, length: None });
        }
        if self.take_any(&[K::CHAR, K::CHARACTER]).is_some() {
            self.expect_word(K::VARYING)?;
        } else {
            self.take_any(&[K::VARCHAR, K::VARCHARACTER]);
        }
        self.text_type(size, None)
    }

    /// `[CHARACTER SET x] [BINARY] [COLLATE y]`, `ASCII`, `UNICODE`, in any order.
    fn charset_attributes(&mut self, national: bool) -> Parsed<Charset> {
        let mut charset = Charset { charset: national.then(|| "utf8mb3".into()), ..Charset::default() };
        loop {
            match self.word() {
                K::BINARY => {
                    self.advance();
                    let instead = "a CHARACTER SET clause with _bin collation";
                    self.remark(Remark::Instead("BINARY as attribute of a type", instead));
                    charset.binary = true;
                }
                K::ASCII => {
                    self.advance();
                    self.remark(Remark::Instead("ASCII", "CHARACTER SET charset_name"));
                    charset.charset = Some("latin1".into());
                }
                K::UNICODE => {
                    self.advance();
                    self.remark(Remark::Instead("UNICODE", "CHARACTER SET charset_name"));
                    charset.charset = Some("ucs2".into());
                }
                K::COLLATE => {
                    self.advance();
                    charset.collation = Some(self.collation_name()?);
                }
                _ => match self.optional_charset()? {
                    Some(name) => charset.charset = Some(name),
                    None => {
                        if national {
                            self.remark(Remark::National);
                        }
                        return Ok(charset);
                    }
                },
            }
        }
    }

    /// What CAST and CONVERT make.
    pub(super) fn cast_type(&mut self) -> Parsed<DataType> {
        use DataType::*;
        let big = |unsigned| Integer {
            size: IntegerSize::Big,
            width: None,
            sign: Sign { unsigned, zerofill: false },
        };
        let word = self.word();
        if word == K::NATIONAL {
            self.advance();
        }
        match self.word() {
            K::SIGNED | K::UNSIGNED => {
                self.advance();
                self.take_any(&[K::INT, K::INTEGER]);
                Ok(big(word == K::UNSIGNED))
            }
            K::INT | K::INTEGER => Err(self.unexpected()),
            K::CHAR | K::CHARACTER | K::NCHAR => {
                let national = word != K::CHAR && word != K::CHARACTER;
                self.advance();
                let length = self.length()?;
                Ok(Char { length, charset: self.charset_attributes(national)? })
            }
            K::BINARY
            | K::DATE
            | K::TIME
            | K::DATETIME
            | K::DECIMAL
            | K::DEC
            | K::FLOAT
            | K::DOUBLE
            | K::REAL
            | K::JSON
            | K::YEAR => {
                let ty = self.data_type()?;
                match &ty {
                    Decimal { sign, .. } | Float { sign, .. } | Double { sign, .. }
                        if *sign != Sign::default() =>
                    {
                        Err(self.unexpected())
                    }
                    _ => Ok(ty),
                }
            }
            word if geometry(word).is_some() => self.data_type(),
            _ => Err(self.unexpected()),
        }
    }
}

fn geometry(word: K) -> Option<GeometryKind> {
    Some(match word {
        K::GEOMETRY => GeometryKind::Geometry,
        K::POINT => GeometryKind::Point,
        K::LINESTRING => GeometryKind::LineString,
        K::POLYGON => GeometryKind::Polygon,
        K::MULTIPOINT => GeometryKind::MultiPoint,
        K::MULTILINESTRING => GeometryKind::MultiLineString,
        K::MULTIPOLYGON => GeometryKind::MultiPolygon,
        K::GEOMETRYCOLLECTION | K::GEOMCOLLECTION => GeometryKind::GeometryCollection,
        _ => return None,
    })
}
