//! Damaged texts to feed readers with.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of it, and what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

/// What is done to a text.
#[derive(Clone, Debug)]
pub enum Change {
    /// Takes a range out.
    Remove(f64, usize),
    /// Puts a range in again somewhere else.
    Copy(f64, usize, f64),
    /// Puts a text in.
    Insert(f64, &'static str),
    /// Replaces a number of the file by another text.
    Number(f64, &'static str),
    /// Cuts the file.
    Cut(f64),
    /// Changes a byte.
    Byte(f64, u8),
}

/// Texts that mean something, in places where they do not belong.
const PIECES: [&str; 24] = [
    "<",
    ">",
    "/>",
    "</link>",
    "<link name='a'>",
    "<model name='m'>",
    "<pose relative_to='m'>1 2 3 4 5 6</pose>",
    "<include><uri>model://crate</uri></include>",
    "<include merge='true'><uri>model://crate</uri></include>",
    "<frame name='f' attached_to='f'/>",
    "<joint name='j' type='ball'><parent>a</parent><child>a</child></joint>",
    "<!--",
    "-->",
    "<![CDATA[",
    "&#x0;",
    "&amp;",
    "\"",
    "::",
    "__model__",
    "__root__",
    "world",
    "\u{feff}",
    "\0",
    "ä€",
];

const NUMBERS: [&str; 12] =
    ["", "nan", "inf", "-inf", "1e400", "-0", "1e-320", "99999999999999999999", "0x10", "1,5", "--1", "1 2 3 4 5 6 7"];

/// Any change.
pub fn change() -> impl Strategy<Value = Change> {
    let at = 0.0..1.0f64;
    prop_oneof![
        (at.clone(), 1..200usize).prop_map(|(at, len)| Change::Remove(at, len)),
        (at.clone(), 1..400usize, at.clone()).prop_map(|(from, len, to)| Change::Copy(from, len, to)),
        (at.clone(), proptest::sample::select(&PIECES[..])).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (at.clone(), proptest::sample::select(&NUMBERS[..])).prop_map(|(at, number)| Change::Number(at, number)),
        at.clone().prop_map(Change::Cut),
        (at, any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
    ]
}

/// Makes a change.
pub fn apply(text: &mut Vec<u8>, change: &Change) {
    let place = |at: f64, length: usize| ((at * length as f64) as usize).min(length);
    match change {
        Change::Remove(at, length) => {
            let start = place(*at, text.len());
            let end = (start + length).min(text.len());
            text.drain(start..end);
        }
        Change::Copy(from, length, to) => {
            let start = place(*from, text.len());
            let piece = text[start..(start + length).min(text.len())].to_vec();
            let to = place(*to, text.len());
            text.splice(to..to, piece);
        }
        Change::Insert(at, piece) => {
            let at = place(*at, text.len());
            text.splice(at..at, piece.bytes());
        }
        Change::Number(at, number) => {
            let start = place(*at, text.len());
            let Some(first) = text[start..].iter().position(u8::is_ascii_digit) else { return };
            let first = start + first;
            let length = text[first..].iter().take_while(|b| b.is_ascii_digit()).count();
            text.splice(first..first + length, number.bytes());
        }
        Change::Cut(at) => text.truncate(place(*at, text.len())),
        Change::Byte(at, byte) => {
            let at = place(*at, text.len());
            if let Some(place) = text.get_mut(at) {
                *place = *byte;
            }
        }
    }
}

/// The files below a directory with one of these extensions.
pub fn files(dir: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, extensions, found);
        } else if path.extension().is_some_and(|e| extensions.iter().any(|known| e == *known)) {
            found.push(path);
        }
    }
}
