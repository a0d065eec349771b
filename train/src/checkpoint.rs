//! Networks on disk.
//!
//! A checkpoint is a folder, `networks/000003`, that appears whole or not at all:
//!
//! * `network.toml`: architecture, version of the encoding, variant, generation, parent ([`Description`]);
//! * `weights.safetensors`: the tensors of [`Model::specs`], `f32`, of the network that plays;
//! * `learner.safetensors`: what learning needs to go on from here: the weights that learn, of which the former are an
//!   average, and the means of the optimiser; inside a session also where it stands.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::tensor::{DType, Device, TensorData};
use engine::Variant;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use selfplay::derive_seed;
use serde::{Deserialize, Serialize};

use crate::config::NetworkConfig;
use crate::encoding::{ENCODING_VERSION, Features};
use crate::error::{CheckpointError, ConfigError};
use crate::network::{Model, TensorSpec};

const DESCRIPTION: &str = "network.toml";
const WEIGHTS: &str = "weights.safetensors";
const LEARNER: &str = "learner.safetensors";

/// What `network.toml` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Version of the encoding: [`ENCODING_VERSION`].
    pub encoding: u32,
    /// Generation of the network; 0 is untrained.
    pub generation: u32,
    /// Folder name of the checkpoint it was trained from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Steps of the optimiser in its life.
    pub steps: u64,
    /// The game.
    pub variant: VariantId,
    /// Architecture and sizes.
    pub network: NetworkConfig,
    /// The variant's tables that the encoding needs, for readers that know no variants.
    pub tables: Tables,
}

/// What the encoding needs of a variant. Kinds go by their numbers in shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    /// Files of the board.
    pub files: usize,
    /// Ranks of the board.
    pub ranks: usize,
    /// Ids of the kinds.
    pub kinds: Vec<String>,
    /// The kind that each kind promotes to; itself if it does not promote.
    pub promotes_to: Vec<usize>,
    /// Pieces of each kind that a side has at the start.
    pub start_counts: Vec<usize>,
}

impl Tables {
    /// The tables of a variant.
    pub fn of(variant: &Variant) -> Tables {
        let kinds = || variant.kinds().iter();
        let promotes_to = kinds().enumerate().map(|(i, kind)| kind.promotes_to.map_or(i, |to| to.index()));
        Tables {
            files: variant.files(),
            ranks: variant.ranks(),
            kinds: kinds().map(|kind| kind.id.clone()).collect(),
            promotes_to: promotes_to.collect(),
            start_counts: kinds().map(|kind| kind.count).collect(),
        }
    }
}

/// Which game a network plays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantId {
    /// Name of the variant.
    pub name: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// `Variant::fingerprint`.
    pub fingerprint: String,
}

impl VariantId {
    /// The identity of a variant.
    pub fn of(variant: &Variant) -> VariantId {
        VariantId {
            name: variant.name().to_string(),
            ruleset: variant.ruleset().to_string(),
            fingerprint: variant.fingerprint().to_string(),
        }
    }
}

/// A network with its description.
#[derive(Clone, Debug)]
pub struct Network {
    /// What it is.
    pub description: Description,
    /// What it sees.
    pub features: Features,
    /// Its weights, on a device without autodiff.
    pub model: Model,
}

impl Network {
    /// A new network for a variant; a function of the seed.
    ///
    /// # Errors
    /// If the configuration is not sound.
    pub fn new(config: &NetworkConfig, variant: &Variant, seed: u64, device: &Device) -> Result<Network, ConfigError> {
        config.validate()?;
        let features = Features::of(variant);
        let model = Model::new(config, &features, derive_seed(&[seed]), device);
        Ok(Network {
            description: Description {
                encoding: ENCODING_VERSION,
                generation: 0,
                parent: None,
                steps: 0,
                variant: VariantId::of(variant),
                network: config.clone(),
                tables: Tables::of(variant),
            },
            features,
            model,
        })
    }

    /// What names the network in records: `net:000003`.
    pub fn id(&self) -> String {
        format!("net:{:06}", self.description.generation)
    }
}

/// A network together with what learning needs to go on.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The network.
    pub network: Network,
    /// What the learner keeps besides, if it is to go on from here.
    pub learner: Option<Vec<u8>>,
}

impl Checkpoint {
    /// Reads only the description of a checkpoint, whatever variant it is of.
    ///
    /// # Errors
    /// If there is none or it is not well-formed.
    pub fn describe(folder: &Path) -> Result<Description, CheckpointError> {
        let path = folder.join(DESCRIPTION);
        if !path.exists() || !folder.join(WEIGHTS).exists() {
            return Err(CheckpointError::Missing { path: folder.to_path_buf() });
        }
        let text = fs::read_to_string(&path).map_err(io(&path))?;
        // The version first: another one may well have other keys.
        let version = text.parse::<toml::Table>().ok().and_then(|table| table.get("encoding")?.as_integer());
        if let Some(found) = version.filter(|&version| version != ENCODING_VERSION as i64) {
            return Err(mismatch(&path, "encoding", ENCODING_VERSION.to_string(), found.to_string()));
        }
        let described = toml::from_str::<Description>(&text);
        let description =
            described.map_err(|e| CheckpointError::Description { path: path.clone(), message: e.to_string() })?;
        let checked = description.network.validate();
        checked.map_err(|e| CheckpointError::Description { path, message: e.to_string() })?;
        Ok(description)
    }

