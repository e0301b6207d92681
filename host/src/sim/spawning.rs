//! From the request of `sim_spawn` to a document with one model.

use std::fmt::Write as _;
use std::path::Path;

use glamx::DPose3;
use quick_xml::escape::escape;

use super::models::{ModelSource, pose_of, texts};
use crate::sdf::{self, Diagnostic, LoadOptions, Node, Source, XmlLimits};
use crate::suggest::shown;

/// What the text of a request is called in messages.
const NAME: &str = "sim_spawn";

/// Reads the model of a request: a document with that model alone, and warnings. Relative names in it are looked up in
/// `directory`.
///
/// # Errors
/// What is wrong with the request or with the SDF, all of it.
pub(super) fn read(
    source: &ModelSource,
    directory: &Path,
    options: &LoadOptions,
) -> Result<(sdf::World, Vec<String>), String> {
    if let Some(name) = &source.name {
        check_name(name)?;
    }
    let pose = source.pose.as_deref().map(pose_of).transpose()?;
    let text = match (&source.sdf, &source.uri) {
        (Some(text), None) => with_overrides(text, source.name.as_deref(), pose.as_ref(), directory)?,
        (None, Some(uri)) => include(uri, source.name.as_deref(), pose.as_ref()),
        (Some(_), Some(_)) => return Err("sdf and uri: expected one of them, not both".to_owned()),
        (None, None) => return Err("expected sdf (a <model> as text) or uri (model://NAME, a path)".to_owned()),
    };
    let loaded = sdf::load_source(&Source::new(directory.join(NAME), text), options);
    if loaded.has_errors() {
        return Err(list(loaded.errors()));
    }
    let warnings = texts(loaded.warnings());
    let document = loaded.into_world().filter(|world| {
        world.models.len() == 1 && world.joints.is_empty() && world.lights.is_empty() && world.actors.is_empty()
    });
    match document {
        Some(document) => Ok((document, warnings)),
        None => Err("expected SDF with one <model> and nothing beside it".to_owned()),
    }
}

/// The element that makes a model of this name at this pose again, wherever in a document it stands.
///
/// # Errors
/// As [`read`]; it has been read before.
pub(super) fn element(
    source: &ModelSource,
    name: &str,
    pose: Option<&DPose3>,
    directory: &Path,
) -> Result<String, String> {
    if let Some(uri) = &source.uri {
        let whole = include(uri, Some(name), pose);
        let inside = whole.find("<include>").zip(whole.find("</world>"));
        return Ok(inside.map_or(String::new(), |(from, to)| whole[from..to].to_owned()));
    }
    let whole = with_overrides(source.sdf.as_deref().unwrap_or_default(), Some(name), pose, directory)?;
    let parsed = Source::new(directory.join(NAME), whole);
    let document = sdf::parse(&parsed, &XmlLimits::default()).map_err(|error| error.to_string())?;
    let root = document.root();
    let model = root.child("model").or_else(|| root.child("world").and_then(|world| world.child("model")));
    let model = model.ok_or("there is no <model> in it")?;
    let text = &parsed.text()[model.span().range()];
    // The prefix that the root of its own text has declared.
    match text.strip_prefix("<model").filter(|_| text.contains("<tw:") && !text.contains("xmlns:tw")) {
        Some(rest) => Ok(format!("<model xmlns:tw=\"https://tickworks.dev/sdf\"{rest}")),
        None => Ok(text.to_owned()),
    }
}

/// All errors in one text.
pub(super) fn list<'a>(errors: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let errors: Vec<&Diagnostic> = errors.into_iter().collect();
    let shown = texts(errors.iter().copied());
    let more = errors.len() - shown.len();
    let mut text = match errors.len() {
        1 => String::new(),
        count => format!("{count} errors:\n"),
    };
    text.push_str(&shown.join("\n"));
    if more > 0 {
        let _ = write!(text, "\nand {more} more");
    }
    text
}

fn check_name(name: &str) -> Result<(), String> {
    let shown = shown(name);
    if name.is_empty() || name.contains("::") || name.chars().any(char::is_control) || name.trim() != name {
        return Err(format!(
            "the name '{shown}' cannot be that of a model: expected text without '::' and control characters"
        ));
    }
    if matches!(name, "world" | "__model__" | "__root__") {
        return Err(format!("the name '{shown}' is reserved by SDF"));
    }
    Ok(())
}

/// A world that includes the model.
fn include(uri: &str, name: Option<&str>, pose: Option<&DPose3>) -> String {
    let mut text = format!("<sdf version=\"1.11\"><world name=\"spawn\"><include><uri>{}</uri>", escape(uri));
    if let Some(name) = name {
        let _ = write!(text, "<name>{}</name>", escape(name));
    }
    if let Some(pose) = pose {
        text.push_str(&pose_element(pose));
    }
    text.push_str("</include></world></sdf>");
    text
}

/// The text of a model with another name and pose.
fn with_overrides(text: &str, name: Option<&str>, pose: Option<&DPose3>, directory: &Path) -> Result<String, String> {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    // A bare model is put into the root that it lacks, on the same line, so that places stay what they are.
    let whole = if trimmed.starts_with("<model") {
        format!("<sdf version=\"1.11\" xmlns:tw=\"https://tickworks.dev/sdf\">{text}</sdf>")
    } else {
        text.to_owned()
    };
    if name.is_none() && pose.is_none() {
        return Ok(whole);
    }
    let source = Source::new(directory.join(NAME), whole.clone());
    // What cannot be read is said when it is loaded.
    let Ok(document) = sdf::parse(&source, &XmlLimits::default()) else { return Ok(whole) };
    let root = document.root();
    let Some(model) = root.child("model").or_else(|| root.child("world").and_then(|world| world.child("model"))) else {
        return Ok(whole);
    };
    let mut edits: Vec<(std::ops::Range<usize>, String)> = Vec::new();
    if let Some(name) = name {
        match model.attributes().find(|attribute| attribute.name() == "name") {
            Some(attribute) => edits.push((attribute.span().range(), format!("name=\"{}\"", escape(name)))),
            None => return Err("the <model> has no name attribute".to_owned()),
        }
    }
    if let Some(pose) = pose {
        let element = pose_element(pose);
        match model.children().find(|child| child.name() == "pose") {
            Some(old) => edits.push((old.span().range(), element)),
            None => edits.push(inserted(&model, &whole, &element)),
        }
    }
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut edited = whole;
    for (range, new) in edits {
        edited.replace_range(range, &new);
    }
    Ok(edited)
}

/// An element as the first child of a model.
fn inserted(model: &Node<'_>, text: &str, element: &str) -> (std::ops::Range<usize>, String) {
    let range = model.span().range();
    let first = model.children().next().map(|child| child.span().range().start);
    match first {
        Some(at) => (at..at, element.to_owned()),
        // `<model …/>` has nothing inside; `<model …></model>` has its end.
        None if text[range.clone()].ends_with("/>") => (range.end - 2..range.end, format!(">{element}</model>")),
        None => {
            let end = text[range.clone()].rfind("</").map_or(range.end, |at| range.start + at);
            (end..end, element.to_owned())
        }
    }
}

/// A pose in the world, in numbers that read back as they are.
fn pose_element(pose: &DPose3) -> String {
    let p = pose.translation;
    let [roll, pitch, yaw] = sdf::roll_pitch_yaw(pose.rotation);
    format!("<pose>{:?} {:?} {:?} {roll:?} {pitch:?} {yaw:?}</pose>", p.x, p.y, p.z)
}
