package tui

import (
	"strconv"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// facts is what a key is judged by: where the person is, and what the newest snapshot says of the row under the cursor.
type facts struct {
	view     views.View
	link     views.LinkState
	readOnly bool
	state    ops.State
	stop     *ops.Shutdown // the one that runs, nil if none does

	session *ops.Session
	agent   *ops.Agent
	process *ops.Process
	adapter *ops.Adapter
	phase   *ops.Phase // of stop: the selected item's, else the running one
	item    *ops.Item  // of stop: selected, nil if none is
	page    views.StopPage
	life    *ops.Life
}

// subject is the session that a key about sessions means: the row's own, or the one that owns the row.
func (f facts) subject() string {
	switch {
	case f.session != nil:
		return f.session.Key
	case f.agent != nil:
		return f.agent.Session
	}
	return ""
}

// Rows are known by keys, not by their place: a selection follows its row through sorting and new snapshots.

func sessionKey(s ops.Session) string { return s.Key }
func agentKey(a ops.Agent) string     { return a.Session }
func processKey(p ops.Process) string { return strconv.Itoa(p.PID) }
func adapterKey(a ops.Adapter) string { return a.Name }

// find returns the row with a key, for the rare moments that need the newest one: the key of a press, of a confirmation.
func find[T any](rows []T, key string, of func(T) string) *T {
	if key == "" {
		return nil
	}
	for i := range rows {
		if of(rows[i]) == key {
			return &rows[i]
		}
	}
	return nil
}

// running reports whether the session has a turn that a reset or an interrupt would end.
func running(s *ops.Session) bool {
	return s != nil && (s.Turn != "" || s.State == ops.SessionRunning || s.State == ops.SessionStalled)
}

// expect is what a command names so that it acts on what was seen or on nothing.
func expect(s *ops.Session) string {
	switch {
	case s == nil:
		return ""
	case s.Turn != "":
		return s.Turn
	}
	return s.ID
}

// identify says what a command's target is now: if it reads differently later, what was confirmed is not what is there.
// ok is false if there is no such target any more.
func identify(snap *ops.Snapshot, stop *ops.Shutdown, cmd ops.Command) (is string, ok bool) {
	switch cmd.Verb {
	case ops.VerbReset, ops.VerbEvict, ops.VerbInterrupt:
		s := find(snap.Sessions, cmd.Target, sessionKey)
		if s == nil {
			return "", false
		}
		state := "idle"
		if running(s) {
			state = "turn " + s.Turn
		}
		return s.ID + " " + state + " " + strconv.Itoa(s.Processes), cmd.Verb != ops.VerbInterrupt || running(s)
	case ops.VerbKill:
		p := find(snap.Processes, cmd.Target, processKey)
		if p == nil {
			return "", false
		}
		return strconv.FormatUint(p.StartTicks, 10), true
	case ops.VerbPause, ops.VerbResume, ops.VerbReconnect:
		a := find(snap.AdapterRow, cmd.Target, adapterKey)
		if a == nil {
			return "", false
		}
		return string(a.State), true
	case ops.VerbDrain, ops.VerbStop, ops.VerbRestart:
		var turns []string
		for i := range snap.Sessions {
			if s := &snap.Sessions[i]; running(s) {
				turns = append(turns, s.Key+" "+s.Turn)
			}
		}
		return string(snap.State) + "\n" + strings.Join(turns, "\n"), snap.State != ops.StateStopping || cmd.Verb == ops.VerbStop
	case ops.VerbSkip, ops.VerbForce:
		if stop == nil {
			return "", false
		}
		return identifyLever(stop, cmd)
	}
	return "", true
}

func identifyLever(stop *ops.Shutdown, cmd ops.Command) (string, bool) {
	p, ok := stop.Running()
	if !ok {
		return "", false
	}
	switch {
	case cmd.Phase == "": // force of the whole stop means whatever runs
		return stop.ID, true
	case cmd.Phase != p.Name:
		return "", false
	case cmd.Item == "":
		var left []string
		for _, it := range p.Items {
			if it.State == ops.StepRunning {
				left = append(left, it.Key())
			}
		}
		return p.Name + "\n" + strings.Join(left, "\n"), true
	}
	for _, it := range p.Items {
		if it.Key() == cmd.Item && it.State == ops.StepRunning {
			return p.Name + " " + it.Key(), true
		}
	}
	return "", false
}
