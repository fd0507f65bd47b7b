package demo

// line is something that a made-up person says.
type line struct{ user, text string }

// lines is a day on a platform whose people know the scripted model of the embedded default: short turns and slow ones, tool
// calls, processes and a tree of them that stay for a while, a child agent. Nothing in it fails or hangs.
var lines = []line{
	{"alice", "hello"},
	{"carla", "bg: sleep 120"},
	{"bo", "sh: for n in 1 2 3 4 5; do date; sleep 1; done"},
	{"dmitri", "slow 8"},
	{"emeka", "bg: for n in 1 2 3; do sleep 90 & done; wait"},
	{"alice", "help"},
	{"bo", "delegate: sh: uname -s"},
	{"carla", "ps"},
	{"alice", "stream"},
	{"dmitri", "sh: sleep 15; echo done"},
	{"emeka", "echo is anybody there?"},
	{"bo", "slow 8"},
}

// line is the i-th message of a connection. Where the spec has a text of its own, that is all that anyone says.
func (p *Platform) line(i int) line {
	l := lines[i%len(lines)]
	if p.spec.Text != "" {
		l.text = p.spec.Text
	}
	return l
}
