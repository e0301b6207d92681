//! Joints of all kinds, and where a saved state puts them.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use glamx::DVec3;
use tickworks::sdf::{self, LoadOptions, Source};
use tickworks::world::{BuildOptions, World};
use tickworks_plugin_api::abi::{Command, kind};

fn build(body: &str) -> (World, Vec<String>) {
    let text = format!(
        r#"<sdf version="1.11"><world name="w"><physics name="p" type="x"><max_step_size>0.001</max_step_size></physics>{body}</world></sdf>"#
    );
    let loaded = sdf::load_source(&Source::new("test.sdf", text), &LoadOptions::default());
    let errors: Vec<String> = loaded.errors().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut document = loaded.into_world().unwrap();
    let mut said = sdf::state::apply(&mut document);
    let (world, warnings) = World::build(&document, &BuildOptions::default()).unwrap();
    said.extend(warnings);
    (world, said.iter().map(ToString::to_string).collect())
}

fn run(world: &mut World, seconds: f64) {
    for _ in 0..(seconds * 60.0) as usize {
        world.physics_tick();
    }
    assert!(world.quarantined().is_empty());
}

fn position(world: &World, joint: &str) -> f64 {
    world.joint(joint).unwrap().positions[0]
}

fn place(world: &World, link: &str) -> DVec3 {
    let pose = world.pose(world.find(kind::BODY, link).unwrap()).unwrap();
    DVec3::new(pose[0], pose[1], pose[2])
}

/// An angular impulse on a link, N·m·s about the world's axes.
fn twist(world: &mut World, link: &str, about: DVec3) {
    let mut v = [0.0; 8];
    v[3..6].copy_from_slice(&about.to_array());
    let entity = world.find(kind::BODY, link).unwrap();
    world.apply(&Command { op: 3, count: 6, entity, v }).unwrap();
}

const BALL: &str = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>";

#[test]
fn a_screw_travels_as_it_turns() {
    let (mut world, said) = build(&format!(
        r#"<gravity>0 0 0</gravity><model name="m"><link name="nut">{BALL}</link>
           <joint name="j" type="screw"><parent>world</parent><child>nut</child><screw_thread_pitch>0.02</screw_thread_pitch>
             <axis><xyz>0 0 1</xyz></axis></joint></model>"#
    ));
    assert!(said.iter().any(|t| t.contains("m::j (screw)")), "{said:?}");
    twist(&mut world, "m::nut", DVec3::Z);
    run(&mut world, 2.0);
    let z = place(&world, "m::nut").z;
    let joint = world.joint("m::j").unwrap();
    // 10 rad/s for 2 s, 20 mm a turn: more than three turns, so that whole turns count.
    assert!((z - 20.0 / std::f64::consts::TAU * 0.02).abs() < 2e-3, "{z}");
    let turns = z / 0.02;
    let off = (turns - joint.positions[0] / std::f64::consts::TAU).rem_euclid(1.0);
    assert!(off.min(1.0 - off) < 0.01, "travel and turn agree: {turns} {joint:?}");
}

#[test]
fn a_screw_stops_at_the_turns_of_its_limit() {
    let (mut world, _) = build(&format!(
        r#"<gravity>0 0 0</gravity><model name="m"><link name="nut">{BALL}</link>
           <joint name="j" type="screw"><parent>world</parent><child>nut</child><screw_thread_pitch>0.1</screw_thread_pitch>
             <axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>12.566</upper></limit></axis></joint></model>"#
    ));
    twist(&mut world, "m::nut", DVec3::Z);
    run(&mut world, 4.0);
    let z = place(&world, "m::nut").z;
    assert!((0.19..0.21).contains(&z), "two turns of 0.1 m: {z}");
}

#[test]
fn a_universal_joint_turns_about_two_axes_and_not_about_the_third() {
    let (mut world, said) = build(&format!(
        r#"<gravity>0 0 0</gravity><model name="m"><link name="l">{BALL}</link>
           <joint name="j" type="universal"><parent>world</parent><child>l</child>
             <axis><xyz>1 0 0</xyz><limit><lower>-0.5</lower><upper>0.5</upper></limit></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model>"#
    ));
    assert!(said.iter().any(|t| t.contains("m::j (universal)") && t.contains("constant velocity")), "{said:?}");
    twist(&mut world, "m::l", DVec3::new(0.02, 0.05, 0.5));
    run(&mut world, 1.0);
    let joint = world.joint("m::j").unwrap();
    assert!((joint.positions[0] - 0.2).abs() < 0.03 && (joint.positions[1] - 0.5).abs() < 0.05, "{joint:?}");
    assert!(place(&world, "m::l").length() < 1e-3);
    run(&mut world, 4.0);
    assert!(position(&world, "m::j") < 0.52, "the limit of the first axis holds");
}

