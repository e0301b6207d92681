//! Sensors, for the code that will simulate them.

use glamx::{DPose3, DVec3};

use super::{Element, Plugin, Pose};
use crate::sdf::source::Span;

/// A sensor.
#[derive(Clone, Debug)]
pub struct Sensor {
    /// Its name.
    pub name: String,
    /// Its type, such as `gpu_lidar`; older names (`ray`, `gps`, …) are replaced by the current ones.
    pub kind: String,
    /// The pose as written; in the frame of the link or joint around it unless it says otherwise.
    pub pose: Pose,
    /// The pose in the link or joint around it.
    pub pose_in_parent: DPose3,
    /// Measurements in each second; 0 for every step.
    pub update_rate: f64,
    /// The topic that it publishes on; empty for a default.
    pub topic: String,
    /// The frame that its data is said to be in; empty for a default.
    pub frame_id: String,
    /// Whether it measures though nobody listens.
    pub always_on: bool,
    /// Whether it is drawn.
    pub visualize: bool,
    /// What belongs to its type.
    pub detail: SensorDetail,
    /// Plugins.
    pub plugins: Vec<Plugin>,
    /// The whole element as it stands in the file.
    pub element: Element,
    /// Where it stands.
    pub span: Span,
}

/// What belongs to the type of a sensor.
#[derive(Clone, Debug)]
pub enum SensorDetail {
    /// Camera, depth camera and their like.
    Camera(Box<Camera>),
    /// Lidar.
    Lidar(Box<Lidar>),
    /// Inertial measurement unit.
    Imu(Box<Imu>),
    /// Position (horizontal, vertical) and velocity (horizontal, vertical) of a satellite receiver.
    NavSat([Noise; 4]),
    /// Field along x, y, z.
    Magnetometer([Noise; 3]),
    /// Position and velocity along z.
    Altimeter([Noise; 2]),
    /// Reference altitude (m) and noise of the pressure (Pa).
    AirPressure(f64, Noise),
    /// Reference altitude (m) and noise of the pressure difference (Pa).
    AirSpeed(f64, Noise),
    /// Frame (`child`, `parent`, `sensor`), direction (`child_to_parent`, `parent_to_child`), noise of the force and
    /// of the torque along x, y, z.
    ForceTorque {
        /// The frame that is measured in.
        frame: String,
        /// Which side acts on which.
        measure_direction: String,
        /// Force x, y, z and torque x, y, z.
        noise: Box<[Noise; 6]>,
    },
    /// The collision whose contacts are reported, and the topic.
    Contact(String, String),
    /// Near, far (m), aspect ratio, horizontal opening (rad).
    LogicalCamera([f64; 4]),
    /// Nothing beside the type.
    None,
    /// The elements of a type that nothing here knows, as they stand in the file.
    Other(Vec<Element>),
}

/// Noise on a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noise {
    /// `none`, `gaussian`, `gaussian_quantized` or what the file says.
    pub kind: String,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Mean of the bias.
    pub bias_mean: f64,
    /// Standard deviation of the bias.
    pub bias_stddev: f64,
    /// Standard deviation of the drift of the bias.
    pub dynamic_bias_stddev: f64,
    /// Correlation time of that drift (s).
    pub dynamic_bias_correlation_time: f64,
    /// Step of a quantized measurement.
    pub precision: f64,
}

/// A camera.
#[derive(Clone, Debug)]
pub struct Camera {
    /// Its own name, where it has one.
    pub name: String,
    /// The pose as written; in the sensor's frame unless it says otherwise.
    pub pose: Pose,
    /// Horizontal opening (rad).
    pub horizontal_fov: f64,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Pixel format.
    pub format: String,
    /// Nearest and farthest point seen (m).
    pub clip: [f64; 2],
    /// Nearest and farthest depth measured (m), where it is given.
    pub depth_clip: Option<[f64; 2]>,
    /// Noise on each channel.
    pub noise: Noise,
    /// k1 k2 k3 p1 p2 and the centre x y.
    pub distortion: Option<[f64; 7]>,
    /// fx fy cx cy s, where they are given.
    pub intrinsics: Option<[f64; 5]>,
    /// Sees visuals whose flags have a common bit.
    pub visibility_mask: u32,
    /// The frame that the image is said to be in.
    pub optical_frame_id: String,
    /// The whole element, for what is not above.
    pub element: Element,
}

/// One direction of a lidar's scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LidarAxis {
    /// Rays.
    pub samples: u32,
    /// Factor on `samples` for the points that are made of them.
    pub resolution: f64,
    /// rad.
    pub min_angle: f64,
    /// rad.
    pub max_angle: f64,
}

/// A lidar.
#[derive(Clone, Debug)]
pub struct Lidar {
    /// Rays side by side.
    pub horizontal: LidarAxis,
    /// Rays above one another.
    pub vertical: LidarAxis,
    /// Nearest and farthest point measured, and the step (m).
    pub range: [f64; 3],
    /// Noise on each range.
    pub noise: Noise,
    /// Sees visuals whose flags have a common bit.
    pub visibility_mask: u32,
}

/// An inertial measurement unit.
#[derive(Clone, Debug)]
pub struct Imu {
    /// Noise of the angular velocity about x, y, z (rad/s).
    pub angular_velocity: [Noise; 3],
    /// Noise of the acceleration along x, y, z (m/s²).
    pub linear_acceleration: [Noise; 3],
    /// Whether orientation is measured.
    pub enable_orientation: bool,
    /// `CUSTOM`, `ENU`, `NED`, `NWU`, `GRAV_UP` or `GRAV_DOWN`.
    pub localization: String,
    /// Roll, pitch, yaw of the reference frame, for `CUSTOM`.
    pub custom_rpy: DVec3,
    /// The frame that `custom_rpy` is in.
    pub custom_rpy_parent: String,
    /// Direction of x, for `GRAV_UP` and `GRAV_DOWN`.
    pub grav_dir_x: DVec3,
    /// The frame that `grav_dir_x` is in.
    pub grav_dir_x_parent: String,
}
