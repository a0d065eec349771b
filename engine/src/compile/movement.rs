//! How pieces move: from the text of a file to the tables of slides.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;
use wide::u64x4;

use super::Issues;
use crate::betza::{self, Slide};
use crate::bitboard::BigBits;
use crate::geometry::{Board, Color, DIRECTIONS, MAX_SIDE, Square};
use crate::lanes::{COMPASS, LANES, Team};
use crate::spec::MovesSpec;
use crate::variant::{Line, Powers, Rays, Rider};

/// A piece's moves after reading.
#[derive(Default)]
pub(super) struct Movement {
    slides: Vec<Slide>,
    lion: bool,
    over: [u8; 8],
    lines: [u8; 8],
    hooks: [bool; 8],
}

impl Movement {
    pub(super) fn read(spec: &Spanned<MovesSpec>, issues: &mut Issues<'_>) -> Movement {
        let (spec, span) = (spec.get_ref(), spec.span());
        let mut slides_of = |text: &str, what: &str| {
            betza::parse(text).unwrap_or_else(|(at, message)| {
                // The text stands literally inside the table, so its place can be found again.
                let start = issues.text[span.clone()]
                    .find(&format!("\"{text}\""))
                    .map_or(span.start, |i| span.start + i + 1 + at);
                issues.at(start..start, format!("{what} `{text}`, character {}: {message}", at + 1));
                Vec::new()
            })
        };
        let mut movement = Movement { slides: slides_of(&spec.betza, "betza"), lion: spec.lion, ..Movement::default() };
        let hooks = slides_of(&spec.hook, "hook");
        let line_directions =
            spec.line_lion.as_ref().map_or_else(Vec::new, |line| slides_of(&line.directions, "directions"));
        let over_directions =
            spec.range_over.as_ref().map_or_else(Vec::new, |over| slides_of(&over.directions, "directions"));
        let index = |slide: &Slide| DIRECTIONS.iter().position(|&d| d == (slide.right, slide.forward));
        for slide in &hooks {
            match index(slide) {
                Some(direction) if slide.range == 1 => movement.hooks[direction] = true,
                _ => issues.at(span.clone(), format!("hook `{}`: expected single steps such as `W` or `F`", spec.hook)),
            }
        }
        if let Some(line) = &spec.line_lion {
            if !(2..=3).contains(&line.steps) {
                issues.at(span.clone(), format!("line_lion of {} steps; expected 2 or 3", line.steps));
            }
            for slide in &line_directions {
                match index(slide) {
                    Some(direction) if slide.range == 1 => movement.lines[direction] = line.steps,
                    _ => issues.at(span.clone(), format!("directions `{}`: expected single steps", line.directions)),
                }
            }
        }
        if let Some(over) = &spec.range_over {
            if !(1..=MAX_SIDE as u8).contains(&over.pieces) {
                issues.at(span.clone(), format!("range_over {} pieces; expected 1 to {MAX_SIDE}", over.pieces));
            }
            for slide in &over_directions {
                match index(slide) {
                    Some(direction) if slide.range == 1 => movement.over[direction] = over.pieces,
                    _ => issues.at(span.clone(), format!("directions `{}`: expected single steps", over.directions)),
                }
            }
        }
        if movement.slides.is_empty() && !movement.is_special() {
            let expected = "expected `betza`, `lion`, `line_lion`, `range_over` or `hook`";
            issues.at(span, format!("the piece has no move: {expected}"));
        }
        movement
    }

    /// Whether the piece has a power beyond slides and jumps.
    fn is_special(&self) -> bool {
        self.lion || self.over != [0; 8] || self.lines != [0; 8] || self.hooks != [false; 8]
    }

    pub(super) fn powers(&self, board: Board, teams: &[Team]) -> Powers {
        let special = self.is_special();
        let mut powers = Powers {
            lion: self.lion,
            over: self.over,
            lines: self.lines,
            hooks: self.hooks,
            hook_ranges: lanes(|d| if self.hooks[d] { betza::UNLIMITED } else { 0 }),
            special,
            ..Powers::default()
        };
        for slide in &self.slides {
            let offset = (slide.right, slide.forward);
            if special {
                match DIRECTIONS.iter().position(|&d| d == offset) {
                    Some(direction) => powers.slides[direction] = slide.range,
                    None => powers.jumps.push(rider(board, *slide)),
                }
                continue;
            }
            let lane = |team: &Team| {
                team.riders().iter().position(|rider| rider.offset == offset && rider.range == slide.range)
            };
            let number = teams.iter().enumerate().find_map(|(t, team)| Some(t * LANES + lane(team)?));
            powers.riders.push(number.expect("all slides have riders") as u8);
        }
        powers.slide_ranges = lanes(|d| powers.slides[d]);
        if !special {
            powers.rays = rays(board, &self.slides);
        }
        powers
    }