#[test]
fn a_mimic_follows_its_leader() {
    let (mut world, said) = build(&format!(
        r#"<gravity>0 0 0</gravity><model name="m"><link name="palm">{BALL}</link><link name="left"><pose>0 0.1 0 0 0 0</pose>{BALL}</link>
           <link name="right"><pose>0 -0.1 0 0 0 0</pose>{BALL}</link>
           <joint name="base" type="fixed"><parent>world</parent><child>palm</child></joint>
           <joint name="l" type="revolute"><parent>palm</parent><child>left</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint>
           <joint name="r" type="prismatic"><parent>palm</parent><child>right</child><axis><xyz>0 1 0</xyz>
             <mimic joint="l"><multiplier>-0.1</multiplier><offset>0.01</offset><reference>0.2</reference></mimic></axis></joint></model>"#
    ));
    assert!(said.iter().any(|t| t.contains("m::r follows joint l")), "{said:?}");
    run(&mut world, 0.5);
    assert!((position(&world, "m::r") - 0.03).abs() < 1e-3, "offset and reference: {}", position(&world, "m::r"));
    twist(&mut world, "m::left", DVec3::new(0.0, 0.0, 0.05));
    for _ in 0..10 {
        run(&mut world, 0.1);
        let (l, r) = (position(&world, "m::l"), position(&world, "m::r"));
        assert!((r - (-0.1 * (l - 0.2) + 0.01)).abs() < 1e-3, "{l} {r}");
    }
    assert!(position(&world, "m::l") > 0.3, "the leader moves");
}

#[test]
fn a_gearbox_holds_its_ratio_round_and_round() {
    let (mut world, said) = build(&format!(
        r#"<gravity>0 0 0</gravity><model name="m"><link name="frame">{BALL}</link><link name="a">{BALL}</link><link name="b"><pose>0.3 0 0 0 0 0</pose>{BALL}</link>
           <joint name="base" type="fixed"><parent>world</parent><child>frame</child></joint>
           <joint name="ja" type="revolute"><parent>frame</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
           <joint name="jb" type="revolute"><parent>frame</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
           <joint name="gear" type="gearbox"><parent>a</parent><child>b</child><gearbox_ratio>3</gearbox_ratio>
             <gearbox_reference_body>frame</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint></model>"#
    ));
    assert!(said.iter().any(|t| t.contains("m::jb follows joint m::ja")), "{said:?}");
    twist(&mut world, "m::a", DVec3::Z);
    for _ in 0..20 {
        run(&mut world, 0.1);
        let off = position(&world, "m::jb") + 3.0 * position(&world, "m::ja");
        let turns = off / std::f64::consts::TAU;
        assert!((turns - turns.round()).abs() < 0.02, "{turns}");
    }
    assert!((world.joint("m::jb").unwrap().velocities[0] + 30.0).abs() < 0.5, "{:?}", world.joint("m::jb"));
}

#[test]
fn joints_that_follow_each_other_and_brakes_that_push_are_said() {
    let axis = |leader: &str| {
        format!(
            "<axis><xyz>0 0 1</xyz><mimic joint='{leader}'><multiplier>2</multiplier></mimic><dynamics><damping>-5</damping></dynamics></axis>"
        )
    };
    let (mut world, said) = build(&format!(
        r#"<model name="m"><link name="a">{BALL}</link><link name="b">{BALL}</link><link name="c">{BALL}</link>
           <joint name="j" type="revolute"><parent>a</parent><child>b</child>{}</joint>
           <joint name="k" type="revolute"><parent>a</parent><child>c</child>{}</joint></model>"#,
        axis("k"),
        axis("j")
    ));
    assert!(said.iter().any(|t| t.contains("m::k follows no other: those that it would follow follow it")), "{said:?}");
    assert!(said.iter().any(|t| t.contains("m::j: its damping is -5.0, below 0")), "{said:?}");
    run(&mut world, 1.0);
}

#[test]
fn a_gearbox_without_its_joints_is_said() {
    let (_, said) = build(&format!(
        r#"<model name="m"><link name="frame">{BALL}</link><link name="a">{BALL}</link><link name="b">{BALL}</link>
           <joint name="gear" type="gearbox"><parent>a</parent><child>b</child><gearbox_ratio>3</gearbox_ratio>
             <gearbox_reference_body>frame</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint></model>"#
    ));
    assert!(said.iter().any(|t| t.contains("m::gear") && t.contains("no revolute joint joins m::a")), "{said:?}");
}

#[test]
fn dry_and_viscous_friction_brake_together() {
    let (mut world, _) = build(&format!(
        r#"<gravity>0 0 0</gravity><model name="m"><link name="wheel">{BALL}</link>
           <joint name="j" type="revolute"><parent>world</parent><child>wheel</child>
             <axis><xyz>0 0 1</xyz><dynamics><friction>0.05</friction><damping>0.02</damping></dynamics></axis></joint></model>"#
    ));
    twist(&mut world, "m::wheel", DVec3::Z);
    run(&mut world, 2.0);
    // I dw/dt = -(f + d w), from 10 rad/s.
    let (inertia, f, d) = (0.1, 0.05, 0.02_f64);
    let expected = (10.0 + f / d) * (-d / inertia * 2.0).exp() - f / d;
    let speed = world.joint("m::j").unwrap().velocities[0];
    assert!((speed - expected).abs() < 0.05, "{speed}, not {expected}");
    run(&mut world, 10.0);
    assert!(world.joint("m::j").unwrap().velocities[0].abs() < 1e-4, "dry friction ends it");
}

