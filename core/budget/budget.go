// Package budget counts what model calls cost, and refuses calls that a budget does not allow (TR8).
//
// What it promises:
//
//   - A call is admitted while what is spent and what is reserved are below the limit of each window that it counts in: the turn, the
//     session, the person's day, the job's run, the day and the month of the budget. So what is spent exceeds a limit by at most one
//     call per running turn.
//   - What a call may cost is reserved on disk before the call, and settled on disk with the write that follows its answer. A turn
//     passes both to writes that it makes anyway (Turn.Charge). Only a call that no such write precedes costs a write of its own: that
//     of a child agent, of a summary, and a call that became much larger than it was expected to be.
//   - A call that is cut off keeps its reservation as its cost. After a SIGKILL the next life charges it.
//   - Counters are integers: billionths of the currency, and tokens. A charge is counted once, also when its write is repeated.
//   - A model without a price that reports no cost is counted in tokens a day, and in nothing else.
//   - At 50 % and at 80 % of a window there is one warning, at 100 % a refusal that says when the budget renews.
//
// ledger.go has the windows, turn.go the calls of a turn, notice.go what is said, report.go what operators see.
//
// Locks: Ledger.mu guards everything here, and is never held over I/O or a call of Options.Said.
package budget

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// Money is an amount in billionths of the currency.
type Money int64

// unit is one of the currency; most is the largest amount that is counted.
const (
	unit Money = 1e9
	most Money = math.MaxInt64 / 4
)

// Of is an amount as Money, rounded to a billionth.
func Of(amount float64) Money {
	switch {
	case amount <= 0 || math.IsNaN(amount):
		return 0
	case amount >= float64(most/unit):
		return most
	}
	return Money(math.Round(amount * float64(unit)))
}

// Float is m in the currency, for people and for JSON.
func (m Money) Float() float64 { return float64(m) / float64(unit) }

// String is m without its currency: 0.0042, 12.50.
func (m Money) String() string { return ops.Amount(m.Float()) }

// Limits are those of one budget; 0: none.
type Limits struct {
	Turn, Session, Person, JobRun, Day, Month Money
	// TokensPerDay counts the calls whose cost is not known.
	TokensPerDay int64
}

// Kind is what a window of a budget is.
type Kind string

// The kinds of windows. The store has them by these names.
const (
	KindTurn    Kind = "turn"
	KindSession Kind = "session"
	KindPerson  Kind = "person"
	KindJob     Kind = "job"
	KindDay     Kind = "day"
	KindMonth   Kind = "month"
	KindTokens  Kind = "tokens"
)

// kinds are all kinds, in the order in which a refusal names them.
var kinds = []Kind{KindTurn, KindSession, KindPerson, KindJob, KindTokens, KindDay, KindMonth}

// of is the limit of a kind; 0: none.
func (l Limits) of(k Kind) int64 {
	switch k {
	case KindTurn:
		return int64(l.Turn)
	case KindSession:
		return int64(l.Session)
	case KindPerson:
		return int64(l.Person)
	case KindJob:
		return int64(l.JobRun)
	case KindDay:
		return int64(l.Day)
	case KindMonth:
		return int64(l.Month)
	}
	return l.TokensPerDay
}

// Store keeps the counters. *store.Store is one.
type Store interface {
	Charge(ctx context.Context, c *store.Charge) error
	ChargeCut(ctx context.Context) (int, error)
	UsedIn(ctx context.Context, budget, window, period string) (store.Used, error)
	Rates(ctx context.Context, since string) ([]store.Rate, error)
	UsageBy(ctx context.Context, by, since string, limit int) ([]store.UsageGroup, error)
	PutRaise(ctx context.Context, r store.Raise) error
	Raises(ctx context.Context, at time.Time) ([]store.Raise, error)
	BudgetNotices(ctx context.Context, since time.Time, limit int) ([]store.Notice, error)
	// Patient is ctx without its end, for a write that must survive the end of its cause.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)
}

// Options are what a Ledger needs. Every field is required but Free and Said.
type Options struct {
	// Limits are those of each budget, by its name.
	Limits map[string]Limits
	// Currency is that of all prices. Days and months begin in Zone.
	Currency string
	Zone     *time.Location
	// Free reports whether the calls of a model cost nothing and count in no window.
	Free func(model string) bool
	// Said gets each warning and each refusal. It must not block.
	Said func(Notice)
	Log  *slog.Logger
}

// Ledger is the counters of all budgets. Its methods may be called from any goroutine, once Open has returned.
type Ledger struct {
	o Options
	// store is set by Open.
	store Store

	// limits are those of each budget that is in force, by its name.
	limits atomic.Pointer[map[string]Limits]

	mu      sync.Mutex // guards what follows
	windows map[key]*window
	raises  []store.Raise
	// rates are what models have cost that report it. likely is about how many tokens an answer of a model has, overhead how many
	// tokens the first call of an agent has that are not of the conversation.
	rates    map[string]store.Rate
	likely   map[string]float64
	overhead map[string]int64
	// recent is what was said of late, oldest first.
	recent []store.Notice
}

// New returns a Ledger. It does no I/O.
func New(o Options) *Ledger {
	l := &Ledger{o: o, windows: map[key]*window{}, rates: map[string]store.Rate{}, likely: map[string]float64{}, overhead: map[string]int64{}}
	l.limits.Store(&o.Limits)
	return l
}