    /// Whether the piece has any move from here on an empty board.
    pub(super) fn can_leave(&self, board: Board, square: Square, color: Color) -> bool {
        let on_board = |right: i8, forward: i8| board.step(square, color, right as i32, forward as i32).is_some();
        self.lion
            || self.slides.iter().any(|slide| on_board(slide.right, slide.forward))
            || DIRECTIONS.iter().enumerate().any(|(d, &(right, forward))| {
                (self.lines[d] > 0 || self.over[d] > 0 || self.hooks[d]) && on_board(right, forward)
            })
    }
}

/// The riders that the slides of ordinary pieces need. Those of a team step as often as the longest, so riders of like
/// range are put together.
pub(super) fn teams(board: Board, movements: &[&Movement]) -> Vec<Team> {
    let ordinary = movements.iter().filter(|movement| !movement.is_special());
    let slides = ordinary.flat_map(|movement| &movement.slides);
    let different: BTreeSet<_> = slides.map(|slide| (slide.range, slide.right, slide.forward)).collect();
    let riders = different.into_iter().map(|(range, right, forward)| rider(board, Slide { right, forward, range }));
    let (up, down): (Vec<_>, Vec<_>) = riders.partition(|rider| rider.shift[0] > 0);
    up.chunks(LANES).chain(down.chunks(LANES)).map(|riders| Team::new(riders.to_vec())).collect()
}

/// A number for each direction as the lanes of the teams of `Variant::compass` have them.
fn lanes(of: impl Fn(usize) -> u8) -> [u64x4; 2] {
    COMPASS.map(|directions| u64x4::new(directions.map(|d| of(d) as u64)))
}

fn rays(board: Board, slides: &[Slide]) -> Rays {
    let room = |color: Color, square: Square, slide: &Slide| {
        let step = |k: &i32| board.step(square, color, slide.right as i32 * k, slide.forward as i32 * k);
        (1..=slide.range as i32).take_while(|k| step(k).is_some()).count() as u8
    };
    let squares = || (0..board.squares()).map(Square::new);
    let rooms =
        |color| squares().flat_map(|square| slides.iter().map(move |slide| room(color, square, slide))).collect();
    Rays {
        shifts: Color::ALL
            .map(|color| slides.iter().map(|&slide| rider(board, slide).shift[color.index()] as i16).collect()),
        rooms: Color::ALL.map(rooms),
    }
}

pub(super) fn rider(board: Board, slide: Slide) -> Rider {
    let offset = (slide.right, slide.forward);
    let squares = || (0..board.squares()).map(Square::new);
    let step = |square, color| board.step(square, color, offset.0 as i32, offset.1 as i32);
    let black_shift = offset.0 as i32 - offset.1 as i32 * board.files as i32;
    Rider {
        offset,
        range: slide.range,
        shift: [black_shift, -black_shift],
        source: Color::ALL
            .map(|color| BigBits::from_squares(squares().filter(|&square| step(square, color).is_some()))),
    }
}

/// All offsets of slides with each kind's range along them.
pub(super) fn lines(board: Board, movements: &[&Movement]) -> Vec<Line> {
    let mut ranges: BTreeMap<(i8, i8), Vec<u8>> = BTreeMap::new();
    for (kind, movement) in movements.iter().enumerate() {
        for slide in &movement.slides {
            ranges.entry((slide.right, slide.forward)).or_insert_with(|| vec![0; movements.len()])[kind] = slide.range;
        }
    }
    ranges
        .into_iter()
        .map(|((right, forward), range)| {
            let longest = range.iter().copied().max().unwrap_or(0);
            let room = |color: Color| {
                let steps = |square: usize| {
                    let back = |k: u8| {
                        board.step(Square::new(square), color, -(right as i32) * k as i32, -(forward as i32) * k as i32)
                    };
                    (1..=longest).take_while(|&k| back(k).is_some()).count() as u8
                };
                (0..board.squares()).map(steps).collect()
            };
            let shift = right as i32 - forward as i32 * board.files as i32;
            Line { shift: [shift, -shift], room: Color::ALL.map(room), range }
        })
        .collect()
}
