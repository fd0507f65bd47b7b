package views

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

// KindJob is the kind of a job in view 9. A job is not held; it stands there because it is looked for there.
const KindJob ops.HeldKind = "job"

// heldKinds is the order of the kinds in view 9.
var heldKinds = append(slices.Clone(ops.HeldKinds), KindJob)

// heldList is what sessions and the gateway hold besides processes and environments, and the jobs. Gather makes its rows.
var heldList = &list[ops.Held]{
	noun:   "held resources",
	first:  "kind",
	rows:   func(s *ops.Snapshot) *[]ops.Held { return &s.Held },
	key:    func(r *ops.Held) string { return HeldKey(*r) },
	tie:    func(a, b *ops.Held) int { return strings.Compare(HeldKey(*a), HeldKey(*b)) },
	fields: filter.Held,
	columns: []column[ops.Held]{
		named("name", 16, 0, func(r *ops.Held) string { return r.ID }),
		{
			name: "kind", width: 8,
			cell:    func(_ *Opts, r *ops.Held) (string, Role) { return or(string(r.Kind), unknown), Plain },
			compare: func(a, b *ops.Held) int { return cmp.Compare(kindRank(a.Kind), kindRank(b.Kind)) },
		},
		inState(13, func(_ *Opts, r *ops.Held) badge { return heldBadges.of(r.State) }, func(r *ops.Held) int { return heldBadges.rank(r.State) }),
		{
			name: "session", width: 20, drop: 4, tail: true,
			cell:    func(o *Opts, r *ops.Held) (string, Role) { return o.dotted(r.Session) },
			compare: func(a, b *ops.Held) int { return strings.Compare(a.Session, b.Session) },
		},
		happened("since", 7, 3, func(r *ops.Held) ops.Time { return r.Since }),
		{
			name: "next", width: 8, drop: 2, right: true,
			cell:    func(o *Opts, r *ops.Held) (string, Role) { return o.dotted(heldNext(o, r)) },
			compare: func(a, b *ops.Held) int { return oldestFirst(a.NextAt, b.NextAt) },
		},
		{
			name: "detail", least: 18, drop: 1,
			cell: func(_ *Opts, r *ops.Held) (string, Role) { return r.Detail, Plain },
		},
	},
	pages: pagesOf(heldDetails, func(r *ops.Held) string { return r.Session }, " It belongs to no session that is listed."),
	empty: func(*Screen) string {
		return "Nothing is held. MCP servers ([servers.NAME]), browsers, external agents, hooks and jobs ([jobs.NAME]) stand here."
	},
}

// HeldKey is the key of a row of view 9.
func HeldKey(h ops.Held) string {
	key := string(h.Kind) + " " + h.ID
	if h.Session != "" && h.Kind != KindJob {
		key += " of " + h.Session
	}
	return key
}

// kindRank is the place of a kind in the order; one that this console does not know comes last.
func kindRank(k ops.HeldKind) int {
	if i := slices.Index(heldKinds, k); i >= 0 {
		return i
	}
	return len(heldKinds)
}

// Gather puts into Held of a snapshot all that view 9 lists: what is held, with what is known of servers, those servers that are
// not held because they do not run, and the jobs. A second call changes nothing.
func Gather(snap *ops.Snapshot) {
	rows := slices.Clone(snap.Held)
	at := make(map[string]int, len(rows))
	for i := range rows {
		at[HeldKey(rows[i])] = i
	}
	for i := range snap.Servers {
		sv := &snap.Servers[i]
		row := ops.Held{Kind: ops.HeldServer, ID: sv.Name, Session: sv.Session, Owner: "mcp:" + sv.Name, State: ops.HeldState(sv.State), Since: sv.Since}
		held := -1
		for _, kind := range []ops.HeldKind{ops.HeldServer, ops.HeldBrowser} {
			row.Kind = kind
			if j, ok := at[HeldKey(row)]; ok {
				held = j
			}
		}
		if row.Kind = ops.HeldServer; held < 0 {
			held = len(rows)
			rows = append(rows, row)
		}
		rows[held].State, rows[held].Detail = row.State, serverNote(sv)
	}
	for i := range snap.Jobs {
		j := &snap.Jobs[i]
		row := ops.Held{Kind: KindJob, ID: j.Name, Session: j.Session, State: ops.HeldState(j.State), Since: j.LastAt, NextAt: j.NextAt, Detail: jobNote(j)}
		if held, ok := at[HeldKey(row)]; ok {
			rows[held] = row
		} else {
			rows = append(rows, row)
		}
	}
	snap.Held = rows
}

