//! The scopes and frames of a file, and the names in them.

use std::collections::HashMap;

use glamx::{DPose3, DVec3};

use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::read::first_tag;
use crate::sdf::source::Span;
use crate::sdf::typed::{Frame, Joint, Link, LinkRef, Model, Pose, Root, World};
use crate::suggest::nearest;

pub(super) const NONE: u32 = u32::MAX;

/// Findings that say what may have been meant; each such search goes through all names of a scope.
const MAX_SUGGESTIONS: usize = 100;

/// What a frame is.
#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    /// The scope's own frame.
    Root,
    Link(&'a Link),
    Joint(&'a Joint),
    Frame(&'a Frame),
    /// A model in the scope; its own scope has this index.
    Model(&'a Model, u32),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Solved<T> {
    New,
    Busy,
    Done(T),
    Failed,
}

/// What a frame is fixed to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Body {
    World,
    /// The node of a link.
    Link(u32),
}

pub(super) struct Node<'a> {
    pub(super) scope: u32,
    pub(super) name: &'a str,
    pub(super) kind: Kind<'a>,
    /// The pose in the scope.
    pub(super) pose: Solved<DPose3>,
    /// The link that the frame moves with.
    pub(super) body: Solved<Body>,
    /// The way to the frame that the pose is relative to: models, then the frame; empty for the scope's own.
    pub(super) relative: Vec<u32>,
    /// The way to the placement frame within the model.
    pub(super) placement: Vec<u32>,
}

/// A model, world or file.
pub(super) struct Scope<'a> {
    pub(super) name: &'a str,
    pub(super) model: Option<&'a Model>,
    pub(super) world: Option<&'a World>,
    /// The scope around it.
    pub(super) parent: u32,
    /// Its frames are `first`, its own, and those after it: links, joints, frames, models.
    pub(super) first: u32,
    pub(super) count: u32,
    /// An include in it failed: names that are missing are no further error.
    pub(super) incomplete: bool,
}

/// The frames of a file.
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) names: HashMap<(u32, &'a str), u32>,
    pub(super) found: Vec<Diagnostic>,
}

/// What was resolved of a joint.
#[derive(Clone, Default)]
pub struct JointAnswer {
    pub(super) parent: LinkRef,
    pub(super) child: LinkRef,
    pub(super) in_child: DPose3,
    /// For each axis: in the joint frame, in the model frame.
    pub(super) axes: Vec<(DVec3, DVec3)>,
}

/// What was resolved, in the order of the nodes.
#[derive(Default)]
pub struct Answers {
    /// The scopes that are in no other.
    pub(super) roots: Vec<usize>,
    /// The index of each scope's first node.
    pub(super) first: Vec<u32>,
    /// For each node that is a model, its scope.
    pub(super) scope_of: HashMap<u32, u32>,
    pub(super) poses: Vec<DPose3>,
    /// For frames and scopes, the link that they are fixed to.
    pub(super) bodies: HashMap<u32, String>,
    pub(super) joints: HashMap<u32, JointAnswer>,
    /// Poses of parts that are not relative to the link, joint or world that they belong to: by the place of the
    /// pose in its file and the owner's node.
    pub(super) parts: HashMap<(usize, usize, u32), DPose3>,
}

impl<'a> Graph<'a> {
    fn empty() -> Self {
        Self { nodes: Vec::new(), scopes: Vec::new(), names: HashMap::new(), found: Vec::new() }
    }

    /// The worlds, or the model, of a file.
    pub(super) fn of_root(root: &'a Root) -> Self {
        let mut graph = Self::empty();
        for world in &root.worlds {
            graph.add_world(world);
        }
        if let Some(model) = &root.model {
            // A scope around it, so that its own pose and placement are resolved like those of others.
            let file =
                Scope { name: "", model: None, world: None, parent: NONE, first: 0, count: 0, incomplete: false };
            let scope = graph.open_scope(file);
            graph.add_parts(scope, &[], &[], &[], std::slice::from_ref(model));
        }
        graph
    }

    /// One model alone.
    pub(super) fn of_model(model: &'a Model) -> Self {
        let mut graph = Self::empty();
        graph.add_model(model, NONE);
        graph
    }

