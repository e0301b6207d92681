//! Models that come and go: the same future after a restore, a fresh world after a reset, nothing left behind.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::sync::Arc;

use tickworks::sdf::{self, LoadOptions, Source};
use tickworks::world::query::RayQuery;
use tickworks::world::{BuildOptions, ChangeError, World, WorldSpec};
use tickworks_plugin_api::abi::{NO_ENTITY, kind};

const HEAD: &str = "<sdf version='1.11' xmlns:tw='https://tickworks.dev/sdf'><world name='w'>\
    <physics name='p' type='x'><max_step_size>0.004</max_step_size></physics>";

fn document(models: &str) -> sdf::World {
    let text = format!("{HEAD}{models}</world></sdf>");
    let loaded = sdf::load_source(&Source::new("w.sdf", text), &LoadOptions::default());
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    loaded.into_world().unwrap()
}

fn ground() -> String {
    "<model name='ground'><static>true</static><link name='l'><collision name='c'><geometry><plane>\
     <normal>0 0 1</normal><size>100 100</size></plane></geometry></collision></link></model>"
        .to_owned()
}

fn block(name: &str, pose: &str) -> String {
    format!(
        "<model name='{name}'><pose>{pose}</pose><link name='l'><collision name='c'><geometry><box><size>0.4 0.4 0.4</size>\
         </box></geometry></collision></link></model>"
    )
}

fn uav(name: &str, pose: &str) -> String {
    format!(
        "<model name='{name}'><pose>{pose}</pose><tw:robot type='UAVLevel1' max_velocities='1 1 1 1 1 1'/><link name='l'>\
         <collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link></model>"
    )
}

/// An arm that is hinged to the world, and swings.
fn arm(name: &str, pose: &str) -> String {
    format!(
        "<model name='{name}'><pose>{pose}</pose><link name='l'><pose>0.5 0 0 0 0 0</pose><collision name='c'><geometry><box>\
         <size>0.8 0.1 0.1</size></box></geometry></collision></link><joint name='j' type='revolute'><pose>-0.5 0 0 0 0 0</pose>\
         <parent>world</parent><child>l</child><axis><xyz>0 1 0</xyz><dynamics><friction>0.2</friction></dynamics></axis></joint>\
         </model>"
    )
}

fn build(models: &str) -> World {
    World::build(&document(models), &BuildOptions::default()).unwrap().0
}

fn base() -> String {
    let stack: String =
        (0..4).map(|i| block(&format!("b{i}"), &format!("0 0 {} 0 0 0", 0.2 + 0.4 * f64::from(i)))).collect();
    [ground(), stack, uav("u0", "-1.5 0 1 0 0 0"), arm("a0", "3 0 2 0 0 0"), uav("u1", "0 9 9 0 0 0")].concat()
}

fn add(world: &mut World, model: &str) -> (u64, Arc<WorldSpec>) {
    let (id, spec, _) = world.add(&document(model)).unwrap();
    (id, spec)
}

fn remove(world: &mut World, name: &str) {
    world.remove_model(world.find(kind::MODEL, name).unwrap()).unwrap();
}

fn run(world: &mut World, ticks: std::ops::Range<u64>) -> Vec<u64> {
    let hash = |tick: u64, world: &mut World| {
        for robot in world.robot_ids().collect::<Vec<_>>() {
            let side = if robot % 2 == 0 { -0.01 } else { 0.004 };
            world.set_control(robot, &[side * 0.3, 0.001, 0.02, 0.0, 0.0, 0.002 * (tick % 3) as f64]).unwrap();
        }
        world.physics_tick();
        world.state_hash()
    };
    ticks.map(|tick| hash(tick, world)).collect()
}