// serverNote is what an operator should know first of a server.
func serverNote(r *ops.Server) string {
	if r.State.Troubled() && r.LastError != "" {
		return r.LastError
	}
	var parts []string
	if r.Tools > 0 {
		parts = append(parts, count(r.Tools, "tool"))
	}
	if r.Calls > 0 {
		parts = append(parts, count(int(min(r.Calls, 1<<31-1)), "call"))
	}
	return strings.Join(parts, ", ")
}

// jobNote is what an operator should know first of a job.
func jobNote(r *ops.Job) string {
	text := r.Schedule
	if r.LastResult != "" {
		text += ", last run " + string(r.LastResult)
	}
	return text + colon(r.LastError)
}

// heldNext is when a row does something by itself: the next run of a job, or the next start of a server.
func heldNext(o *Opts, r *ops.Held) string {
	if r.NextAt.IsZero() || r.State == ops.HeldState(ops.JobPaused) {
		return ""
	}
	in := r.NextAt.Sub(o.Now)
	if in <= 0 {
		return "now"
	}
	return span(in)
}

// heldDetails answer whose a resource is, what it does, and what went wrong.
func heldDetails(s *Screen, r *ops.Held, p pane) []string {
	state := []Fact{{"state", s.inFull(heldBadges.of(r.State), string(r.State)) + after(" for ", spanSince(s.Now, r.Since))}}
	var groups [][]Fact
	sv := find(s.Snap.Servers, func(x *ops.Server) bool { return x.Name == r.ID && x.Session == r.Session })
	job := find(s.Snap.Jobs, func(x *ops.Job) bool { return x.Name == r.ID })
	switch {
	case r.Kind == KindJob && job != nil:
		groups = s.jobFacts(job)
	case (r.Kind == ops.HeldServer || r.Kind == ops.HeldBrowser) && sv != nil:
		groups = append([][]Fact{append(state, after1("next start", after("in ", heldNext(&s.Opts, r)))...)}, serverFacts(sv)...)
	default:
		groups = [][]Fact{append(state, Fact{"does", r.Detail})}
	}
	if r.Kind != KindJob {
		groups = append(groups, []Fact{{"session", or(r.Session, "none: it is the gateway's own")}, {"owner", r.Owner}})
	}
	lines := s.told(p, groups...)
	if rows := s.ownedProcesses(r); len(rows) > 0 {
		lines = append(append(lines, "", s.heading("its processes")), rows...)
	}
	return lines
}

// after1 is a fact, or none where its text is empty.
func after1(label, text string) []Fact {
	if text == "" {
		return nil
	}
	return []Fact{{label, text}}
}

func serverFacts(r *ops.Server) [][]Fact {
	pid := ""
	if r.PID != 0 {
		pid = pidText(r.PID)
	}
	return [][]Fact{
		{{"error", r.LastError}, {"pid", pid}, {"via", r.Transport}},
		{{"scope", r.Scope}, {"tools", number(r.Tools)}, {"calls", strconv.FormatInt(max(r.Calls, 0), 10) + " in this life"}},
	}
}

func (s *Screen) jobFacts(r *ops.Job) [][]Fact {
	b := heldBadges.of(ops.HeldState(r.State))
	next := "never: no time is left"
	switch in := r.NextAt.Sub(s.Now); {
	case r.State == ops.JobPaused:
		next = "not while it is paused; c resumes it"
	case !r.NextAt.IsZero() && in > 0:
		next = "in " + span(in) + ", at " + r.NextAt.In(s.Now.Location()).Format("Mon 2 Jan 15:04")
	case !r.NextAt.IsZero():
		next = "now"
	}
	last := "never"
	if !r.LastAt.IsZero() {
		last = when(s.Now, r.LastAt) + after(": ", string(r.LastResult))
	}
	return [][]Fact{
		{{"state", s.inFull(b, string(r.State))}, {"next run", next}, {"last run", last}, {"error", r.LastError}},
		{{"schedule", r.Schedule}, {"zone", r.Zone}, {"agent", r.Agent}, {"answer to", or(r.Deliver, "no chat")}, {"made by", r.Origin}, {"session", r.Session}},
	}
}

