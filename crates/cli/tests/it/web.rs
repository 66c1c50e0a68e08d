//! `fairwave web`: requests that are refused, runs, and its end by force.

use crate::common::{ends_with, fairwave, scratch, tiny, tiny_run};
use crate::real::in_namespaces;
use serde_json::{Value, json as value};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A server that ends with the value.
struct Server {
    child: Child,
    /// Host and port.
    host: String,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer: status and body.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// The last line of a run.
    fn result(&self) -> Value {
        let text = std::str::from_utf8(&self.body).expect("text");
        let last = text.lines().rfind(|line| line.contains("answer")).expect("a result");
        serde_json::from_str(last).expect("it is JSON")
    }
}

impl Server {
    fn start(place: &Path) -> Self {
        let mut command = fairwave(place, &["web", "--no-open", "--dir", "runs"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let out = child.stdout.take().expect("piped");
        let line = BufReader::new(out).lines().next().expect("a line").expect("text");
        let rest = line.strip_prefix("http://").expect("an address");
        let (host, token) = rest.split_once('/').expect("a token");
        let token = token.strip_suffix('/').expect("a slash").to_owned();
        Self { child, host: host.to_owned(), token }
    }

    /// Sends a request with these header lines, beside those of every client.
    fn ask(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut client = TcpStream::connect(&self.host).expect("it listens");
        let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n{lines}\r\n");
        client.write_all(head.as_bytes()).expect("it reads");
        // The server may refuse a body before it has read all of it.
        let _ = client.write_all(body);
        let mut bytes = Vec::new();
        let _ = client.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Answer { status, head, body: bytes[end + 4..].to_vec() }
    }

    /// Sends a request as the page would.
    fn of_page(&self, method: &str, path: &str, body: &Value) -> Answer {
        let host = format!("Host: {}", self.host);
        let origin = format!("Origin: http://{}", self.host);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [&host, &origin, "Content-Type: application/json"];
        self.ask(method, &format!("/{}/{path}", self.token), &headers, body.as_bytes())
    }
}

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/show/web")
}

/// A request for a run of the tiny scenario.
fn request(settings: &[&str]) -> Value {
    let text = std::fs::read_to_string(tiny()).expect("a scenario");
    value!({ "file": "tiny.toml", "text": text, "settings": settings })
}

#[test]
fn what_is_not_the_page_is_refused() {
    let place = scratch();
    let server = Server::start(place.path());
    let (host, token) = (format!("Host: {}", server.host), server.token.clone());
    let port = server.host.rsplit(':').next().expect("a port");
    let page = format!("/{token}/");
    let good = server.ask("GET", &page, &[&host], b"");
    assert_eq!(good.status, 200);
    assert!(good.head.contains("frame-ancestors 'none'"), "{}", good.head);
    let last = if token.ends_with('0') { "1" } else { "0" };
    let near = format!("/{}{last}/", &token[..token.len() - 1]);
    for path in ["/", "", "/plan", "//", "/favicon.ico", &near, &page.to_uppercase()] {
        let path = if path.is_empty() { "/x" } else { path };
        for method in ["GET", "POST", "OPTIONS", "PUT"] {
            assert_eq!(server.ask(method, path, &[&host], b"").status, 403, "{method} {path}");
        }
    }
    let foreign = format!("Host: evil.example:{port}");
    assert_eq!(server.ask("GET", &page, &[&foreign], b"").status, 403);
    assert_eq!(server.ask("GET", &page, &[], b"").status, 403);
    for origin in ["null", "http://evil.example", "https://127.0.0.1"] {
        let origin = format!("Origin: {origin}");
        assert_eq!(server.ask("GET", &page, &[&host, &origin], b"").status, 403, "{origin}");
    }
    let plan = format!("{page}plan");
    let form = "Content-Type: text/plain";
    assert_eq!(server.ask("POST", &plan, &[&host, form], b"{}").status, 415);
}

#[test]
fn no_path_leads_out_of_the_directory() {
    let place = scratch();
    std::fs::write(place.path().join("secret.txt"), "secret").expect("a file");
    let server = Server::start(place.path());
    let paths = [
        "../secret.txt",
        "files/../../secret.txt",
        "files/0/../../../secret.txt",
        "files/0/%2e%2e/%2e%2e/secret.txt",
        "show/..",
        "show/%2e%2e",
        "show/../secret.txt",
        "show//etc",
        "files/0//etc/passwd",
        "files/0/summary.json",
    ];
    for path in paths {
        let answer = server.of_page("GET", path, &Value::Null);
        assert_eq!(answer.status, 404, "{path}");
        assert!(!answer.body.windows(6).any(|part| part == b"secret"), "{path}");
    }
}

#[test]
fn a_run_is_that_of_the_command() {
    let place = scratch();
    let run: Vec<String> = tiny_run("beside");
    ends_with(0, place.path(), &run.iter().map(String::as_str).collect::<Vec<_>>());
    let server = Server::start(place.path());
    let settings = ["tcp.congestion_control=reno", "sweep.seeds=1"];
    let planned = server.of_page("POST", "plan", &request(&settings)).json();
    assert_eq!(planned["plan"]["points"].as_array().map(Vec::len), Some(1), "{planned}");
    let result = server.of_page("POST", "run", &request(&settings)).result();
    let files = result["answer"]["run"]["files"].as_array().expect("files").clone();
    assert!(files.len() > 5, "{result}");
    for name in files {
        let name = name.as_str().expect("a name");
        let number = &result["directory"];
        let got = server.of_page("GET", &format!("files/{number}/{name}"), &Value::Null);
        let beside = std::fs::read(place.path().join("beside").join(name)).expect("a file");
        assert_eq!((got.status, got.body == beside), (200, true), "{name}");
    }
    let shown = server.of_page("GET", "show/web-1/run-0", &Value::Null);
    assert_eq!(shown.status, 200);
    assert!(shown.body.starts_with(b"<!DOCTYPE html>"));
    let outside = std::fs::read_dir(place.path()).expect("a directory");
    let mut names: Vec<_> = outside.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["beside", "runs"], "nothing is written elsewhere");
}

