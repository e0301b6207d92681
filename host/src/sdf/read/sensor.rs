//! Sensors.

use glamx::DVec3;

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::tree::Node;
use crate::sdf::typed::{Camera, Element, Imu, Lidar, LidarAxis, Noise, Sensor, SensorDetail};
use crate::sdf::value;
use crate::suggest::nearest;

/// Types of sensors that the format has.
const TYPES: [&str; 33] = [
    "air_flow",
    "air_pressure",
    "air_speed",
    "altimeter",
    "boundingbox",
    "boundingbox_camera",
    "camera",
    "contact",
    "custom",
    "depth",
    "depth_camera",
    "force_torque",
    "gps",
    "gpu_lidar",
    "gpu_ray",
    "imu",
    "lidar",
    "logical_camera",
    "magnetometer",
    "multicamera",
    "navsat",
    "ray",
    "rfid",
    "rfidtag",
    "rgbd",
    "rgbd_camera",
    "segmentation",
    "segmentation_camera",
    "sonar",
    "thermal",
    "thermal_camera",
    "wideanglecamera",
    "wide_angle_camera",
];

/// Names of types that stand for another name.
const OLDER_NAMES: [(&str, &str); 9] = [
    ("ray", "lidar"),
    ("gpu_ray", "gpu_lidar"),
    ("gps", "navsat"),
    ("depth", "depth_camera"),
    ("rgbd", "rgbd_camera"),
    ("thermal", "thermal_camera"),
    ("segmentation", "segmentation_camera"),
    ("boundingbox", "boundingbox_camera"),
    ("wideanglecamera", "wide_angle_camera"),
];

/// Types that are beyond the table above and met in the field.
const FURTHER_TYPES: [&str; 3] = ["wireless_receiver", "wireless_transmitter", "none"];

