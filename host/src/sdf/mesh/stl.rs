//! STL, in text and in binary.

use std::collections::HashMap;
use std::io::Cursor;

use glamx::DVec3;

use super::{Mesh, Submesh};

/// Bytes before the triangles of a binary file, and of each triangle.
const HEADER: usize = 84;
const TRIANGLE: usize = 50;

/// Reads an STL file. Corners at the same place are one corner.
pub(super) fn read(bytes: &[u8]) -> Result<Mesh, String> {
    // Binary files may begin with "solid" like text files: what tells them apart is that the length fits the count.
    let count = bytes.get(80..84).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    let is_binary = bytes.len() >= HEADER && bytes.len() - HEADER == count.saturating_mul(TRIANGLE);
    if !is_binary && !bytes.trim_ascii_start().starts_with(b"solid") {
        return Err(format!("its header says {count} triangles, which does not fit its {} bytes", bytes.len()));
    }
    let mut welder = Welder::default();
    if is_binary {
        for triangle in bytes[HEADER..].chunks_exact(TRIANGLE) {
            welder.add([12, 24, 36].map(|at| [0, 4, 8].map(|axis| float(&triangle[at + axis..]))));
        }
        return Ok(welder.mesh());
    }
    let mut cursor = Cursor::new(bytes);
    let triangles = stl_io::create_stl_reader(&mut cursor).map_err(|e| e.to_string())?;
    for triangle in triangles {
        let triangle = triangle.map_err(|e| e.to_string())?;
        welder.add(triangle.vertices.map(|v| [v[0], v[1], v[2]]));
    }
    Ok(welder.mesh())
}

fn float(bytes: &[u8]) -> f32 {
    bytes.first_chunk::<4>().map_or(f32::NAN, |b| f32::from_le_bytes(*b))
}

/// Makes one corner of those that are at the same place.
#[derive(Default)]
struct Welder {
    known: HashMap<[u32; 3], u32>,
    part: Submesh,
}

impl Welder {
    fn add(&mut self, corners: [[f32; 3]; 3]) {
        let triangle = corners.map(|corner| {
            // Adding zero makes one of the two zeros.
            let key = corner.map(|c| (c + 0.0).to_bits());
            *self.known.entry(key).or_insert_with(|| {
                self.part.vertices.push(DVec3::from_array(corner.map(f64::from)));
                self.part.vertices.len() as u32 - 1
            })
        });
        self.part.triangles.push(triangle);
    }

    fn mesh(self) -> Mesh {
        Mesh { parts: vec![self.part] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nfacet normal 0 0 1\nouter loop\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid s\n";

    fn binary(header: &[u8], triangles: &[[[f32; 3]; 3]]) -> Vec<u8> {
        let mut bytes = header.to_vec();
        bytes.resize(80, 0);
        bytes.extend((triangles.len() as u32).to_le_bytes());
        for triangle in triangles {
            bytes.extend([0; 12]);
            bytes.extend(triangle.iter().flatten().flat_map(|c| c.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        bytes
    }

    #[test]
    fn text_is_read_and_corners_are_shared() {
        let mesh = read(TEXT.as_bytes()).unwrap();
        assert_eq!(mesh.parts[0].vertices.len(), 4);
        assert_eq!(mesh.parts[0].triangles, [[0, 1, 2], [1, 3, 2]]);
    }

    #[test]
    fn a_binary_file_may_begin_with_solid() {
        let bytes = binary(b"solid exported", &[[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, -0.0]]]);
        assert_eq!(read(&bytes).unwrap().parts[0].triangles, [[0, 1, 2]]);
    }

    #[test]
    fn a_file_that_is_cut_is_damaged_at_each_length() {
        let bytes = binary(b"x", &[[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        assert!(read(&TEXT.as_bytes()[..60]).is_err());
    }
}
