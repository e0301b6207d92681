//! What it costs to load a large world: seconds for each stage, and memory, at 3,000 and at 30,000 models of one link.
//!
//! `cargo bench --bench load`; `-- 3000` for that number of models alone. Each size is a process of its own, so that its
//! memory is its own; the least of five runs counts for the times, as what else the machine does only adds to them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a bench prints, and may fail loudly"
)]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod sdf_text;

use std::process::Command;
use std::time::Instant;

use tickworks::sdf::{self, LoadOptions};
use tickworks::world::{BuildOptions, World};

const ONE: &str = "TICKWORKS_BENCH_LOAD";

fn main() {
    if let Ok(count) = std::env::var(ONE) {
        one(count.parse().unwrap());
        return;
    }
    // Cargo's own arguments are flags.
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let sizes = if asked.is_empty() { vec!["3000".to_owned(), "30000".to_owned()] } else { asked };
    println!("models    read     build    drop text  ready     peak");
    for size in sizes {
        let runs: Vec<Vec<f64>> = (0..5)
            .map(|_| {
                let run = Command::new(std::env::current_exe().unwrap()).env(ONE, &size).output().unwrap();
                assert!(run.status.success(), "{run:?}");
                let text = String::from_utf8(run.stdout).unwrap();
                text.split_whitespace().map(|number| number.parse().unwrap()).collect()
            })
            .collect();
        let least = |n: usize| runs.iter().map(|run| run[n]).fold(f64::INFINITY, f64::min);
        let (read, build, drop) = (least(0), least(1), least(2));
        println!(
            "{size:>6}  {read:>6.3} s  {build:>6.3} s  {drop:>7.3} s  {:>6.3} s  {:>5.0} MB",
            read + build + drop,
            least(3)
        );
    }
}

/// Loads a world of so many models, and prints seconds to read it, to build it, to let the document go, and the peak of
/// memory in MB.
fn one(count: usize) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("world.sdf");
    std::fs::write(&file, sdf_text::mixed(count)).unwrap();
    let start = Instant::now();
    let loaded = sdf::load(&file, &LoadOptions::default());
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let document = loaded.into_world().unwrap();
    let read = start.elapsed();
    let start = Instant::now();
    let (world, _) = World::build(&document, &BuildOptions::default()).unwrap();
    let build = start.elapsed();
    let start = Instant::now();
    drop(document);
    let drop = start.elapsed();
    assert_eq!(world.names(tickworks_plugin_api::abi::kind::MODEL).count(), count + 1);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells the peak");
    let peak: f64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("{} {} {} {}", read.as_secs_f64(), build.as_secs_f64(), drop.as_secs_f64(), peak / 1024.0);
}
