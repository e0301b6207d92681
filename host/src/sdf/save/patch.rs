//! Changes to a text: single ranges of it replaced, in the way that its surroundings are written.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use glamx::DPose3;

use super::numbers;
use crate::sdf::schema;
use crate::sdf::tree::{Document, Node, NodeId};
use crate::sdf::value;

/// Lines to be inserted, each with how much deeper it is than the first.
pub(super) type Lines = Vec<(usize, String)>;

/// Changes to the text of a document, which is the tree of the text as it stands, nothing converted.
pub(super) struct Patch<'a> {
    document: &'a Document,
    edits: Vec<(Range<usize>, String)>,
    /// What comes into elements that are written as one tag: they are opened once.
    opened: BTreeMap<u32, Vec<Lines>>,
    removed: HashSet<NodeId>,
    /// What one level of elements is set in by.
    unit: String,
}

impl<'a> Patch<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        let mut patch = Self {
            document,
            edits: Vec::new(),
            opened: BTreeMap::new(),
            removed: HashSet::new(),
            unit: "  ".to_owned(),
        };
        if let Some(unit) = document.ids().find_map(|id| patch.unit_at(document.node(NodeId(id)))) {
            patch.unit = unit;
        }
        patch
    }

    fn text(&self) -> &'a str {
        self.document.source().text()
    }

    /// The whole text with all changes.
    pub(super) fn finish(mut self) -> String {
        for (id, blocks) in std::mem::take(&mut self.opened) {
            self.open(self.document.node(NodeId(id)), blocks);
        }
        // Stable: what is inserted at one place stays in its order.
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let text = self.text();
        let mut out = String::with_capacity(text.len() + 1024);
        let mut at = 0;
        for (range, new) in &self.edits {
            out.push_str(text.get(at..range.start).unwrap_or(""));
            out.push_str(new);
            at = at.max(range.end);
        }
        out.push_str(text.get(at..).unwrap_or(""));
        out
    }

    fn replace(&mut self, range: Range<usize>, new: impl Into<String>) {
        self.edits.push((range, new.into()));
    }

    /// What stands between the tags of an element; `None` for one of a single tag.
    fn inside(&self, node: Node<'_>) -> Option<Range<usize>> {
        let (start, range) = (node.data().tag_end as usize, node.span().range());
        if range.end <= start {
            return None;
        }
        let close = self.text().get(start..range.end)?.rfind("</")?;
        Some(start..start + close)
    }

    /// Sets the value of a `<pose>`, in the form that it has there: its comments, white space and numbers that mean the same
    /// stay.
    pub(super) fn set_pose(&mut self, node: Node<'a>, pose: &DPose3) {
        let format = schema::rotation_format(node);
        let old = value::pose(node.text(), format).ok();
        let tokens = self.inside(node).and_then(|inside| self.words(inside));
        let written = |words: &[Range<usize>]| -> Option<Vec<f64>> {
            words.iter().map(|w| value::number(&self.text()[w.clone()]).ok()).collect()
        };
        match tokens.as_deref().and_then(|words| Some((words, written(words)?, old.as_ref()?))) {
            Some((words, written, old)) if !words.is_empty() => {
                let values = numbers::values(pose, format, Some((old, &written)));
                if values.len() == words.len() {
                    for ((word, value), old) in words.iter().zip(values).zip(written) {
                        if value != old {
                            self.replace(word.clone(), numbers::number(value));
                        }
                    }
                    return;
                }
                self.set_text(node, &numbers::join(&values));
            }
            _ => self.set_text(node, &numbers::join(&numbers::values(pose, format, None))),
        }
    }

    /// The words of a text with comments; `None` where there is more than that.
    fn words(&self, inside: Range<usize>) -> Option<Vec<Range<usize>>> {
        let text = self.text();
        let mut words: Vec<Range<usize>> = Vec::new();
        let mut at = inside.start;
        while at < inside.end {
            let rest = text.get(at..inside.end)?;
            if rest.starts_with("<!--") {
                let end = at + rest.find("-->")? + 3;
                // A comment does not end a number.
                let behind = text.get(end..inside.end)?.chars().next();
                let glued = words.last().is_some_and(|word| word.end == at);
                if glued && behind.is_some_and(|c| !c.is_whitespace()) {
                    return None;
                }
                at = end;
                continue;
            }
            let next = rest.chars().next()?;
            if matches!(next, '<' | '&') {
                return None;
            }
            let end = at + next.len_utf8();
            if !next.is_whitespace() {
                match words.last_mut().filter(|word| word.end == at) {
                    Some(word) => word.end = end,
                    None => words.push(at..end),
                }
            }
            at = end;
        }
        Some(words)
    }

    /// Sets the text in an element.
    pub(super) fn set_text(&mut self, node: Node<'a>, new: &str) {
        let data = node.data();
        if self.inside(node).is_none() {
            let tag = &self.text()[data.range.0 as usize..data.tag_end as usize];
            let kept = tag.trim_end_matches('>').trim_end_matches('/').trim_end();
            self.replace(
                data.range.0 as usize + kept.len()..data.tag_end as usize,
                format!(">{new}</{}>", node.name()),
            );
            return;
        }
        let (start, end) = (data.text_range.0 as usize, data.text_range.1 as usize);
        let text = self.text().get(start..end).unwrap_or("");
        let lead = text.len() - text.trim_start().len();
        let range = if text.trim().is_empty() { start..start } else { start + lead..start + text.trim_end().len() };
        self.replace(range, new);
    }

    /// Puts lines into an element as its last child.
    pub(super) fn append(&mut self, parent: Node<'a>, lines: Lines) {
        let last = parent.children().filter(|child| !self.is_removed(*child)).last();
        self.insert(parent, last, lines);
    }

    /// Puts lines into an element: behind one of its children, or as its first child.
    pub(super) fn insert(&mut self, parent: Node<'a>, after: Option<Node<'a>>, lines: Lines) {
        if self.inside(parent).is_none() {
            self.opened.entry(parent.id().0).or_default().push(lines);
            return;
        }
        let at = after.map_or(parent.data().tag_end as usize, |child| child.span().range().end);
        let Some(rest) = self.text().get(at..).and_then(|rest| rest.split(['\n', '\r']).next()) else { return };
        let behind = rest.trim();
        // A comment behind an element on its line is about that element.
        let comment = behind.starts_with("<!--") && behind.ends_with("-->") && behind.matches("<!--").count() == 1;
        if behind.is_empty() || comment {
            let at = at + if comment { rest.trim_end().len() } else { 0 };
            let indent = after.and_then(|child| self.indent(child)).unwrap_or_else(|| self.indent_in(parent));
            let text = self.block(at, &indent, &lines);
            self.replace(at..at, text);
        } else {
            self.replace(at..at, lines.into_iter().map(|(_, line)| line).collect::<String>());
        }
    }

    /// Lines, each behind a line end.
    fn block(&self, at: usize, indent: &str, lines: &[(usize, String)]) -> String {
        let end = self.line_end(at);
        lines.iter().map(|(depth, line)| format!("{end}{indent}{}{line}", self.unit.repeat(*depth))).collect()
    }

    /// Opens an element of a single tag.
    fn open(&mut self, node: Node<'a>, blocks: Vec<Lines>) {
        let data = node.data();
        let (start, end) = (data.range.0 as usize, data.tag_end as usize);
        let kept = self.text()[start..end].trim_end_matches('>').trim_end_matches('/').trim_end().len();
        let lines: Lines = blocks.into_iter().flatten().collect();
        let inner = match self.indent(node) {
            Some(indent) => {
                let inner = self.block(start, &format!("{indent}{}", self.unit), &lines);
                format!("{inner}{}{indent}", self.line_end(start))
            }
            None => lines.into_iter().map(|(_, line)| line).collect(),
        };
        self.replace(start + kept..end, format!(">{inner}</{}>", node.name()));
    }

    /// Takes an element out, with its line where it has one for itself.
    pub(super) fn remove(&mut self, node: Node<'_>) {
        let Range { mut start, mut end } = node.span().range();
        let (before, behind) = self.text().split_at(end);
        let blank = behind.len() - behind.trim_start_matches([' ', '\t']).len();
        let line_end = ["\r\n", "\n"].into_iter().find(|line_end| behind[blank..].starts_with(line_end));
        if let (Some(indent), Some(line_end)) = (self.indent(node), line_end) {
            start -= indent.len();
            end = before.len() + blank + line_end.len();
        }
        self.replace(start..end, "");
        self.removed.insert(node.id());
    }

    pub(super) fn is_removed(&self, node: Node<'_>) -> bool {
        self.removed.contains(&node.id())
    }

    /// What stands before an element on its line, where that is white space only.
    fn indent(&self, node: Node<'_>) -> Option<String> {
        let before = self.text().get(..node.span().range().start)?;
        let line = before.rsplit('\n').next()?.trim_start_matches('\u{feff}');
        line.chars().all(char::is_whitespace).then(|| line.to_owned())
    }

    /// How far the children of an element are set in.
    fn indent_in(&self, parent: Node<'_>) -> String {
        let of_child = parent.children().find_map(|child| self.indent(child));
        of_child.unwrap_or_else(|| {
            let around = std::iter::successors(Some(parent), Node::parent).find_map(|node| self.indent(node));
            around.unwrap_or_default() + &self.unit
        })
    }

    fn unit_at(&self, node: Node<'_>) -> Option<String> {
        let (inner, outer) = (self.indent(node)?, self.indent(node.parent()?)?);
        inner.strip_prefix(outer.as_str()).filter(|unit| !unit.is_empty()).map(str::to_owned)
    }

    /// The line end that is used at a place.
    fn line_end(&self, at: usize) -> &'static str {
        let (before, behind) = self.text().split_at(at);
        let carried = match before.rfind('\n') {
            Some(end) => before[..end].ends_with('\r'),
            None => behind.find('\n').is_some_and(|end| behind[..end].ends_with('\r')),
        };
        if carried { "\r\n" } else { "\n" }
    }

    /// The lines of an element that is text, set in as its surroundings are.
    pub(super) fn lines_of(text: &str) -> Lines {
        let text = text.trim();
        // Blanks in character data are not ours to change.
        if text.contains("<![CDATA[") {
            return vec![(0, text.to_owned())];
        }
        let blank = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let common = text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(blank).min().unwrap_or(0);
        let line = |(n, line): (usize, &str)| {
            let line = if n == 0 { line } else { line.get(common.min(blank(line))..).unwrap_or("") };
            (0, line.trim_end().to_owned())
        };
        text.lines().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::{Source, XmlLimits, parse};

    fn patched(text: &str, change: impl for<'a> Fn(&mut Patch<'a>, Node<'a>)) -> String {
        let document = parse(&Source::new("t.sdf", text), &XmlLimits::default()).unwrap();
        let mut patch = Patch::new(&document);
        change(&mut patch, document.root());
        patch.finish()
    }

    fn moved(text: &str) -> String {
        let pose = DPose3::from_translation(glamx::DVec3::new(1.0, 2.5, 3.0));
        patched(text, |patch, root| patch.set_pose(root, &pose))
    }

    #[test]
    fn only_the_numbers_of_a_pose_that_change_are_written() {
        for (old, new) in [
            ("<pose>0 0 0 0 0 0</pose>", "<pose>1 2.5 3 0 0 0</pose>"),
            ("<pose> 1.0\t2  3.00\n -0 0 0 </pose>", "<pose> 1.0\t2.5  3.00\n -0 0 0 </pose>"),
            ("<pose><!-- a -->0 0 0<!-- b --> 0 0 0</pose>", "<pose><!-- a -->1 2.5 3<!-- b --> 0 0 0</pose>"),
            ("<pose/>", "<pose>1 2.5 3 0 0 0</pose>"),
            ("<pose frame=''  />", "<pose frame=''>1 2.5 3 0 0 0</pose>"),
            ("<pose></pose>", "<pose>1 2.5 3 0 0 0</pose>"),
            ("<pose degrees='true'>0 0 0 360 0 0</pose>", "<pose degrees='true'>1 2.5 3 360 0 0</pose>"),
            (
                "<pose rotation_format='quat_xyzw'>0 0 0 0 0 0 -1</pose>",
                "<pose rotation_format='quat_xyzw'>1 2.5 3 0 0 0 -1</pose>",
            ),
            ("<pose><![CDATA[0 0 0 0 0 0]]></pose>", "<pose>1 2.5 3 0 0 0</pose>"),
            ("<pose>1<!-- 2 -->2 0 0 0 0 0</pose>", "<pose>1 2.5 3 0 0 0</pose>"),
        ] {
            assert_eq!(moved(old), new);
        }
    }

    #[test]
    fn what_is_inserted_follows_its_surroundings() {
        let add =
            |text: &str| patched(text, |p, root| p.insert(root, None, vec![(0, "<x>".into()), (1, "<y/>".into())]));
        assert_eq!(add("<a>\r\n\t<b/>\r\n</a>"), "<a>\r\n\t<x>\r\n\t\t<y/>\r\n\t<b/>\r\n</a>");
        assert_eq!(add("<a> <!-- of a -->\n <b/></a>"), "<a> <!-- of a -->\n <x>\n  <y/>\n <b/></a>");
        assert_eq!(add("<a><b/></a>"), "<a><x><y/><b/></a>");
        assert_eq!(add("<a name='a' />"), "<a name='a'>\n  <x>\n    <y/>\n</a>");
        assert_eq!(add("<a>\n</a>"), "<a>\n  <x>\n    <y/>\n</a>");
    }

    #[test]
    fn what_is_removed_takes_its_line_with_it() {
        let cut = |text: &str| patched(text, |p, root| p.remove(root.child("b").unwrap()));
        assert_eq!(cut("<a>\r\n  <b/> \r\n  <c/>\r\n</a>"), "<a>\r\n  <c/>\r\n</a>");
        assert_eq!(cut("<a>\n  <b/> <!-- b -->\n</a>"), "<a>\n   <!-- b -->\n</a>");
        assert_eq!(cut("<a><b/><c/></a>"), "<a><c/></a>");
    }
}
