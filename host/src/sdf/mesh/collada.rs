//! COLLADA (.dae).
//!
//! The unit of the file is taken, its up axis is not: the simulators that these files are made for use the
//! coordinates as they stand.

use std::collections::HashMap;
use std::path::Path;

use glamx::{DMat4, DQuat, DVec3};

use super::{MAX_CORNERS, Mesh, Submesh};
use crate::sdf::parse::{XmlLimits, parse};
use crate::sdf::source::Source;
use crate::sdf::tree::{Document, Node, NodeId};
use crate::sdf::value;

/// Nodes that may be in one another, by nesting or by reference.
const MAX_DEPTH: usize = 64;
/// Places of nodes in a scene: references may show one node any number of times.
const MAX_NODES: usize = 1_000_000;

/// Reads a COLLADA file. Each geometry that the scene shows is a part with the name of its node.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Mesh, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| format!("it is not UTF-8 text: {e}"))?;
    let source = Source::new(path, text);
    let document = parse(&source, &XmlLimits::default()).map_err(|d| d.to_string())?;
    if document.root().name() != "COLLADA" {
        return Err(format!("its root element is <{}>, not <COLLADA>", document.root().name()));
    }
    Reader::new(&document).mesh()
}

struct Reader<'a> {
    document: &'a Document,
    ids: HashMap<&'a str, NodeId>,
    /// Geometries that were read, by the place of their element.
    known: HashMap<NodeId, Submesh>,
    parts: Vec<Submesh>,
    corners: usize,
    /// Places of nodes that may still be shown.
    nodes_left: usize,
}

impl<'a> Reader<'a> {
    fn new(document: &'a Document) -> Self {
        let mut ids = HashMap::new();
        let mut open = vec![document.root()];
        while let Some(node) = open.pop() {
            if let Some(id) = node.attribute_value("id") {
                ids.entry(id).or_insert(node.id());
            }
            open.extend(node.children());
        }
        Self { document, ids, known: HashMap::new(), parts: Vec::new(), corners: 0, nodes_left: MAX_NODES }
    }

    fn mesh(mut self) -> Result<Mesh, String> {
        let root = self.document.root();
        let unit = root.child("asset").and_then(|a| a.child("unit")).and_then(|u| u.attribute_value("meter"));
        let meter = match unit {
            Some(text) => value::number(text).map_err(|wrong| format!("its unit: {wrong}"))?,
            None => 1.0,
        };
        if !(meter.is_finite() && meter > 0.0) {
            return Err(format!("its unit is {meter} m"));
        }
        let scale = DMat4::from_scale(DVec3::splat(meter));
        let shown = root.child("scene").and_then(|s| s.child("instance_visual_scene"));
        let scene = match shown.and_then(|s| self.target(s)) {
            Some(scene) => Some(scene),
            None => root.child("library_visual_scenes").and_then(|l| l.child("visual_scene")),
        };
        match scene {
            Some(scene) => {
                for node in scene.children_named("node") {
                    self.node(node, scale, 0)?;
                }
            }
            // A file without a scene is its geometries.
            None => {
                let libraries: Vec<_> = root.children_named("library_geometries").collect();
                for geometry in libraries.iter().flat_map(|l| l.children_named("geometry")) {
                    let name = geometry.attribute_value("name").unwrap_or("");
                    self.show(geometry, scale, name)?;
                }
            }
        }
        Ok(Mesh { parts: self.parts })
    }

