//! Poses in scopes, and the links that frames move with.

use glamx::DPose3;

use super::graph::{Body, Graph, Kind, NONE, Solved};
use crate::sdf::diagnostic::Code;
use crate::sdf::source::Span;

impl Graph<'_> {
    /// Resolves the pose of a node in its scope, and of all that it hangs on. Without recursion: a chain may be
    /// as long as a file.
    pub(super) fn solve_pose(&mut self, start: u32) {
        let mut stack = vec![start];
        while let Some(&node) = stack.last() {
            match self.nodes[node as usize].pose {
                Solved::Done(_) | Solved::Failed => {
                    stack.pop();
                    continue;
                }
                Solved::New => {
                    if !self.find_relative(node) {
                        self.nodes[node as usize].pose = Solved::Failed;
                        continue;
                    }
                    self.nodes[node as usize].pose = Solved::Busy;
                }
                Solved::Busy => {}
            }
            self.step(node, &mut stack);
        }
    }

    /// Goes on with a node that is being resolved: to what it hangs on, or to its pose.
    fn step(&mut self, node: u32, stack: &mut Vec<u32>) {
        let data = &self.nodes[node as usize];
        let mut open = None;
        let mut failed = false;
        for needed in data.relative.iter().chain(&data.placement) {
            match self.nodes[*needed as usize].pose {
                Solved::New => open = open.or(Some(*needed)),
                Solved::Busy => {
                    let at = stack.iter().position(|n| n == needed).unwrap_or(0);
                    let cycle = stack[at..].to_vec();
                    self.report_pose_cycle(&cycle);
                    self.nodes[node as usize].pose = Solved::Failed;
                    return;
                }
                Solved::Failed => failed = true,
                Solved::Done(_) => {}
            }
        }
        if failed {
            self.nodes[node as usize].pose = Solved::Failed;
        } else if let Some(open) = open {
            stack.push(open);
        } else {
            let pose = self.compose(node);
            self.nodes[node as usize].pose = Solved::Done(pose);
        }
    }

    fn compose(&self, node: u32) -> DPose3 {
        let data = &self.nodes[node as usize];
        let raw = self.raw_pose(node).map_or(DPose3::IDENTITY, |p| p.value);
        let pose = self.along(&data.relative, raw);
        if data.placement.is_empty() {
            return pose;
        }
        pose * self.along(&data.placement, DPose3::IDENTITY).inverse()
    }

    /// A pose in the frame at the end of a way, taken to the scope where the way begins.
    pub(super) fn along(&self, way: &[u32], pose: DPose3) -> DPose3 {
        let mut product = pose;
        for node in way.iter().rev() {
            if let Solved::Done(step) = self.nodes[*node as usize].pose
                && step != DPose3::IDENTITY
            {
                product = step * product;
            }
        }
        product
    }

    /// Whether all poses on a way are known.
    pub(super) fn is_known(&self, way: &[u32]) -> bool {
        way.iter().all(|n| matches!(self.nodes[*n as usize].pose, Solved::Done(_)))
    }

    /// Finds the frames that a node's pose hangs on. Says what is wrong where there are none.
    fn find_relative(&mut self, node: u32) -> bool {
        let scope = self.nodes[node as usize].scope;
        let Some(pose) = self.raw_pose(node) else { return true };
        let (name, span): (&str, Option<Span>) = match self.nodes[node as usize].kind {
            _ if !pose.relative_to.is_empty() => (&pose.relative_to, pose.span.clone()),
            // A joint is where its child is, and a frame where it is attached.
            Kind::Joint(joint) => (&joint.child, None),
            Kind::Frame(frame) => (&frame.attached_to, None),
            _ => ("", None),
        };
        let Some(way) = self.look_up(scope, name) else {
            if let Some(span) = span
                && !self.is_incomplete(scope, name)
            {
                let what = self.nodes[node as usize].name;
                let message = format!(
                    "the pose of {what} is relative to \"{name}\", which {} does not have",
                    self.describe(scope)
                );
                let help = self.suggestion(scope, name);
                self.report(scope, Code::PoseRelativeToInvalid, message, span, help);
            }
            return false;
        };
        if way == [node] {
            let span = span.unwrap_or_else(|| self.span_of(node));
            let what = self.nodes[node as usize].name;
            self.report(
                scope,
                Code::PoseRelativeToCycle,
                format!("the pose of {what} is relative to itself"),
                span,
                None,
            );
            return false;
        }
        self.nodes[node as usize].relative = way;
        self.find_placement(node)
    }

    fn find_placement(&mut self, node: u32) -> bool {
        let Kind::Model(model, inner) = self.nodes[node as usize].kind else { return true };
        if model.placement_frame.is_empty() {
            return true;
        }
        match self.look_up(inner, &model.placement_frame) {
            Some(way) => {
                self.nodes[node as usize].placement = way;
                true
            }
            None => {
                if !self.is_incomplete(inner, &model.placement_frame) {
                    let message =
                        format!("model {} has no frame \"{}\" to place it by", model.name, model.placement_frame);
                    let span = model.include.as_ref().map_or(&model.span, |i| &i.span).clone();
                    let help = self.suggestion(inner, &model.placement_frame);
                    let scope = self.nodes[node as usize].scope;
                    self.report(scope, Code::ModelPlacementFrameInvalid, message, span, help);
                }
                false
            }
        }
    }

    fn report_pose_cycle(&mut self, cycle: &[u32]) {
        let names: Vec<_> = cycle.iter().chain(cycle.first()).map(|n| self.nodes[*n as usize].name).collect();
        let Some(first) = cycle.first() else { return };
        let span = self.raw_pose(*first).and_then(|p| p.span.clone()).unwrap_or_else(|| self.span_of(*first));
        let message = format!("poses are relative to one another in a circle: {}", shown(&names));
        let scope = self.nodes[*first as usize].scope;
        self.report(
            scope,
            Code::PoseRelativeToCycle,
            message,
            span,
            Some("one of them must hang on something else".into()),
        );
    }

    /// Resolves the link that a node moves with.
    pub(super) fn solve_body(&mut self, start: u32) {
        let mut way = Vec::new();
        let mut at = start;
        let result = loop {
            match self.nodes[at as usize].body {
                Solved::Done(body) => break Solved::Done(body),
                Solved::Failed => break Solved::Failed,
                Solved::Busy => {
                    let from = way.iter().position(|n| *n == at).unwrap_or(0);
                    let cycle = way[from..].to_vec();
                    self.report_body_cycle(&cycle);
                    break Solved::Failed;
                }
                Solved::New => {}
            }
            self.nodes[at as usize].body = Solved::Busy;
            way.push(at);
            match self.next_body(at) {
                Some(Ok(body)) => break Solved::Done(body),
                Some(Err(next)) => at = next,
                None => break Solved::Failed,
            }
        };
        for node in way {
            self.nodes[node as usize].body = result;
        }
    }

    /// The body of a node, or the node that has the same body.
    fn next_body(&mut self, node: u32) -> Option<Result<Body, u32>> {
        let scope = self.nodes[node as usize].scope;
        match self.nodes[node as usize].kind {
            Kind::Link(_) => Some(Ok(Body::Link(node))),
            Kind::Joint(joint) => self.look_up(scope, &joint.child).map(|way| Err(self.end_of(scope, &way))),
            Kind::Model(_, inner) => Some(Err(self.scopes[inner as usize].first)),
            Kind::Frame(frame) => match self.look_up(scope, &frame.attached_to) {
                Some(way) => {
                    if way == [node] {
                        let message = format!("frame {} is attached to itself", frame.name);
                        self.report(scope, Code::FrameAttachedToCycle, message, frame.span.clone(), None);
                        return None;
                    }
                    Some(Err(self.end_of(scope, &way)))
                }
                None => {
                    if !self.is_incomplete(scope, &frame.attached_to) {
                        let message = format!(
                            "frame {} is attached to \"{}\", which {} does not have",
                            frame.name,
                            frame.attached_to,
                            self.describe(scope)
                        );
                        let help = self.suggestion(scope, &frame.attached_to);
                        self.report(scope, Code::FrameAttachedToInvalid, message, frame.span.clone(), help);
                    }
                    None
                }
            },
            Kind::Root => self.root_body(scope),
        }
    }

    /// The canonical link of a model; the world of a world.
    fn root_body(&mut self, scope: u32) -> Option<Result<Body, u32>> {
        let inner = &self.scopes[scope as usize];
        let Some(model) = inner.model else { return Some(Ok(Body::World)) };
        let first = inner.first + 1;
        if !model.canonical_link.is_empty() {
            let way = self.look_up(scope, &model.canonical_link);
            if let Some(node) = way.as_ref().and_then(|way| way.last())
                && let Kind::Link(_) = self.nodes[*node as usize].kind
            {
                return Some(Ok(Body::Link(*node)));
            }
            if !self.is_incomplete(scope, &model.canonical_link) {
                let message =
                    format!("model {} has no link \"{}\" to be its canonical link", model.name, model.canonical_link);
                let help = self.suggestion(scope, &model.canonical_link);
                self.report(scope, Code::ModelCanonicalLinkInvalid, message, model.span.clone(), help);
            }
            return None;
        }
        if !model.links.is_empty() {
            return Some(Ok(Body::Link(first)));
        }
        // The first model in it that has a link.
        let models = first + (model.joints.len() + model.frames.len()) as u32;
        for index in 0..model.models.len() as u32 {
            if let Kind::Model(_, nested) = self.nodes[(models + index) as usize].kind
                && self.has_link(nested)
            {
                return Some(Err(self.scopes[nested as usize].first));
            }
        }
        if model.is_static {
            // It never moves, and nor does what is fixed to it.
            return Some(Ok(Body::World));
        }
        if !self.scopes[scope as usize].incomplete {
            let message = format!("model {} has no link", model.name);
            let help = Some("add a <link>, or set <static> to true".to_owned());
            self.report(scope, Code::ModelWithoutLink, message, model.span.clone(), help);
        }
        None
    }

    fn has_link(&self, scope: u32) -> bool {
        let mut open = vec![scope];
        while let Some(scope) = open.pop() {
            let Some(model) = self.scopes[scope as usize].model else { continue };
            if !model.links.is_empty() || !model.canonical_link.is_empty() || model.is_static {
                return true;
            }
            let first = self.scopes[scope as usize].first as usize + 1;
            let count = self.scopes[scope as usize].count as usize;
            for node in &self.nodes[first..first + count] {
                if let Kind::Model(_, inner) = node.kind
                    && inner != NONE
                {
                    open.push(inner);
                }
            }
        }
        false
    }

    fn report_body_cycle(&mut self, cycle: &[u32]) {
        let names: Vec<_> = cycle.iter().chain(cycle.first()).map(|n| self.nodes[*n as usize].name).collect();
        let Some(first) = cycle.first() else { return };
        let message = format!("frames are attached to one another in a circle: {}", shown(&names));
        let (scope, span) = (self.nodes[*first as usize].scope, self.span_of(*first));
        self.report(
            scope,
            Code::FrameAttachedToCycle,
            message,
            span,
            Some("one of them must be attached to a link".into()),
        );
    }
}

/// A chain of names, cut where it is long.
fn shown(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    if names.len() <= SHOWN {
        return names.join(" -> ");
    }
    format!("{} -> … -> {}", names[..SHOWN - 1].join(" -> "), names[names.len() - 1])
}
