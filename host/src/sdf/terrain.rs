//! Terrain and walls from grey images.

use std::path::{Path, PathBuf};

use glamx::DVec3;

use super::typed::{Heightmap, ImageTerrain};

/// Pixels of an image, and samples of a terrain, at most.
const MAX_SAMPLES: u64 = 64 << 20;
/// Boxes of an image's walls at most.
const MAX_BOXES: usize = 200_000;

/// An image that cannot be used, in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum TerrainError {
    /// The image cannot be read.
    #[error("cannot read the image {path}: {reason}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// It is more than can be held.
    #[error("the image {path} gives {count} samples, the limit is {MAX_SAMPLES}")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many it would be.
        count: u64,
    },
    /// Its walls are more than can be held.
    #[error("the image {path} gives more than {MAX_BOXES} boxes of wall; raise its granularity")]
    TooManyBoxes {
        /// The file.
        path: PathBuf,
    },
}

/// Heights on an even grid, in the frame of the collision.
#[derive(Clone, Debug)]
pub struct HeightField {
    /// Samples along x.
    pub columns: usize,
    /// Samples along y.
    pub rows: usize,
    /// Heights (m) row by row: the first row is at the least y, the first sample of each at the least x.
    pub heights: Vec<f32>,
    /// Extent along x and y (m); the height of the highest sample.
    pub size: DVec3,
    /// The centre of the ground.
    pub position: DVec3,
}

/// Reads the terrain of a heightmap; `None` where its image was not found.
///
/// The height of a sample is its brightness, relative to the brightest pixel of the image, times `size.z`, as the
/// simulators do it that such worlds are made for. The top of the image is at the greatest y.
pub fn heightmap(map: &Heightmap) -> Option<Result<HeightField, TerrainError>> {
    let path = map.resource.path.as_deref()?;
    Some(grey(path).and_then(|image| sample(&image, map, path)))
}

/// Boxes of wall, `(centre, size)` in the frame of the collision; `None` where the image was not found.
///
/// A cell of `granularity` pixels is a wall when it is, on the average, darker than the threshold. Cells side by side
/// are one box.
pub fn walls(terrain: &ImageTerrain) -> Option<Result<Vec<(DVec3, DVec3)>, TerrainError>> {
    let path = terrain.resource.path.as_deref()?;
    Some(grey(path).and_then(|image| boxes(&image, terrain, path)))
}

/// Brightness of each pixel, 0 to 65535, top row first.
struct Grey {
    width: usize,
    height: usize,
    pixels: Vec<u16>,
}

fn grey(path: &Path) -> Result<Grey, TerrainError> {
    let fail = |reason: String| TerrainError::Read { path: path.to_owned(), reason };
    let mut reader = image::ImageReader::open(path)
        .and_then(|reader| reader.with_guessed_format())
        .map_err(|e| fail(e.to_string()))?;
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(1 << 16);
    limits.max_image_height = Some(1 << 16);
    limits.max_alloc = Some(MAX_SAMPLES * 8);
    reader.limits(limits);
    let image = reader.decode().map_err(|e| fail(e.to_string()))?;
    let count = u64::from(image.width()) * u64::from(image.height());
    if count > MAX_SAMPLES {
        return Err(TerrainError::TooLarge { path: path.to_owned(), count });
    }
    let image = image.into_luma16();
    Ok(Grey { width: image.width() as usize, height: image.height() as usize, pixels: image.into_raw() })
}

fn sample(image: &Grey, map: &Heightmap, path: &Path) -> Result<HeightField, TerrainError> {
    let sampling = u64::from(map.sampling.max(1));
    let along = |pixels: usize| ((pixels as u64).saturating_sub(1).saturating_mul(sampling)).saturating_add(1);
    let (columns, rows) = (along(image.width), along(image.height));
    let count = columns.saturating_mul(rows);
    if count > MAX_SAMPLES {
        return Err(TerrainError::TooLarge { path: path.to_owned(), count });
    }
    let brightest = image.pixels.iter().copied().max().unwrap_or(0).max(1);
    let scale = map.size.z / f64::from(brightest);
    let pixel =
        |x: usize, y: usize| f64::from(image.pixels[y.min(image.height - 1) * image.width + x.min(image.width - 1)]);
    let mut heights = Vec::with_capacity(count as usize);
    for row in (0..rows).rev() {
        let y = row as f64 / sampling as f64;
        for column in 0..columns {
            let x = column as f64 / sampling as f64;
            let (left, top) = (x.floor(), y.floor());
            let (dx, dy) = (x - left, y - top);
            let (left, top) = (left as usize, top as usize);
            let upper = pixel(left, top) * (1.0 - dx) + pixel(left + 1, top) * dx;
            let lower = pixel(left, top + 1) * (1.0 - dx) + pixel(left + 1, top + 1) * dx;
            heights.push(((upper * (1.0 - dy) + lower * dy) * scale) as f32);
        }
    }
    let (columns, rows) = (columns as usize, rows as usize);
    Ok(HeightField { columns, rows, heights, size: map.size, position: map.position })
}

