//! Shapes.

use glamx::{DVec2, DVec3};

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::tree::Node;
use crate::sdf::typed::{Geometry, Heightmap, ImageTerrain, MeshOptimization, MeshRef, Polyline, Resource};
use crate::sdf::value;

const KINDS: [&str; 12] = [
    "empty",
    "box",
    "sphere",
    "cylinder",
    "capsule",
    "cone",
    "ellipsoid",
    "plane",
    "mesh",
    "heightmap",
    "polyline",
    "image",
];

impl Reader<'_> {
    pub(super) fn geometry(&mut self, node: Node<'_>) -> Geometry {
        let mut shapes = node.children().filter(|c| KINDS.contains(&c.name()));
        let Some(shape) = shapes.next() else {
            self.warn(Code::ElementMissing, node, "<geometry> holds no shape");
            return Geometry::Empty;
        };
        let further: Vec<_> = shapes.filter(|other| other.name() != "polyline" || shape.name() != "polyline").collect();
        for other in further {
            let message =
                format!("<geometry> holds one shape; <{}> counts and <{}> does not", shape.name(), other.name());
            self.warn(Code::ElementRepeated, other, message);
        }
        match shape.name() {
            "box" => Geometry::Box { size: self.lengths(shape, "size", DVec3::ONE) },
            "sphere" => Geometry::Sphere { radius: self.length(shape, "radius", 1.0) },
            "cylinder" => Geometry::Cylinder {
                radius: self.length(shape, "radius", 1.0),
                length: self.length(shape, "length", 1.0),
            },
            "capsule" => Geometry::Capsule {
                radius: self.length(shape, "radius", 0.5),
                length: self.length(shape, "length", 1.0),
            },
            "cone" => {
                Geometry::Cone { radius: self.length(shape, "radius", 0.5), length: self.length(shape, "length", 1.0) }
            }
            "ellipsoid" => Geometry::Ellipsoid { radii: self.lengths(shape, "radii", DVec3::ONE) },
            "plane" => self.plane(shape),
            "mesh" => Geometry::Mesh(self.mesh(shape)),
            "heightmap" => Geometry::Heightmap(Heightmap {
                resource: self.uri(shape),
                size: self.vector(shape, "size", DVec3::ONE),
                position: self.vector(shape, "pos", DVec3::ZERO),
                sampling: self.unsigned(shape, "sampling", 1),
            }),
            "polyline" => self.polyline(node),
            "image" => Geometry::Image(ImageTerrain {
                resource: self.uri(shape),
                scale: self.number(shape, "scale", 1.0),
                threshold: self.child_value(shape, "threshold", 200, value::lenient::integer),
                height: self.number(shape, "height", 1.0),
                granularity: self.child_value(shape, "granularity", 1, value::lenient::integer),
            }),
            _ => Geometry::Empty,
        }
    }

    /// A length that may be zero (with a warning) but not less.
    fn length(&mut self, node: Node<'_>, name: &str, default: f64) -> f64 {
        let value = self.number(node, name, default);
        self.check_length(node, name, value);
        value
    }

    fn lengths(&mut self, node: Node<'_>, name: &str, default: DVec3) -> DVec3 {
        let value = self.vector(node, name, default);
        for part in value.to_array() {
            self.check_length(node, name, part);
        }
        value
    }

    fn check_length(&mut self, node: Node<'_>, name: &str, value: f64) {
        if value.is_finite() && value > 0.0 {
            return;
        }
        let Some(child) = node.child(name) else { return };
        let message = format!("{name} of a <{}> is {value}", node.name());
        let diagnostic = if value == 0.0 {
            Diagnostic::warning(Code::ElementInvalid, message)
        } else {
            Diagnostic::error(Code::ElementInvalid, message)
        };
        self.report(diagnostic.at(child.value_span()).path(child.path()).help("write a length above 0 m"));
    }

    fn plane(&mut self, node: Node<'_>) -> Geometry {
        let normal = self.vector(node, "normal", DVec3::Z);
        let size = self.child_value(node, "size", [1.0, 1.0], value::lenient::numbers::<2>);
        let unit = normal.try_normalize().unwrap_or_else(|| {
            let at = node.child("normal").unwrap_or(node);
            let diagnostic = Diagnostic::error(Code::ElementInvalid, "the normal of a plane has no direction");
            self.report(diagnostic.at(at.value_span()).path(at.path()).help("write a vector such as 0 0 1"));
            DVec3::Z
        });
        Geometry::Plane { normal: unit, size: DVec2::from_array(size) }
    }

    fn uri(&mut self, node: Node<'_>) -> Resource {
        match node.child("uri") {
            Some(uri) => self.resource(uri),
            None => {
                let message = format!("<{}> has no <uri>", node.name());
                self.warn(Code::ElementMissing, node, message);
                Resource { uri: String::new(), path: None, span: node.span() }
            }
        }
    }

    fn mesh(&mut self, node: Node<'_>) -> MeshRef {
        let submesh = node.child("submesh");
        let optimization = match node.attribute_value("optimization").unwrap_or("") {
            "convex_hull" => MeshOptimization::ConvexHull,
            "convex_decomposition" => {
                let given = node.child("convex_decomposition");
                MeshOptimization::ConvexDecomposition {
                    max_convex_hulls: given.map_or(16, |g| self.unsigned(g, "max_convex_hulls", 16)),
                    voxel_resolution: given.map_or(200_000, |g| self.unsigned(g, "voxel_resolution", 200_000)),
                }
            }
            "" | "none" => MeshOptimization::None,
            other => {
                let message = format!("optimization \"{other}\" of a mesh is not known");
                let diagnostic = Diagnostic::warning(Code::AttributeInvalid, message).at(node.tag()).path(node.path());
                self.report(diagnostic.help("write convex_hull or convex_decomposition; the triangles are taken"));
                MeshOptimization::None
            }
        };
        MeshRef {
            resource: self.uri(node),
            scale: self.vector(node, "scale", DVec3::ONE),
            submesh: submesh.map(|s| self.text(s, "name", "")).filter(|name| !name.is_empty() && name != "__default__"),
            center_submesh: submesh.is_some_and(|s| self.flag(s, "center", false)),
            optimization,
        }
    }

    /// Several `<polyline>` are one shape: the first one and the holes in it.
    fn polyline(&mut self, geometry: Node<'_>) -> Geometry {
        let mut outlines = Vec::new();
        let mut height = 1.0;
        for node in geometry.children_named("polyline") {
            let mut points: Vec<DVec2> = node
                .children_named("point")
                .map(|p| DVec2::from_array(self.value(p, [0.0, 0.0], value::lenient::numbers::<2>)))
                .collect();
            // A closed outline may repeat its first point.
            if points.len() > 1 && points.first() == points.last() {
                points.pop();
            }
            if points.len() < 3 {
                let message = format!("a <polyline> of {} different points encloses nothing", points.len());
                self.error(Code::ElementInvalid, node, message);
                continue;
            }
            if outlines.is_empty() {
                height = self.length(node, "height", 1.0);
            }
            outlines.push(points);
        }
        Geometry::Polyline(Polyline { outlines, height })
    }
}
