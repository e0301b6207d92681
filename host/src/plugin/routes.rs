//! Which instances own a command.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use tickworks_plugin_api::{Endpoint, Manifest, RobotUse};

/// Command -> owners.
#[derive(Debug, Default)]
pub(super) struct Routes(HashMap<String, Route>);

/// The owners of one command.
#[derive(Debug)]
pub(super) struct Route {
    /// Places in the list of instances, weakest first.
    pub owners: Vec<usize>,
    /// What the command is, over all owners.
    pub endpoint: Endpoint,
}

impl Routes {
    /// From the manifests of all instances, weakest first.
    pub fn new<'a>(manifests: impl Iterator<Item = &'a Manifest>) -> Self {
        let mut routes: HashMap<String, Route> = HashMap::new();
        for (place, manifest) in manifests.enumerate() {
            for endpoint in &manifest.endpoints {
                match routes.get_mut(&endpoint.name) {
                    Some(route) => {
                        route.owners.push(place);
                        route.endpoint = Endpoint {
                            reads_only: route.endpoint.reads_only && endpoint.reads_only,
                            robot: stricter(route.endpoint.robot, endpoint.robot),
                            ..endpoint.clone()
                        };
                    }
                    None => {
                        let route = Route { owners: vec![place], endpoint: endpoint.clone() };
                        routes.insert(endpoint.name.clone(), route);
                    }
                }
            }
        }
        Self(routes)
    }

    pub fn get(&self, cmd: &str) -> Option<&Route> {
        self.0.get(cmd)
    }
}

fn stricter(a: RobotUse, b: RobotUse) -> RobotUse {
    match (a, b) {
        (RobotUse::Control, _) | (_, RobotUse::Control) => RobotUse::Control,
        (RobotUse::Read, _) | (_, RobotUse::Read) => RobotUse::Read,
        _ => RobotUse::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickworks_plugin_api::DefaultRobot;

    #[test]
    fn a_command_of_several_owners_is_the_strictest_of_them() {
        let endpoint = |summary: &str| Endpoint::new::<(), ()>("look", summary);
        let weak = Manifest::new("").endpoint(endpoint("weak").reads_only().robot(RobotUse::Control));
        let strong = Manifest::new("").endpoint(endpoint("strong").default_robot(DefaultRobot::First));
        let routes = Routes::new([&weak, &strong].into_iter());
        let route = routes.get("look").unwrap();
        assert_eq!(route.owners, [0, 1]);
        assert_eq!(route.endpoint.summary, "strong");
        assert_eq!(route.endpoint.robot, RobotUse::Control);
        assert_eq!(route.endpoint.default_robot, DefaultRobot::First);
        assert!(!route.endpoint.reads_only);
        assert!(routes.get("none").is_none());
    }
}
