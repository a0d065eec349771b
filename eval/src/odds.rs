//! What a piece is worth by matches with odds: the player against itself, one side a piece short.
//!
//! The value is the logit of the score, v = ln(s / (1 - s)), from the side that has the piece; its standard error is that
//! of the score over pairs by the delta method, se(s) / (s (1 - s)). Odds of A against B measure v_A - v_B. All matches
//! together give the values by least squares, see [`crate::differences`].

use engine::{PieceKind, Variant};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::compare::{Compared, Comparison, compare};
use crate::differences::{Joint, Measurement, Misfit};
use crate::interval::{Agreement, Interval, MIN_PIECES, percentile_interval};
use crate::match_stats::Results;
use crate::matches::MatchResult;
use crate::measure::Measured;
use crate::normal::Z95;
use crate::rank_stats::{log_fit, log_slope};
use crate::reference::ReferenceTable;
use crate::starts::Odds;
use crate::values::{Method, Unit, ValuesConfig};

/// Logits of the score in an Elo.
const LOGITS_PER_ELO: f64 = std::f64::consts::LN_10 / 400.0;

/// How the matches were played, for redoing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OddsSettings {
    /// The player on both sides.
    pub player: String,
    /// Simulations a move of a network that does not say otherwise.
    pub simulations: u32,
    /// Random plies of an opening at most.
    pub opening_plies: u32,
    /// Plies after which a game counts as a draw; 0 for never.
    pub max_plies: usize,
    /// Games asked for in each match.
    pub games: usize,
    /// Where openings and chance come from.
    pub seed: u64,
}

/// A match with odds, from the side that gives nothing. `None` is what the games do not determine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OddsMatch {
    /// The odds as written.
    pub name: String,
    /// Id of the piece that is given.
    pub piece: String,
    /// Id of the piece that comes into its place.
    pub against: Option<String>,
    /// Logit of the score.
    pub logit: Option<f64>,
    /// Its standard error; with one lost and one won pair added where the interval has them (see `match_stats::Summary`).
    pub logit_error: Option<f64>,
    /// Lower end of its 95 % interval, likewise; that of `elo_low`.
    pub logit_low: Option<f64>,
    /// Upper end.
    pub logit_high: Option<f64>,
    /// The match.
    #[serde(flatten)]
    pub result: MatchResult,
}

impl OddsMatch {
    /// What a match says.
    pub fn new(variant: &Variant, odds: &Odds, result: MatchResult) -> Self {
        let id = |kind: PieceKind| variant.kind(kind).id.clone();
        let logit = |elo: Option<f64>| elo.filter(|_| result.games > 0).map(|elo| elo * LOGITS_PER_ELO);
        OddsMatch {
            name: odds.name().to_owned(),
            piece: id(odds.piece()),
            against: odds.against().map(id),
            logit: logit(result.elo),
            logit_error: result.pentanomial.logit_error(),
            logit_low: logit(result.elo_low),
            logit_high: logit(result.elo_high),
            result,
        }
    }

    /// Logit and its error, if the match has both.
    fn found(&self) -> Option<(f64, f64)> {
        self.logit.zip(self.logit_error)
    }

    fn involves(&self, id: &str) -> bool {
        self.piece == id || self.against.as_deref() == Some(id)
    }
}

/// A piece's value from all matches together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OddsPiece {
    /// Id of its kind.
    pub id: String,
    /// English name.
    pub name: String,
    /// Japanese name.
    pub kanji: String,
    /// One or two Japanese characters.
    pub symbol: String,
    /// The value; `None` unless identified.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval; in points of the reference that of the common factor is in it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Standard error of the log of the value; `None` without a positive one.
    pub se_log: Option<f64>,
    /// Games of all matches in which it was given or stood in.
    pub games: u64,
    /// Score of the side that had it in the match without any replacement.
    pub score: Option<f64>,
    /// Whether the matches determine the value well enough to print it.
    pub identified: bool,
    /// What is missing for that, in words.
    pub missing: Vec<String>,
    /// The reference table's value; `None` where it has none or the piece promotes to a royal one.
    pub reference: Option<f64>,
    /// Whether it disagrees with the reference.
    pub comparison: Option<Comparison>,
    /// Its value by outcomes, in that result's own unit.
    pub outcome: Option<f64>,
    /// Its value by exchanges, in that result's own unit.
    pub increment: Option<f64>,
}

/// How values by another method compare with these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The other method.
    pub method: Method,
    /// What its values count.
    pub unit: Unit,
    /// Pieces identified by both.
    pub pieces: usize,
    /// Logits of odds in one of its units: the geometric mean over these pieces.
    pub factor: Option<f64>,
    /// Deming slope of its log values on these; under 1 the other method compresses them. Both are resampled, the
    /// other one's pieces independently.
    pub log_slope: Option<Interval>,
}

