//! Which connection has which robot.

use std::collections::BTreeMap;
use tickworks_plugin_api::EntityId;

use crate::net::SessionId;

/// Robots claimed by connections: at most one connection a robot, one robot a connection.
#[derive(Debug, Default)]
pub struct Claims {
    by_session: BTreeMap<SessionId, EntityId>,
    by_robot: BTreeMap<EntityId, SessionId>,
}

impl Claims {
    /// The robot of a connection.
    pub fn robot_of(&self, session: SessionId) -> Option<EntityId> {
        self.by_session.get(&session).copied()
    }

    /// The connection that has a robot.
    pub fn holder_of(&self, robot: EntityId) -> Option<SessionId> {
        self.by_robot.get(&robot).copied()
    }

    /// Gives `robot` to `session`, which lets go of the one that it had, and returns that one.
    /// The caller has checked that nobody else holds `robot`.
    pub fn claim(&mut self, session: SessionId, robot: EntityId) -> Option<EntityId> {
        let released = self.release(session).filter(|&before| before != robot);
        self.by_session.insert(session, robot);
        self.by_robot.insert(robot, session);
        released
    }

    /// Takes a connection's robot away from it.
    pub fn release(&mut self, session: SessionId) -> Option<EntityId> {
        let robot = self.by_session.remove(&session)?;
        self.by_robot.remove(&robot);
        Some(robot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_claim_releases_the_first() {
        let mut claims = Claims::default();
        let (a, b) = (SessionId(1), SessionId(2));
        assert_eq!(claims.claim(a, EntityId(0)), None);
        assert_eq!(claims.claim(a, EntityId(0)), None, "the same robot again releases nothing");
        assert_eq!(claims.claim(a, EntityId(3)), Some(EntityId(0)));
        assert_eq!(claims.holder_of(EntityId(0)), None);
        assert_eq!(claims.holder_of(EntityId(3)), Some(a));
        assert_eq!(claims.claim(b, EntityId(0)), None);
        assert_eq!(claims.release(a), Some(EntityId(3)));
        assert_eq!(claims.robot_of(a), None);
        assert_eq!(claims.robot_of(b), Some(EntityId(0)));
    }
}
