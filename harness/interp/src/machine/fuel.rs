//! Fuel: the budget of the running program, and the rest of the launch's fuel for later ones. Part of the budget is held back in a
//! reserve, so that the watch is checked each time the other part is used up.

use super::Machine;
use crate::outcome::Stop;
use crate::watch;

impl Machine<'_> {
    /// Uses fuel.
    #[inline]
    pub(crate) fn spend(&mut self, cost: u64) -> Result<(), Stop> {
        if let Some(left) = self.fuel.checked_sub(cost) {
            self.fuel = left;
            return Ok(());
        }
        self.spend_held(cost)
    }

    /// Uses fuel from the reserve too, and checks the watch.
    #[cold]
    fn spend_held(&mut self, cost: u64) -> Result<(), Stop> {
        self.config.watch.look()?;
        let Some(left) = self.fuel.saturating_add(self.reserve).checked_sub(cost) else {
            (self.fuel, self.reserve) = (0, 0);
            return Err(Stop::out_of_fuel(self.fuel_limit()));
        };
        self.hold_back(left);
        Ok(())
    }

    /// Splits the program's remaining fuel into the part until the next check of the watch and the reserve.
    fn hold_back(&mut self, left: u64) {
        self.fuel = left.min(watch::FUEL);
        self.reserve = left - self.fuel;
    }

    /// Gives the next program its fuel.
    pub(crate) fn refuel(&mut self) {
        self.launch_fuel = self.fuel_left();
        self.budget = self.config.program_fuel.min(self.launch_fuel);
        self.launch_fuel -= self.budget;
        self.hold_back(self.budget);
    }

    /// The fuel that the running program has used.
    pub(crate) const fn used(&self) -> u64 {
        self.budget - self.reserve - self.fuel
    }

    /// The remaining fuel of the launch, with that of the running program.
    pub(crate) const fn fuel_left(&self) -> u64 {
        self.launch_fuel + self.reserve + self.fuel
    }

    /// Subtracts the fuel of programs that other threads ran.
    pub(crate) const fn deduct_fuel(&mut self, used: u64) {
        self.launch_fuel = self.fuel_left().saturating_sub(used);
        (self.fuel, self.reserve) = (0, 0);
    }

    /// Sets the launch's remaining fuel to `left`, to undo a run that must not count.
    pub(crate) const fn restore(&mut self, left: u64) {
        (self.fuel, self.reserve, self.launch_fuel) = (0, 0, left);
    }

    /// The limit to report if the running program is out of fuel.
    pub(crate) fn fuel_limit(&self) -> u64 {
        if self.budget == self.config.program_fuel {
            self.budget
        } else {
            self.config.fuel
        }
    }
}
