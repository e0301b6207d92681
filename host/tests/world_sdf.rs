//! Worlds from documents.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::PathBuf;

use glamx::DVec3;
use tickworks::sdf::{self, LoadOptions, Source};
use tickworks::world::{BuildOptions, RayQuery, RobotKind, World};
use tickworks_motion::Axes;
use tickworks_plugin_api::abi::{self, kind};

fn document(body: &str) -> sdf::World {
    let text = format!(
        r#"<sdf version="1.11" xmlns:tw="https://tickworks.dev/sdf"><world name="w">
<physics name="p" type="x"><max_step_size>0.004</max_step_size></physics>{body}</world></sdf>"#
    );
    let loaded = sdf::load_source(&Source::new("test.sdf", text), &LoadOptions::default());
    let errors: Vec<String> = loaded.errors().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{errors:?}");
    loaded.into_world().unwrap()
}

fn build(body: &str) -> World {
    World::build(&document(body), &BuildOptions::default()).unwrap().0
}

fn shipped(name: &str) -> sdf::World {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../worlds").join(name);
    let loaded = sdf::load(&path, &LoadOptions::default());
    let errors: Vec<String> = loaded.errors().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{errors:?}");
    loaded.into_world().unwrap()
}

#[test]
fn the_worlds_that_ship_build_without_a_word_and_rest() {
    for (name, robots) in
        [("empty.sdf", 0), ("arena.sdf", 3), ("race.sdf", 4), ("ground.sdf", 3), ("house.sdf", 4), ("workshop.sdf", 2)]
    {
        let document = shipped(name);
        let (mut world, warnings) = World::build(&document, &BuildOptions::default()).unwrap();
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
        assert_eq!(world.robot_count(), robots, "{name}");
        let start: Vec<(u64, [f64; 7])> =
            world.bodies().ids.iter().copied().zip(world.bodies().poses.to_vec()).collect();
        for _ in 0..600 {
            world.physics_tick();
        }
        assert!(world.quarantined().is_empty());
        for (id, pose) in start {
            let now = world.pose(id).unwrap();
            let moved = DVec3::new(now[0] - pose[0], now[1] - pose[1], now[2] - pose[2]).length();
            assert!(moved < 2e-3, "{name}: {} moved by {:.2} mm in 10 s", world.name(id).unwrap(), moved * 1e3);
        }
        assert!((0..robots as u64).all(|r| !world.colliding(r)), "{name}");
    }
}

