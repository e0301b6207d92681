//! The frames of a file as a tree of text and as a graph for Graphviz.

use std::fmt::Write as _;

use glamx::DPose3;

use super::typed::{Joint, Link, Model, Root, World};
use super::value::roll_pitch_yaw;

/// The frames of a file, one in a line, each under the scope that it is in, with its pose there and what it is
/// relative or attached to.
pub fn text(root: &Root) -> String {
    let mut out = String::new();
    for world in &root.worlds {
        world_text(&mut out, world);
    }
    if let Some(model) = &root.model {
        model_text(&mut out, model, 0);
    }
    out
}

fn world_text(out: &mut String, world: &World) {
    let _ = writeln!(out, "world {}", world.name);
    for frame in &world.frames {
        line(out, 1, "frame", &frame.name, &frame.pose_in_parent, &frame.pose.relative_to, &frame.attached_link);
    }
    for joint in &world.joints {
        joint_text(out, joint, 1);
    }
    for model in &world.models {
        model_text(out, model, 1);
    }
    for light in &world.lights {
        line(out, 1, "light", &light.name, &light.world_pose, &light.pose.relative_to, "");
    }
}

fn model_text(out: &mut String, model: &Model, depth: usize) {
    let attached = &model.resolved_canonical_link;
    line(out, depth, "model", &model.name, &model.pose_in_parent, &model.pose.relative_to, attached);
    for Link { name, pose, pose_in_model, .. } in &model.links {
        line(out, depth + 1, "link", name, pose_in_model, &pose.relative_to, "");
    }
    for joint in &model.joints {
        joint_text(out, joint, depth + 1);
    }
    for frame in &model.frames {
        let attached = &frame.attached_link;
        line(out, depth + 1, "frame", &frame.name, &frame.pose_in_parent, &frame.pose.relative_to, attached);
    }
    for nested in &model.models {
        model_text(out, nested, depth + 1);
    }
}

fn joint_text(out: &mut String, joint: &Joint, depth: usize) {
    let relative_to = if joint.pose.relative_to.is_empty() { &joint.child } else { &joint.pose.relative_to };
    let ends = format!("{} -> {}", joint.parent_link.name(), joint.child_link.name());
    line(out, depth, joint.kind.name(), &joint.name, &joint.pose_in_model, relative_to, &ends);
}

fn line(out: &mut String, depth: usize, kind: &str, name: &str, pose: &DPose3, relative_to: &str, attached: &str) {
    let _ = write!(out, "{:indent$}{kind} {name}  [{}]", "", shown(pose), indent = depth * 2);
    if !relative_to.is_empty() {
        let _ = write!(out, "  relative to {relative_to}");
    }
    if !attached.is_empty() {
        let _ = write!(out, "  on {attached}");
    }
    out.push('\n');
}

/// A pose to six digits: position (m), then roll, pitch and yaw (rad).
fn shown(pose: &DPose3) -> String {
    let rotation = roll_pitch_yaw(pose.rotation);
    let numbers = pose.translation.to_array().into_iter().chain(rotation);
    numbers.map(|n| format!("{}", (n * 1e6).round() / 1e6 + 0.0)).collect::<Vec<_>>().join(" ")
}

/// The frames of a file as a Graphviz digraph: a solid arrow from each frame to the one that its pose is relative to,
/// a dashed one from each joint's parent to its child.
pub fn dot(root: &Root) -> String {
    let mut out = String::from("digraph frames {\n  rankdir=RL;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for world in &root.worlds {
        let scope = format!("{}|", world.name);
        node(&mut out, &scope, &world.name, "world");
        for frame in &world.frames {
            let base = first([&frame.pose.relative_to, &frame.attached_to]);
            edge(&mut out, &scope, &frame.name, base, "frame");
        }
        for model in &world.models {
            edge(&mut out, &scope, &model.name, &model.pose.relative_to, "model");
            model_dot(&mut out, &format!("{scope}{}::", model.name), model);
        }
        world.joints.iter().for_each(|joint| joint_dot(&mut out, &scope, joint));
    }
    if let Some(model) = &root.model {
        node(&mut out, &format!("{}::", model.name), &model.name, "model");
        model_dot(&mut out, &format!("{}::", model.name), model);
    }
    out.push_str("}\n");
    out
}

