package budget

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// bench is a ledger on a store, with the limits of the budget b.
type bench struct {
	t      testing.TB
	path   string
	limits Limits
	zone   *time.Location
	store  *store.Store
	ledger *Ledger

	mu   sync.Mutex
	said []Notice
}

func newBench(t testing.TB, limits Limits) *bench {
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "gateway.db"), limits: limits, zone: time.UTC}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.store, err = store.Open(b.t.Context(), store.Options{Path: b.path}); err != nil {
		b.t.Fatal(err)
	}
	b.ledger = New(Options{
		Limits: map[string]Limits{"b": b.limits}, Currency: "EUR", Zone: b.zone, Log: slog.New(slog.DiscardHandler),
		Said: func(n Notice) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.said = append(b.said, n)
		},
	})
	b.ledger.Open(b.t.Context(), b.store)
}

func (b *bench) close() {
	b.t.Helper()
	if err := b.store.Close(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) turn(id string) *Turn {
	b.t.Helper()
	t, err := b.ledger.Begin(b.t.Context(), Who{Turn: id, Session: "s" + id, Person: "chat:1", Budget: "b", Agent: "a"})
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

// costs is a call of a model whose calls cost so much of the currency for a thousand tokens.
func costs(price float64, in int64) Call {
	return Call{Model: "m", In: in, Out: 1, Price: priced(price)}
}

func priced(price float64) func(model.Usage) model.Usage {
	return func(u model.Usage) model.Usage {
		u.Cost, u.Priced = float64(u.In+u.Out)*price/1000, true
		return u
	}
}

// spends makes one call of t that costs so much, and writes its charge.
func (b *bench) spends(t *Turn, cost float64) error {
	b.t.Helper()
	if err := t.Reserve(b.t.Context(), costs(1, int64(cost*1000))); err != nil {
		return err
	}
	t.Settle("m", model.Usage{In: 10, Out: 1, Cost: cost, Priced: true}, false)
	return b.store.Charge(b.t.Context(), t.Charge())
}

func (b *bench) used(kind Kind, period string) int64 {
	b.t.Helper()
	u, err := b.store.UsedIn(b.t.Context(), "b", string(kind), period)
	if err != nil {
		b.t.Fatal(err)
	}
	if kind == KindTokens {
		return u.Unpriced
	}
	return u.Cost
}

func TestTR8_ACallIsRefusedOnceItsBudgetIsUsedUp(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		kind   Kind
		says   []string
	}{
		{"in a turn", Limits{Turn: unit}, KindTurn, []string{`The budget "b" is used up: 1.00 of 1.00 EUR in this turn.`, "Send a message to continue"}},
		{"in a conversation", Limits{Session: unit}, KindSession, []string{"in this conversation", "/new"}},
		{"by a person", Limits{Person: unit}, KindPerson, []string{"by one person today", "It renews on"}},
		{"in a day", Limits{Day: unit}, KindDay, []string{"1.00 of 1.00 EUR today", "It renews on", "budgets raise b --by 0.50"}},
		{"in a month", Limits{Month: unit}, KindMonth, []string{"this month", "It renews on"}},
		{"in the day and the month, which renews last", Limits{Day: unit, Month: unit}, KindMonth, []string{"this month"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.limits)
			defer b.close()
			turn := b.turn("1")
			for n := range 4 {
				if err := b.spends(turn, 0.25); err != nil {
					t.Fatalf("call %d: %v", n, err)
				}
			}
			var refusal *Refusal
			if err := b.spends(turn, 0.25); !errors.As(err, &refusal) {
				t.Fatalf("the fifth call was answered %v", err)
			}
			if refusal.Kind != tt.kind || refusal.Percent != 100 {
				t.Errorf("the refusal is %+v", refusal)
			}
			for _, says := range tt.says {
				if !strings.Contains(refusal.Error(), says) {
					t.Errorf("%q does not say %q", refusal.Error(), says)
				}
			}
		})
	}
}

