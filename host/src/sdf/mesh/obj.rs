//! Wavefront OBJ.

use glamx::DVec3;

use super::{Mesh, Submesh};

/// Reads an OBJ file. Each object or group is a part; materials are not looked at.
pub(super) fn read(bytes: &[u8]) -> Result<Mesh, String> {
    let options =
        tobj::LoadOptions { triangulate: true, ignore_points: true, ignore_lines: true, ..Default::default() };
    // Material files only colour the mesh.
    let no_materials = |_: &std::path::Path| Err(tobj::LoadError::OpenFileFailed);
    let (models, _) = tobj::load_obj_buf(&mut &bytes[..], &options, no_materials).map_err(|e| e.to_string())?;
    let parts = models.into_iter().map(part).collect();
    Ok(Mesh { parts })
}

fn part(model: tobj::Model) -> Submesh {
    let vertices = model.mesh.positions.chunks_exact(3).map(|v| DVec3::new(v[0].into(), v[1].into(), v[2].into()));
    Submesh {
        name: model.name,
        vertices: vertices.collect(),
        other_name: String::new(),
        triangles: model.mesh.indices.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn objects_are_parts_and_polygons_are_triangles() {
        let text =
            "mtllib no.mtl\no first\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nusemtl red\nf 1 2 3 4\no second\nf -4 -3 -2\n";
        let mesh = read(text.as_bytes()).unwrap();
        let names: Vec<_> = mesh.parts.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["first", "second"]);
        assert_eq!(mesh.parts[0].triangles.len(), 2);
        assert_eq!(mesh.parts[1].vertices.len(), 3);
    }

    #[test]
    fn what_is_not_obj_is_an_error() {
        assert!(read(b"v 0 0 x\nf 1 1 1\n").is_err());
        assert!(read(b"v 0 0 0\nf 1 2 9\n").is_err());
    }
}
