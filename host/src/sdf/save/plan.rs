//! Which part of a world is saved where.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use glamx::DPose3;

use super::Saving;
use super::config::{Config, Held};
use super::numbers::same;
use crate::sdf::frames::Pinned;
use crate::sdf::tree::Node;
use crate::sdf::typed::{Frame, Model};

/// The element that places a model.
#[derive(Clone, Copy)]
pub(super) enum Site<'a> {
    Model(Node<'a>),
    Include(Node<'a>),
}

impl<'a> Site<'a> {
    pub(super) fn node(self) -> Node<'a> {
        match self {
            Self::Model(node) | Self::Include(node) => node,
        }
    }
}

/// What is saved where.
pub(super) struct Plan<'a> {
    /// Where everything is to be.
    pub(super) target: Config,
    /// Models, by scoped name, in what is around them, as the elements of the new text have them: no state is in it.
    pub(super) in_scope: HashMap<String, DPose3>,
    /// Where models are to be in the world with all joints at 0, the state being applied.
    pub(super) bases: HashMap<String, DPose3>,
    /// Models, by scoped name, whose elements get another pose.
    pub(super) moved: HashSet<String>,
    /// Frames of the world by name, where they are to be.
    pub(super) frames: HashMap<String, DPose3>,
    /// The entries of models in the state, by scoped name.
    pub(super) entries: HashMap<String, Node<'a>>,
    /// The state that is applied when the file is loaded.
    pub(super) state: Option<Node<'a>>,
    held: Held,
}

impl<'a> Plan<'a> {
    pub(super) fn new(saving: &Saving<'a>) -> Self {
        let state = saving.applied_state();
        let mut plan = Self {
            target: saving.current.edited(&saving.now.models, saving.edits),
            in_scope: HashMap::new(),
            bases: HashMap::new(),
            moved: HashSet::new(),
            frames: HashMap::new(),
            entries: HashMap::new(),
            state,
            held: Held::of(&saving.before),
        };
        if let Some(state) = state {
            plan.entries_in(saving, state, "");
        }
        for model in saving.kept() {
            plan.outer(saving, model);
        }
        for frame in saving.before.frames.iter().filter(|frame| saving.own_frame(frame).is_some()) {
            let pose = plan.carried(saving, frame);
            plan.frames.insert(frame.name.clone(), pose);
        }
        plan
    }

    /// Whether all frames of a model are where its elements have them.
    pub(super) fn is_expressed(&self, model: &Model) -> bool {
        let mut expressed = true;
        model.walk(&mut |model| {
            let name = &model.scoped_name;
            let at = (self.bases.get(name), self.target.frames.get(name));
            expressed &= matches!(at, (Some(is), Some(wanted)) if same(is, wanted));
        });
        expressed
    }

