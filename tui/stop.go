package tui

import (
	"slices"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

func (m *model) stopping() *ops.Shutdown {
	if m.stop == nil || m.ended || m.link.State == views.LinkGone || m.status.State != ops.StateStopping {
		return nil
	}
	return m.stop
}

// sawStop takes a shutdown's report in, and opens its view once for each stop.
func (m *model) sawStop(s *ops.Shutdown) {
	fresh := m.stop == nil || m.stop.ID != s.ID
	if !fresh {
		s = further(m.stop, s)
	}
	m.stop = s
	if m.status.State != ops.StateStopping {
		return
	}
	m.saw = s.ID
	if fresh || !m.opened {
		m.opened, m.ended, m.stopPage = true, false, views.StopNow
		m.link.Paused = false
		if m.view != views.Shutdown {
			m.back, m.view = m.view, views.Shutdown
		}
		m.stopItem = ""
		if fresh {
			m.happened(stopBegan)
		}
	}
	m.keepStopItem()
}

// further is next with what the last one knew better: an answer that was on its way while events overtook it.
func further(last, next *ops.Shutdown) *ops.Shutdown {
	if !last.EndedAt.IsZero() && next.EndedAt.IsZero() {
		return last
	}
	return withPhases(next, last.Phases)
}

// withPhases is s with those of phases that have come further.
func withPhases(s *ops.Shutdown, phases []ops.Phase) *ops.Shutdown {
	merged := *s
	merged.Phases = slices.Clone(s.Phases)
	for i := range merged.Phases {
		was := &merged.Phases[i]
		p := find(phases, was.Name, func(p ops.Phase) string { return p.Name })
		if p != nil && !was.State.Over() && (p.State.Over() || was.State == ops.StepPending) {
			*was = *p
		}
	}
	return &merged
}

// stopMoved takes a phase's end out of its event: of the last phases of a gateway in another process no look brings word,
// for its socket is gone.
func (m *model) stopMoved(e ops.Event) {
	change, ok := ops.PayloadOf[ops.PhaseChange](e)
	if ok && m.stop != nil && m.stop.Life == m.status.Life {
		m.stop = withPhases(m.stop, []ops.Phase{change.Phase})
	}
}

func (m *model) stopEnded(e ops.Event) {
	if m.stop == nil || m.stop.ID != e.Subject {
		return
	}
	m.ended = true
	end := *m.stop
	end.EndedAt = e.At
	if said, ok := ops.PayloadOf[ops.ShutdownEnd](e); ok && said.Outcome != "" {
		end.Outcome, end.ElapsedMS, end.ExitCode = said.Outcome, said.ElapsedMS, said.ExitCode
	}
	m.stop = &end
	m.say("the stop has ended: " + end.Outcome)
}