impl Beside {
    /// The other method in words: `outcomes`, `exchanges`.
    pub fn by(&self) -> &'static str {
        match self.method {
            Method::Outcome => "outcomes",
            Method::Increment => "exchanges",
        }
    }

    /// One of its units in words: `point`, `logit`.
    pub fn unit_name(&self) -> &'static str {
        match self.unit {
            Unit::Reference => "point",
            Unit::Logit => "logit",
        }
    }
}

/// Values by odds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OddsValues {
    /// Name of the variant.
    pub variant: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// `odds`
    pub method: String,
    /// How the matches were played.
    pub settings: OddsSettings,
    /// Games that count.
    pub games: u64,
    /// The same: a game is one observation.
    pub rows: u64,
    /// Name of the reference table, if there was one.
    pub reference_table: Option<String>,
    /// Its title.
    pub reference_title: Option<String>,
    /// Set if it assumes the moves of another ruleset.
    pub warning: Option<String>,
    /// What `value` counts.
    pub unit: Unit,
    /// Logits per unit of `value`.
    pub scale: f64,
    /// Pieces in the order in which the matches name them.
    pub pieces: Vec<OddsPiece>,
    /// The matches.
    pub matches: Vec<OddsMatch>,
    /// Whether odds of single pieces and against each other fit together, if there are more matches than pieces.
    pub misfit: Option<Misfit>,
    /// Agreement with the reference over identified pieces; resamples are drawn from the normal distribution of the values.
    pub agreement: Agreement,
    /// Values of the run by other methods.
    pub beside: Vec<Beside>,
}

impl OddsValues {
    /// Values from matches; `others` are what the run has by other methods.
    pub fn of(
        variant: &Variant,
        settings: OddsSettings,
        matches: Vec<OddsMatch>,
        reference: Option<&ReferenceTable>,
        others: &[Measured],
        config: &ValuesConfig,
    ) -> OddsValues {
        let estimates = Estimates::of(&matches, config, settings.seed);
        let pieces: Vec<OddsPiece> = (0..estimates.ids.len())
            .map(|i| estimates.piece(i, variant, &matches, reference, others, config))
            .collect();
        let mut values = OddsValues {
            variant: variant.name().to_owned(),
            ruleset: variant.ruleset().to_owned(),
            method: "odds".to_owned(),
            games: matches.iter().map(|m| m.result.games).sum(),
            rows: matches.iter().map(|m| m.result.games).sum(),
            reference_table: reference.map(|table| table.id.clone()),
            reference_title: reference.map(|table| table.title.clone()),
            warning: reference.and_then(|table| table.other_moves(variant)),
            unit: Unit::Logit,
            scale: 1.0,
            misfit: estimates.joint.misfit,
            agreement: Agreement::of(&[], &[], &[]),
            beside: others.iter().map(|other| estimates.beside(&pieces, other)).collect(),
            settings,
            matches,
            pieces,
        };
        estimates.publish(&mut values, reference.map_or(0.0, |table| table.rounding));
        values
    }
}

/// The joint estimate in logits.
struct Estimates {
    ids: Vec<String>,
    joint: Joint,
    /// Draws from its distribution, each of all pieces, with a floor so that identified ones have a log.
    draws: Vec<Vec<f64>>,
    normal: Normal,
}

