//! Where a generation's games go: finished games one by one into parts, complete shards in their place.
//!
//! A shard is the pair `games/gen-GGGGGG/FIRST-LAST.parquet` and `positions/gen-GGGGGG/FIRST-LAST.parquet`, named after its
//! first and last game; the games file is written last, so a shard is complete when it is there. While a shard
//! waits for its games, each finished one lies in `parts/` beside it, so that killing the program loses no finished game.
//!
//! The checksums of both files are listed after that; lines of files that will be replaced are removed when a generation is
//! opened: whenever the program is killed, each line is that of the file that is there. [`Store::open`] completes the list.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::data::{
    Checksum, Checksums, DataError, GameRow, PositionRow, Row, ShardKind, ShardMeta, ShardReader, ShardWriter,
    read_shard,
};
use crate::worker::game::GameRecord;

/// The folder of a generation's shards in a run.
pub fn generation_folder(run: &Path, kind: ShardKind, generation: u32) -> PathBuf {
    run.join(kind.as_str()).join(format!("gen-{generation:06}"))
}

/// The first and last game of a shard, by its file name.
pub(crate) fn games_of_shard(path: &Path) -> Option<RangeInclusive<u64>> {
    let (first, last) = path.file_stem()?.to_str()?.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    let games = first..=last;
    (first <= last && path.file_name()?.to_str()? == shard_name(&games)).then_some(games)
}

/// The name of the two files of a shard of these games.
fn shard_name(games: &RangeInclusive<u64>) -> String {
    format!("{:06}-{:06}.parquet", games.start(), games.end())
}

/// The checksums listed in a folder, once every file that is listed and there has been found to be the one listed.
fn verified_checksums(folder: &Path) -> Result<Checksums, DataError> {
    let checksums = Checksums::read(folder)?;
    let names: Vec<&str> = checksums.names().collect();
    names.par_iter().try_for_each(|name| {
        let path = folder.join(name);
        if !path.exists() || Some(Checksum::of_file(&path)?) == checksums.get(name) {
            return Ok(());
        }
        let what =
            "damaged or changed: its SHA-256 differs from the one listed; remove it and resume to play its games again"
                .to_owned();
        Err(DataError::Schema { path, what })
    })?;
    Ok(checksums)
}

/// A shard that waits for games.
struct Pending {
    games: RangeInclusive<u64>,
    /// Finished games by number.
    records: BTreeMap<u64, GameRecord>,
}

impl Pending {
    fn missing(&self) -> u64 {
        self.games.end() - self.games.start() + 1 - self.records.len() as u64
    }
}

/// The games of a generation, on disk and in memory.
pub(super) struct Store {
    games_folder: PathBuf,
    positions_folder: PathBuf,
    meta: ShardMeta,
    /// What is listed in the two folders, games first.
    checksums: [Checksums; 2],
    /// In the order of their games.
    pending: Vec<Pending>,
}

impl Store {
    /// Looks at what is done of `games`, and plans shards for the rest: their borders lie at multiples of `per_shard` and
    /// at shards that are there.
    ///
    /// # Errors
    /// If a shard that is there belongs to other settings, another network or seed, or is not the one whose checksum is
    /// listed, or if the file system refuses.
    pub(super) fn open(
        run: &Path,
        meta: ShardMeta,
        games: std::ops::Range<u64>,
        per_shard: u64,
    ) -> Result<Store, DataError> {
        let games_folder = generation_folder(run, ShardKind::Games, meta.generation);
        let positions_folder = generation_folder(run, ShardKind::Positions, meta.generation);
        let checksums = [verified_checksums(&games_folder)?, verified_checksums(&positions_folder)?];
        let mut store = Store { games_folder, positions_folder, meta, checksums, pending: Vec::new() };
        let complete = store.complete_shards()?;
        store.list_exactly(&complete)?;
        let is_done = |game: u64| complete.iter().any(|shard| shard.contains(&game));
        let mut first = games.start;
        while first < games.end {
            if is_done(first) {
                first += 1;
                continue;
            }
            let border = (first / per_shard + 1) * per_shard;
            let mut last = first;
            while last + 1 < border.min(games.end) && !is_done(last + 1) {
                last += 1;
            }
            store.pending.push(Pending { games: first..=last, records: BTreeMap::new() });
            first = last + 1;
        }
        store.load_parts()?;
        Ok(store)
    }

