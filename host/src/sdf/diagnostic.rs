//! What is wrong with a file, where, and what would be right.

use std::fmt::{self, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use super::source::Span;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The world loads; something in it was not taken as its author may have meant it.
    Warning,
    /// The file cannot be used.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of a finding. The names of the errors are those that users of SDF tools know.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// The name that is printed, such as `DUPLICATE_NAME`.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// A file cannot be opened, is not text, not XML, or not SDF of a version that is read.
    FileRead = "FILE_READ",
    /// A limit on size, depth or number was reached.
    Limit = "LIMIT",
    /// The file's version is newer than what is known.
    Version = "VERSION",
    /// An element's value cannot be understood or is not allowed.
    ElementInvalid = "ELEMENT_INVALID",
    /// An element that must be there is not.
    ElementMissing = "ELEMENT_MISSING",
    /// An element stands where its kind cannot.
    ElementIncorrectType = "ELEMENT_INCORRECT_TYPE",
    /// An element that is known but must not be used here any more.
    ElementDeprecated = "ELEMENT_DEPRECATED",
    /// An element that SDF does not have at this place.
    ElementUnknown = "ELEMENT_UNKNOWN",
    /// An element that is read by nothing in this program.
    ElementUnread = "ELEMENT_UNREAD",
    /// An element that may be there once is there again.
    ElementRepeated = "ELEMENT_REPEATED",
    /// An attribute's value cannot be understood or is not allowed.
    AttributeInvalid = "ATTRIBUTE_INVALID",
    /// An attribute that must be there is not.
    AttributeMissing = "ATTRIBUTE_MISSING",
    /// An attribute that SDF does not have on this element.
    AttributeUnknown = "ATTRIBUTE_UNKNOWN",
    /// Two siblings share a name.
    DuplicateName = "DUPLICATE_NAME",
    /// A name that the format keeps for itself.
    ReservedName = "RESERVED_NAME",
    /// What an include names was not found.
    UriLookup = "URI_LOOKUP",
    /// An include's URI is not one.
    UriInvalid = "URI_INVALID",
    /// A file includes itself, directly or through others.
    IncludeCycle = "INCLUDE_CYCLE",
    /// A model cannot be merged here.
    MergeIncludeUnsupported = "MERGE_INCLUDE_UNSUPPORTED",
    /// A model has no link and no model in it.
    ModelWithoutLink = "MODEL_WITHOUT_LINK",
    /// The canonical link named by a model does not exist.
    ModelCanonicalLinkInvalid = "MODEL_CANONICAL_LINK_INVALID",
    /// The placement frame named for a model does not exist in it.
    ModelPlacementFrameInvalid = "MODEL_PLACEMENT_FRAME_INVALID",
    /// A link's mass or inertia is not that of a body.
    LinkInertiaInvalid = "LINK_INERTIA_INVALID",
    /// `attached_to` names nothing.
    FrameAttachedToInvalid = "FRAME_ATTACHED_TO_INVALID",
    /// `attached_to` leads back to where it began.
    FrameAttachedToCycle = "FRAME_ATTACHED_TO_CYCLE",
    /// The frames of a scope lead to no link.
    FrameAttachedToGraphError = "FRAME_ATTACHED_TO_GRAPH_ERROR",
    /// `relative_to` names nothing.
    PoseRelativeToInvalid = "POSE_RELATIVE_TO_INVALID",
    /// `relative_to` leads back to where it began.
    PoseRelativeToCycle = "POSE_RELATIVE_TO_CYCLE",
    /// A pose hangs on one that cannot be resolved.
    PoseRelativeToGraphError = "POSE_RELATIVE_TO_GRAPH_ERROR",
    /// A joint's parent names nothing.
    JointParentLinkInvalid = "JOINT_PARENT_LINK_INVALID",
    /// A joint's child names nothing.
    JointChildLinkInvalid = "JOINT_CHILD_LINK_INVALID",
    /// A joint joins a link to itself.
    JointParentSameAsChild = "JOINT_PARENT_SAME_AS_CHILD",
    /// A joint's axis cannot be resolved.
    JointAxisExpressedInInvalid = "JOINT_AXIS_EXPRESSED_IN_INVALID",
    /// A mimic constraint cannot be followed.
    JointAxisMimicInvalid = "JOINT_AXIS_MIMIC_INVALID",
    /// A `<tw:robot>` that cannot work.
    RobotInvalid = "ROBOT_INVALID",
    /// A mesh or image file that cannot be read.
    MeshInvalid = "MESH_INVALID",
    /// A change to included parameters that names nothing.
    ParameterError = "PARAMETER_ERROR",
    /// A URDF file that cannot be taken over.
    UrdfInvalid = "URDF_INVALID",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One finding about a file.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of finding it is.
    pub code: Code,
    /// One sentence: what is wrong, with the value that is wrong.
    pub message: String,
    /// Where it is. Absent only where there is no file at all.
    pub span: Option<Span>,
    /// The path of the element, such as `/sdf/world[@name="w"]/model[@name="m"]/pose`.
    pub element_path: String,
    /// The `<uri>` elements that led to the file, innermost first.
    pub include_chain: Vec<Span>,
    /// What would be right.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a place yet.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning without a place yet.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    fn new(severity: Severity, code: Code, message: String) -> Self {
        Self { severity, code, message, span: None, element_path: String::new(), include_chain: Vec::new(), help: None }
    }

    /// Says where it is.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Says which element it is about.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.element_path = path.into();
        self
    }

    /// Says what would be right.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what would be right, if that is known.
    #[must_use]
    pub fn help_if(mut self, help: Option<String>) -> Self {
        self.help = self.help.or(help);
        self
    }

    /// The file that the finding is about.
    pub fn file(&self) -> Option<&Path> {
        self.span.as_ref().map(Span::file)
    }

    /// The finding for people: place, sentence, source line with a caret, include chain, help.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{}[{}]: {}", self.severity, self.code, self.message);
        if let Some(span) = &self.span {
            render_place(&mut out, span);
        }
        if !self.element_path.is_empty() {
            let _ = writeln!(out, "   = element: {}", self.element_path);
        }
        for include in &self.include_chain {
            let _ = writeln!(out, "   = included from {include}");
        }
        if let Some(help) = &self.help {
            let _ = writeln!(out, "   = help: {help}");
        }
        out
    }

    /// The finding as an object with `code`, `message`, `file`, `line`, `column`, `path`, and `help` and
    /// `include_chain` where there are such.
    pub fn to_json(&self) -> Value {
        let mut object = json!({"code": self.code.name(), "message": self.message, "path": self.element_path});
        if let Some(span) = &self.span {
            let (line, column) = span.position();
            object["file"] = json!(span.file().to_string_lossy());
            object["line"] = json!(line);
            object["column"] = json!(column);
        }
        if let Some(help) = &self.help {
            object["help"] = json!(help);
        }
        if !self.include_chain.is_empty() {
            object["include_chain"] = self
                .include_chain
                .iter()
                .map(
                    |span| json!({"file": span.file().to_string_lossy(), "line": span.line(), "column": span.column()}),
                )
                .collect();
        }
        object
    }
}

