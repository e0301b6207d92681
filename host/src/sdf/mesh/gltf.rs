//! glTF and GLB.
//!
//! Coordinates are taken as they stand, as the simulators do it that these files are made for: no axis is turned.

use std::path::Path;

use base64::Engine as _;
use glamx::{DMat4, DVec3};
use gltf::accessor::{DataType, Dimensions};
use gltf::json::validation::Checked;
use gltf::mesh::Mode;

use super::{MAX_BYTES, MAX_CORNERS, Mesh, Submesh};

/// Nodes that may be in one another.
const MAX_DEPTH: usize = 64;

/// Reads a glTF or GLB file. Each mesh that the scene shows is a part with the name of its node.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Mesh, String> {
    let (text, blob) = if bytes.starts_with(GLB) { container(bytes)? } else { (bytes, None) };
    let json: gltf::json::Root = gltf::json::deserialize::from_slice(text).map_err(|e| e.to_string())?;
    positions_exist(&json)?;
    let file = gltf::Document::from_json(json).map_err(|e| e.to_string())?;
    let buffers = buffers(path, &file, blob.map(|blob: &[u8]| blob.to_vec()))?;
    let mut reader = Reader { buffers, parts: Vec::new(), corners: 0, nodes_left: file.nodes().count() };
    match file.default_scene().or_else(|| file.scenes().next()) {
        Some(scene) => {
            for node in scene.nodes() {
                reader.node(&node, DMat4::IDENTITY, 0)?;
            }
        }
        None => {
            for mesh in file.meshes() {
                let name = mesh.name().unwrap_or("").to_owned();
                reader.mesh(&mesh, DMat4::IDENTITY, &name)?;
            }
        }
    }
    Ok(Mesh { parts: reader.parts })
}

/// The first bytes of a GLB file.
const GLB: &[u8] = b"glTF";

/// The text and the binary part of a GLB file: a header (magic, version, length) and chunks (length, type, bytes), as in
/// section 4 of the glTF 2.0 specification. The library's own reader trusts the lengths.
fn container(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), String> {
    let word = |at: usize| bytes.get(at..at + 4).and_then(|b| b.first_chunk()).map(|b| u32::from_le_bytes(*b));
    let version = word(4).ok_or("it ends in its header")?;
    if version != 2 {
        return Err(format!("it is GLB of version {version}, and only 2 is read"));
    }
    let chunk = |at: usize, kind: &[u8; 4]| -> Result<Option<(&[u8], usize)>, String> {
        let Some(length) = word(at) else { return Ok(None) };
        let end = (at + 8).checked_add(length as usize).filter(|end| *end <= bytes.len());
        let end = end.ok_or_else(|| format!("a part of {length} bytes does not fit into its {} bytes", bytes.len()))?;
        Ok((bytes.get(at + 4..at + 8) == Some(kind)).then(|| (&bytes[at + 8..end], end)))
    };
    let (text, end) = chunk(12, b"JSON")?.ok_or("its first part is not its text")?;
    Ok((text, chunk(end, b"BIN\0")?.map(|(blob, _)| blob)))
}

/// The library's own validation follows these indices before it has checked them.
fn positions_exist(json: &gltf::json::Root) -> Result<(), String> {
    let key = Checked::Valid(gltf::Semantic::Positions);
    let primitives = json.meshes.iter().flat_map(|mesh| &mesh.primitives);
    match primitives.filter_map(|p| p.attributes.get(&key)).find(|index| index.value() >= json.accessors.len()) {
        Some(index) => {
            Err(format!("its corners are in accessor {}, and it has {}", index.value(), json.accessors.len()))
        }
        None => Ok(()),
    }
}

fn buffers(path: &Path, file: &gltf::Document, mut blob: Option<Vec<u8>>) -> Result<Vec<Vec<u8>>, String> {
    let mut buffers = Vec::new();
    for buffer in file.buffers() {
        let bytes = match buffer.source() {
            gltf::buffer::Source::Bin => blob.take().ok_or("it has no binary part")?,
            gltf::buffer::Source::Uri(uri) => match uri.split_once(";base64,") {
                Some((kind, data)) if kind.starts_with("data:") => {
                    base64::engine::general_purpose::STANDARD.decode(data).map_err(|e| format!("its buffer: {e}"))?
                }
                _ => neighbour(path, uri)?,
            },
        };
        if bytes.len() < buffer.length() {
            return Err(format!("its buffer {} has {} of {} bytes", buffer.index(), bytes.len(), buffer.length()));
        }
        buffers.push(bytes);
    }
    Ok(buffers)
}

