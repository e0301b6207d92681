//! Which links are one body: those that fixed joints hold together.

use glamx::DPose3;

use super::BuildError;
use crate::physics::{JointKind, Joints, Shape};
use crate::world::spec::{JointSpec, LinkSpec, WorldSpec};

/// The bodies of a world, by number in the order of their first link.
pub(super) struct Groups {
    /// For each link, its body.
    pub(super) of_link: Vec<usize>,
    /// For each body, its links.
    pub(super) members: Vec<Vec<usize>>,
    /// For each robot, its bodies.
    pub(super) of_robot: Vec<Vec<usize>>,
    /// For each body, its frame in the world with all joints at 0: the model's for one that carries a model's frame, else the first link's.
    pub(super) frames: Vec<DPose3>,
    /// Where its frame starts.
    pub(super) starts: Vec<DPose3>,
    /// Whether nothing moves it.
    pub(super) fixed: Vec<bool>,
    /// The robot that it belongs to.
    pub(super) robot: Vec<Option<usize>>,
    /// Whether it is that robot's main body.
    pub(super) main: Vec<bool>,
    /// The joints that can move and lead to it.
    pub(super) joints: Vec<Joints>,
    /// Bodies of one group (not 0) never touch each other.
    pub(super) contact_group: Vec<u32>,
}

impl Groups {
    /// `first_model`: the number of the first model of the spec in the world.
    pub(super) fn new(spec: &WorldSpec, first_model: usize) -> Self {
        let mut leader: Vec<usize> = (0..spec.links.len()).collect();
        for joint in spec.joints.iter().filter(|j| j.kind == JointKind::Fixed) {
            if let Some(parent) = joint.parent {
                let (a, b) = (find(&mut leader, parent), find(&mut leader, joint.child));
                // The earlier link leads, so that bodies are in the order of the document.
                leader[a.max(b)] = a.min(b);
            }
        }
        let mut of_link = vec![0; spec.links.len()];
        let mut firsts = Vec::new();
        for link in 0..spec.links.len() {
            let first = find(&mut leader, link);
            if first == link {
                of_link[link] = firsts.len();
                firsts.push(link);
            } else {
                of_link[link] = of_link[first];
            }
        }
        let count = firsts.len();
        let mut members = vec![Vec::new(); count];
        for (link, of) in of_link.iter().enumerate() {
            members[*of].push(link);
        }
        let mut groups = Self {
            members,
            of_robot: vec![Vec::new(); spec.robots.len()],
            frames: firsts.iter().map(|l| spec.links[*l].pose).collect(),
            starts: Vec::new(),
            fixed: vec![false; count],
            robot: vec![None; count],
            main: vec![false; count],
            joints: vec![Joints::None; count],
            contact_group: vec![0; count],
            of_link,
        };
        groups.mark(spec);
        groups.starts = groups.frames.iter().zip(&groups.members).map(|(frame, of)| start(spec, frame, of)).collect();
        groups.filter_contacts(spec, first_model);
        groups
    }

    /// How many bodies there are.
    pub(super) fn count(&self) -> usize {
        self.frames.len()
    }

    fn mark(&mut self, spec: &WorldSpec) {
        let mut robot_of_model = vec![None; spec.models.len()];
        for (n, robot) in spec.robots.iter().enumerate() {
            robot_of_model[robot.model].get_or_insert(n);
        }
        for (link, of) in spec.links.iter().zip(&self.of_link) {
            let chain = || std::iter::successors(Some(link.model), |m| spec.models[*m].parent);
            self.fixed[*of] |= chain().any(|m| spec.models[m].fixed);
            if self.robot[*of].is_none() {
                self.robot[*of] = chain().find_map(|m| robot_of_model[m]);
            }
        }
        for joint in spec.joints.iter().filter(|j| j.kind == JointKind::Fixed && j.parent.is_none()) {
            self.fixed[self.of_link[joint.child]] = true;
        }
        // Outer models last, so that their frame wins; robots' last of all.
        for model in spec.models.iter().rev() {
            if let Some(link) = model.canonical_link {
                self.frames[self.of_link[link]] = model.pose;
            }
        }
        for (n, robot) in spec.robots.iter().enumerate() {
            if let Some(link) = spec.models[robot.model].canonical_link {
                let group = self.of_link[link];
                self.frames[group] = spec.models[robot.model].pose;
                self.main[group] = true;
                self.robot[group] = Some(n);
            }
        }
        for (body, robot) in self.robot.iter().enumerate() {
            if let Some(robot) = robot {
                self.of_robot[*robot].push(body);
            }
        }
    }

