//! The root element of a file, and files as includes name them.

use std::path::Path;
use std::sync::Arc;

use super::Reader;
use crate::sdf::convert;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::parse::parse;
use crate::sdf::schema;
use crate::sdf::source::Source;
use crate::sdf::tree::{Document, Node};
use crate::sdf::typed::Root;
use crate::sdf::urdf;

/// The newest version of the format that is read.
pub(super) const NEWEST: (u32, u32) = (1, 12);

impl Reader<'_> {
    /// Reads the main file.
    pub(super) fn read_source(&mut self, source: &Arc<Source>) -> Root {
        let Some(document) = self.document(source) else { return Root::default() };
        if let Ok(path) = std::fs::canonicalize(source.path()) {
            // A file that includes itself is a cycle, not a second copy.
            self.open_includes.push(super::OpenInclude { file: path, uri: None });
        }
        let open = self.open_includes.len();
        let root = self.root(document.root());
        debug_assert_eq!(open, self.open_includes.len());
        root
    }

    /// Text to tree, in the current form of the format, checked against its descriptions.
    fn document(&mut self, source: &Arc<Source>) -> Option<Arc<Document>> {
        let mut document = match parse(source, &self.options.limits.xml) {
            Ok(document) => document,
            Err(diagnostic) => {
                self.report(diagnostic);
                return None;
            }
        };
        for oddity in std::mem::take(&mut document.oddities) {
            self.report(oddity);
        }
        if !self.is_sdf(document.root()) {
            return None;
        }
        let version = if document.root().name() == "robot" {
            for diagnostic in urdf::to_sdf(&mut document) {
                self.report(diagnostic);
            }
            urdf::VERSION
        } else {
            version(document.root())
        };
        convert::to_current(&mut document, version);
        let document = Arc::new(document);
        let (found, unlisted) = schema::check(document.root(), "root", version);
        for diagnostic in found {
            self.report(diagnostic);
        }
        self.findings.add_unlisted(unlisted);
        self.loaded.push(Arc::clone(&document));
        Some(document)
    }

    /// A file from disk as a tree; read once, however often it is included.
    pub(super) fn document_at(&mut self, path: &Path) -> Option<Arc<Document>> {
        if let Some(known) = self.documents.get(path) {
            return known.clone();
        }
        // What a file names may be anything; a pipe that nobody writes to would hold the reading up for ever.
        let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
        let source = if is_file {
            Self::source(path, self.options.limits.xml.bytes)
        } else {
            let message = format!("cannot read {}: it is no regular file", path.display());
            Err(Box::new(Diagnostic::error(Code::FileRead, message).at(Source::new(path, "").span(0..0))))
        };
        let document = match source {
            Ok(source) => self.document(&source),
            Err(diagnostic) => {
                self.report(*diagnostic);
                None
            }
        };
        self.documents.insert(path.to_owned(), document.clone());
        document
    }

    /// Whether this is a root that can be read; says what it is where it cannot.
    fn is_sdf(&mut self, root: Node<'_>) -> bool {
        match root.name() {
            "sdf" => {}
            "robot" => return true,
            "gazebo" => {
                let diagnostic =
                    Diagnostic::error(Code::FileRead, "<gazebo> is the root of SDF before 1.3, which is not read");
                self.report(
                    diagnostic
                        .at(root.tag())
                        .path(root.path())
                        .help("convert the file with an older tool, to <sdf version=\"1.4\"> or later"),
                );
                return false;
            }
            other => {
                let diagnostic = Diagnostic::error(Code::FileRead, format!("the root element is <{other}>, not <sdf>"));
                self.report(
                    diagnostic.at(root.tag()).path(root.path()).help("an SDF file begins with <sdf version=\"1.11\">"),
                );
                return false;
            }
        }
        let Some(attribute) = root.attribute("version") else {
            let diagnostic = Diagnostic::error(Code::FileRead, "<sdf> has no attribute version");
            self.report(diagnostic.at(root.tag()).path(root.path()).help("write <sdf version=\"1.11\">"));
            return false;
        };
        match parse_version(attribute.value()) {
            Some((1, minor)) if minor < 2 => {
                let message = format!("SDF {} is too old to be read", attribute.value());
                let diagnostic = Diagnostic::error(Code::FileRead, message).at(attribute.value_span());
                self.report(diagnostic.path(root.path()).help("versions from 1.2 on are read"));
                false
            }
            Some(version) if version <= NEWEST => true,
            Some(_) => {
                let message = format!("SDF {} is newer than {}.{}", attribute.value(), NEWEST.0, NEWEST.1);
                let diagnostic = Diagnostic::warning(Code::Version, message).at(attribute.value_span());
                self.report(diagnostic.path(root.path()).help("it is read as the newest version that is known"));
                true
            }
            None => {
                let message = format!("\"{}\" is no version of SDF", crate::sdf::value::shorten(attribute.value()));
                let diagnostic = Diagnostic::error(Code::AttributeInvalid, message).at(attribute.value_span());
                self.report(diagnostic.path(root.path()).help("write a version such as 1.11"));
                false
            }
        }
    }

    /// Reads a root element.
    pub(super) fn root(&mut self, node: Node<'_>) -> Root {
        let mut root = Root { version: version(node), ..Root::default() };
        self.version = root.version;
        self.own_elements(node, None);
        let mut worlds = std::collections::HashSet::new();
        for child in node.children() {
            match child.name() {
                "world" => {
                    let world = self.world(child);
                    if !worlds.insert(world.name.clone()) {
                        self.duplicate(child, "world", &world.name);
                    }
                    root.worlds.push(world);
                }
                "model" => {
                    let model = self.model(child);
                    self.root_part(child, &root);
                    root.model.get_or_insert(model);
                }
                "light" => {
                    let light = self.light(child);
                    self.root_part(child, &root);
                    root.light.get_or_insert(light);
                }
                "actor" => {
                    let actor = self.actor(child);
                    self.root_part(child, &root);
                    root.actor.get_or_insert(actor);
                }
                "include" => self.include_at_root(child, &mut root),
                _ => {}
            }
        }
        if root.worlds.is_empty()
            && root.model.is_none()
            && root.light.is_none()
            && root.actor.is_none()
            && node.name() == "sdf"
        {
            let message = "the file has no world, model, light or actor";
            self.warn(Code::ElementMissing, node, message);
        }
        root
    }

    /// A root holds one model, light or actor.
    pub(super) fn root_part(&mut self, node: Node<'_>, root: &Root) {
        if let Some(model) = &root.model
            && node.name() == "model"
            && node.attribute_value("name") == Some(&model.name)
        {
            self.duplicate(node, "model", &model.name);
        }
        let other = match root {
            Root { model: Some(_), .. } => "model",
            Root { light: Some(_), .. } => "light",
            Root { actor: Some(_), .. } => "actor",
            _ => return,
        };
        let message = format!("a root with a {other} cannot hold a <{}> as well", node.name());
        let diagnostic = Diagnostic::error(Code::ElementIncorrectType, message).at(node.tag());
        self.report(diagnostic.path(node.path()).help("a file holds one model, one light or one actor, or worlds"));
    }

    /// Two siblings of one name.
    pub(super) fn duplicate(&mut self, node: Node<'_>, what: &str, name: &str) {
        let message = format!("there are two {what}s called \"{name}\" here");
        let at = node.attribute("name").map_or_else(|| node.tag(), |a| a.value_span());
        let diagnostic = Diagnostic::error(Code::DuplicateName, message).at(at);
        self.report(diagnostic.path(node.path()).help("give each a name of its own"));
    }
}

/// The version that a root says; the newest where it says none.
pub(super) fn version(root: Node<'_>) -> (u32, u32) {
    root.attribute_value("version").and_then(parse_version).unwrap_or(NEWEST)
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().map_or(Some(0), |p| p.parse().ok())?;
    Some((major, minor))
}
