//! Links and their shapes.

use super::light;
use super::out::Out;
use crate::sdf::typed::{Collision, Geometry, Inertial, Link, MeshOptimization, MeshRef, Resource, Surface, Visual};

/// The entries of the upper triangle of the added mass, by rows.
const ADDED_MASS: [&str; 21] = [
    "xx", "xy", "xz", "xp", "xq", "xr", "yy", "yz", "yp", "yq", "yr", "zz", "zp", "zq", "zr", "pp", "pq", "pr", "qq",
    "qr", "rr",
];

pub(super) fn link(out: &mut Out, link: &Link) {
    out.open("link", &[("name", &link.name)]);
    out.pose(&link.pose_in_model);
    for (name, on, default) in [
        ("gravity", link.gravity, true),
        ("kinematic", link.kinematic, false),
        ("enable_wind", link.enable_wind, false),
    ] {
        if on != default {
            out.flag(name, on);
        }
    }
    if let Some(on) = link.self_collide {
        out.flag("self_collide", on);
    }
    if link.velocity_decay != [0.0; 2] {
        out.open("velocity_decay", &[]);
        out.number("linear", link.velocity_decay[0]);
        out.number("angular", link.velocity_decay[1]);
        out.close("velocity_decay");
    }
    if link.inertial.given {
        inertial(out, &link.inertial);
    }
    link.collisions.iter().for_each(|c| collision(out, c));
    link.visuals.iter().for_each(|v| visual(out, v));
    link.sensors.iter().for_each(|s| out.element_at(&s.element, &s.pose_in_parent));
    for found in &link.lights {
        let pose = link.world_pose.inv_mul(&found.world_pose);
        light(out, found, &pose);
    }
    link.particle_emitters.iter().for_each(|p| out.element_at(&p.element, &p.pose_in_link));
    for projector in &link.projectors {
        out.open("projector", &[("name", &projector.name)]);
        out.pose(&projector.pose_in_link);
        out.text("texture", projector.texture.as_ref().map_or("", |t| &t.uri));
        for (name, value) in ["fov", "near_clip", "far_clip"].iter().zip(projector.fov_near_far) {
            out.number(name, value);
        }
        out.close("projector");
    }
    link.batteries.iter().chain(&link.audio).for_each(|element| out.element(element));
    out.close("link");
}

fn inertial(out: &mut Out, inertial: &Inertial) {
    // What followed from shapes is written as what it is.
    out.open("inertial", &[]);
    out.pose(&inertial.pose);
    out.number("mass", inertial.mass);
    out.open("inertia", &[]);
    for (name, value) in ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"].iter().zip(inertial.inertia) {
        out.number(name, value);
    }
    out.close("inertia");
    if let Some(added) = &inertial.fluid_added_mass {
        out.open("fluid_added_mass", &[]);
        for (name, value) in ADDED_MASS.iter().zip(added) {
            out.number(name, *value);
        }
        out.close("fluid_added_mass");
    }
    out.close("inertial");
}

fn collision(out: &mut Out, collision: &Collision) {
    out.open("collision", &[("name", &collision.name)]);
    out.pose(&collision.pose_in_link);
    geometry(out, &collision.geometry);
    if collision.surface != Surface::default() {
        surface(out, &collision.surface);
    }
    if let Some(density) = collision.density {
        out.number("density", density);
    }
    out.text("max_contacts", &collision.max_contacts.to_string());
    if collision.laser_retro != 0.0 {
        out.number("laser_retro", collision.laser_retro);
    }
    out.close("collision");
}

fn visual(out: &mut Out, visual: &Visual) {
    out.open("visual", &[("name", &visual.name)]);
    out.pose(&visual.pose_in_link);
    geometry(out, &visual.geometry);
    visual.material.iter().for_each(|m| out.element(m));
    if visual.transparency != 0.0 {
        out.number("transparency", visual.transparency);
    }
    if !visual.cast_shadows {
        out.flag("cast_shadows", false);
    }
    if visual.laser_retro != 0.0 {
        out.number("laser_retro", visual.laser_retro);
    }
    if visual.visibility_flags != u32::MAX {
        out.text("visibility_flags", &visual.visibility_flags.to_string());
    }
    visual.plugins.iter().for_each(|p| out.element(&p.element));
    out.close("visual");
}