func TestTR8_AModelWithoutAPriceIsCountedInTokensAlone(t *testing.T) {
	b := newBench(t, Limits{Day: 1, TokensPerDay: 2000})
	defer b.close()
	turn := b.turn("1")
	for range 2 {
		if err := turn.Reserve(t.Context(), Call{Model: "local", In: 500, Out: 10}); err != nil {
			t.Fatal(err)
		}
		turn.Settle("local", model.Usage{In: 900, Out: 100}, false)
	}
	var refusal *Refusal
	if err := turn.Reserve(t.Context(), Call{Model: "local", In: 1}); !errors.As(err, &refusal) || refusal.Kind != KindTokens {
		t.Fatalf("the third call was answered %v", err)
	}
	if want := "2,000 of 2,000 tokens of models without a price today"; !strings.Contains(refusal.Error(), want) {
		t.Errorf("%q does not say %q", refusal.Error(), want)
	}
}

func TestTR8_AFreeModelIsNeverRefused(t *testing.T) {
	b := newBench(t, Limits{Day: 1, TokensPerDay: 1000})
	defer b.close()
	b.ledger.o.Free = func(model string) bool { return model == "free" }
	turn := b.turn("1")
	must(t, turn.Reserve(t.Context(), Call{Model: "local", In: 500}))
	turn.Settle("local", model.Usage{In: 5000, Out: 100}, false)
	for range 3 {
		must(t, turn.Reserve(t.Context(), Call{Model: "free", In: 500}))
		turn.Settle("free", model.Usage{In: 900, Out: 100}, false)
	}
	must(t, turn.Close(t.Context()))
	rows, err := b.ledger.Usage(t.Context(), ops.UsageQuery{By: "model"})
	must(t, err)
	if len(rows) != 2 || rows[1].Group != "free" || rows[1].TokensIn != 2700 || rows[1].Unpriced != 0 || rows[1].Cost != nil {
		t.Errorf("the usage is %+v", rows)
	}
}

func TestTR8_AStartSurvivesCountersThatCannotBeRead(t *testing.T) {
	b := newBench(t, Limits{Day: unit})
	b.close() // each read fails
	ledger := New(Options{Limits: map[string]Limits{"b": {Day: unit}}, Currency: "EUR", Zone: time.UTC, Log: slog.New(slog.DiscardHandler)})
	ledger.Open(t.Context(), b.store)
	if _, err := ledger.Begin(t.Context(), Who{Turn: "t", Budget: "b", Agent: "a"}); err == nil {
		t.Error("a turn began although its counters cannot be read")
	}
	if rows := ledger.Today(); len(rows) != 1 {
		t.Errorf("the status has %+v", rows)
	}
}

func TestTR8_AModelThatReportsItsCostIsBoundByMoneyAlsoInTheNextLife(t *testing.T) {
	b := newBench(t, Limits{Day: unit})
	turn := b.turn("1")
	if err := turn.Reserve(t.Context(), Call{Model: "m", In: 10}); err != nil {
		t.Fatal(err)
	}
	turn.Settle("m", model.Usage{In: 10, Out: 10, Cost: 1, Priced: true}, false)
	must(t, turn.Close(t.Context()))
	b.close()
	b.open()
	defer b.close()
	if err := b.turn("2").Reserve(t.Context(), Call{Model: "m", In: 10}); err == nil {
		t.Error("a call was admitted although the day's money is spent")
	}
}

func TestTR8_ACallThatIsCutOffKeepsItsReservation(t *testing.T) {
	b := newBench(t, Limits{Day: 10 * unit})
	day := b.ledger.day(time.Now())
	aborted := b.turn("1")
	must(t, aborted.Reserve(t.Context(), costs(1, 999)))
	if used := aborted.Abort(); used.Cost != 1 || used.In != 999 {
		t.Errorf("an aborted call counts as %+v", used)
	}
	must(t, aborted.Close(t.Context()))
	if got := b.used(KindDay, day); got != int64(unit) {
		t.Errorf("the day has %d after an aborted call", got)
	}
	b.close()
	b.open()
	defer b.close()
	if got := b.used(KindDay, day); got != int64(unit) {
		t.Errorf("the day has %d in the next life", got)
	}
}

