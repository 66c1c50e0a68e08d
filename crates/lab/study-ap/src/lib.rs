//! What stations get of an access point: its buffer, the fairness of who shares it, and a target
//! bandwidth by TCP-AV.

mod ap_buffer;
mod fairness;
mod tcp_av;

pub use ap_buffer::ApBuffer;
pub use fairness::Fairness;
pub use tcp_av::TcpAv;