    /// The element that `url`, `source` or `target` of a node names.
    fn target(&self, node: Node<'a>) -> Option<Node<'a>> {
        let url = ["url", "source"].iter().find_map(|name| node.attribute_value(name))?;
        self.ids.get(url.strip_prefix('#')?).map(|id| self.document.node(*id))
    }

    fn node(&mut self, node: Node<'a>, around: DMat4, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("its nodes are nested deeper than {MAX_DEPTH} levels"));
        }
        self.nodes_left =
            self.nodes_left.checked_sub(1).ok_or_else(|| format!("it shows nodes at more than {MAX_NODES} places"))?;
        let transform = around * transform(node)?;
        let name = node.attribute_value("name").or(node.attribute_value("id")).unwrap_or("");
        for child in node.children() {
            match child.name() {
                "node" => self.node(child, transform, depth + 1)?,
                "instance_node" => {
                    if let Some(target) = self.target(child) {
                        self.node(target, transform, depth + 1)?;
                    }
                }
                "instance_geometry" => {
                    if let Some(geometry) = self.target(child) {
                        self.show(geometry, transform, name)?;
                    }
                }
                "instance_controller" => {
                    // A skin stands for the geometry that it bends.
                    let skin = self.target(child).and_then(|c| c.child("skin"));
                    if let Some(geometry) = skin.and_then(|s| self.target(s)) {
                        self.show(geometry, transform, name)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn show(&mut self, geometry: Node<'a>, transform: DMat4, name: &str) -> Result<(), String> {
        if !self.known.contains_key(&geometry.id()) {
            let part = self.geometry(geometry)?;
            self.known.insert(geometry.id(), part);
        }
        let Some(known) = self.known.get(&geometry.id()) else { return Ok(()) };
        if known.triangles.is_empty() {
            return Ok(());
        }
        self.corners += known.vertices.len() + known.triangles.len();
        if self.corners > MAX_CORNERS {
            return Err(format!("it shows more than {MAX_CORNERS} corners and triangles"));
        }
        let mut part = known.clone();
        name.clone_into(&mut part.name);
        part.other_name = geometry.attribute_value("name").unwrap_or("").to_owned();
        part.vertices.iter_mut().for_each(|v| *v = transform.transform_point3(*v));
        if transform.determinant() < 0.0 {
            part.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        self.parts.push(part);
        Ok(())
    }

    fn geometry(&self, geometry: Node<'a>) -> Result<Submesh, String> {
        let mut part = Submesh::default();
        let Some(mesh) = geometry.child("mesh") else { return Ok(part) };
        let mut sources: HashMap<NodeId, u32> = HashMap::new();
        for primitive in mesh.children() {
            if !matches!(primitive.name(), "triangles" | "polylist" | "polygons" | "trifans" | "tristrips") {
                continue;
            }
            let Some((positions, offset, stride)) = self.inputs(primitive)? else { continue };
            let first = match sources.get(&positions.id()) {
                Some(first) => *first,
                None => {
                    let first = part.vertices.len() as u32;
                    part.vertices.extend(floats(positions)?);
                    sources.insert(positions.id(), first);
                    first
                }
            };
            triangles(primitive, offset, stride, first, &mut part.triangles)?;
        }
        Ok(part)
    }

    /// The source of the corners of a primitive, and where their indices stand among those of each corner.
    fn inputs(&self, primitive: Node<'a>) -> Result<Option<(Node<'a>, usize, usize)>, String> {
        let mut stride = 0;
        let mut found = None;
        for (index, input) in primitive.children_named("input").enumerate() {
            let offset = match input.attribute_value("offset") {
                Some(text) => value::unsigned(text)? as usize,
                None => index,
            };
            if offset > 64 {
                return Err(format!("an <input> has the offset {offset}"));
            }
            stride = stride.max(offset + 1);
            let target = self.target(input);
            let positions = match input.attribute_value("semantic") {
                Some("VERTEX") => target.and_then(|vertices| {
                    let mut inputs = vertices.children_named("input");
                    self.target(inputs.find(|i| i.attribute_value("semantic") == Some("POSITION"))?)
                }),
                Some("POSITION") => target,
                _ => None,
            };
            if let Some(positions) = positions {
                found = Some((positions, offset));
            }
        }
        Ok(found.map(|(positions, offset)| (positions, offset, stride)))
    }
}

/// The corners of a `<source>`.
fn floats(source: Node<'_>) -> Result<Vec<DVec3>, String> {
    let Some(array) = source.child("float_array") else { return Ok(Vec::new()) };
    let stride = source
        .child("technique_common")
        .and_then(|t| t.child("accessor"))
        .and_then(|a| a.attribute_value("stride"))
        .map_or(Ok(3), value::unsigned)?;
    let stride = stride.clamp(3, 16) as usize;
    let mut vertices = Vec::new();
    let mut corner = [0.0; 3];
    for (index, text) in array.text().split_ascii_whitespace().enumerate() {
        let axis = index % stride;
        if axis < 3 {
            corner[axis] = value::number(text)?;
        }
        if axis == stride - 1 {
            vertices.push(DVec3::from_array(corner));
        }
    }
    Ok(vertices)
}

fn triangles(
    primitive: Node<'_>,
    offset: usize,
    stride: usize,
    first: u32,
    out: &mut Vec<[u32; 3]>,
) -> Result<(), String> {
    let corners = |text: &str| -> Result<Vec<u32>, String> {
        let indices = text.split_ascii_whitespace().skip(offset).step_by(stride.max(1));
        indices
            .map(|i| {
                let index: u32 = i.parse().map_err(|_| format!("\"{}\" is no index", value::shorten(i)))?;
                index.checked_add(first).ok_or_else(|| format!("{index} is no index"))
            })
            .collect()
    };
    let fan = |polygon: &[u32], out: &mut Vec<[u32; 3]>| {
        for pair in polygon.get(1..).unwrap_or(&[]).windows(2) {
            out.push([polygon[0], pair[0], pair[1]]);
        }
    };
    match primitive.name() {
        "polylist" => {
            let indices = corners(primitive.child("p").map_or("", |p| p.text()))?;
            let counts = primitive.child("vcount").map_or("", |v| v.text());
            let mut at = 0usize;
            for count in counts.split_ascii_whitespace() {
                let count: usize = count.parse().map_err(|_| format!("\"{}\" is no count", value::shorten(count)))?;
                let end = at.saturating_add(count);
                let polygon = indices.get(at..end).ok_or("its polygons have more corners than it gives")?;
                fan(polygon, out);
                at = end;
            }
        }
        "triangles" => {
            for p in primitive.children_named("p") {
                out.extend(corners(p.text())?.chunks_exact(3).map(|t| [t[0], t[1], t[2]]));
            }
        }
        "tristrips" => {
            for p in primitive.children_named("p") {
                let strip = corners(p.text())?;
                // Every other triangle of a strip is wound the other way round.
                out.extend(
                    strip.windows(3).enumerate().map(
                        |(i, t)| {
                            if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[1], t[0], t[2]] }
                        },
                    ),
                );
            }
        }
        // <trifans> and <polygons>: each <p> is one.
        _ => {
            for p in primitive.children_named("p") {
                fan(&corners(p.text())?, out);
            }
        }
    }
    Ok(())
}

/// The product of the transformations of a node, in their order.
fn transform(node: Node<'_>) -> Result<DMat4, String> {
    let mut product = DMat4::IDENTITY;
    for child in node.children() {
        let text = child.text();
        product *= match child.name() {
            // Rows, as the file writes them.
            "matrix" => DMat4::from_cols_array(&value::numbers::<16>(text)?).transpose(),
            "translate" => DMat4::from_translation(value::vector(text)?),
            "scale" => DMat4::from_scale(value::vector(text)?),
            "rotate" => {
                let [x, y, z, degrees] = value::numbers::<4>(text)?;
                match DVec3::new(x, y, z).try_normalize() {
                    Some(axis) => DMat4::from_quat(DQuat::from_axis_angle(axis, degrees.to_radians())),
                    None => DMat4::IDENTITY,
                }
            }
            _ => continue,
        };
    }
    Ok(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r##"<COLLADA><asset><unit meter="0.5"/><up_axis>Y_UP</up_axis></asset>
      <library_geometries><geometry id="g" name="plate"><mesh>
        <source id="s"><float_array id="f" count="12">0 0 0 2 0 0 2 2 0 0 2 0</float_array>
          <technique_common><accessor source="#f" stride="3"/></technique_common></source>
        <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
        <polylist count="1"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
          <vcount>4</vcount><p>0 0 1 0 2 0 3 0</p></polylist>
      </mesh></geometry></library_geometries>
      <library_visual_scenes><visual_scene id="scene">
        <node id="n" name="left"><translate>0 0 1</translate><rotate>0 0 1 90</rotate><instance_geometry url="#g"/>@</node>
      </visual_scene></library_visual_scenes><scene><instance_visual_scene url="#scene"/></scene></COLLADA>"##;

    #[test]
    fn nodes_place_geometries_in_metres() {
        let mesh = read(Path::new("a.dae"), BODY.replace('@', "").as_bytes()).unwrap();
        let part = &mesh.parts[0];
        assert_eq!((part.name.as_str(), part.other_name.as_str()), ("left", "plate"));
        assert_eq!(part.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert!((part.vertices[1] - DVec3::new(0.0, 1.0, 0.5)).length() < 1e-12, "{:?}", part.vertices);
    }

    #[test]
    fn nodes_that_show_themselves_are_an_error() {
        let text = BODY.replace('@', "<instance_node url=\"#n\"/>");
        assert!(read(Path::new("a.dae"), text.as_bytes()).unwrap_err().contains("nested deeper"));
    }

    /// Twenty nodes that show the next one four times each would show the last one 4^20 times.
    #[test]
    fn nodes_that_are_shown_at_too_many_places_are_an_error() {
        let level = |i: usize| {
            format!("<node id=\"n{i}\">{}</node>", format!("<instance_node url=\"#n{}\"/>", i + 1).repeat(4))
        };
        let nodes: String = (0..20).map(level).collect();
        let text = BODY.replace('@', "<instance_node url=\"#n0\"/>");
        let text = text.replace(
            "<library_visual_scenes>",
            &format!("<library_nodes>{nodes}</library_nodes><library_visual_scenes>"),
        );
        assert!(read(Path::new("a.dae"), text.as_bytes()).unwrap_err().contains("more than 1000000 places"));
    }

    #[test]
    fn polygons_without_corners_are_an_error() {
        let text = BODY.replace('@', "").replace("<vcount>4<", "<vcount>5<");
        assert!(read(Path::new("a.dae"), text.as_bytes()).is_err());
    }
}
