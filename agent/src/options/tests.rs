use super::*;

fn options(text: &str) -> Options {
    let parsed = parse(text, &mut |_| unreachable!("no config= here"));
    assert_eq!(parsed.errors, [], "{text}");
    parsed.options
}

fn refusal(text: &str) -> String {
    let parsed = parse(text, &mut |_| unreachable!("no config= here"));
    assert_eq!(parsed.errors.len(), 1, "{text}: {:?}", parsed.errors);
    parsed.errors[0].to_string()
}

#[test]
fn no_text_means_every_default() {
    assert_eq!(options(""), Options::default());
    assert_eq!(options(" , ,"), Options::default());
}

#[test]
fn every_option_of_the_table_is_taken() {
    let o = options(
        "file=/tmp/a-%p.jfr,duration=5m,maxsize=64m,track=liveheap,chains=off,interval=64k,live-ratio=0.5,depth=10,\
         walk=safepoint,visited=tags,memcap=32m,framecap=100,hops=50,budget=2000,firstpassbudget=0,ttl=0,\
         pausetarget=20ms,painbudget=2.5,stopcap=1s,cpucap=25,log=debug,strict=on,cmd=status,reply=/tmp/r",
    );
    let expected = Options {
        file: Some("/tmp/a-%p.jfr".into()),
        duration: Some(Duration::from_secs(300)),
        max_size_bytes: Some(64 << 20),
        track: Track::LiveHeap,
        chains: false,
        interval_bytes: 65_536,
        live_ratio: 0.5,
        depth_frames: 10,
        walk: WalkEngine::Safepoint,
        visited: Visited::Tags,
        memcap_bytes: Some(32 << 20),
        framecap_entries: 100,
        framecap_given: true,
        hops: 50,
        budget_edges: Some(2000),
        first_pass_budget_edges: Some(0),
        ttl: Some(Duration::ZERO),
        pause_target: Duration::from_millis(20),
        pain_budget_percent: Some(2.5),
        stop_cap: Duration::from_secs(1),
        cpu_cap_percent: 25,
        log: LogLevel::Debug,
        strict: true,
        command: Some(Command::Status),
        reply: Some("/tmp/r".into()),
    };
    assert_eq!(o, expected);
}

#[test]
fn auto_means_tuned_to_the_machine() {
    let o = options(
        "memcap=16m,memcap=auto,budget=5,budget=auto,ttl=1s,ttl=auto,painbudget=3,painbudget=auto",
    );
    assert_eq!(o, Options::default());
}

#[test]
fn the_ends_of_each_range_are_inside_and_what_lies_beyond_is_refused() {
    for (good, bad) in [
        ("duration=1s", "duration=999ms"),
        ("maxsize=1m", "maxsize=1023k"),
        ("interval=1k", "interval=1023"),
        ("interval=1g", "interval=1025m"),
        ("live-ratio=0.01", "live-ratio=0.009"),
        ("live-ratio=1", "live-ratio=1.01"),
        ("depth=0", "depth=-1"),
        ("depth=512", "depth=513"),
        ("memcap=8m", "memcap=8191k"),
        ("framecap=1", "framecap=0"),
        ("framecap=65536000", "framecap=65536001"),
        ("hops=1", "hops=0"),
        ("hops=200000", "hops=200001"),
        ("budget=1", "budget=0"),
        ("budget=10000000", "budget=10000001"),
        ("firstpassbudget=0", "firstpassbudget=10000001"),
        ("painbudget=0", "painbudget=-0"),
        ("painbudget=100%", "painbudget=100.1"),
        ("stopcap=1ms", "stopcap=0"),
        ("stopcap=60s", "stopcap=61s"),
        ("cpucap=1", "cpucap=0"),
        ("cpucap=100", "cpucap=101"),
    ] {
        options(good);
        let name = bad.split('=').next().unwrap();
        let text = refusal(bad);
        assert!(text.contains(&format!("{name} takes ")), "{bad}: {text}");
    }
}

#[test]
fn a_refusal_names_the_option_what_was_given_and_the_range() {
    assert_eq!(
        refusal("interval=12q"),
        "option interval=\"12q\" is wrong: interval takes a size in 1k..1g (units k, m, g)"
    );
    assert_eq!(
        refusal("duration=30"),
        "option duration=\"30\" is wrong: duration takes a time of at least 1s (units ms, s, m, h)"
    );
    assert!(
        refusal("colour=red")
            .starts_with("option \"colour\" does not exist; known: file, duration, ")
    );
    assert!(refusal("verbose").contains("has no value"));
}

#[test]
fn a_bad_option_leaves_the_good_ones_applied() {
    let parsed = parse("interval=x,strict=true,depth=3,zzz=1", &mut |_| {
        Err(String::new())
    });
    assert_eq!(parsed.errors.len(), 2);
    assert!(parsed.options.strict);
    assert_eq!(parsed.options.depth_frames, 3);
}

#[test]
fn a_configuration_file_has_one_option_a_line_and_may_hold_commas() {
    let parsed = parse("depth=1,config=/etc/c,hops=9", &mut |path| {
        assert_eq!(path, "/etc/c");
        Ok("# comment\n\n file = /tmp/a,b.jfr \r\ndepth=7\nhops=8\n".into())
    });
    assert_eq!(parsed.errors, []);
    assert_eq!(parsed.options.file.as_deref(), Some("/tmp/a,b.jfr"));
    assert_eq!(
        (parsed.options.depth_frames, parsed.options.hops),
        (7, 9),
        "later values win"
    );
}

#[test]
fn a_configuration_file_that_cannot_be_read_or_names_another_is_refused() {
    let missing = parse("config=/nowhere", &mut |_| Err("no such file".into()));
    assert_eq!(
        missing.errors[0].to_string(),
        "option config=\"/nowhere\": no such file"
    );
    let nested = parse("config=a", &mut |_| Ok("config=b\n".into()));
    assert!(
        nested.errors[0]
            .to_string()
            .contains("cannot name another one")
    );
}

#[test]
fn a_long_value_is_shortened_in_the_message() {
    let text = refusal(&format!("track={}", "é".repeat(1000)));
    assert!(text.chars().count() < 140, "{text}");
}

proptest::proptest! {
    #[test]
    fn any_text_parses_without_a_panic_and_within_the_ranges(text in "\\PC*", config in "\\PC*") {
        let parsed = parse(&text, &mut |_| Ok(config.clone()));
        let o = &parsed.options;
        proptest::prop_assert!((1024..=1 << 30).contains(&o.interval_bytes));
        proptest::prop_assert!((0.01..=1.0).contains(&o.live_ratio));
        proptest::prop_assert!(o.depth_frames <= 512 && (1..=100).contains(&o.cpu_cap_percent));
    }

    #[test]
    fn any_value_of_any_option_parses_without_a_panic(
        name in proptest::sample::select(NAMES.to_vec()), value in "[0-9a-z.%]{0,24}"
    ) {
        let parsed = parse(&format!("{name}={value}"), &mut |_| Ok(String::new()));
        proptest::prop_assert!(parsed.errors.len() <= 1);
    }
}
