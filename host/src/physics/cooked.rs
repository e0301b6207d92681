//! What meshes are made into, once for each content: a thousand crates of one mesh share one convex hull.

use std::collections::HashMap;

use glamx::DVec3;
use xxhash_rust::xxh3::Xxh3;

use super::shape::{Piece, Shape};

/// Pieces by a hash of the shape that they were made from.
#[derive(Default)]
pub(super) struct Cooked(HashMap<u128, Vec<Piece>>);

impl Cooked {
    /// The pieces of a shape.
    ///
    /// # Errors
    /// As [`Shape::pieces`].
    pub(super) fn pieces(&mut self, shape: &Shape) -> Result<Vec<Piece>, String> {
        let Some(key) = key(shape) else { return shape.pieces() };
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let pieces = shape.pieces()?;
        self.0.insert(key, pieces.clone());
        Ok(pieces)
    }
}

/// A hash of the content of a shape that takes time to make. 128 bits: two different meshes do not meet by chance.
fn key(shape: &Shape) -> Option<u128> {
    let mut hash = Xxh3::new();
    let points = |hash: &mut Xxh3, points: &[DVec3]| {
        points.iter().flat_map(|p| p.to_array()).for_each(|x| hash.update(&x.to_le_bytes()));
    };
    let triangles = |hash: &mut Xxh3, triangles: &[[u32; 3]]| {
        hash.update(&(triangles.len() as u64).to_le_bytes());
        triangles.iter().flatten().for_each(|i| hash.update(&i.to_le_bytes()));
    };
    match shape {
        Shape::ConvexHull { points: of } => {
            hash.update(b"hull");
            points(&mut hash, of);
        }
        Shape::TriMesh { points: of, triangles: by } => {
            hash.update(b"surface");
            triangles(&mut hash, by);
            points(&mut hash, of);
        }
        Shape::Decomposition { points: of, triangles: by, max_hulls, voxels } => {
            hash.update(b"parts");
            hash.update(&max_hulls.to_le_bytes());
            hash.update(&voxels.to_le_bytes());
            triangles(&mut hash, by);
            points(&mut hash, of);
        }
        _ => return None,
    }
    Some(hash.digest128())
}