#[test]
fn ids_and_names_follow_the_document() {
    let world = build(
        r#"<model name="a"><link name="l1"/><link name="l2"/>
             <model name="b"><link name="l"/></model><joint name="j" type="fixed"><parent>l1</parent><child>l2</child></joint></model>
           <model name="c"><static>true</static><link name="l"/></model>
           <model name="d"><pose>0 0 5 0 0 0</pose><link name="l"/><tw:robot type="UAVLevel2" drag_coefficient="0.7" axes="flu"/></model>
           <model name="e"><pose>0 0 9 0 0 0</pose><link name="l"/><tw:robot type="UAVLevel1" max_velocities="1 2 3 4 5 6"/></model>"#,
    );
    let bodies: Vec<&str> = world.names(kind::BODY).collect();
    assert_eq!(bodies, ["a::l1", "a::l2", "a::b::l", "c::l", "d::l", "e::l"]);
    let models: Vec<&str> = world.names(kind::MODEL).collect();
    assert_eq!(models, ["a", "a::b", "c", "d", "e"]);
    assert_eq!(world.find(kind::ROBOT, "e"), Some(1));
    assert_eq!(world.find(kind::BODY, "a::b::l"), Some(1 << 32 | 2));
    assert_eq!(world.find(kind::MODEL, "nothing"), None);
    let info = world.robot_info(1).unwrap();
    assert_eq!((info.kind, info.axes, info.limits), (RobotKind::UavLevel1, Axes::Luf, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let info = world.robot_info(0).unwrap();
    assert_eq!((info.kind, info.axes, info.drag, info.model), (RobotKind::UavLevel2, Axes::Flu, 0.7, 2 << 32 | 3));
    assert_eq!(world.robot_of(1 << 32 | 4), Some(0));
    assert_eq!(world.robot_of(1 << 32), None);
    // Static links have ids and poses, but are no bodies that move.
    assert_eq!(world.bodies().ids.len(), 5);
}

#[test]
fn what_cannot_be_built_is_said_with_its_place() {
    let errors = |body: &str| match World::build(&document(body), &BuildOptions::default()) {
        Ok(_) => panic!("it was built"),
        Err(errors) => errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
    };
    let found = errors(
        r#"<model name="m"><static>true</static><link name="l"/><tw:robot type="UAVLevel1"/></model>
           <model name="n"><link name="l"><inertial><mass>1e60</mass></inertial></link></model>"#,
    );
    assert!(found.iter().any(|e| e.contains("test.sdf:2") && e.contains("must be able to move")), "{found:?}");
    assert!(found.iter().any(|e| e.contains("test.sdf:3") && e.contains("n::l") && e.contains("mass")), "{found:?}");
}

#[test]
fn what_is_out_of_the_engine_s_reach_is_said_with_its_place() {
    let size = |what: &str| format!("<model name='m'>{what}</model>");
    for (body, says) in [
        ("<pose>0 1e20 0 0 0 0</pose><link name='l'/>", "1e20 m, but must be within 1e9 m"),
        (
            "<link name='l'><collision name='c'><pose>0 0 -5e9 0 0 0</pose><geometry><sphere><radius>1</radius></sphere></geometry></collision></link>",
            "-5000000000.0 m",
        ),
        (
            "<link name='l'><collision name='c'><geometry><sphere><radius>3e9</radius></sphere></geometry></collision></link>",
            "1e-12 to 1e9 m",
        ),
        ("<link name='l'><inertial><pose>1e12 0 0 0 0 0</pose></inertial></link>", "centre of mass"),
        ("<link name='l'><inertial><mass>1e-39</mass></inertial></link>", "the mass is"),
    ] {
        let errors = World::build(&document(&size(body)), &BuildOptions::default()).err().unwrap();
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(text.contains("test.sdf:2") && text.contains(says), "{body}: {text}");
    }
}

#[test]
fn a_hollow_mesh_that_moves_is_hollow_when_it_is_decomposed() {
    let meshes = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdf/meshes");
    let world = |optimization: &str, file: &str| {
        build(&format!(
            r#"<model name="floor"><static>true</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision></link></model>
               <model name="channel"><pose>0 0 0.001 0 0 0</pose><link name="l"><inertial><pose>0 0 0.1 0 0 0</pose><mass>5</mass></inertial>
                 <collision name="c"><geometry><mesh optimization="{optimization}"><uri>{}</uri><submesh><name>channel</name></submesh></mesh></geometry></collision></link></model>
               <model name="ball"><pose>0 0 0.8 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link></model>"#,
            meshes.join(file).display()
        ))
    };
    for file in ["channel.obj", "channel.dae", "channel.gltf", "channel.glb"] {
        for (optimization, floor) in [("convex_decomposition", 0.1), ("convex_hull", 0.5)] {
            let mut world = world(optimization, file);
            for _ in 0..180 {
                world.physics_tick();
            }
            let ball = world.pose(world.find(kind::BODY, "ball::l").unwrap()).unwrap();
            assert!((ball[2] - floor - 0.1).abs() < 0.02, "{file} {optimization}: the ball is at {}", ball[2]);
        }
    }
}

#[test]
fn approximations_are_said() {
    let document = document(
        r#"<model name="m"><link name="a"/><link name="b"/>
             <joint name="j" type="universal"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model>"#,
    );
    let (_, warnings) = World::build(&document, &BuildOptions::default()).unwrap();
    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|t| t.contains("m::j (universal)") && t.contains("constant velocity")), "{texts:?}");
    let document = self::document(
        r#"<wind><linear_velocity>5 0 0</linear_velocity></wind><model name="m"><link name="a"><enable_wind>true</enable_wind></link>
             <link name="b"><inertial><mass>1</mass><fluid_added_mass><xx>1</xx></fluid_added_mass></inertial></link></model>"#,
    );
    let (_, warnings) = World::build(&document, &BuildOptions::default()).unwrap();
    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|t| t.contains("m::a asks for wind")), "{texts:?}");
    assert!(texts.iter().any(|t| t.contains("m::b is moved without its fluid_added_mass")), "{texts:?}");
}

