//! What tests look at in replies.

use serde_json::Value;

use crate::Client;

/// The names of an object's fields, sorted, without `timestamp` and `id`, which belong to the protocol.
pub fn fields(reply: &Value) -> Vec<&str> {
    keys(reply).into_iter().filter(|name| !matches!(*name, "timestamp" | "id")).collect()
}

/// The names of all fields of an object, sorted.
pub fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().unwrap_or_else(|| panic!("{value} should be an object"));
    let mut names: Vec<_> = object.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Where a robot is, from its wire object.
pub fn position(robot: &Value) -> [f64; 3] {
    [0, 1, 2].map(|row| robot["pose"][row][3].as_f64().unwrap_or_else(|| panic!("{robot} should have a pose")))
}

/// Whether two positions are the same, within `tolerance` metres along each axis.
pub fn is_at(robot: &Value, expected: [f64; 3], tolerance: f64) -> bool {
    position(robot).iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance)
}

impl Client {
    /// A robot's wire object.
    pub fn robot(&mut self, id: u64) -> Value {
        self.ok(serde_json::json!({"cmd": "robot_get_state", "robot_id": id}))["robot"].take()
    }

    /// Runs ticks in a world that is paused.
    pub fn step(&mut self, ticks: u64) -> Value {
        self.ok(serde_json::json!({"cmd": "sim_step", "ticks": ticks}))
    }

    /// One tick of a paused world with these requests in it. Gives their replies.
    pub fn tick_with(&mut self, requests: &[Value]) -> Vec<Value> {
        let mut all = vec![serde_json::json!({"cmd": "sim_step"})];
        all.extend_from_slice(requests);
        let mut replies = self.pipeline(&all);
        assert_eq!(replies.remove(0)["status"], "stepped");
        replies
    }

    /// The hash of everything that the future depends on.
    pub fn state_hash(&mut self) -> String {
        let reply = self.ok(serde_json::json!({"cmd": "sim_get_state"}));
        reply["state"]["hash"].as_str().expect("the hash should be text").to_owned()
    }
}
