#![allow(missing_docs)]
use engine::Variant;
use std::ops::ControlFlow;
use std::path::PathBuf;
use train::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let name = &a[1];
    let run = PathBuf::from(&a[2]);
    let e = |k: &str, d: f64| -> f64 { std::env::var(k).map_or(d, |x| x.parse().unwrap()) };
    let variant = Variant::load(name, None).unwrap();
    let tc = TrainConfig {
        batch_size: e("BATCH", 256.) as usize,
        epochs: 1.0,
        learning_rate: e("LR", 1e-3),
        warmup_steps: 100,
        window_generations: 50,
        validation_share: 0.1,
        weight_decay: e("WD", 0.01),
        search_share: e("SHARE", 0.3),
        policy_weight: e("PW", 1.0),
        value_weight: e("VW", 1.0),
        schedule: if e("COS", 0.) > 0. { Schedule::Cosine } else { Schedule::Constant },
        final_learning_rate: e("LR", 1e-3) / 20.,
        ..Default::default()
    };
    let mut data = Dataset::new(&variant, &tc);
    data.update(&run.join("positions"), None).unwrap();
    let nc = NetworkConfig::Nnue(NnueConfig { accumulator: e("ACC", 256.) as usize, ..Default::default() });
    let network = Network::new(&nc, &variant, 1, &Device::flex()).unwrap();
    let mut learner = Learner::new(Checkpoint { network, optimizer: None }, &tc, 2).unwrap();
    let v0 = learner.validate(&data).unwrap();
    // prior
    let mut chunks = vec![];
    data.fill(data.training(), 64, 2, &mut chunks);
    let mut p = [0f64; 3];
    for c in &chunks {
        for w in &c.wdl {
            for i in 0..3 {
                p[i] += w[i] as f64;
            }
        }
    }
    let s: f64 = p.iter().sum();
    p.iter_mut().for_each(|x| *x /= s);
    let mut vc = vec![];
    data.fill(data.validation(), 64, 2, &mut vc);
    let mut l = 0.;
    let mut n = 0.;
    for c in &vc {
        for w in &c.wdl {
            n += 1.;
            for i in 0..3 {
                l -= w[i] as f64 * p[i].ln();
            }
        }
    }
    println!(
        "rows {} val {} prior {:?} prior-loss {:.4} floor v {:.4} p {:.4} uniform p {:.4}",
        data.training().len(),
        data.validation().len(),
        p,
        l / n,
        v0.value_floor,
        v0.policy_floor,
        v0.policy
    );
    for ep in 0..e("EPOCHS", 3.) as usize {
        let m = learner.train(&data, ep as u64, &mut |_| ControlFlow::Continue(()));
        let v = m.validation.unwrap();
        println!(
            " ep {ep}: {} steps {:.1}s train p {:.4} v {:.4} | valid p {:.4} v {:.4}",
            m.steps, m.seconds, m.training.policy, m.training.value, v.policy, v.value
        );
    }
}