/// The widest piece of a source line that is shown: generated files have lines of megabytes.
const SHOWN_COLUMNS: usize = 120;

fn render_place(out: &mut String, span: &Span) {
    let (line, column) = span.position();
    let _ = writeln!(out, "  --> {}:{line}:{column}", span.file().display());
    let text = span.source().line(line);
    let at = column as usize - 1;
    let skipped = at.saturating_sub(SHOWN_COLUMNS / 2);
    let shown: String = text.chars().skip(skipped).take(SHOWN_COLUMNS).map(printable).collect();
    let first_line = span.text().lines().next().unwrap_or("").chars().count();
    let width = first_line.clamp(1, (SHOWN_COLUMNS + skipped).saturating_sub(at).max(1));
    let gutter = line.to_string().len().max(3);
    let _ = writeln!(out, "{:gutter$} |", "");
    let _ = writeln!(out, "{line:>gutter$} | {}", shown.trim_end());
    let _ = writeln!(out, "{:gutter$} | {:pad$}{}", "", "", "^".repeat(width), pad = at - skipped);
}

/// Control characters (a tab among them) take one column, so that the caret stands under its place.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

impl fmt::Display for Diagnostic {
    /// One line: `file:line:column: error[CODE]: sentence`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(span) = &self.span {
            write!(f, "{span}: ")?;
        }
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::source::Source;

    #[test]
    fn the_caret_stands_under_the_place() {
        let source = Source::new("w.sdf", "<sdf>\n\t<colision name=\"c\"/>\n</sdf>\n");
        let at = source.text().find("<col").unwrap();
        let d = Diagnostic::warning(Code::ElementUnknown, "unknown element <colision> in <link>")
            .at(source.span(at..at + 9))
            .path("/sdf/colision")
            .help("did you mean <collision>?");
        assert_eq!(
            d.render(),
            "warning[ELEMENT_UNKNOWN]: unknown element <colision> in <link>\n  --> w.sdf:2:2\n    |\n  2 |  <colision name=\"c\"/>\n    |  ^^^^^^^^^\n   = element: /sdf/colision\n   = help: did you mean <collision>?\n"
        );
        assert_eq!(d.to_json()["column"], 2);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let source = Source::new("w.sdf", format!("{}X{}", "a".repeat(5000), "b".repeat(5000)));
        let text = Diagnostic::error(Code::FileRead, "x").at(source.span(5000..5001)).render();
        assert!(text.contains(&format!("| {}X{}", "a".repeat(60), "b".repeat(59))), "{text}");
        assert!(text.contains(&format!("| {}^\n", " ".repeat(60))), "{text}");
    }
}
