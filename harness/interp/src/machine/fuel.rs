//! Fuel: the budget of a program, and the rest for later ones. Part of it is held back, so that the watch is checked at
//! intervals.

use super::Machine;
use crate::outcome::Stop;
use crate::watch;

impl Machine<'_> {
    /// Uses fuel up.
    #[inline]
    pub(crate) fn spend(&mut self, cost: u64) -> Result<(), Stop> {
        if let Some(left) = self.fuel.checked_sub(cost) {
            self.fuel = left;
            return Ok(());
        }
        self.spend_held(cost)
    }

    /// Uses up what is held back too, and looks at the watch.
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

    /// Hands out the first part of the fuel.
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

    /// The fuel of all programs that have not run.
    pub(crate) const fn fuel_left(&self) -> u64 {
        self.launch_fuel + self.reserve + self.fuel
    }

    /// Takes away what programs used that ran elsewhere.
    pub(crate) const fn deduct_fuel(&mut self, used: u64) {
        self.launch_fuel = self.fuel_left().saturating_sub(used);
        (self.fuel, self.reserve) = (0, 0);
    }

    /// Takes back what the program that runs has used, so that there is as much as `left`.
    pub(crate) const fn restore(&mut self, left: u64) {
        (self.fuel, self.reserve, self.launch_fuel) = (0, 0, left);
    }

    /// The limit that a program meets which runs out of fuel.
    pub(crate) fn fuel_limit(&self) -> u64 {
        if self.budget == self.config.program_fuel {
            self.budget
        } else {
            self.config.fuel
        }
    }
}