    /// Which games the complete shards hold.
    fn complete_shards(&self) -> Result<Vec<RangeInclusive<u64>>, DataError> {
        let mut complete = Vec::new();
        let entries = match fs::read_dir(&self.games_folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(complete),
            Err(error) => return Err(DataError::Io { path: self.games_folder.clone(), source: error }),
        };
        for entry in entries {
            let path = entry.map_err(DataError::io(&self.games_folder))?.path();
            let Some(games) = games_of_shard(&path) else { continue };
            let positions = self.positions_folder.join(path.file_name().expect("its stem was read"));
            // A file that cannot be read is as good as none: its games are played again and it is replaced.
            let (Ok(game_file), Ok(position_file)) =
                (ShardReader::open::<GameRow>(&path), ShardReader::open::<PositionRow>(&positions))
            else {
                continue;
            };
            for (file, path) in [(&game_file, &path), (&position_file, &positions)] {
                self.expect_same_origin(file.meta(), path)?;
            }
            if game_file.rows() != games.end() - games.start() + 1 {
                continue;
            }
            // What vouches for a shard without a checksum, which is about to get one, is that all of it can be read.
            let name = shard_name(&games);
            let is_listed = self.checksums.iter().all(|checksums| checksums.get(&name).is_some());
            if is_listed || read_shard::<GameRow>(&path).is_ok() && read_shard::<PositionRow>(&positions).is_ok() {
                complete.push(games);
            }
        }
        Ok(complete)
    }

    /// Lists the checksums of these shards and no others: of one that was complete just before the program was killed, or
    /// is older than the list, it is taken now; the file of one that is gone or whose other half is gone will be replaced.
    fn list_exactly(&mut self, complete: &[RangeInclusive<u64>]) -> Result<(), DataError> {
        let names: BTreeSet<String> = complete.iter().map(shard_name).collect();
        for (folder, checksums) in [&self.games_folder, &self.positions_folder].into_iter().zip(&mut self.checksums) {
            if checksums.names().eq(names.iter().map(String::as_str)) {
                continue;
            }
            let take = |name: &String| {
                let listed = checksums.get(name).map_or_else(|| Checksum::of_file(&folder.join(name)), Ok);
                listed.map(|checksum| (name.clone(), checksum))
            };
            *checksums = names.par_iter().map(take).collect::<Result<Checksums, DataError>>()?;
            checksums.write(folder)?;
        }
        Ok(())
    }

    fn expect_same_origin(&self, found: &ShardMeta, path: &Path) -> Result<(), DataError> {
        let expected = &self.meta;
        let different = [
            ("variant", &found.variant, &expected.variant),
            ("ruleset", &found.ruleset, &expected.ruleset),
            ("fingerprint", &found.fingerprint, &expected.fingerprint),
            ("network", &found.network, &expected.network),
            ("seed", &found.seed.to_string(), &expected.seed.to_string()),
            ("generation", &found.generation.to_string(), &expected.generation.to_string()),
            ("settings", &found.settings, &expected.settings),
        ]
        .into_iter()
        .find(|(_, found, expected)| found != expected)
        .map(|(key, found, expected)| format!("made with {key} {found}, but this generation has {expected}"));
        match different {
            Some(what) => Err(DataError::Schema { path: path.to_owned(), what }),
            None => Ok(()),
        }
    }

    fn part(&self, kind: ShardKind, number: u64) -> PathBuf {
        let folder = match kind {
            ShardKind::Games => &self.games_folder,
            ShardKind::Positions => &self.positions_folder,
        };
        folder.join("parts").join(format!("{number:06}.part"))
    }