/// The bytes of a file beside the mesh.
fn neighbour(path: &Path, uri: &str) -> Result<Vec<u8>, String> {
    let name = uri.replace("%20", " ");
    let inside =
        !name.contains("://") && Path::new(&name).components().all(|c| matches!(c, std::path::Component::Normal(_)));
    if !inside {
        return Err(format!("its buffer {uri} is not a file beside it"));
    }
    let file = path.with_file_name("").join(&name);
    let length = std::fs::metadata(&file).map_err(|e| format!("its buffer {uri}: {e}"))?.len();
    if length > MAX_BYTES {
        return Err(format!("its buffer {uri} has {length} bytes, the limit is {MAX_BYTES}"));
    }
    std::fs::read(&file).map_err(|e| format!("its buffer {uri}: {e}"))
}

struct Reader {
    buffers: Vec<Vec<u8>>,
    parts: Vec<Submesh>,
    corners: usize,
    /// Nodes are in one place each: what is left of them.
    nodes_left: usize,
}

impl Reader {
    fn node(&mut self, node: &gltf::Node<'_>, around: DMat4, depth: usize) -> Result<(), String> {
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or("its nodes are in several places, and not a tree")?;
        if depth > MAX_DEPTH {
            return Err(format!("its nodes are nested deeper than {MAX_DEPTH} levels"));
        }
        let matrix = node.transform().matrix().map(|column| column.map(f64::from));
        let transform = around * DMat4::from_cols_array_2d(&matrix);
        if let Some(mesh) = node.mesh() {
            let name = node.name().or(mesh.name()).unwrap_or("").to_owned();
            self.mesh(&mesh, transform, &name)?;
        }
        for child in node.children() {
            self.node(&child, transform, depth + 1)?;
        }
        Ok(())
    }

