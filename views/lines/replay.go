package lines

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// waited is how long a phase waits before a replay says what for.
const waited = time.Second

// Replay prints a past stop as it was followed when it ran: a line for what began or ended, with its moment. wait is called
// before what came d after the beginning of the stop is printed; an error of it ends the replay and is returned.
func (p Printer) Replay(s ops.Shutdown, wait func(d time.Duration) error) error {
	past := map[string]ops.StepState{}
	moments := s.Moments()
	for i, at := range moments {
		if err := wait(at); err != nil {
			return err
		}
		now := s.At(at)
		for _, line := range changes(now, past) {
			p.Say("%8s  %s", seconds(at), line)
		}
		if blockers := now.Blockers(); len(blockers) > 0 && i+1 < len(moments) && moments[i+1]-at > waited {
			if err := wait(at + waited); err != nil {
				return err
			}
			p.waitsThen(s.At(at+waited), at+waited)
		}
	}
	return nil
}

// waitsThen says what the stop waited for in a moment.
func (p Printer) waitsThen(s ops.Shutdown, at time.Duration) {
	phase, _ := s.Running()
	for i, b := range s.Blockers() {
		if i == MaxShown {
			p.Say("%8s  %-11s and for %d more", seconds(at), phase.Name, len(s.Blockers())-i)
			return
		}
		b.Detail = "what it waited for then is unknown"
		p.Say("%8s  %-11s waits for %s", seconds(at), phase.Name, Blocker(s, b))
	}
}

// seconds is a moment of a stop.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// changes are the phases that began or ended since past, and the items that ended badly. It brings past up to date.
func changes(s ops.Shutdown, past map[string]ops.StepState) (out []string) {
	changed := func(key string, state ops.StepState) bool {
		was := past[key]
		past[key] = state
		return was != state && state != ops.StepPending
	}
	for _, ph := range s.Phases {
		began := changed(ph.Name, ph.State)
		if began && ph.State == ops.StepRunning {
			out = append(out, Phase(ph))
		}
		for _, it := range ph.Items {
			if changed(ph.Name+"\n"+it.Key(), it.State) && EndedBadly(it) {
				out = append(out, Item(ph.Name, it))
			}
		}
		if began && ph.State != ops.StepRunning {
			out = append(out, Phase(ph))
		}
	}
	return out
}
