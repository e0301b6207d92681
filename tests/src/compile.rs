//! Plugins in C and C++, compiled by the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace;

/// A shared object `lib<stem>.so` in `dir` from `tests/<source>`, compiled from the header alone and as strictly as it
/// promises to allow.
pub fn compile(source: &str, defines: &[(&str, &str)], dir: &Path) -> PathBuf {
    let source = workspace().join("tests").join(source);
    let stem = source.file_stem().and_then(|stem| stem.to_str()).expect("a source has a name");
    compile_as(stem, &source, defines, dir)
}

/// Likewise as `lib<name>.so`, for sources that are compiled more than once into one folder.
pub fn compile_as(name: &str, source: impl AsRef<Path>, defines: &[(&str, &str)], dir: &Path) -> PathBuf {
    let source = workspace().join("tests").join(source);
    let output = dir.join(format!("lib{name}.so"));
    let (compiler, standard): (_, &[&str]) = match source.extension().and_then(|extension| extension.to_str()) {
        Some("cpp") => ("c++", &["-std=c++17", "-fno-gnu-unique", "-fvisibility=hidden"]),
        _ => ("cc", &["-std=c11"]),
    };
    let result = Command::new(compiler)
        .args(standard)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC", "-shared", "-I"])
        .arg(workspace().join("plugin-api/include"))
        .args(defines.iter().map(|(name, value)| format!("-D{name}={value}")))
        .arg(&source)
        .arg("-o")
        .arg(&output)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {compiler}: {error}"));
    assert!(result.status.success(), "{}:\n{}", source.display(), String::from_utf8_lossy(&result.stderr));
    output
}
