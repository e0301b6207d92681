//! What moves slowly moves on: only what rests may rest.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use tickworks::sdf::{self, LoadOptions, Source};
use tickworks::world::{BuildOptions, World};
use tickworks_plugin_api::abi::kind;

fn build(body: &str) -> World {
    let text = format!(
        "<sdf version='1.11'><world name='w'><physics name='p' type='x'><max_step_size>0.004</max_step_size></physics>{body}\
         </world></sdf>"
    );
    let loaded = sdf::load_source(&Source::new("test.sdf", text), &LoadOptions::default());
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let mut document = loaded.into_world().unwrap();
    sdf::state::apply(&mut document);
    World::build(&document, &BuildOptions::default()).unwrap().0
}

fn place(world: &World, link: &str) -> [f64; 3] {
    let pose = world.pose(world.find(kind::BODY, link).unwrap()).unwrap();
    [pose[0], pose[1], pose[2]]
}

fn run(world: &mut World, ticks: usize) {
    (0..ticks).for_each(|_| world.physics_tick());
}

/// A bob on a rod of 0.5 m that is turned `angle` out of the lowest place.
fn pendulum(angle: f64) -> World {
    build(&format!(
        "<model name='p'><pose>0 0 5 {angle} 0 0</pose><link name='bob'><pose>0 0 -0.5 0 0 0</pose><inertial><mass>1</mass><inertia>\
         <ixx>0.001</ixx><iyy>0.001</iyy><izz>0.001</izz></inertia></inertial></link><joint name='j' type='revolute'>\
         <pose>0 0 0.5 0 0 0</pose><parent>world</parent><child>bob</child><axis><xyz>1 0 0</xyz></axis></joint></model>"
    ))
}

#[test]
fn a_pendulum_that_swings_a_little_swings_on() {
    for angle in [0.02, 0.1] {
        let mut world = pendulum(angle);
        let mut last = Vec::new();
        for tick in 0..900 {
            run(&mut world, 1);
            if tick >= 700 {
                last.push(place(&world, "p::bob")[1]);
            }
        }
        let (least, most) = last.iter().fold((f64::MAX, f64::MIN), |(a, b), y| (a.min(*y), b.max(*y)));
        let swing = 0.5 * angle;
        assert!(most > 0.8 * swing && least < -0.8 * swing, "{angle}: {least} to {most}");
    }
}

#[test]
fn a_pendulum_that_stands_on_its_head_falls_over() {
    let mut world = pendulum(std::f64::consts::PI - 1e-3);
    run(&mut world, 240);
    assert!(place(&world, "p::bob")[1].abs() > 0.2, "{:?}", place(&world, "p::bob"));
}

#[test]
fn what_drifts_in_empty_space_drifts_on() {
    let mut world = build(
        "<gravity>0 0 0</gravity><model name='m'><link name='b'/></model><state world_name='w'><model name='m'><link name='b'>\
         <velocity>0.05 0 0 0 0 0</velocity></link></model></state>",
    );
    run(&mut world, 600);
    assert!((place(&world, "m::b")[0] - 0.5).abs() < 1e-3, "{:?}", place(&world, "m::b"));
}

#[test]
fn a_ball_rolls_down_a_gentle_slope() {
    let mut world = build(
        "<model name='slope'><static>true</static><pose>0 0 0 0 0.005 0</pose><link name='l'><collision name='c'><geometry><plane>\
         <normal>0 0 1</normal><size>1000 1000</size></plane></geometry></collision></link></model>\
         <model name='ball'><pose>0 0 0.1 0 0 0</pose><link name='b'><inertial auto='true'/><collision name='c'><geometry><sphere>\
         <radius>0.1</radius></sphere></geometry></collision></link></model>",
    );
    run(&mut world, 600);
    // a = 5/7 g sin(slope), over 10 s.
    let way = 0.5 * 5.0 / 7.0 * 9.8 * 0.005 * 100.0;
    assert!((place(&world, "ball::b")[0] - way).abs() < 0.1 * way, "{:?} of {way}", place(&world, "ball::b"));
}

#[test]
fn nothing_is_held_back_at_the_speed_of_a_bullet() {
    let mut world = build("<model name='m'><pose>0 0 0 0 0 0</pose><link name='b'/></model>");
    run(&mut world, 3600);
    let z = place(&world, "m::b")[2];
    assert!((z + 0.5 * 9.8 * 3600.0).abs() < 20.0, "{z}");
}

#[test]
fn what_rests_falls_asleep() {
    let mut world = build(
        "<model name='ground'><static>true</static><link name='l'><collision name='c'><geometry><plane><normal>0 0 1</normal>\
         <size>100 100</size></plane></geometry></collision></link></model><model name='box'><pose>0 0 0.2 0 0 0</pose>\
         <link name='b'><inertial auto='true'/><collision name='c'><geometry><box><size>0.4 0.4 0.4</size></box></geometry></collision>\
         </link></model><model name='top'><pose>0 0 0.6 0 0 0</pose><link name='b'><inertial auto='true'/><collision name='c'><geometry>\
         <box><size>0.4 0.4 0.4</size></box></geometry></collision></link></model>",
    );
    run(&mut world, 180);
    assert!(world.physics().at_rest(), "boxes on boxes cost nothing once they lie still");
}