fn surface(out: &mut Out, surface: &Surface) {
    out.open("surface", &[]);
    out.open("bounce", &[]);
    out.number("restitution_coefficient", surface.restitution);
    out.number("threshold", surface.bounce_threshold);
    out.close("bounce");
    let friction = &surface.friction;
    out.open("friction", &[]);
    if let Some(torsional) = friction.torsional {
        out.open("torsional", &[]);
        out.number("coefficient", torsional);
        out.close("torsional");
    }
    out.open("ode", &[]);
    out.number("mu", friction.mu);
    out.number("mu2", friction.mu2);
    out.vector("fdir1", friction.direction);
    out.number("slip1", friction.slip[0]);
    out.number("slip2", friction.slip[1]);
    out.close("ode");
    out.close("friction");
    out.open("contact", &[]);
    out.flag("collide_without_contact", surface.collide_without_contact);
    out.text("collide_bitmask", &surface.collide_bitmask.to_string());
    out.text("category_bitmask", &surface.category_bitmask.to_string());
    out.open("ode", &[]);
    for (name, value) in [("kp", surface.stiffness), ("kd", surface.damping), ("max_vel", surface.max_velocity)] {
        if let Some(value) = value {
            out.number(name, value);
        }
    }
    out.number("min_depth", surface.min_depth);
    out.close("ode");
    out.close("contact");
    out.close("surface");
}

fn geometry(out: &mut Out, geometry: &Geometry) {
    out.open("geometry", &[]);
    let kind = geometry.kind();
    match geometry {
        Geometry::Empty => out.text("empty", ""),
        Geometry::Mesh(found) => mesh(out, found),
        Geometry::Polyline(line) => {
            for outline in &line.outlines {
                out.open("polyline", &[]);
                outline.iter().for_each(|p| out.numbers("point", &p.to_array()));
                out.number("height", line.height);
                out.close("polyline");
            }
        }
        shape => {
            out.open(kind, &[]);
            match shape {
                Geometry::Box { size } => out.vector("size", *size),
                Geometry::Sphere { radius } => out.number("radius", *radius),
                Geometry::Cylinder { radius, length }
                | Geometry::Capsule { radius, length }
                | Geometry::Cone { radius, length } => {
                    out.number("radius", *radius);
                    out.number("length", *length);
                }
                Geometry::Ellipsoid { radii } => out.vector("radii", *radii),
                Geometry::Plane { normal, size } => {
                    out.vector("normal", *normal);
                    out.numbers("size", &size.to_array());
                }
                Geometry::Heightmap(map) => {
                    uri(out, &map.resource);
                    out.vector("size", map.size);
                    out.vector("pos", map.position);
                    out.text("sampling", &map.sampling.to_string());
                }
                Geometry::Image(image) => {
                    uri(out, &image.resource);
                    out.number("scale", image.scale);
                    out.text("threshold", &image.threshold.to_string());
                    out.number("height", image.height);
                    out.text("granularity", &image.granularity.to_string());
                }
                Geometry::Empty | Geometry::Mesh(_) | Geometry::Polyline(_) => {}
            }
            out.close(kind);
        }
    }
    out.close("geometry");
}

fn mesh(out: &mut Out, mesh: &MeshRef) {
    let attributes: &[(&str, &str)] = match &mesh.optimization {
        MeshOptimization::None => &[],
        MeshOptimization::ConvexHull => &[("optimization", "convex_hull")],
        MeshOptimization::ConvexDecomposition { .. } => &[("optimization", "convex_decomposition")],
    };
    out.open("mesh", attributes);
    uri(out, &mesh.resource);
    if let MeshOptimization::ConvexDecomposition { max_convex_hulls, voxel_resolution } = &mesh.optimization {
        out.open("convex_decomposition", &[]);
        out.text("max_convex_hulls", &max_convex_hulls.to_string());
        out.text("voxel_resolution", &voxel_resolution.to_string());
        out.close("convex_decomposition");
    }
    if let Some(name) = &mesh.submesh {
        out.open("submesh", &[]);
        out.text("name", name);
        out.flag("center", mesh.center_submesh);
        out.close("submesh");
    }
    out.vector("scale", mesh.scale);
    out.close("mesh");
}

/// A file by where it was found: the URI may be relative to a file that is not there any more.
fn uri(out: &mut Out, resource: &Resource) {
    let relative = !resource.uri.contains("://");
    match &resource.path {
        Some(path) if relative => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            out.text("uri", &format!("file://{}", path.display()));
        }
        _ => out.text("uri", &resource.uri),
    }
}
