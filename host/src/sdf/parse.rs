//! Text to tree: XML as the field writes it, and not more.
//!
//! Accepted beyond the letter of XML: prefixes that nobody declared, `--` in comments, white space before the
//! declaration, names such as `gz::x`, a byte order mark, CRLF, a lone `&`. Refused: attributes without
//! quotes, tags that do not match, document types and with them every entity but XML's own five.

use std::borrow::Cow;
use std::sync::Arc;

use quick_xml::errors::{Error as XmlError, IllFormedError};
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, escape};

use super::diagnostic::{Code, Diagnostic, Severity};
use super::source::Source;
use super::tree::{AttributeData, Document, NONE, NodeData, Piece};

/// What one file may ask for at most.
#[derive(Clone, Copy, Debug)]
pub struct XmlLimits {
    /// Bytes of one file.
    pub bytes: u64,
    /// Elements in elements.
    pub depth: usize,
    /// Elements of one file.
    pub elements: usize,
    /// Attributes of one element.
    pub attributes: usize,
}

impl Default for XmlLimits {
    fn default() -> Self {
        // 30,000 models of five links take about 60 MB; a depth of 128 is 60 models in one another.
        Self { bytes: 256 << 20, depth: 128, elements: 4_000_000, attributes: 256 }
    }
}

/// Reads `source` as a tree. The first thing that is not XML ends it: what follows would be guesswork.
pub fn parse(source: &Arc<Source>, limits: &XmlLimits) -> Result<Document, Diagnostic> {
    if source.text().len() as u64 > limits.bytes.min(u64::from(u32::MAX) - 1) {
        let message = format!("the file has {} bytes, the limit is {}", source.text().len(), limits.bytes);
        return Err(Diagnostic::error(Code::Limit, message).at(source.span(0..0)));
    }
    // XML has no control characters but tabs and line ends; a NUL in a name would end it elsewhere.
    let control = source.text().bytes().position(|byte| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r'));
    if let Some(at) = control {
        let message = format!("this is not XML: byte 0x{:02x} is a control character", source.text().as_bytes()[at]);
        return Err(Diagnostic::error(Code::FileRead, message).at(source.span(at..at + 1)));
    }
    if let Some(at) = source.text().find(|c| !is_xml(c)) {
        let message = "this is not XML: it has a character that XML does not allow (U+FFFE or U+FFFF)";
        return Err(Diagnostic::error(Code::FileRead, message).at(source.span(at..at + 3)));
    }
    // An element takes 30 bytes of text or more in files from the field.
    let nodes = Vec::with_capacity(source.text().len() / 48);
    let document = Document {
        source: Arc::clone(source),
        others: Vec::new(),
        nodes,
        attributes: Vec::new(),
        oddities: Vec::new(),
        parsed: 0,
    };
    Parser { document, limits, open: Vec::new(), text: TextRun::default() }.run()
}

/// The pieces of text of an element that were seen so far.
#[derive(Default)]
struct TextRun {
    range: Option<(usize, usize)>,
    made: Option<String>,
}

struct Parser<'a> {
    document: Document,
    limits: &'a XmlLimits,
    /// The open elements and the text seen in each of them but the innermost.
    open: Vec<(u32, TextRun)>,
    text: TextRun,
}

