//! Worlds with robots and scenes as they are published, run for a simulated minute: nothing leaves the range of numbers,
//! no energy comes from nowhere, and what rests stays where it is.
//!
//! The worlds are not part of this repository. `SDF_FIELD_DIR` says where they are; without it, a folder `shared` beside
//! the repository is looked into, and where there is none the test has nothing to run. `SDF_FIELD_ALL` runs every file
//! there that has a world, and prints what it saw.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "what fails here fails the test; a survey prints")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use glamx::{DPose3, DQuat, DVec3};
use tickworks::sdf::{self, LoadOptions};
use tickworks::world::{BuildOptions, World};

/// Seconds that a world runs.
const MINUTE: usize = 60;
/// Seconds after which what is still is taken to rest.
const SETTLED: usize = 10;
/// How far what rests may move, m.
const STILL: f64 = 1e-3;
/// Ticks a second.
const RATE: usize = 60;

/// Worlds with robots, joints and scenes.
const WORLDS: [&str; 13] = [
    "gazebosim+gz-sim/test/worlds/demo_joint_types.sdf",
    "gazebosim+gz-sim/test/worlds/hydrodynamics_flags.sdf",
    "gazebosim+gz-sim/test/worlds/log_record_dbl_pendulum.sdf",
    "gazebosim+gz-sim/test/worlds/quadcopter.sdf",
    "gazebosim+gz-sim/examples/worlds/advanced_lift_drag_system.sdf",
    "gazebosim+gz-sim/examples/worlds/diff_drive.sdf",
    "gazebosim+gz-sim/examples/worlds/joint_trajectory_controller.sdf",
    "gazebosim+gz-sim/examples/worlds/mecanum_drive.sdf",
    "gazebosim+gz-sim/examples/worlds/plane_propeller_demo.sdf",
    "gazebosim+gz-sim/examples/worlds/velocity_control.sdf",
    "gazebosim+gz-sim/examples/worlds/wind.sdf",
    "gazebosim+gz-physics/test/common_test/worlds/mimic_prismatic_world.sdf",
    "gazebosim+gz-physics/test/common_test/worlds/nested_model_self_collide.sdf",
];

/// Mass and inertia of a link, in its frame.
struct Body {
    id: u64,
    mass: f64,
    inertial: DPose3,
    moments: [f64; 6],
    gravity: bool,
}

/// What a minute of a world showed.
#[derive(Debug, Default)]
struct Seen {
    bodies: usize,
    /// Of mechanical energy, over what it began with, J.
    gained: f64,
    /// Greatest kinetic energy, J.
    kinetic: f64,
    /// How many rest after a while.
    resting: usize,
    /// Those of them that moved most, m.
    strayed: Vec<(f64, String)>,
    /// Bodies that left the range of numbers.
    lost: Vec<String>,
}

fn field() -> Option<PathBuf> {
    let given = std::env::var_os("SDF_FIELD_DIR").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/sdf-corpus");
    given.or(Some(beside)).filter(|dir| dir.join("files").is_dir())
}

fn load(dir: &Path, file: &str) -> Option<sdf::World> {
    let names = std::fs::read_to_string(dir.join("model-dirs.txt")).unwrap_or_default();
    let model_paths = names.lines().map(|line| dir.join("files").join(line)).collect();
    let options = LoadOptions { model_paths, ..LoadOptions::default() };
    let loaded = sdf::load(&dir.join("files").join(file), &options);
    let mut world = (!loaded.has_errors()).then(|| loaded.into_world()).flatten()?;
    sdf::state::apply(&mut world);
    // What has fallen asleep is still by itself: nothing may.
    world.models.iter_mut().for_each(stay_awake);
    Some(world)
}

fn stay_awake(model: &mut sdf::Model) {
    model.allow_auto_disable = false;
    model.models.iter_mut().for_each(stay_awake);
}

fn bodies(document: &sdf::World, world: &World) -> Vec<Body> {
    let mut links = HashMap::new();
    for model in &document.models {
        model.walk(&mut |model| {
            links.extend(model.links.iter().map(|link| (format!("{}::{}", model.scoped_name, link.name), link)));
        });
    }
    let ids = world.bodies().ids.to_vec();
    let body = |id| {
        let link = links.get(world.name(id)?)?;
        let inertial = &link.inertial;
        Some(Body {
            id,
            mass: inertial.mass,
            inertial: inertial.pose,
            moments: inertial.inertia,
            gravity: link.gravity,
        })
    };
    ids.into_iter().filter_map(body).collect()
}