    /// Takes in the finished games that an earlier run left in parts.
    fn load_parts(&mut self) -> Result<(), DataError> {
        for i in 0..self.pending.len() {
            for number in self.pending[i].games.clone() {
                if let Some(record) = self.load_part(number)? {
                    self.put(i, number, record);
                }
            }
            if self.pending[i].missing() == 0 {
                self.write_shard(i)?;
            }
        }
        self.pending.retain(|shard| shard.missing() > 0);
        Ok(())
    }

    /// A finished game from its parts; none if one is missing or broken, for it can be played again.
    fn load_part(&self, number: u64) -> Result<Option<GameRecord>, DataError> {
        let path = self.part(ShardKind::Games, number);
        let Ok(mut game) = read_shard::<GameRow>(&path) else { return Ok(None) };
        let Ok(positions) = read_shard::<PositionRow>(&self.part(ShardKind::Positions, number)) else {
            return Ok(None);
        };
        self.expect_same_origin(&game.meta, &path)?;
        let complete = game.rows.len() == 1 && positions.rows.len() == game.rows[0].plies as usize;
        Ok(complete.then(|| GameRecord {
            game: game.rows.remove(0),
            positions: positions.rows,
            simulations: 0,
            saved: None,
        }))
    }

    fn put(&mut self, shard: usize, number: u64, record: GameRecord) {
        self.pending[shard].records.insert(number, record);
    }

    /// Numbers of the games that are still to be played, in order.
    pub(super) fn missing(&self) -> Vec<u64> {
        let games = |shard: &Pending| shard.games.clone().filter(|game| !shard.records.contains_key(game)).collect();
        self.pending.iter().flat_map::<Vec<u64>, _>(games).collect()
    }

    /// Keeps a finished game; writes its shard if it was the last one missing.
    ///
    /// # Errors
    /// If the file system refuses.
    ///
    /// # Panics
    /// If the game is not one of those that are missing.
    pub(super) fn add(&mut self, number: u64, record: GameRecord) -> Result<(), DataError> {
        let shard = self.pending.iter().position(|shard| shard.games.contains(&number));
        let shard = shard.expect("only missing games are played");
        if self.pending[shard].missing() > 1 {
            ShardWriter::write_part(&self.part(ShardKind::Positions, number), &self.meta, &record.positions)?;
            ShardWriter::write_part(
                &self.part(ShardKind::Games, number),
                &self.meta,
                std::slice::from_ref(&record.game),
            )?;
        }
        self.put(shard, number, record);
        if self.pending[shard].missing() == 0 {
            self.write_shard(shard)?;
            self.pending.remove(shard);
        }
        Ok(())
    }

    fn write_shard(&mut self, shard: usize) -> Result<(), DataError> {
        let games = self.pending[shard].games.clone();
        let records = std::mem::take(&mut self.pending[shard].records);
        let name = shard_name(&games);
        let (mut rows, mut positions) = (Vec::new(), Vec::new());
        for record in records.into_values() {
            rows.push(record.game);
            positions.push(record.positions);
        }
        let folders = [&self.games_folder, &self.positions_folder];
        let positions = positions.into_iter().flatten();
        let of_positions = write_rows(&self.positions_folder.join(&name), &self.meta, positions)?;
        let of_games = write_rows(&self.games_folder.join(&name), &self.meta, rows)?;
        for ((folder, checksums), checksum) in
            folders.into_iter().zip(&mut self.checksums).zip([of_games, of_positions])
        {
            checksums.insert(name.clone(), checksum);
            checksums.write(folder)?;
        }
        for kind in [ShardKind::Games, ShardKind::Positions] {
            // Left-over parts harm nobody: their games are in a complete shard now, which is looked at first.
            games.clone().for_each(|number| drop(fs::remove_file(self.part(kind, number))));
            let _ = fs::remove_dir(self.part(kind, 0).parent().expect("parts lie in a folder"));
        }
        Ok(())
    }
}

fn write_rows<R: Row>(path: &Path, meta: &ShardMeta, rows: impl IntoIterator<Item = R>) -> Result<Checksum, DataError> {
    let mut writer = ShardWriter::create(path, meta)?;
    for row in rows {
        writer.push(row)?;
    }
    writer.finish()
}
