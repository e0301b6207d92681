//! What a file says as one JSON document, for tools.

use glamx::{DPose3, DQuat, DVec3};
use serde_json::{Value, json};

use super::typed::{Collision, Geometry, Joint, Light, Link, Model, Plugin, Sensor, World};
use super::value::roll_pitch_yaw;
use super::{Diagnostic, Loaded};

/// What the format writes where there is no limit.
const NO_LIMIT: f64 = 1e16;

/// The document of `check --json`: `errors`, `warnings`, and `worlds`, or `model` for a file that is a model.
pub fn json(loaded: &Loaded) -> Value {
    let mut document = json!({
        "errors": loaded.errors().map(Diagnostic::to_json).collect::<Vec<_>>(),
        "warnings": loaded.warnings().map(Diagnostic::to_json).collect::<Vec<_>>(),
        "version": format!("{}.{}", loaded.root.version.0, loaded.root.version.1),
        "worlds": loaded.root.worlds.iter().map(world).collect::<Vec<_>>(),
    });
    if let Some(found) = &loaded.root.model {
        document["model"] = model(found);
    }
    if let Some(found) = &loaded.root.light {
        document["light"] = light(found);
    }
    if let Some(actor) = &loaded.root.actor {
        document["actor"] = json!({"name": actor.name, "world_pose": pose(&actor.world_pose)});
    }
    document
}

fn vector(v: DVec3) -> Value {
    json!(v.to_array())
}

/// x y z roll pitch yaw.
fn pose(pose: &DPose3) -> Value {
    let [x, y, z] = pose.translation.to_array();
    let [roll, pitch, yaw] = roll_pitch_yaw(pose.rotation);
    // Adding zero makes one of the two zeros.
    json!([x, y, z, roll, pitch, yaw].map(|n| n + 0.0))
}

/// w x y z.
fn quaternion(q: DQuat) -> Value {
    json!([q.w, q.x, q.y, q.z])
}

/// JSON has no infinity; the format has a number for it.
fn bound(value: f64) -> f64 {
    if value.is_infinite() { NO_LIMIT.copysign(value) } else { value }
}

fn world(world: &World) -> Value {
    let physics = world.physics();
    let mut object = json!({
        "name": world.name,
        "gravity": vector(world.gravity),
        "magnetic_field": vector(world.magnetic_field),
        "wind": vector(world.wind),
        "physics": {
            "name": physics.name,
            "engine": physics.engine,
            "max_step_size": physics.max_step_size,
            "real_time_factor": physics.real_time_factor,
        },
        "frames": world.frames.iter().map(frame).collect::<Vec<_>>(),
        "models": world.models.iter().map(model).collect::<Vec<_>>(),
        "joints": world.joints.iter().map(joint).collect::<Vec<_>>(),
        "lights": world.lights.iter().map(light).collect::<Vec<_>>(),
        "actors": world.actors.iter().map(|a| json!({"name": a.name, "world_pose": pose(&a.world_pose)})).collect::<Vec<_>>(),
        "plugins": plugins(&world.plugins),
    });
    if let Some(place) = &world.spherical_coordinates {
        object["spherical_coordinates"] = json!({
            "latitude": place.latitude_deg,
            "longitude": place.longitude_deg,
            "elevation": place.elevation,
            "heading": place.heading_deg,
        });
    }
    object
}

fn plugins(plugins: &[Plugin]) -> Value {
    plugins.iter().map(|p| json!({"name": p.name, "filename": p.filename})).collect()
}

fn frame(frame: &super::Frame) -> Value {
    json!({
        "name": frame.name,
        "attached_to": frame.attached_to,
        "attached_to_body": frame.attached_link,
        "pose_in_parent": pose(&frame.pose_in_parent),
    })
}

fn model(found: &Model) -> Value {
    let mut object = json!({
        "name": found.name,
        "scoped_name": found.scoped_name,
        "static": found.is_static,
        "self_collide": found.self_collide,
        "allow_auto_disable": found.allow_auto_disable,
        "raw_pose": pose(&found.pose.value),
        "canonical_link": found.resolved_canonical_link,
        "pose_in_parent": pose(&found.pose_in_parent),
        "world_pose": pose(&found.world_pose),
        "world_quat": quaternion(found.world_pose.rotation),
        "frames": found.frames.iter().map(frame).collect::<Vec<_>>(),
        "links": found.links.iter().map(link).collect::<Vec<_>>(),
        "joints": found.joints.iter().map(joint).collect::<Vec<_>>(),
        "models": found.models.iter().map(model).collect::<Vec<_>>(),
        "plugins": plugins(&found.plugins),
    });
    if let Some(include) = &found.include {
        object["uri"] = json!(include.uri);
    }
    if let Some(robot) = &found.robot {
        object["robot"] = json!(robot.kind.name());
    }
    object
}