impl Parser<'_> {
    fn run(mut self) -> Result<Document, Diagnostic> {
        let source = Arc::clone(&self.document.source);
        let text = source.text();
        // Byte order marks are no part of the XML, but of the offsets in the file. All of them: the reader would take a second
        // one off by itself, and count its offsets from behind it.
        let mark = text.len() - text.trim_start_matches('\u{feff}').len();
        let mut reader = Reader::from_str(&text[mark..]);
        reader.config_mut().allow_dangling_amp = true;
        reader.config_mut().check_end_names = true;
        reader.config_mut().allow_unmatched_ends = true;
        loop {
            let start = mark + reader.buffer_position() as usize;
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => return Err(self.syntax(&error, mark + reader.error_position() as usize)),
            };
            let end = mark + reader.buffer_position() as usize;
            match event {
                Event::Start(tag) => self.open_element(&tag, start, end)?,
                Event::Empty(tag) => {
                    self.open_element(&tag, start, end)?;
                    self.close_element(end);
                }
                Event::End(tag) if self.open.is_empty() => {
                    let name = tag.name().into_inner().to_owned();
                    self.stray_end(&name, start, end)?;
                }
                Event::End(_) => self.close_element(end),
                Event::Text(_) => self.add_text(start, end, None)?,
                Event::CData(data) => self.add_text(start, end, Some(&data.xml10_content()))?,
                Event::GeneralRef(_) => {
                    let reference = &text[start..end];
                    self.references(reference, start)?;
                    let resolved = escape::unescape(reference).unwrap_or(Cow::Borrowed(reference));
                    self.add_text(start, end, Some(&resolved))?;
                }
                Event::DocType(_) => {
                    return Err(self
                        .error(Code::FileRead, "a document type (<!DOCTYPE …>) is not allowed in SDF", start, end)
                        .help("remove it; entities other than &amp; &lt; &gt; &quot; &apos; are not resolved"));
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof => break,
            }
        }
        if let Some((node, _)) = self.open.last() {
            let data = &self.document.nodes[*node as usize];
            let (start, end) = (data.range.0 as usize, data.tag_end as usize);
            let name = self.document.node(super::tree::NodeId(*node)).name().to_owned();
            return Err(self.error(
                Code::FileRead,
                format!("<{name}> is not closed: </{name}> not found before the end of the file"),
                start,
                end,
            ));
        }
        if self.document.nodes.is_empty() {
            return Err(self
                .error(Code::FileRead, "the file has no element", 0, 0)
                .help("an SDF file begins with <sdf version=\"1.11\">"));
        }
        self.document.parsed = self.document.nodes.len() as u32;
        Ok(self.document)
    }

    fn error(&self, code: Code, message: impl Into<String>, start: usize, end: usize) -> Diagnostic {
        let path = match self.open.last() {
            Some((node, _)) => self.document.node(super::tree::NodeId(*node)).path(),
            None => String::new(),
        };
        Diagnostic::error(code, message).at(self.document.source.span(start..end)).path(path)
    }

    fn syntax(&self, error: &XmlError, at: usize) -> Diagnostic {
        let source = &self.document.source;
        let end = source.text()[at..].find(['\n', '>']).map_or(source.text().len(), |n| at + n + 1);
        match error {
            XmlError::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
                let open = self.open.last().map(|(node, _)| source.span(self.node_tag(*node)));
                self.error(Code::FileRead, format!("</{found}> closes <{expected}>"), at, end)
                    .help_if(open.map(|span| format!("<{expected}> was opened in line {}", span.line())))
            }
            _ => self.error(Code::FileRead, format!("this is not XML: {error}"), at, end),
        }
    }

    /// A close tag behind the end of the document: read over, as other readers of the field do it.
    fn stray_end(&mut self, name: &str, start: usize, end: usize) -> Result<(), Diagnostic> {
        let mut found = self.error(Code::FileRead, format!("</{name}> closes nothing"), start, end);
        if self.document.nodes.is_empty() {
            return Err(found);
        }
        found.severity = Severity::Warning;
        self.document.oddities.push(found);
        Ok(())
    }

    fn node_tag(&self, node: u32) -> std::ops::Range<usize> {
        let data = &self.document.nodes[node as usize];
        data.range.0 as usize..data.tag_end as usize
    }

    fn open_element(&mut self, tag: &BytesStart<'_>, start: usize, end: usize) -> Result<(), Diagnostic> {
        let id = self.document.nodes.len() as u32;
        let parent = self.open.last().map_or(NONE, |(node, _)| *node);
        if parent == NONE && id > 0 {
            return Err(self.error(Code::FileRead, "a second root element", start, end).help("a file has one <sdf>"));
        }
        if self.open.len() >= self.limits.depth {
            let message = format!("elements are nested deeper than {} levels", self.limits.depth);
            return Err(self.error(Code::Limit, message, start, end));
        }
        if self.document.nodes.len() >= self.limits.elements {
            let message = format!("the file has more than {} elements", self.limits.elements);
            return Err(self.error(Code::Limit, message, start, end));
        }
        let name_length = tag.name().as_ref().len();
        if name_length == 0 {
            return Err(self.error(Code::FileRead, "an element without a name", start, end));
        }
        let attributes = self.read_attributes(tag, start)?;
        self.document.nodes.push(NodeData {
            // The name stands right behind the `<`.
            name: Piece::range(start + 1..start + 1 + name_length),
            text: Piece::Empty,
            attributes,
            source: 0,
            parent,
            first_child: NONE,
            last_child: NONE,
            next: NONE,
            range: (start as u32, end as u32),
            tag_end: end as u32,
            text_range: (end as u32, end as u32),
        });
        if parent != NONE {
            self.document.append(parent, id);
        }
        self.open.push((id, std::mem::take(&mut self.text)));
        Ok(())
    }

    fn read_attributes(&mut self, tag: &BytesStart<'_>, start: usize) -> Result<(u32, u32), Diagnostic> {
        let source = Arc::clone(&self.document.source);
        // Positions in the errors of quick-xml count from behind the `<`.
        let inside = start + 1;
        let first = self.document.attributes.len();
        let mut attributes = tag.attributes();
        // The check of quick-xml for repeated names is quadratic without a bound.
        attributes.with_checks(false);
        for attribute in attributes {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(error) => return Err(self.bad_attribute(&error, inside)),
            };
            let Some((name_at, name_end)) = within(source.text(), attribute.key.into_inner()) else { continue };
            let Some((value_at, value_end)) = within(source.text(), &attribute.value) else { continue };
            self.references(&attribute.value, value_at)?;
            let value = match attribute_value(&attribute.value) {
                Cow::Borrowed(_) => Piece::range(value_at..value_end),
                Cow::Owned(made) => Piece::Made(made.into()),
            };
            let name = &source.text()[name_at..name_end];
            let known = &self.document.attributes[first..];
            if known.iter().any(|a| a.is_named(name, &source)) {
                let message = format!("the attribute {name} is given twice");
                return Err(self.error(Code::FileRead, message, name_at, value_end + 1));
            }
            if known.len() >= self.limits.attributes {
                let message = format!("an element has more than {} attributes", self.limits.attributes);
                return Err(self.error(Code::Limit, message, name_at, value_end + 1));
            }
            self.document.attributes.push(AttributeData {
                name: Piece::range(name_at..name_end),
                value,
                range: (name_at as u32, value_end as u32 + 1),
                value_range: (value_at as u32, value_end as u32),
            });
        }
        Ok((first as u32, (self.document.attributes.len() - first) as u32))
    }

    /// References to characters that XML does not have, in a piece of text that stands at `start`.
    fn references(&self, text: &str, start: usize) -> Result<(), Diagnostic> {
        let Some((at, reference)) = bad_reference(text) else { return Ok(()) };
        let message = format!("this is not XML: {reference} stands for a character that XML does not allow");
        let (start, end) = (start + at, start + at + reference.len());
        Err(self.error(Code::FileRead, message, start, end).help("leave it out"))
    }

    fn bad_attribute(&self, error: &AttrError, inside: usize) -> Diagnostic {
        let (message, at) = match error {
            AttrError::ExpectedEq(at) => ("an attribute has no value", at),
            AttrError::ExpectedValue(at) => ("an attribute has no value after `=`", at),
            AttrError::UnquotedValue(at) => ("an attribute's value is not in quotes", at),
            AttrError::ExpectedQuote(at, _) => ("an attribute's value has no closing quote", at),
            AttrError::Duplicated(at, _) => ("an attribute is given twice", at),
        };
        let text = self.document.source.text();
        let mut at = (inside + at).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let width = text[at..].find(|c: char| c.is_whitespace() || c == '>').unwrap_or(1).max(1);
        let end = (at + width).min(text.len());
        self.error(Code::FileRead, message, at, end).help("write name=\"value\"")
    }

    fn close_element(&mut self, end: usize) {
        let Some((id, outer)) = self.open.pop() else { return };
        let run = std::mem::replace(&mut self.text, outer);
        let node = &mut self.document.nodes[id as usize];
        node.range.1 = end as u32;
        if let Some((start, end)) = run.range {
            node.text_range = (start as u32, end as u32);
            node.text = match run.made {
                Some(made) => Piece::Made(made.into()),
                None => Piece::range(start..end),
            };
        }
    }

    /// Adds a piece of text to the innermost open element. `made` is the text that the source stands for,
    /// where that is another one.
    fn add_text(&mut self, start: usize, end: usize, made: Option<&str>) -> Result<(), Diagnostic> {
        let source = Arc::clone(&self.document.source);
        let piece = &source.text()[start..end];
        let blank = piece.trim_matches('\u{feff}').trim().is_empty();
        if self.open.is_empty() {
            if blank {
                return Ok(());
            }
            let mut found = self.error(Code::FileRead, "text outside of the root element is not read", start, end);
            found.severity = Severity::Warning;
            self.document.oddities.push(found);
            return Ok(());
        }
        if blank && made.is_none() && self.text.range.is_none() {
            return Ok(());
        }
        let run = &mut self.text;
        let Some(range) = &mut run.range else {
            run.range = Some((start, end));
            run.made = made.map(str::to_owned);
            return Ok(());
        };
        if made.is_none() && run.made.is_none() && range.1 == start {
            range.1 = end;
            return Ok(());
        }
        let before = &source.text()[range.0..range.1];
        let text = run.made.get_or_insert_with(|| before.to_owned());
        text.push_str(made.unwrap_or(piece));
        range.1 = end;
        Ok(())
    }
}

