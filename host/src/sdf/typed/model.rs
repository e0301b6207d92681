//! Models.

use glamx::DPose3;

use super::{Element, Joint, Link, Plugin, Pose, Robot};
use crate::sdf::source::Span;

/// A model: links, joints, frames and models in it.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Its name from the outermost model on, `a::b`.
    pub scoped_name: String,
    /// Whether it never moves.
    pub is_static: bool,
    /// Whether its links touch one another.
    pub self_collide: bool,
    /// Whether it may sleep.
    pub allow_auto_disable: bool,
    /// Whether wind pushes its links.
    pub enable_wind: bool,
    /// The pose as written; in the frame around it unless it says otherwise.
    pub pose: Pose,
    /// The frame in the model that `pose` places; empty for the model's own.
    pub placement_frame: String,
    /// The pose in the model or world around it.
    pub pose_in_parent: DPose3,
    /// The pose in the world.
    pub world_pose: DPose3,
    /// The canonical link as the file names it; empty for the first one.
    pub canonical_link: String,
    /// The link that the model's frame is fixed to, `model::link` for one in a nested model; empty where there is none.
    pub resolved_canonical_link: String,
    /// Links.
    pub links: Vec<Link>,
    /// Joints.
    pub joints: Vec<Joint>,
    /// Frames.
    pub frames: Vec<Frame>,
    /// Models in it.
    pub models: Vec<Model>,
    /// Plugins.
    pub plugins: Vec<Plugin>,
    /// Grippers, as they stand in the file.
    pub grippers: Vec<Element>,
    /// What makes it a robot.
    pub robot: Option<Robot>,
    /// Where it stands.
    pub span: Span,
    /// The include that brought it, if one did: the pose that a save changes is the one there.
    pub include: Option<IncludeSite>,
    /// Whether something in it could not be read (an error was given), so that names in it may be missing.
    pub incomplete: bool,
    /// The version of the file that it comes from.
    pub version: (u32, u32),
}

impl Model {
    /// All models from this one down, each before those in it.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Model)) {
        visit(self);
        for model in &self.models {
            model.walk(visit);
        }
    }
}

/// The `<include>` that brought a model.
#[derive(Clone, Debug)]
pub struct IncludeSite {
    /// The URI as written.
    pub uri: String,
    /// The `<include>` element.
    pub span: Span,
    /// Its `<pose>`, where it has one.
    pub pose_span: Option<Span>,
    /// The root element of the included file.
    pub root_span: Span,
}

/// A named frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its name.
    pub name: String,
    /// The frame that it moves with; empty for that of the model or world around it.
    pub attached_to: String,
    /// The pose as written; in the frame `attached_to` unless it says otherwise.
    pub pose: Pose,
    /// The pose in the model or world around it.
    pub pose_in_parent: DPose3,
    /// Whether it is a frame of a world.
    pub in_world: bool,
    /// The link that it moves with in the scope of the frame, or `world`; empty where it is not resolved.
    pub attached_link: String,
    /// Where it stands.
    pub span: Span,
}
