//! `Channel`: how a channel of an image is shown, from `omero`.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::json::{number, text};

/// How a channel of an image is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channel {
    /// Its name.
    pub label: Option<String>,
    /// Red, green and blue.
    pub color: Option<[u8; 3]>,
    /// The elements that are shown as black and as the full colour.
    pub window: Option<Window>,
    /// True if it is shown.
    pub active: Option<bool>,
}

/// A range of elements, in their own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The element that is shown as black.
    pub start: f64,
    /// The element that is shown as the full colour.
    pub end: f64,
    /// The least value that `start` can be set to.
    pub min: f64,
    /// The greatest value that `end` can be set to.
    pub max: f64,
}

impl Channel {
    pub(crate) fn of(channel: &Value) -> Self {
        let color = channel["color"].as_str().and_then(|text| {
            // Some writers put a `#` before it.
            let digits = text.strip_prefix('#').unwrap_or(text);
            let is_color = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let [_, color @ ..] = u32::from_str_radix(digits, 16)
                .ok()
                .filter(|_| is_color)?
                .to_be_bytes();
            Some(color)
        });
        Self {
            label: text(&channel["label"]),
            color,
            window: Window::of(&channel["window"]),
            active: channel["active"].as_bool(),
        }
    }

    pub(crate) fn to_json(&self) -> Result<Value> {
        let mut channel = json!({});
        if let Some(label) = &self.label {
            channel["label"] = label.clone().into();
        }
        if let Some([red, green, blue]) = self.color {
            channel["color"] = format!("{red:02X}{green:02X}{blue:02X}").into();
        }
        if let Some(window) = self.window {
            let Window {
                start,
                end,
                min,
                max,
            } = window;
            if ![start, end, min, max]
                .iter()
                .all(|number| number.is_finite())
            {
                return Err(Error::Argument(format!(
                    "the window {window:?} is not finite"
                )));
            }
            channel["window"] = json!({"start": start, "end": end, "min": min, "max": max});
        }
        if let Some(active) = self.active {
            channel["active"] = active.into();
        }
        Ok(channel)
    }
}

impl Window {
    /// Versions before 0.4 may lack `min` and `max`, or `start` and `end`.
    fn of(window: &Value) -> Option<Self> {
        let get = |key: &str, other: &str| number(&window[key]).or_else(|| number(&window[other]));
        Some(Self {
            start: get("start", "min")?,
            end: get("end", "max")?,
            min: get("min", "start")?,
            max: get("max", "end")?,
        })
    }
}
