//! The text of a file as a tree in which every part knows where it stands.
//!
//! The tree is an arena beside the source text: names, attribute values and texts are ranges of it wherever
//! they stand there unchanged. Comments and white space need no nodes: they are in the source, and what is
//! saved later is the source with single ranges replaced.

use std::ops::Range;
use std::sync::Arc;

use super::source::{Source, Span};

/// An element's place in its [`Document`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub(super) u32);

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// A piece of text: part of the source, or made from it (an entity resolved, a value converted).
#[derive(Clone, Debug, Default)]
pub(super) enum Piece {
    #[default]
    Empty,
    Source(u32, u32),
    Made(Box<str>),
}

impl Piece {
    pub(super) fn range(range: Range<usize>) -> Self {
        if range.is_empty() { Piece::Empty } else { Piece::Source(range.start as u32, range.end as u32) }
    }

    fn get<'a>(&'a self, source: &'a str) -> &'a str {
        match self {
            Piece::Empty => "",
            Piece::Source(start, end) => source.get(*start as usize..*end as usize).unwrap_or(""),
            Piece::Made(text) => text,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct AttributeData {
    pub(super) name: Piece,
    pub(super) value: Piece,
    /// The whole attribute, from its name to the closing quote.
    pub(super) range: (u32, u32),
    /// What stands between the quotes.
    pub(super) value_range: (u32, u32),
}

#[derive(Clone, Debug)]
pub(super) struct NodeData {
    pub(super) name: Piece,
    pub(super) text: Piece,
    pub(super) attributes: (u32, u32),
    /// 0 for the document's own source.
    pub(super) source: u32,
    pub(super) parent: u32,
    pub(super) first_child: u32,
    pub(super) last_child: u32,
    pub(super) next: u32,
    /// From `<` of the open tag to `>` of the close tag.
    pub(super) range: (u32, u32),
    /// The open tag.
    pub(super) tag_end: u32,
    /// The first piece of text to the last one; empty where there is none.
    pub(super) text_range: (u32, u32),
}

/// A file as a tree.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) source: Arc<Source>,
    /// Sources of elements that were brought in from other files; element `source` counts from 1 here.
    pub(super) others: Vec<Arc<Source>>,
    pub(super) nodes: Vec<NodeData>,
    pub(super) attributes: Vec<AttributeData>,
    /// What was read though it is not XML.
    pub(super) oddities: Vec<super::diagnostic::Diagnostic>,
    /// How many of the nodes come from the source.
    pub(super) parsed: u32,
}

impl Document {
    /// The text that the tree was read from.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The root element.
    pub fn root(&self) -> Node<'_> {
        self.node(NodeId(0))
    }

    /// The innermost element at a byte offset of the source.
    pub fn at(&self, offset: usize) -> Option<Node<'_>> {
        // Elements that a conversion made stand behind those of the source, which are in the source's order.
        let parsed = &self.nodes[..self.parsed as usize];
        let last = parsed.partition_point(|n| n.range.0 as usize <= offset).checked_sub(1)?;
        let mut node = self.node(NodeId(last as u32));
        while node.data().range.1 as usize <= offset {
            node = node.parent()?;
        }
        Some(node)
    }

    /// A source by the index that elements have.
    pub(super) fn source_at(&self, index: u32) -> &Arc<Source> {
        (index as usize).checked_sub(1).and_then(|i| self.others.get(i)).unwrap_or(&self.source)
    }

    /// An element by its id.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        Node { document: self, id }
    }
}

/// An element of a [`Document`].
#[derive(Clone, Copy)]
pub struct Node<'a> {
    document: &'a Document,
    id: NodeId,
}

