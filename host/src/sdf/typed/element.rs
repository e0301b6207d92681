//! An element as it stands in a file, for those who read it themselves.

use crate::sdf::source::Span;
use crate::sdf::tree::Node;

/// An ordered tree of an element: plugin parameters, and what only a renderer would read.
#[derive(Clone, Debug)]
pub struct Element {
    /// The name with its prefix.
    pub name: String,
    /// The attributes in their order.
    pub attributes: Vec<(String, String)>,
    /// The text directly inside, without white space around it.
    pub text: String,
    /// The elements inside, in their order.
    pub children: Vec<Element>,
    /// Where it stands.
    pub span: Span,
}

impl Element {
    /// Copies an element out of its document.
    pub fn from_node(node: Node<'_>) -> Self {
        Self {
            name: node.name().to_owned(),
            attributes: node.attributes().map(|a| (a.name().to_owned(), a.value().to_owned())).collect(),
            text: node.text().to_owned(),
            children: node.children().map(Self::from_node).collect(),
            span: node.span(),
        }
    }

    /// The first child called `name`.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|c| c.name == name)
    }

    /// The value of the attribute called `name`.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
