//! The engine's whole state, contacts and the solver's warm state included, as bytes and as a copy in memory.
//!
//! A world that is restored goes on exactly as the one that was saved would have: every part that a step reads is in the
//! bytes, and the parts that are not (the pipelines' workspaces) are made anew.

use rapier3d::dynamics::{
    CCDSolver, ImpulseJointHandle, ImpulseJointSet, IntegrationParameters, IslandManager, MultibodyJointSet,
    RigidBodySet,
};
use rapier3d::geometry::{BroadPhaseBvh, ColliderSet, NarrowPhase};
use rapier3d::pipeline::{PhysicsPipeline, PhysicsWorld};

use super::engine::{BodyHandle, Physics};

/// A copy of the state, to go back to.
pub struct Checkpoint {
    parameters: IntegrationParameters,
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    impulse_joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    changed: bool,
}

/// State that was read from bytes and fits, not yet in force.
pub struct Restored {
    world: Box<PhysicsWorld>,
    changed: bool,
    joints: Vec<ImpulseJointHandle>,
}

/// What bytes hold: whether a step is due, the engine's names of the joints in the order of their handles, the world.
type Held<W> = (bool, Vec<ImpulseJointHandle>, W);

impl Restored {
    /// Whether there is such a body.
    pub fn has(&self, body: BodyHandle) -> bool {
        self.world.bodies.get(body.0).is_some()
    }
}

impl Physics {
    /// A copy of the state.
    pub fn checkpoint(&self) -> Checkpoint {
        let world = &self.world;
        Checkpoint {
            parameters: world.integration_parameters,
            islands: world.islands.clone(),
            broad_phase: world.broad_phase.clone(),
            narrow_phase: world.narrow_phase.clone(),
            bodies: world.bodies.clone(),
            colliders: world.colliders.clone(),
            impulse_joints: world.impulse_joints.clone(),
            multibody_joints: world.multibody_joints.clone(),
            changed: self.changed,
        }
    }

    /// Back to a copy.
    pub fn rewind(&mut self, to: &Checkpoint) {
        let world = &mut self.world;
        world.integration_parameters = to.parameters;
        world.islands = to.islands.clone();
        world.broad_phase = to.broad_phase.clone();
        world.narrow_phase = to.narrow_phase.clone();
        world.bodies = to.bodies.clone();
        world.colliders = to.colliders.clone();
        world.impulse_joints = to.impulse_joints.clone();
        world.multibody_joints = to.multibody_joints.clone();
        self.changed = to.changed;
        self.moved.clear();
        self.renew_workspaces();
    }

    /// The state as bytes.
    ///
    /// # Errors
    /// When something in it cannot be written.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        let joints = self.joints.values().map(|(handle, _)| *handle).collect();
        let held: Held<&PhysicsWorld> = (self.changed, joints, &self.world);
        postcard::to_stdvec(&held).map_err(|e| format!("the physics state cannot be written: {e}"))
    }

    /// Reads bytes of [`Physics::save`] of a world that was built in the same way.
    ///
    /// # Errors
    /// One sentence, when they are not that.
    pub fn read(&self, bytes: &[u8]) -> Result<Restored, String> {
        let ((changed, joints, world), rest) = postcard::take_from_bytes::<Held<PhysicsWorld>>(bytes)
            .map_err(|e| format!("the physics state cannot be read: {e}"))?;
        if !rest.is_empty() {
            return Err(format!("the physics state has {} bytes too many", rest.len()));
        }
        for (what, found, expected) in [
            ("bodies", world.bodies.len(), self.world.bodies.len()),
            ("colliders", world.colliders.len(), self.world.colliders.len()),
            ("joints", world.impulse_joints.len(), self.world.impulse_joints.len()),
        ] {
            if found != expected {
                return Err(format!("the physics state has {found} {what}, but this world has {expected}"));
            }
        }
        if joints.len() != self.joints.len() || joints.iter().any(|joint| world.impulse_joints.get(*joint).is_none()) {
            return Err("the physics state does not know its joints".to_owned());
        }
        Ok(Restored { world: Box::new(world), changed, joints })
    }

    /// Puts in force what [`Physics::read`] gave.
    pub fn restore(&mut self, state: Restored) {
        let pool = self.world.thread_pool();
        self.world = *state.world;
        self.world.set_thread_pool(pool);
        self.changed = state.changed;
        for ((handle, _), restored) in self.joints.values_mut().zip(state.joints) {
            *handle = restored;
        }
        self.moved.clear();
    }

    fn renew_workspaces(&mut self) {
        let pool = self.world.thread_pool();
        self.world.physics_pipeline = PhysicsPipeline::new();
        self.world.ccd_solver = CCDSolver::new();
        self.world.set_thread_pool(pool);
    }
}
