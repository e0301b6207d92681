//! A saved state, applied to the world that it belongs to.
//!
//! Models move as a whole; within one, links get a start pose beside the pose that they have with all joints at 0, from
//! which the frames of joints are made.

use std::collections::{HashMap, HashSet};
use std::f64::consts::TAU;

use glamx::{DPose3, DQuat};

use super::diagnostic::{Code, Diagnostic};
use super::typed::{JointKind, JointState, Link, LinkRef, Model, ModelState, Root, World};

/// Joints of one model that are moved by a state: moving one goes through all others.
pub(super) const MAX_JOINTS: usize = 1000;

/// Puts models, links, joints and lights of `world` where its last `<state>` has them. Says what the state has and the
/// world has not.
pub fn apply(world: &mut World) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let fits = |name: &str| name.is_empty() || name == world.name;
    let Some(state) = world.states.iter().rev().find(|s| fits(&s.world_name)).cloned() else {
        for state in &world.states {
            let message =
                format!("the state of world {} is not applied: this world is {}", state.world_name, world.name);
            found.push(Diagnostic::warning(Code::ElementUnread, message).at(state.span.clone()));
        }
        return found;
    };
    if !state.insertions.is_empty() {
        let message = format!("{} insertions of the state are not applied", state.insertions.len());
        found.push(Diagnostic::warning(Code::ElementUnread, message).at(state.span.clone()));
    }
    let gone: HashSet<&str> = state.deletions.iter().map(String::as_str).collect();
    for name in &state.deletions {
        if world.models.iter().all(|m| m.name != *name) && world.lights.iter().all(|l| l.name != *name) {
            let message = format!("the state deletes {name}, the world has no model or light of this name");
            found.push(Diagnostic::warning(Code::ElementMissing, message).at(state.span.clone()));
        }
    }
    world.models.retain(|m| !gone.contains(m.name.as_str()));
    world.lights.retain(|l| !gone.contains(l.name.as_str()));
    let places: HashMap<String, usize> = world.models.iter().enumerate().map(|(i, m)| (m.name.clone(), i)).collect();
    for saved in &state.models {
        match places.get(&saved.name).and_then(|place| world.models.get_mut(*place)) {
            Some(model) => _ = apply_model(model, saved, &mut found),
            None => {
                let message = format!("the state has a model {}, the world has none", saved.name);
                found.push(Diagnostic::warning(Code::ElementMissing, message).at(saved.span.clone()));
            }
        }
    }
    for saved in &state.lights {
        if let (Some(light), Some(pose)) = (world.lights.iter_mut().find(|l| l.name == saved.name), saved.pose) {
            light.world_pose = pose;
        }
    }
    found
}

/// Applies the states of all worlds to be written: poses in parents follow, and what hangs on a deleted model goes with it.
pub fn apply_all(root: &mut Root) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for world in root.worlds.iter_mut().filter(|world| !world.states.is_empty()) {
        found.extend(apply(world));
        for model in &mut world.models {
            put_in_parent(model, DPose3::IDENTITY);
        }
        let names: HashSet<&str> = world.models.iter().map(|m| m.name.as_str()).collect();
        let there = |link: &str| link.split_once("::").is_none_or(|(model, _)| names.contains(model));
        world.joints.retain(|j| there(j.parent_link.name()) && there(j.child_link.name()));
        world.frames.retain(|f| there(&f.attached_link));
    }
    found
}

/// Makes the pose of a model in its parent, and of those in it, follow from its pose in the world.
fn put_in_parent(model: &mut Model, parent: DPose3) {
    // One that was not moved keeps its numbers to the bit.
    if parent * model.pose_in_parent != model.world_pose {
        model.pose_in_parent = parent.inv_mul(&model.world_pose);
    }
    for inner in &mut model.models {
        put_in_parent(inner, model.world_pose);
    }
}

