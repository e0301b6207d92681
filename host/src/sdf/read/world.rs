//! Worlds.

use std::collections::HashSet;

use glamx::DVec3;

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::tree::Node;
use crate::sdf::typed::{
    Actor, Animation, Atmosphere, Element, GRAVITY, GuiCamera, MAGNETIC_FIELD, Model, Physics, Resource, Road, Scene,
    SphericalCoordinates, Trajectory, Waypoint, World,
};
use crate::sdf::value;

impl Reader<'_> {
    pub(super) fn world(&mut self, node: Node<'_>) -> World {
        let mut world = World::empty("", node.span());
        world.name = self.name(node);
        world.gravity = self.vector(node, "gravity", GRAVITY);
        world.magnetic_field = self.vector(node, "magnetic_field", MAGNETIC_FIELD);
        world.wind = node.child("wind").map_or(DVec3::ZERO, |wind| self.vector(wind, "linear_velocity", DVec3::ZERO));
        world.atmosphere = node.child("atmosphere").map(|a| self.atmosphere(a)).unwrap_or_default();
        world.spherical_coordinates = node.child("spherical_coordinates").map(|s| self.spherical_coordinates(s));
        world.scene = node.child("scene").map(|s| self.scene(s)).unwrap_or_default();
        world.gui_camera = node.child("gui").and_then(|g| g.child("camera")).map(|camera| self.gui_camera(camera));
        world.gui = Self::element(node, "gui");
        world.plugins = self.plugins(node);
        self.own_elements(node, None);
        for child in node.children() {
            self.world_part(child, &mut world);
        }
        if self.version < (1, 7) {
            let taken = world.models.iter().map(|m| m.name.clone()).collect();
            super::model::rename_collisions(taken, &mut world.joints, &mut world.frames);
        }
        self.physics_profiles(node, &mut world);
        self.unique_names(node, &world);
        world
    }

    fn world_part(&mut self, child: Node<'_>, world: &mut World) {
        match child.name() {
            "model" => {
                let model = self.model(child);
                world.models.push(model);
            }
            "include" => self.include_in_world(child, world),
            "light" => {
                let light = self.light(child);
                world.lights.push(light);
            }
            "actor" => {
                let actor = self.actor(child);
                world.actors.push(actor);
            }
            "joint" => match self.joint(child) {
                Some(joint) => world.joints.push(joint),
                None => world.incomplete = true,
            },
            "frame" => {
                let frame = self.frame(child);
                world.frames.push(frame);
            }
            "road" => {
                let road = self.road(child);
                world.roads.push(road);
            }
            "state" => {
                let state = self.state(child);
                world.states.push(state);
            }
            "population" | "audio" => {
                self.unread(child);
                world.other.push(Element::from_node(child));
            }
            _ => {}
        }
    }

    /// Models share a scope with frames and joints; lights and actors have names of their own.
    fn unique_names(&mut self, node: Node<'_>, world: &World) {
        let place = |m: &Model| m.include.as_ref().map_or(&m.span, |i| &i.span).clone();
        let names = world
            .models
            .iter()
            .map(|m| ("model", m.name.as_str(), place(m)))
            .chain(world.frames.iter().map(|f| ("frame", f.name.as_str(), f.span.clone())))
            .chain(world.joints.iter().map(|j| ("joint", j.name.as_str(), j.span.clone())));
        self.unique_in_scope(node, names);
        let mut seen = HashSet::new();
        for light in &world.lights {
            if !seen.insert(light.name.as_str()) {
                self.duplicate_at(node, "light", &light.name, light.span.clone());
            }
        }
        let mut seen = HashSet::new();
        for actor in &world.actors {
            if !seen.insert(actor.name.as_str()) {
                self.duplicate_at(node, "actor", &actor.name, actor.span.clone());
            }
        }
    }

    fn physics_profiles(&mut self, node: Node<'_>, world: &mut World) {
        world.physics_profiles.clear();
        let mut default = None;
        let mut names = HashSet::new();
        for child in node.children_named("physics") {
            let profile = self.physics(child);
            if !names.insert(profile.name.clone()) {
                self.duplicate(child, "physics profile", &profile.name);
            }
            if self.attribute_flag(child, "default") && default.is_none() {
                default = Some(world.physics_profiles.len());
            }
            world.physics_profiles.push(profile);
        }
        if world.physics_profiles.is_empty() {
            world.physics_profiles.push(Physics::default());
        }
        world.default_physics = default.unwrap_or(0);
    }

    fn real_time_factor(&mut self, node: Node<'_>, default: f64) -> f64 {
        let factor = self.number(node, "real_time_factor", default);
        if factor >= 0.0 && factor.is_finite() {
            return factor;
        }
        let at = node.child("real_time_factor").unwrap_or(node);
        let message = format!("real_time_factor is {factor:?}, it is taken as {default}");
        let diagnostic = Diagnostic::warning(Code::ElementInvalid, message).at(at.value_span()).path(at.path());
        self.report(diagnostic.help("write a factor above 0, or 0 for as fast as possible"));
        default
    }

    fn physics(&mut self, node: Node<'_>) -> Physics {
        let default = Physics::default();
        let engine = node.attribute_value("type").unwrap_or(&default.engine).to_owned();
        let mut max_step_size = self.number(node, "max_step_size", default.max_step_size);
        if !(max_step_size.is_finite() && max_step_size > 0.0) {
            let at = node.child("max_step_size").unwrap_or(node);
            self.error(Code::ElementInvalid, at, format!("max_step_size is {max_step_size}, it must be above 0 s"));
            max_step_size = default.max_step_size;
        }
        let solver = node.child(&engine).and_then(|e| e.child("solver"));
        Physics {
            name: node.attribute_value("name").unwrap_or(&default.name).to_owned(),
            max_step_size,
            real_time_factor: self.real_time_factor(node, default.real_time_factor),
            real_time_update_rate: self.number(node, "real_time_update_rate", default.real_time_update_rate),
            max_contacts: self.unsigned(node, "max_contacts", default.max_contacts),
            iterations: solver.filter(|s| s.child("iters").is_some()).map(|s| self.unsigned(s, "iters", 50)),
            engine,
            span: Some(node.span()),
        }
    }

    fn atmosphere(&mut self, node: Node<'_>) -> Atmosphere {
        let default = Atmosphere::default();
        Atmosphere {
            temperature: self.number(node, "temperature", default.temperature),
            pressure: self.number(node, "pressure", default.pressure),
            temperature_gradient: self.number(node, "temperature_gradient", default.temperature_gradient),
        }
    }

    fn spherical_coordinates(&mut self, node: Node<'_>) -> SphericalCoordinates {
        SphericalCoordinates {
            surface_model: self.text(node, "surface_model", "EARTH_WGS84"),
            world_frame_orientation: self.text(node, "world_frame_orientation", "ENU"),
            latitude_deg: self.number(node, "latitude_deg", 0.0),
            longitude_deg: self.number(node, "longitude_deg", 0.0),
            elevation: self.number(node, "elevation", 0.0),
            heading_deg: self.number(node, "heading_deg", 0.0),
        }
    }

    fn scene(&mut self, node: Node<'_>) -> Scene {
        let default = Scene::default();
        Scene {
            ambient: self.color(node, "ambient", default.ambient),
            background: self.color(node, "background", default.background),
            shadows: self.flag(node, "shadows", default.shadows),
            grid: self.flag(node, "grid", default.grid),
            sky: Self::element(node, "sky"),
            fog: Self::element(node, "fog"),
        }
    }

    fn gui_camera(&mut self, node: Node<'_>) -> GuiCamera {
        GuiCamera {
            name: node.attribute_value("name").unwrap_or("user_camera").to_owned(),
            pose: self.pose(node),
            world_pose: Default::default(),
            view_controller: self.text(node, "view_controller", "orbit"),
            projection_type: self.text(node, "projection_type", "perspective"),
            track_visual: node.child("track_visual").map(|t| self.text(t, "name", "")).filter(|n| !n.is_empty()),
        }
    }

    fn road(&mut self, node: Node<'_>) -> Road {
        let points = node.children_named("point").map(|p| self.value(p, DVec3::ZERO, value::lenient::vector)).collect();
        Road {
            name: self.name(node),
            width: self.number(node, "width", 1.0),
            points,
            material: Self::element(node, "material"),
        }
    }

    pub(super) fn actor(&mut self, node: Node<'_>) -> Actor {
        let script = node.child("script");
        let mut trajectories: Vec<_> = script
            .into_iter()
            .flat_map(|s| s.children())
            .filter(|c| c.name() == "trajectory")
            .map(|t| self.trajectory(t))
            .collect();
        trajectories.sort_by_key(|t| t.id);
        let links = node.children_named("link").map(|l| self.link(l)).collect();
        let joints = node.children_named("joint").filter_map(|j| self.joint(j)).collect();
        Actor {
            name: self.name(node),
            pose: self.pose(node),
            world_pose: Default::default(),
            skin: node.child("skin").map(|skin| (self.file(skin, "filename"), self.number(skin, "scale", 1.0))),
            animations: node.children_named("animation").map(|a| self.animation(a)).collect(),
            repeat: script.is_none_or(|s| self.flag(s, "loop", true)),
            delay_start: script.map_or(0.0, |s| self.number(s, "delay_start", 0.0)),
            auto_start: script.is_none_or(|s| self.flag(s, "auto_start", true)),
            trajectories,
            links,
            joints,
            plugins: self.plugins(node),
            element: Element::from_node(node),
            span: node.span(),
        }
    }

    fn animation(&mut self, node: Node<'_>) -> Animation {
        Animation {
            name: self.name(node),
            resource: self.file(node, "filename"),
            scale: self.number(node, "scale", 1.0),
            interpolate_x: self.flag(node, "interpolate_x", false),
        }
    }

    /// The file that a child names; an empty name where there is no such child.
    fn file(&mut self, node: Node<'_>, name: &str) -> Resource {
        match node.child(name) {
            Some(child) => self.resource(child),
            None => Resource { uri: String::new(), path: None, span: node.span() },
        }
    }

    fn trajectory(&mut self, node: Node<'_>) -> Trajectory {
        let id = node.attribute_value("id").and_then(|id| value::integer(id).ok()).unwrap_or(0);
        let tension = node.attribute_value("tension").and_then(|t| value::number(t).ok()).unwrap_or(0.0);
        let mut waypoints: Vec<_> = node
            .children_named("waypoint")
            .map(|point| Waypoint { time: self.number(point, "time", 0.0), pose: self.pose(point).value })
            .collect();
        waypoints.sort_by(|a, b| a.time.total_cmp(&b.time));
        Trajectory { id, animation: node.attribute_value("type").unwrap_or("").to_owned(), tension, waypoints }
    }

    /// A pose without frames, such as an inertial's.
    pub(super) fn plain_pose(&mut self, node: Node<'_>) -> glamx::DPose3 {
        match node.child("pose") {
            Some(pose) => {
                let format = crate::sdf::schema::rotation_format(pose);
                self.value(pose, Default::default(), |text| value::pose(text, format))
            }
            None => Default::default(),
        }
    }
}