fn model_dot(out: &mut String, scope: &str, model: &Model) {
    for link in &model.links {
        edge(out, scope, &link.name, &link.pose.relative_to, "link");
    }
    for frame in &model.frames {
        edge(out, scope, &frame.name, first([&frame.pose.relative_to, &frame.attached_to]), "frame");
    }
    for joint in &model.joints {
        edge(out, scope, &joint.name, first([&joint.pose.relative_to, &joint.child]), joint.kind.name());
        joint_dot(out, scope, joint);
    }
    for nested in &model.models {
        edge(out, scope, &nested.name, &nested.pose.relative_to, "model");
        model_dot(out, &format!("{scope}{}::", nested.name), nested);
    }
}

fn joint_dot(out: &mut String, scope: &str, joint: &Joint) {
    let (parent, child) = (joint.parent_link.name(), joint.child_link.name());
    if parent.is_empty() || child.is_empty() {
        return;
    }
    let parent = if parent == "world" { "world".to_owned() } else { format!("{scope}{parent}") };
    let label = escape(&joint.name);
    let _ = writeln!(
        out,
        "  \"{}\" -> \"{}\" [style=dashed, label=\"{label}\"];",
        escape(&parent),
        escape(&format!("{scope}{child}"))
    );
}

fn first<const N: usize>(names: [&String; N]) -> &str {
    names.into_iter().find(|name| !name.is_empty()).map_or("", String::as_str)
}

fn node(out: &mut String, id: &str, name: &str, kind: &str) {
    let _ = writeln!(out, "  \"{}\" [label=\"{kind} {}\"];", escape(id.trim_end_matches("::")), escape(name));
}

/// A frame, and the arrow to what its pose is relative to; an empty name for the scope's own frame.
fn edge(out: &mut String, scope: &str, name: &str, base: &str, kind: &str) {
    let id = format!("{scope}{name}");
    node(out, &id, name, kind);
    let own = matches!(base, "" | "__model__" | "world");
    let base = if own {
        scope.trim_end_matches("::").to_owned()
    } else {
        format!("{scope}{}", base.trim_end_matches("::__model__"))
    };
    let _ = writeln!(out, "  \"{}\" -> \"{}\";", escape(&id), escape(&base));
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use crate::sdf::{LoadOptions, Source, load_source};

    #[test]
    fn frames_are_shown_with_what_they_hang_on() {
        let text = "<sdf version='1.9'><world name='w'><frame name='f'><pose>0 0 1 0 0 0</pose></frame>
            <model name='m'><pose relative_to='f'>1 0 0 0 0 0</pose><link name='a'/><link name='b'/>
            <joint name='j' type='fixed'><parent>a</parent><child>b</child></joint></model></world></sdf>";
        let loaded = load_source(&Source::new("g.sdf", text), &LoadOptions::default());
        let lines = super::text(&loaded.root);
        assert_eq!(
            lines,
            "world w\n  frame f  [0 0 1 0 0 0]  on world\n  model m  [1 0 1 0 0 0]  relative to f  on a\n    link a  [0 0 0 0 0 0]\n    link b  [0 0 0 0 0 0]\n    fixed j  [0 0 0 0 0 0]  relative to b  on a -> b\n"
        );
        let dot = super::dot(&loaded.root);
        assert!(dot.contains("\"w|m\" -> \"w|f\";"), "{dot}");
        assert!(dot.contains("\"w|m::a\" -> \"w|m::b\" [style=dashed, label=\"j\"];"), "{dot}");
        assert!(dot.contains("\"w|m::a\" -> \"w|m\";"), "{dot}");
    }
}