impl Reader<'_> {
    pub(super) fn sensor(&mut self, node: Node<'_>) -> Sensor {
        let kind = node.attribute_value("type").unwrap_or("");
        let kind = OLDER_NAMES.iter().find(|(old, _)| *old == kind).map_or(kind, |(_, new)| new).to_owned();
        if !kind.is_empty() && !TYPES.contains(&kind.as_str()) && !FURTHER_TYPES.contains(&kind.as_str()) {
            let message = format!("\"{kind}\" is no type of sensor");
            let help = match nearest(&kind, TYPES) {
                Some(near) => format!("did you mean {near}?"),
                None => "a sensor of your own has type=\"custom\"".to_owned(),
            };
            let diagnostic = Diagnostic::error(Code::AttributeInvalid, message).at(node.tag()).path(node.path());
            self.report(diagnostic.help(help));
        }
        Sensor {
            name: self.name(node),
            pose: self.pose(node),
            pose_in_parent: Default::default(),
            update_rate: self.number(node, "update_rate", 0.0),
            topic: self.text(node, "topic", "").replace("__default_topic__", ""),
            frame_id: self.text(node, "frame_id", ""),
            always_on: self.flag(node, "always_on", false),
            visualize: self.flag(node, "visualize", false),
            detail: self.sensor_detail(node, &kind),
            plugins: self.plugins(node),
            element: Element::from_node(node),
            span: node.span(),
            kind,
        }
    }

    fn sensor_detail(&mut self, node: Node<'_>, kind: &str) -> SensorDetail {
        let part = |names: &[&str]| node.children().find(|c| names.contains(&c.name()));
        match kind {
            "camera"
            | "depth_camera"
            | "multicamera"
            | "rgbd_camera"
            | "thermal_camera"
            | "wide_angle_camera"
            | "segmentation_camera"
            | "boundingbox_camera" => match part(&["camera"]) {
                Some(camera) => SensorDetail::Camera(Box::new(self.camera(camera))),
                None => SensorDetail::None,
            },
            "lidar" | "gpu_lidar" => match part(&["lidar", "ray"]) {
                Some(lidar) => SensorDetail::Lidar(Box::new(self.lidar(lidar))),
                None => SensorDetail::None,
            },
            "imu" => SensorDetail::Imu(Box::new(self.imu(part(&["imu"])))),
            "navsat" => {
                let inner = part(&["navsat", "gps"]);
                let position = inner.and_then(|n| n.child("position_sensing"));
                let velocity = inner.and_then(|n| n.child("velocity_sensing"));
                SensorDetail::NavSat([
                    self.noise_of(position, "horizontal"),
                    self.noise_of(position, "vertical"),
                    self.noise_of(velocity, "horizontal"),
                    self.noise_of(velocity, "vertical"),
                ])
            }
            "magnetometer" => SensorDetail::Magnetometer(self.noise_xyz(part(&["magnetometer"]))),
            "altimeter" => {
                let inner = part(&["altimeter"]);
                SensorDetail::Altimeter([
                    self.noise_of(inner, "vertical_position"),
                    self.noise_of(inner, "vertical_velocity"),
                ])
            }
            "air_pressure" | "air_speed" => {
                let inner = part(&[kind]);
                let altitude = inner.map_or(0.0, |n| self.number(n, "reference_altitude", 0.0));
                let noise = self.noise_of(inner, "pressure");
                if kind == "air_speed" {
                    SensorDetail::AirSpeed(altitude, noise)
                } else {
                    SensorDetail::AirPressure(altitude, noise)
                }
            }
            "force_torque" => self.force_torque(part(&["force_torque"])),
            "contact" => match part(&["contact"]) {
                Some(contact) => SensorDetail::Contact(
                    self.text(contact, "collision", ""),
                    self.text(contact, "topic", "").replace("__default_topic__", ""),
                ),
                None => SensorDetail::None,
            },
            "logical_camera" => match part(&["logical_camera"]) {
                Some(camera) => SensorDetail::LogicalCamera([
                    self.number(camera, "near", 0.0),
                    self.number(camera, "far", 1.0),
                    self.number(camera, "aspect_ratio", 1.0),
                    self.number(camera, "horizontal_fov", 1.0),
                ]),
                None => SensorDetail::None,
            },
            _ => {
                const COMMON: [&str; 8] =
                    ["always_on", "update_rate", "visualize", "topic", "enable_metrics", "pose", "plugin", "frame_id"];
                let own: Vec<_> =
                    node.children().filter(|c| !COMMON.contains(&c.name())).map(Element::from_node).collect();
                if own.is_empty() { SensorDetail::None } else { SensorDetail::Other(own) }
            }
        }
    }

    fn force_torque(&mut self, node: Option<Node<'_>>) -> SensorDetail {
        let [fx, fy, fz] = self.noise_xyz(node.and_then(|n| n.child("force")));
        let [tx, ty, tz] = self.noise_xyz(node.and_then(|n| n.child("torque")));
        SensorDetail::ForceTorque {
            frame: node.map_or("child".to_owned(), |n| self.text(n, "frame", "child")),
            measure_direction: node
                .map_or("child_to_parent".to_owned(), |n| self.text(n, "measure_direction", "child_to_parent")),
            noise: Box::new([fx, fy, fz, tx, ty, tz]),
        }
    }

    fn noise_xyz(&mut self, node: Option<Node<'_>>) -> [Noise; 3] {
        ["x", "y", "z"].map(|axis| self.noise_of(node, axis))
    }

    /// The noise in the child called `name` of `node`.
    fn noise_of(&mut self, node: Option<Node<'_>>, name: &str) -> Noise {
        self.noise(node.and_then(|n| n.child(name)))
    }

    /// The `<noise>` in an element.
    fn noise(&mut self, node: Option<Node<'_>>) -> Noise {
        let Some(noise) = node.and_then(|n| n.child("noise")) else {
            return Noise { kind: "none".to_owned(), ..Noise::default() };
        };
        // Cameras and lidars write the type as an element, the others as an attribute.
        let kind = match noise.child("type") {
            Some(kind) => kind.text().to_owned(),
            None => noise.attribute_value("type").unwrap_or("none").to_owned(),
        };
        if !matches!(kind.as_str(), "none" | "gaussian" | "gaussian_quantized" | "custom" | "") {
            let message = format!("noise of type \"{kind}\" is not known");
            let near = nearest(&kind, ["none", "gaussian", "gaussian_quantized"]).map(|n| format!("did you mean {n}?"));
            let diagnostic = Diagnostic::warning(Code::AttributeInvalid, message).at(noise.tag()).path(noise.path());
            self.report(diagnostic.help_if(near));
        }
        Noise {
            kind,
            mean: self.number(noise, "mean", 0.0),
            stddev: self.number(noise, "stddev", 0.0),
            bias_mean: self.number(noise, "bias_mean", 0.0),
            bias_stddev: self.number(noise, "bias_stddev", 0.0),
            dynamic_bias_stddev: self.number(noise, "dynamic_bias_stddev", 0.0),
            dynamic_bias_correlation_time: self.number(noise, "dynamic_bias_correlation_time", 0.0),
            precision: self.number(noise, "precision", 0.0),
        }
    }

    fn camera(&mut self, node: Node<'_>) -> Camera {
        let image = node.child("image");
        let clip = node.child("clip");
        let depth = node.child("depth_camera").and_then(|d| d.child("clip"));
        let distortion = node.child("distortion");
        let intrinsics = node.child("lens").and_then(|l| l.child("intrinsics"));
        Camera {
            name: node.attribute_value("name").unwrap_or("").to_owned(),
            pose: self.pose(node),
            horizontal_fov: self.number(node, "horizontal_fov", 1.047),
            width: image.map_or(320, |i| self.unsigned(i, "width", 320)),
            height: image.map_or(240, |i| self.unsigned(i, "height", 240)),
            format: image.map_or("R8G8B8".to_owned(), |i| self.text(i, "format", "R8G8B8")),
            clip: [
                clip.map_or(0.1, |c| self.number(c, "near", 0.1)),
                clip.map_or(100.0, |c| self.number(c, "far", 100.0)),
            ],
            depth_clip: depth.map(|c| [self.number(c, "near", 0.1), self.number(c, "far", 10.0)]),
            noise: self.noise(Some(node)),
            distortion: distortion.map(|d| {
                let [k1, k2, k3, p1, p2] = ["k1", "k2", "k3", "p1", "p2"].map(|name| self.number(d, name, 0.0));
                let [x, y] = self.child_value(d, "center", [0.5, 0.5], value::lenient::numbers::<2>);
                [k1, k2, k3, p1, p2, x, y]
            }),
            intrinsics: intrinsics.map(|i| {
                [("fx", 277.0), ("fy", 277.0), ("cx", 160.0), ("cy", 120.0), ("s", 0.0)]
                    .map(|(name, default)| self.number(i, name, default))
            }),
            visibility_mask: self.unsigned(node, "visibility_mask", u32::MAX),
            optical_frame_id: self.text(node, "optical_frame_id", ""),
            element: Element::from_node(node),
        }
    }

    fn lidar(&mut self, node: Node<'_>) -> Lidar {
        let scan = node.child("scan");
        let range = node.child("range");
        let mut axis = |name: &str, samples: u32| {
            let Some(axis) = scan.and_then(|s| s.child(name)) else {
                return LidarAxis { samples, resolution: 1.0, min_angle: 0.0, max_angle: 0.0 };
            };
            LidarAxis {
                samples: self.unsigned(axis, "samples", samples),
                resolution: self.number(axis, "resolution", 1.0),
                min_angle: self.number(axis, "min_angle", 0.0),
                max_angle: self.number(axis, "max_angle", 0.0),
            }
        };
        let (horizontal, vertical) = (axis("horizontal", 640), axis("vertical", 1));
        Lidar {
            horizontal,
            vertical,
            range: ["min", "max", "resolution"].map(|name| range.map_or(0.0, |r| self.number(r, name, 0.0))),
            noise: self.noise(Some(node)),
            visibility_mask: self.unsigned(node, "visibility_mask", u32::MAX),
        }
    }

    fn imu(&mut self, node: Option<Node<'_>>) -> Imu {
        let reference = node.and_then(|n| n.child("orientation_reference_frame"));
        let direction = |name: &str| reference.and_then(|r| r.child(name));
        let parent =
            |node: Option<Node<'_>>| node.and_then(|n| n.attribute_value("parent_frame")).unwrap_or("").to_owned();
        let (rpy, grav) = (direction("custom_rpy"), direction("grav_dir_x"));
        Imu {
            angular_velocity: self.noise_xyz(node.and_then(|n| n.child("angular_velocity"))),
            linear_acceleration: self.noise_xyz(node.and_then(|n| n.child("linear_acceleration"))),
            enable_orientation: node.is_none_or(|n| self.flag(n, "enable_orientation", true)),
            localization: reference.map_or("CUSTOM".to_owned(), |r| self.text(r, "localization", "CUSTOM")),
            custom_rpy: rpy.map_or(DVec3::ZERO, |n| self.value(n, DVec3::ZERO, value::lenient::vector)),
            custom_rpy_parent: parent(rpy),
            grav_dir_x: grav.map_or(DVec3::X, |n| self.value(n, DVec3::X, value::lenient::vector)),
            grav_dir_x_parent: parent(grav),
        }
    }
}
