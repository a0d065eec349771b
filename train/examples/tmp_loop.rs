use engine::Variant;
use selfplay::*;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use train::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let name = &a[1];
    let run = PathBuf::from(&a[2]);
    let gens: u32 = a[3].parse().unwrap();
    let games: u64 = a[4].parse().unwrap();
    let batch: usize = a[5].parse().unwrap();
    let epochs: f64 = a[6].parse().unwrap();
    let lr: f64 = a[7].parse().unwrap();
    let variant = Variant::load(name, None).unwrap();
    let config: SelfplayConfig = SelfplayConfig { games: games as _, ..Default::default() };
    let search = SearchConfig { simulations: 16, ..Default::default() };
    let tc = TrainConfig {
        batch_size: batch,
        epochs,
        learning_rate: lr,
        warmup_steps: 20,
        window_generations: 6,
        validation_share: 0.1,
        ..Default::default()
    };
    let mut network = Network::new(&NetworkConfig::default(), &variant, 1, &Device::flex()).unwrap();
    let mut data = Dataset::new(&variant, &tc);
    let mut learner = Learner::new(Checkpoint { network: network.clone(), optimizer: None }, &tc, 2).unwrap();
    for g in 0..gens {
        let t = Instant::now();
        let judge = evaluator(&network, &variant);
        let uni = Uniform;
        let e: &dyn Evaluator = if g == 0 { &uni } else { &judge };
        let p = generate(
            &Generation {
                variant: &variant,
                evaluator: e,
                config: &config,
                search: &search,
                run_seed: 1,
                number: g,
                games: 0..games,
                threads: 2,
            },
            &run,
            &mut |_| (),
            &AtomicBool::new(false),
        )
        .unwrap();
        let tg = t.elapsed().as_secs_f64();
        data.update(&run.join("positions"), None).unwrap();
        let before = learner.validate(&data);
        let m = learner.train(&data, 1, &mut |_| ControlFlow::Continue(()));
        network = learner.checkpoint(g + 1).unwrap().network;
        println!(
            "gen {g}: {} pos in {tg:.1}s; window {} steps {} in {:.1}s; mem {} MB\n  before {:?}\n  train {:?}\n  valid {:?}",
            p.positions,
            m.window,
            m.steps,
            m.seconds,
            data.bytes() >> 20,
            before,
            m.training,
            m.validation
        );
    }
}