/// Kinetic and potential energy, J.
fn energy(bodies: &[Body], world: &World, gravity: DVec3) -> (f64, f64) {
    let view = world.bodies();
    let places: HashMap<u64, usize> = view.ids.iter().enumerate().map(|(n, id)| (*id, n)).collect();
    let mut sum = (0.0, 0.0);
    for body in bodies {
        let n = places[&body.id];
        let (v, com) = (view.velocities[n], pose(&view.poses[n]) * body.inertial);
        let (linear, angular) = (DVec3::new(v[0], v[1], v[2]), DVec3::new(v[3], v[4], v[5]));
        let w = com.rotation.inverse() * angular;
        let [xx, yy, zz, xy, xz, yz] = body.moments;
        let spin =
            DVec3::new(xx * w.x + xy * w.y + xz * w.z, xy * w.x + yy * w.y + yz * w.z, xz * w.x + yz * w.y + zz * w.z);
        sum.0 += 0.5 * (body.mass * linear.length_squared() + w.dot(spin));
        if body.gravity {
            sum.1 -= body.mass * gravity.dot(com.translation);
        }
    }
    sum
}

fn pose(seven: &[f64; 7]) -> DPose3 {
    let [x, y, z, qx, qy, qz, qw] = *seven;
    DPose3::from_parts(DVec3::new(x, y, z), DQuat::from_xyzw(qx, qy, qz, qw))
}

fn run(document: &sdf::World) -> Seen {
    let (mut world, _) = World::build(document, &BuildOptions::default()).unwrap();
    let bodies = bodies(document, &world);
    let mut seen = Seen { bodies: bodies.len(), ..Seen::default() };
    let place = |world: &World| -> Vec<DVec3> { world.bodies().poses.iter().map(|p| pose(p).translation).collect() };
    let begin = energy(&bodies, &world, document.gravity);
    let mut rests: Vec<DVec3> = Vec::new();
    let mut farthest: Vec<f64> = vec![0.0; world.bodies().ids.len()];
    let mut still: Vec<bool> = Vec::new();
    for second in 0..MINUTE {
        let before = place(&world);
        let mut most = vec![0.0_f64; before.len()];
        for tick in 0..RATE {
            world.physics_tick();
            for id in world.quarantined() {
                let name = world.name(*id).unwrap_or("?").to_owned();
                if !seen.lost.contains(&name) {
                    seen.lost.push(name);
                }
            }
            if tick % 6 == 0 {
                let now = place(&world);
                for (n, at) in now.iter().enumerate() {
                    most[n] = most[n].max(at.distance(before[n]));
                    if !still.is_empty() && still[n] {
                        farthest[n] = farthest[n].max(at.distance(rests[n]));
                    }
                }
            }
        }
        let (kinetic, potential) = energy(&bodies, &world, document.gravity);
        seen.kinetic = seen.kinetic.max(kinetic);
        seen.gained = seen.gained.max(kinetic + potential - begin.0 - begin.1);
        if second + 1 == SETTLED {
            rests = place(&world);
            // What moved less than this in a second is not on its way anywhere.
            still = most.iter().map(|moved| *moved < STILL / 20.0).collect();
        }
    }
    seen.resting = still.iter().filter(|still| **still).count();
    let names: Vec<String> = world.bodies().ids.iter().map(|id| world.name(*id).unwrap_or("?").to_owned()).collect();
    seen.strayed =
        farthest.iter().zip(names).filter(|(far, _)| **far > STILL).map(|(far, name)| (*far, name)).collect();
    seen
}

#[test]
fn a_minute_of_worlds_from_the_field() {
    let Some(dir) = field() else { return };
    for file in WORLDS {
        let document = load(&dir, file).unwrap_or_else(|| panic!("{file} does not load"));
        let seen = run(&document);
        assert!(seen.bodies > 0 && seen.lost.is_empty() && seen.strayed.is_empty(), "{file}: {seen:?}");
        assert!(seen.gained < 1.0, "{file}: {seen:?}");
    }
}

#[test]
fn survey() {
    let (Some(dir), Some(_)) = (field(), std::env::var_os("SDF_FIELD_ALL")) else { return };
    let cases = std::fs::read_to_string(dir.join("cases.tsv")).unwrap();
    for file in cases.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let text = std::fs::read_to_string(dir.join("files").join(file)).unwrap_or_default();
        if !text.contains("<world") {
            continue;
        }
        let Some(document) = load(&dir, file) else { continue };
        if document.models.is_empty() {
            continue;
        }
        let begin = std::time::Instant::now();
        let seen = run(&document);
        println!("{file}\t{:.1} s\t{seen:?}", begin.elapsed().as_secs_f64());
    }
}
