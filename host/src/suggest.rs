//! "Did you mean": the nearest of some names.
#![forbid(unsafe_code)]

/// Longer than any name, bytes.
const LONGEST: usize = 200;

/// The name nearest to `wanted`, when it is near enough to be meant: at most a third of its letters differ.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody means a name with a text of a page, and the comparison would take its time.
    if wanted.len() > LONGEST {
        return None;
    }
    let allowed = (wanted.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wanted.to_lowercase(), &name.to_lowercase()), name))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// What to say to somebody who wants a name that is not among `names`: the nearest one, or all of them.
pub fn hint(wanted: &str, names: &[&str]) -> String {
    nearest(wanted, names.iter().copied())
        .map_or_else(|| format!("there are {}", names.join(", ")), |near| format!("did you mean '{near}'?"))
}

/// A name of somebody's as it is shown: the beginning, where it is very long.
pub fn shown(name: &str) -> String {
    name.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["move", "sim_reset", "mission_start"];
        assert_eq!(nearest("moev", names), Some("move"));
        assert_eq!(nearest("simreset", names), Some("sim_reset"));
        assert_eq!(nearest("Mission_Start", names), Some("mission_start"));
        assert_eq!(nearest("camera", names), None);
        assert_eq!(nearest("", names), None);
    }
}
