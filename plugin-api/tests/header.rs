//! The header says the same as Rust: compiled by a real compiler, each size, offset and constant compared.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test helper fails its test")]

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;
use tickworks_plugin_api::abi;

fn include_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("header").join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn compile(compiler: &str, flags: &[&str], source: &Path, output: &Path) {
    let result = Command::new(compiler)
        .args(flags)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(include_dir())
        .arg(source)
        .arg("-o")
        .arg(output)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {compiler}: {error}"));
    assert!(result.status.success(), "{compiler} {flags:?}: {}", String::from_utf8_lossy(&result.stderr));
}

/// Rust's side: (`C expression`, value).
fn rust_side() -> Vec<(String, i128)> {
    let mut list = Vec::new();
    macro_rules! fields {
        ($($rust:ident = $c:ident { $($field:ident $(as $c_field:ident)?),+ })+) => {$(
            list.push((format!("sizeof({})", stringify!($c)), size_of::<abi::$rust>() as i128));
            list.push((format!("_Alignof({})", stringify!($c)), align_of::<abi::$rust>() as i128));
            $(
                let name = stringify!($field);
                $(let name = { let _ = name; stringify!($c_field) };)?
                list.push((format!("offsetof({}, {name})", stringify!($c)), offset_of!(abi::$rust, $field) as i128));
            )+
            // A field that this list forgets shows: all of them must be named.
            let _ = |value: abi::$rust| { let abi::$rust { $($field: _),+ } = value; };
        )+};
    }
    fields! {
        Bytes = tw_bytes { ptr, len }
        Sink = tw_sink { struct_size, reserved, ctx, write }
        Command = tw_command { op, count, entity, v }
        Outcome = tw_outcome { entity, op, status, flags, reserved, by, reason }
        Message = tw_message { struct_size, reserved, id, session, from, target, cmd, json }
        Robots = tw_robots { struct_size, count, ids, poses, velocities, flags }
        Bodies = tw_bodies { struct_size, count, ids, poses, velocities }
        RobotInfo = tw_robot_info { struct_size, type_ as type, axes, control_len, id, model, name, limits, drag }
        Ray = tw_ray { origin, direction, max_distance, ignore }
        RayHit = tw_ray_hit { body, robot, distance, point, normal }
        World = tw_world {
            struct_size, paused, tick, time, dt, ctx, robots, bodies, robot_info, find, name, pose, ray_cast
        }
        Shape = tw_shape { kind, rgba, width, reserved, pose, size, text }
        Host = tw_host { struct_size, abi_major, abi_minor, ctx, log, wake, publish, get_extension }
        PluginTable = tw_plugin {
            struct_size, abi_major, abi_minor, id, version, describe, create, destroy, on_all_started, on_reset,
            on_message, on_response, on_tick, before_physics, after_physics, draw, save, load, may, on_wake,
            get_extension
        }
    }
    macro_rules! constants {
        ($($c:ident = $($path:ident)::+,)+) => {$(
            list.push((stringify!($c).to_owned(), i128::from(abi::$($path)::+)));
        )+};
    }
    constants! {
        TW_ABI_MAJOR = ABI_MAJOR, TW_ABI_MINOR = ABI_MINOR, TW_NO_ENTITY = NO_ENTITY,
        TW_OK = rc::OK, TW_NOT_MINE = rc::NOT_MINE, TW_ERR = rc::ERR, TW_ERR_PANIC = rc::ERR_PANIC,
        TW_ERR_BAD_ARG = rc::ERR_BAD_ARG, TW_ERR_UNSUPPORTED = rc::ERR_UNSUPPORTED, TW_ERR_STATE = rc::ERR_STATE,
        TW_ERR_WRONG_THREAD = rc::ERR_WRONG_THREAD,
        TW_OUT_OK = out::OK, TW_OUT_ERR = out::ERR, TW_OUT_COMMANDS = out::COMMANDS, TW_OUT_TEXT = out::TEXT,
        TW_OUT_MANIFEST = out::MANIFEST, TW_OUT_STATE = out::STATE, TW_OUT_SHAPES = out::SHAPES,
        TW_LOG_ERROR = level::ERROR, TW_LOG_WARN = level::WARN, TW_LOG_INFO = level::INFO, TW_LOG_DEBUG = level::DEBUG,
        TW_LOG_TRACE = level::TRACE,
        TW_CONTROL = op::CONTROL, TW_VELOCITY = op::VELOCITY, TW_FORCE = op::FORCE, TW_IMPULSE = op::IMPULSE,
        TW_APPLIED = status::APPLIED, TW_OVERRIDDEN = status::OVERRIDDEN, TW_REPLACED = status::REPLACED,
        TW_REFUSED = status::REFUSED,
        TW_ROBOT = kind::ROBOT, TW_BODY = kind::BODY, TW_MODEL = kind::MODEL,
        TW_UAV_LEVEL1 = robot_type::UAV_LEVEL1, TW_UAV_LEVEL2 = robot_type::UAV_LEVEL2,
        TW_DIFF_DRIVE = robot_type::DIFF_DRIVE,
        TW_AXES_LUF = axes::LUF, TW_AXES_FLU = axes::FLU,
        TW_COLLIDING = flag::COLLIDING, TW_CLAIMED = flag::CLAIMED,
        TW_MAY_RESET = operation::RESET, TW_MAY_LOAD_STATE = operation::LOAD_STATE, TW_MAY_RELOAD = operation::RELOAD,
        TW_MAY_UNLOAD = operation::UNLOAD,
        TW_LINE = shape::LINE, TW_ARROW = shape::ARROW, TW_BOX = shape::BOX, TW_SPHERE = shape::SPHERE,
        TW_CYLINDER = shape::CYLINDER, TW_RECTANGLE = shape::RECTANGLE, TW_FRAME = shape::FRAME, TW_TEXT = shape::TEXT,
    }
    list
}

