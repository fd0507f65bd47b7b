package demo

import "time"

// lines is a day on a platform whose people know the scripted model of the embedded default: short turns and slow ones, tool
// calls, processes and a tree of them that stay for a while, a child agent. Nothing in it fails or hangs.
var lines = []Line{
	{User: "alice", Text: "hello"},
	{User: "carla", Text: "bg: sleep 120"},
	{User: "bo", Text: "sh: for n in 1 2 3 4 5; do date; sleep 1; done"},
	{User: "dmitri", Text: "slow 8"},
	{User: "emeka", Text: "bg: for n in 1 2 3; do sleep 90 & done; wait"},
	{User: "alice", Text: "help"},
	{User: "bo", Text: "delegate: sh: uname -s"},
	{User: "carla", Text: "ps"},
	{User: "alice", Text: "stream"},
	{User: "dmitri", Text: "sh: sleep 15; echo done"},
	{User: "emeka", Text: "echo is anybody there?"},
	{User: "bo", Text: "slow 8"},
}

// line is the i-th message of a connection. If the spec has a text, each message is that text.
func (p *Platform) line(i int) Line {
	known := lines
	if len(p.o.Lines) > 0 {
		known = p.o.Lines
	}
	l := known[i%len(known)]
	if p.spec.Text != "" {
		l.Text = p.spec.Text
	}
	return l
}

// first reports whether the i-th line of a connection is said for the first time since the platform was made.
func (p *Platform) first(i int) bool {
	if i >= len(p.o.Lines) {
		return false
	}
	_, said := p.said.LoadOrStore(i, true)
	return !said
}

// pause is how long after the message before it the i-th comes, and the first one after the connection.
func (p *Platform) pause(i int) time.Duration {
	switch {
	case len(p.o.Lines) > 0:
		return max(p.line(i).Pause, time.Millisecond)
	case i == 0:
		return interval / 20
	}
	return interval
}