impl<'a> Node<'a> {
    pub(super) fn data(&self) -> &'a NodeData {
        &self.document.nodes[self.id.0 as usize]
    }

    /// The element's id in its document.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The document that it is in.
    pub fn document(&self) -> &'a Document {
        self.document
    }

    /// The source that the element stands in: that of its document, unless an include changed it.
    pub fn source(&self) -> &'a Arc<Source> {
        self.document.source_at(self.data().source)
    }

    /// The element's name with its prefix, as written.
    pub fn name(&self) -> &'a str {
        self.data().name.get(self.source().text())
    }

    /// The text directly inside, without white space around it.
    pub fn text(&self) -> &'a str {
        self.data().text.get(self.source().text()).trim()
    }

    /// The text directly inside, as it stands there.
    pub fn raw_text(&self) -> &'a str {
        self.data().text.get(self.source().text())
    }

    /// The attributes in document order.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let (document, source) = (self.document, self.source());
        let (start, count) = self.data().attributes;
        document.attributes[start as usize..(start + count) as usize].iter().map(move |data| Attribute { source, data })
    }

    pub(super) fn attribute_data(&self) -> &'a [AttributeData] {
        let (start, count) = self.data().attributes;
        &self.document.attributes[start as usize..(start + count) as usize]
    }

    /// The attribute called `name`.
    pub fn attribute(&self, name: &str) -> Option<Attribute<'a>> {
        self.attributes().find(|a| a.name() == name)
    }

    /// The value of the attribute called `name`.
    pub fn attribute_value(&self, name: &str) -> Option<&'a str> {
        self.attribute(name).map(|a| a.value())
    }

    /// The elements directly inside, in document order.
    pub fn children(&self) -> Children<'a> {
        Children { document: self.document, next: self.data().first_child }
    }

    /// The first element directly inside that is called `name`.
    pub fn child(&self, name: &str) -> Option<Node<'a>> {
        self.children().find(|c| c.name() == name)
    }

    /// The elements directly inside that are called `name`.
    pub fn children_named<'n>(&self, name: &'n str) -> impl Iterator<Item = Node<'a>> + use<'a, 'n> {
        self.children().filter(move |c| c.name() == name)
    }

    /// The element that this one is in.
    pub fn parent(&self) -> Option<Node<'a>> {
        let parent = self.data().parent;
        (parent != NONE).then(|| self.document.node(NodeId(parent)))
    }

    fn span_of(&self, range: (u32, u32)) -> Span {
        self.source().span(range.0 as usize..range.1 as usize)
    }

    /// The whole element.
    pub fn span(&self) -> Span {
        self.span_of(self.data().range)
    }

    /// The open tag: what a message about the element points at.
    pub fn tag(&self) -> Span {
        self.span_of((self.data().range.0, self.data().tag_end))
    }

    /// The text inside, or the open tag where there is none: what a message about the value points at.
    pub fn value_span(&self) -> Span {
        let (start, end) = self.data().text_range;
        let text = self.source().text().get(start as usize..end as usize).unwrap_or("");
        let inner = text.trim();
        if inner.is_empty() {
            return self.tag();
        }
        let lead = (text.len() - text.trim_start().len()) as u32;
        self.span_of((start + lead, start + lead + inner.len() as u32))
    }

    /// The element's path from the root, such as `/sdf/world[@name="w"]/include[0]/uri`.
    pub fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut at = Some(*self);
        while let Some(node) = at {
            let parent = node.parent();
            let mut step = node.name().to_owned();
            if let Some(name) = node.attribute_value("name") {
                step.push_str(&format!("[@name=\"{name}\"]"));
            } else if let Some(parent) = parent {
                let mut same = parent.children_named(node.name());
                let index = same.position(|n| n.id == node.id).unwrap_or(0);
                if index > 0 || same.next().is_some() {
                    step.push_str(&format!("[{index}]"));
                }
            }
            steps.push(step);
            at = parent;
        }
        steps.iter().rev().fold(String::new(), |path, step| path + "/" + step)
    }
}

/// The elements directly inside an element.
#[derive(Clone)]
pub struct Children<'a> {
    document: &'a Document,
    next: u32,
}

impl<'a> Iterator for Children<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        if self.next == NONE {
            return None;
        }
        let node = self.document.node(NodeId(self.next));
        self.next = node.data().next;
        Some(node)
    }
}

/// An attribute of a [`Node`].
#[derive(Clone, Copy)]
pub struct Attribute<'a> {
    source: &'a Arc<Source>,
    data: &'a AttributeData,
}

impl<'a> Attribute<'a> {
    /// The attribute's name with its prefix.
    pub fn name(&self) -> &'a str {
        self.data.name.get(self.source.text())
    }

    /// The value, entities resolved.
    pub fn value(&self) -> &'a str {
        self.data.value.get(self.source.text())
    }

    /// The whole attribute.
    pub fn span(&self) -> Span {
        self.source.span(self.data.range.0 as usize..self.data.range.1 as usize)
    }

    /// What stands between the quotes.
    pub fn value_span(&self) -> Span {
        self.source.span(self.data.value_range.0 as usize..self.data.value_range.1 as usize)
    }
}
