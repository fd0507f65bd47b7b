package tui

import (
	"strconv"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// keyContext is what a key is judged by: where the person is, and what the newest snapshot says of the row under the cursor.
type keyContext struct {
	view     views.View
	link     views.LinkState
	readOnly bool
	state    ops.State
	gateway  string        // its life
	stop     *ops.Shutdown // the one that runs, nil if none does

	session *ops.Session
	agent   *ops.Agent
	process *ops.Process
	adapter *ops.Adapter
	phase   *ops.Phase // of stop: the selected item's, else the running one
	item    *ops.Item  // of stop: selected, nil if none is
	page    views.StopPage
	life    *ops.Life
	now     time.Time
}

// subject is the session that a key about sessions means: the row's own, or the one that owns the row.
func (f keyContext) subject() string {
	switch {
	case f.session != nil:
		return f.session.Key
	case f.agent != nil:
		return f.agent.Session
	}
	return ""
}

// busy reports whether the row's session or agent runs a turn, or may begin its next one at any moment.
func (f keyContext) busy() bool { return busy(f.session, f.now) || f.agent != nil && f.agent.Busy }

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

// lately is how long after its last activity a session counts as busy: one whose client sends its next message as soon as it
// has an answer runs no turn for moments at a time.
const lately = 2 * time.Second

// busy reports whether the session runs a turn, or may begin its next one at any moment.
func busy(s *ops.Session, now time.Time) bool {
	if s == nil {
		return false
	}
	since := now.Sub(s.LastActivityAt.Time)
	return running(s) || since >= 0 && since < lately
}
