//! What a plugin shows over the world.
#![forbid(unsafe_code)]

use crate::abi::{self, shape};

/// Collects shapes. Colour and line width hold for what follows. All poses are x y z (m), qx qy qz qw in the world.
#[derive(Debug)]
pub struct Canvas {
    pub(crate) shapes: Vec<abi::Shape>,
    rgba: u32,
    width: f32,
}

impl Default for Canvas {
    fn default() -> Self {
        Self { shapes: Vec::new(), rgba: 0xffff_ffff, width: 1.0 }
    }
}

impl Canvas {
    /// An empty canvas: white, lines one pixel wide.
    pub fn new() -> Self {
        Self::default()
    }

    /// Colour of what follows, 0xRRGGBBAA.
    pub fn color(&mut self, rgba: u32) -> &mut Self {
        self.rgba = rgba;
        self
    }

    /// Width of lines of what follows, in pixels; 0 fills boxes, spheres, cylinders and rectangles.
    pub fn width(&mut self, pixels: f32) -> &mut Self {
        self.width = pixels;
        self
    }

    /// A segment, m, world frame.
    pub fn line(&mut self, from: [f64; 3], to: [f64; 3]) -> &mut Self {
        self.add(shape::LINE, at(from), to, "")
    }

    /// A segment with a head at its end, m, world frame.
    pub fn arrow(&mut self, from: [f64; 3], to: [f64; 3]) -> &mut Self {
        self.add(shape::ARROW, at(from), to, "")
    }

    /// A box of these edge lengths (m), centred in `pose`.
    pub fn box_(&mut self, pose: [f64; 7], size: [f64; 3]) -> &mut Self {
        self.add(shape::BOX, pose, size, "")
    }

    /// A sphere of this radius, m.
    pub fn sphere(&mut self, centre: [f64; 3], radius: f64) -> &mut Self {
        self.add(shape::SPHERE, at(centre), [radius, 0.0, 0.0], "")
    }

    /// A cylinder along z of `pose`, m.
    pub fn cylinder(&mut self, pose: [f64; 7], radius: f64, length: f64) -> &mut Self {
        self.add(shape::CYLINDER, pose, [radius, length, 0.0], "")
    }

    /// A rectangle in the y-z plane of `pose`, `width` along y and `height` along z (m): a gate, seen along x.
    pub fn rectangle(&mut self, pose: [f64; 7], width: f64, height: f64) -> &mut Self {
        self.add(shape::RECTANGLE, pose, [width, height, 0.0], "")
    }

    /// The three axes of `pose`, each `length` long (m).
    pub fn frame(&mut self, pose: [f64; 7], length: f64) -> &mut Self {
        self.add(shape::FRAME, pose, [length, 0.0, 0.0], "")
    }

    /// Text of this height (m) at `position`. Cut after 32 bytes of UTF-8, between characters.
    pub fn text(&mut self, position: [f64; 3], height: f64, text: &str) -> &mut Self {
        self.add(shape::TEXT, at(position), [height, 0.0, 0.0], text)
    }

    /// What has been drawn.
    pub fn shapes(&self) -> &[abi::Shape] {
        &self.shapes
    }

    fn add(&mut self, kind: u32, pose: [f64; 7], size: [f64; 3], text: &str) -> &mut Self {
        let mut padded = [0; 32];
        let end = (0..=text.len().min(padded.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        padded[..end].copy_from_slice(&text.as_bytes()[..end]);
        self.shapes.push(abi::Shape {
            kind,
            rgba: self.rgba,
            width: self.width,
            reserved: 0,
            pose,
            size,
            text: padded,
        });
        self
    }
}

fn at([x, y, z]: [f64; 3]) -> [f64; 7] {
    [x, y, z, 0.0, 0.0, 0.0, 1.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_and_width_hold_for_what_follows() {
        let mut canvas = Canvas::new();
        canvas.line([0.0; 3], [1.0; 3]).color(0xff00_00ff).width(3.0).sphere([0.0, 0.0, 2.0], 0.5);
        let [line, sphere] = canvas.shapes() else { panic!("two shapes") };
        assert_eq!((line.kind, line.rgba, line.width), (shape::LINE, 0xffff_ffff, 1.0));
        assert_eq!((sphere.kind, sphere.rgba, sphere.width, sphere.size[0]), (shape::SPHERE, 0xff00_00ff, 3.0, 0.5));
    }

    #[test]
    fn text_is_cut_between_characters() {
        let mut canvas = Canvas::new();
        canvas.text([0.0; 3], 0.2, &"é".repeat(20)).text([0.0; 3], 0.2, &format!("x{}", "é".repeat(20)));
        assert_eq!(std::str::from_utf8(&canvas.shapes()[0].text), Ok("é".repeat(16).as_str()));
        assert_eq!(std::str::from_utf8(&canvas.shapes()[1].text), Ok(format!("x{}\0", "é".repeat(15)).as_str()));
    }
}