    /// Writes the checkpoint to `folder`, which must not exist: aside, synced, then renamed.
    ///
    /// # Errors
    /// If there is something at `folder`, or it cannot be written; nothing is left there then.
    pub fn save(&self, folder: &Path) -> Result<(), CheckpointError> {
        if folder.exists() {
            return Err(CheckpointError::Exists { path: folder.to_path_buf() });
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(io(parent))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let aside = parent.join(format!(".{name}.{}.tmp", std::process::id()));
        let written = self.write(&aside).and_then(|()| {
            fs::rename(&aside, folder).map_err(io(folder))?;
            sync(parent)
        });
        if written.is_err() {
            // What is left of it hides behind its dot; the error to tell is the first one.
            let _ = fs::remove_dir_all(&aside);
        }
        written
    }

    fn write(&self, aside: &Path) -> Result<(), CheckpointError> {
        if aside.exists() {
            fs::remove_dir_all(aside).map_err(io(aside))?;
        }
        fs::create_dir(aside).map_err(io(aside))?;
        let path = aside.join(DESCRIPTION);
        let text = toml::to_string(&self.network.description);
        let text = text.map_err(|e| CheckpointError::Description { path: path.clone(), message: e.to_string() })?;
        write(&path, text.as_bytes())?;

        let path = aside.join(WEIGHTS);
        let weights =
            |e: safetensors::SafeTensorError| CheckpointError::Weights { path: path.clone(), message: e.to_string() };
        let tensors = self.network.model.to_tensors();
        let mut views = Vec::new();
        for (spec, data) in Model::specs(&self.network.description.network, &self.network.features).iter().zip(&tensors)
        {
            let view = TensorView::new(Dtype::F32, spec.shape.clone(), data.as_bytes()).map_err(weights)?;
            views.push((spec.name.clone(), view));
        }
        let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
        write(&path, &serialize(views, Some(metadata)).map_err(weights)?)?;
        if let Some(learner) = &self.learner {
            write(&aside.join(LEARNER), learner)?;
        }
        sync(aside)
    }

    /// Reads a checkpoint of `variant` (same rules: same fingerprint) onto a device without autodiff.
    ///
    /// # Errors
    /// If there is none, a file is damaged, or it is of another variant, ruleset or version of the encoding.
    pub fn load(folder: &Path, variant: &Arc<Variant>, device: &Device) -> Result<Checkpoint, CheckpointError> {
        let description = Checkpoint::describe(folder)?;
        let (wanted, found) = (VariantId::of(variant), &description.variant);
        let pairs = [
            ("variant.name", &wanted.name, &found.name),
            ("variant.ruleset", &wanted.ruleset, &found.ruleset),
            ("variant.fingerprint", &wanted.fingerprint, &found.fingerprint),
        ];
        for (key, wanted, found) in pairs {
            if wanted != found {
                return Err(mismatch(&folder.join(DESCRIPTION), key, wanted.clone(), found.clone()));
            }
        }
        let features = Features::of(variant);
        let tensors = read_weights(&folder.join(WEIGHTS), &Model::specs(&description.network, &features))?;
        let path = folder.join(LEARNER);
        let learner = match path.exists() {
            true => Some(fs::read(&path).map_err(io(&path))?),
            false => None,
        };
        let model = Model::from_tensors(&description.network, tensors, device);
        Ok(Checkpoint { network: Network { model, features, description }, learner })
    }
}

fn read_weights(path: &Path, specs: &[TensorSpec]) -> Result<Vec<TensorData>, CheckpointError> {
    let bytes = fs::read(path).map_err(io(path))?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|e| CheckpointError::Weights { path: path.to_path_buf(), message: e.to_string() })?;
    let tensor = |TensorSpec { name, shape, .. }: &TensorSpec| {
        let error = |found: String| CheckpointError::Tensor {
            path: path.to_path_buf(),
            name: name.clone(),
            expected: format!("F32 {shape:?}"),
            found,
        };
        let view = file.tensor(name).map_err(|_| error("none".to_string()))?;
        if view.dtype() != Dtype::F32 || view.shape() != shape.as_slice() {
            return Err(error(format!("{:?} {:?}", view.dtype(), view.shape())));
        }
        Ok(TensorData::from_bytes_vec(view.data().to_vec(), shape.clone(), DType::F32))
    };
    specs.iter().map(tensor).collect()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CheckpointError> {
    let mut file = File::create(path).map_err(io(path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io(path))
}

/// Makes the entries of a folder last.
fn sync(folder: &Path) -> Result<(), CheckpointError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io(folder))
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> CheckpointError {
    let path: PathBuf = path.to_path_buf();
    move |source| CheckpointError::Io { path, source }
}

fn mismatch(path: &Path, key: &'static str, expected: String, found: String) -> CheckpointError {
    CheckpointError::Mismatch { path: path.to_path_buf(), key, expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NnueConfig;

    fn variant(name: &str, ruleset: Option<&str>) -> Arc<Variant> {
        Variant::load(name, ruleset).expect("built in")
    }

    fn checkpoint(variant: &Variant) -> Checkpoint {
        let config = NetworkConfig::Nnue(NnueConfig { accumulator: 32, hidden: 8, policy_width: 8, survival_width: 8 });
        let network = Network::new(&config, variant, 1, &Device::flex()).expect("sound");
        Checkpoint { network, learner: Some(vec![1, 2, 3]) }
    }

    #[test]
    fn comes_back_bit_for_bit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("networks/000000");
        let chu = variant("chu", None);
        let saved = checkpoint(&chu);
        saved.save(&path).expect("can be written");
        let loaded = Checkpoint::load(&path, &chu, &Device::flex()).expect("sound");
        assert_eq!(loaded.network.description, saved.network.description);
        assert_eq!(loaded.learner, saved.learner);
        assert!(loaded.network.model.to_tensors() == saved.network.model.to_tensors());
        assert_eq!(Checkpoint::describe(&path).expect("sound"), saved.network.description);
        assert_eq!(loaded.network.id(), "net:000000");

        let names: Vec<_> = fs::read_dir(path.parent().expect("networks")).expect("there").collect();
        assert_eq!(names.len(), 1, "nothing is left aside");
        assert!(matches!(saved.save(&path), Err(CheckpointError::Exists { .. })));
    }

    #[test]
    fn the_seed_decides_the_weights() {
        let chu = variant("chu", None);
        let weights = |seed| {
            let network = Network::new(&NetworkConfig::default(), &chu, seed, &Device::flex()).expect("sound");
            network.model.to_tensors()
        };
        assert!(weights(1) == weights(1));
        assert!(weights(1) != weights(2));
    }

    /// Spoils a sound checkpoint of sho shogi and loads it; gives the message.
    fn spoil(change: &dyn Fn(&Path), wanted: &Arc<Variant>) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("000004");
        checkpoint(&variant("sho", None)).save(&path).expect("can be written");
        change(&path);
        let error = Checkpoint::load(&path, wanted, &Device::flex()).expect_err("spoilt");
        error.to_string()
    }