#[test]
fn sizes_offsets_and_constants_are_equal() {
    let rust = rust_side();
    let mut source = String::from("#include \"tickworks.h\"\n#include <stdio.h>\nint main(void) {\n");
    for (expression, _) in &rust {
        // Only TW_NO_ENTITY does not fit a long long.
        let (format, cast) =
            if expression == "TW_NO_ENTITY" { ("%llu", "unsigned long long") } else { ("%lld", "long long") };
        writeln!(source, "  printf(\"{format}\\n\", ({cast})({expression}));").unwrap();
    }
    source.push_str("  return 0;\n}\n");
    let dir = scratch("offsets");
    let (file, program) = (dir.join("offsets.c"), dir.join("offsets"));
    std::fs::write(&file, source).unwrap();
    compile("cc", &["-std=c11"], &file, &program);
    let output = Command::new(&program).output().unwrap();
    let c: Vec<i128> = String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(c.len(), rust.len());
    let different: Vec<_> = rust.iter().zip(&c).filter(|((_, rust), c)| rust != *c).collect();
    assert!(different.is_empty(), "((expression, Rust), C): {different:?}");
}

#[test]
fn every_constant_of_the_header_is_compared() {
    let header = std::fs::read_to_string(include_dir().join("tickworks.h")).unwrap();
    let compared: Vec<_> = rust_side().into_iter().map(|(name, _)| name).collect();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let defined = header.lines().flat_map(|line| {
        // "NAME = 1" within enums, however many in a line.
        line.match_indices(" = ").filter_map(|(at, _)| line[..at].rsplit(|c| !is_word(c)).next()).collect::<Vec<_>>()
    });
    let missing: Vec<_> =
        defined.filter(|name| name.starts_with("TW_") && !compared.contains(&(*name).to_owned())).collect();
    assert!(missing.is_empty(), "not compared with Rust: {missing:?}");
}

#[test]
fn the_header_is_clean_in_c11_and_cpp17() {
    let dir = scratch("clean");
    let c = dir.join("clean.c");
    // Twice: the include guard works, too.
    std::fs::write(&c, "#include \"tickworks.h\"\n#include \"tickworks.h\"\nint main(void) { return 0; }\n").unwrap();
    compile("cc", &["-std=c11"], &c, &dir.join("c"));
    let cpp = dir.join("clean.cpp");
    std::fs::write(
        &cpp,
        r#"#include "tickworks.hpp"
#include "tickworks.h"
#include <stdexcept>
#include <string>
static std::string told;
static int32_t take(void *, uint32_t, tw_bytes text) { told = std::string(tw::view(text)); return TW_OK; }
int main() {
  const tw_sink sink{sizeof(tw_sink), 0, nullptr, take};
  const auto fine = [] { return int32_t{TW_OK}; };
  static_assert(noexcept(tw::guard(&sink, fine)));
  if (tw::guard(&sink, []() -> int32_t { throw std::runtime_error("no fuel"); }) != TW_ERR_PANIC) return 1;
  if (told != "no fuel") return 2;
  if (tw::guard(&sink, []() -> int32_t { throw 5; }) != TW_ERR_PANIC) return 3;
  if (told.find("std::exception") == std::string::npos) return 4;
  tw::guard_destroy(nullptr, [] { throw 5; });
  return tw::guard(nullptr, [] { return int32_t{TW_OK}; });
}
"#,
    )
    .unwrap();
    let program = dir.join("cpp");
    compile("c++", &["-std=c++17"], &cpp, &program);
    assert_eq!(Command::new(&program).status().unwrap().code(), Some(0));
}
