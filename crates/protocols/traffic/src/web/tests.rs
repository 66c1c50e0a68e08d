//! What a user asks for, against the model's own numbers.

use super::*;
use fairwave_machine::contract;
use fairwave_units::Seed;

const MILLI: fn(u64) -> Duration = Duration::from_millis;

fn page(objects: u32, connections: u32) -> Page {
    Page {
        main: Size::Constant(5_000),
        embedded: Size::Constant(1_000),
        objects: Objects::Constant(objects),
        connections,
        ..Page::default()
    }
}

/// Drives a browser whose every object takes `each`, until `end`; everything that it did.
fn browse(page: Page, each: Duration, end: Instant) -> (Vec<(Instant, Fetch)>, Vec<Progress>) {
    let mut browser = Browser::new(page, Seed(5).stream("web"));
    let (mut fetches, mut progress) = (Vec::new(), Vec::new());
    let mut arrivals: VecDeque<(Instant, u32)> = VecDeque::new();
    let mut now = Instant::ZERO;
    browser.handle(now, Input::Start);
    loop {
        while let Some(fetch) = browser.poll(now) {
            fetches.push((now, fetch));
            arrivals.push_back((now + each, fetch.connection));
        }
        progress.extend(std::iter::from_fn(|| browser.event()));
        let arrival = arrivals.front().map(|(at, _)| *at);
        let Some(next) = arrival.into_iter().chain(browser.deadline()).min() else { break };
        if next > end {
            break;
        }
        now = next;
        match arrivals.pop_front_if(|(at, _)| *at <= now) {
            Some((_, connection)) => browser.handle(now, Input::Arrived(connection)),
            None => browser.wake(now),
        }
    }
    (fetches, progress)
}

#[test]
fn the_main_object_comes_first_and_embedded_ones_fill_the_connections() {
    let (fetches, progress) = browse(page(5, 2), MILLI(100), Instant::from_nanos(2_000_000_000));
    let first: Vec<_> = fetches.iter().take(6).map(|(_, f)| (f.connection, f.opens)).collect();
    let reuse = [(0, true), (0, false), (1, true), (0, false), (1, false), (0, false)];
    assert_eq!(first, reuse);
    assert_eq!((fetches[0].1.bytes, fetches[1].1.bytes), (5_000, 1_000));
    // One main object, parsing, then three rounds of at most two.
    let parsing = fetches[1].0.since(fetches[0].0) - MILLI(100);
    let Some(Progress::Page(took)) = progress.iter().find(|p| matches!(p, Progress::Page(_)))
    else {
        panic!("no page: {progress:?}")
    };
    assert_eq!(*took, MILLI(400) + parsing);
}

/// Pages of one object of 10 ms with 30 s of reading: one each 30.01 s plus 130 ms of parsing.
#[test]
fn pages_follow_after_reading() {
    let day = Instant::from_nanos(86_400_000_000_000);
    let (fetches, progress) = browse(page(0, 1), MILLI(10), day);
    let pages = progress.iter().filter(|p| matches!(p, Progress::Page(_))).count();
    assert!((pages as f64 / (86_400.0 / 30.14) - 1.0).abs() < 0.05, "{pages}");
    assert!(fetches.iter().all(|(_, f)| f.opens), "each page opens its connection anew");
}

#[test]
fn a_broken_connection_loses_its_object_and_is_opened_again() {
    let mut browser = Browser::new(page(1, 1), Seed(1).stream("web"));
    browser.handle(Instant::ZERO, Input::Start);
    assert!(browser.poll(Instant::ZERO).is_some_and(|f| f.opens));
    browser.handle(Instant::ZERO, Input::Broken(0));
    assert_eq!(browser.event(), Some(Progress::Lost));
    let parsed = browser.deadline().expect("the page goes on");
    browser.wake(parsed);
    assert!(browser.poll(parsed).is_some_and(|f| f.opens && f.connection == 0));
    // What nobody asked for changes nothing.
    browser.handle(parsed, Input::Arrived(0));
    browser.handle(parsed, Input::Arrived(0));
    assert_eq!(browser.event(), Some(Progress::Object(Duration::ZERO)));
    assert!(matches!(browser.event(), Some(Progress::Page(_))));
    assert_eq!(browser.event(), None);
}

#[test]
fn a_user_who_stops_finishes_the_page_and_begins_none() {
    let mut browser = Browser::new(page(0, 1), Seed(1).stream("web"));
    browser.handle(Instant::ZERO, Input::Start);
    browser.handle(Instant::ZERO, Input::Stop);
    browser.handle(Instant::ZERO, Input::Arrived(0));
    let parsed = browser.deadline().expect("parsing");
    browser.wake(parsed);
    assert_eq!(browser.deadline(), None);
}

/// 5.64 embedded objects a page in the mean (IEEE 802.16m-08/004r5).
#[test]
fn the_default_page_has_as_many_objects_as_the_model_says() {
    let mut random = Seed(9).stream("web");
    let draws = 100_000;
    let sum: u64 = (0..draws).map(|_| u64::from(Page::default().objects.draw(&mut random))).sum();
    let mean = sum as f64 / f64::from(draws);
    assert!((mean - 5.64).abs() < 0.1, "{mean}");
}

#[test]
fn a_browser_keeps_the_contract() {
    let mut browser = Browser::new(page(3, 2), Seed(2).stream("web"));
    let at = |ms: u64| Instant::ZERO + MILLI(ms);
    let mut inputs = vec![(at(0), Input::Start)];
    inputs.extend((1..2_000).map(|i| (at(i * 50), Input::Arrived(i as u32 % 2))));
    inputs.push((at(200_000), Input::Stop));
    let fetches = contract::check(&mut browser, inputs, at(400_000));
    assert!(fetches.len() > 8, "{}", fetches.len());
}
