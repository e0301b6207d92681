//! Worlds saved into the files that they were read from: nothing else changes, and what is loaded again is what was saved.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glamx::{DPose3, DQuat, DVec3};
use tickworks::sdf::save::{Added, Edits, JointPosition, SaveError, Saved, save};
use tickworks::sdf::{self, LoadOptions, Loaded, Model, Source, World};

/// Numbers that are the same on every run.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn signed(&mut self) -> f64 {
        self.unit() * 2.0 - 1.0
    }

    /// A pose within 10 m; one in four looks straight up.
    fn pose(&mut self) -> DPose3 {
        let at = DVec3::new(self.signed(), self.signed(), self.signed()) * 10.0;
        let turn = DQuat::from_xyzw(self.signed(), self.signed(), self.signed(), self.signed());
        let turn = if self.unit() < 0.25 {
            sdf::rotation(self.signed() * 3.0, -std::f64::consts::FRAC_PI_2, self.signed() * 3.0)
        } else if turn.length() > 1e-3 {
            turn.normalize()
        } else {
            DQuat::IDENTITY
        };
        DPose3::from_parts(at, turn)
    }
}

fn near(a: &DPose3, b: &DPose3) -> bool {
    let turn = if a.rotation.dot(b.rotation) < 0.0 { -b.rotation } else { b.rotation };
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    apart(&a.translation.to_array(), &b.translation.to_array()) < 1e-9
        && apart(&a.rotation.to_array(), &turn.to_array()) < 1e-9
}

/// Files, each with the options to load it with.
fn files() -> Vec<(PathBuf, LoadOptions)> {
    let sdf_in = |dir: &Path| -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.extension().is_some_and(|e| e == "sdf" || e == "urdf"));
        found.sort();
        assert!(!found.is_empty());
        found
    };
    let models = LoadOptions { model_paths: vec![PathBuf::from("tests/sdf/models")], ..LoadOptions::default() };
    let mut files: Vec<_> =
        sdf_in(Path::new("tests/sdf/good")).into_iter().map(|path| (path, models.clone())).collect();
    files.extend(sdf_in(Path::new("../worlds")).into_iter().map(|path| (path, LoadOptions::default())));
    let given = std::env::var_os("SDF_FIELD_DIR").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/sdf-corpus");
    let Some(field) = given.or(Some(beside)).filter(|dir| dir.join("files").is_dir()) else { return files };
    let names = fs::read_to_string(field.join("model-dirs.txt")).unwrap_or_default();
    let model_paths = names.lines().map(|line| field.join("files").join(line)).collect();
    let options = LoadOptions { model_paths, ..LoadOptions::default() };
    let cases = fs::read_to_string(field.join("cases.tsv")).unwrap();
    let cases = cases.lines().skip(1).filter_map(|line| line.split('\t').next());
    files.extend(cases.map(|case| (field.join("files").join(case), options.clone())));
    files
}

/// The files that load.
fn loaded() -> impl Iterator<Item = (PathBuf, LoadOptions, Loaded)> {
    let each = |(path, options): (PathBuf, LoadOptions)| {
        let loaded = sdf::load(&path, &options);
        (!loaded.has_errors()).then_some((path, options, loaded))
    };
    files().into_iter().filter_map(each)
}

fn world(loaded: Loaded) -> Option<World> {
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let mut world = loaded.into_world()?;
    sdf::state::apply(&mut world);
    Some(world)
}

fn again(source: &Arc<Source>, text: &str, options: &LoadOptions) -> World {
    world(sdf::load_source(&Source::new(source.path(), text), options)).unwrap()
}

/// Where a model's frame is: its canonical link carries it.
fn frame(model: &Model) -> DPose3 {
    let (mut at, mut link) = (model, model.resolved_canonical_link.as_str());
    while let Some((inner, rest)) = link.split_once("::") {
        let Some(nested) = at.models.iter().find(|m| m.name == inner) else { break };
        (at, link) = (nested, rest);
    }
    match at.links.iter().find(|l| l.name == link).and_then(|l| Some((l, l.start_pose?))) {
        Some((link, start)) => start * link.world_pose.inverse() * model.world_pose,
        None => model.world_pose,
    }
}

/// The part of each text that the other has not.
fn difference<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let common =
        |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| a.zip(b).take_while(|(a, b)| a == b).count();
    let begin = common(&mut old.bytes(), &mut new.bytes());
    let most = old.len().min(new.len()) - begin;
    let end = common(&mut old.bytes().rev(), &mut new.bytes().rev()).min(most);
    let cut = |text: &'a str| text.get(begin..text.len() - end).unwrap_or("?");
    (cut(old), cut(new))
}

fn source(loaded: &Loaded) -> Arc<Source> {
    Arc::clone(loaded.documents[0].source())
}

fn saved(text: &str, edits: &Edits) -> Result<Saved, SaveError> {
    let options = LoadOptions { model_paths: vec![PathBuf::from("tests/sdf/models")], ..LoadOptions::default() };
    save(&sdf::load_source(&Source::new("w.sdf", text), &options), &options, edits)
}

fn moved(model: &str, pose: DPose3) -> Edits {
    Edits { models: [(model.to_owned(), pose)].into(), ..Edits::default() }
}

fn at(x: f64, y: f64, z: f64) -> DPose3 {
    DPose3::from_translation(DVec3::new(x, y, z))
}

