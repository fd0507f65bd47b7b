package tui

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/lessons"
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

// keepStopItem drops the selection of an item that the stop no longer waits for, so that the next stuck item is selected.
func (m *model) keepStopItem() {
	if p := runningPhase(m.stop); p != nil {
		if it := find(p.Items, m.stopItem, ops.Item.Key); it != nil && !it.State.Over() {
			return
		}
	}
	m.stopItem = ""
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

// recorded is the record of the last stop as it was read at the end; nil if there is none. final is of an embedded gateway.
type recorded struct {
	stop  *ops.Shutdown
	final bool
}

// readRecord reads the record of the last stop after a pause. The end of the process does not wait for that of an embedded
// gateway. Of an attached one that is gone, no look can bring the items of its last events.
func (m *model) readRecord(after, bound time.Duration) tea.Cmd {
	return m.tasks.cmd("read the last record", func(ctx context.Context) tea.Msg {
		pause(ctx, after)
		if ctx.Err() != nil { // the events ended because the console ends, not because the gateway did
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		r := recorded{final: after > 0}
		if s, err := m.console.Shutdown(ctx); err == nil {
			r.stop = &s
		}
		return r
	})
}

// lastRecord asks once for the complete record of the stop of an attached gateway that is gone.
func (m *model) lastRecord() tea.Cmd {
	if m.status.Life == "" || m.recordOf == m.status.Life {
		return nil
	}
	m.recordOf = m.status.Life
	return m.readRecord(0, fetchTimeout)
}

// leaf is the open page of the shutdown view: a stop that runs comes before everything else.
func (m *model) leaf() views.StopPage {
	if m.stopping() != nil {
		return views.StopNow
	}
	return m.stopPage
}

// pageOpen says that a page lies over the list of past lives.
func (m *model) pageOpen() bool {
	return m.view == views.Shutdown && m.stopping() == nil && m.stopPage != views.StopLives
}

// below is the page that esc goes to from the open one.
func (m *model) below() views.StopPage {
	if m.leaf() == views.StopReplay {
		return m.replay.from
	}
	return views.StopLives
}

// life is the selected one of the past lives, nil for none.
func (m *model) life() *ops.Life {
	if m.view != views.Shutdown || m.leaf() == views.StopNow || m.leaf() == views.StopPlan {
		return nil
	}
	if i := m.lists[views.Shutdown].at(); i >= 0 && i < len(m.history.Lives) {
		return &m.history.Lives[i]
	}
	return nil
}

// showHistory puts the open page into a screen.
func (m *model) showHistory(s *views.Screen) {
	s.StopPage = m.leaf()
	switch s.StopPage {
	case views.StopLives:
		s.History = m.history.History
		return
	case views.StopReplay:
		m.showReplay(s)
	case views.StopPlan:
		s.WhatIf = m.showWhatIf()
	case views.StopReport:
		s.Stop, s.Life = nil, m.life()
		if s.Life != nil {
			s.Stop = s.Life.Shutdown
		}
	}
	if s.Stop != nil {
		s.Earlier = lessons.Before(s.Stop.Life, m.history.lives)
	}
	s.Table.Filter = "" // there are no rows that it could have left out
}

func runningPhase(s *ops.Shutdown) *ops.Phase {
	if s == nil {
		return nil
	}
	return find(s.Phases, string(ops.StepRunning), func(p ops.Phase) string { return string(p.State) })
}