    fn add_world(&mut self, world: &'a World) {
        let scope = self.open_scope(Scope {
            name: &world.name,
            model: None,
            world: Some(world),
            parent: NONE,
            first: 0,
            count: 0,
            incomplete: world.incomplete,
        });
        self.add_parts(scope, &[], &world.joints, &world.frames, &world.models);
    }

    fn add_model(&mut self, model: &'a Model, parent: u32) -> u32 {
        let scope = self.open_scope(Scope {
            name: &model.name,
            model: Some(model),
            world: None,
            parent,
            first: 0,
            count: 0,
            incomplete: model.incomplete,
        });
        self.add_parts(scope, &model.links, &model.joints, &model.frames, &model.models);
        scope
    }

    fn open_scope(&mut self, mut scope: Scope<'a>) -> u32 {
        let index = self.scopes.len() as u32;
        scope.first = self.nodes.len() as u32;
        let name = scope.name;
        self.scopes.push(scope);
        self.nodes.push(Node {
            scope: index,
            name,
            kind: Kind::Root,
            pose: Solved::Done(DPose3::IDENTITY),
            body: Solved::New,
            relative: Vec::new(),
            placement: Vec::new(),
        });
        index
    }

    fn add_parts(
        &mut self,
        scope: u32,
        links: &'a [Link],
        joints: &'a [Joint],
        frames: &'a [Frame],
        models: &'a [Model],
    ) {
        let count = links.len() + joints.len() + frames.len() + models.len();
        self.nodes.reserve(count);
        self.names.reserve(count);
        for link in links {
            self.add(scope, &link.name, Kind::Link(link));
        }
        for joint in joints {
            self.add(scope, &joint.name, Kind::Joint(joint));
        }
        for frame in frames {
            self.add(scope, &frame.name, Kind::Frame(frame));
        }
        let first = self.nodes.len();
        for model in models {
            self.add(scope, &model.name, Kind::Model(model, NONE));
        }
        self.scopes[scope as usize].count = count as u32;
        for (index, model) in models.iter().enumerate() {
            let inner = self.add_model(model, scope);
            self.nodes[first + index].kind = Kind::Model(model, inner);
        }
    }

    fn add(&mut self, scope: u32, name: &'a str, kind: Kind<'a>) {
        let id = self.nodes.len() as u32;
        // The first of several with one name is meant; that there are several was said already.
        self.names.entry((scope, name)).or_insert(id);
        self.nodes.push(Node {
            scope,
            name,
            kind,
            pose: Solved::New,
            body: Solved::New,
            relative: Vec::new(),
            placement: Vec::new(),
        });
    }

    /// The way to what `name` means in a scope; empty for the scope's own frame.
    pub(super) fn look_up(&self, scope: u32, name: &str) -> Option<Vec<u32>> {
        let is_world = self.scopes[scope as usize].model.is_none();
        if name.is_empty() || (name == "__model__" && !is_world) || (name == "world" && is_world) {
            return Some(Vec::new());
        }
        if let Some(node) = self.names.get(&(scope, name)) {
            return Some(vec![*node]);
        }
        let mut way = Vec::new();
        let mut at = scope;
        let mut rest = name;
        while let Some((model, inner)) = rest.split_once("::") {
            let node = *self.names.get(&(at, model))?;
            let Kind::Model(_, scope) = self.nodes[node as usize].kind else { return None };
            way.push(node);
            at = scope;
            rest = inner;
        }
        if way.is_empty() {
            return None;
        }
        if rest != "__model__" {
            way.push(*self.names.get(&(at, rest))?);
        }
        Some(way)
    }

    /// The node whose body is that of a way.
    pub(super) fn end_of(&self, scope: u32, way: &[u32]) -> u32 {
        match way.last() {
            None => self.scopes[scope as usize].first,
            Some(node) => match self.nodes[*node as usize].kind {
                Kind::Model(_, inner) => self.scopes[inner as usize].first,
                _ => *node,
            },
        }
    }

