//! Which connection has which robot.

use std::collections::BTreeMap;
use tickworks_plugin_api::EntityId;

use crate::net::SessionId;

/// Robots claimed by connections: at most one connection a robot, one robot a connection.
#[derive(Debug, Default)]
pub struct Claims {
    by_session: BTreeMap<SessionId, EntityId>,
    by_robot: BTreeMap<EntityId, SessionId>,
    /// Connections whose robot went away without them, and how.
    lost: BTreeMap<SessionId, String>,
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
        self.lost.remove(&session);
        self.by_session.insert(session, robot);
        self.by_robot.insert(robot, session);
        released
    }

    /// Takes a connection's robot away from it.
    pub fn release(&mut self, session: SessionId) -> Option<EntityId> {
        let robot = self.by_session.remove(&session)?;
        // After a reload it may be another one's by now.
        if self.by_robot.get(&robot) == Some(&session) {
            self.by_robot.remove(&robot);
        }
        Some(robot)
    }

    /// The robots that are claimed.
    pub fn robots(&self) -> Vec<EntityId> {
        self.by_robot.keys().copied().collect()
    }

    /// All claims, which are claims no more.
    pub fn take(&mut self) -> Vec<(SessionId, EntityId)> {
        self.by_robot.clear();
        std::mem::take(&mut self.by_session).into_iter().collect()
    }

    /// A connection's robot went away, and how.
    pub fn lose(&mut self, session: SessionId, how: String) {
        self.release(session);
        self.lost.insert(session, how);
    }

    /// How the robot of a connection went away, if it did and the connection has had none since.
    pub fn how_lost(&self, session: SessionId) -> Option<&str> {
        self.lost.get(&session).map(String::as_str)
    }

    /// A connection is gone.
    pub fn forget(&mut self, session: SessionId) -> Option<EntityId> {
        self.lost.remove(&session);
        self.release(session)
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
