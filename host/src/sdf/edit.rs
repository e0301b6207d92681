//! Changes to a tree. What is new points at the place in a source that it was made from.

use std::sync::Arc;

use super::source::Source;
use super::tree::{AttributeData, Document, NONE, Node, NodeData, NodeId, Piece};

impl Document {
    /// Makes `child` the last child of `parent`.
    pub(super) fn append(&mut self, parent: u32, child: u32) {
        self.nodes[child as usize].parent = parent;
        self.nodes[child as usize].next = NONE;
        let last = self.nodes[parent as usize].last_child;
        if last == NONE {
            self.nodes[parent as usize].first_child = child;
        } else {
            self.nodes[last as usize].next = child;
        }
        self.nodes[parent as usize].last_child = child;
    }

    /// Makes a new element point at the place of another one.
    pub(super) fn take_place_of(&mut self, node: u32, other: u32) {
        let (range, tag_end, source) = {
            let other = &self.nodes[other as usize];
            (other.range, other.tag_end, other.source)
        };
        let node = &mut self.nodes[node as usize];
        (node.range, node.tag_end, node.source) = (range, tag_end, source);
    }

    /// Takes an element out of the tree.
    pub(super) fn detach(&mut self, node: u32) {
        let parent = self.nodes[node as usize].parent;
        if parent != NONE {
            self.remove(parent, node);
        }
    }

    /// Keeps those children of an element that `keep` wants. One pass, however many go.
    pub(super) fn retain_children(&mut self, parent: u32, keep: impl Fn(u32) -> bool) {
        let mut at = self.nodes[parent as usize].first_child;
        self.nodes[parent as usize].first_child = NONE;
        self.nodes[parent as usize].last_child = NONE;
        while at != NONE {
            let next = self.nodes[at as usize].next;
            if keep(at) {
                self.append(parent, at);
            }
            at = next;
        }
    }

    /// Gives an element the text of another document's element, and its place.
    pub(super) fn set_text_from(&mut self, node: u32, other: Node<'_>) {
        let text = other.text().to_owned();
        self.set_text(node, &text);
        let source = self.source_index(other.source());
        // A name that is part of another source has to be taken along.
        let name = self.node(NodeId(node)).name().to_owned();
        let attributes = self.nodes[node as usize].attributes;
        if attributes.1 == 0 {
            let data = other.data();
            let node = &mut self.nodes[node as usize];
            node.name = Piece::Made(name.into());
            (node.source, node.range, node.tag_end, node.text_range) =
                (source, data.range, data.tag_end, data.text_range);
        }
    }

    /// Sets the text inside an element.
    pub(super) fn set_text(&mut self, node: u32, text: &str) {
        self.nodes[node as usize].text = Piece::Made(text.into());
    }

    /// Copies an element of another document in as the last child of `parent`, without the attributes called as
    /// in `without`.
    pub(super) fn graft(&mut self, parent: u32, element: Node<'_>, without: &[&str]) -> u32 {
        let source = self.source_index(element.source());
        let first = self.attributes.len() as u32;
        let data = element.data();
        for (attribute, data) in element.attributes().zip(element.attribute_data()) {
            if !without.contains(&attribute.name()) {
                self.attributes.push(data.clone());
            }
        }
        let id = self.nodes.len() as u32;
        self.nodes.push(NodeData {
            attributes: (first, self.attributes.len() as u32 - first),
            source,
            parent: NONE,
            first_child: NONE,
            last_child: NONE,
            next: NONE,
            ..data.clone()
        });
        self.append(parent, id);
        for child in element.children() {
            self.graft(id, child, &[]);
        }
        id
    }

    fn source_index(&mut self, source: &Arc<Source>) -> u32 {
        if Arc::ptr_eq(source, &self.source) {
            return 0;
        }
        let known = self.others.iter().position(|other| Arc::ptr_eq(source, other));
        let index = known.unwrap_or_else(|| {
            self.others.push(Arc::clone(source));
            self.others.len() - 1
        });
        index as u32 + 1
    }

    /// Every node that is still in the tree or was once.
    pub(super) fn ids(&self) -> std::ops::Range<u32> {
        0..self.nodes.len() as u32
    }

    pub(super) fn child_id(&self, parent: u32, name: &str) -> Option<u32> {
        self.node(NodeId(parent)).child(name).map(|c| c.id().0)
    }

    /// The nodes at a path of names from the root.
    pub(super) fn all_named(&self, path: &[&str]) -> Vec<u32> {
        let Some((root, rest)) = path.split_first() else { return Vec::new() };
        let mut at: Vec<u32> = if self.root().name() == *root { vec![0] } else { Vec::new() };
        for name in rest {
            at = at
                .iter()
                .flat_map(|id| self.node(NodeId(*id)).children_named(name).map(|c| c.id().0).collect::<Vec<_>>())
                .collect();
        }
        at
    }

