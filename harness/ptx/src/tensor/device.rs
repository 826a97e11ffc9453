//! Tensor maps that a kernel builds: `tensormap.replace` and `tensormap.cp_fenceproxy`.

use super::map::{TENSOR_MAP_BYTES, field_range};
use crate::lanes::lanes_of;
use crate::machine::{Machine, Stop};
use crate::op::{Address, MapCopy, MapReplacement};
use crate::warp::Warp;

impl Machine<'_> {
    /// Writes a field of the tensor map at an address.
    pub(crate) fn replace_map(
        &mut self,
        warp: &mut Warp,
        replacement: &MapReplacement,
        lanes: u32,
    ) -> Result<(), Stop> {
        self.look_at_address(warp, &replacement.address, lanes);
        let (at, len) = field_range(replacement.field);
        for lane in lanes_of(lanes) {
            let value = warp.registers[replacement.value as usize][lane].to_le_bytes();
            let known = warp.defined[replacement.value as usize] >> lane & 1 == 1;
            let field = Address {
                offset: replacement.address.offset.wrapping_add(at as i64),
                ..replacement.address
            };
            Self::compute_address(warp, &replacement.address, lane, TENSOR_MAP_BYTES)
                .and_then(|_| self.locate(warp, &field, lane, len))
                .and_then(|target| self.write(warp, lane, target, &value[..len], known, false))
                .map_err(|kind| self.trap(warp, lane, kind))?;
        }
        Ok(())
    }

    /// Copies a tensor map from shared to global memory, once for the warp.
    pub(crate) fn copy_map(&mut self, warp: &mut Warp, copy: &MapCopy, lanes: u32) -> Result<(), Stop> {
        let lane = lanes.trailing_zeros() as usize & 31;
        self.look_at_address(warp, &copy.from, lanes);
        self.look_at_address(warp, &copy.to, lanes);
        let mut map = [0; TENSOR_MAP_BYTES];
        let locate = |warp: &Warp, address: &Address| {
            Self::compute_address(warp, address, lane, TENSOR_MAP_BYTES)
                .and_then(|_| self.locate(warp, address, lane, TENSOR_MAP_BYTES))
                .map_err(|kind| self.trap(warp, lane, kind))
        };
        let (from, to) = (locate(warp, &copy.from)?, locate(warp, &copy.to)?);
        let known = self.read(warp, lane, from, &mut map, false);
        self.write(warp, lane, to, &map, known, false)
            .map_err(|kind| self.trap(warp, lane, kind))?;
        self.record_map(warp, to);
        let epoch = self.new_epoch();
        warp.advance(epoch);
        Ok(())
    }
}