    /// Puts the bodies of a model that does not collide with itself into one group, unless they cannot meet anyway: the
    /// filter costs the engine its reuse of contacts.
    fn filter_contacts(&mut self, spec: &WorldSpec, first_model: usize) {
        let root =
            |model: usize| std::iter::successors(Some(model), |m| spec.models[*m].parent).last().unwrap_or(model);
        let mut bodies_of: Vec<Vec<usize>> = vec![Vec::new(); spec.models.len()];
        for (link, of) in spec.links.iter().zip(&self.of_link) {
            let list = &mut bodies_of[root(link.model)];
            if !self.fixed[*of] && !list.contains(of) {
                list.push(*of);
            }
        }
        let mut joints: Vec<Vec<&JointSpec>> = vec![Vec::new(); self.count()];
        for joint in spec.joints.iter().filter(|j| j.kind != JointKind::Fixed) {
            let holds = joint.axes.iter().any(|axis| axis.friction > 0.0 || axis.spring_stiffness > 0.0);
            let kind = if holds { Joints::Holding } else { Joints::Loose };
            for link in [Some(joint.child), joint.parent].into_iter().flatten() {
                let body = self.of_link[link];
                joints[body].push(joint);
                self.joints[body] = self.joints[body].max(kind);
            }
        }
        for (model, bodies) in bodies_of.iter().enumerate() {
            if spec.models[model].self_collide || bodies.len() < 2 {
                continue;
            }
            let joints = &joints;
            let meet = bodies
                .iter()
                .enumerate()
                .any(|(n, a)| bodies[n + 1..].iter().any(|b| self.may_meet(spec, joints, *a, *b)));
            if meet {
                for body in bodies {
                    self.contact_group[*body] = (first_model + model) as u32 + 1;
                }
            }
        }
    }

    /// Whether two bodies of a model could ever touch. Those that are joined do not, by the joint. Those that turn about
    /// points of one and the same third body stay within a ball about these points each.
    fn may_meet(&self, spec: &WorldSpec, joints: &[Vec<&JointSpec>], a: usize, b: usize) -> bool {
        let other_end = |joint: &JointSpec, body: usize| {
            let child = self.of_link[joint.child];
            if child == body { joint.parent.map(|p| self.of_link[p]) } else { Some(child) }
        };
        if joints[a].iter().any(|j| other_end(j, a) == Some(b)) {
            return false;
        }
        let turning = |j: &&&JointSpec| matches!(j.kind, JointKind::Revolute | JointKind::Ball);
        !joints[a].iter().filter(turning).any(|ja| {
            joints[b].iter().filter(turning).any(|jb| {
                let hub = other_end(ja, a);
                let reach = |body, joint: &JointSpec| self.reach(spec, body, joint.pose.translation);
                hub.is_some()
                    && hub == other_end(jb, b)
                    && ja.pose.translation.distance(jb.pose.translation) > reach(a, ja) + reach(b, jb)
            })
        })
    }

    /// How far a body's colliders get from a point that is fixed in it.
    fn reach(&self, spec: &WorldSpec, body: usize, point: glamx::DVec3) -> f64 {
        let links = self.members[body].iter().map(|l| &spec.links[*l]);
        links.flat_map(|link| link.collisions.iter().map(move |c| (link, c))).fold(
            0.0,
            |reach: f64, (link, collision)| {
                let center = (link.pose * collision.pose).translation;
                reach.max(center.distance(point) + radius(&collision.shape))
            },
        )
    }
}

/// Where a body starts: where the first of its links that starts elsewhere takes it.
fn start(spec: &WorldSpec, frame: &DPose3, links: &[usize]) -> DPose3 {
    let moved = links.iter().map(|link| &spec.links[*link]).find_map(|link| Some((link, link.start?)));
    moved.map_or(*frame, |(link, start)| start * link.pose.inv_mul(frame))
}

/// A radius about a shape's origin that holds it.
fn radius(shape: &Shape) -> f64 {
    match shape {
        Shape::Box { size } => size.length() / 2.0,
        Shape::Sphere { radius } => *radius,
        Shape::Cylinder { radius, length } | Shape::Cone { radius, length } => radius.hypot(length / 2.0),
        Shape::Capsule { radius, length } => radius + length / 2.0,
        Shape::Ellipsoid { radii } => radii.max_element(),
        Shape::ConvexHull { points } | Shape::TriMesh { points, .. } | Shape::Decomposition { points, .. } => {
            points.iter().map(|p| p.length()).fold(0.0, f64::max)
        }
        Shape::Polyline { points, height } => {
            points.iter().map(|[x, y]| x.hypot(*y).hypot(*height)).fold(0.0, f64::max)
        }
        Shape::Plane { .. } | Shape::HeightField { .. } => f64::INFINITY,
        Shape::Empty => 0.0,
    }
}

fn find(leader: &mut [usize], mut link: usize) -> usize {
    while leader[link] != link {
        leader[link] = leader[leader[link]];
        link = leader[link];
    }
    link
}

/// References that lead nowhere.
pub(in crate::world) fn check_references(spec: &WorldSpec) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut check = |name: &str, what: &str, n: usize, count: usize| {
        if n >= count {
            errors.push(BuildError::new(name, format!("refers to {what} number {n}, but there are {count}")));
        }
    };
    let (models, links, joints) = (spec.models.len(), spec.links.len(), spec.joints.len());
    for (n, model) in spec.models.iter().enumerate() {
        if let Some(link) = model.canonical_link {
            check(&model.name, "link", link, links);
        }
        if let Some(parent) = model.parent {
            check(&model.name, "an earlier model, but to model", parent, n);
        }
    }
    for LinkSpec { name, model, .. } in &spec.links {
        check(name, "model", *model, models);
    }
    for joint in &spec.joints {
        check(&joint.name, "link", joint.child, links);
        if let Some(parent) = joint.parent {
            check(&joint.name, "link", parent, links);
        }
    }
    for follower in &spec.followers {
        check("follower", "joint", follower.follower.0, joints);
        check("follower", "joint", follower.leader.0, joints);
    }
    for robot in &spec.robots {
        check("robot", "model", robot.model, models);
        if let Some(wheels) = &robot.wheels {
            check("robot", "joint", wheels.left, joints);
            check("robot", "joint", wheels.right, joints);
        }
    }
    errors
}
