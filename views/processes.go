package views

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

var processList = &list[ops.Process]{
	noun:    "processes",
	first:   "session",
	rows:    func(s *ops.Snapshot) *[]ops.Process { return &s.Processes },
	key:     func(r *ops.Process) string { return strconv.Itoa(r.PID) },
	tie:     func(a, b *ops.Process) int { return cmp.Compare(a.PID, b.PID) },
	fields:  filter.Processes,
	arrange: trees,
	depth:   depths,
	columns: []column[ops.Process]{
		{
			name: "pid", width: 7, right: true,
			cell:    func(_ *Opts, r *ops.Process) (string, Role) { return pidText(r.PID), Plain },
			compare: func(a, b *ops.Process) int { return cmp.Compare(a.PID, b.PID) },
		},
		{
			name: "command", least: 18,
			cell:    commandCell,
			compare: func(a, b *ops.Process) int { return strings.Compare(a.Command, b.Command) },
		},
		inState(12, func(_ *Opts, r *ops.Process) badge { return processBadges.of(r.State) }, func(r *ops.Process) int { return processBadges.rank(r.State) }),
		{
			name: "session", width: 16, drop: 4, tail: true,
			cell:    func(o *Opts, r *ops.Process) (string, Role) { return o.dotted(r.Session) },
			compare: func(a, b *ops.Process) int { return strings.Compare(a.Session, b.Session) },
		},
		counted("tree", 5, 5, treeText, func(r *ops.Process) int { return r.TreeSize }),
		counted("cpu", 7, 3, percent, func(r *ops.Process) float64 { return r.CPUPct }),
		counted("rss", 8, 2, size, func(r *ops.Process) int64 { return r.RSSBytes }),
		counted("age", 7, 1, ageText, func(r *ops.Process) int64 { return r.AgeMS }),
		{
			name: "policy", title: "ENDS WITH", width: 9, drop: 6,
			cell:    func(_ *Opts, r *ops.Process) (string, Role) { return or(string(r.Policy), unknown), Plain },
			compare: func(a, b *ops.Process) int { return cmp.Compare(a.Policy, b.Policy) },
		},
		{
			name: "environment", title: "RUNS IN", width: 9, drop: 9,
			cell:    func(o *Opts, r *ops.Process) (string, Role) { return o.dotted(r.Environment) },
			compare: func(a, b *ops.Process) int { return cmp.Compare(a.Environment, b.Environment) },
		},
		{
			name: "owner", width: 12, drop: 10,
			cell:    func(o *Opts, r *ops.Process) (string, Role) { return o.dotted(r.Owner) },
			compare: func(a, b *ops.Process) int { return strings.Compare(a.Owner, b.Owner) },
		},
		named("origin", 8, 8, func(r *ops.Process) string { return string(r.Origin) }),
		{
			name: "output", title: "LAST OUTPUT", width: 26, wide: true, drop: 7,
			cell: func(_ *Opts, r *ops.Process) (string, Role) {
				if r.Limit != "" {
					return r.Limit, Slow
				}
				return r.LastOutput, Muted
			},
		},
	},
	pages: slices.Insert(pagesOf(processDetails, func(r *ops.Process) string { return r.Session }, " It belongs to no session that is listed."), 1,
		page[ops.Process]{name: PageOutput, ends: true, lines: func(s *Screen, _ *ops.Process, p pane) []string { return s.output(p) }}),
	empty: func(*Screen) string {
		return "No processes. One appears when an agent's tool starts a command, and stays until its whole tree has ended."
	},
}

// duplicateMark stands before the command of a process that does what an older one does already; else it is empty.
func duplicateMark(r *ops.Process) string {
	if r.DuplicateOf == 0 {
		return ""
	}
	return "dup of " + pidText(r.DuplicateOf) + ": "
}

func commandCell(_ *Opts, r *ops.Process) (string, Role) {
	if mark := duplicateMark(r); mark != "" {
		return mark + or(r.Command, unknown), Slow
	}
	return or(r.Command, unknown), Plain
}

func pidText(pid int) string {
	if pid <= 0 {
		return unknown
	}
	return strconv.Itoa(pid)
}

func treeText(n int) string {
	if n < 0 {
		return "?"
	}
	return strconv.Itoa(n)
}

// trees puts each row below its parent, if that is there and of the same session; rows come sorted by session. Parents
// that lead in a circle, which only a broken row can say, stand as roots.
func trees(rows []*ops.Process) {
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && rows[end].Session == rows[start].Session {
			end++
		}
		tree(rows[start:end])
		start = end
	}
}

// tree orders the rows of one session.
func tree(rows []*ops.Process) {
	at, children := make(map[int]bool, len(rows)), make(map[int][]*ops.Process)
	for _, r := range rows {
		at[r.PID] = true
	}
	isChild := func(r *ops.Process) bool { return at[r.PPID] && r.PPID != r.PID }
	for _, r := range rows {
		if isChild(r) {
			children[r.PPID] = append(children[r.PPID], r)
		}
	}
	if len(children) == 0 {
		return
	}
	out, done := make([]*ops.Process, 0, len(rows)), make(map[*ops.Process]bool, len(rows))
	var descend func(r *ops.Process)
	descend = func(r *ops.Process) {
		if !done[r] {
			done[r] = true
			out = append(out, r)
			for _, child := range children[r.PID] {
				descend(child)
			}
		}
	}
	for _, r := range rows {
		if !isChild(r) {
			descend(r)
		}
	}
	for _, r := range rows { // what is left are circles
		descend(r)
	}
	copy(rows, out)
}

