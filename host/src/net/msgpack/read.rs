//! MessagePack, one token at a time, straight from the bytes.
//!
//! Requests are read without building a tree, so that a frame which claims a thousand million elements, or nests a
//! million lists, costs nothing before it is refused.

use rmp::Marker;

use super::super::fault::{MAX_DEPTH, SHOWN, cut};

/// One value, or the head of one that has values inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'a [u8]),
    Binary(&'a [u8]),
    Extension(i8, &'a [u8]),
    Array(u32),
    Map(u32),
}

impl Token<'_> {
    /// How many values follow that belong to this one.
    fn inside(self) -> u64 {
        match self {
            Token::Array(count) => count.into(),
            Token::Map(count) => 2 * u64::from(count),
            _ => 0,
        }
    }
}

/// Why bytes are not a MessagePack value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// They end inside it.
    Ends,
    /// The byte 0xc1, which MessagePack never uses.
    Reserved,
    /// More than [`MAX_DEPTH`] levels.
    Deep,
}

/// The bytes that are still to be read.
#[derive(Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads one token.
    pub fn next(&mut self) -> Result<Token<'a>, Broken> {
        let [marker] = self.array()?;
        Ok(match Marker::from_u8(marker) {
            Marker::FixPos(value) => Token::Unsigned(value.into()),
            Marker::FixNeg(value) => Token::Signed(value.into()),
            Marker::Null => Token::Nil,
            Marker::True => Token::Bool(true),
            Marker::False => Token::Bool(false),
            Marker::U8 => Token::Unsigned(u8::from_be_bytes(self.array()?).into()),
            Marker::U16 => Token::Unsigned(u16::from_be_bytes(self.array()?).into()),
            Marker::U32 => Token::Unsigned(u32::from_be_bytes(self.array()?).into()),
            Marker::U64 => Token::Unsigned(u64::from_be_bytes(self.array()?)),
            Marker::I8 => Token::Signed(i8::from_be_bytes(self.array()?).into()),
            Marker::I16 => Token::Signed(i16::from_be_bytes(self.array()?).into()),
            Marker::I32 => Token::Signed(i32::from_be_bytes(self.array()?).into()),
            Marker::I64 => Token::Signed(i64::from_be_bytes(self.array()?)),
            Marker::F32 => Token::Float(f32::from_be_bytes(self.array()?).into()),
            Marker::F64 => Token::Float(f64::from_be_bytes(self.array()?)),
            Marker::FixStr(length) => Token::Text(self.bytes(length.into())?),
            Marker::Str8 => Token::Text(self.counted::<1>()?),
            Marker::Str16 => Token::Text(self.counted::<2>()?),
            Marker::Str32 => Token::Text(self.counted::<4>()?),
            Marker::Bin8 => Token::Binary(self.counted::<1>()?),
            Marker::Bin16 => Token::Binary(self.counted::<2>()?),
            Marker::Bin32 => Token::Binary(self.counted::<4>()?),
            Marker::FixExt1 => self.extension(1)?,
            Marker::FixExt2 => self.extension(2)?,
            Marker::FixExt4 => self.extension(4)?,
            Marker::FixExt8 => self.extension(8)?,
            Marker::FixExt16 => self.extension(16)?,
            Marker::Ext8 => self.counted_extension::<1>()?,
            Marker::Ext16 => self.counted_extension::<2>()?,
            Marker::Ext32 => self.counted_extension::<4>()?,
            Marker::FixArray(count) => Token::Array(count.into()),
            Marker::Array16 => Token::Array(self.count::<2>()?),
            Marker::Array32 => Token::Array(self.count::<4>()?),
            Marker::FixMap(count) => Token::Map(count.into()),
            Marker::Map16 => Token::Map(self.count::<2>()?),
            Marker::Map32 => Token::Map(self.count::<4>()?),
            Marker::Reserved => return Err(Broken::Reserved),
        })
    }

    /// Reads a whole value and gives its bytes. `depth` is how many levels it is inside of.
    pub fn value(&mut self, depth: usize) -> Result<&'a [u8], Broken> {
        let start = self.0;
        // For each level that is open, the values that are still to come.
        let mut open = [0u64; MAX_DEPTH];
        let mut level = depth;
        loop {
            let token = self.next()?;
            if matches!(token, Token::Array(_) | Token::Map(_)) {
                *open.get_mut(level).ok_or(Broken::Deep)? = token.inside();
                level += 1;
            }
            while level > depth && open[level - 1] == 0 {
                level -= 1;
            }
            if level == depth {
                return Ok(&start[..start.len() - self.0.len()]);
            }
            open[level - 1] -= 1;
        }
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Broken> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Broken::Ends)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        let (bytes, rest) = self.0.split_first_chunk::<N>().ok_or(Broken::Ends)?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// A count of `N` bytes, big-endian.
    fn count<const N: usize>(&mut self) -> Result<u32, Broken> {
        Ok(self.array::<N>()?.iter().fold(0, |count, &byte| count << 8 | u32::from(byte)))
    }

    fn counted<const N: usize>(&mut self) -> Result<&'a [u8], Broken> {
        let count = self.count::<N>()?;
        self.bytes(count as usize)
    }

    fn extension(&mut self, length: usize) -> Result<Token<'a>, Broken> {
        let [kind] = self.array()?;
        Ok(Token::Extension(kind as i8, self.bytes(length)?))
    }

    fn counted_extension<const N: usize>(&mut self) -> Result<Token<'a>, Broken> {
        let length = self.count::<N>()?;
        self.extension(length as usize)
    }
}