fn link(link: &Link) -> Value {
    let inertial = &link.inertial;
    json!({
        "name": link.name,
        "pose_in_model": pose(&link.pose_in_model),
        "world_pose": pose(&link.world_pose),
        "world_quat": quaternion(link.world_pose.rotation),
        "mass": inertial.mass,
        "inertia": inertial.inertia,
        "inertial_pose": pose(&inertial.pose),
        "gravity": link.gravity,
        "kinematic": link.kinematic,
        "collisions": link.collisions.iter().map(collision).collect::<Vec<_>>(),
        "visual_count": link.visuals.len(),
        "sensors": link.sensors.iter().map(sensor).collect::<Vec<_>>(),
    })
}

fn sensor(sensor: &Sensor) -> Value {
    json!({
        "name": sensor.name,
        "type": sensor.kind,
        "topic": sensor.topic,
        "update_rate": sensor.update_rate,
        "pose_in_parent": pose(&sensor.pose_in_parent),
    })
}

fn collision(collision: &Collision) -> Value {
    json!({
        "name": collision.name,
        "pose_in_link": pose(&collision.pose_in_link),
        "quat_in_link": quaternion(collision.pose_in_link.rotation),
        "geometry": geometry(&collision.geometry),
        "mu": collision.surface.friction.mu,
        "mu2": collision.surface.friction.mu2,
        "restitution": collision.surface.restitution,
    })
}

fn geometry(geometry: &Geometry) -> Value {
    let mut object = json!({"kind": geometry.kind()});
    match geometry {
        Geometry::Empty => {}
        Geometry::Box { size } => object["size"] = vector(*size),
        Geometry::Sphere { radius } => object["radius"] = json!(radius),
        Geometry::Cylinder { radius, length }
        | Geometry::Capsule { radius, length }
        | Geometry::Cone { radius, length } => {
            object["radius"] = json!(radius);
            object["length"] = json!(length);
        }
        Geometry::Ellipsoid { radii } => object["radii"] = vector(*radii),
        Geometry::Plane { normal, size } => {
            object["normal"] = vector(*normal);
            object["size"] = json!(size.to_array());
        }
        Geometry::Mesh(mesh) => {
            object["uri"] = json!(mesh.resource.uri);
            object["path"] = json!(mesh.resource.path.as_ref().map(|p| p.to_string_lossy()));
            object["scale"] = vector(mesh.scale);
            object["submesh"] = json!(mesh.submesh);
        }
        Geometry::Heightmap(map) => {
            object["uri"] = json!(map.resource.uri);
            object["size"] = vector(map.size);
            object["position"] = vector(map.position);
        }
        Geometry::Polyline(line) => {
            object["height"] = json!(line.height);
            object["points"] =
                line.outlines.iter().map(|o| o.iter().map(|p| p.to_array()).collect::<Vec<_>>()).collect();
        }
        Geometry::Image(image) => object["uri"] = json!(image.resource.uri),
    }
    object
}

fn joint(joint: &Joint) -> Value {
    let axes = joint.axes.iter().enumerate().map(|(index, axis)| {
        json!({
            "index": index,
            "xyz_in_joint": vector(axis.xyz_in_joint),
            "xyz_in_model": vector(axis.xyz_in_model),
            "lower": axis.limits_written[0],
            "upper": axis.limits_written[1],
            "effort": bound(axis.limits.effort),
            "max_velocity": bound(axis.limits.velocity),
            "damping": axis.dynamics.damping,
            "friction": axis.dynamics.friction,
        })
    });
    json!({
        "name": joint.name,
        "type": joint.kind.name(),
        "parent": joint.parent,
        "child": joint.child,
        "parent_link": joint.parent_link.name(),
        "child_link": joint.child_link.name(),
        "pose_in_model": pose(&joint.pose_in_model),
        "axes": axes.collect::<Vec<_>>(),
    })
}

fn light(light: &Light) -> Value {
    json!({"name": light.name, "world_pose": pose(&light.world_pose)})
}
