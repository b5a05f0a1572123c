//! Big-endian reading with bounds.

use anyhow::Context as _;

/// A place in a dump's bytes.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Whether ids have 8 bytes, else 4.
    pub wide: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], position: usize, wide: bool) -> Self {
        Self {
            bytes,
            position,
            wide,
        }
    }

    pub fn position(&self) -> usize {
        self.position
    }

    pub fn is_empty(&self) -> bool {
        self.position >= self.bytes.len()
    }

    pub fn bytes(&mut self, count: usize) -> anyhow::Result<&'a [u8]> {
        let end = self.position.checked_add(count).context("overflow")?;
        let taken = self
            .bytes
            .get(self.position..end)
            .with_context(|| format!("cut at {}", self.position))?;
        self.position = end;
        Ok(taken)
    }

    pub fn skip(&mut self, count: usize) -> anyhow::Result<()> {
        self.bytes(count).map(drop)
    }

    fn array<const N: usize>(&mut self) -> anyhow::Result<[u8; N]> {
        Ok(self.bytes(N)?.try_into()?)
    }

    pub fn u8(&mut self) -> anyhow::Result<u8> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub fn u16(&mut self) -> anyhow::Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> anyhow::Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub fn id(&mut self) -> anyhow::Result<u64> {
        if self.wide {
            Ok(u64::from_be_bytes(self.array()?))
        } else {
            Ok(self.u32()?.into())
        }
    }

    pub fn until_zero(&mut self) -> anyhow::Result<&'a [u8]> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let length = rest.iter().position(|b| *b == 0).context("no end")?;
        let text = self.bytes(length)?;
        self.skip(1)?;
        Ok(text)
    }
}
