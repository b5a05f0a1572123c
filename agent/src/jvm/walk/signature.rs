//! Stand-in for the core's signature until it lands: short ids of a chain and of its leak identity.

use chain_core::ShortId;
use chain_core::chain::{Chain, EdgeKind};

/// (signature of the whole path, identity up to the growing container).
#[must_use]
pub fn short_ids(chain: &Chain) -> (ShortId, ShortId) {
    let grows = chain.hops.iter().rposition(|hop| hop.fan_out > 1);
    let mut signature = Fnv::new(chain);
    let mut identity = Fnv::new(chain);
    for (at, hop) in chain.hops.iter().enumerate() {
        signature.hop(hop.edge.kind, hop.edge.name.as_deref(), &hop.class);
        if grows.is_none_or(|last| at <= last) {
            identity.hop(hop.edge.kind, hop.edge.name.as_deref(), &hop.class);
        }
    }
    (ShortId(signature.0), ShortId(identity.0))
}

struct Fnv(u32);

impl Fnv {
    fn new(chain: &Chain) -> Self {
        let mut hash = Self(0x811C_9DC5);
        hash.text(chain.root.kind.name());
        hash.text(chain.root.class.as_deref().unwrap_or_default());
        hash.text(chain.root.field.as_deref().unwrap_or_default());
        hash.text(&super::roots::pool_of(
            chain.root.thread.as_deref().unwrap_or_default(),
        ));
        hash
    }

    fn text(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }

    fn hop(&mut self, kind: EdgeKind, name: Option<&str>, class: &str) {
        self.text(kind.name());
        self.text(name.unwrap_or_default());
        self.text(class);
    }
}
