//! The typed model as SDF 1.11: includes replaced by what they bring, poses resolved.
//!
//! What is written is what this program reads. Frames keep their names and places; parameters of physics engines that
//! nothing here uses are left out.

mod out;
mod parts;
mod state;

use glamx::{DPose3, DVec3};

use self::out::Out;
use super::typed::{Frame, Joint, JointAxis, Light, LightKind, LinkRef, Model, Physics, Root, World};

/// The namespace of our own elements, such as `<tw:robot>`.
pub(super) const NAMESPACE: &str = "https://tickworks.dev/sdf";

/// A file's contents as SDF 1.11. Saved states are written as far as they are applied: see
/// [`crate::sdf::state::apply_all`].
pub fn resolved(root: &Root) -> String {
    let mut out = Out::new();
    out.open("sdf", &[("version", "1.11"), ("xmlns:tw", NAMESPACE)]);
    for found in &root.worlds {
        world(&mut out, found);
    }
    if let Some(found) = &root.model {
        model(&mut out, found);
    }
    if let Some(found) = &root.light {
        light(&mut out, found, &found.world_pose);
    }
    if let Some(actor) = &root.actor {
        out.actor(actor);
    }
    out.close("sdf");
    out.finish()
}

fn world(out: &mut Out, world: &World) {
    out.open("world", &[("name", &world.name)]);
    world.physics_profiles.iter().enumerate().for_each(|(i, p)| physics(out, p, i == world.default_physics));
    out.vector("gravity", world.gravity);
    out.vector("magnetic_field", world.magnetic_field);
    if world.wind != DVec3::ZERO {
        out.open("wind", &[]);
        out.vector("linear_velocity", world.wind);
        out.close("wind");
    }
    out.open("atmosphere", &[("type", "adiabatic")]);
    out.number("temperature", world.atmosphere.temperature);
    out.number("pressure", world.atmosphere.pressure);
    out.number("temperature_gradient", world.atmosphere.temperature_gradient);
    out.close("atmosphere");
    out.open("scene", &[]);
    out.numbers("ambient", &world.scene.ambient);
    out.numbers("background", &world.scene.background);
    out.flag("shadows", world.scene.shadows);
    out.flag("grid", world.scene.grid);
    world.scene.sky.iter().chain(&world.scene.fog).for_each(|element| out.element(element));
    out.close("scene");
    if let Some(place) = &world.spherical_coordinates {
        out.open("spherical_coordinates", &[]);
        out.text("surface_model", &place.surface_model);
        out.text("world_frame_orientation", &place.world_frame_orientation);
        out.number("latitude_deg", place.latitude_deg);
        out.number("longitude_deg", place.longitude_deg);
        out.number("elevation", place.elevation);
        out.number("heading_deg", place.heading_deg);
        out.close("spherical_coordinates");
    }
    if let Some(gui) = &world.gui {
        out.element(gui);
    }
    world.plugins.iter().for_each(|p| out.element(&p.element));
    world.lights.iter().for_each(|l| light(out, l, &l.world_pose));
    world.frames.iter().for_each(|f| frame(out, f));
    world.models.iter().for_each(|m| model(out, m));
    world.joints.iter().for_each(|j| joint(out, j));
    world.actors.iter().for_each(|a| out.actor(a));
    for road in &world.roads {
        out.open("road", &[("name", &road.name)]);
        out.number("width", road.width);
        road.points.iter().for_each(|p| out.vector("point", *p));
        road.material.iter().for_each(|m| out.element(m));
        out.close("road");
    }
    world.other.iter().for_each(|element| out.element(element));
    state::started(out, world);
    out.close("world");
}

