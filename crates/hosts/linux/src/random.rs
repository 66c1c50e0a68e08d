//! Random bytes of the kernel, for keys and session numbers.

/// Returns a number that cannot be guessed.
///
/// # Errors
/// If the kernel gives no random bytes.
pub fn random() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Fills `bytes` with random ones.
///
/// # Errors
/// If the kernel gives none.
pub fn fill(bytes: &mut [u8]) -> std::io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}
