//! Files and what is said of them: `bad/NAME.sdf` with `NAME.txt`, the findings word for word; `good/NAME.sdf` with
//! its findings and with `NAME.json`, what was read. A new case is a new file: run the test once with
//! `UPDATE_GOLDEN=1` and look at what it wrote.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use tickworks::sdf::{self, LoadOptions, Loaded};

fn load(path: &Path) -> Loaded {
    let options = LoadOptions { model_paths: vec![PathBuf::from("tests/sdf/models")], ..LoadOptions::default() };
    sdf::load(path, &options)
}

fn cases(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(Path::new("tests/sdf").join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "sdf" || e == "urdf"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Holds `text` against the file beside the case, or writes it there.
fn hold(case: &Path, extension: &str, text: &str, wrong: &mut Vec<String>) {
    let path = case.with_extension(extension);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if expected != text {
        wrong.push(format!("=== {}\n--- expected\n{expected}\n--- found\n{text}", path.display()));
    }
}

/// Sines and cosines may differ in the last digit from one machine to the next.
fn round(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|f| f.abs() < 1e6) {
                *value = ((float * 1e9).round() / 1e9 + 0.0).into();
            }
        }
        serde_json::Value::Array(list) => list.iter_mut().for_each(round),
        serde_json::Value::Object(map) => map.values_mut().for_each(round),
        _ => {}
    }
}

fn findings(loaded: &Loaded) -> String {
    loaded.diagnostics.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n")
}

#[test]
fn bad_files_are_refused_in_these_words() {
    let mut wrong = Vec::new();
    for case in cases("bad") {
        let loaded = load(&case);
        if !loaded.has_errors() {
            wrong.push(format!("{} is accepted", case.display()));
        }
        for error in loaded.errors() {
            assert!(error.span.is_some(), "{}: {error} has no place", case.display());
        }
        hold(&case, "txt", &findings(&loaded), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn good_files_are_read_like_this() {
    let mut wrong = Vec::new();
    for case in cases("good") {
        let loaded = load(&case);
        if loaded.has_errors() {
            wrong.push(format!("{} is refused:\n{}", case.display(), findings(&loaded)));
        }
        hold(&case, "txt", &findings(&loaded), &mut wrong);
        let mut document = sdf::report::json(&loaded);
        // They are in the other file.
        document.as_object_mut().unwrap().retain(|key, _| key != "warnings" && key != "errors");
        round(&mut document);
        // The order of the fields does not matter.
        let expected = fs::read_to_string(case.with_extension("json")).unwrap_or_default();
        if serde_json::from_str::<serde_json::Value>(&expected).ok().as_ref() != Some(&document) {
            hold(&case, "json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