#[test]
fn dry_friction_holds_an_arm_without_creep() {
    // Five links of half a metre, stretched out.
    let (mut links, mut before) = (String::new(), "world".to_owned());
    for n in 0..5 {
        let (x, friction) = (0.25 + 0.5 * f64::from(n), 120.0 / f64::from(n + 1));
        links += &format!(
            r#"<link name="l{n}"><pose>{x} 0 2 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial></link>
               <joint name="j{n}" type="revolute"><pose>-0.25 0 0 0 0 0</pose><parent>{before}</parent><child>l{n}</child>
                 <axis><xyz>0 1 0</xyz><dynamics><friction>{friction}</friction><damping>{}</damping></dynamics></axis></joint>"#,
            n % 2
        );
        before = format!("l{n}");
    }
    let (mut world, _) =
        build(&format!(r#"<model name="m"><allow_auto_disable>false</allow_auto_disable>{links}</model>"#));
    let start = place(&world, "m::l4");
    run(&mut world, 0.5);
    let settled = place(&world, "m::l4");
    assert!(settled.distance(start) < 2e-3, "no jump at the start: {settled}");
    run(&mut world, 30.0);
    let moved = place(&world, "m::l4").distance(settled);
    assert!(moved < 1e-3, "it creeps by {moved} m in half a minute");
}

const ARM: &str = r#"<model name="arm"><link name="base"><inertial><mass>1</mass></inertial></link>
    <link name="lower"><pose>0 0 1 0 0 0</pose></link><link name="upper"><pose>1 0 1 0 0 0</pose></link>
    <joint name="root" type="fixed"><parent>world</parent><child>base</child></joint>
    <joint name="a" type="revolute"><parent>base</parent><child>lower</child><axis><xyz>0 0 1</xyz></axis></joint>
    <joint name="b" type="prismatic"><parent>lower</parent><child>upper</child><axis><xyz>1 0 0</xyz>
      <limit><lower>-0.2</lower><upper>0.6</upper></limit></axis></joint></model>"#;

#[test]
fn a_state_gives_the_joints_their_positions() {
    let (mut world, said) = build(&format!(
        r#"<gravity>0 0 0</gravity>{ARM}<state world_name="w"><model name="arm">
             <joint name="b"><angle axis="0">0.5</angle></joint><joint name="a"><angle axis="0">1.5707963267948966</angle></joint></model></state>"#
    ));
    assert!(said.is_empty(), "{said:?}");
    let at = DVec3::new(0.0, 1.5, 1.0);
    assert!((place(&world, "arm::upper") - at).length() < 1e-9, "{}", place(&world, "arm::upper"));
    assert!((position(&world, "arm::a") - std::f64::consts::FRAC_PI_2).abs() < 1e-6);
    assert!((position(&world, "arm::b") - 0.5).abs() < 1e-6, "{:?}", world.joint("arm::b"));
    run(&mut world, 2.0);
    assert!((place(&world, "arm::upper") - at).length() < 1e-3, "it stays: {}", place(&world, "arm::upper"));
    // The limit counts from the joint's zero, not from where it started.
    let mut v = [0.0; 8];
    v[1] = 0.2;
    world.apply(&Command { op: 3, count: 6, entity: world.find(kind::BODY, "arm::upper").unwrap(), v }).unwrap();
    run(&mut world, 3.0);
    assert!(position(&world, "arm::b") < 0.61, "{}", position(&world, "arm::b"));
    world.reset();
    assert!((place(&world, "arm::upper") - at).length() < 1e-9);
}

#[test]
fn a_state_gives_links_their_poses_and_velocities() {
    let (mut world, said) = build(
        r#"<gravity>0 0 0</gravity><model name="box"><link name="l"/></model><model name="pair"><pose>5 0 0 0 0 0</pose><link name="a"/><link name="b"/>
             <joint name="j" type="fixed"><parent>a</parent><child>b</child></joint></model>
           <state world_name="w"><model name="box"><link name="l"><pose>1 2 3 0 0 0</pose><velocity>0.5 0 0 0 0 1</velocity></link></model>
             <model name="pair"><pose>7 0 0 0 0 0</pose></model><model name="nobody"/></state>"#,
    );
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(place(&world, "box::l"), DVec3::new(1.0, 2.0, 3.0));
    assert_eq!(place(&world, "pair::b"), DVec3::new(7.0, 0.0, 0.0));
    run(&mut world, 2.0);
    assert!((place(&world, "box::l") - DVec3::new(2.0, 2.0, 3.0)).length() < 0.01, "{}", place(&world, "box::l"));
}
