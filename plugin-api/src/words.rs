//! What serde finds wrong with a JSON text, in words for people who have not written the type that it is read into.
#![forbid(unsafe_code)]

/// What is wrong with the value at a path such as `robots[0].name`; `.` is the whole text.
pub(crate) fn at_path(path: &str, error: &serde_json::Error) -> String {
    let (place, prefix) = match path {
        "." => ("it".to_owned(), String::new()),
        path => (format!("field {path}"), format!("{path}.")),
    };
    let text = error.to_string();
    // A place in a text of one line helps nobody who knows the field.
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    said(text, &place, &prefix).unwrap_or_else(|| match path {
        "." => text.to_owned(),
        _ => format!("{place}: {text}"),
    })
}

/// The same where nobody knows the path: with line and column.
pub(crate) fn at_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((short, _)) => {
            let (line, column) = (error.line(), error.column());
            said(short, "a value", "").map_or(text, |said| format!("{said}, at line {line} column {column}"))
        }
        None => said(&text, "a value", "").unwrap_or(text),
    }
}

/// `None` for what is no complaint about a type.
fn said(text: &str, place: &str, prefix: &str) -> Option<String> {
    let quoted = |name: &str| name.trim_matches('`').to_owned();
    if let Some(name) = text.strip_prefix("missing field ") {
        return Some(format!("the field {prefix}{} is missing", quoted(name)));
    }
    if let Some(name) = text.strip_prefix("duplicate field ") {
        return Some(format!("the field {prefix}{} is there twice", quoted(name)));
    }
    if let Some(rest) = text.strip_prefix("unknown field ") {
        let (name, known) = rest.split_once(", ")?;
        return Some(format!("the field {prefix}{} is not known, {}", quoted(name), known.replace('`', "\"")));
    }
    if let Some(rest) = text.strip_prefix("unknown variant ") {
        let (name, known) = rest.split_once("`, ")?;
        return Some(format!("{place} is \"{}\", {}", quoted(name), known.replace('`', "\"")));
    }
    if let Some(rest) = text.strip_prefix("invalid length ") {
        let (count, expected) = rest.split_once(", expected ")?;
        return Some(format!("{place} has {count} elements, expected {}", type_in_words(expected)));
    }
    let rest = text.strip_prefix("invalid type: ").or_else(|| text.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    Some(format!("{place} is {}, expected {}", value_in_words(found), type_in_words(expected)))
}

/// ``integer `5` `` -> 5, `string "x"` -> "x", `map` -> an object.
fn value_in_words(found: &str) -> String {
    match found {
        "map" => "an object".into(),
        "sequence" => "a list".into(),
        "null" | "unit value" | "Option value" => "null".into(),
        found => match found.strip_prefix("string ") {
            Some(text) => text.to_owned(),
            None => match found.split_once('`') {
                Some((_, value)) => value.trim_end_matches('`').to_owned(),
                None => found.to_owned(),
            },
        },
    }
}

/// What a type of Rust is in JSON.
fn type_in_words(expected: &str) -> String {
    let (kind, count) = match expected.rsplit_once(' ') {
        Some((_, count)) if count.parse::<u64>().is_ok() => (expected, Some(count)),
        _ => (expected, None),
    };
    match kind {
        "f64" | "f32" => "a number".into(),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number from 0".into(),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".into(),
        "a boolean" | "bool" => "true or false".into(),
        "a string" | "a borrowed string" | "string" | "str" | "path string" | "variant identifier" => "text".into(),
        "a sequence" | "seq" => "a list".into(),
        "a map" => "an object".into(),
        "unit" => "null".into(),
        kind if kind.starts_with("an array of length ") || kind.starts_with("a tuple of size ") => {
            format!("a list of {}", count.unwrap_or("other length"))
        }
        kind if kind.starts_with("tuple struct ") => match kind.strip_suffix(" elements").and_then(last_word) {
            Some(count) => format!("a list of {count}"),
            None => "another value".into(),
        },
        kind if kind.starts_with("struct ") || kind.starts_with("internally tagged enum ") => "an object".into(),
        kind if kind.starts_with("enum ") || kind == "string or map" => "text or an object".into(),
        kind => kind.replace('`', "\""),
    }
}

fn last_word(text: &str) -> Option<&str> {
    text.rsplit(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::from_str;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Course {
        laps: usize,
        #[serde(default)]
        offset: i32,
        #[serde(default)]
        open: bool,
        #[serde(default)]
        size: [f64; 2],
        #[serde(default)]
        kind: Option<Kind>,
        #[serde(default)]
        name: String,
        #[serde(default)]
        gates: Vec<Gate>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase", deny_unknown_fields)]
    enum Kind {
        Round,
        Open,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Gate {
        x: f64,
        y: f64,
    }

    fn at(path: &str, json: &str) -> String {
        at_path(path, &from_str::<Course>(json).unwrap_err())
    }

    #[test]
    fn no_word_is_rust_s() {
        for (json, text) in [
            ("{}", "the field laps is missing"),
            ("[]", "it has 0 elements, expected an object"),
            ("5", "it is 5, expected an object"),
            (r#"{"laps":-1}"#, "it is -1, expected a whole number from 0"),
            (r#"{"laps":2.5}"#, "it is 2.5, expected a whole number from 0"),
            (r#"{"laps":"two, expected"}"#, "it is \"two, expected\", expected a whole number from 0"),
            (r#"{"laps":1,"laps":2}"#, "the field laps is there twice"),
            (r#"{"laps":1,"offset":null}"#, "it is null, expected a whole number"),
            (r#"{"laps":1,"open":1}"#, "it is 1, expected true or false"),
            (r#"{"laps":1,"size":[1]}"#, "it has 1 elements, expected a list of 2"),
            (r#"{"laps":1,"size":{}}"#, "it is an object, expected a list of 2"),
            (r#"{"laps":1,"kind":"square"}"#, "it is \"square\", expected \"round\" or \"open\""),
            (r#"{"laps":1,"name":[]}"#, "it is a list, expected text"),
            (r#"{"laps":1,"gates":{}}"#, "it is an object, expected a list"),
            (r#"{"laps":1,"gates":[{"x":1,"z":2}]}"#, "the field z is not known, expected \"x\" or \"y\""),
            (r#"{"laps":1,"gates":[true]}"#, "it is true, expected an object"),
        ] {
            assert_eq!(at(".", json), text, "{json}");
        }
    }

    #[test]
    fn the_place_is_said_by_path_or_by_column() {
        assert_eq!(at("a.b[0]", "{}"), "the field a.b[0].laps is missing");
        assert_eq!(at("a.b[0]", r#"{"laps":-1}"#), "field a.b[0] is -1, expected a whole number from 0");
        let place = |json: &str| at_place(&from_str::<Course>(json).unwrap_err());
        assert_eq!(place(r#"{"laps":-1}"#), "a value is -1, expected a whole number from 0, at line 1 column 10");
        assert_eq!(place("{\n}"), "the field laps is missing, at line 2 column 1");
        assert_eq!(place("{"), "EOF while parsing an object at line 1 column 1");
    }
}