/// Comes and goes, and returns what is there besides the document in the end.
fn churn(world: &mut World) -> Vec<Arc<WorldSpec>> {
    run(world, 0..20);
    let (first, _) = add(world, &block("falls", "0.1 0.05 3 0.2 0 0"));
    run(world, 20..40);
    remove(world, "b2");
    let (_, swings) = add(world, &arm("a1", "-3 1 2 0 0 0"));
    let (_, flies) = add(world, &uav("u2", "-2.5 0.1 1 0 0 0"));
    run(world, 40..50);
    remove(world, "u0");
    world.remove_model(first).unwrap();
    let (_, again) = add(world, &block("falls", "0.1 0 2.5 0 0.3 0"));
    run(world, 50..60);
    add(world, &uav("gone", "-2.5 0.3 1.2 0 0 0"));
    run(world, 60..65);
    remove(world, "gone");
    vec![swings, flies, again]
}

#[test]
fn i5_what_has_come_and_gone_is_in_a_snapshot() {
    for more in [0, 1, 30] {
        let mut world = build(&base());
        let specs = churn(&mut world);
        run(&mut world, 65..65 + more);
        let snapshot = world.snapshot();
        let document = build(&base());
        let mut own = build(&base());
        assert_eq!(own.restore(&snapshot).unwrap_err().field, "models");
        let structure = document.structure_of(&snapshot).unwrap();
        assert_eq!(structure.removed, ["b2", "u0"]);
        let mut fresh = document.restructured(&structure, &specs).unwrap();
        fresh.restore(&snapshot).unwrap();
        let (a, b) = (run(&mut world, 65 + more..300), run(&mut fresh, 65 + more..300));
        assert_eq!(a.iter().zip(&b).position(|(a, b)| a != b), None, "{more} ticks after the last change");
        let names = |world: &World| world.names(kind::MODEL).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names(&world), names(&fresh));
        assert_eq!(world.robots(), fresh.robots());
        assert_eq!(world.bodies(), fresh.bodies());
    }
}

#[test]
fn i5_a_structure_takes_only_what_it_was_made_of() {
    let mut world = build(&base());
    let mut specs = churn(&mut world);
    let (structure, document) = (world.structure(), build(&base()));
    specs.swap(0, 2);
    let error = document.restructured(&structure, &specs).err().unwrap();
    assert!(error.message.contains("'a1' is not what it was"), "{error}");
    assert!(document.restructured(&structure, &specs[..1]).is_err());
    assert!(build(&ground()).restructured(&structure, &specs).is_err());
}

#[test]
fn a_reset_takes_back_what_has_come_and_gone() {
    let fresh = run(&mut build(&base()), 0..120);
    let mut world = build(&base());
    for _ in 0..3 {
        churn(&mut world);
        world.reset();
        assert!(!world.is_changed());
        assert_eq!(run(&mut world, 0..120), fresh);
        world.reset();
    }
    assert_eq!(world.robots().ids, [0, 1]);
}

#[test]
fn one_model_is_reset_without_the_others() {
    let mut world = build(&base());
    let before: Vec<_> = ["b3", "u0", "a0", "b0"].map(|n| world.pose(world.find(kind::MODEL, n).unwrap())).into();
    run(&mut world, 0..90);
    let id = |world: &World, name: &str| world.find(kind::MODEL, name).unwrap();
    let still = world.pose(id(&world, "b0"));
    assert!(world.joint("a0::j").unwrap().positions[0].abs() > 0.1);
    for (n, name) in ["b3", "u0", "a0"].into_iter().enumerate() {
        assert_ne!(world.pose(id(&world, name)), before[n], "{name} has moved");
        world.reset_model(id(&world, name)).unwrap();
        assert_eq!(world.pose(id(&world, name)), before[n], "{name}");
    }
    assert!(world.joint("a0::j").unwrap().positions[0].abs() < 1e-6);
    assert_eq!(world.pose(id(&world, "b0")), still);
    assert!(world.reset_model(7).is_err());
}

