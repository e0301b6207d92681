//! Mesh files as triangles: STL, OBJ, COLLADA, glTF and GLB.

mod collada;
mod gltf;
mod obj;
mod stl;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use glamx::DVec3;

use super::typed::MeshRef;

/// The largest file that is read.
const MAX_BYTES: u64 = 512 << 20;
/// The most corners (with triangles, where one part can be shown often) of a mesh: a small file may show the same part
/// over and over again.
const MAX_CORNERS: usize = 10_000_000;

/// A mesh file that cannot be used, in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// The file cannot be read.
    #[error("cannot read the mesh {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not what its name says.
    #[error("the mesh {path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is of a kind that is not read.
    #[error("the mesh {path} is of a kind that is not read; the kinds are .stl, .obj, .dae, .gltf, .glb")]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The part that is asked for is not there.
    #[error("the mesh {path} has no submesh \"{name}\"; it has {known}")]
    NoSubmesh {
        /// The file.
        path: PathBuf,
        /// The part that was asked for.
        name: String,
        /// The parts that there are.
        known: String,
    },
}

/// A named part of a mesh.
#[derive(Clone, Debug, Default)]
pub struct Submesh {
    /// Its name; may be empty. In files with a scene that of the node that shows it.
    pub name: String,
    /// The name of the geometry itself, in files where it has one beside that of its node.
    pub other_name: String,
    /// Corners (m).
    pub vertices: Vec<DVec3>,
    /// Three indices of `vertices` each, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// All parts of a mesh file.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// The parts, in the order of the file.
    pub parts: Vec<Submesh>,
}

/// Reads a mesh file. Its kind follows from its name.
pub fn load(path: &Path) -> Result<Mesh, MeshError> {
    let read_error = |source| MeshError::Read { path: path.to_owned(), source };
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    if !["stl", "obj", "dae", "gltf", "glb"].contains(&extension.as_str()) {
        return Err(MeshError::Unknown { path: path.to_owned() });
    }
    let found = std::fs::metadata(path).map_err(read_error)?;
    if !found.is_file() {
        return Err(MeshError::Damaged { path: path.to_owned(), reason: "it is no regular file".to_owned() });
    }
    let length = found.len();
    if length > MAX_BYTES {
        let reason = format!("it has {length} bytes, the limit is {MAX_BYTES}");
        return Err(MeshError::Damaged { path: path.to_owned(), reason });
    }
    let bytes = std::fs::read(path).map_err(read_error)?;
    let read = || match extension.as_str() {
        "stl" => stl::read(&bytes),
        "obj" => obj::read(&bytes),
        "dae" => collada::read(path, &bytes),
        _ => gltf::read(path, &bytes),
    };
    // The libraries under these readers have been seen to panic over damaged files; that must not end a run.
    let mesh =
        catch_unwind(read).unwrap_or_else(|_| Err("its reader gave up on it".to_owned())).and_then(Mesh::checked);
    mesh.map_err(|reason| MeshError::Damaged { path: path.to_owned(), reason })
}

/// Reads the part of a mesh file that a geometry means, scaled and centred as it says; `None` where its file was
/// not found.
pub fn load_geometry(mesh: &MeshRef) -> Option<Result<Submesh, MeshError>> {
    let path = mesh.resource.path.as_deref()?;
    Some(load(path).and_then(|loaded| select(&loaded, path, mesh)))
}

/// The part of a loaded mesh that a geometry means.
pub fn select(loaded: &Mesh, path: &Path, mesh: &MeshRef) -> Result<Submesh, MeshError> {
    let mut part = match &mesh.submesh {
        None => loaded.merged(),
        Some(name) => match loaded.part(name) {
            Some(part) => part.clone(),
            None => {
                let names: Vec<_> = loaded.parts.iter().take(20).map(|p| format!("\"{}\"", p.name)).collect();
                let known = names.join(", ");
                return Err(MeshError::NoSubmesh { path: path.to_owned(), name: name.clone(), known });
            }
        },
    };
    if mesh.center_submesh && mesh.submesh.is_some() {
        part.center();
    }
    part.scale(mesh.scale);
    Ok(part)
}

impl Mesh {
    /// The part called `name`: by its node, or else by its geometry.
    pub fn part(&self, name: &str) -> Option<&Submesh> {
        let by_node = self.parts.iter().find(|p| p.name == name);
        by_node.or_else(|| self.parts.iter().find(|p| p.other_name == name))
    }

    /// All parts as one.
    pub fn merged(&self) -> Submesh {
        let mut all = Submesh::default();
        for part in &self.parts {
            let first = all.vertices.len() as u32;
            all.vertices.extend_from_slice(&part.vertices);
            all.triangles.extend(part.triangles.iter().map(|t| t.map(|i| i + first)));
        }
        all
    }

    /// Checks what every reader of triangles relies on.
    fn checked(self) -> Result<Self, String> {
        let mut total = 0usize;
        for part in &self.parts {
            if let Some(bad) = part.vertices.iter().position(|v| !v.is_finite()) {
                return Err(format!("corner {bad} of \"{}\" is not finite", part.name));
            }
            let count = part.vertices.len();
            if let Some(bad) = part.triangles.iter().flatten().find(|i| **i as usize >= count) {
                return Err(format!("a triangle of \"{}\" names corner {bad} of {count}", part.name));
            }
            total += count;
        }
        if u32::try_from(total).is_err() {
            return Err(format!("it has {total} corners"));
        }
        if self.parts.iter().all(|p| p.triangles.is_empty()) {
            return Err("it has no triangle".to_owned());
        }
        Ok(self)
    }
}

impl Submesh {
    /// The corners of the smallest box around it along the axes.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        self.vertices.iter().fold(start, |(low, high), v| (low.min(*v), high.max(*v)))
    }

    fn center(&mut self) {
        let (low, high) = self.bounds();
        let middle = (low + high) * 0.5;
        self.vertices.iter_mut().for_each(|v| *v -= middle);
    }

    fn scale(&mut self, scale: DVec3) {
        if scale == DVec3::ONE {
            return;
        }
        self.vertices.iter_mut().for_each(|v| *v *= scale);
        // A mirror image has its triangles turned inside out.
        if scale.x * scale.y * scale.z < 0.0 {
            self.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirrored_mesh_keeps_its_outside() {
        let mut part = Submesh {
            vertices: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
            triangles: vec![[0, 1, 2]],
            ..Submesh::default()
        };
        part.scale(DVec3::new(-2.0, 1.0, 1.0));
        assert_eq!(part.vertices[1], DVec3::new(-2.0, 0.0, 0.0));
        assert_eq!(part.triangles, [[0, 2, 1]]);
    }

    #[test]
    fn indices_out_of_range_are_damage() {
        let part =
            Submesh { name: "p".into(), vertices: vec![DVec3::ZERO], triangles: vec![[0, 0, 1]], ..Submesh::default() };
        assert_eq!(Mesh { parts: vec![part] }.checked().unwrap_err(), "a triangle of \"p\" names corner 1 of 1");
    }
}
