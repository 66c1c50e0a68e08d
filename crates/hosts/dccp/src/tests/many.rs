//! Many clients of one endpoint over sockets of UDP.

use super::*;
use crate::Endpoint;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Each has four files, of which a process may often have 1024.
const CLIENTS: u16 = 200;

/// Returns all data to its sender.
async fn echo(connection: Connection) {
    while let Some(data) = connection.recv().await {
        // The client may be closing already.
        let _ = connection.send_wait(data, None).await;
    }
}

/// Opens a connection, sends data and waits for the same.
async fn client(to: SocketAddr, number: u16) -> (Endpoint, Connection) {
    let with = Addressee::Server(SocketAddr::new(to.ip(), PORT));
    let port = Port::open(&over_udp(with, 3, to.port())).expect("a socket");
    let endpoint = Endpoint::new(port).expect("it runs");
    let connection = endpoint.connect().await.expect("a connection");
    let data = Bytes::copy_from_slice(&[number.to_be_bytes(); 250].concat());
    connection.send(data.clone(), None).expect("it is open");
    assert_eq!(connection.recv().await, Some(data), "client {number}");
    (endpoint, connection)
}

/// All at once: most handshakes are by Init Cookie. Each client gets its own data back, all
/// connections are open at the same time, and all close in order.
#[test]
fn hundreds_of_clients_get_their_own_data_back() {
    let at = Addressee::Anybody("127.0.0.1:17983".parse().expect("an address"));
    let max_connections = CLIENTS.into();
    let request = Request { max_connections, ..over_udp(at, 3, 0) };
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let port = Port::open(&request).expect("a socket");
        let to = port.address().expect("it is bound");
        let server = Endpoint::new(port).expect("it runs");
        let mut clients: JoinSet<_> = (0..CLIENTS).map(|number| client(to, number)).collect();
        let mut echoes = JoinSet::new();
        for _ in 0..CLIENTS {
            echoes.spawn(echo(server.accept().await.expect("it is open")));
        }
        let mut open = Vec::new();
        while let Some(client) = clients.join_next().await {
            open.push(client.expect("no panic"));
        }
        assert_eq!(server.connections(), usize::from(CLIENTS));
        assert!(server.cookies().returned > 0, "{:?}", server.cookies());
        for (_, connection) in &open {
            connection.close();
        }
        for (_, connection) in &open {
            let end = connection.closed().await.map(|(end, _)| end);
            assert_eq!(end, Some(End::Closed));
        }
        echoes.join_all().await;
    });
}
