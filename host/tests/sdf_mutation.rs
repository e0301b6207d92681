//! Damaged files: whatever is done to a file, reading it, building it and running it end with findings and without a
//! panic, in time that has to do with the file's size.
//!
//! Runs on stable, without coverage: `PROPTEST_CASES` sets how many files are tried, `SDF_MUTATION_DIR` takes other files to
//! begin with, `SDF_MUTATION_SECONDS` is how long one file may take on a machine that is busy with other things.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod mutate;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mutate::{apply, change, files};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tickworks::sdf::{self, LoadOptions, Node, Source, XmlLimits, mesh};
use tickworks::world::{BuildOptions, World};

/// Far beyond what any of these files takes, on a machine with other work to do.
const TOO_LONG: Duration = Duration::from_secs(20);

fn too_long() -> Duration {
    let asked = std::env::var("SDF_MUTATION_SECONDS").ok();
    asked.map_or(TOO_LONG, |seconds| Duration::from_secs(seconds.parse().unwrap()))
}

fn seeds() -> Vec<PathBuf> {
    let dir = std::env::var_os("SDF_MUTATION_DIR").map_or_else(|| PathBuf::from("tests/sdf"), PathBuf::from);
    let mut seeds = Vec::new();
    files(&dir, &["sdf", "world", "urdf"], &mut seeds);
    seeds.sort();
    assert!(!seeds.is_empty());
    seeds
}

fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}

/// The tree reader: every element lies in its parent and in the file, and is found again where it lies.
#[test]
fn trees_of_damaged_files_hold_together() {
    fn check(node: Node<'_>, text: &str, count: &mut usize) -> Result<(), TestCaseError> {
        *count += 1;
        let span = node.span();
        let range = span.range();
        prop_assert!(range.start < range.end && range.end <= text.len(), "{range:?}");
        prop_assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end));
        prop_assert!(text[range.clone()].starts_with('<'), "{:?}", &text[range.clone()]);
        for attribute in node.attributes() {
            let inner = attribute.span().range();
            prop_assert!(range.start < inner.start && inner.end <= range.end);
        }
        for child in node.children() {
            let inner = child.span().range();
            prop_assert!(range.start < inner.start && inner.end <= range.end, "{inner:?} in {range:?}");
            check(child, text, count)?;
        }
        Ok(())
    }
    let strategy = (proptest::sample::select(seeds()), proptest::collection::vec(change(), 0..8));
    TestRunner::new(config())
        .run(&strategy, |(seed, changes)| {
            let mut bytes = fs::read(&seed).unwrap();
            changes.iter().for_each(|change| apply(&mut bytes, change));
            let source: Arc<Source> = Source::new(&seed, String::from_utf8_lossy(&bytes));
            match sdf::parse(&source, &XmlLimits::default()) {
                Ok(document) => {
                    let mut count = 0;
                    check(document.root(), source.text(), &mut count)?;
                    prop_assert!(count > 0);
                }
                Err(finding) => {
                    prop_assert!(finding.span.is_some(), "{finding}");
                    drop(finding.render());
                }
            }
            Ok(())
        })
        .unwrap();
}

/// The whole way: from a file to a world that ticks.
#[test]
fn damaged_files_never_panic_and_never_hang() {
    let options = LoadOptions { model_paths: vec![PathBuf::from("tests/sdf/models")], ..LoadOptions::default() };
    let strategy = (proptest::sample::select(seeds()), proptest::collection::vec(change(), 1..8));
    TestRunner::new(config())
        .run(&strategy, |(seed, changes)| {
            let mut bytes = fs::read(&seed).unwrap();
            changes.iter().for_each(|change| apply(&mut bytes, change));
            let source = Source::new(&seed, String::from_utf8_lossy(&bytes));
            let begin = Instant::now();
            let loaded = sdf::load_source(&source, &options);
            // What is said and shown must hold as well.
            loaded.diagnostics.iter().for_each(|d| drop((d.render(), d.to_json())));
            let _ = sdf::report::json(&loaded);
            drop((sdf::graph::text(&loaded.root), sdf::graph::dot(&loaded.root)));
            if !loaded.has_errors() {
                drop(sdf::write::resolved(&loaded.root));
                if let Some(mut document) = loaded.into_world() {
                    sdf::state::apply(&mut document);
                    run(&document);
                }
            }
            prop_assert!(begin.elapsed() < too_long(), "took {:?}", begin.elapsed());
            Ok(())
        })
        .unwrap();
}

/// Three ticks of a world, if it can be built and asks for a sane number of steps.
fn run(document: &sdf::World) {
    let Ok((mut world, _)) = World::build(document, &BuildOptions::default()) else { return };
    for _ in 0..if world.subticks() <= 100 { 3 } else { 0 } {
        world.physics_tick();
    }
    assert!(world.bodies().poses.iter().flatten().all(|x| x.is_finite()));
    world.reset();
}

/// Mesh files: each kind, as the exporters write it, then damaged.
#[test]
fn damaged_meshes_never_panic_and_never_hang() {
    let mut seeds = Vec::new();
    files(&PathBuf::from("tests/sdf/meshes"), &["stl", "obj", "dae", "gltf", "glb"], &mut seeds);
    if let Some(dir) = std::env::var_os("SDF_MUTATION_DIR") {
        files(&PathBuf::from(dir), &["stl", "obj", "dae", "gltf", "glb"], &mut seeds);
    }
    seeds.sort();
    assert!(seeds.len() >= 5, "{seeds:?}");
    let dir = tempfile::tempdir().unwrap();
    let strategy = (proptest::sample::select(seeds), proptest::collection::vec(change(), 0..8));
    TestRunner::new(config())
        .run(&strategy, |(seed, changes)| {
            let mut bytes = fs::read(&seed).unwrap();
            changes.iter().for_each(|change| apply(&mut bytes, change));
            let file = dir.path().join("damaged").with_extension(seed.extension().unwrap());
            fs::write(&file, &bytes).unwrap();
            let begin = Instant::now();
            match mesh::load(&file) {
                Ok(mesh) => {
                    let all = mesh.merged();
                    let count = all.vertices.len() as u32;
                    prop_assert!(all.triangles.iter().flatten().all(|index| *index < count));
                    for optimization in ["", "convex_hull", "convex_decomposition"] {
                        touch(&file, optimization);
                    }
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
            prop_assert!(begin.elapsed() < too_long(), "took {:?}", begin.elapsed());
            Ok(())
        })
        .unwrap();
}

/// A mesh as a wall and as a body that falls on it.
fn touch(file: &std::path::Path, optimization: &str) {
    let model = |name: &str, rest: &str| {
        format!(
            "<model name='{name}'>{rest}<link name='l'><collision name='c'><geometry><mesh optimization='{optimization}'>\
             <uri>{}</uri><convex_decomposition><max_convex_hulls>4</max_convex_hulls><voxel_resolution>1000</voxel_resolution>\
             </convex_decomposition></mesh></geometry></collision></link></model>",
            file.display()
        )
    };
    let text = format!(
        "<sdf version='1.11'><world name='w'><physics name='p' type='x'><max_step_size>0.02</max_step_size></physics>{}{}</world></sdf>",
        model("wall", "<static>true</static>"),
        model("body", "<pose>0 0 1 0 0 0</pose>")
    );
    let loaded = sdf::load_source(&Source::new("w.sdf", text), &LoadOptions::default());
    if let (false, Some(document)) = (loaded.has_errors(), loaded.into_world()) {
        run(&document);
    }
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
        assert!(begin.elapsed() < too_long(), "{what}: {:?}", begin.elapsed());
    }
}