// ownedProcesses are the process trees of a held resource.
func (s *Screen) ownedProcesses(r *ops.Held) (lines []string) {
	for i := range s.Snap.Processes {
		pr := &s.Snap.Processes[i]
		if r.Owner == "" || pr.Owner != r.Owner || pr.Session != r.Session {
			continue
		}
		b := processBadges.of(pr.State)
		lines = append(lines, " "+s.right(Plain, pidText(pr.PID), 7)+" "+s.cell(b.role, s.badge(b), 13)+s.right(Plain, size(pr.RSSBytes), 8)+"  "+s.clean(pr.Command, maxShown))
	}
	return lines
}

// heldTrouble is whether something is wrong with a row of view 9, and how urgent that is.
func heldTrouble(r *ops.Held) (rank rank, wrong bool) {
	switch r.State {
	case ops.HeldFailed:
		return rankBroken, true
	case ops.HeldCloseFailed, ops.HeldBackoff:
		return rankTrouble, true
	}
	return rankNote, false
}

// held adds what is held and does not work, and the jobs whose last run failed.
func (c *collected) held(rows []ops.Held) {
	for i := range rows {
		r := &rows[i]
		if rank, wrong := heldTrouble(r); wrong {
			c.add(alert{rank, r.Since.Time, Held, "held", HeldKey(*r), r, func(_ *Screen, row any) (badge, string, string) {
				r := row.(*ops.Held)
				text := or(r.Detail, "it does not work")
				if r.Kind != KindJob {
					text += after(", of ", r.Session)
				}
				return heldBadges.of(r.State), string(r.Kind) + " " + r.ID, text
			}})
		}
	}
}

// heldWant is how many lines the overview's part about servers, browsers and jobs takes.
func (s *Screen) heldWant() want {
	if len(s.Snap.Servers)+len(s.Snap.Jobs)+len(s.Snap.Held) == 0 {
		return want{0, 0}
	}
	return want{2, 2}
}

// heldLines are the servers, browsers and jobs in two lines: how many, which job is next, and which server is in which state.
func (s *Screen) heldLines(w, h int) []string {
	if h < 2 {
		return nil
	}
	c := s.Snap.Counts
	title := "SERVERS " + number(c.Servers)
	if c.Browsers > 0 {
		title += "  BROWSERS " + number(c.Browsers)
	}
	if c.Jobs > 0 {
		title += "  JOBS " + number(c.Jobs)
	}
	line, last := " ", ""
	for i := range s.Snap.Servers {
		sv := &s.Snap.Servers[i]
		if sv.Name != last {
			b := heldBadges.of(ops.HeldState(worstOf(s.Snap.Servers[i:])))
			line += s.paint(b.role, s.glyph(b.glyph)) + " " + s.clean(sv.Name, 20) + "  "
		}
		last = sv.Name
	}
	if next := nextJob(s.Snap.Jobs); next != nil {
		in := max(next.NextAt.Sub(s.Now), 0)
		line += "next job " + s.clean(next.Name, 24) + " in " + span(in)
	}
	return []string{s.titleRule(title, "", w), s.cut(line, w)}
}

// worstOf is the worst state of the first servers of rows that have one name.
func worstOf(rows []ops.Server) ops.ServerState {
	worst := rows[0].State
	for i := 1; i < len(rows) && rows[i].Name == rows[0].Name; i++ {
		if heldBadges.rank(ops.HeldState(rows[i].State)) < heldBadges.rank(ops.HeldState(worst)) {
			worst = rows[i].State
		}
	}
	return worst
}

// nextJob is the job that runs next, nil if none does.
func nextJob(rows []ops.Job) (next *ops.Job) {
	for i := range rows {
		r := &rows[i]
		if r.State != ops.JobPaused && !r.NextAt.IsZero() && (next == nil || r.NextAt.Before(next.NextAt.Time)) {
			next = r
		}
	}
	return next
}