impl Estimates {
    fn of(matches: &[OddsMatch], config: &ValuesConfig, seed: u64) -> Self {
        let mut ids: Vec<String> = Vec::new();
        for id in matches.iter().flat_map(|m| std::iter::once(&m.piece).chain(&m.against)) {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        let at = |id: &String| ids.iter().position(|other| other == id).expect("every id is listed");
        let measurement = |m: &OddsMatch| {
            let (found, error) = m.found()?;
            Some(Measurement { of: at(&m.piece), against: m.against.as_ref().map(at), found, error })
        };
        let measurements: Vec<Measurement> = matches.iter().filter_map(measurement).collect();
        let joint = Joint::of(ids.len(), &measurements);
        let mut normal = Normal { rng: Xoshiro256PlusPlus::seed_from_u64(seed), spare: None };
        let floor = |draw: Vec<f64>| -> Vec<f64> {
            let floored = draw.into_iter().zip(&joint.values);
            floored.map(|(drawn, value)| value.map_or(drawn, |value| drawn.max(0.02 * value))).collect()
        };
        let draws = (0..config.replicates).map(|_| floor(joint.draw(|| normal.next()))).collect();
        Estimates { ids, joint, draws, normal }
    }

    fn error(&self, piece: usize) -> Option<f64> {
        self.joint.covariance(piece, piece).map(f64::sqrt)
    }

    /// A piece without its value, which needs the others.
    fn piece(
        &self,
        index: usize,
        variant: &Variant,
        matches: &[OddsMatch],
        reference: Option<&ReferenceTable>,
        others: &[Measured],
        config: &ValuesConfig,
    ) -> OddsPiece {
        let id = &self.ids[index];
        let kind =
            variant.kind_by_id(id).map(|kind| variant.kind(kind)).expect("a match is about kinds of the variant");
        let involved = || matches.iter().filter(|m| m.involves(id));
        let value = self.joint.values[index].filter(|&value| value > 0.0);
        let se_log = value.zip(self.error(index)).map(|(value, error)| error / value);
        let games = involved().filter(|m| m.found().is_some()).map(|m| m.result.games).sum();
        let missing = self.missing(index, matches, games, se_log, config);
        let promotes_to_royal = kind.promotes_to.is_some_and(|promoted| variant.kind(promoted).royal);
        let reference = reference.filter(|_| !promotes_to_royal);
        let by = |method: Method| {
            let other = others.iter().find(|other| other.values.method == method)?;
            other.values.pieces.iter().find(|piece| piece.id == *id)?.value
        };
        OddsPiece {
            name: kind.name.clone(),
            kanji: kind.kanji.clone(),
            symbol: kind.symbol.clone(),
            value: None,
            low: None,
            high: None,
            se_log,
            games: involved().map(|m| m.result.games).sum(),
            score: involved().find(|m| m.against.is_none()).map(|m| m.result.score),
            identified: missing.is_empty(),
            missing,
            reference: reference.and_then(|table| {
                // By the chance of promoting that another method's games showed.
                let chance = |id: &str| {
                    let promotions = others.iter().find(|other| !other.promotions.is_empty());
                    promotions?.promotions.iter().find(|promotion| promotion.id == id)?.share.map(|share| share.value)
                };
                table.by_kind(std::iter::once((id.as_str(), kind.moves_as.as_str())), chance).value(id)
            }),
            comparison: None,
            outcome: by(Method::Outcome),
            increment: by(Method::Increment),
            id: id.clone(),
        }
    }

    /// What keeps a piece from being identified; `games` are those of matches with a finite logit.
    fn missing(
        &self,
        index: usize,
        matches: &[OddsMatch],
        games: u64,
        se_log: Option<f64>,
        config: &ValuesConfig,
    ) -> Vec<String> {
        let id = &self.ids[index];
        if self.joint.values[index].is_none() {
            let plain = matches.iter().find(|m| m.piece == *id && m.against.is_none() && m.result.games > 0);
            return vec![match plain {
                None => format!("only compared with other pieces; `{id}` itself would tell its value"),
                Some(m) if m.result.score > 0.5 => {
                    let least = m.logit_low.map_or(String::new(), |low| format!(", at least {low:.2} logits"));
                    let other = self.dearest_but(index).unwrap_or("B");
                    format!("all {} games won{least}; `{id}:{other}` would measure the difference", m.result.games)
                }
                Some(m) => format!("all {} games lost", m.result.games),
            }];
        }
        let mut missing = Vec::new();
        if games < config.min_games {
            missing.push(format!("{games} of {} games", config.min_games));
        }
        match se_log {
            None => missing.push("no positive value".to_owned()),
            Some(error) if error >= config.max_log_error => {
                // An error shrinks with the root of the number of games.
                let enough = (games as f64 * (error / config.max_log_error).powi(2)).max(config.min_games as f64);
                missing.push(format!(
                    "error of the logarithm {error:.2}, not below {:.2}; {:.0} games would do, should the value stay",
                    config.max_log_error,
                    (enough / 100.0).ceil() * 100.0
                ));
            }
            Some(_) => {}
        }
        missing
    }

    /// The piece with the largest value that is known, other than one.
    fn dearest_but(&self, index: usize) -> Option<&str> {
        let values = self.joint.values.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?)));
        let best = values.filter(|&(i, _)| i != index).max_by(|a, b| a.1.total_cmp(&b.1));
        best.map(|(i, _)| self.ids[i].as_str())
    }

    /// Sets values, comparisons and agreement, in points of the reference if enough pieces are in it.
    fn publish(&self, values: &mut OddsValues, step: f64) {
        let logits: Vec<f64> = self.joint.values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        let compared: Vec<(usize, f64)> = values
            .pieces
            .iter()
            .enumerate()
            .filter_map(|(i, piece)| Some((i, piece.reference.filter(|_| piece.identified)?)))
            .collect();
        let reference: Vec<f64> = compared.iter().map(|&(_, reference)| reference).collect();
        let of_compared = |all: &[f64]| -> Vec<f64> { compared.iter().map(|&(i, _)| all[i]).collect() };
        let factor = |all: &[f64]| log_fit(&reference, &of_compared(all)).map_or(1.0, |fit| fit.scale);
        let in_points = compared.len() >= MIN_PIECES;
        let (scale, scales) = match in_points {
            true => (factor(&logits), self.draws.iter().map(|draw| factor(draw)).collect()),
            false => (1.0, vec![1.0; self.draws.len()]),
        };
        values.unit = if in_points { Unit::Reference } else { Unit::Logit };
        values.scale = scale;
        let draws_of = |i: usize| self.draws.iter().zip(&scales).map(move |(draw, scale)| draw[i] / scale);
        for (i, piece) in values.pieces.iter_mut().enumerate().filter(|(_, piece)| piece.identified) {
            piece.value = Some(logits[i] / scale);
            let (low, high) = match in_points {
                true => percentile_interval(logits[i], draws_of(i).map(Some)).map(|x| (x.low, x.high)).unzip(),
                false => self.interval(i, &values.matches),
            };
            (piece.low, piece.high) = (low, high);
        }
        let draws: Vec<Vec<f64>> = self.draws.iter().map(|draw| of_compared(draw)).collect();
        values.agreement = Agreement::of(&reference, &of_compared(&logits), &draws);
        if in_points {
            let se_scale = deviation(&scales.iter().map(|scale| scale.ln()).collect::<Vec<_>>());
            let of = |&(i, reference): &(usize, f64)| Compared {
                value: logits[i] / scale,
                reference,
                se_log: values.pieces[i].se_log.unwrap_or(0.0),
                draws: draws_of(i).collect(),
            };
            let comparisons = compare(&compared.iter().map(of).collect::<Vec<_>>(), step, se_scale);
            for (&(i, _), comparison) in compared.iter().zip(comparisons) {
                values.pieces[i].comparison = Some(comparison);
            }
        }
    }

    /// The 95 % interval in logits: that of its match if there is one match about it, else by the joint error.
    fn interval(&self, index: usize, matches: &[OddsMatch]) -> (Option<f64>, Option<f64>) {
        let mut about = matches.iter().filter(|m| m.involves(&self.ids[index]));
        match (about.next(), about.next()) {
            (Some(only), None) if only.against.is_none() => (only.logit_low, only.logit_high),
            _ => self.joint.values[index]
                .zip(self.error(index))
                .map(|(value, error)| (value - Z95 * error, value + Z95 * error))
                .unzip(),
        }
    }

    /// Another method's values beside these.
    fn beside(&self, pieces: &[OddsPiece], other: &Measured) -> Beside {
        let theirs = |id: &str| other.values.pieces.iter().find(|piece| piece.id == id);
        let both: Vec<(usize, f64, f64)> = pieces
            .iter()
            .enumerate()
            .filter(|(_, piece)| piece.identified)
            .filter_map(|(i, piece)| theirs(&piece.id).and_then(|p| Some((i, p.value?, p.se_log?))))
            .collect();
        let odds = |all: &dyn Fn(usize) -> f64| -> Vec<f64> { both.iter().map(|&(i, ..)| all(i)).collect() };
        let known = odds(&|i| self.joint.values[i].unwrap_or(f64::NAN));
        let values: Vec<f64> = both.iter().map(|&(_, value, _)| value).collect();
        let mut normal = self.normal.clone();
        let slope_of_draw = |draw: &Vec<f64>| {
            let noisy: Vec<f64> = both.iter().map(|(_, value, se)| value * (se * normal.next()).exp()).collect();
            log_slope(&odds(&|i| draw[i]), &noisy)
        };
        let ratios: f64 = known.iter().zip(&values).map(|(odds, value)| (odds / value).ln()).sum();
        Beside {
            method: other.values.method,
            unit: other.values.unit,
            pieces: both.len(),
            factor: (!both.is_empty()).then(|| (ratios / both.len() as f64).exp()),
            log_slope: log_slope(&known, &values)
                .filter(|_| both.len() >= MIN_PIECES)
                .and_then(|slope| percentile_interval(slope, self.draws.iter().map(slope_of_draw))),
        }
    }
}

/// Standard deviation, n - 1 in the denominator.
fn deviation(numbers: &[f64]) -> f64 {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    (numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (numbers.len() as f64 - 1.0)).sqrt()
}

/// Standard normal numbers, two at a time (Box and Muller 1958).
#[derive(Clone)]
struct Normal {
    rng: Xoshiro256PlusPlus,
    spare: Option<f64>,
}

impl Normal {
    fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.rng.random::<f64>()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.rng.random::<f64>()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }
}
