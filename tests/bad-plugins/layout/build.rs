//! Makes the one defect: the table of plugin-api in which `on_tick` gets a number where it should get the world.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "that is how a build script fails and speaks")]

use std::path::Path;

fn main() {
    let source = Path::new("../../../plugin-api/src/abi.rs");
    println!("cargo::rerun-if-changed={}", source.display());
    let text = std::fs::read_to_string(source).expect("plugin-api/src/abi.rs");
    let right = "on_tick: Option<unsafe extern \"C\" fn(instance: *mut c_void, world: *const World,";
    let wrong = "on_tick: Option<unsafe extern \"C\" fn(instance: *mut c_void, world: u64,";
    assert_eq!(text.matches(right).count(), 1, "the slot that is to be broken is not where it was");
    // `include!` takes no inner doc comments.
    let text: String = text
        .replace(right, wrong)
        .lines()
        .filter(|line| !line.starts_with("//!"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let out = std::env::var_os("OUT_DIR").expect("OUT_DIR");
    std::fs::write(Path::new(&out).join("abi.rs"), text).expect("OUT_DIR/abi.rs");
    // The check compares packages first; what is to differ is the slot alone.
    println!("cargo::rustc-env=CARGO_PKG_NAME=tickworks-plugin-api");
}
