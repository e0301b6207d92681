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

const ONE: &str = "<sdf version='1.9'>
  <world name='w'>
    <frame name='table'><pose>1 2 3 0 0 1.5707963267948966</pose></frame>
    <model name='a'>
      <!-- a -->
      POSE
      <link name='l'><pose>0 0 0.5 0 0 0</pose></link>
      <frame name='top'><pose>0 0 1 0 0 0</pose></frame>
    </model>
    <model name='b'><pose>5 0 0 0 0 0</pose><link name='l'/></model>
  </world>
</sdf>
";

/// `ONE` with an element for the pose of `a`, before and after `a` was moved.
fn one(old: &str, pose: DPose3, new: &str) {
    let saved = saved(&ONE.replace("POSE", old), &moved("a", pose)).unwrap();
    assert_eq!(saved.text, ONE.replace("POSE", new));
}

#[test]
fn a_pose_keeps_the_form_that_it_has() {
    let quarter = std::f64::consts::FRAC_PI_2;
    let turned = DPose3::from_parts(DVec3::new(1.0, 2.0, 0.25), sdf::rotation(0.0, 0.0, quarter));
    one("<pose>0 0 0 0 0 0</pose>", turned, "<pose>1 2 0.25 0 0 1.5707963267948966</pose>");
    one("<pose />", turned, "<pose>1 2 0.25 0 0 1.5707963267948966</pose>");
    one("<pose></pose>", at(0.0, 0.1, 0.0), "<pose>0 0.1 0 0 0 0</pose>");
    one("<pose degrees='true'>0 0 0 0 0 45</pose>", turned, "<pose degrees='true'>1 2 0.25 0 0 90</pose>");
    one(
        "<pose rotation_format=\"quat_xyzw\">0 0 0  0 0 0 1</pose>",
        DPose3::from_parts(DVec3::X, DQuat::from_xyzw(0.6, 0.0, 0.0, 0.8)),
        "<pose rotation_format=\"quat_xyzw\">1 0 0  0.6 0 0 0.8</pose>",
    );
    one(
        "<pose><!-- x y z -->\n\t0 0 0 <!-- r p y --> 0 0 0</pose>",
        at(0.0, 7.0, 0.0),
        "<pose><!-- x y z -->\n\t0 7 0 <!-- r p y --> 0 0 0</pose>",
    );
    one("<pose relative_to='table'>0 0 0 0 0 0</pose>", turned, "<pose relative_to='table'>0 0 -2.75 0 0 0</pose>");
    one(
        "<pose relative_to='b'>0 0 0.50 0 0 0</pose>",
        at(6.0, 0.0, 0.5),
        "<pose relative_to='b'>1 0 0.50 0 0 0</pose>",
    );
}

#[test]
fn a_placement_frame_is_where_the_pose_is() {
    let by = |text: &str| text.replace("name='a'", "name='a' placement_frame='top'");
    let old = by(&ONE.replace("POSE", "<pose>0 0 0 0 0 0</pose>"));
    let saved_text = saved(&old, &moved("a", at(1.0, 2.0, 3.0))).unwrap().text;
    assert_eq!(saved_text, by(&ONE.replace("POSE", "<pose>1 2 4 0 0 0</pose>")));
    let include = |pose: &str| {
        format!(
            "<sdf version='1.9'><world name='w'>\n\t<include>\n\t\t<uri>model://crate</uri> <!-- a crate -->\n{pose}\t</include>\n</world></sdf>"
        )
    };
    let new = include("\t\t<pose>1 2 3 0 0 0</pose>\n");
    assert_eq!(saved(&include(""), &moved("crate", at(1.0, 2.0, 3.0))).unwrap().text, new);
    let placed =
        |pose: &str| include(&format!("\t\t<pose>{pose}</pose>\n\t\t<placement_frame>LINK</placement_frame>\n"));
    let crate_ = sdf::load(Path::new("tests/sdf/models/crate/model.sdf"), &LoadOptions::default()).root.model.unwrap();
    let link = &crate_.links[0];
    let wanted = at(1.0, 2.0, 3.0) * link.pose_in_model;
    let old = placed("0 0 0 0 0 0").replace("LINK", &link.name);
    let text = saved(&old, &moved("crate", at(1.0, 2.0, 3.0))).unwrap().text;
    let [x, y, z] = wanted.translation.to_array();
    assert_eq!(text, placed(&format!("{x} {y} {z} 0 0 0")).replace("LINK", &link.name));
}