/// Returns whether the state places links of the model itself, or of models in it.
fn apply_model(model: &mut Model, saved: &ModelState, found: &mut Vec<Diagnostic>) -> bool {
    // Poses of a state are in the world, also those of models in models.
    if let Some(pose) = saved.pose {
        place(model, pose);
    }
    let mut placed = false;
    for nested in &saved.models {
        match model.models.iter_mut().find(|m| m.name == nested.name) {
            Some(inner) => placed |= apply_model(inner, nested, found),
            None => {
                let message = format!("the state has a model {}::{}, the world has none", saved.name, nested.name);
                found.push(Diagnostic::warning(Code::ElementMissing, message).at(nested.span.clone()));
            }
        }
    }
    for link in &saved.links {
        let Some(target) = model.links.iter_mut().find(|l| l.name == link.name) else {
            let message = format!("the state has a link {}::{}, the world has none", saved.name, link.name);
            found.push(Diagnostic::warning(Code::ElementMissing, message).at(saved.span.clone()));
            continue;
        };
        target.initial_velocity = link.velocity;
        if let Some(pose) = link.pose.filter(|pose| *pose != target.world_pose) {
            target.start_pose = Some(pose);
            placed = true;
        }
    }
    let known = saved.joints.len() <= MAX_JOINTS && model.joints.len() <= MAX_JOINTS;
    if !saved.joints.is_empty() && !known {
        let message = format!("the joint positions of model {} are not applied: it has too many joints", model.name);
        found.push(Diagnostic::warning(Code::Limit, message).at(saved.span.clone()));
        return placed;
    }
    for joint in &saved.joints {
        if model.joints.iter().all(|j| j.name != joint.name) {
            let message = format!("the state has a joint {}::{}, the world has none", saved.name, joint.name);
            found.push(Diagnostic::warning(Code::ElementMissing, message).at(saved.span.clone()));
        }
    }
    // In the order of the document, so that what the state's order is does not matter.
    for index in 0..model.joints.len() {
        let named = saved.joints.iter().find(|saved| saved.name == model.joints[index].name);
        if let Some(joint) = named {
            apply_joint(model, index, joint, placed);
        }
    }
    placed
}

/// Puts a model, and what is in it, at a pose in the world.
fn place(model: &mut Model, pose: DPose3) {
    model.world_pose = pose;
    for link in &mut model.links {
        link.world_pose = pose * link.pose_in_model;
    }
    for joint in &mut model.joints {
        joint.world_pose = pose * joint.pose_in_model;
    }
    for nested in &mut model.models {
        let inner = pose * nested.pose_in_parent;
        place(nested, inner);
    }
}

/// Moves the links behind a joint to its saved position, unless the state places links itself.
fn apply_joint(model: &mut Model, index: usize, saved: &JointState, links_are_placed: bool) {
    let mut motion = DPose3::IDENTITY;
    let (kind, pitch) = (model.joints[index].kind, model.joints[index].thread_pitch);
    for (axis, position) in model.joints[index].axes.iter_mut().zip(saved.positions) {
        let Some(position) = position.filter(|p| p.is_finite()) else { continue };
        axis.position = position;
        let turn = || DPose3::from_rotation(DQuat::from_axis_angle(axis.xyz_in_joint, position));
        motion *= match kind {
            JointKind::Prismatic => DPose3::from_translation(axis.xyz_in_joint * position),
            JointKind::Screw => DPose3::from_translation(axis.xyz_in_joint * (position * pitch / TAU)) * turn(),
            JointKind::Fixed | JointKind::Ball | JointKind::Gearbox => DPose3::IDENTITY,
            JointKind::Revolute | JointKind::Continuous | JointKind::Universal | JointKind::Revolute2 => turn(),
        };
    }
    if links_are_placed || motion == DPose3::IDENTITY {
        return;
    }
    let joint = &model.joints[index];
    let LinkRef::Link(child) = &joint.child_link else { return };
    let moved = behind(model, child);
    let Some(child) = link_at(model, child) else { return };
    let frame = start_of(child) * joint.pose_in_child;
    let step = frame * motion * frame.inverse();
    move_links(model, "", &moved, &step);
}

