//! Where the program and its plugins are, and that they are up to date.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package is in the workspace's folder")
}

/// A world by name from `worlds/` or `tests/worlds/`. A path with a folder in it is taken as it is.
pub fn world(name: impl AsRef<Path>) -> PathBuf {
    let name = name.as_ref();
    if name.components().count() > 1 {
        return name.to_owned();
    }
    let candidates = ["worlds", "tests/worlds"].map(|folder| workspace().join(folder).join(name));
    let found = candidates.iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("there is no world {} in worlds/ or tests/worlds/", name.display())).clone()
}

/// The program `tickworks`.
pub fn program() -> PathBuf {
    bin_dir().join(format!("tickworks{}", env::consts::EXE_SUFFIX))
}

/// The shared object of a plugin of this workspace.
pub fn plugin(name: &str) -> PathBuf {
    bin_dir().join(format!("{}{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX))
}

/// The folder that the program and the plugins are built into. Whoever asks first builds them; the others wait.
///
/// `cargo test` builds tests and what they link to, but not programs and shared objects of other packages.
pub fn bin_dir() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // The tests themselves are in TARGET/PROFILE/deps.
        let test = env::current_exe().expect("a running program has a path");
        let dir = test.ancestors().nth(2).expect("a test is two folders below the profile's").to_owned();
        let profile = match dir.file_name().and_then(|name| name.to_str()).expect("the profile's folder has a name") {
            "debug" => "dev",
            name => name,
        };
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            // With a test among its targets cargo takes the same features of dependencies as for the tests, and what is
            // built already serves.
            .args(["build", "--workspace", "--lib", "--bins", "--test", "header"])
            .args(["--quiet", "--profile", profile, "--target-dir"])
            .arg(dir.parent().unwrap_or(&dir));
        // What cargo tells a test about the test's own package is nothing to build others with.
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
                cargo.env_remove(name);
            }
        }
        let output = cargo.current_dir(workspace()).output().expect("cargo can be run");
        assert!(output.status.success(), "the workspace does not build:\n{}", String::from_utf8_lossy(&output.stderr));
        dir
    })
}