#[test]
fn what_hangs_on_a_model_that_moves_stays_where_it_is() {
    let text = |a: &str, b: &str, lamp: &str| {
        format!(
            "<sdf version='1.6'>
  <world name='w'>
    <light name='lamp' type='point'><pose frame='a'>{lamp}</pose></light>
    <model name='a'>
      <pose frame=''>{a}</pose>
      <link name='l'/>
    </model>
    <model name='b'>
      <pose frame='a'>{b}</pose>
      <link name='l'/>
    </model>
  </world>
</sdf>"
        )
    };
    let old = text("0 0 0 0 -0 0", "1 0 0 0 0 0", "0 0 9 0 0 0");
    let new = saved(&old, &moved("a", at(0.0, 5.0, 0.0))).unwrap().text;
    assert_eq!(new, text("0 5 0 0 -0 0", "1 -5 0 0 0 0", "0 -5 9 0 0 0"));
    let both =
        Edits { models: [("a".into(), at(2.0, 0.0, 0.0)), ("b".into(), at(3.0, 0.0, 1.0))].into(), ..Edits::default() };
    let new = saved(&old, &both).unwrap().text;
    assert_eq!(new, text("2 0 0 0 -0 0", "1 0 1 0 0 0", "-2 0 9 0 0 0"));
}

#[test]
fn line_ends_tabs_and_the_byte_order_mark_stay() {
    let text = |pose: &str| {
        format!(
            "\u{feff}<?xml version='1.0'?>\r\n<sdf version='1.9'>\r\n\t<world name='w'>\r\n\t\t<model name='a'>\r\n{pose}\t\t\t<link name='l'/>\r\n\t\t</model>\r\n\t</world>\r\n</sdf>\r\n<!-- end -->"
        )
    };
    let new = saved(&text(""), &moved("a", at(1.0, 0.0, 0.0))).unwrap();
    assert_eq!(new.text, text("\t\t\t<pose>1 0 0 0 0 0</pose>\r\n"));
    let closed = "<sdf version='1.9'><world name='w'>\n  <model name='m'>\n    <static>1</static>\n    <model name='n'/>\n  </model>\n</world></sdf>";
    let new = saved(
        &closed.replace("<model name='n'/>", "<model name='n'><static>1</static></model>"),
        &moved("m::n", at(0.0, 1.0, 0.0)),
    );
    assert!(new.unwrap().text.contains("<model name='n'><pose>0 1 0 0 0 0</pose><static>1</static></model>"));
}

#[test]
fn flags_lights_and_the_camera_are_saved() {
    let text = |statics: &str, light: &str, camera: &str| {
        format!(
            "<sdf version='1.9'>
  <world name='w'>
    <gui><camera name='c'>{camera}</camera></gui>
    <light name='sun' type='point'>{light}</light>
    <model name='a'>
      <pose>1 0 0 0 0 0</pose>{statics}
      <link name='l'/>
    </model>
    <include><uri>model://crate</uri></include>
  </world>
</sdf>"
        )
    };
    let edits = Edits {
        is_static: [("a".into(), true)].into(),
        lights: [("sun".into(), at(0.0, 0.0, 4.0))].into(),
        gui_camera: Some(at(1.0, 0.0, 2.0)),
        ..Edits::default()
    };
    let new = text("\n      <static>true</static>", "<pose>0 0 4 0 0 0</pose>", "<pose>1 0 2 0 0 0</pose>");
    assert_eq!(saved(&text("", "", "<pose/>"), &edits).unwrap().text, new);
    let free = Edits { is_static: [("a".into(), false), ("crate".into(), true)].into(), ..Edits::default() };
    let crated = |text: String| text.replace("</uri></include>", "</uri><static>true</static></include>");
    assert_eq!(
        saved(&text("<static> 1 </static>", "", ""), &free).unwrap().text,
        crated(text("<static> false </static>", "", ""))
    );
}