// depths is how deep each of rows[from:to] stands below the rows right above it; 0 in any other order than trees.
func depths(rows []ops.Process, from, to int) []int {
	if from >= to {
		return nil
	}
	start := from
	for start > 0 && rows[start-1].Session == rows[from].Session {
		start--
	}
	out := make([]int, 0, to-from)
	var path []int
	for i := start; i < to; i++ {
		r := &rows[i]
		if i > start && r.Session != rows[i-1].Session {
			path = path[:0]
		}
		for len(path) > 0 && path[len(path)-1] != r.PPID {
			path = path[:len(path)-1]
		}
		if i >= from {
			out = append(out, len(path))
		}
		path = append(path, r.PID)
	}
	return out
}

// processDetails answer whose a process tree is, what it runs, what it may use and what ends it.
func processDetails(s *Screen, r *ops.Process, p pane) []string {
	state := s.inFull(processBadges.of(r.State), string(r.State)) + after(" for ", ageText(r.AgeMS))
	if r.State == ops.ProcessExited {
		state += ": the leader exited, " + strconv.Itoa(r.TreeSize) + " left"
	}
	tree := treeText(r.TreeSize) + " processes, cpu " + percent(r.CPUPct) + ", " + size(r.RSSBytes) + " of memory"
	if r.TreeSize == 1 {
		tree = "1 process, cpu " + percent(r.CPUPct) + ", " + size(r.RSSBytes) + " of memory"
	}
	facts := []Fact{{"command", or(r.Command, unknown)}, {"state", state}, {"tree", tree}, {"output", r.LastOutput}}
	if r.DuplicateOf != 0 {
		facts = append(facts, Fact{"dup of", pidText(r.DuplicateOf) + ", which runs the same command in the same directory for this session"})
	}
	whose := []Fact{
		{"session", or(r.Session, "none: it is the gateway's own")},
		{"owner", r.Owner},
		{"ends with", endsWith(r.Policy)},
		{"origin", string(r.Origin)},
		{"pid", pidText(r.PID) + ", parent " + pidText(r.PPID)},
	}
	place := "no environment that is known"
	if r.Session == "" && r.Owner != "" { // what the gateway starts for itself has the name of its environment, if it has one
		place = "the machine itself"
	}
	if of := sessionOf(s, r.Session); of != nil {
		whose = append(whose, Fact{"user", of.User}, Fact{"turn does", of.Activity(s.Now)})
	}
	return s.told(p, facts, whose, []Fact{
		{"runs in", or(r.Environment, place)},
		{"limit", r.Limit},
		{"set by", r.LimitHit},
		{"not held", r.Unlimited},
	})
}

// endsWith is what ends a process tree, other than its own exit and the gateway's stop.
func endsWith(policy ops.Policy) string {
	if policy == ops.PolicyKept {
		return "session, kept over a SIGKILL of the gateway"
	}
	return or(string(policy), unknown)
}

// processesPage is the page "processes" of a session: its trees, and what the newest one writes.
func processesPage(s *Screen, r *ops.Session, p pane) []string {
	lines := sessionProcesses(s, r.Key)
	if !s.Output.Read || s.Output.Tail.Session != r.Key {
		return lines
	}
	lines = append(lines, "", " "+s.rule("output of "+strconv.Itoa(s.Output.Tail.PID), p.w-2))
	out := s.output(p)
	return append(lines, out[max(len(out)-max(p.h-len(lines), 3), 0):]...)
}

// sessionProcesses are the trees of one session, in as few columns as tell what they do.
func sessionProcesses(s *Screen, session string) []string {
	var rows []*ops.Process
	for i := range s.Snap.Processes {
		if s.Snap.Processes[i].Session == session {
			rows = append(rows, &s.Snap.Processes[i])
		}
	}
	if len(rows) == 0 {
		return []string{" No processes."}
	}
	tree(rows)
	own := make([]ops.Process, min(len(rows), s.H))
	for i := range own {
		own[i] = *rows[i]
	}
	deep := depths(own, 0, len(own))
	lines := make([]string, len(own))
	for i := range own {
		r := &own[i]
		state, under := processBadges.of(r.State), ""
		if deep[i] > 0 {
			under = s.indent(deep[i])
		}
		lines[i] = " " + s.right(Plain, strconv.Itoa(r.PID), 7) + " " + s.cell(state.role, s.badge(state), 13) + s.right(Plain, percent(r.CPUPct), 7) + " " +
			s.right(Plain, size(r.RSSBytes), 8) + "  " + under + s.clean(r.Command, maxShown)
	}
	return lines
}
