#[path = "report.rs"]
mod report;
#[test]
fn demo() {
    for (name, gens, games) in [("chu", 4, 24), ("daidai", 1, 3)] {
        let d = std::path::PathBuf::from(format!("/tmp/demo-{name}"));
        for g in 0..gens {
            report::play_n(&d, name, g, games);
        }
    }
}
#[test]
fn render() {
    for name in ["chu", "daidai", "run"] {
        let d = std::path::PathBuf::from(format!("/tmp/demo-{name}"));
        eval::report::write(&d).unwrap();
    }
    if let Ok(r) = std::env::var("RUN") {
        eval::report::write(std::path::Path::new(&r)).unwrap();
    }
}
