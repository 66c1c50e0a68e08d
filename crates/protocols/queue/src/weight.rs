//! Shares of hosts, and virtual times that are divided by them.

/// Weight of a host against others: a fixed-point number with 16 bits behind the point.
///
/// Schedulers serve backlogged hosts in proportion to their weights. A host of weight zero is not
/// served while it weighs nothing; its packets wait within its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(pub u32);

impl Weight {
    /// Nothing: the host is not served.
    pub const ZERO: Self = Self(0);
    /// One, the default weight of a host.
    pub const ONE: Self = Self(1 << 16);

    /// Whether the host is not to be served.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The product of both: never zero unless one of them is.
    pub(crate) fn times(self, other: Self) -> Self {
        let product = (u64::from(self.0) * u64::from(other.0)) >> 16;
        let min = u64::from(!self.is_zero() && !other.is_zero());
        Self(u32::try_from(product.max(min)).unwrap_or(u32::MAX))
    }
}

/// Virtual time that `bytes` of a host with this weight take: 2^-32 bytes per unit of weight, so
/// that 40 bytes of weight one are two million.
pub(crate) const fn stretch(bytes: u32, weight: Weight) -> u64 {
    ((bytes as u64) << 32) / weight.0 as u64
}

/// Returns the new place of a tag when its host's weight changes: the part ahead of `now` is
/// remaining work, which now takes `old / new` of the virtual time. The past stays.
pub(crate) fn restamp(tag: u64, now: u64, old: Weight, new: Weight) -> u64 {
    if tag <= now {
        return tag;
    }
    let ahead = u128::from(tag - now) * u128::from(old.0) / u128::from(new.0);
    now.saturating_add(u64::try_from(ahead).unwrap_or(u64::MAX))
}

/// Lead of a host over the fluid system when it lost its weight, in the virtual time of the weight
/// that it had. It is still ahead when it has weight again, however much others were served
/// meanwhile: the fluid system did nothing for it. A new busy period owes nothing to the one
/// before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    ahead: u64,
    weight: Weight,
    period: u64,
}

impl Lead {
    pub(crate) const NONE: Self = Self { ahead: 0, weight: Weight::ZERO, period: 0 };

    /// Of a host of this `weight` that was served up to the tag `served`, in the busy period of
    /// this number.
    pub(crate) fn of(served: u64, now: u64, weight: Weight, period: u64) -> Self {
        Self { ahead: served.saturating_sub(now), weight, period }
    }

    /// The tag up to which the host counts as served, now that it has weight again.
    pub(crate) fn tag(self, now: u64, weight: Weight, period: u64) -> u64 {
        if self.period != period {
            return now;
        }
        restamp(now.saturating_add(self.ahead), now, self.weight, weight)
    }
}

/// Virtual times above this are moved back by their common part.
pub(crate) const REBASE_AT: u64 = 1 << 62;
