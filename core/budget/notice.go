package budget

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/store"
)

// Notice is something to say about a budget: that a part of it is used in a window.
type Notice struct {
	Budget string
	Kind   Kind
	Period string
	// Percent is 50 or 80 in a warning, and 100 in a refusal. First says that a refusal is the window's first one.
	Percent int
	First   bool
	// Used is what is spent and reserved, Limit what may be: in billionths, or in tokens if Kind is KindTokens.
	Used, Limit int64
	// Renews is when it begins again; zero: not by itself.
	Renews time.Time
	// Who is the turn that the window was used by last.
	Who  Who
	Text string
}

// row is n as the store keeps it.
func (n Notice) row(at time.Time) store.Notice {
	return store.Notice{Budget: n.Budget, Window: string(n.Kind), Period: n.Period, Percent: n.Percent, At: at, Text: n.Text}
}

// Refusal is the error of a call that a budget does not allow.
type Refusal struct {
	Notice
	// Hint says what can be done.
	Hint string

	window *window
}

// Error is what is used up, and what can be done.
func (r *Refusal) Error() string { return r.Text + " " + r.Hint }

// warnAt are the percentages at which there is a warning, from the highest down.
var warnAt = []int{80, 50}

// warning is what is to be said about a window that was counted in; false: nothing. The caller holds mu.
func (l *Ledger) warning(w *window, now time.Time, who Who) (Notice, bool) {
	limit := l.limit(w.key, now)
	if limit == 0 || w.kind == KindTurn {
		return Notice{}, false
	}
	for _, percent := range warnAt {
		if float64(w.spent) < float64(limit)*float64(percent)/100 {
			continue
		}
		if percent <= w.percent {
			break
		}
		w.percent = percent
		n := l.notice(w, limit, w.spent, now, who)
		n.Percent = percent
		n.Text = fmt.Sprintf("%d %% of the budget %q are used: %s.%s", percent, w.budget, l.used(n), l.renewal(n))
		return n, true
	}
	return Notice{}, false
}

// notice is one about a window. The caller holds mu.
func (l *Ledger) notice(w *window, limit, used int64, now time.Time, who Who) Notice {
	return Notice{Budget: w.budget, Kind: w.kind, Period: w.period, Used: used, Limit: limit, Renews: l.renews(w.kind, now), Who: who}
}

// refused is why a call is not admitted; nil: it is. Of several windows that are used up it names the one that renews last. The
// caller holds mu.
func (t *Turn) refused(r *reservation, now time.Time) *Refusal {
	var full *window
	for _, w := range r.windows {
		limit := t.l.limit(w.key, now)
		if _, counts := amount(r.usage, w.kind); !counts || limit == 0 || w.spent+w.reserved < limit {
			continue
		}
		if full == nil || t.l.renews(w.kind, now).After(t.l.renews(full.kind, now)) {
			full = w
		}
	}
	if full == nil {
		return nil
	}
	limit := t.l.limit(full.key, now)
	n := t.l.notice(full, limit, full.spent+full.reserved, now, t.who)
	n.Percent, n.First = 100, full.percent < 100 && full.kind != KindTurn
	n.Text = fmt.Sprintf("The budget %q is used up: %s", n.Budget, t.l.used(n))
	if full.spent < limit {
		n.Text += ", with what the calls under way may use"
	}
	n.Text += "." + t.l.renewal(n)
	return &Refusal{Notice: n, Hint: t.l.hint(n), window: full}
}

// within says in which window something was used.
var within = map[Kind]string{
	KindTurn: "in this turn", KindSession: "in this conversation", KindPerson: "by one person today", KindJob: "in this run",
	KindDay: "today", KindMonth: "this month", KindTokens: "of models without a price today",
}

// used is what of a limit is used, such as "5.02 of 10.00 USD today".
func (l *Ledger) used(n Notice) string {
	if n.Kind == KindTokens {
		return fmt.Sprintf("%s of %s tokens %s", humanize.Comma(n.Used), humanize.Comma(n.Limit), within[n.Kind])
	}
	return fmt.Sprintf("%s of %s %s %s", Money(n.Used), Money(n.Limit), l.o.Currency, within[n.Kind])
}

// renewal is a sentence about when a budget begins again, after a space; empty: it does not by itself.
func (l *Ledger) renewal(n Notice) string {
	if n.Renews.IsZero() {
		return ""
	}
	return " It renews on " + n.Renews.Format("2006-01-02 at 15:04") + " (" + l.o.Zone.String() + ")."
}

// hint is what can be done about a refusal.
func (l *Ledger) hint(n Notice) string {
	raise := "gatewaytui budgets raise " + n.Budget + " --by "
	if n.Kind == KindTokens {
		raise += "1000000tokens"
	} else {
		raise += Money(max(n.Limit/2, int64(unit)/100)).String()
	}
	owner := "The owner of the gateway can raise it: " + raise
	switch n.Kind {
	case KindTurn:
		return "Send a message to continue in a new turn. " + owner
	case KindSession:
		return "/new begins a new conversation. " + owner
	}
	return owner
}

// say passes notices on. The caller does not hold mu.
func (l *Ledger) say(all ...Notice) {
	if l.o.Said == nil {
		return
	}
	for _, n := range all {
		l.o.Said(n)
	}
}