#[test]
fn without_a_change_the_text_is_that_of_the_file() {
    let mut count = 0;
    for (path, options, loaded) in loaded() {
        let saved = save(&loaded, &options, &Edits::default()).unwrap();
        assert_eq!(saved.text.as_bytes(), fs::read(&path).unwrap(), "{}", path.display());
        assert!(saved.notes.is_empty());
        count += 1;
    }
    assert!(count > 30, "{count}");
}

#[test]
fn each_model_that_is_moved_is_where_it_was_moved_to_and_nothing_else_is_changed() {
    let mut random = Random(11);
    let mut count = 0;
    for (path, options, loaded) in loaded() {
        let source = source(&loaded);
        if source.text().contains("<robot") && loaded.documents[0].root().name() == "robot" {
            continue;
        }
        let Some(world) = world(sdf::load_source(&source, &options)) else { continue };
        // Of many that are alike, some.
        let step = world.models.len().div_ceil(12).max(1);
        for model in world.models.iter().step_by(step) {
            let pose = random.pose();
            let place = || format!("{}: {}", path.display(), model.name);
            let saved =
                save(&loaded, &options, &moved(&model.name, pose)).unwrap_or_else(|e| panic!("{}: {e}", place()));
            assert!(saved.notes.is_empty(), "{}: {:?}", place(), saved.notes);
            let after = again(&source, &saved.text, &options);
            let found = after.models.iter().find(|m| m.name == model.name).unwrap();
            assert!(near(&frame(found), &pose), "{}: {:?}, not {pose:?}", place(), frame(found));
            for (was, is) in world.models.iter().zip(&after.models).filter(|(was, _)| was.name != model.name) {
                assert!(near(&frame(was), &frame(is)), "{}: {} moved as well", place(), was.name);
            }
            let (old, new) = difference(source.text(), &saved.text);
            let hangs = source.text().contains("relative_to") || source.text().contains("<state");
            let one = !old.contains("</pose>") && new.matches("<pose>").count() <= 1;
            assert!(one || hangs || new.contains("<state"), "{}:\n{old}\n---\n{new}", place());
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn any_models_may_be_moved_at_once() {
    let mut random = Random(5);
    for (path, options, loaded) in loaded() {
        let source = source(&loaded);
        if loaded.documents[0].root().name() == "robot" {
            continue;
        }
        let Some(world) = world(sdf::load_source(&source, &options)) else { continue };
        let mut edits = Edits::default();
        for model in &world.models {
            model.walk(&mut |model| {
                if random.unit() < 0.4 {
                    edits.models.insert(model.scoped_name.clone(), random.pose());
                }
            });
        }
        match save(&loaded, &options, &edits) {
            Ok(saved) => {
                let after = again(&source, &saved.text, &options);
                let mut poses = std::collections::HashMap::new();
                after.models.iter().for_each(|m| m.walk(&mut |m| _ = poses.insert(m.scoped_name.clone(), frame(m))));
                let held = !saved.notes.is_empty();
                for (name, pose) in &edits.models {
                    assert!(held || near(&poses[name], pose), "{}: {name}", path.display());
                }
                // Once more, into what was saved.
                let loaded = sdf::load_source(&Source::new(&path, saved.text.as_str()), &options);
                let twice = save(&loaded, &options, &edits).unwrap();
                assert_eq!(twice.text, saved.text, "{}", path.display());
            }
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
}

#[test]
fn links_and_joints_are_where_they_were_moved_to() {
    let mut random = Random(3);
    let mut count = 0;
    for (path, options, loaded) in loaded() {
        let source = source(&loaded);
        let Some(world) = world(sdf::load_source(&source, &options)).filter(|_| !loaded.root.worlds.is_empty()) else {
            continue;
        };
        let mut edits = Edits::default();
        for model in &world.models {
            model.walk(&mut |model| {
                for link in model.links.iter().filter(|l| l.name != model.resolved_canonical_link) {
                    if random.unit() < 0.3 {
                        edits.links.insert(format!("{}::{}", model.scoped_name, link.name), random.pose());
                    }
                }
                let moved = edits.links.keys().any(|link| link.starts_with(&format!("{}::", model.scoped_name)));
                for joint in model.joints.iter().filter(|_| moved) {
                    let position =
                        JointPosition { positions: [random.signed(), random.signed()], axes: joint.axes.len() };
                    edits.joints.insert(format!("{}::{}", model.scoped_name, joint.name), position);
                }
                if random.unit() < 0.2 && model.resolved_canonical_link.split("::").count() < 2 {
                    edits.models.insert(model.scoped_name.clone(), random.pose());
                }
            });
        }
        // All that is held is checked by the saving itself: links, joints, models.
        let saved = save(&loaded, &options, &edits).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(saved.notes.is_empty(), "{}: {:?}", path.display(), saved.notes);
        let after = again(&source, &saved.text, &options);
        for model in &after.models {
            model.walk(&mut |model| {
                for link in &model.links {
                    let name = format!("{}::{}", model.scoped_name, link.name);
                    let Some(pose) = edits.links.get(&name) else { continue };
                    assert!(near(&link.start_pose.unwrap_or(link.world_pose), pose), "{}: {name}", path.display());
                    count += 1;
                }
            });
        }
        let loaded = sdf::load_source(&Source::new(&path, saved.text.as_str()), &options);
        assert_eq!(save(&loaded, &options, &edits).unwrap().text, saved.text, "{}", path.display());
    }
    assert!(count > 10, "{count}");
}