    /// Gives an element another name.
    pub(super) fn rename(&mut self, node: u32, name: &str) {
        self.nodes[node as usize].name = Piece::Made(name.into());
    }

    pub(super) fn rename_child(&mut self, parent: u32, path: &[&str], name: &str) {
        if let Some((_, child)) = self.descend(parent, path) {
            self.nodes[child as usize].name = Piece::Made(name.into());
        }
    }

    /// The node at a path below `parent`, and its own parent.
    fn descend(&self, parent: u32, path: &[&str]) -> Option<(u32, u32)> {
        let mut at = (NONE, parent);
        for name in path {
            at = (at.1, self.child_id(at.1, name)?);
        }
        Some(at)
    }

    /// Moves the node at a path below `from` into `to` under a new name, unless there is one already.
    pub(super) fn move_child(&mut self, from: u32, path: &[&str], to: u32, name: &str) {
        let Some((parent, child)) = self.descend(from, path) else { return };
        self.remove(parent, child);
        self.nodes[child as usize].name = Piece::Made(name.into());
        if let Some(old) = self.child_id(to, name) {
            self.remove(to, old);
        }
        self.append(to, child);
    }

    pub(super) fn remove(&mut self, parent: u32, child: u32) {
        let next = self.nodes[child as usize].next;
        let (mut before, mut at) = (NONE, self.nodes[parent as usize].first_child);
        while at != NONE && at != child {
            (before, at) = (at, self.nodes[at as usize].next);
        }
        if at == NONE {
            return;
        }
        if before == NONE {
            self.nodes[parent as usize].first_child = next;
        } else {
            self.nodes[before as usize].next = next;
        }
        if next == NONE {
            self.nodes[parent as usize].last_child = before;
        }
        self.nodes[child as usize].next = NONE;
        self.nodes[child as usize].parent = NONE;
    }

    /// Adds an element; it stands where its parent's open tag stands.
    pub(super) fn add_child(&mut self, parent: u32, name: &str, text: &str) -> u32 {
        let id = self.nodes.len() as u32;
        let at = &self.nodes[parent as usize];
        let (range, tag_end, source) = ((at.range.0, at.tag_end), at.tag_end, at.source);
        self.nodes.push(NodeData {
            name: Piece::Made(name.into()),
            text: Piece::Made(text.into()),
            attributes: (0, 0),
            source,
            parent,
            first_child: NONE,
            last_child: NONE,
            next: NONE,
            range,
            tag_end,
            text_range: (tag_end, tag_end),
        });
        self.append(parent, id);
        id
    }

    /// Sets an attribute; one that is new stands where the open tag stands.
    pub(super) fn set_attribute(&mut self, node: u32, name: &str, value: &str) {
        let (start, count) = self.nodes[node as usize].attributes;
        let data = &self.nodes[node as usize];
        let place = (data.range.0, data.tag_end);
        let found = (start..start + count).find(|i| self.attribute_name(node, *i) == name);
        if let Some(index) = found {
            self.attributes[index as usize].value = Piece::Made(value.into());
            return;
        }
        // The attributes of a node are one range of the list: move it to the end, where there is room.
        let first = self.attributes.len() as u32;
        for index in start..start + count {
            let moved = self.attributes[index as usize].clone();
            self.attributes.push(moved);
        }
        self.attributes.push(AttributeData {
            name: Piece::Made(name.into()),
            value: Piece::Made(value.into()),
            range: place,
            value_range: place,
        });
        self.nodes[node as usize].attributes = (first, count + 1);
    }

    /// Takes all attributes off an element.
    pub(super) fn clear_attributes(&mut self, node: u32) {
        self.nodes[node as usize].attributes = (0, 0);
    }

    fn attribute_name(&self, node: u32, index: u32) -> &str {
        let source = self.source_at(self.nodes[node as usize].source);
        match &self.attributes[index as usize].name {
            Piece::Empty => "",
            Piece::Source(start, end) => source.text().get(*start as usize..*end as usize).unwrap_or(""),
            Piece::Made(text) => text,
        }
    }

    pub(super) fn rename_attribute(&mut self, node: u32, from: &str, to: &str) {
        let (start, count) = self.nodes[node as usize].attributes;
        let named = |name: &str| (start..start + count).find(|i| self.attribute_name(node, *i) == name);
        if let (Some(index), None) = (named(from), named(to)) {
            self.attributes[index as usize].name = Piece::Made(to.into());
        }
    }
}