#[test]
fn i3_ids_are_never_given_again() {
    let mut world = build(&base());
    let (first, _) = add(&mut world, &uav("x", "5 5 5 0 0 0"));
    let robot = world.robots().ids[2];
    let removed = world.remove_model(first).unwrap();
    assert_eq!((removed.models, removed.robots), (vec!["x".to_owned()], vec![robot]));
    let (second, _) = add(&mut world, &uav("x", "5 5 5 0 0 0"));
    assert_ne!(first, second);
    assert_eq!(world.robots().ids, [0, 1, 3]);
    assert!(world.robot_info(robot).is_none() && world.name(first).is_none() && world.pose(first).is_none());
    assert_eq!(world.remove_model(first), Err(ChangeError::Unknown(first)));
    assert_eq!(world.robot_info(3).unwrap().name, "x");
    assert!(world.set_control(robot, &[0.0; 6]).is_err());
}

#[test]
fn i6_rays_meet_what_has_come_and_nothing_that_has_gone() {
    let mut world = build(&ground());
    let height = |world: &World| {
        let ray =
            RayQuery { origin: [0.0, 0.0, 50.0], direction: [0.0, 0.0, -1.0], max_distance: 100.0, ignore: NO_ENTITY };
        50.0 - world.ray_cast(&ray).unwrap().unwrap().distance
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-4, "{a} {b}");
    near(height(&world), 0.0);
    add(&mut world, &block("box", "0 0 5 0 0 0"));
    near(height(&world), 5.2);
    add(&mut world, &uav("uav", "0 0 9 0 0 0"));
    near(height(&world), 9.2);
    remove(&mut world, "uav");
    near(height(&world), 5.2);
    remove(&mut world, "box");
    near(height(&world), 0.0);
    add(&mut world, &block("box", "0 0 3 0 0 0"));
    near(height(&world), 3.2);
    world.physics_tick();
    remove(&mut world, "box");
    near(height(&world), 0.0);
    world.physics_tick();
    near(height(&world), 0.0);
}

#[test]
fn what_rested_on_a_removed_model_falls() {
    let mut world = build(&[ground(), block("low", "0 0 0.2 0 0 0"), block("high", "0 0 0.6 0 0 0")].concat());
    (0..300).for_each(|_| world.physics_tick());
    remove(&mut world, "low");
    (0..120).for_each(|_| world.physics_tick());
    let high = world.pose(world.find(kind::MODEL, "high").unwrap()).unwrap();
    assert!((high[2] - 0.2).abs() < 0.01, "{high:?}");
}

#[test]
fn what_cannot_come_or_go_changes_nothing() {
    let pair = "<model name='pair'><link name='l'/><model name='inner'><link name='l'/></model>\
        <joint name='j' type='fixed'><parent>l</parent><child>inner::l</child></joint></model>\
        <model name='other'><pose>0 0 5 0 0 0</pose><link name='l'/></model>\
        <joint name='bolt' type='fixed'><parent>pair::l</parent><child>other::l</child></joint>";
    let mut world = build(&[ground().as_str(), pair].concat());
    let before = world.snapshot();
    let id = |world: &World, name: &str| world.find(kind::MODEL, name).unwrap();
    let error = world.remove_model(id(&world, "pair::inner")).unwrap_err();
    assert_eq!(error.to_string(), "'pair::inner' is a part of the model 'pair', and goes only with it");
    let error = world.remove_model(id(&world, "other")).unwrap_err();
    assert_eq!(error.to_string(), "'other' is fixed to the model 'pair', and cannot go without it");
    let error = world.add(&document(&block("pair", "0 0 1 0 0 0"))).unwrap_err();
    assert!(error[0].to_string().contains("there is a model 'pair' already"), "{error:?}");
    let bad = "<model name='far'><pose>1e12 0 0 0 0 0</pose><link name='l'/></model>";
    assert!(world.add(&document(bad)).is_err());
    assert!(world.remove_model(0).is_err() && world.remove_model(u64::MAX).is_err());
    assert!(world.snapshot() == before && !world.is_changed());
}
