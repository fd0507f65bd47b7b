package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
)

// The choices of a question: keys that change what its answer would do. Each arms the keys again, because it is the
// person's own key.

// choose takes a key that makes a choice, and reports whether the question has that choice.
func (q *question) choose(m *model, key string) (cmd tea.Cmd, chosen bool) {
	if q.cmds == nil {
		return nil, false
	}
	switch verb := q.cmds[0].Verb; {
	case key == "m" && verb == ops.VerbStop:
		modes := []ops.Mode{ops.ModeGraceful, ops.ModeFast, ops.ModeImmediate}
		q.setMode(modes[(slices.Index(modes, q.cmds[0].Mode)+1)%len(modes)])
	case key == "c" && verb == ops.VerbEvict && (q.closes || len(q.cmds) == 1) && len(q.busy) == 0:
		q.setClose(m.snapshot(), !q.closes)
	case key == "i" && len(q.busy) > 0:
		q.setBusy(!q.busyToo)
	default:
		return nil, false
	}
	q.noteTargets(m)
	q.focus, q.facts, q.known = 0, nil, false
	return tea.Batch(q.arm(m), q.preview(m)), true
}

// setMode chooses the strength of a stop; the strongest asks for a word.
func (q *question) setMode(mode ops.Mode) {
	q.cmds[0].Mode = mode
	q.title = "Stop " + q.gateway + " (" + string(mode) + ")?"
	q.note = "m changes the mode: graceful, fast, immediate"
	q.want, q.typed, q.tier = "", nil, withDialog
	switch mode {
	case ops.ModeFast:
		q.text = []string{"Fast: running turns are interrupted at once, then everything is closed in order."}
	case ops.ModeImmediate:
		q.text = []string{"Immediate: turns are cut off, processes killed, the stores closed. Type the word to confirm."}
		q.want, q.typed, q.tier = "immediate", newInput(""), withWord
		q.note = "tab, then m, changes the mode: graceful, fast, immediate"
	default:
		finish := "may finish"
		if q.drain > 0 {
			finish = "get up to " + seconds(q.drain) + " to finish"
		}
		q.text = []string{"Graceful: running turns " + finish + ", then everything is closed in order."}
	}
}

// seconds is a duration in seconds, for a sentence: "60 s".
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

// setClose chooses whether an eviction keeps the session's process trees or ends them too (DESIGN.md, 8.2). Without any
// there is nothing to choose.
func (q *question) setClose(snap *ops.Snapshot, on bool) {
	evict := q.cmds[0]
	q.cmds, q.closes = []ops.Command{evict}, false
	choice := ""
	var kills []ops.Command
	for _, p := range snap.Processes {
		if p.Session == evict.Target && p.State != "killing" {
			kills = append(kills, ops.Command{Verb: ops.VerbKill, Target: processKey(p)})
		}
	}
	switch {
	case len(kills) > 0 && on:
		q.cmds, q.closes = append(q.cmds, kills...), true
		choice = "c keeps the processes"
	case len(kills) > 0:
		choice = "c ends the session's processes too"
	}
	q.note = strings.TrimSpace(q.left + " " + choice)
	q.nameEviction(running(find(snap.Sessions, evict.Target, sessionKey)))
}

// nameEviction writes the words of the eviction of one agent, with a turn of it that runs or without one.
func (q *question) nameEviction(runs bool) {
	what, keeps := object(q.cmds[0]), "The session, its history and its processes are kept."
	if q.closes {
		what, keeps = objects(q.cmds), "The session and its history are kept."
	}
	verb, does := "Evict", "Drop the cached agent"
	if q.cmds[0].Interrupt && runs {
		verb, does = "Interrupt and evict", "A turn runs. Interrupt it first, then drop the cached agent"
	}
	if q.closes {
		does += " and end the session's processes: SIGTERM, then SIGKILL"
	}
	q.title, q.text = verb+" "+what+"?", []string{does + ". " + keeps}
	q.answers[1].label = verb
}

// setBusy chooses whether an eviction of marked rows leaves out the busy ones, or interrupts them first.
func (q *question) setBusy(on bool) {
	q.busyToo = on
	q.cmds = slices.Clone(q.idle)
	if on {
		q.cmds = append(q.cmds, q.busy...)
	}
	q.retitle()
	q.text = []string{"Drop the cached agents. The sessions, their histories and their processes are kept."}
	if on {
		q.text = []string{"Interrupt the running turns first, then drop the cached agents. The sessions, their histories and their processes are kept."}
	}
	names := make([]string, len(q.busy))
	for i, cmd := range q.busy {
		names[i] = object(cmd)
	}
	choice := "i interrupts the busy ones and evicts them as well: " + enumerated(names)
	if on {
		choice = "i leaves out the busy ones: " + enumerated(names)
	}
	q.note = strings.TrimSpace(q.left + " " + choice)
}

// enumerated lists names, and of many the first ones.
func enumerated(names []string) string {
	const most = 3
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}
