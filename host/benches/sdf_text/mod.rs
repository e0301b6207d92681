//! The workloads as documents.

use std::fmt::Write;

const FRICTION: &str = "<surface><friction><ode><mu>0.8</mu><mu2>0.8</mu2></ode></friction></surface>";

fn world(step: f64, gravity: &str, body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<sdf version=\"1.11\" xmlns:tw=\"https://tickworks.dev/sdf\"><world name=\"bench\">\n\
         <physics name=\"p\" type=\"ignored\"><max_step_size>{step}</max_step_size></physics>\n\
         <gravity>{gravity}</gravity>\n{body}</world></sdf>\n"
    )
}

fn plane() -> String {
    format!(
        "<model name=\"ground\"><static>true</static><link name=\"link\"><collision name=\"c\"><geometry><plane>\
         <normal>0 0 1</normal><size>400 400</size></plane></geometry>{FRICTION}</collision></link></model>\n"
    )
}

fn inertial(mass: f64, moments: [f64; 3], pose: &str) -> String {
    let [x, y, z] = moments;
    format!(
        "<inertial><pose>{pose}</pose><mass>{mass}</mass><inertia><ixx>{x}</ixx><iyy>{y}</iyy><izz>{z}</izz></inertia></inertial>"
    )
}

/// A plane and nothing on it.
pub fn ground() -> String {
    world(0.001, "0 0 -9.81", &plane())
}

/// Columns of ten boxes that may not sleep.
pub fn stacks(count: usize) -> String {
    let columns = count / 10;
    let side = (columns as f64).sqrt().ceil() as usize;
    let mut body = plane();
    for n in 0..count {
        let (column, k) = (n / 10, n % 10);
        let (x, y, z) = ((column % side) as f64, (column / side) as f64, 0.2 + 0.4 * k as f64);
        let moment = 0.4 * 0.4 / 6.0;
        let _ = writeln!(
            body,
            "<model name=\"b{n}\"><allow_auto_disable>false</allow_auto_disable><pose>{x} {y} {z} 0 0 0</pose><link name=\"link\">{}\
             <collision name=\"c\"><geometry><box><size>0.4 0.4 0.4</size></box></geometry>{FRICTION}</collision></link></model>",
            inertial(1.0, [moment; 3], "0 0 0 0 0 0")
        );
    }
    world(0.001, "0 0 -9.81", &body)
}

/// UAVs in a cube, 2 m apart, without collisions.
pub fn uavs(count: usize) -> String {
    let side = (count as f64).cbrt().ceil() as usize;
    let mut body = String::new();
    for n in 0..count {
        let (x, y, z) = (2 * (n % side), 2 * (n / side % side), 2 * (n / side / side));
        let _ = writeln!(
            body,
            "<model name=\"u{n}\"><pose>{x} {y} {z} 0 0 0</pose><tw:robot type=\"UAVLevel1\"/><link name=\"link\">{}</link></model>",
            inertial(1.0, [0.02, 0.02, 0.04], "0 0 0 0 0 0")
        );
    }
    world(0.004, "0 0 0", &body)
}

/// Robots on two wheels and a caster, 2 m apart.
pub fn diffs(count: usize) -> String {
    let side = (count as f64).sqrt().ceil() as usize;
    let mut body = plane();
    for n in 0..count {
        let (x, y) = (2 * (n % side), 2 * (n / side));
        let box_moments = [(0.3, 0.1), (0.5, 0.1), (0.5, 0.3)].map(|(a, b): (f64, f64)| 8.0 * (a * a + b * b) / 12.0);
        let _ = write!(
            body,
            "<model name=\"r{n}\"><pose>{x} {y} 0 0 0 0</pose>\
             <tw:robot type=\"DiffDrive\" left_joint=\"left_wheel_joint\" right_joint=\"right_wheel_joint\"/>\
             <link name=\"chassis\">{}<collision name=\"body\"><pose>-0.1 0 0.15 0 0 0</pose><geometry><box>\
             <size>0.5 0.3 0.1</size></box></geometry>{FRICTION}</collision><collision name=\"caster\">\
             <pose>-0.25 0 0.1 0 0 0</pose><geometry><sphere><radius>0.1</radius></sphere></geometry>\
             <surface><friction><ode><mu>0</mu><mu2>0</mu2></ode></friction></surface></collision></link>",
            inertial(8.0, box_moments, "-0.1 0 0.15 0 0 0")
        );
        let across = 0.5 * (3.0 * 0.01 + 0.0016) / 12.0;
        for (name, y) in [("left", 0.2), ("right", -0.2)] {
            let _ = write!(
                body,
                "<link name=\"{name}_wheel\"><pose>0 {y} 0.1 -1.5707963267948966 0 0</pose>{}<collision name=\"c\"><geometry>\
                 <cylinder><radius>0.1</radius><length>0.04</length></cylinder></geometry>{FRICTION}</collision></link>\
                 <joint name=\"{name}_wheel_joint\" type=\"revolute\"><parent>chassis</parent><child>{name}_wheel</child>\
                 <axis><xyz>0 0 1</xyz><limit><effort>1000</effort></limit></axis></joint>",
                inertial(0.5, [across, across, 0.0025], "0 0 0 0 0 0")
            );
        }
        body.push_str("</model>\n");
    }
    world(0.001, "0 0 -9.81", &body)
}

/// Models of one link on a grid, 1 m apart: box, sphere, cylinder, capsule, ellipsoid in turn, each with its inertia and
/// a visual of the same form.
pub fn mixed(count: usize) -> String {
    let side = (count as f64).sqrt().ceil() as usize;
    let mut body = plane();
    for n in 0..count {
        let (x, y) = (n % side, n / side);
        let form = match n % 5 {
            0 => "<box><size>0.4 0.4 0.4</size></box>",
            1 => "<sphere><radius>0.2</radius></sphere>",
            2 => "<cylinder><radius>0.2</radius><length>0.4</length></cylinder>",
            3 => "<capsule><radius>0.1</radius><length>0.2</length></capsule>",
            _ => "<ellipsoid><radii>0.2 0.2 0.2</radii></ellipsoid>",
        };
        let _ = writeln!(
            body,
            "<model name=\"m{n}\"><pose>{x} {y} 0.2 0 0 0</pose><link name=\"link\">{}\
             <collision name=\"c\"><geometry>{form}</geometry></collision>\
             <visual name=\"v\"><geometry>{form}</geometry></visual></link></model>",
            inertial(1.0, [0.02; 3], "0 0 0 0 0 0")
        );
    }
    world(0.001, "0 0 -9.81", &body)
}
