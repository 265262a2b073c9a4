//! Traces as plotly.js reads them: the attributes of `scatter`, `bar` and `heatmap` that the charts use, under the names
//! of its reference. A builder holds JSON, so that an attribute without a method here is added with `figure::with`.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// A builder of a JSON object: each method sets the attribute beside it.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident { $($method:ident => $key:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Serialize)]
        #[serde(transparent)]
        pub(super) struct $name(Map<String, Value>);

        impl $name {
            $(pub(super) fn $method(mut self, value: impl Serialize) -> $name {
                self.0.insert($key.to_owned(), json!(value));
                self
            })*
        }
    };
}

object! {
    /// A trace.
    Trace {
        color_scale => "colorscale",
        error_y => "error_y",
        hover_on_gaps => "hoverongaps",
        hover_template => "hovertemplate",
        hover_text => "hovertext",
        legend_group => "legendgroup",
        line => "line",
        marker => "marker",
        mode => "mode",
        name => "name",
        show_legend => "showlegend",
        show_scale => "showscale",
        y_axis => "yaxis",
        zmax => "zmax",
        zmin => "zmin",
    }
}

object! {
    /// A line of a trace; the width is in pixels.
    Line { color => "color", dash => "dash", shape => "shape", width => "width" }
}

object! {
    /// The marks of a trace; the size is in pixels.
    Marker { color => "color", opacity => "opacity", pattern => "pattern", size => "size", symbol => "symbol" }
}

object! {
    /// Error bars of given lengths.
    ErrorBars {
        array => "array",
        array_minus => "arrayminus",
        color => "color",
        symmetric => "symmetric",
        thickness => "thickness",
        width => "width",
    }
}

impl Trace {
    /// Points, joined by lines or not.
    pub(super) fn scatter<X: Serialize, Y: Serialize>(x: Vec<X>, y: Vec<Y>) -> Trace {
        Trace::of(json!({ "type": "scatter", "x": x, "y": y }))
    }

    /// Bars from zero.
    pub(super) fn bar<X: Serialize, Y: Serialize>(x: Vec<X>, y: Vec<Y>) -> Trace {
        Trace::of(json!({ "type": "bar", "x": x, "y": y }))
    }

    /// A grid of tones: `z` has a row for each of `y`.
    pub(super) fn heat_map(x: impl Serialize, y: impl Serialize, z: impl Serialize) -> Trace {
        Trace::of(json!({ "type": "heatmap", "x": x, "y": y, "z": z }))
    }

    /// The trace as JSON; NaN has become null, a gap.
    pub(super) fn json(self) -> Value {
        Value::Object(self.0)
    }

    fn of(value: Value) -> Trace {
        match value {
            Value::Object(fields) => Trace(fields),
            _ => Trace::default(),
        }
    }
}

impl Line {
    /// A line of plotly's own style.
    pub(super) fn new() -> Line {
        Line::default()
    }
}

impl Marker {
    /// A mark of plotly's own style.
    pub(super) fn new() -> Marker {
        Marker::default()
    }

    /// Hatches the bar; `""` fills it.
    pub(super) fn hatched(self, pattern: PatternShape) -> Marker {
        self.pattern(json!({ "shape": pattern }))
    }
}

impl ErrorBars {
    /// Error bars whose lengths are data.
    pub(super) fn new() -> ErrorBars {
        ErrorBars(Map::from_iter([("type".to_owned(), json!("data"))]))
    }
}

/// What is drawn of a scatter trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Mode {
    #[serde(rename = "lines")]
    Lines,
    #[serde(rename = "markers")]
    Markers,
    #[serde(rename = "lines+markers")]
    LinesMarkers,
}

/// The dashes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DashType {
    Solid,
    Dot,
    Dash,
    DashDot,
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MarkerSymbol {
    Circle,
    Square,
    Diamond,
    Cross,
    Star,
    TriangleUp,
    X,
    LineEwOpen,
}

/// The hatching of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum PatternShape {
    #[serde(rename = "")]
    None,
    #[serde(rename = "/")]
    RightDiagonalLine,
    #[serde(rename = "+")]
    Cross,
    #[serde(rename = ".")]
    Dot,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attributes and values of plotly.js's reference, written by hand.
    #[test]
    fn attributes_are_those_of_the_reference() {
        let line = Line::new().color("red").width(2.0).dash(DashType::DashDot);
        let marker = Marker::new().symbol(MarkerSymbol::LineEwOpen).hatched(PatternShape::Dot);
        let trace = Trace::scatter(vec![1.0, f64::NAN], vec![Some(1), None])
            .mode(Mode::LinesMarkers)
            .line(line)
            .marker(marker)
            .error_y(ErrorBars::new().array([0.5]).array_minus([0.25]).symmetric(false));
        let expected = json!({
            "type": "scatter", "x": [1.0, null], "y": [1, null], "mode": "lines+markers",
            "line": { "color": "red", "width": 2.0, "dash": "dashdot" },
            "marker": { "symbol": "line-ew-open", "pattern": { "shape": "." } },
            "error_y": { "type": "data", "array": [0.5], "arrayminus": [0.25], "symmetric": false },
        });
        assert_eq!(trace.json(), expected);
    }
}