func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error,
) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTR8_AWarningIsGivenOnceInAWindowAlsoOverARestart(t *testing.T) {
	b := newBench(t, Limits{Day: unit})
	for n := range 8 {
		turn := b.turn(string(rune('a' + n)))
		must(t, b.spends(turn, 0.125))
		must(t, turn.Close(t.Context()))
		b.close()
		b.open()
	}
	defer b.close()
	refused := b.turn("z")
	for range 3 {
		if b.spends(refused, 0.1) == nil {
			t.Fatal("a call was admitted")
		}
	}
	must(t, refused.Close(t.Context()))
	var percents []int
	for _, n := range b.said {
		percents = append(percents, n.Percent)
	}
	if !slices.Equal(percents, []int{50, 80, 100, 100, 100}) {
		t.Errorf("it was said at %v percent", percents)
	}
	rows, err := b.store.BudgetNotices(t.Context(), time.Time{}.AddDate(1970, 0, 0), 10)
	must(t, err)
	if len(rows) != 3 || !strings.Contains(rows[2].Text, `50 % of the budget "b" are used: 0.50 of 1.00 EUR today. It renews on`) {
		t.Errorf("the store has %+v", rows)
	}
}

func TestTR8_ADayAndAMonthBeginInTheZoneOfTheBudget(t *testing.T) {
	vienna, err := time.LoadLocation("Europe/Vienna")
	must(t, err)
	for _, tt := range []struct{ name, at, day, month string }{
		{"in winter", "2026-01-31T22:59:59Z", "2026-01-31T23:00:00Z", "2026-01-31T23:00:00Z"},
		{"in summer", "2026-07-01T12:00:00Z", "2026-07-01T22:00:00Z", "2026-07-31T22:00:00Z"},
		{"on the day with 23 hours", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-31T22:00:00Z"},
		{"on the day with 25 hours", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", "2026-10-31T23:00:00Z"},
		{"at the end of a year", "2026-12-31T22:00:00Z", "2026-12-31T23:00:00Z", "2026-12-31T23:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := New(Options{Zone: vienna})
			at, err := time.Parse(time.RFC3339, tt.at)
			must(t, err)
			day, month := l.renews(KindDay, at), l.renews(KindMonth, at)
			if day.UTC().Format(time.RFC3339) != tt.day || month.UTC().Format(time.RFC3339) != tt.month {
				t.Errorf("the day renews at %s, the month at %s", day.UTC(), month.UTC())
			}
			if before := day.Add(-time.Nanosecond); l.day(before) != l.day(at) || l.day(day) == l.day(at) {
				t.Error("the day does not end when it renews")
			}
		})
	}
}

func TestTR8_ABudgetRenewsAtMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Limits{Day: unit})
		defer b.close()
		turn := b.turn("1")
		must(t, b.spends(turn, 1))
		if b.spends(turn, 1) == nil {
			t.Fatal("a call was admitted before midnight")
		}
		time.Sleep(24 * time.Hour) // the bubble begins at midnight
		must(t, b.spends(turn, 0.5))
		must(t, turn.Close(t.Context()))
		if got := [2]int64{b.used(KindDay, "2000-01-01"), b.used(KindDay, "2000-01-02")}; got != [2]int64{int64(unit), int64(unit) / 2} {
			t.Errorf("the days have %v", got)
		}
		if got := b.used(KindMonth, "2000-01"); got != int64(unit)*3/2 {
			t.Errorf("the month has %d", got)
		}
	})
}

