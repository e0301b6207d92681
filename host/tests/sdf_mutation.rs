//! Damaged files: whatever is done to a file, loading it ends with findings and without a panic, in time that has
//! to do with the file's size. `PROPTEST_CASES` sets how many; `SDF_MUTATION_DIR` takes other files to begin with.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tickworks::sdf::{self, LoadOptions, Source};

/// Far beyond what any of these files takes, on a machine with other work to do.
const TOO_LONG: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
enum Change {
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

fn change() -> impl Strategy<Value = Change> {
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

fn apply(text: &mut Vec<u8>, change: &Change) {
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

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "sdf" || e == "world" || e == "urdf") {
            found.push(path);
        }
    }
}

#[test]
fn damaged_files_never_panic_and_never_hang() {
    let dir = std::env::var_os("SDF_MUTATION_DIR").map_or_else(|| PathBuf::from("tests/sdf"), PathBuf::from);
    let mut seeds = Vec::new();
    files(&dir, &mut seeds);
    seeds.sort();
    assert!(!seeds.is_empty());
    let options = LoadOptions { model_paths: vec![PathBuf::from("tests/sdf/models")], ..LoadOptions::default() };
    let config = Config { failure_persistence: None, ..Config::default() };
    let strategy = (proptest::sample::select(seeds), proptest::collection::vec(change(), 1..8));
    TestRunner::new(config)
        .run(&strategy, |(seed, changes)| {
            let mut bytes = fs::read(&seed).unwrap();
            changes.iter().for_each(|change| apply(&mut bytes, change));
            let source = Source::new(&seed, String::from_utf8_lossy(&bytes));
            let begin = Instant::now();
            let loaded = sdf::load_source(&source, &options);
            // What is said and shown must hold as well.
            loaded.diagnostics.iter().for_each(|d| drop((d.render(), d.to_json())));
            let _ = sdf::report::json(&loaded);
            prop_assert!(begin.elapsed() < TOO_LONG, "took {:?}", begin.elapsed());
            Ok(())
        })
        .unwrap();
}

/// Files that are made to cost more than they weigh.
#[test]
fn files_that_grow_are_bounded() {
    let wide = |count: usize, each: &dyn Fn(usize) -> String| {
        let body: String = (0..count).map(each).collect();
        format!("<sdf version='1.9'><model name='m'><link name='l'/>{body}</model></sdf>")
    };
    let cases = [
        (
            "chain of poses",
            wide(20_000, &|i| {
                let before = if i == 0 { "l".to_owned() } else { format!("f{}", i - 1) };
                format!("<frame name='f{i}' attached_to='{before}'><pose>1 0 0 0 0 0</pose></frame>")
            }),
        ),
        ("one circle", wide(20_000, &|i| format!("<frame name='f{i}' attached_to='f{}'/>", (i + 1) % 20_000))),
        ("names that nobody has", wide(20_000, &|i| format!("<link name='k{i}'><pose relative_to='x{i}'/></link>"))),
        ("one name", wide(20_000, &|_| "<link name='k'/>".to_owned())),
        ("unknown elements", wide(20_000, &|i| format!("<elephant{i}/>"))),
        (
            "parts of flattened models",
            wide(20_000, &|i| format!("<frame name='m{i}::__model__'/>")).replace("1.9", "1.7"),
        ),
        ("deep", format!("<sdf version='1.9'>{}", "<model name='m'>".repeat(100_000))),
    ];
    for (what, text) in cases {
        let begin = Instant::now();
        let loaded = sdf::load_source(&Source::new("grown.sdf", text), &LoadOptions::default());
        assert!(loaded.diagnostics.len() <= 2002, "{what}: {} findings", loaded.diagnostics.len());
        assert!(begin.elapsed() < TOO_LONG, "{what}: {:?}", begin.elapsed());
    }
}