#[test]
fn what_costs_too_much_is_refused_in_words() {
    let place = scratch();
    let server = Server::start(place.path());
    let text = "#".repeat(4 << 20);
    let large = server.of_page("POST", "plan", &value!({ "text": text }));
    assert_eq!(large.status, 413);
    let figures = "0".repeat(25 << 20);
    let larger = server.of_page("POST", "means", &value!({ "names": [figures] }));
    assert_eq!(larger.status, 413);
    let long = server.of_page("POST", "run", &request(&["duration=80000 s"])).result();
    let words = long["answer"]["refused"]["text"].as_str().expect("words").to_owned();
    assert!(words.contains("shorten the run"), "{words}");
    let wrong = server.of_page("POST", "plan", &request(&["no.such=1"])).json();
    assert!(wrong["refused"]["diagnostics"][0]["message"].is_string(), "{wrong}");
    let wrong = server.of_page("POST", "means", &value!({ "names": 1 })).json();
    assert!(wrong["refused"]["text"].is_string(), "{wrong}");
}

#[test]
fn a_hundred_clients_are_answered() {
    let place = scratch();
    let server = Server::start(place.path());
    // Clients that send half a request hold places for a while; they do not hold all.
    let half = |_| {
        let mut client = TcpStream::connect(&server.host).expect("it listens");
        client.write_all(b"GET / HT").expect("it reads");
        client
    };
    let idle: Vec<TcpStream> = (0..10).map(half).collect();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = |_| scope.spawn(|| server.of_page("POST", "plan", &request(&[])).status);
        let clients: Vec<_> = (0..100).map(ask).collect();
        clients.into_iter().map(|client| client.join().expect("it ends")).collect()
    });
    assert_eq!(statuses, [200; 100]);
    drop(idle);
}

#[test]
fn a_killed_server_leaves_no_run_that_is_taken_for_whole() {
    let place = scratch();
    let mut server = Server::start(place.path());
    let body = request(&["duration=10000 s", "tcp.congestion_control=reno"]).to_string();
    let mut client = TcpStream::connect(&server.host).expect("it listens");
    let head = format!(
        "POST /{}/run HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        server.token,
        server.host,
        body.len()
    );
    client.write_all(head.as_bytes()).expect("it reads");
    // The first report comes when the run is under way.
    let lines = BufReader::new(client).lines();
    let found = lines.map_while(Result::ok).find(|line| line.contains("progress"));
    assert!(found.is_some(), "it reports");
    server.child.kill().expect("it runs");
    server.child.wait().expect("it ends");
    let begun = place.path().join("runs/web-1/run-0");
    assert!(begun.join("scenario.toml").exists(), "the run had begun");
    assert!(!begun.join("summary.json").exists());
    let again = Server::start(place.path());
    assert_eq!(again.of_page("GET", "show/web-1/run-0", &Value::Null).status, 404);
    let (_, error) = ends_with(1, place.path(), &["show", "runs", "--out", "page.html"]);
    assert!(error.contains("no complete run is there"), "{error}");
}

