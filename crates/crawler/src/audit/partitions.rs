//! A crawl on many machines: each host is in one partition, that of its registrable domain.

use std::collections::HashMap;

use super::{AuditError, Check};
use crate::frontier::stored_hosts;
use crate::post;
use crate::store::AnyStore;

/// Judges where the hosts are. Cost: one pass over the hosts. Memory: 16 bytes and more for each.
pub(super) fn judge(parts: &[AnyStore]) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "partitions",
        "each host is in one partition, the one that its registrable domain belongs to",
    );
    let of = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let mut known: HashMap<[u8; 8], u32> = HashMap::new();
    for (part, store) in (0_u32..).zip(parts) {
        for host in stored_hosts(store)? {
            let host = host?.1.host;
            check.case();
            let right = post::partition(&host, of);
            if right != part {
                check.broken(&host, None, format!("in partition {part}; it belongs to {right}"));
            }
            let hash = blake3::hash(host.as_bytes());
            let first = hash.as_bytes().first_chunk().copied().unwrap_or_default();
            if let Some(before) = known.insert(first, part) {
                check.broken(&host, None, format!("in the partitions {before} and {part}"));
            }
        }
    }
    Ok(check)
}