#[test]
fn a_plane_lies_across_its_normal() {
    let mut world = build(
        r#"<model name="slope"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>-0.6 0 0.8</normal></plane></geometry>
             <surface><friction><ode><mu>0</mu><mu2>0</mu2></ode></friction></surface></collision></link></model>
           <model name="ball"><pose>0 0 0.5 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.3</radius></sphere></geometry></collision></link></model>"#,
    );
    for _ in 0..60 {
        world.physics_tick();
    }
    let p = world.pose(1 << 32 | 1).unwrap();
    assert!(p[0] < -0.5, "it slides down the slope: {p:?}");
    let height = -0.6 * p[0] + 0.8 * p[2];
    assert!((height - 0.3).abs() < 0.01, "it stays on the slope: {height}");
}

#[test]
fn a_door_swings_about_its_hinge_and_stops_at_its_limit() {
    let mut world = build(
        r#"<gravity>0 0 0</gravity><model name="door"><link name="leaf"><pose>0.5 0 1 0 0 0</pose>
             <collision name="c"><geometry><box><size>1 0.05 2</size></box></geometry></collision></link>
             <joint name="hinge" type="revolute"><pose>-0.5 0 0 0 0 0</pose><parent>world</parent><child>leaf</child>
               <axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>1.2</upper></limit></axis></joint></model>"#,
    );
    let mut v = [0.0; 8];
    v[1] = 1.0;
    let push = tickworks_plugin_api::abi::Command { op: 3, count: 6, entity: 1 << 32, v };
    world.apply(&push).unwrap();
    let mut widest = 0.0_f64;
    for _ in 0..240 {
        world.physics_tick();
        let p = world.pose(1 << 32).unwrap();
        let (x, y) = (p[0], p[1]);
        assert!((x.hypot(y) - 0.5).abs() < 0.01, "the hinge holds: {p:?}");
        widest = widest.max(y.atan2(x));
    }
    assert!(widest > 1.1 && widest < 1.3, "{widest}");
}

#[test]
fn mass_and_inertia_are_those_of_the_document() {
    // 2 kg, pushed beside its centre of mass: dv = J/m, dw = r x J / I.
    let mut world = build(
        r#"<gravity>0 0 0</gravity><model name="m"><link name="l"><inertial><pose>0.1 0 0 0 0 0</pose><mass>2</mass>
             <inertia><ixx>0.3</ixx><iyy>0.4</iyy><izz>0.5</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>
             <collision name="c"><geometry><box><size>9 9 9</size></box></geometry></collision></link></model>"#,
    );
    let mut v = [0.0; 8];
    (v[1], v[5]) = (4.0, 0.25);
    world.apply(&tickworks_plugin_api::abi::Command { op: 3, count: 6, entity: 1 << 32, v }).unwrap();
    world.physics_tick();
    let found = world.bodies().velocities[0];
    assert!((found[1] - 2.0).abs() < 1e-4 && (found[5] - 0.5).abs() < 1e-4, "{found:?}");
}

/// What is below a point, m: the height of the first thing that a ray from 50 m up meets.
fn height(world: &World, x: f64, y: f64) -> f64 {
    let query =
        RayQuery { origin: [x, y, 50.0], direction: [0.0, 0.0, -1.0], max_distance: 100.0, ignore: abi::NO_ENTITY };
    world.ray_cast(&query).unwrap().map_or(f64::NEG_INFINITY, |hit| hit.point[2])
}