/// Where a link is so far.
fn start_of(link: &Link) -> DPose3 {
    link.start_pose.unwrap_or(link.world_pose)
}

/// A link by its name in a model's scope: `link`, or `model::link` in a nested one.
fn link_at<'a>(model: &'a Model, name: &str) -> Option<&'a Link> {
    match name.split_once("::") {
        Some((inner, rest)) => link_at(model.models.iter().find(|m| m.name == inner)?, rest),
        None => model.links.iter().find(|l| l.name == name),
    }
}

/// Moves the links of these names, also those in nested models.
fn move_links(model: &mut Model, scope: &str, names: &HashSet<String>, step: &DPose3) {
    for link in &mut model.links {
        if names.contains(&format!("{scope}{}", link.name)) {
            link.start_pose = Some(*step * start_of(link));
        }
    }
    for inner in &mut model.models {
        let scope = format!("{scope}{}::", inner.name);
        move_links(inner, &scope, names, step);
    }
}

/// The links that move with a link: those that joints lead to from it.
fn behind(model: &Model, child: &str) -> HashSet<String> {
    let mut edges: HashMap<String, Vec<String>> = HashMap::new();
    edges_of(model, "", &mut edges);
    let mut moved = HashSet::new();
    let mut open = vec![child.to_owned()];
    while let Some(link) = open.pop() {
        if moved.insert(link.clone()) {
            open.extend(edges.remove(&link).unwrap_or_default());
        }
    }
    moved
}

/// Parent and child of each joint, also of those in nested models.
fn edges_of(model: &Model, scope: &str, edges: &mut HashMap<String, Vec<String>>) {
    for joint in &model.joints {
        if let (LinkRef::Link(parent), LinkRef::Link(child)) = (&joint.parent_link, &joint.child_link) {
            edges.entry(format!("{scope}{parent}")).or_default().push(format!("{scope}{child}"));
        }
    }
    for inner in &model.models {
        edges_of(inner, &format!("{scope}{}::", inner.name), edges);
    }
}

#[cfg(test)]
mod tests {
    use glamx::DVec3;

    use crate::sdf::{LoadOptions, Source, load_source};

    const WORLD: &str = "<sdf version='1.9'><world name='w'>
        <model name='arm'><link name='base'/><link name='lower'><pose>0 0 1 0 0 0</pose></link>
          <link name='upper'><pose>1 0 1 0 0 0</pose></link>
          <joint name='a' type='revolute'><parent>base</parent><child>lower</child><axis><xyz>0 0 1</xyz></axis></joint>
          <joint name='b' type='prismatic'><parent>lower</parent><child>upper</child><axis><xyz>1 0 0</xyz></axis></joint>
        </model>
        <model name='box'><link name='l'><pose>0 0 0.5 0 0 0</pose></link></model>
        <state world_name='w'>
          <model name='box'><pose>5 0 0 0 0 0</pose></model>
          <model name='arm'><joint name='a'><angle axis='0'>1.5707963267948966</angle></joint>
            <joint name='b'><angle axis='0'>0.5</angle></joint></model>
          <model name='nobody'/>
        </state></world></sdf>";

    #[test]
    fn models_and_joints_are_where_the_state_has_them() {
        let loaded = load_source(&Source::new("s.sdf", WORLD), &LoadOptions::default());
        assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
        // What the file's models say is what is reported of it.
        assert_eq!(loaded.root.worlds[0].models[1].world_pose.translation, DVec3::ZERO);
        let mut world = loaded.into_world().unwrap();
        let found = super::apply(&mut world);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(world.models[1].links[0].world_pose.translation, DVec3::new(5.0, 0.0, 0.5));
        let upper = &world.models[0].links[2];
        let start = upper.start_pose.unwrap();
        assert!((start.translation - DVec3::new(0.0, 1.5, 1.0)).length() < 1e-12, "{upper:?}");
        assert_eq!(upper.pose_in_model.translation, DVec3::new(1.0, 0.0, 1.0));
        assert_eq!(world.models[0].joints[1].axes[0].position, 0.5);
    }
}