/// A value as a short text to show in an error. What does not fit is left out, and so is not even read.
pub fn preview(value: &[u8]) -> String {
    let mut text = String::new();
    let _ = write_preview(&mut Reader(value), &mut text);
    cut(&text)
}

fn write_preview(reader: &mut Reader<'_>, text: &mut String) -> Result<(), Broken> {
    if text.len() > 4 * SHOWN {
        return Ok(());
    }
    match reader.next()? {
        Token::Nil => text.push_str("nil"),
        Token::Bool(value) => text.push_str(&value.to_string()),
        Token::Unsigned(value) => text.push_str(&value.to_string()),
        Token::Signed(value) => text.push_str(&value.to_string()),
        Token::Float(value) => text.push_str(&format!("{value:?}")),
        Token::Text(bytes) => {
            text.push_str(&format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)])));
        }
        Token::Binary(bytes) => text.push_str(&format!("<{} bytes>", bytes.len())),
        Token::Extension(kind, bytes) => text.push_str(&format!("<extension {kind} of {} bytes>", bytes.len())),
        Token::Array(count) => {
            text.push('[');
            write_items(reader, text, count, false)?;
            text.push(']');
        }
        Token::Map(count) => {
            text.push('{');
            write_items(reader, text, count, true)?;
            text.push('}');
        }
    }
    Ok(())
}

fn write_items(reader: &mut Reader<'_>, text: &mut String, count: u32, pairs: bool) -> Result<(), Broken> {
    for i in 0..count {
        if text.len() > 4 * SHOWN {
            break;
        }
        if i > 0 {
            text.push_str(", ");
        }
        write_preview(reader, text)?;
        if pairs {
            text.push_str(": ");
            write_preview(reader, text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmpv::Value;

    fn encode(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, value).unwrap();
        bytes
    }

    #[test]
    fn a_value_ends_where_it_ends() {
        let values = [
            Value::Nil,
            Value::from(true),
            Value::from(0),
            Value::from(-1),
            Value::from(-200),
            Value::from(i64::MIN),
            Value::from(u64::MAX),
            Value::from(70_000),
            Value::from(1.5f32),
            Value::from(1.5f64),
            Value::from("x"),
            Value::from("x".repeat(40)),
            Value::from("x".repeat(300)),
            Value::from("x".repeat(70_000)),
            Value::from(vec![1u8; 3]),
            Value::Binary(vec![1; 70_000]),
            Value::Ext(5, vec![1; 4]),
            Value::Ext(-5, vec![1; 300]),
            Value::Array(vec![]),
            Value::Array(vec![Value::from(1); 20]),
            Value::Array(vec![Value::Array(vec![Value::Map(vec![(Value::from("a"), Value::Array(vec![]))])]); 3]),
            Value::Map((0..70_000).map(|i| (Value::from(i), Value::Nil)).collect()),
        ];
        for value in &values {
            let bytes = encode(value);
            let mut longer = bytes.clone();
            longer.extend([0xc1, 0xc1]);
            let mut reader = Reader(&longer);
            assert_eq!(reader.value(0).unwrap(), bytes);
            assert_eq!(reader.0, [0xc1, 0xc1]);
            for cut in 0..bytes.len().min(100) {
                assert_eq!(Reader(&bytes[..cut]).value(0), Err(Broken::Ends), "{value:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn depth_is_limited_whatever_the_length() {
        let nested = |depth: usize| {
            let mut bytes = vec![0x91; depth];
            bytes.push(0xc0);
            bytes
        };
        assert_eq!(Reader(&nested(MAX_DEPTH)).value(0).map(<[u8]>::len), Ok(MAX_DEPTH + 1));
        assert_eq!(Reader(&nested(MAX_DEPTH + 1)).value(0), Err(Broken::Deep));
        assert_eq!(Reader(&nested(MAX_DEPTH)).value(1), Err(Broken::Deep));
        assert_eq!(Reader(&vec![0x91; 16 << 20]).value(0), Err(Broken::Deep));
        assert_eq!(Reader(&[0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0]).value(0), Err(Broken::Ends));
        assert_eq!(Reader(&[0xc1]).value(0), Err(Broken::Reserved));
    }

    #[test]
    fn previews_are_short() {
        let value = Value::Map(vec![
            (Value::from("a"), Value::Array(vec![Value::from(1), Value::from(-2.5), Value::Nil])),
            (Value::from("b"), Value::Binary(vec![0; 9])),
        ]);
        assert_eq!(preview(&encode(&value)), r#"{"a": [1, -2.5, nil], "b": <9 bytes>}"#);
        let long = Value::Array(vec![Value::from("word"); 1000]);
        assert_eq!(preview(&encode(&long)).chars().count(), SHOWN + 1);
        assert_eq!(preview(&[]), "");
    }
}
