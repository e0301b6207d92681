//! The frames of a file as a tree of text and as a graph for Graphviz.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use glamx::DPose3;

use super::typed::{Joint, Model, Root, World};
use super::value::roll_pitch_yaw;

/// A frame of a file.
struct Frame {
    /// Scoped name, unique in the file.
    id: String,
    kind: &'static str,
    name: String,
    /// The frame that its pose is relative to; `None` for a world, or a model on its own.
    base: Option<String>,
    /// In the world, or in the model that the file is about.
    pose: DPose3,
    /// What it is fixed to, or what it joins.
    note: String,
    /// A joint's parent and child.
    ends: Option<(String, String)>,
}

/// Deeper than this nobody counts the blanks.
const MAX_INDENT: usize = 100;

/// The frames of a file, one in a line, each under the frame that its pose is relative to, with its pose there: position
/// (m), then roll, pitch and yaw (rad). Frames whose base is not known come last.
pub fn text(root: &Root) -> String {
    let frames = frames(root);
    let mut children: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (n, frame) in frames.iter().enumerate() {
        children.entry(frame.base.as_deref()).or_default().push(n);
    }
    let mut out = String::new();
    let mut printed = vec![false; frames.len()];
    // A stack instead of recursion: a file may chain frames as long as it likes.
    let mut open: Vec<(usize, usize)> = children.get(&None).into_iter().flatten().rev().map(|n| (*n, 0)).collect();
    let places: HashMap<&str, usize> = frames.iter().enumerate().map(|(n, frame)| (frame.id.as_str(), n)).collect();
    while let Some((n, depth)) = open.pop() {
        let frame = &frames[n];
        // Two frames of one name would else lead round in a circle.
        if std::mem::replace(&mut printed[n], true) {
            continue;
        }
        let base = frame.base.as_deref().and_then(|base| places.get(base)).map(|n| frames[*n].pose);
        let pose = base.map_or(frame.pose, |base| base.inv_mul(&frame.pose));
        let _ = write!(out, "{:indent$}{} {}", "", frame.kind, frame.name, indent = 2 * depth.min(MAX_INDENT));
        if frame.base.is_some() {
            let _ = write!(out, "  [{}]", shown(&pose));
        }
        let _ = writeln!(out, "{}{}", if frame.note.is_empty() { "" } else { "  " }, frame.note);
        open.extend(children.get(&Some(frame.id.as_str())).into_iter().flatten().rev().map(|n| (*n, depth + 1)));
    }
    for (frame, _) in frames.iter().zip(&printed).filter(|(_, printed)| !**printed) {
        let base = frame.base.as_deref().unwrap_or_default();
        let _ = writeln!(out, "{} {}  relative to {base}, which leads nowhere", frame.kind, frame.id);
    }
    out
}

/// The frames of a file as a Graphviz digraph: a solid arrow from each frame to the one that its pose is relative to,
/// a dashed one from each joint's parent to its child.
pub fn dot(root: &Root) -> String {
    let mut out = String::from("digraph frames {\n  rankdir=RL;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for frame in frames(root) {
        let id = escape(&frame.id);
        let _ = writeln!(out, "  \"{id}\" [label=\"{} {}\"];", frame.kind, escape(&frame.name));
        if let Some(base) = &frame.base {
            let _ = writeln!(out, "  \"{id}\" -> \"{}\";", escape(base));
        }
        if let Some((parent, child)) = &frame.ends {
            let label = escape(&frame.name);
            let _ =
                writeln!(out, "  \"{}\" -> \"{}\" [style=dashed, label=\"{label}\"];", escape(parent), escape(child));
        }
    }
    out.push_str("}\n");
    out
}

fn frames(root: &Root) -> Vec<Frame> {
    let mut out = Vec::new();
    for world in &root.worlds {
        out.push(own("world", &world.name, DPose3::IDENTITY));
        of_world(world, &mut out);
    }
    if let Some(model) = &root.model {
        out.push(own("model", &model.name, model.world_pose));
        of_model(model, &model.name, &mut out);
    }
    out
}

fn own(kind: &'static str, name: &str, pose: DPose3) -> Frame {
    Frame { id: name.to_owned(), kind, name: name.to_owned(), base: None, pose, note: String::new(), ends: None }
}

fn of_world(world: &World, out: &mut Vec<Frame>) {
    let scope = &world.name;
    for frame in &world.frames {
        let base = first([&frame.pose.relative_to, &frame.attached_to]);
        out.push(in_scope(scope, "frame", &frame.name, base, frame.pose_in_parent, on(&frame.attached_link)));
    }
    for joint in &world.joints {
        out.push(of_joint(scope, joint));
    }
    for model in &world.models {
        out.push(in_scope(scope, "model", &model.name, &model.pose.relative_to, model.world_pose, on_link(model)));
        of_model(model, &format!("{scope}::{}", model.name), out);
    }
    for light in &world.lights {
        out.push(in_scope(scope, "light", &light.name, &light.pose.relative_to, light.world_pose, String::new()));
    }
}

