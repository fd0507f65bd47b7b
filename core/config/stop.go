package config

import "gatewaytui/core/shutdown"

// StopBudgets are what this config gives the phases of a stop.
func (c Config) StopBudgets() shutdown.Budgets {
	s := c.Shutdown
	return shutdown.Budgets{
		Drain: s.DrainTimeout.Duration, Notify: s.NotifyTimeout.Duration, InterruptGrace: s.InterruptGrace.Duration,
		KillGrace: c.Process.KillGrace.Duration, Agent: s.AgentTimeout.Duration, Adapter: s.AdapterTimeout.Duration,
		Background: s.BackgroundTimeout.Duration, Store: s.StoreTimeout.Duration,
	}
}