    #[test]
    fn errors_name_the_file_and_what_was_expected() {
        let sho = variant("sho", None);
        let check = |change: &dyn Fn(&Path), wanted: &Arc<Variant>, parts: &[&str]| {
            let message = spoil(change, wanted);
            for part in parts {
                assert!(message.contains(part), "`{part}` is in `{message}`");
            }
        };
        let edit = |from: &'static str, to: &'static str| {
            move |path: &Path| {
                let file = path.join(DESCRIPTION);
                let text = fs::read_to_string(&file).expect("there");
                assert!(text.contains(from), "{text}");
                fs::write(&file, text.replace(from, to)).expect("can be written");
            }
        };
        let cut = |path: &Path| {
            let file = path.join(WEIGHTS);
            let bytes = fs::read(&file).expect("there");
            fs::write(&file, &bytes[..bytes.len() - 1]).expect("can be written");
        };
        check(&|path| fs::remove_dir_all(path).expect("there"), &sho, &["000004: no checkpoint there"]);
        check(&|path| fs::remove_file(path.join(WEIGHTS)).expect("there"), &sho, &["no checkpoint there"]);
        check(&cut, &sho, &["weights.safetensors", "not a complete safetensors file"]);
        check(&|path| fs::write(path.join(WEIGHTS), b"").expect("there"), &sho, &["weights.safetensors"]);
        check(&|_| (), &variant("chu", None), &["network.toml", "variant.name", "expected chu, found sho"]);
        let fairy = variant("sho", Some("fairy"));
        check(&|_| (), &fairy, &["variant.ruleset", "expected fairy, found standard"]);
        let other = edit("fingerprint = \"", "fingerprint = \"0");
        check(&other, &sho, &["variant.fingerprint", sho.fingerprint()]);
        check(&edit("encoding = 1", "encoding = 99"), &sho, &["network.toml", "encoding: expected 1, found 99"]);
        let wider = edit("accumulator = 32", "accumulator = 64");
        check(&wider, &sho, &["accumulator.square", "64]", "32]"]);
        check(&edit("hidden = 8", "hidden = 9"), &sho, &["network.toml", "network.hidden"]);
        check(&edit("generation", "generashun"), &sho, &["network.toml", "generashun"]);
    }
}