fn physics(out: &mut Out, physics: &Physics, default: bool) {
    let mut attributes = vec![("name", physics.name.as_str()), ("type", physics.engine.as_str())];
    if default {
        attributes.push(("default", "true"));
    }
    out.open("physics", &attributes);
    out.number("max_step_size", physics.max_step_size);
    out.number("real_time_factor", physics.real_time_factor);
    out.number("real_time_update_rate", physics.real_time_update_rate);
    out.text("max_contacts", &physics.max_contacts.to_string());
    if let (Some(iterations), "ode" | "bullet") = (physics.iterations, physics.engine.as_str()) {
        out.open(&physics.engine, &[]);
        out.open("solver", &[]);
        out.text("iters", &iterations.to_string());
        out.close("solver");
        out.close(&physics.engine);
    }
    out.close("physics");
}

fn model(out: &mut Out, found: &Model) {
    let mut attributes = vec![("name", found.name.as_str())];
    if !found.resolved_canonical_link.is_empty() {
        attributes.push(("canonical_link", &found.resolved_canonical_link));
    }
    out.open("model", &attributes);
    out.pose(&found.pose_in_parent);
    for (name, on, default) in [
        ("static", found.is_static, false),
        ("self_collide", found.self_collide, false),
        ("allow_auto_disable", found.allow_auto_disable, true),
    ] {
        if on != default {
            out.flag(name, on);
        }
    }
    found.robot.iter().for_each(|r| out.element(&r.element));
    found.links.iter().for_each(|l| parts::link(out, l));
    found.frames.iter().for_each(|f| frame(out, f));
    found.models.iter().for_each(|m| model(out, m));
    found.joints.iter().for_each(|j| joint(out, j));
    found.plugins.iter().for_each(|p| out.element(&p.element));
    found.grippers.iter().for_each(|g| out.element(g));
    out.close("model");
}

fn frame(out: &mut Out, frame: &Frame) {
    let mut attributes = vec![("name", frame.name.as_str())];
    if !matches!(frame.attached_link.as_str(), "" | "world") {
        attributes.push(("attached_to", &frame.attached_link));
    }
    out.open("frame", &attributes);
    let relative_to = if attributes.len() > 1 { "__model__" } else { "" };
    // In a world there is no __model__; its frames are placed in the world itself.
    let relative_to = if frame.in_world && !relative_to.is_empty() { "world" } else { relative_to };
    out.pose_in(&frame.pose_in_parent, relative_to);
    out.close("frame");
}

fn joint(out: &mut Out, joint: &Joint) {
    let (LinkRef::World | LinkRef::Link(_), LinkRef::Link(_)) = (&joint.parent_link, &joint.child_link) else { return };
    out.open("joint", &[("name", &joint.name), ("type", joint.kind.name())]);
    if joint.parent_link == joint.child_link {
        // Two frames of one link may be joined, a link and itself may not.
        out.pose_in(&joint.pose_in_child, joint.child_link.name());
        out.text("parent", &joint.parent);
        out.text("child", &joint.child);
    } else {
        out.pose(&joint.pose_in_child);
        out.text("parent", joint.parent_link.name());
        out.text("child", joint.child_link.name());
    }
    for (name, axis) in ["axis", "axis2"].iter().zip(&joint.axes) {
        axis_of(out, name, axis);
    }
    match joint.kind {
        super::JointKind::Screw => out.number("screw_thread_pitch", joint.thread_pitch),
        super::JointKind::Gearbox => {
            out.number("gearbox_ratio", joint.gearbox_ratio);
            out.text("gearbox_reference_body", &joint.gearbox_reference_body);
        }
        _ => {}
    }
    if joint.provide_feedback {
        out.open("physics", &[]);
        out.flag("provide_feedback", true);
        out.close("physics");
    }
    joint.sensors.iter().for_each(|s| out.element_at(&s.element, &s.pose_in_parent));
    out.close("joint");
}

