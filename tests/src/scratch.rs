//! Worlds and folders that a test makes for itself.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{Client, PATIENCE, plugin};

/// A folder that goes away with this value.
pub struct Scratch(TempDir);

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// An empty one.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder for temporary files"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Writes a world: a floor, the UAV `uav0` as robot 0, and `more` elements.
    pub fn world(&self, more: &str) -> PathBuf {
        let world = format!(
            r#"<?xml version="1.0"?>
<sdf version="1.11" xmlns:tw="https://tickworks.dev/sdf">
  <world name="scratch">
    <model name="floor">
      <static>true</static>
      <link name="link"><collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link>
    </model>
    <model name="uav0">
      <tw:robot type="UAVLevel1" max_velocities="0.1 0.1 0.1 0.05 0.05 0.05"/>
      <pose>0 0 1 0 0 0</pose>
      <link name="body">
        <collision name="hull"><geometry><sphere><radius>0.2</radius></sphere></geometry></collision>
      </link>
    </model>
{more}
  </world>
</sdf>
"#
        );
        self.write("scratch.sdf", world)
    }

    /// A world with instances of the stress plugin, each with its `<trouble>` elements.
    pub fn stress_world(&self, instances: &[(&str, &str)]) -> PathBuf {
        self.world(&stress(instances))
    }
}

/// `<plugin>` elements for instances of the stress plugin, each with its `<trouble>` elements.
pub fn stress(instances: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, troubles) in instances {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            r#"    <plugin filename="{}" name="{name}">{troubles}</plugin>"#,
            plugin("stress").display()
        );
    }
    text
}

/// An address that nobody listens on: for hosts whose port must be known before they say it.
pub fn free_addr() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

/// Connects to a host that may not be listening yet.
pub fn connect_soon(addr: SocketAddr) -> Client {
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(addr).is_err() {
        assert!(Instant::now() < deadline, "nobody listens on {addr}");
        // There is nothing to wait for but the port itself; this does not decide anything.
        std::thread::sleep(Duration::from_millis(2));
    }
    Client::json(addr)
}