#[test]
fn terrain_and_walls_from_images_can_be_touched() {
    let dir = tempfile::tempdir().unwrap();
    // The left column of pixels is black, the right one white; the top row is the one of greatest y.
    let grey = image::GrayImage::from_fn(3, 3, |x, _| image::Luma([[0, 128, 255][x as usize]]));
    grey.save(dir.path().join("slope.png")).unwrap();
    let text = "<sdf version=\"1.11\"><world name=\"w\">\
        <model name=\"slope\"><static>true</static><link name=\"l\"><collision name=\"c\"><geometry><heightmap>\
        <uri>slope.png</uri><size>8 8 4</size><pos>0 0 1</pos></heightmap></geometry></collision></link></model>\
        <model name=\"walls\"><static>true</static><pose>100 0 0 0 0 0</pose><link name=\"l\"><collision name=\"c\"><geometry>\
        <image><uri>slope.png</uri><scale>1</scale><threshold>100</threshold><height>3</height><granularity>1</granularity>\
        </image></geometry></collision></link></model></world></sdf>";
    let file = dir.path().join("w.sdf");
    std::fs::write(&file, text).unwrap();
    let loaded = sdf::load(&file, &LoadOptions::default());
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let (world, warnings) = World::build(&loaded.into_world().unwrap(), &BuildOptions::default()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!((height(&world, -3.9, 0.0) - 1.05).abs() < 0.1, "{}", height(&world, -3.9, 0.0));
    assert!((height(&world, 3.9, 0.0) - 4.95).abs() < 0.1, "{}", height(&world, 3.9, 0.0));
    // One column of dark pixels, 1 m wide, is a wall; the rest is not there.
    let walls: Vec<f64> = [-1.0, 0.0, 1.0].map(|x| height(&world, 100.0 + x, 0.0)).to_vec();
    assert_eq!(walls.iter().filter(|h| h.is_finite()).count(), 1, "{walls:?}");
    assert!(walls.iter().any(|h| (h - 3.0).abs() < 1e-3), "{walls:?}");
}

#[test]
fn numbers_that_the_engine_cannot_carry_are_said_with_their_place() {
    let arm = |axis: &str| {
        format!(
            "<model name='m'><link name='a'/><link name='b'/><link name='c'/>
             <joint name='k' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
             <joint name='j' type='revolute'><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz>{axis}</axis></joint></model>"
        )
    };
    for (body, says) in [
        ("<gravity>0 0 -1e30</gravity>".to_owned(), "gravity is [0.0, 0.0, -1e30]"),
        (arm("<mimic joint='k'><multiplier>1e300</multiplier></mimic>"), "1e300, but must be within 1e6"),
        (arm("<mimic joint='k'><offset>1e12</offset></mimic>"), "offset"),
        (arm("<dynamics><damping>1e30</damping></dynamics>"), "damping is 1e30"),
        (arm("<dynamics><spring_reference>1e12</spring_reference></dynamics>"), "spring_reference"),
    ] {
        let errors = World::build(&document(&body), &BuildOptions::default()).err().unwrap();
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(text.contains("test.sdf:") && text.contains(says), "{body}: {text}");
    }
}

#[test]
fn what_physics_does_not_use_is_said_once() {
    let surface = |extra: &str| {
        format!(
            "<collision name='c{}'><geometry><sphere><radius>1</radius></sphere></geometry><surface>{extra}</surface></collision>",
            extra.len()
        )
    };
    let joint = |name: &str, mimic: &str, limit: &str| {
        format!(
            "<joint name='j{name}' type='revolute'><parent>a</parent><child>{name}</child><axis><xyz>0 0 1</xyz><limit>{limit}</limit>{mimic}</axis></joint>"
        )
    };
    let texts = |body: &str| {
        let (_, warnings) = World::build(&document(body), &BuildOptions::default()).unwrap();
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let found = texts(&format!(
        "<model name='m'><link name='a'>{}{}</link><link name='b'/><link name='c'/>{}{}</model>",
        surface("<friction><ode><slip1>0.1</slip1></ode></friction>"),
        surface(
            "<friction><ode><slip1>0.1</slip1><fdir1>1 0 0</fdir1></ode></friction><contact><ode><kp>1e5</kp></ode></contact>"
        ),
        joint("b", "", "<lower>-7</lower><upper>1</upper><velocity>3</velocity>"),
        joint("c", "", "<velocity>3</velocity><stiffness>1e8</stiffness>"),
    ));
    let count = |what: &str| found.iter().filter(|t| t.contains(what)).count();
    let counts = ["slip1", "fdir1", "<kp>", "<kd>", "<velocity>", "<stiffness>", "up to a turn"].map(count);
    assert_eq!(counts, [1, 1, 1, 0, 1, 0, 1], "{found:?}");
    // A circle of joints that follow one another is told once.
    let found = texts(&format!(
        "<model name='m'><link name='a'/><link name='b'/><link name='c'/>{}{}</model>",
        joint("b", "<mimic joint='jc'/>", ""),
        joint("c", "<mimic joint='jb'/>", ""),
    ));
    assert_eq!(found.iter().filter(|t| t.contains("joint m::jc follows")).count(), 1, "{found:?}");
}
