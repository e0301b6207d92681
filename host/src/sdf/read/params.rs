//! `<experimental:params>`: what an include adds to the file that it brings, takes out of it, or changes in it.

use std::sync::Arc;

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::schema::{self, Schema};
use crate::sdf::tree::{Document, Node, NodeId};

/// Attributes that steer a change and are no part of it.
const STEERING: [&str; 2] = ["element_id", "action"];
const ACTIONS: [&str; 4] = ["add", "modify", "remove", "replace"];

impl Reader<'_> {
    /// The included document with the changes that `params` asks for.
    pub(super) fn with_params(&mut self, included: &Arc<Document>, params: Node<'_>) -> Arc<Document> {
        let mut document = Document::clone(included);
        let Some(model) = document.root().children().find(|c| c.name() == "model").map(|m| m.id().0) else {
            return Arc::clone(included);
        };
        for change in params.children() {
            self.change_element(&mut document, model, change);
        }
        let (found, unlisted) = schema::check(document.root(), "root", super::root::version(document.root()));
        for diagnostic in found {
            self.report(diagnostic);
        }
        self.findings.add_unlisted(unlisted);
        Arc::new(document)
    }

    fn param_error(&mut self, code: Code, node: Node<'_>, message: String) {
        self.report(Diagnostic::error(code, message).at(node.tag()).path(node.path()));
    }

    /// The action of a change; `None` after an error, `Some("")` where there is no such attribute.
    fn action<'a>(&mut self, change: Node<'a>) -> Option<&'a str> {
        let action = change.attribute_value("action").unwrap_or("");
        if action.is_empty() || ACTIONS.contains(&action) {
            return Some(action);
        }
        let message = format!("\"{action}\" is no action");
        let diagnostic = Diagnostic::error(Code::AttributeInvalid, message).at(change.tag()).path(change.path());
        self.report(diagnostic.help(format!("the actions are {}", ACTIONS.join(", "))));
        None
    }

    fn change_element(&mut self, document: &mut Document, model: u32, change: Node<'_>) {
        let Some(id) = change.attribute_value("element_id") else {
            self.param_error(
                Code::AttributeMissing,
                change,
                format!("<{}> has no attribute element_id", change.name()),
            );
            return;
        };
        if id.ends_with("::") {
            let message = format!("element_id=\"{id}\" has no name behind its last ::");
            self.param_error(Code::AttributeInvalid, change, message);
            return;
        }
        let Some(action) = self.action(change) else { return };
        if action == "add" {
            self.add_element(document, model, change, id);
            return;
        }
        let Some(target) = find(document.node(NodeId(model)), Some(change.name()), id) else {
            let message = format!("the included model has no <{}> with element_id \"{id}\"", change.name());
            self.param_error(Code::ElementMissing, change, message);
            return;
        };
        match action {
            "remove" => self.remove_element(document, target, change),
            "modify" => self.modify_element(document, target, change),
            "replace" => {
                if self.is_complete(document, target, change) {
                    replace(document, target, change);
                }
            }
            _ => {
                for child in change.children() {
                    self.change_child(document, target, child);
                }
            }
        }
    }

    fn add_element(&mut self, document: &mut Document, model: u32, change: Node<'_>, id: &str) {
        let name = match change.attribute_value("name") {
            None => {
                let message = format!("a <{}> to be added has no attribute name", change.name());
                self.param_error(Code::AttributeMissing, change, message);
                return;
            }
            Some("") => {
                let message = format!("a <{}> to be added has an empty name", change.name());
                self.param_error(Code::AttributeInvalid, change, message);
                return;
            }
            Some(name) => name,
        };
        let root = document.node(NodeId(model));
        let full = if id.is_empty() { name.to_owned() } else { format!("{id}::{name}") };
        if find(root, Some(change.name()), &full).is_some() {
            let message = format!("the included model has a <{}> \"{full}\" already", change.name());
            self.param_error(Code::DuplicateName, change, message);
            return;
        }
        let parent = if id.is_empty() { Some(model) } else { find(root, None, id) };
        let Some(parent) = parent else {
            self.param_error(
                Code::ElementMissing,
                change,
                format!("the included model has no element \"{id}\" to add to"),
            );
            return;
        };
        if self.belongs(document, parent, change) && self.has_required(document, parent, change) {
            document.graft(parent, change, &STEERING);
        }
    }

    /// A change of something directly in an element that was found.
    fn change_child(&mut self, document: &mut Document, target: u32, change: Node<'_>) {
        let Some(action) = self.action(change) else { return };
        if action.is_empty() {
            let message = format!("<{}> has no attribute action", change.name());
            self.param_error(Code::AttributeMissing, change, message);
            return;
        }
        if action == "add" {
            if self.belongs(document, target, change) && self.has_required(document, target, change) {
                document.graft(target, change, &STEERING);
            }
            return;
        }
        if action == "replace" && !self.has_name(document, target, change) {
            return;
        }
        let Some(child) = child_like(document.node(NodeId(target)), change) else {
            self.no_such(document, target, change);
            return;
        };
        match action {
            "remove" => self.remove_element(document, child, change),
            "modify" => self.modify_element(document, child, change),
            _ => {
                if self.is_complete(document, child, change) {
                    replace(document, child, change);
                }
            }
        }
    }

    fn no_such(&mut self, document: &Document, target: u32, change: Node<'_>) {
        let name = change.attribute_value("name").map(|n| format!(" name=\"{n}\"")).unwrap_or_default();
        let parent = document.node(NodeId(target)).name();
        self.param_error(
            Code::ElementMissing,
            change,
            format!("there is no <{}{name}> in that <{parent}>", change.name()),
        );
    }

    /// Takes an element out, or those in it that the change names.
    fn remove_element(&mut self, document: &mut Document, target: u32, change: Node<'_>) {
        let mut names = change.children().peekable();
        if names.peek().is_none() {
            document.detach(target);
            return;
        }
        for name in names {
            match child_like(document.node(NodeId(target)), name) {
                Some(child) => document.detach(child),
                None => self.no_such(document, target, name),
            }
        }
    }

    /// Sets the attributes, the value and the children of an element that the change gives.
    fn modify_element(&mut self, document: &mut Document, target: u32, change: Node<'_>) {
        let rule = schema::rule_of(document.node(NodeId(target)));
        for attribute in change.attributes() {
            let name = attribute.name();
            if STEERING.contains(&name) || name == "name" {
                continue;
            }
            let known = rule.is_none_or(|rule| {
                let rule = Schema::get().element(rule);
                rule.open || rule.attributes.iter().any(|a| a.name == name)
            });
            if !known {
                let message = format!("<{}> has no attribute {name} to be changed", change.name());
                let diagnostic = Diagnostic::error(Code::AttributeInvalid, message).at(attribute.span());
                self.report(diagnostic.path(change.path()));
                continue;
            }
            document.set_attribute(target, name, attribute.value());
        }
        if !change.text().is_empty() {
            document.set_text_from(target, change);
        }
        for child in change.children() {
            match child_like(document.node(NodeId(target)), child) {
                Some(found) => self.modify_element(document, found, child),
                None => self.no_such(document, target, child),
            }
        }
    }

    /// Whether the format has such an element in that one.
    fn belongs(&mut self, document: &Document, parent: u32, change: Node<'_>) -> bool {
        let parent = document.node(NodeId(parent));
        let Some(rule) = schema::rule_of(parent) else { return true };
        if Schema::get().element(rule).open || Schema::get().child(rule, change.name()).is_some() {
            return true;
        }
        let message = format!("<{}> is no element of <{}>", change.name(), parent.name());
        self.param_error(Code::ElementInvalid, change, message);
        false
    }

    fn has_required(&mut self, document: &Document, parent: u32, change: Node<'_>) -> bool {
        let Some(parent) = schema::rule_of(document.node(NodeId(parent))) else { return true };
        let Some(rule) = Schema::get().child(parent, change.name()) else { return true };
        let rule = Schema::get().element(rule.element);
        let missing = rule.attributes.iter().find(|a| a.required && change.attribute(a.name).is_none());
        if let Some(attribute) = missing {
            let message = format!("<{}> has no attribute {}", change.name(), attribute.name);
            self.param_error(Code::AttributeMissing, change, message);
        }
        missing.is_none()
    }

    fn has_name(&mut self, document: &Document, parent: u32, change: Node<'_>) -> bool {
        let named = document.node(NodeId(parent)).children_named(change.name()).any(|c| c.attribute("name").is_some());
        if named && change.attribute("name").is_none() {
            let message = format!("the <{}> that replaces another has no attribute name", change.name());
            self.param_error(Code::AttributeMissing, change, message);
            return false;
        }
        true
    }

    /// Whether an element can stand where another one stands.
    fn is_complete(&mut self, document: &Document, target: u32, change: Node<'_>) -> bool {
        match document.node(NodeId(target)).parent() {
            Some(parent) => self.has_required(document, parent.id().0, change),
            None => false,
        }
    }
}

fn replace(document: &mut Document, target: u32, change: Node<'_>) {
    if let Some(parent) = document.node(NodeId(target)).parent().map(|p| p.id().0) {
        document.detach(target);
        document.graft(parent, change, &STEERING);
    }
}

/// The element below `from` that an id of names means. Names may themselves hold `::`.
fn find(from: Node<'_>, kind: Option<&str>, id: &str) -> Option<u32> {
    for child in from.children() {
        let Some(name) = child.attribute_value("name") else { continue };
        if name == id && kind.is_none_or(|kind| kind == child.name()) {
            return Some(child.id().0);
        }
        if let Some(rest) = id.strip_prefix(name).and_then(|rest| rest.strip_prefix("::"))
            && let Some(found) = find(child, kind, rest)
        {
            return Some(found);
        }
    }
    None
}

/// The child of an element that has the kind of another one, and its name where it has one.
fn child_like(parent: Node<'_>, like: Node<'_>) -> Option<u32> {
    let mut same = parent.children_named(like.name());
    match like.attribute_value("name") {
        Some(name) => same.find(|c| c.attribute_value("name") == Some(name)),
        None => same.next(),
    }
    .map(|c| c.id().0)
}
