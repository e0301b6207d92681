//! Worlds that a test writes for itself.

use std::fmt::Write;
use std::path::Path;

use tempfile::TempDir;

/// A world in a file of its own, which goes with this value: a floor, and what is added to it.
pub struct Scene {
    dir: TempDir,
    content: String,
}

impl Default for Scene {
    fn default() -> Self {
        Self::new()
    }
}

impl Scene {
    /// A floor alone.
    pub fn new() -> Self {
        let floor = "<model name='ground'><static>true</static><link name='link'><collision name='c'><geometry><plane>\
                     <normal>0 0 1</normal></plane></geometry></collision></link></model>";
        Self { dir: tempfile::tempdir().expect("a folder for temporary files"), content: floor.to_owned() }
    }

    /// One more UAV of level 1: a ball of 10 cm radius that may move 0.1 m and 0.05 rad along each axis in a tick.
    pub fn uav(self, name: &str, position: [f64; 3]) -> Self {
        let [x, y, z] = position;
        self.with(&format!(
            "<model name='{name}'><tw:robot type='UAVLevel1' max_velocities='0.1 0.1 0.1 0.05 0.05 0.05'/>\
             <pose>{x} {y} {z} 0 0 0</pose><link name='body'><gravity>false</gravity><collision name='c'>\
             <geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link></model>"
        ))
    }

    /// The plugin that misbehaves on request, with these `<trouble>` elements.
    pub fn stress(self, name: &str, troubles: &str) -> Self {
        self.with(&format!("<plugin filename='stress' name='{name}'>{troubles}</plugin>"))
    }

    /// Anything else that a world holds.
    pub fn with(mut self, xml: &str) -> Self {
        self.content.push_str(xml);
        self
    }

    /// Writes the file. It is there as long as this value.
    pub fn file(&self) -> impl AsRef<Path> + use<> {
        let mut text = String::from("<sdf version='1.11' xmlns:tw='https://tickworks.dev/sdf'><world name='scene'>");
        text.push_str("<physics name='p' type='ignored'><max_step_size>0.004</max_step_size></physics>");
        writeln!(text, "{}</world></sdf>", self.content).expect("memory takes everything");
        let path = self.dir.path().join("scene.sdf");
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// A folder for what else a test needs.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}
