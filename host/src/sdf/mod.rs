//! SDF: text to spanned tree to typed model with resolved poses, and everything that is wrong on the way.
//!
//! [`load`] reads a file and all that it includes. It never stops at the first error: what could be read is
//! in [`Loaded::root`], and [`Loaded::diagnostics`] says what could not. A caller that wants to run the world asks
//! [`Loaded::has_errors`] first.
#![forbid(unsafe_code)]

mod convert;
mod diagnostic;
mod edit;
mod frames;
pub mod graph;
pub mod inertia;
pub mod mesh;
mod options;
mod parse;
mod read;
pub mod report;
pub mod save;
mod schema;
mod source;
pub mod state;
pub mod terrain;
mod tree;
mod typed;
mod urdf;
mod uri;
mod value;
pub mod write;

use std::path::Path;
use std::sync::Arc;

pub use diagnostic::{Code, Diagnostic, Severity};
pub use options::{Limits, LoadOptions, MODEL_PATH_VARIABLES};
pub use parse::{XmlLimits, parse};
pub use source::{Source, Span};
pub use tree::{Attribute, Document, Node, NodeId};
pub use typed::*;
pub use uri::{Lookup, Resolver, candidates};
pub use value::{roll_pitch_yaw, rotation};

/// What loading a file gave.
#[derive(Debug)]
pub struct Loaded {
    /// The typed model, poses resolved.
    pub root: Root,
    /// Every file that was read, the main one first.
    pub documents: Vec<Arc<Document>>,
    /// What is wrong, file by file, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// How many warnings and errors there are that the last two of the list stand for (see [`Loaded::count`]).
    unlisted: [usize; 2],
}

impl Loaded {
    /// Whether there is an error: the file must not be run then.
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// The errors.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|d| d.severity == Severity::Error)
    }

    /// The warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|d| d.severity == Severity::Warning)
    }

    /// How many warnings or errors there are, those counted that are too many to be listed.
    pub fn count(&self, severity: Severity) -> usize {
        let listed = self.diagnostics.iter().filter(|d| d.severity == severity).count();
        // One of the list says how many more there are.
        let unlisted = self.unlisted[severity as usize];
        listed + unlisted.saturating_sub(1)
    }

    /// The file's first world; for a file that is a model, light or actor, a world of the format's defaults around it.
    pub fn into_world(self) -> Option<World> {
        self.root.into_world()
    }
}

/// Loads the file at `path`.
pub fn load(path: &Path, options: &LoadOptions) -> Loaded {
    finish(read::Reader::new(options).read_file(path))
}

/// Loads a text as if it were the file at the path of `source`: relative names in it are looked up beside that.
pub fn load_source(source: &Arc<Source>, options: &LoadOptions) -> Loaded {
    finish(read::Reader::new(options).read_text(source))
}

fn finish(reading: read::Reading) -> Loaded {
    let read::Reading { mut root, documents, mut findings } = reading;
    for diagnostic in frames::resolve(&mut root) {
        findings.add(diagnostic);
    }
    for diagnostic in inertia::resolve(&mut root) {
        findings.add(diagnostic);
    }
    let (mut diagnostics, unlisted) = findings.into_list();
    for diagnostic in diagnostics.iter_mut().filter(|d| d.element_path.is_empty()) {
        if let Some(span) = &diagnostic.span
            && let Some(document) = documents.iter().find(|d| Arc::ptr_eq(d.source(), span.source()))
        {
            diagnostic.element_path = document.at(span.range().start).map(|n| n.path()).unwrap_or_default();
        }
    }
    let place = |diagnostic: &Diagnostic| {
        let span = diagnostic.span.as_ref()?;
        let file = documents.iter().position(|d| Arc::ptr_eq(d.source(), span.source()));
        Some((file.unwrap_or(usize::MAX), span.range().start))
    };
    diagnostics.sort_by_cached_key(place);
    for (severity, count) in [Severity::Warning, Severity::Error].into_iter().zip(unlisted) {
        if count > 0 {
            let mut more = Diagnostic::error(Code::Limit, format!("{count} more {severity}s are not listed"));
            more.severity = severity;
            diagnostics.push(more);
        }
    }
    Loaded { root, documents, diagnostics, unlisted }
}