    fn mesh(&mut self, mesh: &gltf::Mesh<'_>, transform: DMat4, name: &str) -> Result<(), String> {
        let other_name = mesh.name().unwrap_or("").to_owned();
        let mut part = Submesh { name: name.to_owned(), other_name, ..Submesh::default() };
        for primitive in mesh.primitives() {
            let Some(positions) = primitive.get(&gltf::Semantic::Positions) else { continue };
            let first = part.vertices.len() as u32;
            self.corners += positions.count() + primitive.indices().map_or(0, |indices| indices.count() / 3);
            if self.corners > MAX_CORNERS {
                return Err(format!("it shows more than {MAX_CORNERS} corners and triangles"));
            }
            let vertices = self.positions(&positions)?;
            let indices = match primitive.indices() {
                Some(indices) => self.indices(&indices)?,
                None => (0..vertices.len() as u32).collect(),
            };
            part.vertices.extend(vertices.iter().map(|v| transform.transform_point3(*v)));
            let shifted = |i: u32| i.saturating_add(first);
            let indices: Vec<u32> = indices.into_iter().map(shifted).collect();
            assemble(primitive.mode(), &indices, &mut part.triangles);
        }
        if transform.determinant() < 0.0 {
            part.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        if !part.triangles.is_empty() {
            self.parts.push(part);
        }
        Ok(())
    }

    /// The bytes of each element of an accessor. Every bound is checked: a file may say anything.
    fn elements(&self, accessor: &gltf::Accessor<'_>) -> Result<Vec<&[u8]>, String> {
        let damaged = || format!("its accessor {} leads out of its buffer", accessor.index());
        if accessor.sparse().is_some() {
            return Err(format!("its accessor {} is sparse, which is not read", accessor.index()));
        }
        let view = accessor.view().ok_or_else(damaged)?;
        let buffer = self.buffers.get(view.buffer().index()).ok_or_else(damaged)?;
        let end = view.offset().checked_add(view.length()).ok_or_else(damaged)?;
        let bytes = buffer.get(view.offset()..end).ok_or_else(damaged)?;
        let size = accessor.size();
        let stride = view.stride().unwrap_or(size).max(1);
        if accessor.count() > bytes.len() {
            return Err(damaged());
        }
        (0..accessor.count())
            .map(|index| {
                let start = stride.checked_mul(index)?.checked_add(accessor.offset())?;
                bytes.get(start..start.checked_add(size)?)
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(damaged)
    }

    fn positions(&self, accessor: &gltf::Accessor<'_>) -> Result<Vec<DVec3>, String> {
        if accessor.data_type() != DataType::F32 || accessor.dimensions() != Dimensions::Vec3 {
            return Err("its corners are not three numbers of 32 bits each".to_owned());
        }
        let float = |bytes: &[u8], at: usize| {
            bytes.get(at..at + 4).and_then(|b| b.first_chunk()).map_or(f64::NAN, |b| f64::from(f32::from_le_bytes(*b)))
        };
        Ok(self.elements(accessor)?.into_iter().map(|b| DVec3::new(float(b, 0), float(b, 4), float(b, 8))).collect())
    }

    fn indices(&self, accessor: &gltf::Accessor<'_>) -> Result<Vec<u32>, String> {
        if accessor.dimensions() != Dimensions::Scalar {
            return Err("its indices are not single numbers".to_owned());
        }
        let elements = self.elements(accessor)?;
        let whole = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
        match accessor.data_type() {
            DataType::U8 | DataType::U16 | DataType::U32 => Ok(elements.into_iter().map(whole).collect()),
            other => Err(format!("its indices are of type {other:?}")),
        }
    }
}

fn assemble(mode: Mode, indices: &[u32], out: &mut Vec<[u32; 3]>) {
    match mode {
        Mode::Triangles => out.extend(indices.chunks_exact(3).map(|t| [t[0], t[1], t[2]])),
        Mode::TriangleStrip => {
            let turned = |(i, t): (usize, &[u32])| if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[1], t[0], t[2]] };
            out.extend(indices.windows(3).enumerate().map(turned));
        }
        Mode::TriangleFan => {
            if let Some((center, rest)) = indices.split_first() {
                out.extend(rest.windows(2).map(|pair| [*center, pair[0], pair[1]]));
            }
        }
        // Points and lines enclose nothing.
        Mode::Points | Mode::Lines | Mode::LineLoop | Mode::LineStrip => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A triangle as a file with its buffer inside.
    fn file(count: u32) -> String {
        let mut bytes: Vec<u8> = Vec::new();
        for corner in [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] {
            bytes.extend(corner.iter().flat_map(|c| c.to_le_bytes()));
        }
        bytes.extend([0u8, 0, 1, 0, 2, 0]);
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        format!(
            r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],
            "nodes":[{{"name":"n","mesh":0,"translation":[0,0,2]}}],
            "meshes":[{{"name":"m","primitives":[{{"attributes":{{"POSITION":0}},"indices":1}}]}}],
            "buffers":[{{"uri":"data:application/octet-stream;base64,{data}","byteLength":{}}}],
            "bufferViews":[{{"buffer":0,"byteLength":36}},{{"buffer":0,"byteOffset":36,"byteLength":6}}],
            "accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}},
            {{"bufferView":1,"componentType":5123,"count":{count},"type":"SCALAR"}}]}}"#,
            bytes.len()
        )
    }

    #[test]
    fn nodes_place_meshes() {
        let mesh = read(Path::new("a.gltf"), file(3).as_bytes()).unwrap();
        assert_eq!((mesh.parts[0].name.as_str(), mesh.parts[0].other_name.as_str()), ("n", "m"));
        assert_eq!(mesh.parts[0].vertices[1], DVec3::new(1.0, 0.0, 2.0));
        assert_eq!(mesh.parts[0].triangles, [[0, 1, 2]]);
    }

    #[test]
    fn corners_in_an_accessor_that_is_not_there_are_damage() {
        let text = file(3).replace("\"POSITION\":0", "\"POSITION\":7");
        assert_eq!(
            read(Path::new("a.gltf"), text.as_bytes()).unwrap_err(),
            "its corners are in accessor 7, and it has 2"
        );
    }

    #[test]
    fn a_container_is_read_and_its_lengths_are_not_trusted() {
        let mut bytes = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        let text = file(3);
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(b"JSON");
        bytes.extend(text.as_bytes());
        assert_eq!(read(Path::new("a.glb"), &bytes).unwrap().parts[0].triangles, [[0, 1, 2]]);
        for length in 0..bytes.len() {
            assert!(read(Path::new("a.glb"), &bytes[..length]).is_err(), "{length}");
        }
        for at in 4..24 {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                drop(read(Path::new("a.glb"), &damaged));
            }
        }
    }

    /// Sixty levels of two children each that are one node would be shown 2^60 times.
    #[test]
    fn nodes_that_are_no_tree_are_damage() {
        let children: Vec<String> = (1..60).map(|i| format!("{{\"children\":[{i},{i}]}}")).collect();
        let text = file(3).replace("\"nodes\":[{\"name\"", &format!("\"nodes\":[{},{{\"name\"", children.join(",")));
        assert!(read(Path::new("a.gltf"), text.as_bytes()).unwrap_err().contains("not a tree"));
    }

    #[test]
    fn an_accessor_beyond_its_buffer_is_damage() {
        assert!(read(Path::new("a.gltf"), file(300).as_bytes()).unwrap_err().contains("leads out of its buffer"));
        assert!(read(Path::new("a.glb"), b"glTF\x02\0\0\0\xff\xff\xff\xff").is_err());
    }
}