fn of_model(model: &Model, scope: &str, out: &mut Vec<Frame>) {
    for link in &model.links {
        out.push(in_scope(scope, "link", &link.name, &link.pose.relative_to, link.world_pose, String::new()));
    }
    for joint in &model.joints {
        out.push(of_joint(scope, joint));
    }
    for frame in &model.frames {
        let base = first([&frame.pose.relative_to, &frame.attached_to]);
        let pose = model.world_pose * frame.pose_in_parent;
        out.push(in_scope(scope, "frame", &frame.name, base, pose, on(&frame.attached_link)));
    }
    for nested in &model.models {
        out.push(in_scope(scope, "model", &nested.name, &nested.pose.relative_to, nested.world_pose, on_link(nested)));
        of_model(nested, &format!("{scope}::{}", nested.name), out);
    }
}

fn of_joint(scope: &str, joint: &Joint) -> Frame {
    let (parent, child) = (joint.parent_link.name(), joint.child_link.name());
    let base = first([&joint.pose.relative_to, &joint.child]);
    let note = format!("joins {parent} and {child}");
    let mut frame = in_scope(scope, joint.kind.name(), &joint.name, base, joint.world_pose, note);
    if !parent.is_empty() && !child.is_empty() {
        let end = |name: &str| if name == "world" { world_of(scope) } else { format!("{scope}::{name}") };
        frame.ends = Some((end(parent), end(child)));
    }
    frame
}

/// A frame in a scope; an empty name for the scope's own frame.
fn in_scope(scope: &str, kind: &'static str, name: &str, base: &str, pose: DPose3, note: String) -> Frame {
    let base = match base {
        "" | "__model__" => scope.to_owned(),
        "world" => world_of(scope),
        base => format!("{scope}::{}", base.trim_end_matches("::__model__")),
    };
    Frame { id: format!("{scope}::{name}"), kind, name: name.to_owned(), base: Some(base), pose, note, ends: None }
}

/// The outermost scope.
fn world_of(scope: &str) -> String {
    scope.split("::").next().unwrap_or(scope).to_owned()
}

fn on_link(model: &Model) -> String {
    on(&model.resolved_canonical_link)
}

fn on(attached: &str) -> String {
    if attached.is_empty() { String::new() } else { format!("on {attached}") }
}

fn first<const N: usize>(names: [&String; N]) -> &str {
    names.into_iter().find(|name| !name.is_empty()).map_or("", String::as_str)
}

/// A pose to six digits: position (m), then roll, pitch and yaw (rad).
fn shown(pose: &DPose3) -> String {
    let rotation = roll_pitch_yaw(pose.rotation);
    let numbers = pose.translation.to_array().into_iter().chain(rotation);
    numbers.map(|n| format!("{}", (n * 1e6).round() / 1e6 + 0.0)).collect::<Vec<_>>().join(" ")
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use crate::sdf::{LoadOptions, Source, load_source};

    #[test]
    fn frames_are_shown_under_what_they_hang_on() {
        let text = "<sdf version='1.9'><world name='w'><frame name='f'><pose>0 0 1 0 0 0</pose></frame>
            <model name='m'><pose relative_to='f'>1 0 0 0 0 0</pose><link name='a'/><link name='b'><pose relative_to='j'>0 2 0 0 0 0</pose></link>
            <joint name='j' type='fixed'><pose relative_to='a'>0 0 3 0 0 0</pose><parent>a</parent><child>b</child></joint></model></world></sdf>";
        let loaded = load_source(&Source::new("g.sdf", text), &LoadOptions::default());
        let lines = super::text(&loaded.root);
        let expected = "\
world w
  frame f  [0 0 1 0 0 0]  on world
    model m  [1 0 0 0 0 0]  on a
      link a  [0 0 0 0 0 0]
        fixed j  [0 0 3 0 0 0]  joins a and b
          link b  [0 2 0 0 0 0]
";
        assert_eq!(lines, expected);
        let dot = super::dot(&loaded.root);
        assert!(dot.contains("\"w::m\" -> \"w::f\";"), "{dot}");
        assert!(dot.contains("\"w::m::a\" -> \"w::m::b\" [style=dashed, label=\"j\"];"), "{dot}");
        assert!(dot.contains("\"w::m::a\" -> \"w::m\";"), "{dot}");
    }

    #[test]
    fn frames_of_one_name_and_long_chains_are_shown() {
        let twice = "<frame name='f'><pose relative_to='f'/></frame>".repeat(2);
        let mut chain = "<frame name='g0'/>".to_owned();
        (1..1000).for_each(|n| chain += &format!("<frame name='g{n}'><pose relative_to='g{}'/></frame>", n - 1));
        let text = format!("<sdf version='1.9'><world name='w'>{twice}{chain}</world></sdf>");
        let loaded = load_source(&Source::new("g.sdf", text), &LoadOptions::default());
        assert!(super::text(&loaded.root).lines().count() > 1000);
    }

    #[test]
    fn frames_that_hang_on_each_other_are_shown_too() {
        let text = "<sdf version='1.9'><world name='w'><frame name='f'><pose relative_to='g'/></frame>
            <frame name='g'><pose relative_to='f'/></frame></world></sdf>";
        let loaded = load_source(&Source::new("g.sdf", text), &LoadOptions::default());
        let lines = super::text(&loaded.root);
        assert!(lines.contains("frame w::f  relative to w::g, which leads nowhere"), "{lines}");
    }
}
