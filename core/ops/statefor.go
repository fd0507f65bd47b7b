package ops

import "gatewaytui/core/text"

// StateFor is the state of a gateway for people, and how long the gateway has been in it. While it drains or stops, that is
// not the time since its start.
func (s Status) StateFor() string {
	up := text.Millis(s.UptimeMS)
	switch {
	case s.State == StateDraining && s.Drain != nil:
		by := ""
		if s.Drain.By != "" {
			by = " by " + text.Words(s.Drain.By)
		}
		return text.Words(s.State) + " for " + text.Ago(s.Drain.Since.Time) + by + ", started " + up + " ago"
	case s.State == StateDraining || s.State == StateStopping:
		return text.Words(s.State) + ", started " + up + " ago"
	}
	return text.Words(s.State) + " for " + up
}
