//! Entities by id and by scoped name.
//!
//! An id is a kind in the upper 32 bits and a number in the lower ones, which counts the entities of that kind in the
//! order of the document, from 0; those that are added later go on from there. A number is never given again.

use std::collections::HashMap;

use specs::Entity;
use tickworks_plugin_api::abi::kind;

use super::components::RobotInfo;
use crate::numbered::Numbered;

/// Lists of entities, each at its number, and their names.
#[derive(Debug, Default)]
pub struct Index {
    /// Robots.
    pub robots: Numbered<Entity>,
    /// Links.
    pub bodies: Numbered<Entity>,
    /// Models.
    pub models: Numbered<Entity>,
    /// What is told about each robot.
    pub infos: Numbered<RobotInfo>,
    ids: [HashMap<String, u64>; 3],
    names: [Numbered<String>; 3],
}

/// The id of number `n` of a kind.
pub fn id(kind: u32, n: usize) -> u64 {
    u64::from(kind) << 32 | n as u64
}

/// Whether a scoped name is `whole`, or that of something in it.
pub fn is_within(name: &str, whole: &str) -> bool {
    name.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Kind and number of an id.
pub fn parts(id: u64) -> (u32, usize) {
    ((id >> 32) as u32, (id & 0xffff_ffff) as usize)
}

impl Index {
    fn list(&self, kind: u32) -> Option<&Numbered<Entity>> {
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
    pub fn names(&self, kind: u32) -> impl Iterator<Item = &str> {
        self.names.get(kind as usize).into_iter().flat_map(Numbered::values).map(String::as_str)
    }

    /// Ids and entities of a kind whose scoped name is `name`, or lies in it.
    pub(super) fn within<'a>(&'a self, kind: u32, name: &'a str) -> impl Iterator<Item = (u64, Entity)> + 'a {
        let names = self.names.get(kind as usize).into_iter().flat_map(Numbered::iter);
        names.filter(move |(_, full)| is_within(full, name)).filter_map(move |(number, _)| {
            let id = id(kind, number);
            Some((id, self.entity(id)?))
        })
    }

    /// Adds an entity as the next one of its kind, and gives its id. The first one with a name keeps it.
    pub(super) fn add(&mut self, kind: u32, entity: Entity, name: &str) -> u64 {
        let list = match kind {
            kind::ROBOT => &mut self.robots,
            kind::BODY => &mut self.bodies,
            _ => &mut self.models,
        };
        let id = id(kind, list.push(entity));
        let kind = (kind as usize).min(2);
        self.ids[kind].entry(name.to_owned()).or_insert(id);
        self.names[kind].push(name.to_owned());
        id
    }

    /// Takes an entity out, and gives it.
    pub(super) fn remove(&mut self, id: u64) -> Option<Entity> {
        let (kind, n) = parts(id);
        let list = match kind {
            kind::ROBOT => &mut self.robots,
            kind::BODY => &mut self.bodies,
            kind::MODEL => &mut self.models,
            _ => return None,
        };
        let entity = list.remove(n)?;
        if kind == kind::ROBOT {
            self.infos.remove(n);
        }
        if let Some(name) = self.names[kind as usize].remove(n)
            && self.ids[kind as usize].get(&name) == Some(&id)
        {
            self.ids[kind as usize].remove(&name);
        }
        Some(entity)
    }

    /// Everything of the document is there; what comes now may go again.
    pub(super) fn seal(&mut self) {
        self.robots.seal();
        self.bodies.seal();
        self.models.seal();
        self.infos.seal();
        self.names.iter_mut().for_each(Numbered::seal);
    }

    /// Lets the next robot, link and model have these numbers.
    pub(super) fn skip_to(&mut self, robots: usize, bodies: usize, models: usize) {
        self.robots.skip_to(robots);
        self.infos.skip_to(robots);
        self.bodies.skip_to(bodies);
        self.models.skip_to(models);
        for (of, number) in [(kind::ROBOT, robots), (kind::BODY, bodies), (kind::MODEL, models)] {
            self.names[of as usize].skip_to(number);
        }
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
