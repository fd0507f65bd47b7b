package demo

import (
	"strings"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Line is something that a made-up person says.
type Line struct {
	User, Text string
	// Pause is the time since the line before it, and of the first line since the connection.
	Pause time.Duration
	// Once lines are said the first time round alone, and by the first connection.
	Once bool
}

// Role is a platform of a Scene with what its people say; without Lines it is what Options.Lines says.
type Role struct {
	Spec
	Lines []Line
}

// Scene is the demo of someone who names no platforms: something to look at within seconds, people who do different things
// at different times, and a chat that gets stuck. There are platforms in each kind of trouble, and one (dock) that a stop
// has to give up on. No line but the one that gets stuck is silent for longer than three seconds, so that a short
// agent.stall_warn finds that line alone.
func Scene() []Role {
	const sec = time.Second
	return []Role{
		{Spec: Spec{Name: "harbour", Behaviour: "good"}, Lines: []Line{
			{User: "alice", Text: "good morning", Pause: sec / 2},
			{User: "alice", Text: "how are you?", Pause: 6 * sec},
			{User: "bo", Text: "sh: for n in 1 2 3 4 5 6; do echo tide at pier $n; sleep 1; done", Pause: 3 * sec},
			{User: "alice", Text: "tell me a joke", Pause: 5 * sec},
			{User: "alice", Text: "stream", Pause: 9 * sec},
			{User: "bo", Text: "ps", Pause: 7 * sec},
			{User: "alice", Text: "thanks", Pause: 4 * sec},
		}},
		{Spec: Spec{Name: "market", Behaviour: "good"}, Lines: []Line{
			{User: "carla", Text: "bg: for n in $(seq 40); do echo packing crate $n of 40; sleep 1; done", Pause: 2 * sec},
			{User: "emeka", Text: "slow 3", Pause: 5 * sec},
			{User: "carla", Text: "what will the weather be?", Pause: 8 * sec},
			{User: "emeka", Text: "delegate: sh: uname -s", Pause: 11 * sec},
			{User: "carla", Text: "sh: date", Pause: 13 * sec},
			{User: "emeka", Text: "help", Pause: 14 * sec},
		}},
		{Spec: Spec{Name: "dock", Behaviour: "hang-disconnect"}, Lines: []Line{
			{User: "dmitri", Text: "hang", Pause: sec / 5, Once: true},
			{User: "nora", Text: "who are you?", Pause: 9 * sec},
			{User: "nora", Text: "bg: for n in $(seq 20); do echo unloading $n; sleep 1; done", Pause: 12 * sec},
			{User: "nora", Text: "echo the ship is in", Pause: 17 * sec},
		}},
		{Spec: Spec{Name: "ferry", Behaviour: "slow-disconnect"}, Lines: []Line{
			{User: "finn", Text: "sh: for n in 1 2 3 4; do echo boarding $n; sleep 2; done", Pause: 4 * sec},
			{User: "finn", Text: "stream", Pause: 21 * sec},
			{User: "finn", Text: "bye", Pause: 16 * sec},
		}},
		{Spec: Spec{Name: "lighthouse", Behaviour: "flaky"}, Lines: []Line{
			{User: "ida", Text: "hello", Pause: sec},
			{User: "ida", Text: "sh: for n in 1 2 3; do echo flash $n; sleep 2; done", Pause: 15 * sec},
			{User: "ida", Text: "slow 2", Pause: 23 * sec},
		}},
		{Spec: Spec{Name: "cellar", Behaviour: "deaf"}},
		{Spec: Spec{Name: "vault", Behaviour: "fatal"}},
	}
}

// Hangs are the names of those of roles that a stop has to give up on.
func Hangs(roles []Role) []string {
	var out []string
	for _, s := range roles {
		if b, _ := find(s.Behaviour); b.hangCancel || b.hangDisconnect {
			out = append(out, s.Name)
		}
	}
	return out
}

// talkKept is how many lines a Talk remembers: more than an overview has room for.
const talkKept = 20

// talkWidth is how much of a line is kept, in cells.
const talkWidth = 200

// Talk is the last lines that the people of all platforms said and were answered, for the overview of a demo. The people
// are made up, so that nothing in it is private. Its methods may be called from any goroutine; the nil Talk keeps nothing.
type Talk struct {
	mu    sync.Mutex
	lines []ops.Said
}

func (t *Talk) add(platform, who, to, text string) {
	if t == nil {
		return
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	said := ops.Said{At: ops.At(time.Now()), Platform: platform, Who: who, To: to, Text: term.Clean(text, talkWidth)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == talkKept {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, said)
}

// Lines are the last lines, oldest first.
func (t *Talk) Lines() []ops.Said {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]ops.Said{}, t.lines...)
}