fn axis_of(out: &mut Out, name: &str, axis: &JointAxis) {
    out.open(name, &[]);
    out.vector("xyz", axis.xyz_in_joint);
    out.open("limit", &[]);
    out.numbers("lower", &axis.limits_written[..1]);
    out.numbers("upper", &axis.limits_written[1..]);
    for (name, bound) in [("effort", axis.limits.effort), ("velocity", axis.limits.velocity)] {
        if bound.is_finite() {
            out.number(name, bound);
        }
    }
    out.number("stiffness", axis.limits.stiffness);
    out.number("dissipation", axis.limits.dissipation);
    out.close("limit");
    out.open("dynamics", &[]);
    out.number("damping", axis.dynamics.damping);
    out.number("friction", axis.dynamics.friction);
    out.number("spring_reference", axis.dynamics.spring_reference);
    out.number("spring_stiffness", axis.dynamics.spring_stiffness);
    out.close("dynamics");
    if let Some(mimic) = &axis.mimic {
        out.open("mimic", &[("joint", &mimic.joint), ("axis", &mimic.axis)]);
        out.number("multiplier", mimic.multiplier);
        out.number("offset", mimic.offset);
        out.number("reference", mimic.reference);
        out.close("mimic");
    }
    out.close(name);
}

fn light(out: &mut Out, light: &Light, pose: &DPose3) {
    let kind = match light.kind {
        LightKind::Point => "point",
        LightKind::Spot => "spot",
        LightKind::Directional => "directional",
    };
    out.open("light", &[("name", &light.name), ("type", kind)]);
    out.pose(pose);
    out.flag("cast_shadows", light.cast_shadows);
    out.flag("light_on", light.on);
    out.number("intensity", light.intensity);
    out.numbers("diffuse", &light.diffuse);
    out.numbers("specular", &light.specular);
    out.open("attenuation", &[]);
    out.number("range", light.range);
    for (name, factor) in ["constant", "linear", "quadratic"].iter().zip(light.attenuation) {
        out.number(name, factor);
    }
    out.close("attenuation");
    out.vector("direction", light.direction);
    if light.kind == LightKind::Spot {
        out.open("spot", &[]);
        for (name, value) in ["inner_angle", "outer_angle", "falloff"].iter().zip(light.spot) {
            out.number(name, value);
        }
        out.close("spot");
    }
    out.close("light");
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use crate::sdf::{LoadOptions, Source, load, load_source, report};

    /// What may differ: poses as they were written, and where a model came from.
    fn comparable(mut document: serde_json::Value) -> serde_json::Value {
        fn strip(value: &mut serde_json::Value) {
            match value {
                serde_json::Value::Object(map) => {
                    for key in ["raw_pose", "uri", "version", "attached_to", "parent", "child", "errors", "warnings"] {
                        map.remove(key);
                    }
                    map.values_mut().for_each(strip);
                }
                serde_json::Value::Array(list) => list.iter_mut().for_each(strip),
                serde_json::Value::Number(n) => {
                    *value = ((n.as_f64().unwrap_or(0.0).clamp(-1e9, 1e9) * 1e6).round() / 1e6 + 0.0).into();
                }
                _ => {}
            }
        }
        strip(&mut document);
        document
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let models = vec![PathBuf::from("tests/sdf/models")];
        let options = LoadOptions { model_paths: models, ..LoadOptions::default() };
        for entry in std::fs::read_dir("tests/sdf/good").unwrap() {
            let path = entry.unwrap().path();
            if !path.extension().is_some_and(|e| e == "sdf" || e == "urdf") {
                continue;
            }
            let first = load(&path, &options);
            let text = super::resolved(&first.root);
            let second = load_source(&Source::new(Path::new("tests/sdf/good/out.sdf"), text.clone()), &options);
            assert!(!second.has_errors(), "{}\n{text}\n{:?}", path.display(), second.diagnostics);
            assert_eq!(
                comparable(report::json(&first)),
                comparable(report::json(&second)),
                "{}\n{text}",
                path.display()
            );
        }
    }

    /// Loads a text, writes it as `convert` does, and reads that again; gives it with the text that was written.
    fn again(text: &str) -> (crate::sdf::Loaded, String) {
        let options = LoadOptions { model_paths: vec![PathBuf::from("tests/sdf/models")], ..LoadOptions::default() };
        let mut first = load_source(&Source::new(Path::new("tests/sdf/good/in.sdf"), text), &options);
        assert!(!first.has_errors(), "{:?}", first.diagnostics);
        crate::sdf::state::apply_all(&mut first.root);
        let written = super::resolved(&first.root);
        let second = load_source(&Source::new(Path::new("tests/sdf/good/out.sdf"), written.clone()), &options);
        assert!(!second.has_errors(), "{written}\n{:?}", second.diagnostics);
        (second, written)
    }

    #[test]
    fn a_world_is_written_as_its_state_has_it() {
        let (read, written) = again(
            "<sdf version='1.9'><world name='w'>
               <model name='arm'><link name='a'/><link name='b'><pose>1 0 0 0 0 0</pose></link>
                 <joint name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint></model>
               <model name='box'><link name='l'/><model name='in'><pose>0 0 1 0 0 0</pose><link name='l'/></model></model>
               <model name='gone'><link name='l'/></model>
               <joint name='to_gone' type='fixed'><parent>box</parent><child>gone</child></joint>
               <state world_name='w'><deletions><name>gone</name></deletions>
                 <model name='box'><pose>5 0 0 0 0 0</pose><model name='in'><pose>9 0 0 0 0 0</pose></model></model>
                 <model name='arm'><pose>0 2 0 0 0 0</pose><joint name='j'><angle axis='0'>0.5</angle></joint></model>
               </state></world></sdf>",
        );
        let world = &read.root.worlds[0];
        let names: Vec<&str> = world.models.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["arm", "box"], "{written}");
        assert!(world.joints.is_empty(), "{written}");
        assert_eq!(world.models[1].world_pose.translation.x, 5.0, "{written}");
        assert_eq!(world.models[1].models[0].world_pose.translation.x, 9.0, "{written}");
        let mut world = world.clone();
        assert!(crate::sdf::state::apply(&mut world).is_empty(), "{written}");
        let arm = &world.models[0];
        assert_eq!((arm.world_pose.translation.y, arm.joints[0].axes[0].position), (2.0, 0.5), "{written}");
        let start = arm.links[1].start_pose.unwrap();
        assert!((start.rotation.to_scaled_axis().z - 0.5).abs() < 1e-9, "{written}");
    }

    #[test]
    fn a_joint_of_two_frames_of_one_link_stays_one() {
        let (read, written) = again(
            "<sdf version='1.11'><model name='m'><link name='l'/><frame name='f' attached_to='l'/><frame name='g' attached_to='l'>
               <pose>1 0 0 0 0 0</pose></frame>
               <joint name='j' type='fixed'><parent>f</parent><child>g</child></joint></model></sdf>",
        );
        let joint = &read.root.model.unwrap().joints[0];
        assert_eq!((joint.parent.as_str(), joint.child.as_str()), ("f", "g"), "{written}");
        assert_eq!(joint.pose_in_model.translation.x, 1.0, "{written}");
    }

    #[test]
    fn line_ends_in_attributes_stay_line_ends() {
        let (read, written) = again("<sdf version='1.11'><model name='a&#10;b'><link name='l'/></model></sdf>");
        assert_eq!(read.root.model.unwrap().name, "a\nb", "{written}");
    }

    #[test]
    fn an_actor_has_the_name_that_its_include_gives_it() {
        let (read, written) = again(
            "<sdf version='1.11'><world name='w'>
               <include><name>bob</name><uri>../models/walker.sdf</uri><plugin name='p' filename='gz-p'/></include>
               <include><name>eve</name><uri>../models/walker.sdf</uri></include></world></sdf>",
        );
        let actors = &read.root.worlds[0].actors;
        let found: Vec<_> = actors.iter().map(|a| (a.name.as_str(), a.plugins.len())).collect();
        assert_eq!(found, [("bob", 1), ("eve", 0)], "{written}");
    }
}
