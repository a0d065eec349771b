//! What networks are computed on, by name.

use burn::tensor::Device;

use crate::error::DeviceError;

/// Names of the devices that this build can use, without numbers.
pub fn device_names() -> Vec<&'static str> {
    let mut names = vec!["cpu"];
    names.extend(cfg!(feature = "cuda").then_some("cuda"));
    names.extend(cfg!(feature = "vulkan").then_some("vulkan"));
    names.extend(cfg!(feature = "wgpu").then_some("wgpu"));
    names
}

/// The device of a name: `cpu`, or in builds with the feature of that name `cuda`, `vulkan`, `wgpu`, with `:N` for the Nth
/// GPU, from 0.
///
/// # Errors
/// If there is no such name, or not in this build. Whether the machine has such a device shows only when it is used.
pub fn device(name: &str) -> Result<Device, DeviceError> {
    let error = || DeviceError { name: name.to_string(), known: device_names().join(", ") };
    let (kind, number) = match name.split_once(':') {
        None => (name, None),
        Some((kind, number)) => (kind, Some(number.parse::<usize>().map_err(|_| error())?)),
    };
    match (kind, number) {
        ("cpu", None) => Ok(Device::flex()),
        #[cfg(feature = "cuda")]
        ("cuda", number) => Ok(Device::cuda(number.unwrap_or(0))),
        #[cfg(feature = "vulkan")]
        ("vulkan", number) => Ok(Device::vulkan(gpu(number))),
        #[cfg(feature = "wgpu")]
        ("wgpu", number) => Ok(Device::wgpu(gpu(number))),
        _ => Err(error()),
    }
}

#[cfg(feature = "wgpu")]
fn gpu(number: Option<usize>) -> burn::tensor::DeviceKind {
    number.map_or_else(Default::default, burn::tensor::DeviceKind::DiscreteGpu)
}

/// Whether own loops can compute where a network is.
pub(crate) fn is_cpu(device: &Device) -> bool {
    *device == Device::flex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(device("cpu").expect("always there"), Device::flex());
        for bad in ["gpu", "cpu:1", "cuda:x", ""] {
            let message = device(bad).expect_err("no such device").to_string();
            assert!(message.contains(&format!("`{bad}`")) && message.contains("cpu"), "{message}");
        }
    }
}