fn boxes(image: &Grey, terrain: &ImageTerrain, path: &Path) -> Result<Vec<(DVec3, DVec3)>, TerrainError> {
    let cell = usize::try_from(terrain.granularity).unwrap_or(1).clamp(1, image.width.max(image.height).max(1));
    let threshold = terrain.threshold.clamp(0, 256) as u64 * 257;
    let dark = |column: usize, row: usize| {
        let (mut sum, mut count) = (0u64, 0u64);
        for y in row * cell..((row + 1) * cell).min(image.height) {
            for x in column * cell..((column + 1) * cell).min(image.width) {
                sum += u64::from(image.pixels[y * image.width + x]);
                count += 1;
            }
        }
        count > 0 && sum < threshold * count
    };
    let (columns, rows) = (image.width.div_ceil(cell), image.height.div_ceil(cell));
    let edge = cell as f64 * terrain.scale;
    let (half_width, half_height) =
        (image.width as f64 * terrain.scale / 2.0, image.height as f64 * terrain.scale / 2.0);
    let mut walls = Vec::new();
    for row in 0..rows {
        let mut start = None;
        for column in 0..=columns {
            match (column < columns && dark(column, row), start) {
                (true, None) => start = Some(column),
                (false, Some(from)) => {
                    let size = DVec3::new((column - from) as f64 * edge, edge, terrain.height);
                    let x = from as f64 * edge + size.x / 2.0 - half_width;
                    let y = half_height - row as f64 * edge - edge / 2.0;
                    walls.push((DVec3::new(x, y, terrain.height / 2.0), size));
                    start = None;
                    if walls.len() > MAX_BOXES {
                        return Err(TerrainError::TooManyBoxes { path: path.to_owned() });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(walls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::source::Source;
    use crate::sdf::typed::Resource;

    fn resource() -> Resource {
        Resource { uri: String::new(), path: None, span: Source::new("t.sdf", "").span(0..0) }
    }

    fn image() -> Grey {
        // Dark on the left, bright on the right; the top right corner is the brightest.
        Grey { width: 3, height: 2, pixels: vec![0, 100, 200, 0, 100, 100] }
    }

    #[test]
    fn the_brightest_pixel_is_the_highest_and_the_top_is_north() {
        let map =
            Heightmap { resource: resource(), size: DVec3::new(2.0, 1.0, 10.0), position: DVec3::ZERO, sampling: 1 };
        let field = sample(&image(), &map, Path::new("a.png")).unwrap();
        assert_eq!((field.columns, field.rows), (3, 2));
        assert_eq!(field.heights, [0.0, 5.0, 5.0, 0.0, 5.0, 10.0]);
        let finer = sample(&image(), &Heightmap { sampling: 2, ..map }, Path::new("a.png")).unwrap();
        assert_eq!((finer.columns, finer.rows), (5, 3));
        assert_eq!(&finer.heights[10..], [0.0, 2.5, 5.0, 7.5, 10.0]);
    }

    #[test]
    fn dark_cells_side_by_side_are_one_box() {
        let pixels = [0u16, 0, 65535, 65535, 0, 65535].to_vec();
        let terrain = ImageTerrain { resource: resource(), scale: 0.5, threshold: 128, height: 2.0, granularity: 1 };
        let walls = boxes(&Grey { width: 3, height: 2, pixels }, &terrain, Path::new("a.png")).unwrap();
        assert_eq!(walls.len(), 2);
        assert_eq!(walls[0], (DVec3::new(-0.25, 0.25, 1.0), DVec3::new(1.0, 0.5, 2.0)));
        assert_eq!(walls[1], (DVec3::new(0.0, -0.25, 1.0), DVec3::new(0.5, 0.5, 2.0)));
    }
}
