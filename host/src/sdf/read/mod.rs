//! Tree to typed model.

mod geometry;
mod include;
mod joint;
mod light;
mod link;
mod merge;
mod model;
mod params;
mod robot;
mod root;
mod sensor;
mod state;
mod world;

pub(super) use model::first_tag;

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glamx::DVec3;

use super::diagnostic::{Code, Diagnostic};
use super::options::LoadOptions;
use super::schema;
use super::source::{Source, Span};
use super::tree::{Document, Node};
use super::typed::{Element, Plugin, Pose, Resource, Root};
use super::uri::{Lookup, Resolver};
use super::value::{self, RotationFormat, Wrong};

/// An include that is being read.
struct OpenInclude {
    /// The file that it leads to, with links resolved.
    file: PathBuf,
    /// Its `<uri>`; `None` for the main file.
    uri: Option<Span>,
}

/// Warnings that are kept, and errors: nobody reads more, and finding what was meant takes time.
pub(super) const MAX_FINDINGS: usize = 1000;

/// A set of findings without repetitions: a file that is included ten times is wrong once.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Diagnostic>,
    /// How many warnings and errors there were, those that the list has no room for counted as well.
    counts: [usize; 2],
    seen: HashSet<(Code, usize, usize, usize)>,
}

impl Findings {
    pub(super) fn add(&mut self, diagnostic: Diagnostic) {
        if let Some(span) = &diagnostic.span {
            let range = span.range();
            if !self.seen.insert((diagnostic.code, Arc::as_ptr(span.source()) as usize, range.start, range.end)) {
                return;
            }
        }
        let severity = diagnostic.severity as usize;
        self.counts[severity] += 1;
        if self.counts[severity] <= MAX_FINDINGS {
            self.list.push(diagnostic);
        }
    }

    /// Counts warnings and errors that are not listed.
    pub(super) fn add_unlisted(&mut self, counts: [usize; 2]) {
        for (count, more) in self.counts.iter_mut().zip(counts) {
            if more > 0 {
                *count = (*count).max(MAX_FINDINGS) + more;
            }
        }
    }

    /// What is listed, and how many warnings and errors are not.
    pub(super) fn into_list(self) -> (Vec<Diagnostic>, [usize; 2]) {
        (self.list, self.counts.map(|count| count.saturating_sub(MAX_FINDINGS)))
    }
}

/// Reads documents into the typed model and collects what is wrong with them.
pub(super) struct Reader<'o> {
    options: &'o LoadOptions,
    resolver: Resolver<'o>,
    /// Every file that was read, with `None` for one that could not be.
    documents: HashMap<PathBuf, Option<Arc<Document>>>,
    /// The files in the order of their reading.
    loaded: Vec<Arc<Document>>,
    pub(super) findings: Findings,
    open_includes: Vec<OpenInclude>,
    include_count: usize,
    /// Elements of all included files, each time that they are included.
    element_count: usize,
    /// The version that the document being read was written for.
    version: (u32, u32),
    /// It was said that a file does not declare our prefix.
    undeclared: bool,
}

/// What reading gives.
pub(super) struct Reading {
    pub(super) root: Root,
    pub(super) documents: Vec<Arc<Document>>,
    pub(super) findings: Findings,
}

impl<'o> Reader<'o> {
    pub(super) fn new(options: &'o LoadOptions) -> Self {
        Self {
            options,
            resolver: Resolver::new(options),
            documents: HashMap::new(),
            loaded: Vec::new(),
            findings: Findings::default(),
            open_includes: Vec::new(),
            include_count: 0,
            element_count: 0,
            version: (0, 0),
            undeclared: false,
        }
    }

    /// Reads the file at `path` and all that it includes.
    pub(super) fn read_file(mut self, path: &Path) -> Reading {
        let root = match Self::source(path, self.options.limits.xml.bytes) {
            Ok(source) => self.read_source(&source),
            Err(diagnostic) => {
                self.findings.add(*diagnostic);
                Root::default()
            }
        };
        Reading { root, documents: self.loaded, findings: self.findings }
    }

    /// Reads a text as if it were the file at its path.
    pub(super) fn read_text(mut self, source: &Arc<Source>) -> Reading {
        let root = self.read_source(source);
        Reading { root, documents: self.loaded, findings: self.findings }
    }