/// The value of an attribute: entities resolved, unknown ones left as they stand, line ends as spaces.
fn attribute_value(raw: &str) -> Cow<'_, str> {
    if !raw.contains(['&', '\n', '\r', '\t']) {
        return Cow::Borrowed(raw);
    }
    let spaced = raw.replace("\r\n", " ").replace(['\n', '\r', '\t'], " ");
    match escape::unescape(&spaced) {
        Ok(text) => Cow::Owned(text.into_owned()),
        Err(_) => Cow::Owned(spaced),
    }
}

/// Whether XML 1.0 has a character.
fn is_xml(c: char) -> bool {
    !matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// The first `&#N;` or `&#xN;` in a text that stands for no character of XML, and where it is.
fn bad_reference(text: &str) -> Option<(usize, &str)> {
    text.match_indices("&#").find_map(|(at, _)| {
        let reference = &text[at..at + text[at..].find(';')? + 1];
        let digits = &reference[2..reference.len() - 1];
        let (digits, radix) = digits.strip_prefix('x').map_or((digits, 10), |hex| (hex, 16));
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        let known = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        (!known.is_some_and(is_xml)).then_some((at, reference))
    })
}

/// Where `part` stands in `whole`, of which it is a slice.
fn within(whole: &str, part: &str) -> Option<(usize, usize)> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start + part.len();
    (end <= whole.len()).then_some((start, end))
}

