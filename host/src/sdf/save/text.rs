//! Models that are gone, and those that are new.

use std::collections::HashSet;
use std::sync::Arc;

use super::patch::{Lines, Patch};
use super::plan::Plan;
use super::{SaveError, Saving};
use crate::sdf::parse::{XmlLimits, parse};
use crate::sdf::source::Source;
use crate::sdf::tree::Node;

/// Elements that are listed in a sentence.
const SHOWN: usize = 5;

impl<'a> Saving<'a> {
    /// Takes models out that are gone, with what the state has of them.
    pub(super) fn remove(&mut self, plan: &Plan<'a>) -> Result<(), SaveError> {
        let mut deleted = Vec::new();
        let mut sites: Vec<(String, Option<Node<'a>>)> = Vec::new();
        for name in &self.edits.removed {
            let model = self.before.models.iter().find(|model| model.name == *name);
            sites.push((name.clone(), model.and_then(|model| self.site(model)).map(|site| site.node())));
        }
        let gone: HashSet<usize> =
            sites.iter().filter_map(|(_, node)| Some(node.as_ref()?.span().range().start)).collect();
        for (name, node) in &sites {
            match node {
                Some(node) => {
                    self.check_unnamed(name, &gone)?;
                    self.patch.remove(*node);
                }
                // It is in an included file whose models are merged into the world.
                None => deleted.push(vec![(0, format!("<name>{}</name>", quick_xml::escape::escape(name.as_str())))]),
            }
            self.forget(plan, name);
        }
        if deleted.is_empty() {
            return Ok(());
        }
        match plan.state.and_then(|state| state.child("deletions")) {
            Some(old) => deleted.into_iter().for_each(|lines| self.patch.append(old, lines)),
            None => {
                let mut lines: Lines = vec![(0, "<deletions>".to_owned())];
                lines.extend(deleted.into_iter().flatten().map(|(depth, line)| (depth + 1, line)));
                lines.push((0, "</deletions>".to_owned()));
                self.in_state.extend(lines);
            }
        }
        Ok(())
    }

    /// Takes the entry of a model out of the state.
    fn forget(&mut self, plan: &Plan<'a>, name: &str) {
        let Some(state) = plan.state else { return };
        for entry in state.children_named(self.words().model).filter(|e| e.attribute_value("name") == Some(name)) {
            self.patch.remove(entry);
        }
    }

    /// Whether nothing that stays names a model of the world.
    fn check_unnamed(&self, name: &str, gone: &HashSet<usize>) -> Result<(), SaveError> {
        let Some(world) = self.element(&self.before.span) else { return Ok(()) };
        let inner = format!("{name}::");
        let is_it = |value: &str| value == name || value.starts_with(&inner);
        let mut by = Vec::new();
        for child in world.children().filter(|child| !gone.contains(&child.span().range().start)) {
            let poses =
                child.children_named("pose").chain(child.children_named("camera").filter_map(|c| c.child("pose")));
            let framed = std::iter::once(child).filter(|child| child.name() == "frame").chain(poses);
            let mut names = framed.flat_map(|node| node.attributes()).any(|attribute| {
                matches!(attribute.name(), "relative_to" | "frame" | "attached_to") && is_it(attribute.value())
            });
            if child.name() == "joint" {
                let ends = ["parent", "child", "gearbox_reference_body"].into_iter().filter_map(|end| child.child(end));
                let axes = ["axis", "axis2"].into_iter().filter_map(|axis| child.child(axis)?.child("xyz"));
                let mut frames = axes.filter_map(|xyz| xyz.attribute_value("expressed_in"));
                names |= ends.map(|end| end.text()).any(is_it) || frames.any(is_it);
            }
            if names {
                let called = child.attribute_value("name").or_else(|| child.child("name").map(|name| name.text()));
                by.push(format!("{} {} ({})", child.name(), called.unwrap_or(""), child.tag()));
            }
        }
        if by.is_empty() {
            return Ok(());
        }
        let more = if by.len() > SHOWN { format!(" and {} more", by.len() - SHOWN) } else { String::new() };
        by.truncate(SHOWN);
        Err(SaveError::Named { name: name.to_owned(), by: by.join(", ") + &more })
    }

    /// Puts new models behind the last one.
    pub(super) fn add(&mut self, plan: &Plan<'a>) -> Result<(), SaveError> {
        let Some(world) = self.element(&self.before.span) else { return Ok(()) };
        let stays = |child: &Node<'_>| !self.patch.is_removed(*child);
        let models = world.children().filter(|child| matches!(child.name(), "model" | "include"));
        let last = models.filter(stays).last().or_else(|| world.children().filter(stays).last());
        let known: HashSet<&str> = self.kept().map(|model| model.name.as_str()).collect();
        let mut stale = Vec::new();
        for added in &self.edits.added {
            let name = name_of(&added.text)?;
            // What a state has of a model that was not there would move the new one.
            if !known.contains(name.as_str()) && !self.edits.removed.contains(&name) {
                stale.push(name);
            }
        }
        for added in &self.edits.added {
            self.patch.insert(world, last, Patch::lines_of(&added.text));
        }
        stale.iter().for_each(|name| self.forget(plan, name));
        Ok(())
    }
}

/// The name of the model that a text is.
fn name_of(text: &str) -> Result<String, SaveError> {
    let text = text.trim();
    let wrong = |problem: String| {
        let begin: String = text.chars().take(60).collect();
        Err(SaveError::NotAModel { problem, text: begin })
    };
    let source: Arc<Source> = Source::new("added", text);
    let document = match parse(&source, &XmlLimits::default()) {
        Ok(document) => document,
        Err(finding) => return wrong(finding.message),
    };
    let root = document.root();
    let name = match root.name() {
        "model" => root.attribute_value("name"),
        "include" => root.child("name").map(|name| name.text()),
        other => return wrong(format!("it is a <{other}>")),
    };
    if root.span().range() != (0..text.len()) {
        return wrong("there is something beside the element".to_owned());
    }
    match name.filter(|name| !name.is_empty()) {
        Some(name) => Ok(name.to_owned()),
        None => wrong("it has no name".to_owned()),
    }
}
