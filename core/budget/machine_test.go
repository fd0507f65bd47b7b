package budget

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/soak"
)

// books are the model: what was spent, what may be spent by calls under way, and what the disk has of both, by day.
type books struct {
	*bench
	spent, disk map[string]int64
	turns       []*running
	ids         int
	// largest is the largest cost of one call.
	largest int64
}

// running is a turn of the model.
type running struct {
	*Turn
	id string
	// reserved is what is reserved for the call on the day, and begun that it is under way.
	reserved int64
	day      string
	begun    bool
	// lost is what was settled and not written, by day. onDisk is the reservation that the disk has.
	lost   map[string]int64
	onDisk int64
	diskAt string
}

func (b *books) today() string { return b.ledger.day(time.Now()) }

// total is what is spent and reserved on the days that begin with a prefix.
func (b *books) total(prefix string) (spent, reserved int64) {
	for day, n := range b.spent {
		if day[:len(prefix)] == prefix {
			spent += n
		}
	}
	for _, r := range b.turns {
		if r.reserved > 0 && r.day[:len(prefix)] == prefix {
			reserved += r.reserved
		}
	}
	return spent, reserved
}

// allowed reports whether a call may be admitted now.
func (b *books) allowed() bool {
	spent, reserved := b.total(b.today())
	inMonth, reservedInMonth := b.total(month(b.today()))
	return spent+reserved < int64(b.limits.Day) && inMonth+reservedInMonth < int64(b.limits.Month)
}

// wrote says that a charge is on the disk.
func (b *books) wrote(r *running, c *store.Charge) {
	if c == nil {
		return
	}
	for _, u := range c.Lines {
		b.disk[u.Day] += u.Cost
	}
	clear(r.lost)
	r.onDisk = 0
	for _, u := range c.Reserved { // calls of this turn are made one after the other
		r.onDisk, r.diskAt = u.Cost, u.Day
	}
}

func (b *books) pick(t *rapid.T, fits func(*running) bool) *running {
	some := slices.DeleteFunc(slices.Clone(b.turns), func(r *running) bool { return !fits(r) })
	if len(some) == 0 {
		t.Skip("runs once there is such a turn")
	}
	return rapid.SampledFrom(some).Draw(t, "turn")
}

func (b *books) begin(t *rapid.T) {
	if len(b.turns) == 6 {
		t.Skip("runs while fewer turns run")
	}
	b.ids++
	r := &running{id: fmt.Sprintf("t%04d", b.ids), lost: map[string]int64{}}
	turn, err := b.ledger.Begin(b.t.Context(), Who{Turn: r.id, Session: "s" + r.id, Budget: "b", Agent: "a"})
	must(t, err)
	r.Turn = turn
	b.plan(t, r)
	c := r.Charge()
	now := time.Now()
	v := store.Session{Key: "chat:dm:" + r.id, ID: "s" + r.id, Platform: "chat", State: ops.SessionIdle, CreatedAt: now, LastActivityAt: now}
	must(t, b.store.BeginTurn(b.t.Context(), v, store.Turn{ID: r.id, SessionID: v.ID, Life: "l", StartedAt: now, State: store.TurnRunning, Charge: c}))
	b.turns = append(b.turns, r)
	b.wrote(r, c)
}

// plan reserves the next call of r, if there is none.
func (b *books) plan(t *rapid.T, r *running) {
	call := b.call(t)
	allowed := b.allowed()
	r.Plan(b.t.Context(), call)
	if allowed {
		r.reserved, r.day, r.begun = reserved(call), b.today(), false
	}
}

func (b *books) call(t *rapid.T) Call { return costs(1, rapid.Int64Range(1, 400).Draw(t, "tokens")) }

func reserved(c Call) int64 { return (c.In + c.Out) * int64(unit) / 1000 }

// reserve begins a call.
func (b *books) reserve(t *rapid.T) {
	r := b.pick(t, func(r *running) bool { return !r.begun })
	call := b.call(t)
	kept := r.reserved > 0 && call.In <= r.call.usage.In+r.call.usage.In/4+slack
	if !kept {
		r.reserved = 0
	}
	allowed := kept || b.allowed()
	err := r.Reserve(b.t.Context(), call)
	if refusal, is := errors.AsType[*Refusal](err); is {
		if allowed {
			t.Fatalf("a call was refused (%v) with %d of %d spent and reserved", refusal, b.spent[b.today()], b.limits.Day)
		}
		return
	}
	must(t, err)
	if !allowed {
		t.Fatal("a call was admitted although the budget is used up")
	}
	if r.begun = true; !kept {
		r.reserved, r.day = reserved(call), b.today()
		for day, n := range r.lost {
			b.disk[day] += n
		}
		clear(r.lost)
		r.onDisk, r.diskAt = r.reserved, r.day
	}
}

// answer ends a call: it is answered, cut off, or refused by its endpoint.
func (b *books) answer(t *rapid.T) {
	r := b.pick(t, func(r *running) bool { return r.begun })
	cost := int64(0)
	switch rapid.SampledFrom([]string{"answered", "answered", "answered", "cut off", "refused"}).Draw(t, "end") {
	case "answered":
		cost = rapid.Int64Range(0, int64(unit)).Draw(t, "cost")
		r.Settle("m", model.Usage{In: 5, Out: 1, Cost: Money(cost).Float(), Priced: true}, false)
	case "cut off":
		cost = r.reserved
		r.Abort()
	case "refused":
		r.Cancel()
	}
	b.spent[r.day] += cost
	r.lost[r.day] += cost
	b.largest = max(b.largest, cost)
	r.reserved, r.begun = 0, false
}

