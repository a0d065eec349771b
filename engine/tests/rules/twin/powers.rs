//! What the twin's kinds of piece can do, read from the tables of moves.

use serde_json::Value;
use std::collections::BTreeMap;

/// A displacement as the owner sees it: to the right, forward.
pub(crate) type Step = (i32, i32);

/// One power of a kind of piece.
#[derive(Clone, Debug)]
pub(crate) enum Power {
    /// Up to `most` squares in a line, not over anything.
    Slide { dir: Step, most: i32 },
    /// Straight to one square, whatever is between.
    Jump(Step),
    /// A slide with one optional right-angled turn.
    Hook(Step),
    /// Two king steps, or a jump to where two steps could lead.
    Lion { first: Vec<Step>, second: Vec<Step>, jumps: Vec<Step> },
    /// Up to `steps` steps on one line, capturing on any of them.
    LineLion { dir: Step, steps: i32 },
    /// A slide that may pass over up to `over` pieces.
    RangeOver { dir: Step, over: i32 },
}

/// Both shapes of the moves tables: `kinds.ID.powers` and `pieces.ID.moves`.
pub(crate) fn read_powers(moves: &Value) -> BTreeMap<String, Vec<Power>> {
    let (rows, key) =
        if moves["pieces"].is_object() { (&moves["pieces"], "moves") } else { (&moves["kinds"], "powers") };
    rows.as_object().expect("an object of pieces").iter().map(|(id, row)| (id.clone(), read_list(&row[key]))).collect()
}

pub(crate) fn read_list(list: &Value) -> Vec<Power> {
    list.as_array().expect("a list of powers").iter().map(read_power).collect()
}

fn step(value: &Value) -> Step {
    let part = |n: usize| {
        value[n].as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or_else(|| panic!("not a direction: {value}"))
    };
    (part(0), part(1))
}

fn steps(value: &Value) -> Vec<Step> {
    value.as_array().expect("a list of directions").iter().map(step).collect()
}

const AROUND: [Step; 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

fn read_power(row: &Value) -> Power {
    let int = |key: &str| row[key].as_i64().and_then(|n| i32::try_from(n).ok());
    let dir = || step(&row["dir"]);
    match row["kind"].as_str().expect("a kind of power") {
        "step" => Power::Slide { dir: dir(), most: 1 },
        "limited" => Power::Slide { dir: dir(), most: int("n").expect("a limit") },
        "range" => Power::Slide { dir: dir(), most: i32::MAX },
        "jump" => {
            // One table gives the whole displacement, the other a direction and a distance.
            let (x, y) = dir();
            let times = int("dist").unwrap_or(1);
            Power::Jump((x * times, y * times))
        }
        "hook" => Power::Hook(dir()),
        "range_over" => Power::RangeOver { dir: dir(), over: int("max_over").expect("a number of pieces") },
        "linear_lion" => Power::LineLion { dir: dir(), steps: int("n").or(int("limit")).expect("a number of steps") },
        "lion" if row["jumps"].is_array() => Power::Lion {
            first: steps(&row["first_step_dirs"]),
            second: steps(&row["second_step_dirs"]),
            jumps: steps(&row["jumps"]),
        },
        "lion" => {
            let radius = int("radius").expect("a radius");
            let square = (-radius..=radius).flat_map(|x| (-radius..=radius).map(move |y| (x, y)));
            Power::Lion {
                first: AROUND.to_vec(),
                second: AROUND.to_vec(),
                jumps: square.filter(|&s| s != (0, 0)).collect(),
            }
        }
        other => panic!("unknown power {other}"),
    }
}