func TestTR8_ARaisedBudgetAdmitsCallsUntilItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Limits{Month: unit})
		turn := b.turn("1")
		must(t, b.spends(turn, 1))
		if b.spends(turn, 1) == nil {
			t.Fatal("a call was admitted")
		}
		must(t, b.ledger.Raise(t.Context(), store.Raise{Budget: "b", Money: int64(5 * unit), Until: time.Now().Add(time.Hour), At: time.Now()}))
		must(t, b.spends(turn, 1))
		must(t, turn.Close(t.Context()))
		b.close()
		b.open()
		defer b.close()
		turn = b.turn("2")
		must(t, b.spends(turn, 1))
		time.Sleep(2 * time.Hour)
		if b.spends(turn, 1) == nil {
			t.Error("a call was admitted after the raise had ended")
		}
	})
}

func TestTR8_APlannedCallIsReservedByTheTurnsOwnWrite(t *testing.T) {
	const prompt = 800
	for name, c := range map[string]Call{
		"the first call of a conversation":               {In: 7},
		"a later call, and its endpoint counted all":     {In: prompt + 60, Counted: true},
		"a later call, and its endpoint counted no more": {In: 7, Counted: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			defer b.close()
			turn := b.turn("1")
			c.Model, c.Fixed = "m", func() int { return prompt }
			turn.Plan(t.Context(), c)
			if charge := turn.Charge(); charge == nil || charge.Reserved == nil { // what the write that begins the turn takes along
				t.Fatal("nothing was planned")
			}
			written := turn.n
			if err := turn.Reserve(t.Context(), Call{Model: "m", In: prompt + 20}); err != nil {
				t.Fatal(err)
			}
			if turn.n != written {
				t.Error("the call was reserved by a write of its own, which costs the turn a commit")
			}
		})
	}
}

// HR10: calls that are made at the same time share the bill of their turn: it is exact in any order, and a kill charges what
// each of them has reserved.
func TestHR10_CallsSideBySideAreOnOneBill(t *testing.T) {
	b := newBench(t, Limits{Day: 1000 * unit})
	turn := b.turn("t1")
	now := time.Now()
	day := b.ledger.day(now)
	v := store.Session{Key: "chat:dm:1", ID: "st1", Platform: "chat", State: ops.SessionIdle, CreatedAt: now, LastActivityAt: now}
	must(t, b.store.BeginTurn(t.Context(), v, store.Turn{ID: "t1", SessionID: "st1", Life: "l", StartedAt: now, State: store.TurnRunning, Charge: turn.Charge()}))
	const children, calls = 8, 12
	var all sync.WaitGroup
	for i := range children {
		all.Go(func() {
			own := turn.Fork()
			defer own.Done()
			for n := range calls {
				if err := own.Reserve(t.Context(), costs(1, 999)); err != nil {
					t.Error(err)
					return
				}
				switch (n + i) % 3 {
				case 0:
					own.Settle("m", model.Usage{In: 10, Out: 1, Cost: 1, Priced: true}, false)
				case 1:
					own.Abort() // counts as reserved: 1.00
				case 2:
					own.Cancel()
				}
			}
			if err := own.Reserve(t.Context(), costs(1, 999)); err != nil { // its end cuts it off
				t.Error(err)
			}
		})
	}
	all.Wait()
	must(t, b.store.Charge(t.Context(), turn.Charge()))
	if got, want := b.used(KindDay, day), int64(unit)*(children*calls*2/3+children); got != want {
		t.Fatalf("%d are spent, want %d", got, want)
	}
	before := b.used(KindDay, day)
	for range 3 {
		must(t, turn.Fork().Reserve(t.Context(), costs(1, 999)))
	}
	b.close() // a kill
	b.open()
	if got := b.used(KindDay, day) - before; got != int64(3*unit) {
		t.Errorf("the kill cost %d, want what three calls had reserved", got)
	}
	b.close()
}
