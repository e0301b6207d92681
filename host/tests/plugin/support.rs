//! Shared objects to load, a world to look at, and managers that are ready.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tickworks::plugin::{
    Answer, BodyArrays, LoadContext, Manager, ManagerOptions, MessageIn, PluginResponse, PluginSpec, RobotArrays,
    RobotInfoView, Search, TrackerEvent, WorldView, reply_of,
};
use tickworks_plugin_api::{Axes, Element, EntityId, Kind, Ray, RayHit, RobotType, WorldRef};

/// A shared object from `tests/<source>`, compiled as strictly as the header promises to allow.
pub fn compile(source: &str, defines: &[(&str, &str)]) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    // A path of its own for each: the system's loader knows a path again and gives the first library for it.
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin").join(format!(
        "{}-{}",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::Relaxed)
    ));
    std::fs::create_dir_all(&dir).unwrap();
    tickworks_tests::compile(source, defines, &dir)
}

/// A shared object that cargo built for these tests, which lies beside them.
pub fn built(name: &str) -> PathBuf {
    let path = std::env::current_exe().unwrap().with_file_name(format!("lib{name}.so"));
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

pub fn spec(path: &Path) -> PluginSpec {
    PluginSpec::named(path)
}

/// What an instance of the stress plugin does: slot, trouble, attributes.
pub type Trouble<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// An instance of the stress plugin with these troubles.
pub fn stress(name: &str, troubles: &[Trouble<'_>]) -> PluginSpec {
    let mut parameters = Element::new("plugin");
    for (slot, does, attributes) in troubles {
        let mut trouble = Element::new("trouble").with_attribute("slot", *slot).with_attribute("does", *does);
        for (key, value) in *attributes {
            trouble = trouble.with_attribute(*key, *value);
        }
        parameters = parameters.with_child(trouble);
    }
    PluginSpec { instance: Some(name.into()), parameters, ..spec(&built("stress")) }
}

pub fn context() -> LoadContext {
    LoadContext { world: WorldRef { name: "test".into(), file: None }, rate_hz: 60.0, seed: 7 }
}

pub fn manager() -> Manager {
    manager_with(Duration::from_secs(60), false)
}

pub fn manager_with(start_timeout: Duration, keep_going: bool) -> Manager {
    Manager::new(ManagerOptions { search: Search::in_dirs(Vec::new()), start_timeout, keep_going, waker: None })
}

/// Waits for the end of a load: all events up to it.
pub fn settle(manager: &mut Manager) -> Vec<TrackerEvent> {
    let until = Instant::now() + Duration::from_secs(60);
    let mut events = Vec::new();
    while !events.iter().any(|event| !matches!(event, TrackerEvent::Changed(..))) {
        assert!(Instant::now() < until, "the load does not end: {events:?}");
        events.extend(manager.wait(until));
    }
    events
}

/// A manager in which these have started, and have been told so.
pub fn running(specs: Vec<PluginSpec>) -> Manager {
    let mut manager = manager();
    manager.load(specs, &context());
    let events = settle(&mut manager);
    assert!(matches!(events.last(), Some(TrackerEvent::AllStarted { .. })), "{events:?}");
    manager.on_all_started(&World::default());
    manager
}

/// Why a plugin did not start.
pub fn start_failure(spec: PluginSpec) -> String {
    let mut manager = manager();
    manager.load(vec![spec], &context());
    match settle(&mut manager).pop() {
        Some(TrackerEvent::Incomplete { mut failed, .. }) => failed.pop().unwrap().1,
        other => panic!("it started: {other:?}"),
    }
}

/// Asks, and gives all answers.
pub fn ask_all(manager: &mut Manager, cmd: &str, json: &str) -> Vec<Answer> {
    manager.message(&World::default(), &message(cmd, json))
}

/// Asks, and gives the reply.
pub fn ask(manager: &mut Manager, cmd: &str) -> PluginResponse {
    let mut answers = ask_all(manager, cmd, &format!(r#"{{"cmd":"{cmd}"}}"#));
    let reply = reply_of(&answers).expect("somebody answers");
    answers.swap_remove(reply).response
}

/// The text of an error reply.
pub fn error_of(response: &PluginResponse) -> String {
    match response {
        PluginResponse::Err(json) => {
            serde_json::from_slice::<serde_json::Value>(json).unwrap()["error"].as_str().unwrap().to_owned()
        }
        other => panic!("no error: {other:?}"),
    }
}

/// The fields of an ok reply.
pub fn fields_of(response: &PluginResponse) -> serde_json::Value {
    match response {
        PluginResponse::Ok(json) => serde_json::from_slice(json).unwrap(),
        other => panic!("no reply: {other:?}"),
    }
}

pub fn message<'a>(cmd: &'a str, json: &'a str) -> MessageIn<'a> {
    MessageIn { id: 1, session: 2, from: EntityId::NONE, target: EntityId(0), cmd, json: json.as_bytes() }
}

/// A world of one robot "uav0" and many more without a name.
pub struct World {
    ids: Vec<u64>,
    poses: Vec<[f64; 7]>,
    velocities: Vec<[f64; 6]>,
    flags: Vec<u32>,
    pub tick: u64,
}

impl Default for World {
    fn default() -> Self {
        Self::of(1)
    }
}

impl World {
    pub fn of(robots: u64) -> Self {
        let count = usize::try_from(robots).unwrap();
        Self {
            ids: (0..robots).collect(),
            poses: vec![[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]; count],
            velocities: vec![[0.0; 6]; count],
            flags: vec![0; count],
            tick: 3,
        }
    }
}

impl WorldView for World {
    fn tick(&self) -> u64 {
        self.tick
    }
    fn time(&self) -> f64 {
        self.dt() * 3.0
    }
    fn dt(&self) -> f64 {
        1.0 / 60.0
    }
    fn paused(&self) -> bool {
        false
    }
    fn robots(&self) -> RobotArrays<'_> {
        RobotArrays { ids: &self.ids, poses: &self.poses, velocities: &self.velocities, flags: &self.flags }
    }
    fn bodies(&self) -> BodyArrays<'_> {
        BodyArrays::default()
    }
    fn robot_info(&self, id: EntityId) -> Option<RobotInfoView<'_>> {
        (id == EntityId(0)).then_some(RobotInfoView {
            id,
            model: EntityId(2 << 32),
            name: "uav0",
            kind: RobotType::UavLevel1,
            axes: Axes::Luf,
            limits: [0.1, 0.1, 0.1, 0.05, 0.05, 0.05],
            drag: 0.0,
        })
    }
    fn find(&self, kind: Kind, name: &str) -> Option<EntityId> {
        (kind == Kind::Robot && name == "uav0").then_some(EntityId(0))
    }
    fn name(&self, id: EntityId) -> Option<&str> {
        (id == EntityId(0)).then_some("uav0")
    }
    fn pose(&self, id: EntityId) -> Option<[f64; 7]> {
        self.poses.get(usize::try_from(id.0).ok()?).copied()
    }
    fn ray_cast(&self, _: &Ray) -> Option<RayHit> {
        None
    }
}
