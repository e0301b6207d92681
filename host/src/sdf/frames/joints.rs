//! The ends and axes of joints, the parts of links, and everything of a file in order.

use glamx::{DPose3, DVec3};

use super::graph::{Answers, Body, Graph, JointAnswer, Kind, NONE, Solved};
use crate::sdf::diagnostic::{Code, Diagnostic, Severity};
use crate::sdf::source::Span;
use crate::sdf::typed::{Joint, Link, LinkRef, Pose, Sensor};

impl Graph<'_> {
    /// Resolves everything.
    pub(super) fn solve(mut self) -> (Answers, Vec<Diagnostic>) {
        let mut answers = Answers::default();
        for node in 0..self.nodes.len() as u32 {
            self.solve_pose(node);
            self.solve_body(node);
        }
        for node in 0..self.nodes.len() as u32 {
            let data = &self.nodes[node as usize];
            let scope = data.scope;
            let body = data.body;
            match data.kind {
                Kind::Joint(joint) => {
                    let answer = self.joint(node, joint);
                    answers.joints.insert(node, answer);
                    for sensor in &joint.sensors {
                        self.part(node, &sensor.pose, &mut answers);
                    }
                }
                Kind::Link(link) => self.parts(node, link, &mut answers),
                Kind::Model(_, inner) => _ = answers.scope_of.insert(node, inner),
                Kind::Frame(_) | Kind::Root => {
                    if let (Kind::Root, Some(world)) = (data.kind, self.scopes[scope as usize].world) {
                        let camera = world.gui_camera.as_ref().map(|c| &c.pose);
                        let actors = world.actors.iter().map(|a| &a.pose);
                        for pose in world.lights.iter().map(|l| &l.pose).chain(actors).chain(camera) {
                            self.part(node, pose, &mut answers);
                        }
                    }
                    if let Solved::Done(body) = body {
                        let name = match body {
                            Body::World => "world".to_owned(),
                            Body::Link(link) => self.name_in(scope, link),
                        };
                        answers.bodies.insert(node, name);
                    }
                }
            }
        }
        self.summaries();
        answers.roots = (0..self.scopes.len()).filter(|s| self.scopes[*s].parent == NONE).collect();
        answers.first = self.scopes.iter().map(|s| s.first).collect();
        answers.poses =
            self.nodes.iter().map(|n| if let Solved::Done(pose) = n.pose { pose } else { DPose3::IDENTITY }).collect();
        (answers, self.found)
    }

    /// The pose in the first scope of the frame called `name`.
    pub(super) fn pose_of_name(&mut self, name: &str) -> Option<DPose3> {
        self.pose_in_scope(0, name)
    }

    /// The pose in a scope of its frame called `name`.
    pub(super) fn pose_in_scope(&mut self, scope: u32, name: &str) -> Option<DPose3> {
        let way = self.look_up(scope, name)?;
        for node in &way {
            self.solve_pose(*node);
        }
        self.is_known(&way).then(|| self.along(&way, DPose3::IDENTITY))
    }

    /// The canonical link of the first scope.
    pub(super) fn canonical_of_first(&mut self) -> Option<String> {
        self.solve_body(0);
        match self.nodes[0].body {
            Solved::Done(Body::Link(link)) => Some(self.name_in(0, link)),
            _ => None,
        }
    }

    fn joint(&mut self, node: u32, joint: &Joint) -> JointAnswer {
        let scope = self.nodes[node as usize].scope;
        let mut answer = JointAnswer {
            parent: self.end(scope, joint, &joint.parent, &joint.parent_span, Code::JointParentLinkInvalid),
            child: self.end(scope, joint, &joint.child, &joint.child_span, Code::JointChildLinkInvalid),
            ..JointAnswer::default()
        };
        if answer.parent == answer.child && answer.parent != LinkRef::Unresolved {
            let message = match &answer.parent {
                LinkRef::World => format!("joint {} joins the world to itself", joint.name),
                link => format!("joint {} joins link {} to itself", joint.name, link.name()),
            };
            let help = Some("parent and child must be fixed to different links".to_owned());
            self.report(scope, Code::JointParentSameAsChild, message, joint.child_span.clone(), help);
            // Two frames of one link: the joint joins nothing, but the file can be used.
            if joint.parent != joint.child
                && let Some(last) = self.found.last_mut()
            {
                last.severity = Severity::Warning;
            }
        }
        let Solved::Done(pose) = self.nodes[node as usize].pose else { return answer };
        if let Some(link_pose) = self.pose_of_link(scope, &answer.child) {
            answer.in_child = if pose == link_pose { DPose3::IDENTITY } else { link_pose.inv_mul(&pose) };
        }
        for axis in &joint.axes {
            answer.axes.push(self.axis(scope, joint, axis.xyz, &axis.expressed_in, &axis.span, &pose));
            if let Some(mimic) = &axis.mimic {
                self.check_mimic(scope, joint, &mimic.joint, &mimic.span);
            }
        }
        answer
    }

    /// The pose in `scope` of a link that a joint is fixed to.
    fn pose_of_link(&self, scope: u32, link: &LinkRef) -> Option<DPose3> {
        match link {
            LinkRef::Link(name) => {
                let way = self.look_up(scope, name)?;
                self.is_known(&way).then(|| self.along(&way, DPose3::IDENTITY))
            }
            LinkRef::World => Some(DPose3::IDENTITY),
            LinkRef::Unresolved => None,
        }
    }

    fn end(&mut self, scope: u32, joint: &Joint, name: &str, span: &Span, code: Code) -> LinkRef {
        let what = if code == Code::JointParentLinkInvalid { "parent" } else { "child" };
        if name.is_empty() {
            // That it is missing was said when the joint was read.
            return LinkRef::Unresolved;
        }
        if name == "world" {
            if what == "parent" {
                return LinkRef::World;
            }
            let message = format!("the child of joint {} is the world", joint.name);
            let help = Some("turn the joint round: the world can be the parent".to_owned());
            self.report(scope, code, message, span.clone(), help);
            return LinkRef::Unresolved;
        }
        let Some(way) = self.look_up(scope, name) else {
            if !self.is_incomplete(scope, name) {
                let message = format!(
                    "the {what} of joint {} is \"{name}\", which {} does not have",
                    joint.name,
                    self.describe(scope)
                );
                let help = self.suggestion(scope, name);
                self.report(scope, code, message, span.clone(), help);
            }
            return LinkRef::Unresolved;
        };
        if let Some(node) = way.last()
            && matches!(self.nodes[*node as usize].kind, Kind::Joint(found) if std::ptr::eq(found, joint))
        {
            let message = format!("the {what} of joint {} is the joint itself", joint.name);
            self.report(scope, code, message, span.clone(), Some("name a link or another frame".to_owned()));
            return LinkRef::Unresolved;
        }
        match self.nodes[self.end_of(scope, &way) as usize].body {
            Solved::Done(Body::Link(link)) => LinkRef::Link(self.name_in(scope, link)),
            Solved::Done(Body::World) => LinkRef::World,
            _ => LinkRef::Unresolved,
        }
    }

    fn axis(
        &mut self,
        scope: u32,
        joint: &Joint,
        xyz: DVec3,
        frame: &str,
        span: &Span,
        joint_pose: &DPose3,
    ) -> (DVec3, DVec3) {
        if frame.is_empty() || frame == joint.name {
            return (xyz, joint_pose.rotation * xyz);
        }
        let Some(way) = self.look_up(scope, frame) else {
            if !self.is_incomplete(scope, frame) {
                let message = format!(
                    "the axis of joint {} is expressed in \"{frame}\", which {} does not have",
                    joint.name,
                    self.describe(scope)
                );
                let help = self.suggestion(scope, frame);
                self.report(scope, Code::JointAxisExpressedInInvalid, message, span.clone(), help);
            }
            return (xyz, xyz);
        };
        if !self.is_known(&way) {
            return (xyz, xyz);
        }
        let in_model = self.along(&way, DPose3::IDENTITY).rotation * xyz;
        (joint_pose.rotation.inverse() * in_model, in_model)
    }

    fn check_mimic(&mut self, scope: u32, joint: &Joint, leader: &str, span: &Span) {
        let target = self.look_up(scope, leader).and_then(|way| way.last().copied());
        let message = match target.map(|node| self.nodes[node as usize].kind) {
            Some(Kind::Joint(_)) if leader != joint.name => return,
            Some(Kind::Joint(_)) => format!("joint {} mimics itself", joint.name),
            _ if self.is_incomplete(scope, leader) => return,
            _ => format!("joint {} mimics \"{leader}\", which is no joint of {}", joint.name, self.describe(scope)),
        };
        // The nearest name of one that mimics itself is its own.
        let help = if leader == joint.name {
            Some("name the joint that it follows".to_owned())
        } else {
            self.suggestion(scope, leader)
        };
        self.report(scope, Code::JointAxisMimicInvalid, message, span.clone(), help);
    }

    fn parts(&mut self, node: u32, link: &Link, answers: &mut Answers) {
        for pose in link.collisions.iter().map(|c| &c.pose).chain(link.visuals.iter().map(|v| &v.pose)) {
            self.part(node, pose, answers);
        }
        for pose in link.lights.iter().map(|l| &l.pose).chain(link.sensors.iter().map(|s: &Sensor| &s.pose)) {
            self.part(node, pose, answers);
        }
        let emitters = link.particle_emitters.iter().map(|p| &p.pose);
        for pose in emitters.chain(link.projectors.iter().map(|p| &p.pose)) {
            self.part(node, pose, answers);
        }
    }

    /// A part of a link or joint whose pose is relative to something else.
    fn part(&mut self, owner: u32, pose: &Pose, answers: &mut Answers) {
        let (name, Some(span)) = (&pose.relative_to, &pose.span) else { return };
        let (scope, owner_name) = (self.nodes[owner as usize].scope, self.nodes[owner as usize].name);
        if name.is_empty() || name == owner_name {
            return;
        }
        let Some(way) = self.look_up(scope, name) else {
            if !self.is_incomplete(scope, name) {
                let message = format!(
                    "a pose in {owner_name} is relative to \"{name}\", which {} does not have",
                    self.describe(scope)
                );
                let help = self.suggestion(scope, name);
                self.report(scope, Code::PoseRelativeToInvalid, message, span.clone(), help);
            }
            return;
        };
        let Solved::Done(owner_pose) = self.nodes[owner as usize].pose else { return };
        if self.is_known(&way) {
            let in_owner = owner_pose.inv_mul(&self.along(&way, pose.value));
            answers.parts.insert((part_key(span), span.range().start, owner), in_owner);
        }
    }

    /// One sentence for each scope in which frames cannot be resolved: which ones.
    fn summaries(&mut self) {
        let mut poses: Vec<Vec<u32>> = vec![Vec::new(); self.scopes.len()];
        let mut bodies: Vec<Vec<u32>> = vec![Vec::new(); self.scopes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            // A joint that is where its child is: what is wrong was said of the child.
            let follows = matches!(node.kind, Kind::Joint(joint) if joint.pose.relative_to.is_empty());
            if node.pose == Solved::Failed && !follows {
                poses[node.scope as usize].push(index as u32);
            }
            // A joint's body is its child's: what is wrong there is said of the joint.
            if node.body == Solved::Failed && matches!(node.kind, Kind::Root | Kind::Frame(_)) {
                bodies[node.scope as usize].push(index as u32);
            }
        }
        let incomplete = self.incomplete_scopes();
        for scope in 0..self.scopes.len() as u32 {
            if poses[scope as usize].is_empty() && bodies[scope as usize].is_empty() {
                continue;
            }
            let incomplete = incomplete[scope as usize];
            let span = self.scope_span(scope);
            if !poses[scope as usize].is_empty() && !incomplete {
                let message = format!(
                    "poses in {} cannot be resolved: {}",
                    self.describe(scope),
                    self.list(&poses[scope as usize])
                );
                self.report(scope, Code::PoseRelativeToGraphError, message, span.clone(), None);
            }
            if !bodies[scope as usize].is_empty() && !incomplete {
                let message = format!(
                    "frames in {} lead to no link: {}",
                    self.describe(scope),
                    self.list(&bodies[scope as usize])
                );
                self.report(scope, Code::FrameAttachedToGraphError, message, span, None);
            }
        }
    }

    /// The scopes in which, or within which, an include failed.
    fn incomplete_scopes(&self) -> Vec<bool> {
        let mut incomplete: Vec<bool> = self.scopes.iter().map(|s| s.incomplete).collect();
        // A scope stands behind the one that it is in.
        for scope in (0..self.scopes.len()).rev() {
            let parent = self.scopes[scope].parent;
            if incomplete[scope] && parent != NONE {
                incomplete[parent as usize] = true;
            }
        }
        incomplete
    }

    fn list(&self, nodes: &[u32]) -> String {
        const SHOWN: usize = 12;
        let name = |node: &u32| match self.nodes[*node as usize].kind {
            Kind::Root => "__model__",
            _ => self.nodes[*node as usize].name,
        };
        let names: Vec<_> = nodes.iter().take(SHOWN).map(name).collect();
        let more = if nodes.len() > SHOWN { format!(" and {} more", nodes.len() - SHOWN) } else { String::new() };
        names.join(", ") + &more
    }
}

/// The source that a part stands in, as a key.
pub(super) fn part_key(span: &Span) -> usize {
    std::sync::Arc::as_ptr(span.source()) as usize
}
