//! Includes: finding the file, reading it, and what the include changes of it.

use std::path::{Path, PathBuf};

use super::{OpenInclude, Reader};
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::parse::parse;
use crate::sdf::source::Span;
use crate::sdf::tree::Node;
use crate::sdf::typed::{Actor, IncludeSite, Light, Model, Root, World};
use crate::sdf::uri::{self, Lookup};
use crate::sdf::value;
use crate::suggest::nearest;

/// The file that describes a directory with a model.
const MANIFESTS: [&str; 2] = ["model.config", "manifest.xml"];

/// What an include brings.
pub(super) enum Included {
    Model(Box<Model>),
    Light(Box<Light>),
    Actor(Box<Actor>),
}

impl Reader<'_> {
    pub(super) fn include_in_world(&mut self, node: Node<'_>, world: &mut World) {
        let Some(included) = self.include(node) else {
            world.incomplete = true;
            return;
        };
        if self.attribute_flag(node, "merge") {
            return self.merge_into_world(node, included, world);
        }
        match included {
            Included::Model(model) => world.models.push(*model),
            Included::Light(light) => world.lights.push(*light),
            Included::Actor(actor) => world.actors.push(*actor),
        }
    }

    pub(super) fn include_in_model(&mut self, node: Node<'_>, parent: &mut Model) {
        let Some(included) = self.include(node) else {
            parent.incomplete = true;
            return;
        };
        match included {
            Included::Model(model) if self.attribute_flag(node, "merge") => self.merge(node, *model, parent),
            Included::Model(model) => parent.models.push(*model),
            Included::Light(_) | Included::Actor(_) => {
                let what = if matches!(included, Included::Light(_)) { "light" } else { "actor" };
                let diagnostic = Diagnostic::error(
                    Code::ElementIncorrectType,
                    format!("the included file is a {what}, not a model"),
                );
                self.report(diagnostic.at(node.tag()).path(node.path()).help("a <model> can include models only"));
            }
        }
    }

    pub(super) fn include_at_root(&mut self, node: Node<'_>, root: &mut Root) {
        let Some(included) = self.include(node) else { return };
        self.root_part(node, root);
        match included {
            Included::Model(model) => _ = root.model.get_or_insert(*model),
            Included::Light(light) => _ = root.light.get_or_insert(*light),
            Included::Actor(actor) => _ = root.actor.get_or_insert(*actor),
        }
    }

    fn include(&mut self, node: Node<'_>) -> Option<Included> {
        let Some(uri_node) = node.child("uri").filter(|uri| !uri.text().is_empty()) else {
            let diagnostic = Diagnostic::error(Code::ElementMissing, "<include> has no <uri>");
            self.report(diagnostic.at(node.tag()).path(node.path()).help("write <uri>model://NAME</uri> or a path"));
            return None;
        };
        let path = self.find(uri_node)?;
        let file = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if self.open_includes.iter().any(|open| open.file == file) {
            let diagnostic = Diagnostic::error(Code::IncludeCycle, format!("{} includes itself", path.display()));
            self.report(diagnostic.at(uri_node.value_span()).path(uri_node.path()).help("take this include out"));
            return None;
        }
        self.include_count += 1;
        let limits = &self.options.limits;
        if self.open_includes.len() > limits.include_depth || self.include_count > limits.includes {
            let message = if self.include_count > limits.includes {
                format!("more than {} includes", limits.includes)
            } else {
                format!("includes are nested deeper than {} files", limits.include_depth)
            };
            self.error(Code::Limit, uri_node, message);
            return None;
        }
        self.open_includes.push(OpenInclude { file, uri: Some(uri_node.value_span()) });
        let version = self.version;
        let read = self.document_at(&path).and_then(|document| {
            let document = match node.child("experimental:params") {
                Some(params) => self.with_params(&document, params),
                None => document,
            };
            self.element_count += document.nodes.len();
            if self.element_count > self.options.limits.elements {
                let message = format!("the includes bring more than {} elements", self.options.limits.elements);
                self.error(Code::Limit, uri_node, message);
                return None;
            }
            Some((self.root(document.root()), document.root().span()))
        });
        self.version = version;
        self.open_includes.pop();
        let (root, root_span) = read?;
        let mut included = self.included(uri_node, root)?;
        self.change(node, uri_node.text(), root_span, &mut included);
        Some(included)
    }

    fn included(&mut self, uri: Node<'_>, root: Root) -> Option<Included> {
        match root {
            Root { model: Some(model), .. } => Some(Included::Model(Box::new(model))),
            Root { light: Some(light), .. } => Some(Included::Light(Box::new(light))),
            Root { actor: Some(actor), .. } => Some(Included::Actor(Box::new(actor))),
            Root { worlds, .. } => {
                let what = if worlds.is_empty() { "nothing to include" } else { "a world, which cannot be included" };
                let diagnostic = Diagnostic::error(Code::ElementIncorrectType, format!("{} holds {what}", uri.text()));
                self.report(
                    diagnostic
                        .at(uri.value_span())
                        .path(uri.path())
                        .help("include a file with a model, light or actor"),
                );
                None
            }
        }
    }

    /// The file that a `<uri>` names.
    fn find(&mut self, node: Node<'_>) -> Option<PathBuf> {
        let text = node.text();
        let base = node.source().path().parent().unwrap_or(Path::new("")).to_owned();
        let found = match self.resolver.include(text, &base) {
            Lookup::Found(path) => path,
            Lookup::Missing(tried) => {
                let diagnostic = Diagnostic::error(Code::UriLookup, format!("{text} was not found"));
                let near =
                    self.near_model(text).map(|near| format!("did you mean model://{near}? {}", uri::tried(&tried)));
                let help = near.unwrap_or_else(|| uri::tried(&tried));
                self.report(diagnostic.at(node.value_span()).path(node.path()).help(help));
                return None;
            }
        };
        if found.is_dir() { self.model_file(node, &found) } else { Some(found) }
    }

    /// A model in the model paths whose name is like that of a URI.
    fn near_model(&self, uri: &str) -> Option<String> {
        let name = uri.strip_prefix("model://")?.split('/').next()?;
        let dirs = self.options.model_paths.iter().filter_map(|dir| std::fs::read_dir(dir).ok());
        let names: Vec<String> = dirs.flatten().flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
        nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
    }

    /// The file of a model directory with the newest version that can be read.
    fn model_file(&mut self, node: Node<'_>, dir: &Path) -> Option<PathBuf> {
        let fail = |reader: &mut Self, message: String, help: &str| {
            let diagnostic = Diagnostic::error(Code::UriLookup, message).at(node.value_span());
            reader.report(diagnostic.path(node.path()).help(help));
            None
        };
        let Some(manifest) = MANIFESTS.iter().map(|name| dir.join(name)).find(|path| path.is_file()) else {
            let message = format!("{}: the directory {} has no model.config", node.text(), dir.display());
            return fail(self, message, "add one, or include the .sdf file itself");
        };
        let source = match Self::source(&manifest, self.options.limits.xml.bytes) {
            Ok(source) => source,
            Err(diagnostic) => {
                self.report(*diagnostic);
                return None;
            }
        };
        let document = match parse(&source, &self.options.limits.xml) {
            Ok(document) => document,
            Err(diagnostic) => {
                self.report(diagnostic);
                return None;
            }
        };
        let mut best: Option<((u32, u32), &str)> = None;
        let root = document.root();
        let models =
            root.children_named("sdf").chain(root.children_named("model").flat_map(|m| m.children_named("sdf")));
        for sdf in models {
            let version = super::root::version(sdf);
            let readable = version <= super::root::NEWEST;
            let better = best.is_none_or(|(known, _)| (readable, version) > (known <= super::root::NEWEST, known));
            if better && !sdf.text().is_empty() {
                best = Some((version, sdf.text()));
            }
        }
        let urdf = root.child("urdf").map(|u| u.text()).filter(|text| !text.is_empty());
        let Some(name) = best.map(|(_, name)| name).or(urdf) else {
            let message = format!("{}: {} names no <sdf> file", node.text(), manifest.display());
            return fail(self, message, "add <sdf version=\"1.11\">model.sdf</sdf>");
        };
        let file = dir.join(name);
        if file.is_file() {
            return Some(file);
        }
        let message = format!("{}: {} names {name}, which is not there", node.text(), manifest.display());
        fail(self, message, "correct the name in <sdf>")
    }

    /// What an include changes of the thing that it brings.
    fn change(&mut self, node: Node<'_>, uri: &str, root_span: Span, included: &mut Included) {
        let name = self.include_name(node);
        let pose = node.child("pose").map(|pose| self.pose_element(pose));
        let placement = node.child("placement_frame").map(|p| p.text().to_owned()).filter(|p| !p.is_empty());
        if let Some(frame) = placement.as_deref().filter(|f| super::is_reserved(f) && *f != "__model__") {
            let message = format!("placement_frame {frame}: {frame} is a name that only the format itself may use");
            let at = node.child("placement_frame").unwrap_or(node);
            self.report(Diagnostic::error(Code::ReservedName, message).at(at.value_span()).path(at.path()));
        }
        if let (Some(frame), None) = (&placement, &pose) {
            let message = format!("placement_frame {frame} without a <pose>");
            let diagnostic = Diagnostic::error(Code::ModelPlacementFrameInvalid, message);
            let at = node.child("placement_frame").unwrap_or(node);
            self.report(
                diagnostic.at(at.value_span()).path(node.path()).help("add the <pose> that the frame is to have"),
            );
        }
        match included {
            Included::Model(model) => {
                let pose_span = pose.as_ref().and_then(|p| p.span.clone());
                model.include = Some(IncludeSite { uri: uri.to_owned(), span: node.span(), pose_span, root_span });
                if let Some(name) = name {
                    model.name = name;
                }
                if let Some(pose) = pose {
                    model.pose = pose;
                }
                if let Some(frame) = placement {
                    model.placement_frame = frame;
                }
                if let Some(flag) = node.child("static") {
                    model.is_static = self.value(flag, model.is_static, value::boolean);
                }
                model.plugins.extend(self.plugins(node));
                self.own_elements(node, Some(model));
            }
            Included::Light(light) => {
                light.include = Some(node.span());
                light.name = name.unwrap_or_else(|| std::mem::take(&mut light.name));
                light.pose = pose.unwrap_or_else(|| std::mem::take(&mut light.pose));
            }
            Included::Actor(actor) => {
                actor.name = name.unwrap_or_else(|| std::mem::take(&mut actor.name));
                actor.pose = pose.unwrap_or_else(|| std::mem::take(&mut actor.pose));
                actor.plugins.extend(self.plugins(node));
            }
        }
    }

    fn include_name(&mut self, node: Node<'_>) -> Option<String> {
        let name = node.child("name").filter(|name| !name.text().is_empty())?;
        if super::is_reserved(name.text()) {
            let message = format!("\"{}\" is a name that the format keeps for itself", name.text());
            let diagnostic = Diagnostic::error(Code::ReservedName, message).at(name.value_span());
            self.report(diagnostic.path(name.path()).help("choose another name"));
        }
        if self.version >= (1, 8) && name.text().contains("::") {
            let message = format!("the name \"{}\" holds ::, which tells a model from its parts", name.text());
            let diagnostic = Diagnostic::error(Code::ReservedName, message).at(name.value_span());
            self.report(diagnostic.path(name.path()).help("choose another name"));
        }
        Some(name.text().to_owned())
    }
}
