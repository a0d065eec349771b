//! Printing results: JSON documents, and tables that hold kanji.

use serde_json::Value;

/// Prints one JSON document.
pub(crate) fn json(value: &Value) {
    println!("{}", serde_json::to_string_pretty(value).expect("a JSON value prints"));
}

/// Columns a text takes on a terminal: two for each character of East Asian width.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| if c as u32 >= 0x1100 { 2 } else { 1 }).sum()
}

/// The text with spaces after it up to `columns` columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// A table whose columns are as wide as their widest cell.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..header.len())
        .map(|i| rows.iter().map(|row| width(&row[i])).chain([width(header[i])]).max().unwrap_or(0))
        .collect();
    let line = |cells: Vec<&str>| {
        let padded: Vec<_> = cells.iter().zip(&widths).map(|(cell, &columns)| pad(cell, columns)).collect();
        padded.join("  ").trim_end().to_string()
    };
    let mut lines = vec![line(header.to_vec())];
    lines.extend(rows.iter().map(|row| line(row.iter().map(String::as_str).collect())));
    lines.join("\n")
}

/// Rows whose cells end below one another.
pub(crate) fn right_aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns).map(|i| rows.iter().map(|row| width(&row[i])).max().unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let padded: Vec<_> = cells.map(|(cell, &columns)| " ".repeat(columns - width(cell)) + cell).collect();
        padded.join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