    /// A link's name in a scope that it is in, directly or within models.
    pub(super) fn name_in(&self, scope: u32, link: u32) -> String {
        let node = &self.nodes[link as usize];
        let mut name = node.name.to_owned();
        let mut at = node.scope;
        while at != scope && at != NONE {
            let inner = &self.scopes[at as usize];
            name = format!("{}::{name}", inner.name);
            at = inner.parent;
        }
        name
    }

    /// What a scope is, for a sentence.
    pub(super) fn describe(&self, scope: u32) -> String {
        let scope = &self.scopes[scope as usize];
        match (scope.model, scope.world) {
            (Some(_), _) => format!("model {}", scope.name),
            (_, Some(_)) => format!("world {}", scope.name),
            _ => "the file".to_owned(),
        }
    }

    /// Whether a name that is missing in this scope may be missing because an include failed.
    pub(super) fn is_incomplete(&self, scope: u32, name: &str) -> bool {
        let mut at = scope;
        let mut rest = name;
        loop {
            if self.scopes[at as usize].incomplete {
                return true;
            }
            let Some((model, inner)) = rest.split_once("::") else { return false };
            let Some(node) = self.names.get(&(at, model)) else { return false };
            let Kind::Model(_, scope) = self.nodes[*node as usize].kind else { return false };
            (at, rest) = (scope, inner);
        }
    }

    /// The name in a scope that is nearest to one that is not there.
    pub(super) fn suggestion(&self, scope: u32, name: &str) -> Option<String> {
        if self.found.len() > MAX_SUGGESTIONS {
            return None;
        }
        let inner = &self.scopes[scope as usize];
        let names = || {
            let first = inner.first as usize + 1;
            self.nodes[first..first + inner.count as usize].iter().map(|n| n.name)
        };
        if let Some(near) = nearest(name, names()) {
            return Some(format!("did you mean {near}?"));
        }
        // A part of a model within, named without the model.
        for node in &self.nodes[inner.first as usize + 1..][..inner.count as usize] {
            if let Kind::Model(model, scope) = node.kind
                && self.names.contains_key(&(scope, name))
            {
                return Some(format!("did you mean {}::{name}?", model.name));
            }
        }
        let shown: Vec<_> = names().filter(|n| !n.starts_with("_merged__")).take(12).collect();
        if shown.is_empty() {
            return None;
        }
        Some(format!("the frames of {} are {}", self.describe(scope), shown.join(", ")))
    }

    /// Reports a finding about something in `scope`.
    pub(super) fn report(&mut self, scope: u32, code: Code, message: String, span: Span, help: Option<String>) {
        let mut diagnostic = Diagnostic::error(code, message).at(first_tag(&span)).help_if(help);
        let mut at = scope;
        while at != NONE {
            let inner = &self.scopes[at as usize];
            diagnostic.include_chain.extend(inner.model.and_then(|m| m.include.as_ref()).map(|i| first_tag(&i.span)));
            at = inner.parent;
        }
        self.found.push(diagnostic);
    }

    pub(super) fn span_of(&self, node: u32) -> Span {
        let data = &self.nodes[node as usize];
        match data.kind {
            Kind::Link(link) => link.span.clone(),
            Kind::Joint(joint) => joint.span.clone(),
            Kind::Frame(frame) => frame.span.clone(),
            Kind::Model(model, _) => model.include.as_ref().map_or(&model.span, |i| &i.span).clone(),
            Kind::Root => self.scope_span(data.scope),
        }
    }

    pub(super) fn scope_span(&self, scope: u32) -> Span {
        let scope = &self.scopes[scope as usize];
        match (scope.model, scope.world) {
            (Some(model), _) => model.span.clone(),
            (None, Some(world)) => world.span.clone(),
            // A scope is a model or a world.
            (None, None) => crate::sdf::source::Source::new("", "").span(0..0),
        }
    }

    /// The pose of a node as its file writes it.
    pub(super) fn raw_pose(&self, node: u32) -> Option<&'a Pose> {
        match self.nodes[node as usize].kind {
            Kind::Link(link) => Some(&link.pose),
            Kind::Joint(joint) => Some(&joint.pose),
            Kind::Frame(frame) => Some(&frame.pose),
            Kind::Model(model, _) => Some(&model.pose),
            Kind::Root => None,
        }
    }
}
