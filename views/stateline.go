package views

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/ops"
)

// demoWord stands in the header of every screen of a gateway that plays a demo.
const demoWord = "DEMO"

// piece is a part of the line of state. forms are its texts from the longest to the shortest; an empty text leaves it out. Where
// there is too little room, the piece with the greatest drop becomes shorter first, and then goes; one with drop 0 stays.
type piece struct {
	forms []string
	role  Role
	drop  int
}

func same(role Role, drop int, text string) piece { return piece{[]string{text}, role, drop} }

// shorter takes the longest form away; false: there is one only.
func (p *piece) shorter() bool {
	if len(p.forms) < 2 {
		return false
	}
	p.forms = p.forms[1:]
	return true
}

// stateLine is the one line of state, the same on every screen: what the gateway does, for how long, and the figures that a
// person should know at any moment. more are pieces that a view adds behind the state.
func (s *Screen) stateLine(w int, more ...piece) string {
	return s.layPieces(w, s.statePieces(more))
}

// stateEnded is the line of state of a gateway that ended as it said it would.
func (s *Screen) stateEnded(w int, end ...piece) string {
	return s.layPieces(w, append(s.namePieces(), end...))
}

// layPieces puts pieces into w cells: first they move together, then they become shorter, at last the least important ones go.
func (s *Screen) layPieces(w int, list []piece) string {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].drop, list[a].drop) })
	gap := 3
	if piecesWidth(list, gap) > w {
		gap = 2
	}
	for changed := true; changed && piecesWidth(list, gap) > w; {
		changed = false
		for _, i := range order {
			if piecesWidth(list, gap) > w && list[i].shorter() {
				changed = true
			}
		}
	}
	if piecesWidth(list, gap) > w {
		gap = 1
	}
	for _, i := range order {
		if list[i].drop > 0 && piecesWidth(list, gap) > w {
			list[i].forms = []string{""}
		}
	}
	l := s.line(max(w, 1))
	for _, p := range list {
		l.add(gap, p.role, p.forms[0])
	}
	return l.end(Muted, s.role())
}

func piecesWidth(list []piece, gap int) int {
	n := -gap
	for _, p := range list {
		if text := p.forms[0]; text != "" {
			n += cellsOf(text) + gap
		}
	}
	return n
}

// namePieces name the program, and say of a demo that it is one.
func (s *Screen) namePieces() []piece {
	list := append(make([]piece, 0, 16), piece{[]string{"gatewaytui", ""}, Heading, 8})
	if s.Snap.Demo != nil {
		list = append(list, same(Slow, 0, demoWord))
	}
	return list
}

func (s *Screen) statePieces(more []piece) []piece {
	list := append(s.namePieces(), s.linkPieces()...)
	if s.Link.ReadOnly {
		list = append(list, same(Heading, 5, "read-only"))
	}
	list = append(list, more...)
	if s.Link.State == LinkLoading || s.Link.State == LinkGone { // nothing is known, or nothing is true any more
		return list
	}
	up := unknown
	if !s.Snap.StartedAt.IsZero() {
		up = clockSince(s.Now, s.Snap.StartedAt)
	}
	list = append(list, piece{[]string{"up " + up, up}, Plain, 6})
	c := s.Snap.Counts
	list = append(list, adaptersPiece(c))
	if c.Inbox > 0 {
		role := Slow
		if s.InboxGrew {
			role = Alarm
		}
		list = append(list, same(role, 1, "inbox "+number(c.Inbox)))
	}
	turns := number(c.RunningTurns)
	role := Plain
	if c.RunningTurns > 0 {
		role = Busy
	}
	list = append(list, piece{[]string{"turns " + turns, count(c.RunningTurns, "turn")}, role, 3})
	if b := budgetShown(s.Snap.Budgets); b != nil {
		list = append(list, s.spendPiece(b))
	}
	if n := len(s.Snap.Warnings); n > 0 {
		list = append(list, piece{[]string{count(n, "warning"), s.glyph(glyphSlow) + strconv.Itoa(n)}, Slow, 7})
	}
	if version := s.clean(s.Snap.Version, maxWord); version != "" {
		list = append(list, piece{[]string{version, ""}, Muted, 9})
	}
	return list
}

