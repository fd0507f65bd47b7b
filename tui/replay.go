package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// replay plays a past stop back from its report (OP6). Nothing that it shows is live, and no key of it reaches the gateway.
type replay struct {
	views.Replay // as it is drawn
	report       ops.Shutdown
	from         views.StopPage // where esc goes
	drawnAt      time.Time      // when At was right
	number       int            // of the replay: a step of an earlier one is too late
}

// replaySpeeds are how many seconds of the stop go by in a second.
var replaySpeeds = []float64{0.1, 0.25, 0.5, 1, 2, 5, 10, 50}

// replayGap is the time between two frames of a replay.
const replayGap = 100 * time.Millisecond

// replayStep is the time for the next frame of a replay.
type replayStep struct{ number int }

func replayBindings() []binding {
	on := []views.StopPage{views.StopReplay}
	return []binding{
		{
			action: "replay", keys: []string{"v"}, label: "replay", help: "play a past stop back at its own pace, from its report", in: ofStop,
			pages: []views.StopPage{views.StopNow, views.StopLives, views.StopReport}, disabledReason: needsReport, do: (*model).startReplay,
		},
		{action: "replay-pause", keys: []string{" "}, label: "pause", help: "in a replay: pause it, or let it go on", in: ofStop, pages: on, disabledReason: needsReplay, do: (*model).pauseReplay},
		{action: "replay-slower", keys: []string{"<"}, label: "slower", help: "in a replay: slower", in: ofStop, pages: on, disabledReason: needsReplay, do: func(m *model) tea.Cmd { return m.speedReplay(-1) }},
		{action: "replay-faster", keys: []string{">"}, label: "faster", help: "in a replay: faster", in: ofStop, pages: on, disabledReason: needsReplay, do: func(m *model) tea.Cmd { return m.speedReplay(1) }},
		{action: "replay-back", keys: []string{"left", "h"}, label: "step back", help: "in a replay: back to the change before this moment", in: ofStop, pages: on, disabledReason: needsReplay, do: func(m *model) tea.Cmd { return m.stepReplay(-1) }},
		{action: "replay-forward", keys: []string{"right", "l"}, label: "step", help: "in a replay: on to the next change", in: ofStop, pages: on, disabledReason: needsReplay, do: func(m *model) tea.Cmd { return m.stepReplay(1) }},
	}
}

// needsReplay is for the keys of a replay, which the palette reaches from everywhere.
func needsReplay(f keyContext) string {
	if f.page != views.StopReplay || f.view != views.Shutdown {
		return "no replay is open; v on a past life opens one"
	}
	return ""
}

func needsReport(f keyContext) string {
	switch {
	case f.view != views.Shutdown:
		return "a past stop is played back in view 6"
	case f.stop != nil:
		return needsNoRunningStop(f)
	case f.page == views.StopNow && f.last != nil:
		return ""
	case f.life == nil:
		return "no life is selected"
	case f.life.Shutdown == nil:
		return "this life left no report of a stop"
	}
	return ""
}

// startReplay plays back the report on the screen, or that of the selected life.
func (m *model) startReplay() tea.Cmd {
	report := m.stop
	if life := m.life(); life != nil {
		report = life.Shutdown
	}
	if report == nil {
		return nil
	}
	number := 1
	if m.replay != nil {
		number = m.replay.number + 1
	}
	m.replay = &replay{
		Replay: views.Replay{Speed: 1, Took: report.Took()}, report: *report,
		from: m.leaf(), drawnAt: time.Now(), number: number,
	}
	m.stopPage, m.stale = views.StopReplay, true
	m.resize()
	return m.nextReplayStep()
}

func (m *model) nextReplayStep() tea.Cmd {
	number := m.replay.number
	return m.tasks.cmd("replay", func(ctx context.Context) tea.Msg {
		pause(ctx, replayGap)
		return replayStep{number}
	})
}

// onReplayStep shows the next moment, unless the replay was left.
func (m *model) onReplayStep(s replayStep) tea.Cmd {
	r := m.playing()
	if r == nil || r.number != s.number {
		return nil
	}
	r.advance(time.Now())
	m.stale = true
	return m.nextReplayStep()
}

// playing is the open replay, nil if there is none.
func (m *model) playing() *replay {
	if m.view != views.Shutdown || m.leaf() != views.StopReplay {
		return nil
	}
	return m.replay
}

// advance moves on by what has gone by.
func (r *replay) advance(now time.Time) {
	if !r.Paused {
		r.At = min(r.At+time.Duration(float64(now.Sub(r.drawnAt))*r.Speed), r.Took)
	}
	r.drawnAt = now
}

func (m *model) pauseReplay() tea.Cmd {
	r := m.playing()
	if r.At >= r.Took { // again from the beginning
		r.At, r.Paused = 0, true
	}
	r.Paused, r.drawnAt, m.stale = !r.Paused, time.Now(), true
	return nil
}

func (m *model) speedReplay(by int) tea.Cmd {
	r := m.playing()
	i := slices.Index(replaySpeeds, r.Speed) + by
	r.Speed, m.stale = replaySpeeds[min(max(i, 0), len(replaySpeeds)-1)], true
	m.say(fmt.Sprintf("the replay runs at %gx", r.Speed))
	return nil
}

// stepReplay goes to the next moment at which something changed, or back, and pauses there.
func (m *model) stepReplay(by int) tea.Cmd {
	r := m.playing()
	r.advance(time.Now())
	r.Paused, m.stale = true, true
	moments := r.report.Moments()
	if by < 0 {
		i := slices.IndexFunc(moments, func(d time.Duration) bool { return d >= r.At })
		r.At = moments[max(i-1, 0)]
		return nil
	}
	if i := slices.IndexFunc(moments, func(d time.Duration) bool { return d > r.At }); i >= 0 {
		r.At = moments[i]
	}
	return nil
}

// showReplay puts the moment of the replay into a screen, and nothing of the gateway that runs now.
func (m *model) showReplay(s *views.Screen) {
	r := m.replay
	report := r.report.At(r.At)
	shown := r.Replay
	s.Replay, s.Stop, s.Life, s.Events = &shown, &report, nil, nil
	s.Now = r.report.StartedAt.Add(r.At)
	s.Link = views.Link{State: views.LinkLive, At: s.Now, Attached: s.Link.Attached, ReadOnly: true}
	s.Snap = ops.Snapshot{Status: ops.Status{State: ops.StateStopping, Life: report.Life}}
}