    /// The frames of the new text.
    pub(super) fn pinned<'r>(&self, saving: &Saving<'r>) -> Pinned<'r> {
        Pinned::new(saving.root, &self.in_scope, &self.frames)
    }

    fn entries_in(&mut self, saving: &Saving<'a>, node: Node<'a>, around: &str) {
        for entry in node.children_named(saving.words().model) {
            let name = around.to_owned() + entry.attribute_value("name").unwrap_or("");
            // Of two the last one counts.
            self.entries_in(saving, entry, &format!("{name}::"));
            self.entries.insert(name, entry);
        }
    }

    /// Whether the state says where a model is.
    fn is_in_state(&self, model: &Model) -> bool {
        self.entries.get(&model.scoped_name).is_some_and(|entry| entry.child("pose").is_some())
    }

    /// Decides on a model of the world.
    fn outer(&mut self, saving: &Saving<'a>, model: &Model) {
        let name = &model.scoped_name;
        let (was, wanted) = (saving.current.frames[name], self.target.frames[name]);
        let mut base = saving.current.bases[name];
        let mut in_scope = model.pose_in_parent;
        // A model that joints hold stays, as far as its element goes: its links are what moves.
        if !same(&was, &wanted) && !self.held.outer.contains(name) {
            base = wanted;
            if !self.is_in_state(model) && saving.site(model).is_some() {
                in_scope = wanted;
                self.moved.insert(name.clone());
            }
        }
        self.place(saving, model, base, in_scope);
    }

    /// Decides on a model in a model.
    fn inner(&mut self, saving: &Saving<'a>, model: &Model, around: &Model, base: DPose3) {
        let name = &model.scoped_name;
        let along = base * model.pose_in_parent;
        let bases = &saving.current.bases;
        let stays = base * bases[&around.scoped_name].inv_mul(&bases[name]);
        let rests = if self.is_in_state(model) { stays } else { along };
        let wanted = self.target.frames[name];
        if self.held.inner.contains(name) || same(&wanted, &rests) {
            return self.place(saving, model, rests, model.pose_in_parent);
        }
        let site = saving.site(model).filter(|site| !self.is_in_state(model) && !saving.is_named(model, *site));
        match site {
            Some(_) => {
                self.moved.insert(name.clone());
                self.place(saving, model, wanted, base.inv_mul(&wanted));
            }
            None if saving.has_world => self.place(saving, model, wanted, model.pose_in_parent),
            // Without a world there is no state: it stays.
            None => self.place(saving, model, rests, model.pose_in_parent),
        }
    }

    fn place(&mut self, saving: &Saving<'a>, model: &Model, base: DPose3, in_scope: DPose3) {
        self.bases.insert(model.scoped_name.clone(), base);
        self.in_scope.insert(model.scoped_name.clone(), in_scope);
        for nested in &model.models {
            self.inner(saving, nested, model, base);
        }
    }

    /// Where a frame of the world goes with what it is attached to.
    fn carried(&self, saving: &Saving<'_>, frame: &Frame) -> DPose3 {
        let top = frame.attached_link.split("::").next().unwrap_or("");
        let model = saving.before.models.iter().find(|model| model.name == top);
        match model.and_then(|model| Some((model.pose_in_parent, *self.in_scope.get(&model.scoped_name)?))) {
            Some((was, is)) if was != is => is * was.inv_mul(&frame.pose_in_parent),
            _ => frame.pose_in_parent,
        }
    }
}

/// Attributes that name frames.
const REFERENCES: [&str; 5] = ["relative_to", "frame", "attached_to", "expressed_in", "placement_frame"];

impl<'a> Saving<'a> {
    /// The `<state>` that is applied when the file is loaded.
    fn applied_state(&self) -> Option<Node<'a>> {
        let fits = |name: &str| name.is_empty() || name == self.before.name;
        self.element(&self.before.states.iter().rev().find(|state| fits(&state.world_name))?.span)
    }

    /// The element of the file that places a model; none for what is in an included file, or was made from something else.
    pub(super) fn site(&self, model: &Model) -> Option<Site<'a>> {
        let span = model.include.as_ref().map_or(&model.span, |include| &include.span);
        let node = self.element(span)?;
        let mut around = std::iter::successors(node.parent(), Node::parent);
        if !around.all(|node| matches!(node.name(), "model" | "world" | "sdf")) {
            return None;
        }
        match (node.name(), &model.include) {
            // The own frame of a model that is merged is no more than a name.
            ("include", Some(_)) => Some(Site::Include(node)),
            ("model", None) => Some(Site::Model(node)),
            _ => None,
        }
    }

    /// The element of a frame of the world.
    pub(super) fn own_frame(&self, frame: &Frame) -> Option<Node<'a>> {
        self.element(&frame.span).filter(|node| node.name() == "frame")
    }

    /// Whether something around a model in a model is placed by it: it would move as well.
    fn is_named(&self, model: &Model, site: Site<'a>) -> bool {
        let node = site.node();
        let outermost =
            std::iter::successors(Some(node), Node::parent).take_while(|n| n.name() == "model" || n.id() == node.id());
        let Some(outermost) = outermost.last() else { return false };
        let (inner, begin, middle) = (node.span().range(), format!("{}::", model.name), format!("::{}::", model.name));
        let end = format!("::{}", model.name);
        let names = |value: &str| {
            value == model.name || value.starts_with(&begin) || value.contains(&middle) || value.ends_with(&end)
        };
        let outside = |range: &Range<usize>| !inner.contains(&range.start);
        let mut open = vec![outermost];
        while let Some(node) = open.pop() {
            if node.attributes().any(|a| REFERENCES.contains(&a.name()) && names(a.value())) {
                return true;
            }
            open.extend(node.children().filter(|child| outside(&child.span().range())));
        }
        false
    }
}