impl AttributeData {
    fn is_named(&self, name: &str, source: &Source) -> bool {
        matches!(self.name, Piece::Source(start, end) if &source.text()[start as usize..end as usize] == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Document {
        parse(&Source::new("t.sdf", text), &XmlLimits::default()).unwrap()
    }

    fn refusal(text: &str) -> String {
        parse(&Source::new("t.sdf", text), &XmlLimits::default()).unwrap_err().to_string()
    }

    #[test]
    fn byte_order_marks_do_not_shift_what_is_behind_them() {
        for marks in 0..4 {
            let text = format!("{} ä<sdf version='1.9'/>", "\u{feff}".repeat(marks));
            let source = Source::new("marks.sdf", text.clone());
            let document = parse(&source, &XmlLimits::default()).unwrap();
            let range = document.root().span().range();
            assert!(text[range.clone()].starts_with("<sdf"), "{marks}: {range:?}");
        }
    }

    #[test]
    fn every_part_knows_its_place() {
        let doc = tree("<sdf version='1.9'>\n  <model name=\"a&amp;b\" x = '1'>\n <pose>1 2 3</pose></model></sdf>");
        let model = doc.root().child("model").unwrap();
        assert_eq!(model.attribute_value("name"), Some("a&b"));
        assert_eq!(model.attribute("name").unwrap().value_span().text(), "a&amp;b");
        assert_eq!(model.attribute("x").unwrap().span().text(), "x = '1'");
        assert_eq!(model.tag().position(), (2, 3));
        let pose = model.child("pose").unwrap();
        assert_eq!(
            (pose.text(), pose.value_span().text(), pose.span().text()),
            ("1 2 3", "1 2 3", "<pose>1 2 3</pose>")
        );
        assert_eq!(pose.path(), "/sdf/model[@name=\"a&b\"]/pose");
    }

    #[test]
    fn what_the_field_writes_is_read() {
        let doc = tree(
            "\u{feff} \n<?xml version='1.0'?>\r\n<!-- a -- b --><sdf><gz:x a:b='1'/><gz::x/>\r\n<t>A & B<!-- c --> &lt;<![CDATA[<&>]]></t></sdf>\n",
        );
        let names: Vec<_> = doc.root().children().map(|c| c.name().to_owned()).collect();
        assert_eq!(names, ["gz:x", "gz::x", "t"]);
        assert_eq!(doc.root().child("t").unwrap().text(), "A & B <<&>");
    }

    #[test]
    fn what_is_not_xml_is_refused_with_its_place() {
        for (text, wanted) in [
            ("<sdf><a x=1/></sdf>", "t.sdf:1:11: error[FILE_READ]: an attribute's value is not in quotes"),
            ("<sdf>\n<a></b></sdf>", "t.sdf:2:4: error[FILE_READ]: </b> closes <a>"),
            ("<sdf><a>", "t.sdf:1:6: error[FILE_READ]: <a> is not closed: </a> not found before the end of the file"),
            (
                "<!DOCTYPE x [<!ENTITY a 'b'>]><sdf/>",
                "t.sdf:1:1: error[FILE_READ]: a document type (<!DOCTYPE …>) is not allowed in SDF",
            ),
            ("<sdf a='1' a='2'/>", "t.sdf:1:12: error[FILE_READ]: the attribute a is given twice"),
            (
                "<sdf a='b&#1;'/>",
                "t.sdf:1:10: error[FILE_READ]: this is not XML: &#1; stands for a character that XML does not allow",
            ),
            (
                "<sdf>&#x0;</sdf>",
                "t.sdf:1:6: error[FILE_READ]: this is not XML: &#x0; stands for a character that XML does not allow",
            ),
            ("<sdf/><sdf/>", "t.sdf:1:7: error[FILE_READ]: a second root element"),
            ("", "t.sdf:1:1: error[FILE_READ]: the file has no element"),
            ("hello", "t.sdf:1:1: error[FILE_READ]: the file has no element"),
        ] {
            assert_eq!(refusal(text), wanted, "{text}");
        }
    }

    #[test]
    fn limits_are_errors() {
        let deep = "<a>".repeat(200) + &"</a>".repeat(200);
        assert!(refusal(&deep).contains("nested deeper than 128 levels"));
        let wide = format!("<a {}/>", (0..300).map(|i| format!("a{i}='' ")).collect::<String>());
        assert!(refusal(&wide).contains("more than 256 attributes"));
    }
}