#[test]
fn models_come_and_go() {
    let text = "<sdf version='1.9'>
  <world name='w'>
    <!-- the first -->
    <model name='a'>
      <link name='l'/>
    </model>
    <model name='b &amp; c'><link name='l'/></model>
    <include><uri>model://crate</uri><name>box</name></include>
    <frame name='f' attached_to='a'/>
    <state world_name='w'>
      <model name='b &amp; c'>
        <pose>0 0 1 0 0 0</pose>
      </model>
    </state>
  </world>
</sdf>
";
    let gone = |names: &[&str]| Edits { removed: names.iter().map(|n| (*n).to_owned()).collect(), ..Edits::default() };
    let new = saved(text, &gone(&["b & c", "box"])).unwrap().text;
    assert!(new.contains("</model>\n    <frame") && new.contains("<state world_name='w'>\n    </state>"), "{new}");
    let refused = saved(text, &gone(&["a"])).unwrap_err().to_string();
    assert_eq!(refused, "model a cannot be removed: it is named by frame f (w.sdf:9:5)");
    let refused = saved(text, &gone(&["x"])).unwrap_err().to_string();
    assert_eq!(refused, "w.sdf has no model x that could be saved");

    let add = |text: &str| Edits { added: vec![Added { text: text.to_owned() }], ..Edits::default() };
    let model = "<model name=\"d\">\n\t<pose>1 0 0 0 0 0</pose>\n\t<link name=\"l\"/>\n</model>\n";
    let new = saved(text, &add(model)).unwrap().text;
    let inserted = "\n    <model name=\"d\">\n    \t<pose>1 0 0 0 0 0</pose>\n    \t<link name=\"l\"/>\n    </model>";
    assert_eq!(new, text.replace("</name></include>", &format!("</name></include>{inserted}")));
    let swapped =
        Edits { removed: ["a".to_owned()].into(), ..add("<include><uri>model://crate</uri><name>a</name></include>") };
    let refused = saved(text, &swapped).unwrap_err().to_string();
    assert!(refused.starts_with("model a cannot be removed"), "{refused}");
    for (wrong, why) in [
        ("<light name='x'/>", "it is a <light>"),
        ("<model/>", "it has no name"),
        ("<model name='x'/><model name='y'/>", "a second root element"),
        ("<model name='x'/><!-- -->", "there is something beside the element"),
        ("", "the file has no element"),
    ] {
        let refused = saved(text, &add(wrong)).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let refused = saved(text, &add("<model name='a'><link name='l'/></model>")).unwrap_err().to_string();
    assert!(refused.contains("would not load") && refused.contains("there are two models called \"a\""), "{refused}");
    let empty = "<sdf version='1.9'>\n  <world name='w'/>\n</sdf>";
    assert_eq!(
        saved(empty, &add("<model name='x'><link name='l'/></model>")).unwrap().text,
        "<sdf version='1.9'>\n  <world name='w'>\n    <model name='x'><link name='l'/></model>\n  </world>\n</sdf>"
    );
}

#[test]
fn what_joints_hold_goes_to_the_state() {
    let text = |pose: &str, state: &str| {
        format!(
            "<sdf version='1.9'>
  <world name='w'>
    <model name='cart'>
      {pose}
      <link name='base'/>
      <link name='arm \"1\"'><pose>0 0 1 0 0 0</pose></link>
      <joint name='turn' type='revolute'><parent>base</parent><child>arm \"1\"</child><axis><xyz>0 0 1</xyz></axis></joint>
    </model>
    <model name='door'>
      <link name='wing'><pose>1 0 0 0 0 0</pose></link>
      <joint name='hinge' type='revolute'><parent>world</parent><child>wing</child><axis><xyz>0 0 1</xyz></axis></joint>
    </model>
{state}  </world>
</sdf>"
        )
    };
    let turn = sdf::rotation(0.0, 0.0, 0.5);
    let mut edits = Edits {
        models: [("cart".into(), at(3.0, 0.0, 0.0))].into(),
        links: [("cart::arm \"1\"".into(), DPose3::from_parts(DVec3::new(3.0, 0.0, 1.0), turn))].into(),
        joints: [("cart::turn".into(), JointPosition { positions: [0.5, 0.0], axes: 1 })].into(),
        ..Edits::default()
    };
    let state = "    <state world_name=\"w\">
      <model name=\"cart\">
        <joint name=\"turn\">
          <angle axis=\"0\">0.5</angle>
        </joint>
        <link name=\"arm &quot;1&quot;\">
          <pose>3 0 1 0 0 0.5</pose>
        </link>
      </model>
    </state>
";
    let old = text("<pose>0 0 0 0 0 0</pose>", "");
    let first = saved(&old, &edits).unwrap();
    assert_eq!((first.text.as_str(), first.notes.len()), (text("<pose>3 0 0 0 0 0</pose>", state).as_str(), 0));

    // The hinge of the door stays where it is: its wing is what moves.
    edits = Edits {
        joints: [
            ("cart::turn".into(), JointPosition { positions: [0.25, 0.0], axes: 1 }),
            ("door::hinge".into(), JointPosition { positions: [0.5, 0.0], axes: 1 }),
        ]
        .into(),
        links: [
            ("cart::arm \"1\"".into(), DPose3::from_parts(DVec3::new(3.0, 0.0, 1.0), sdf::rotation(0.0, 0.0, 0.25))),
            ("door::wing".into(), DPose3::from_parts(DVec3::new(0.875, 0.5, 0.0), turn)),
        ]
        .into(),
        ..Edits::default()
    };
    let door = "      <model name=\"door\">
        <joint name=\"hinge\">
          <angle axis=\"0\">0.5</angle>
        </joint>
        <link name=\"wing\">
          <pose>0.875 0.5 0 0 0 0.5</pose>
        </link>
      </model>
    </state>";
    let state = state
        .replace(">0.5</angle>", ">0.25</angle>")
        .replace("1 0 0 0.5</pose>", "1 0 0 0.25</pose>")
        .replace("    </state>", door);
    assert_eq!(saved(&first.text, &edits).unwrap().text, text("<pose>3 0 0 0 0 0</pose>", &state));
}

#[test]
fn a_state_that_places_a_model_is_what_is_updated() {
    let text = |a: &str, l: &str| {
        format!(
            "<sdf version='1.4'><world name='w'>
  <model name='a'><pose>1 1 1 0 0 0</pose><link name='l'><pose>0 0 1 0 0 0</pose></link></model>
  <state world_name='w'>
    <sim_time>3 5</sim_time>
    <model name='a'>
      <pose>{a}</pose> <!-- kept -->
      <link name='l'><pose frame=''>{l}</pose><velocity>0 0 1 0 0 0</velocity></link>
    </model>
  </state>
</world></sdf>"
        )
    };
    let old = text("2 0 0 0 0 0", "2 0 1 0 -0 0");
    assert_eq!(saved(&old, &moved("a", at(5.0, 0.0, 0.0))).unwrap().text, text("5 0 0 0 0 0", "5 0 1 0 -0 0"));
}

#[test]
fn an_arm_is_saved_with_the_positions_of_its_joints() {
    let path = Path::new("../worlds/workshop.sdf");
    let options = LoadOptions::default();
    let loaded = sdf::load(path, &options);
    // Bend the joints as a state does it, and save where the links then are.
    let joints = [("turn", 0.7), ("shoulder", -0.4), ("elbow", 0.9), ("wrist", -0.2), ("left_slide", 0.01)];
    let states: String =
        joints.iter().map(|(name, at)| format!("<joint name='{name}'><angle axis='0'>{at}</angle></joint>")).collect();
    let state = format!("<state world_name='workshop'><model name='arm'>{states}</model></state></world>");
    let text = source(&loaded).text().replace("</world>", &state);
    let bent = again(&source(&loaded), &text, &options);
    let arm = bent.models.iter().find(|m| m.name == "arm").unwrap();
    let links = arm.links.iter().filter_map(|l| Some((format!("arm::{}", l.name), l.start_pose?)));
    let position = |at: f64| JointPosition { positions: [at, 0.0], axes: 1 };
    let edits = Edits {
        links: links.collect(),
        joints: joints.iter().map(|(name, at)| (format!("arm::{name}"), position(*at))).collect(),
        ..Edits::default()
    };
    assert!(edits.links.len() >= 5);
    let saved = save(&loaded, &options, &edits).unwrap();
    let after = again(&source(&loaded), &saved.text, &options);
    let found = after.models.iter().find(|m| m.name == "arm").unwrap();
    for (link, was) in found.links.iter().zip(&arm.links) {
        let at = |link: &sdf::Link| link.start_pose.unwrap_or(link.world_pose);
        assert!(near(&at(link), &at(was)), "{}", link.name);
        assert_eq!(link.pose_in_model, was.pose_in_model);
    }
    for (name, at) in joints {
        assert_eq!(found.joints.iter().find(|j| j.name == name).unwrap().axes[0].position, at);
    }
    let source = source(&loaded);
    let (old, new) = difference(source.text(), &saved.text);
    assert!(old.is_empty() && new.contains("<state") && !new.contains("</world"), "{old}\n{new}");
}

#[test]
fn what_cannot_be_saved_is_said() {
    let urdf = "<robot name='r'><link name='base'/></robot>";
    let refused = saved(urdf, &moved("r", at(1.0, 0.0, 0.0))).unwrap_err().to_string();
    assert!(refused.contains("is a URDF file"), "{refused}");
    let broken = saved("<sdf version='1.9'><world name='w'><model/></world></sdf>", &Edits::default()).unwrap_err();
    assert!(broken.to_string().contains("w.sdf:1:36: error[ATTRIBUTE_MISSING]"), "{broken}");
    let one = ONE.replace("POSE", "");
    let nowhere = saved(&one, &moved("a", at(f64::NAN, 0.0, 0.0))).unwrap_err().to_string();
    assert!(nowhere.starts_with("the model a is not saved"), "{nowhere}");
    // A file that is one model has its pose, and no state.
    let alone = "<sdf version='1.9'><model name='m'><link name='a'/><link name='b'/></model></sdf>";
    let mut edits = moved("m", at(1.0, 0.0, 0.0));
    edits.links.insert("m::b".to_owned(), at(1.0, 2.0, 0.0));
    let half = saved(alone, &edits).unwrap();
    assert_eq!(half.text, alone.replace("'m'>", "'m'><pose>1 0 0 0 0 0</pose>"));
    assert_eq!(
        half.notes,
        ["How the parts of model m are to one another is not saved: a file without a <world> has no <state>."]
    );
    edits.removed.insert("m".to_owned());
    assert_eq!(
        saved(alone, &edits).unwrap_err().to_string(),
        "w.sdf has no <world>: nothing can be added to it or removed from it"
    );
}

#[test]
fn what_is_in_an_included_file_goes_to_the_state() {
    let text = |pose: &str, state: &str| {
        format!(
            "<sdf version='1.12'>
  <world name='w'>
    <include>
      <uri>model://pair</uri>
      <name>p</name>
{pose}    </include>
{state}  </world>
</sdf>"
        )
    };
    let turned = DPose3::from_parts(DVec3::new(4.0, 5.0, 0.0), sdf::rotation(0.0, 0.0, 0.5));
    let edits = Edits {
        models: [("p".to_owned(), at(3.0, 5.0, 0.0))].into(),
        links: [("p::right::l".to_owned(), turned)].into(),
        joints: [("p::hinge".to_owned(), JointPosition { positions: [0.5, 0.0], axes: 1 })].into(),
        ..Edits::default()
    };
    let state = "    <state world_name=\"w\">
      <model_state name=\"p\">
        <joint_state name=\"hinge\">
          <axis_state>
            <position>0.5</position>
          </axis_state>
        </joint_state>
        <model_state name=\"right\">
          <link_state name=\"l\">
            <pose>4 5 0 0 0 0.5</pose>
          </link_state>
        </model_state>
      </model_state>
    </state>
";
    let new = text("      <pose>3 5 0 0 0 0</pose>\n", state);
    assert_eq!(saved(&text("", ""), &edits).unwrap().text, new);
}

#[test]
fn a_frame_that_is_fixed_to_the_world_does_not_go_along() {
    let text = |frame: &str, a: &str, b: &str| {
        format!(
            "<sdf version='1.9'><world name='w'>
  <frame name='still'><pose relative_to='a'>{frame}</pose></frame>
  <frame name='along' attached_to='a'><pose>0 0 1 0 0 0</pose></frame>
  <model name='a'><pose>{a}</pose><link name='l'/></model>
  <model name='b'><pose relative_to='still'>0 1 0 0 0 0</pose><link name='l'/></model>
  <model name='c'><pose relative_to='along'>{b}</pose><link name='l'/></model>
</world></sdf>"
        )
    };
    let old = text("1 0 0 0 0 0", "0 0 0 0 0 0", "0 0 0 0 0 0");
    let new = text("-1 0 0 0 0 0", "2 0 0 0 0 0", "-2 0 0 0 0 0");
    assert_eq!(saved(&old, &moved("a", at(2.0, 0.0, 0.0))).unwrap().text, new);
}
