//! Numbers as people read them.

use selfplay::data::Share;

use crate::interval::Interval;

/// `12,345`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 game`, `12,345 games`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Three digits, without decimals from 100 on.
pub(super) fn significant(number: f64) -> String {
    let decimals = match number.abs() {
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{number:.decimals$}");
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    minus(if is_zero { text.trim_start_matches('-').to_owned() } else { text })
}

/// A difference of ratings: `+310`, `−12`, `0`.
pub(super) fn elo(number: f64) -> String {
    let rounded = number.round();
    if rounded == 0.0 { "0".to_owned() } else { minus(format!("{rounded:+.0}")) }
}

/// A share in per cent: one decimal, none for 100.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    text.strip_suffix(".0").filter(|whole| matches!(*whole, "0" | "100")).unwrap_or(&text).to_owned()
}

/// `98.5 % (96.1 to 99.6)`.
pub(super) fn share(share: &Share) -> String {
    format!("{}\u{a0}% ({} to {})", percent(share.value), percent(share.low), percent(share.high))
}

/// `98.5 % (96.1 to 99.6)`.
pub(super) fn percent_interval(interval: &Interval) -> String {
    format!("{}\u{a0}% ({} to {})", percent(interval.value), percent(interval.low), percent(interval.high))
}

/// `+310 (+250 to +370)`.
pub(super) fn elo_interval(interval: &Interval) -> String {
    format!("{} ({} to {})", elo(interval.value), elo(interval.low), elo(interval.high))
}

/// `a to b`.
pub(super) fn range(low: f64, high: f64) -> String {
    format!("{} to {}", significant(low), significant(high))
}

/// `41 s`, `12 min`, `3.2 h`.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 600.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Rate of `number` in `seconds`.
pub(super) fn rate(number: u64, seconds: f64) -> String {
    if seconds > 0.0 { count((number as f64 / seconds).round() as u64) } else { "–".to_owned() }
}

/// A name from a file in words: `royal_captured` is `royal captured`.
pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// A network's identity in words: `net:000003` is `network 3`, `uniform` a judge that knows nothing.
pub(super) fn player(id: &str) -> String {
    match id.strip_prefix("net:").map(str::parse::<u32>) {
        Some(Ok(number)) => format!("network {number}"),
        _ if id == "uniform" => "no network".to_owned(),
        _ => id.to_owned(),
    }
}

/// The sign as typeset.
fn minus(number: String) -> String {
    number.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        let cases = [
            (count(0), "0"),
            (count(999), "999"),
            (count(1_234_567), "1,234,567"),
            (counted(1, "game"), "1 game"),
            (counted(2000, "game"), "2,000 games"),
            (significant(0.5), "0.50"),
            (significant(9.999), "10.0"),
            (significant(123.4), "123"),
            (significant(-1.0), "−1.00"),
            (significant(-0.001), "0.00"),
            (elo(-0.2), "0"),
            (elo(310.4), "+310"),
            (elo(-31.0), "−31"),
            (percent(1.0), "100"),
            (percent(0.9), "90.0"),
            (percent(0.0), "0"),
            (percent(0.1234), "12.3"),
            (duration(1.25), "1.2 s"),
            (duration(700.0), "12 min"),
            (duration(7200.0), "2.0 h"),
            (words("royal_captured"), "royal captured"),
            (player("net:000012"), "network 12"),
            (player("uniform"), "no network"),
            (player("net:x"), "net:x"),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }
}
