//! Entities by id and by scoped name.
//!
//! An id is a kind in the upper 32 bits and a number in the lower ones, which counts the entities of that kind in the
//! order of the document, from 0.

use std::collections::HashMap;

use specs::Entity;
use tickworks_plugin_api::abi::kind;

use super::components::RobotInfo;

/// Lists of entities, each at its number, and their names.
#[derive(Debug, Default)]
pub struct Index {
    /// Robots.
    pub robots: Vec<Entity>,
    /// Links.
    pub bodies: Vec<Entity>,
    /// Models.
    pub models: Vec<Entity>,
    /// What is told about each robot.
    pub infos: Vec<RobotInfo>,
    ids: [HashMap<String, u64>; 3],
    names: [Vec<String>; 3],
}

/// The id of number `n` of a kind.
pub fn id(kind: u32, n: usize) -> u64 {
    u64::from(kind) << 32 | n as u64
}

/// Kind and number of an id.
pub fn parts(id: u64) -> (u32, usize) {
    ((id >> 32) as u32, (id & 0xffff_ffff) as usize)
}

impl Index {
    fn list(&self, kind: u32) -> Option<&Vec<Entity>> {
        match kind {
            kind::ROBOT => Some(&self.robots),
            kind::BODY => Some(&self.bodies),
            kind::MODEL => Some(&self.models),
            _ => None,
        }
    }

    /// The entity with an id.
    pub fn entity(&self, id: u64) -> Option<Entity> {
        let (kind, n) = parts(id);
        self.list(kind)?.get(n).copied()
    }

    /// The robot with an id.
    pub fn robot(&self, id: u64) -> Option<Entity> {
        self.robots.get(usize::try_from(id).ok()?).copied()
    }

    /// The id of the entity of a kind with a scoped name.
    pub fn find(&self, kind: u32, name: &str) -> Option<u64> {
        self.ids.get(kind as usize)?.get(name).copied()
    }

    /// The scoped name of the entity with an id.
    pub fn name(&self, id: u64) -> Option<&str> {
        let (kind, n) = parts(id);
        self.names.get(kind as usize)?.get(n).map(String::as_str)
    }

    /// All names of a kind, in the order of their ids.
    pub fn names(&self, kind: u32) -> &[String] {
        self.names.get(kind as usize).map_or(&[], Vec::as_slice)
    }

    /// Adds an entity as the next one of its kind, and gives its id. The first one with a name keeps it.
    pub(super) fn add(&mut self, kind: u32, entity: Entity, name: &str) -> u64 {
        let list = match kind {
            kind::ROBOT => &mut self.robots,
            kind::BODY => &mut self.bodies,
            _ => &mut self.models,
        };
        let id = id(kind, list.len());
        list.push(entity);
        let kind = (kind as usize).min(2);
        self.ids[kind].entry(name.to_owned()).or_insert(id);
        self.names[kind].push(name.to_owned());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_carry_their_kind() {
        assert_eq!(id(kind::ROBOT, 3), 3);
        assert_eq!(parts(id(kind::BODY, 7)), (kind::BODY, 7));
        assert_eq!(parts(u64::MAX), (u32::MAX, 0xffff_ffff));
        assert_eq!(Index::default().entity(u64::MAX), None);
    }
}
