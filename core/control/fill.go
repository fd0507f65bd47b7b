package control

import "gatewaytui/core/ops"

// Scripts loop over arrays: one that is empty is [] on the wire, never null.

func filled[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func fillStatus(s *ops.Status) { s.Warnings, s.Limits = filled(s.Warnings), filled(s.Limits) }

func fillSnapshot(s *ops.Snapshot) {
	fillStatus(&s.Status)
	s.Sessions = filled(s.Sessions)
	s.Agents = filled(s.Agents)
	s.Processes = filled(s.Processes)
	s.Adapters = filled(s.Adapters)
	s.Background = filled(s.Background)
	if s.Shutdown != nil {
		fillShutdown(s.Shutdown)
	}
}

func fillShutdown(s *ops.Shutdown) {
	s.Phases = filled(s.Phases)
	for i := range s.Phases {
		s.Phases[i].Items = filled(s.Phases[i].Items)
	}
}

func fillPreview(p *ops.Preview) {
	for _, list := range []*[]string{&p.WaitsFor, &p.Interrupt, &p.Closes, &p.Kills, &p.Keeps, &p.Loses} {
		*list = filled(*list)
	}
}