// step writes what a step of a turn leaves, with the reservation of the next call or without one.
func (b *books) step(t *rapid.T) {
	r := b.pick(t, func(r *running) bool { return !r.begun })
	if r.reserved == 0 && rapid.Bool().Draw(t, "goes on") {
		b.plan(t, r)
	}
	c := r.Charge()
	must(t, b.store.AppendMessages(b.t.Context(), "s"+r.id, r.id, []store.Message{{Role: "tool", Content: "x"}}, c))
	if c != nil && rapid.Bool().Draw(t, "is written again") { // it was unknown whether it was written
		must(t, b.store.Charge(b.t.Context(), c))
	}
	b.wrote(r, c)
}

// end ends a turn, which may have been released before.
func (b *books) end(t *rapid.T) {
	r := b.pick(t, func(*running) bool { return true })
	if r.begun {
		b.spent[r.day] += r.reserved
		b.largest = max(b.largest, r.reserved)
	}
	now := time.Now()
	if rapid.Bool().Draw(t, "was released") {
		must(t, b.store.EndSession(b.t.Context(), "s"+r.id, now, "reset"))
	}
	c := r.Last()
	err := b.store.EndTurn(b.t.Context(), store.Session{ID: "s" + r.id, State: ops.SessionIdle}, store.Turn{ID: r.id, SessionID: "s" + r.id, State: store.TurnDone, StartedAt: now, EndedAt: now, Charge: c}, nil)
	if err != nil && !errors.Is(err, store.ErrStaleTurn) {
		t.Fatal(err)
	}
	b.wrote(r, c)
	must(t, r.Close(b.t.Context()))
	b.turns = slices.DeleteFunc(b.turns, func(o *running) bool { return o == r })
}

// kill ends the life without a word: what is not on the disk is lost, and what is reserved there is charged.
func (b *books) kill(t *rapid.T) {
	b.close()
	for _, r := range b.turns {
		if r.onDisk > 0 {
			b.disk[r.diskAt] += r.onDisk
			b.largest = max(b.largest, r.onDisk)
		}
	}
	b.turns = nil
	b.open()
	_, err := b.store.InterruptRunning(b.t.Context(), "crash", true, time.Now())
	must(t, err)
	b.spent = map[string]int64{}
	for day, n := range b.disk {
		b.spent[day] = n
	}
}

// check compares the ledger and the store with the model.
func (b *books) check(t *rapid.T) {
	day := b.today()
	spent, underWay := b.total(day)
	got := b.ledger.Today()[0]
	if int64(Of(got.Spent)) != spent {
		t.Fatalf("%s has %d in the ledger, want %d", day, Of(got.Spent), spent)
	}
	rows, err := b.ledger.Budgets(b.t.Context())
	must(t, err)
	for _, w := range rows[0].Windows {
		if w.Window == string(KindDay) && int64(Of(*w.Reserved)) != underWay {
			t.Fatalf("%s has %d reserved in the ledger, want %d", day, Of(*w.Reserved), underWay)
		}
	}
	for day, n := range b.disk {
		if got := b.used(KindDay, day); got != n {
			t.Fatalf("%s has %d in the store, want %d", day, got, n)
		}
	}
	if most := int64(b.limits.Day) + 6*max(b.largest, 401*int64(unit)/1000); spent > most {
		t.Fatalf("%d are spent, with a limit of %d and 6 turns at most", spent, b.limits.Day)
	}
}

// TR8 as a state machine on the real store: random costs, calls that are cut off or refused, writes that are repeated, turns that are
// released, kills, and a clock that crosses days, a change of summer time and months.
func TestTR8_TheCountersAreExactOverKillsAndMidnight(t *testing.T) {
	vienna, err := time.LoadLocation("Europe/Vienna")
	must(t, err)
	soak.Checks(t, 15, 400) // each opens a store a few times
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.SampledFrom([]string{"2000-01-01T12:00:00Z", "2000-03-25T12:00:00Z", "2000-10-28T21:00:00Z", "2000-12-31T20:00:00Z"}).Draw(rt, "begins at")
		synctest.Test(t, func(t *testing.T) {
			begin, err := time.Parse(time.RFC3339, at)
			must(t, err)
			time.Sleep(time.Until(begin))
			bench := newBench(t, Limits{Day: unit, Month: 5 * unit / 2})
			bench.close()
			bench.zone = vienna
			bench.open()
			b := &books{bench: bench, spent: map[string]int64{}, disk: map[string]int64{}}
			defer func() { b.close() }()
			rt.Repeat(map[string]func(*rapid.T){
				"begin a turn": b.begin, "reserve": b.reserve, "answer": b.answer, "step": b.step, "end a turn": b.end, "kill": b.kill, "": b.check,
				"time passes": func(t *rapid.T) { time.Sleep(time.Duration(rapid.IntRange(1, 6).Draw(t, "hours")) * time.Hour) },
			})
		})
	})
}