/// Writes a program that asks for its argument, creates `asked` if it gets an answer, and stays
/// until somebody writes into `release`.
fn browser_in_foreground(place: &Path) -> PathBuf {
    let made = Command::new("mkfifo").arg(place.join("release")).status();
    assert!(made.expect("mkfifo starts").success());
    let ask = "import sys, urllib.request as ask; ask.urlopen(sys.argv[1]).read()";
    let script =
        format!("#!/bin/sh\npython3 -c '{ask}' \"$1\" && touch asked && cat release > /dev/null\n");
    let browser = place.join("browser");
    std::fs::write(&browser, script).expect("a script");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&browser, mode).expect("it can be executed");
    browser
}

#[test]
fn a_browser_in_the_foreground_gets_the_page() {
    let place = scratch();
    let browser = browser_in_foreground(place.path());
    let mut command = fairwave(place.path(), &["web", "--dir", "runs"]);
    command.env("BROWSER", browser).stdout(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    while !place.path().join("asked").exists() {
        assert_eq!(child.try_wait().expect("it is ours"), None, "it has ended");
        std::thread::yield_now();
    }
    let kill = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "while the browser is there");
    std::fs::write(place.path().join("release"), "").expect("the browser reads it");
}

#[test]
fn a_server_without_a_browser_ends_with_a_remedy() {
    let place = scratch();
    let mut command = fairwave(place.path(), &["web", "--dir", "runs"]);
    let output = command.env("BROWSER", "").env("PATH", "/nowhere").output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("set BROWSER") && error.contains("--no-open"), "{error}");
}

#[test]
fn a_page_is_written_only_with_a_module() {
    let place = scratch();
    ends_with(2, place.path(), &["web", "--page", "lab.html"]);
    std::fs::write(place.path().join("m.wasm"), b"\0asm").expect("a file");
    ends_with(0, place.path(), &["web", "--page", "lab.html", "--module", "m.wasm"]);
    let page = std::fs::read_to_string(place.path().join("lab.html")).expect("a page");
    assert!(!page.contains(" src=") && !page.contains("<link"), "it loads nothing");
}

/// SHAKE, DCCP, an access point and an emulation on two hosts, seen in Chromium, and two ends.
#[test]
fn its_page_shows_live_tools() {
    let script = web().join("tests/live.js");
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/steered-home.toml");
    let args = ["shows", script.to_str().expect("text"), home.to_str().expect("text")];
    let Some(found) = in_namespaces("live.py", &args) else { return };
    assert_eq!(found["code"], 0, "{found:#}");
    let titles = found["titles"].as_array().expect("titles").iter();
    let ended: String =
        titles.map(|title| format!("{}: ended\n", title.as_str().expect("a title"))).collect();
    assert_eq!(found["said"], ended, "{found:#}");
}

/// The page of the server by pointer and keys, by axe, light and dark, wide and narrow.
#[test]
fn its_page_is_usable_in_a_browser() {
    assert!(
        web().join("node_modules/playwright-core").exists(),
        "`cargo xtask test` installs what the tests need; by hand: npm ci --prefix {}",
        web().display()
    );
    let place = scratch();
    let server = Server::start(place.path());
    assert_eq!(server.of_page("GET", "live", &Value::Null).status, 200);
    let figures = server.of_page("GET", "live/figures", &Value::Null);
    assert!(figures.json().is_array(), "tools of other tests may run");
    let output = Command::new("node")
        .arg(web().join("tests/laboratory.js"))
        .arg(format!("http://{}/{}/", server.host, server.token))
        .output()
        .expect("node starts; `cargo xtask test` installs it");
    let out = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}{error}");
    assert!(out.contains("tours: good\n"), "{out}");
}