    /// A file's text. Bytes that are not UTF-8 are an error with their place.
    fn source(path: &Path, limit: u64) -> Result<Arc<Source>, Box<Diagnostic>> {
        let fail =
            |code, message: String| Box::new(Diagnostic::error(code, message).at(Source::new(path, "").span(0..0)));
        let cannot = |error: std::io::Error| fail(Code::FileRead, format!("cannot read {}: {error}", path.display()));
        let file = std::fs::File::open(path).map_err(cannot)?;
        let length = file.metadata().map_err(cannot)?.len();
        if length > limit {
            return Err(fail(Code::Limit, format!("{} has {length} bytes, the limit is {limit}", path.display())));
        }
        let mut bytes = Vec::new();
        // A pipe or a device does not say how much there is, and may never end.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(cannot)?;
        if bytes.len() as u64 > limit {
            return Err(fail(Code::Limit, format!("{} has more bytes than the limit, {limit}", path.display())));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source::new(path, text)),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let source = Source::new(path, String::from_utf8_lossy(error.as_bytes()));
                let message = format!("{} is not UTF-8 text: byte {at} begins no character", path.display());
                Err(Box::new(
                    Diagnostic::error(Code::FileRead, message)
                        .at(source.span(at..at + 1))
                        .help("save the file as UTF-8"),
                ))
            }
        }
    }

    /// Adds a finding, with the includes that led to the file being read.
    fn report(&mut self, mut diagnostic: Diagnostic) {
        diagnostic.include_chain = self.open_includes.iter().rev().filter_map(|open| open.uri.clone()).collect();
        self.findings.add(diagnostic);
    }

    fn error(&mut self, code: Code, node: Node<'_>, message: impl Into<String>) {
        self.report(Diagnostic::error(code, message).at(node.tag()).path(node.path()));
    }

    fn warn(&mut self, code: Code, node: Node<'_>, message: impl Into<String>) {
        self.report(Diagnostic::warning(code, message).at(node.tag()).path(node.path()));
    }

    /// A value that does not have its form. The check against the descriptions has mostly said so already.
    fn wrong_value(&mut self, node: Node<'_>, wrong: Wrong) {
        let message = format!("<{}>: {wrong}", node.name());
        self.report(Diagnostic::error(Code::ElementInvalid, message).at(node.value_span()).path(node.path()));
    }

    fn value<T>(&mut self, node: Node<'_>, default: T, parse: impl FnOnce(&str) -> Result<T, Wrong>) -> T {
        let text = node.text();
        if text.is_empty() {
            return default;
        }
        parse(text).unwrap_or_else(|wrong| {
            self.wrong_value(node, wrong);
            default
        })
    }

    fn child_value<T>(
        &mut self,
        node: Node<'_>,
        name: &str,
        default: T,
        parse: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> T {
        match node.child(name) {
            Some(child) => self.value(child, default, parse),
            None => default,
        }
    }

    fn number(&mut self, node: Node<'_>, name: &str, default: f64) -> f64 {
        let Some(child) = node.child(name) else { return default };
        self.value(child, default, |text| match value::lenient::number(text)? {
            number if number.is_finite() || schema::may_be_infinite(child) => Ok(number),
            _ => Err(value::not_finite(text)),
        })
    }

    fn flag(&mut self, node: Node<'_>, name: &str, default: bool) -> bool {
        self.child_value(node, name, default, value::boolean)
    }

    fn unsigned(&mut self, node: Node<'_>, name: &str, default: u32) -> u32 {
        let value = self.child_value(node, name, u64::from(default), value::lenient::unsigned);
        u32::try_from(value).unwrap_or(u32::MAX)
    }

    fn vector(&mut self, node: Node<'_>, name: &str, default: DVec3) -> DVec3 {
        self.child_value(node, name, default, value::lenient::vector)
    }

    fn color(&mut self, node: Node<'_>, name: &str, default: [f64; 4]) -> [f64; 4] {
        self.child_value(node, name, default, value::color)
    }

    fn text(&mut self, node: Node<'_>, name: &str, default: &str) -> String {
        match node.child(name) {
            Some(child) if !child.text().is_empty() => child.text().to_owned(),
            _ => default.to_owned(),
        }
    }

    fn element(node: Node<'_>, name: &str) -> Option<Element> {
        node.child(name).map(Element::from_node)
    }

    /// A flag that stands in an attribute.
    fn attribute_flag(&mut self, node: Node<'_>, name: &str) -> bool {
        node.attribute_value(name).is_some_and(|text| value::boolean(text) == Ok(true))
    }

    /// The `<pose>` of an element.
    fn pose(&mut self, node: Node<'_>) -> Pose {
        node.child("pose").map(|pose| self.pose_element(pose)).unwrap_or_default()
    }

    fn pose_element(&mut self, node: Node<'_>) -> Pose {
        let format = schema::rotation_format(node);
        if let Some(attribute) = node.attribute("rotation_format")
            && !matches!(attribute.value(), "" | "euler_rpy" | "quat_xyzw")
        {
            let message = format!("rotation_format \"{}\" is not known", value::shorten(attribute.value()));
            let diagnostic = Diagnostic::error(Code::AttributeInvalid, message).at(attribute.value_span());
            self.report(diagnostic.path(node.path()).help("write euler_rpy or quat_xyzw"));
        }
        if format == RotationFormat::Quaternion && self.attribute_flag(node, "degrees") {
            let diagnostic = Diagnostic::error(Code::AttributeInvalid, "a quaternion has no degrees");
            self.report(diagnostic.at(node.tag()).path(node.path()).help("leave degrees out, or write euler_rpy"));
        }
        let value = self.value(node, Default::default(), |text| value::pose(text, format));
        let relative_to = self.frame_name(node, "relative_to");
        Pose { value, relative_to, span: Some(node.span()) }
    }

    /// An attribute that names a frame. Names that only the format itself may use are errors.
    fn frame_name(&mut self, node: Node<'_>, attribute: &str) -> String {
        let Some(found) = node.attribute(attribute) else { return String::new() };
        let name = found.value();
        if is_reserved(name) && name != "__model__" && name != "world" && !name.starts_with("_merged__") {
            let message = format!("{attribute}=\"{name}\": {name} is a name that only the format itself may use");
            let diagnostic = Diagnostic::error(Code::AttributeInvalid, message);
            self.report(diagnostic.at(found.value_span()).path(node.path()));
            return String::new();
        }
        name.to_owned()
    }

    /// The name of an element that others refer to.
    fn name(&mut self, node: Node<'_>) -> String {
        let Some(attribute) = node.attribute("name") else {
            self.error(Code::AttributeMissing, node, format!("<{}> has no attribute name", node.name()));
            return String::new();
        };
        let name = attribute.value();
        if name.is_empty() {
            let diagnostic = Diagnostic::error(Code::AttributeInvalid, format!("<{}> has an empty name", node.name()));
            self.report(diagnostic.at(attribute.span()).path(node.path()));
        } else if is_reserved(name) {
            let message = format!("\"{name}\" is a name that the format keeps for itself");
            let diagnostic = Diagnostic::error(Code::ReservedName, message).at(attribute.value_span());
            self.report(
                diagnostic
                    .path(node.path())
                    .help("choose a name without two underscores on both ends, and not \"world\""),
            );
        }
        name.to_owned()
    }

    /// The plugins in an element.
    fn plugins(&mut self, node: Node<'_>) -> Vec<Plugin> {
        node.children_named("plugin").map(|plugin| self.plugin(plugin)).collect()
    }

    fn plugin(&mut self, node: Node<'_>) -> Plugin {
        let filename = node.attribute_value("filename").unwrap_or("").to_owned();
        let name = node.attribute_value("name").unwrap_or("").to_owned();
        Plugin { name, filename, element: Element::from_node(node), span: node.span() }
    }

    /// A file that the world names: a mesh, an image. One that is not found is a warning, for much of what is
    /// named is only looked at.
    fn resource(&mut self, node: Node<'_>) -> Resource {
        let uri = node.text().to_owned();
        let base = node.source().path().parent().unwrap_or(Path::new("")).to_owned();
        let path = if uri.is_empty() || uri.starts_with("__") {
            None
        } else {
            match self.resolver.resource(&uri, &base) {
                Lookup::Found(path) => Some(path),
                Lookup::Missing(tried) => {
                    let diagnostic = Diagnostic::warning(Code::UriLookup, format!("{uri} was not found"));
                    self.report(diagnostic.at(node.value_span()).path(node.path()).help(super::uri::tried(&tried)));
                    None
                }
            }
        };
        Resource { uri, path, span: node.span() }
    }

    /// Something that is understood, kept in the typed model, and used by nothing.
    fn unread(&mut self, node: Node<'_>) {
        let message = format!("<{}> is not simulated", node.name());
        self.warn(Code::ElementUnread, node, message);
    }
}

/// Names that files must not give: `world` and whatever has two underscores on both ends.
pub(super) fn is_reserved(name: &str) -> bool {
    name == "world" || (name.len() >= 4 && name.starts_with("__") && name.ends_with("__"))
}