// Open gives the ledger its store, and charges the calls that an earlier life was cut off in. It is called once, before the first turn.
// Counters that cannot be read do not fail a start: the turns that need them fail, and say so.
func (l *Ledger) Open(ctx context.Context, s Store) {
	l.store = s
	if err := l.open(ctx); err != nil && !errors.Is(err, store.ErrReadOnly) { // a gateway on a read-only store runs no turns
		l.o.Log.Error("counters of budgets not read", "event", ops.LogBudgetUnread, "error", err.Error())
	}
}

// open does what Open does.
func (l *Ledger) open(ctx context.Context) error {
	s := l.store
	cut, err := s.ChargeCut(ctx)
	if err != nil {
		return err
	}
	if cut > 0 {
		l.o.Log.Info("calls of the last life were cut off; they are charged what was reserved for them", "event", ops.LogBudgetCut, "calls", cut)
	}
	now := time.Now()
	raises, err := s.Raises(ctx, now)
	if err != nil {
		return err
	}
	rates, err := s.Rates(ctx, l.day(now.AddDate(0, 0, -31)))
	if err != nil {
		return err
	}
	said, err := s.BudgetNotices(ctx, now.Add(-recentFor), recentMax)
	if err != nil {
		return err
	}
	slices.Reverse(said)
	l.mu.Lock()
	l.raises, l.recent = raises, said
	for _, r := range rates {
		l.rates[r.Model] = r
	}
	l.mu.Unlock()
	return l.load3(ctx)
}

// Use puts other limits in force, from the next call on, also of turns that run.
func (l *Ledger) Use(limits map[string]Limits) {
	before := *l.limits.Swap(&limits)
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, w := range l.windows {
		if limits[k.budget].of(k.kind) != before[k.budget].of(k.kind) {
			w.percent = 0 // what was said was of another limit
		}
	}
}

// Names are the names of the budgets, sorted.
func (l *Ledger) Names() []string { return slices.Sorted(maps.Keys(*l.limits.Load())) }

// Known reports whether there is a budget with this name.
func (l *Ledger) Known(name string) bool {
	_, known := (*l.limits.Load())[name]
	return known
}

// Currency is that of all budgets.
func (l *Ledger) Currency() string { return l.o.Currency }

// Zone is where days and months begin.
func (l *Ledger) Zone() *time.Location { return l.o.Zone }

// day is the day of a moment in the zone of the budgets.
func (l *Ledger) day(at time.Time) string { return at.In(l.o.Zone).Format(time.DateOnly) }

// month is that of a day.
func month(day string) string { return day[:len("2006-01")] }

// renews is when a window of a kind that is used up begins again; zero: not by itself.
func (l *Ledger) renews(k Kind, now time.Time) time.Time {
	y, m, d := now.In(l.o.Zone).Date()
	switch k {
	case KindDay, KindTokens, KindPerson:
		return time.Date(y, m, d+1, 0, 0, 0, 0, l.o.Zone)
	case KindMonth:
		return time.Date(y, m+1, 1, 0, 0, 0, 0, l.o.Zone)
	}
	return time.Time{}
}

// limit is what a window may use at a time, with what it was raised by; 0: it has no limit. The caller holds mu.
func (l *Ledger) limit(k key, now time.Time) int64 {
	limit := (*l.limits.Load())[k.budget].of(k.kind)
	if limit == 0 {
		return 0
	}
	for _, r := range l.raises {
		switch {
		case r.Budget != k.budget || !r.Until.After(now):
		case k.kind == KindTokens:
			limit += r.Tokens
		default:
			limit += r.Money
		}
	}
	return min(limit, int64(most))
}

// Raise lifts a budget until a time: each of its limits on money by money, and that on tokens by tokens.
func (l *Ledger) Raise(ctx context.Context, r store.Raise) error {
	if err := l.store.PutRaise(ctx, r); err != nil {
		return err
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raises = append(slices.DeleteFunc(l.raises, func(r store.Raise) bool { return !r.Until.After(now) }), r)
	for k, w := range l.windows {
		if k.budget == r.Budget {
			w.percent = 0 // what was said was of the lower limit
		}
	}
	return nil
}

// key names a window. The period is a turn, a conversation, a day and a person, a run, a day, or a month.
type key struct {
	budget string
	kind   Kind
	period string
}

// keys are the windows that a call on a day counts in. Those of the day and the month exist without a limit too, because they are
// shown.
func (l *Ledger) keys(w Who, day string) []key {
	limits := (*l.limits.Load())[w.Budget]
	all := make([]key, 0, len(kinds))
	for _, k := range kinds {
		period, shown := "", false
		switch k {
		case KindTurn:
			period = w.Turn
		case KindSession:
			period = w.Session
		case KindPerson:
			if w.Person != "" {
				period = day + " " + w.Person
			}
		case KindJob:
			period = w.Job
		case KindDay, KindTokens:
			period, shown = day, true
		case KindMonth:
			period, shown = month(day), true
		}
		if period != "" && (shown || limits.of(k) > 0) {
			all = append(all, key{w.Budget, k, period})
		}
	}
	return all
}

// current reports whether a window is that of a day or of a month, and not over.
func (k key) current(day string) bool {
	switch k.kind {
	case KindDay, KindTokens:
		return k.period == day
	case KindMonth:
		return strings.HasPrefix(day, k.period)
	}
	return false
}
