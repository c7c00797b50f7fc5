//! Checks `scene`.

use serde_json::Value;

use super::finding::{Findings, Needed};
use super::image::coordinate_system;
use super::transformations::{any, ends};

/// Checks a scene of 0.6: the positions of images relative to each other.
pub(super) fn scene(findings: &mut Findings, scene: &Value, _: u32) {
    findings.each(scene, "coordinateSystems", Needed::No, 0, coordinate_system);
    findings.each(
        scene,
        "coordinateTransformations",
        Needed::Yes,
        1,
        |findings, transformation| {
            any(findings, transformation);
            ends(findings, transformation, "name", "name");
        },
    );
}
