//! `Placement`: lists of transformations, combined into one scale and one translation.

use serde_json::Value;

use crate::json::{numbers, shown};

/// The coordinates of the index `i` along each axis: `scale * i + translation`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placement {
    pub(crate) scale: Vec<f64>,
    pub(crate) translation: Vec<f64>,
    /// Oddities of the transformations.
    pub(crate) warnings: Vec<String>,
}

impl Placement {
    pub(crate) fn identity(n_axes: usize) -> Self {
        Self {
            scale: vec![1.0; n_axes],
            translation: vec![0.0; n_axes],
            warnings: Vec::new(),
        }
    }

    /// Applies a list of transformations, in its order, after those before (OME-05).
    pub(crate) fn apply(&mut self, list: &Value) -> Result<(), String> {
        self.apply_nested(list, 0)
    }

    fn apply_nested(&mut self, list: &Value, depth: usize) -> Result<(), String> {
        // Deeper than sequences are nested in practice, and far less than the stack allows.
        if depth > 16 {
            return Err("has sequences of transformations nested too deeply".to_owned());
        }
        for transformation in list.as_array().into_iter().flatten() {
            match transformation["type"].as_str() {
                Some("identity") => {}
                Some("scale") => {
                    if let Some(factors) = self.numbers_of(transformation, "scale")? {
                        self.scale_by(&factors);
                    }
                }
                Some("translation") => {
                    if let Some(offsets) = self.numbers_of(transformation, "translation")? {
                        self.translate_by(&offsets);
                    }
                }
                Some("sequence") => {
                    self.apply_nested(&transformation["transformations"], depth + 1)?
                }
                _ => {
                    let kind = shown(&transformation["type"]);
                    return Err(format!(
                        "has a transformation of the type {kind}, not a scale or translation"
                    ));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn scale_by(&mut self, factors: &[f64]) {
        for (at, factor) in factors.iter().enumerate() {
            self.scale[at] *= factor;
            self.translation[at] *= factor;
        }
    }

    pub(crate) fn translate_by(&mut self, offsets: &[f64]) {
        for (translation, offset) in self.translation.iter_mut().zip(offsets) {
            *translation += offset;
        }
    }

    /// The numbers of a transformation; `None`, with a warning, if it has not one for each axis.
    fn numbers_of(
        &mut self,
        transformation: &Value,
        kind: &str,
    ) -> Result<Option<Vec<f64>>, String> {
        if transformation.get(kind).is_none() && transformation.get("path").is_some() {
            return Err(format!(
                "has a {kind} in an array of its own, which is not supported"
            ));
        }
        let list = &transformation[kind];
        let numbers = numbers(list).ok_or_else(|| format!("has the {kind} {}", shown(list)))?;
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(format!(
                "has the {kind} {}, which is not finite",
                shown(list)
            ));
        }
        let n_axes = self.scale.len();
        if numbers.len() != n_axes {
            let what = format!(
                "a {kind} of {} numbers for {n_axes} axes is ignored",
                numbers.len()
            );
            self.warnings.push(what);
            return Ok(None);
        }
        Ok(Some(numbers))
    }

    /// Replaces scales of 0, which some writers give axes whose scale they do not know.
    pub(crate) fn without_zeros(mut self) -> Result<Self, String> {
        if self.scale.contains(&0.0) {
            self.warnings.push("a scale of 0 is taken for 1".to_owned());
            for scale in self.scale.iter_mut().filter(|scale| **scale == 0.0) {
                *scale = 1.0;
            }
        }
        if self
            .scale
            .iter()
            .chain(&self.translation)
            .any(|number| !number.is_finite())
        {
            return Err("has transformations that are not finite together".to_owned());
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn placed(list: Value) -> Result<(Vec<f64>, Vec<f64>), String> {
        let mut placement = Placement::identity(2);
        placement.apply(&list)?;
        let placement = placement.without_zeros()?;
        Ok((placement.scale, placement.translation))
    }

    #[test]
    fn ome_05_a_scale_after_a_translation_scales_it_too() {
        let scale = json!({"type": "scale", "scale": [2, 4]});
        let translation = json!({"type": "translation", "translation": [1, 10]});
        assert_eq!(
            placed(json!([scale, translation])),
            Ok((vec![2.0, 4.0], vec![1.0, 10.0]))
        );
        assert_eq!(
            placed(json!([translation, scale])),
            Ok((vec![2.0, 4.0], vec![2.0, 40.0]))
        );
        let sequence = json!([{"type": "sequence", "transformations": [translation, scale]}, {"type": "identity"}]);
        assert_eq!(placed(sequence), Ok((vec![2.0, 4.0], vec![2.0, 40.0])));
    }

    #[test]
    fn other_transformations_are_named() {
        for (list, named) in [
            (
                json!([{"type": "affine", "affine": [[1, 0], [0, 1]]}]),
                "\"affine\"",
            ),
            (json!([{"type": "rotation"}]), "\"rotation\""),
            (json!([{"scale": [1, 1]}]), "null"),
            (
                json!([{"type": "scale", "path": "scales"}]),
                "array of its own",
            ),
            (
                json!([{"type": "scale", "scale": [1, "NaN"]}]),
                "not finite",
            ),
            (
                json!([{"type": "scale", "scale": [1, "1e999"]}]),
                "not finite",
            ),
            (json!([{"type": "scale"}]), "the scale null"),
            (
                json!([{"type": "scale", "scale": [1e300, 1]}, {"type": "scale", "scale": [1e300, 1]}]),
                "not finite",
            ),
        ] {
            let what = placed(list.clone()).expect_err(&list.to_string());
            assert!(what.contains(named), "{what}");
        }
    }

    #[test]
    fn nested_sequences_end() {
        let mut nested = json!([]);
        for _ in 0..100 {
            nested = json!([{"type": "sequence", "transformations": nested}]);
        }
        assert!(placed(nested).expect_err("it is deep").contains("nested"));
    }
}
