//! What a learner keeps beside the network that plays: tensors and a few words, as one safetensors file.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use crate::error::LearnerError;

/// The state of a learner, on its way to a file or from it.
#[derive(Default)]
pub(crate) struct State {
    floats: HashMap<String, Vec<f32>>,
    bytes: HashMap<String, Vec<u8>>,
    words: HashMap<String, String>,
}

impl State {
    pub(crate) fn put_floats(&mut self, name: String, values: &[f32]) {
        self.floats.insert(name, values.to_vec());
    }

    pub(crate) fn put_bytes(&mut self, name: &str, bytes: Vec<u8>) {
        self.bytes.insert(name.to_string(), bytes);
    }

    pub(crate) fn put_word(&mut self, key: &str, word: String) {
        self.words.insert(key.to_string(), word);
    }

    /// The tensor of this name, which must hold `len` numbers.
    pub(crate) fn floats(&mut self, name: &str, len: usize) -> Result<Vec<f32>, LearnerError> {
        let values = self.floats.remove(name).ok_or_else(|| wrong(format!("no tensor `{name}`")))?;
        if values.len() != len {
            return Err(wrong(format!("`{name}` has {} numbers, expected {len}", values.len())));
        }
        Ok(values)
    }

    pub(crate) fn bytes(&mut self, name: &str) -> Result<Vec<u8>, LearnerError> {
        self.bytes.remove(name).ok_or_else(|| wrong(format!("no tensor `{name}`")))
    }

    pub(crate) fn word(&self, key: &str) -> Option<&str> {
        self.words.get(key).map(String::as_str)
    }

    /// As safetensors: floats and bytes as tensors of one dimension, words as metadata.
    pub(crate) fn write(&self) -> Result<Vec<u8>, LearnerError> {
        let floats: Vec<(&String, Vec<u8>, usize)> = self
            .floats
            .iter()
            .map(|(name, values)| (name, values.iter().flat_map(|x| x.to_le_bytes()).collect(), values.len()))
            .collect();
        let mut views = Vec::new();
        for (name, bytes, len) in &floats {
            views.push((*name, TensorView::new(Dtype::F32, vec![*len], bytes).map_err(unreadable)?));
        }
        for (name, bytes) in &self.bytes {
            views.push((name, TensorView::new(Dtype::U8, vec![bytes.len()], bytes).map_err(unreadable)?));
        }
        serialize(views, Some(self.words.clone())).map_err(unreadable)
    }

    pub(crate) fn read(file: &[u8]) -> Result<State, LearnerError> {
        let tensors = SafeTensors::deserialize(file).map_err(unreadable)?;
        let (_, header) = SafeTensors::read_metadata(file).map_err(unreadable)?;
        let mut state = State { words: header.metadata().clone().unwrap_or_default(), ..State::default() };
        for (name, view) in tensors.tensors() {
            match view.dtype() {
                Dtype::F32 => {
                    let numbers = view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
                    state.floats.insert(name, numbers.collect());
                }
                Dtype::U8 => drop(state.bytes.insert(name, view.data().to_vec())),
                other => return Err(wrong(format!("tensor `{name}` is {other:?}, expected F32 or U8"))),
            }
        }
        Ok(state)
    }
}

fn unreadable(error: safetensors::SafeTensorError) -> LearnerError {
    wrong(error.to_string())
}

pub(crate) fn wrong(message: String) -> LearnerError {
    LearnerError::State { message }
}
