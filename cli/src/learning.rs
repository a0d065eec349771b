//! What surrounds a session of learning: keeping where it stands, and warnings of what it shows.

use std::path::{Path, PathBuf};

use anyhow::Context;
use train::{Dataset, Learner, Metrics};

/// How much better the value may fit the games it learns from than held-out ones before that is worth a warning.
const MEMORISES: f64 = 0.1;

/// How much the loss on held-out games may rise in a session before that is worth a warning.
const RISES: f64 = 0.02;

/// Checkpoints from inside a session of learning, `RUN/learning/GENERATION-STEPS`; only the newest is kept.
pub(crate) struct Unfinished {
    folder: PathBuf,
    generation: u32,
}

impl Unfinished {
    pub(crate) fn new(run: &Path, generation: u32) -> Unfinished {
        Unfinished { folder: run.join("learning"), generation }
    }

    /// Those of this session, oldest first.
    fn all(&self) -> anyhow::Result<Vec<PathBuf>> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let error = || format!("cannot read {}", self.folder.display());
        let mut found = Vec::new();
        for entry in self.folder.read_dir().with_context(error)? {
            let path = entry.with_context(error)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(&format!("{:06}-", self.generation)) {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }

    pub(crate) fn newest(&self) -> anyhow::Result<Option<PathBuf>> {
        Ok(self.all()?.pop())
    }

    /// Keeps where a session stands after so many steps.
    pub(crate) fn save(&self, learner: &Learner, done: u64) -> anyhow::Result<()> {
        let before = self.all()?;
        let target = self.folder.join(format!("{:06}-{done:09}", self.generation));
        learner.checkpoint(self.generation)?.save(&target)?;
        for path in before.iter().filter(|path| **path != target) {
            std::fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Forgets all sessions: their network is there.
    pub(crate) fn remove(&self) -> anyhow::Result<()> {
        match self.folder.exists() {
            true => std::fs::remove_dir_all(&self.folder)
                .with_context(|| format!("cannot remove {}", self.folder.display())),
            false => Ok(()),
        }
    }
}

/// Warns of games that teach little.
pub(crate) fn warn_of_targets(data: &Dataset) {
    let endings = data.endings();
    let share = |count: usize| 100 * count / data.training().len().max(1);
    if share(endings.cut_off) > 50 {
        eprintln!(
            "warning: {} % of the positions come from games that were cut off, without an outcome; a larger \
             selfplay.max_plies or more decisive play (search.c_scale, selfplay.sample_plies) would teach more",
            share(endings.cut_off)
        );
    } else if share(endings.drawn) > 80 {
        eprintln!("warning: {} % of the positions come from drawn games, which teach little", share(endings.drawn));
    }
}

/// Warns of learning by heart and of losses that rise.
pub(crate) fn warn_of_losses(metrics: &Metrics) {
    let Some(held_out) = metrics.validation else { return };
    let gap = held_out.value - metrics.training.value;
    if gap > MEMORISES {
        eprintln!(
            "warning: the value's loss is {gap:.2} higher on held-out games than on those it learns from; more games or a \
             smaller train.samples_per_position would teach more"
        );
    }
    let Some(before) = metrics.validation_before else { return };
    for (what, before, after) in [("policy", before.policy, held_out.policy), ("value", before.value, held_out.value)] {
        if after > before + RISES {
            eprintln!(
                "warning: the {what}'s loss on held-out games rose from {before:.3} to {after:.3} in this session; a smaller \
                 train.learning_rate or train.samples_per_position would help"
            );
        }
    }
}