// linkPieces are the gateway's state, with what is wrong with the link before it.
func (s *Screen) linkPieces() []piece {
	word, role := s.stateWord()
	last := piece{[]string{"last state " + word, "was " + word}, Plain, 7}
	switch s.Link.State {
	case LinkLoading:
		return []piece{same(Busy, 0, "CONNECTING")}
	case LinkStale:
		return []piece{same(Bad, 0, "STALE "+s.staleFor()), last}
	case LinkGone:
		list := []piece{same(Danger, 0, "GONE "+s.seen()), last}
		if s.Link.Try > 0 && s.layout() == layoutLine {
			list = append(list, same(Plain, 6, "try "+strconv.Itoa(s.Link.Try)))
		}
		if !s.Link.At.IsZero() {
			list = append(list, same(Plain, 8, "seen "+timeOfDay(s.Now, ops.At(s.Link.At))))
		}
		return list
	}
	list := []piece{same(role, 0, word)}
	if sd := s.Snap.Shutdown; sd != nil && s.Snap.State == ops.StateStopping && !sd.KillAt.IsZero() && s.View != Shutdown {
		left := clock(sd.KillAt.Sub(s.Now))
		list = append(list, piece{[]string{"SIGKILL in " + left, "KILL " + left}, Bad, 1})
	}
	if s.Link.Paused {
		list = append(list, same(Slow, 1, "PAUSED "+s.seen()))
		if s.Link.Behind > 0 {
			list = append(list, piece{[]string{count(s.Link.Behind, "change") + " behind", number(s.Link.Behind) + " behind"}, Slow, 6})
		}
	}
	return list
}

func adaptersPiece(c ops.Counts) piece {
	up := number(c.AdaptersConnected) + "/" + number(c.Adapters)
	role := Plain
	if c.AdaptersConnected < c.Adapters {
		role = Slow
	}
	return piece{[]string{"adapters " + up, up + " up"}, role, 2}
}

// budgetShown is the budget that is nearest to its limit for the day, or the one that spent most where none has one; nil where
// nothing is spent and nothing is limited.
func budgetShown(list []ops.BudgetToday) *ops.BudgetToday {
	var best *ops.BudgetToday
	for i := range list {
		b := &list[i]
		if b.Spent <= 0 && b.Limit <= 0 {
			continue
		}
		if best == nil || usedOf(b) > usedOf(best) || usedOf(b) == usedOf(best) && b.Spent > best.Spent {
			best = b
		}
	}
	return best
}

// currency is that of the budget that is shown.
func (s *Screen) currency() string {
	if b := budgetShown(s.Snap.Budgets); b != nil {
		return b.Currency
	}
	return ""
}

// usedOf is the part of its limit that a budget has used, 0 for one without a limit.
func usedOf(b *ops.BudgetToday) float64 {
	if b.Limit <= 0 {
		return 0
	}
	return b.Spent / b.Limit
}

// spendPiece is the spend of today; it is amber from 80 % of the limit on, and red from the limit on.
func (s *Screen) spendPiece(b *ops.BudgetToday) piece {
	role := Plain
	switch used := usedOf(b); {
	case used >= 1:
		role = Bad
	case used >= 0.8:
		role = Slow
	}
	spent := money(b.Spent, b.Currency)
	if b.Limit <= 0 {
		return piece{[]string{"today " + spent, spent}, role, 5}
	}
	of := spent + " of " + money(b.Limit, b.Currency)
	return piece{[]string{"today " + of, of, spent}, role, 5}
}

// notice is what is out of the ordinary with the gateway or with the link to it, and its role; empty for nothing.
func (s *Screen) notice() (string, Role) {
	switch s.Link.State {
	case LinkLoading:
		return strings.TrimSpace("Waiting for the gateway's first answer. " + s.clean(s.Link.Err, maxShown)), Plain
	case LinkGone:
		return "exit: " + or(s.clean(s.Link.Err, maxShown), "not seen") + ". Waiting for a new gateway" + s.search() + ".", Plain
	case LinkStale:
		return "no answer" + colon(s.clean(s.Link.Err, maxShown)), Bad
	}
	if d := s.Snap.Drain; d != nil && s.Snap.State != ops.StateStopping {
		text := "draining for " + clockSince(s.Now, d.Since) + after(", by ", s.clean(d.By, maxWord)) + colon(s.clean(d.Reason, 60))
		return text + ". New turns are refused, " + count(max(s.Snap.Counts.RunningTurns, 0), "running turn") + " may finish; U resumes.", Slow
	}
	return s.longWork(), Busy
}
