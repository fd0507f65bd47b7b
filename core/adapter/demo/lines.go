package demo

// line is something that a made-up person says.
type line struct{ user, text string }

// lines is a day on a platform whose people know the scripted model of the embedded default: short turns and slow ones, tool
// calls, a process that stays for a while, a child agent. Nothing in it fails or hangs.
var lines = []line{
	{"alice", "hello"},
	{"bo", "sh: date"},
	{"carla", "bg: sleep 300"},
	{"alice", "help"},
	{"dmitri", "slow 8"},
	{"bo", "delegate: sh: uname -s"},
	{"carla", "ps"},
	{"emeka", "hello"},
	{"alice", "stream"},
	{"dmitri", "sh: sleep 5; echo done"},
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
