package budget

import (
	"context"
	"slices"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/store"
)

// Who is what a turn is counted for.
type Who struct {
	// Turn is its id. Session is the id of its conversation and Person who wrote its message, such as telegram:4711; Job is the run of
	// a job; empty: none.
	Turn, Session, Person, Job string
	// Budget is the name of its budget, Agent that of its agent.
	Budget, Agent string
	// Key is the key of its session, and Target the platform's address of the chat: warnings go there.
	Key, Target string
}

// Call is a model call that is about to be made.
type Call struct {
	// Model is the name of the model that is asked first.
	Model string
	// In is about how many tokens the request has, Out how many the answer may have; 0: not known.
	In, Out int64
	// Price gives usage its cost, if the model's prices are known.
	Price func(model.Usage) model.Usage
	// Fixed says about how many tokens the prompt and the tools have; nil: In has them. Turn.Plan asks it once for each agent, and
	// learns from the calls. Counted says that In comes from an earlier call's endpoint and may have them: then they are the least that
	// In is, because not every endpoint counts them.
	Fixed   func() int
	Counted bool
}

// Turn is what one turn spends, its children included. Its calls are made one after the other; a child that works next to others makes
// its calls on a Turn from Fork. Its methods may be called from any goroutine. A nil *Turn has no budget and counts nothing.
type Turn struct {
	*bill

	// Ledger.mu guards what follows.

	// call is the call under way, or the next one; nil: none.
	call *reservation
	// planned is Call.In of a fresh plan before the overhead was added; 0: there was none.
	planned int64
}

// bill is what the Turns of one turn share.
type bill struct {
	l   *Ledger
	who Who
	// writing has the one place of who writes a charge that no write of the turn has, so that charges reach the store in their order.
	writing chan struct{}

	// Ledger.mu guards what follows.

	// windows are those that the turn counts in, by day.
	windows map[string][]*window
	// all are the Turns, the turn's own first.
	all []*Turn
	// lines and notices are not written yet. dirty means that the store has other reservations than those of all. n numbers the charges.
	lines   []store.Usage
	notices []store.Notice
	dirty   bool
	n       int64
	closed  bool
}

// reservation is what a call may use.
type reservation struct {
	windows []*window
	usage   store.Usage
	// begun means that the call is made, durable that a charge has the reservation.
	begun, durable bool
}

// amount is what u counts in a window; false: nothing.
func amount(u store.Usage, k Kind) (int64, bool) {
	if k == KindTokens {
		return u.Unpriced, u.Unpriced > 0
	}
	return u.Cost, u.Priced > 0
}

// Begin returns what a turn spends. The caller ends it with Close.
func (l *Ledger) Begin(ctx context.Context, w Who) (*Turn, error) {
	t := newTurn(l, w)
	_, err := t.today(ctx)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// newTurn is a Turn without windows.
func newTurn(l *Ledger, w Who) *Turn {
	t := &Turn{bill: &bill{l: l, who: w, writing: make(chan struct{}, 1), windows: map[string][]*window{}}}
	t.all = []*Turn{t}
	return t
}

// Fork returns a Turn for calls that are made at the same time as those of t, on the same bill. The caller ends it with Done before
// it ends t.
func (t *Turn) Fork() *Turn {
	if t == nil {
		return nil
	}
	fork := &Turn{bill: t.bill}
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	t.all = append(t.all, fork)
	return fork
}

// Done ends a Turn from Fork. A call that was not settled counts as cut off.
func (t *Turn) Done() {
	if t == nil {
		return
	}
	t.Abort()
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(other *Turn) bool { return other == t })
}

// today is the windows of the turn for this day.
func (t *Turn) today(ctx context.Context) ([]*window, error) {
	day := t.l.day(time.Now())
	t.l.mu.Lock()
	all, known := t.windows[day]
	t.l.mu.Unlock()
	if known {
		return all, nil
	}
	all, err := t.l.acquire(ctx, t.l.keys(t.who, day))
	if err != nil {
		return nil, err
	}
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	t.windows[day] = all
	return all, nil
}

// Plan reserves the turn's next call, so that the write that follows has the reservation. It does nothing if the call is not
// admitted, or if the counters cannot be read: Reserve will say so.
func (t *Turn) Plan(ctx context.Context, c Call) {
	if t == nil {
		return
	}
	windows, err := t.today(ctx)
	if err != nil {
		return
	}
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	switch {
	case c.Fixed == nil:
	case c.Counted:
		c.In = max(c.In, t.l.fixed(t.who.Agent, c.Fixed))
	default:
		t.planned = max(c.In, 1)
		c.In += t.l.fixed(t.who.Agent, c.Fixed)
	}
	t.drop()
	if r := t.estimate(c, windows); t.refused(r, time.Now()) == nil {
		t.take(r)
	}
}

// fixed is how many tokens the first call of a conversation has that are not of the conversation. The caller holds mu.
func (l *Ledger) fixed(agent string, count func() int) int64 {
	if _, known := l.overhead[agent]; !known {
		l.overhead[agent] = int64(count())
	}
	return l.overhead[agent]
}

// slack is how much larger than planned a request may be that keeps its reservation: a quarter, and these tokens.
const slack = 256

// Reserve admits a call, which Settle or Abort ends. What was planned for it holds unless the call is much larger. Otherwise Reserve
// writes the reservation. Its error is a *Refusal if a budget does not allow the call.
func (t *Turn) Reserve(ctx context.Context, c Call) error {
	if t == nil {
		return nil
	}
	windows, err := t.today(ctx)
	if err != nil {
		return err
	}
	kept, refusal := t.admit(c, windows)
	if refusal != nil {
		t.l.say(refusal.Notice)
		return refusal
	}
	if kept {
		return nil
	}
	ctx, cancel := t.l.store.Patient(ctx)
	defer cancel()
	if err := t.write(ctx); err != nil {
		t.Cancel()
		return err
	}
	return nil
}

// write writes a charge on its own. It may be that a call at the same time has written it.
func (t *Turn) write(ctx context.Context) error {
	select {
	case t.writing <- struct{}{}:
		defer func() { <-t.writing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	charge := t.Charge()
	if charge == nil {
		return nil
	}
	err := t.l.store.Charge(ctx, charge)
	if err != nil {
		t.giveBack(charge)
	}
	return err
}

// admit makes c the call under way. kept means that its reservation is, or will be, in the store.
func (t *Turn) admit(c Call, windows []*window) (kept bool, refusal *Refusal) {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	if t.planned > 0 {
		t.l.overhead[t.who.Agent] = max(c.In-t.planned, 0)
		t.planned = 0
	}
	if r := t.call; r != nil && !r.begun && c.In <= r.usage.In+r.usage.In/4+slack {
		r.begun = true
		return r.durable, nil
	}
	t.drop()
	now := time.Now()
	r := t.estimate(c, windows)
	if refusal := t.refused(r, now); refusal != nil {
		if refusal.First {
			refusal.window.percent = 100
			t.note(refusal.Notice, now)
		}
		return false, refusal
	}
	t.take(r)
	r.begun = true
	return false, nil
}

// estimate is what a call may use. The caller holds mu.
func (t *Turn) estimate(c Call, windows []*window) *reservation {
	u := model.Usage{In: max(c.In, 0), Out: t.l.answer(c)}
	if c.Price != nil {
		u = c.Price(u)
	}
	if rate := t.l.rates[c.Model]; !u.Priced && rate.Tokens > 0 {
		u.Priced, u.Cost = true, Money(float64(rate.Cost)/float64(rate.Tokens)*float64(u.In+u.Out)).Float()
	}
	return &reservation{windows: windows, usage: t.line(c.Model, u)}
}

// line is usage as the store counts it today.
func (t *Turn) line(name string, u model.Usage) store.Usage {
	w := t.who
	out := store.Usage{
		Day: t.l.day(time.Now()), Budget: w.Budget, Agent: w.Agent, Model: name, Person: w.Person, Session: w.Session, Job: w.Job,
		Calls: 1, In: u.In, Out: u.Out, Cached: u.Cached,
	}
	switch {
	case t.l.o.Free != nil && t.l.o.Free(name):
	case u.Priced:
		out.Priced, out.Cost = 1, int64(Of(u.Cost))
	default:
		out.Unpriced = u.In + u.Out
	}
	return out
}

// Bounds of what an answer is expected to have, in tokens: usual is that of a model that has not answered yet.
const (
	usual      = 512
	leastOut   = 64
	forgetting = 0.2 // the weight of the newest answer
)

// answer is how many tokens the answer of a call is likely to have: twice what the model's answers had. The caller holds mu.
func (l *Ledger) answer(c Call) int64 {
	out := int64(usual)
	if likely := l.likely[c.Model]; likely > 0 {
		out = max(int64(2*likely), leastOut)
	}
	if c.Out > 0 {
		out = min(out, c.Out)
	}
	return out
}

// take makes r the turn's call. The caller holds mu.
func (t *Turn) take(r *reservation) {
	for _, w := range r.windows {
		if n, counts := amount(r.usage, w.kind); counts {
			w.reserved += n
		}
	}
	t.call, t.dirty = r, true
}

// drop ends the reservation of the turn's call. The caller holds mu.
func (t *Turn) drop() {
	if t.call == nil {
		return
	}
	for _, w := range t.call.windows {
		if n, counts := amount(t.call.usage, w.kind); counts {
			w.reserved -= n
		}
	}
	t.dirty = t.dirty || t.call.durable
	t.call = nil
}

// Settle ends the call with what it used. model answered; estimated says that the endpoint did not report the usage. It returns what
// was counted.
func (t *Turn) Settle(model string, u model.Usage, estimated bool) {
	if t == nil {
		return
	}
	t.l.mu.Lock()
	line := t.line(model, u)
	if estimated {
		line.Estimated = 1
	} else {
		t.l.learn(model, line)
	}
	said := t.settle(line)
	t.l.mu.Unlock()
	t.l.say(said...)
}

// Abort ends a call that was cut off: it counts as what was reserved for it, which Abort returns.
func (t *Turn) Abort() model.Usage {
	if t == nil {
		return model.Usage{}
	}
	t.l.mu.Lock()
	used, said := t.abort()
	t.l.mu.Unlock()
	t.l.say(said...)
	return used
}

// abort is Abort with mu held.
func (t *Turn) abort() (used model.Usage, said []Notice) {
	if t.call == nil || !t.call.begun {
		t.drop()
		return used, nil
	}
	line := t.call.usage
	line.Estimated = 1
	used = model.Usage{In: line.In, Out: line.Out, Cost: Money(line.Cost).Float(), Priced: line.Priced > 0, Unpriced: line.Unpriced}
	return used, t.settle(line)
}

// Cancel ends a call that its endpoint refused, or that was never sent: it costs nothing.
func (t *Turn) Cancel() {
	if t == nil {
		return
	}
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	t.drop()
}

// learn notes how long the answers of a model are, and what it costs. The caller holds mu.
func (l *Ledger) learn(model string, u store.Usage) {
	if u.Out > 0 {
		if before := l.likely[model]; before > 0 {
			l.likely[model] = before + forgetting*(float64(u.Out)-before)
		} else {
			l.likely[model] = float64(u.Out)
		}
	}
	if u.Priced > 0 {
		r := l.rates[model]
		l.rates[model] = store.Rate{Model: model, Cost: r.Cost + u.Cost, Tokens: r.Tokens + u.In + u.Out}
	}
}

// settle counts u in the windows of the call, and returns what is to be said. The caller holds mu.
func (t *Turn) settle(u store.Usage) (said []Notice) {
	windows := t.windows[u.Day]
	if t.call != nil {
		windows, u.Day = t.call.windows, t.call.usage.Day
	}
	t.drop()
	t.lines = append(t.lines, u)
	now := time.Now()
	for _, w := range windows {
		n, counts := amount(u, w.kind)
		if !counts {
			continue
		}
		w.spent = min(w.spent+n, int64(most))
		if notice, due := t.l.warning(w, now, t.who); due {
			said = append(said, notice)
			t.note(notice, now)
		}
	}
	return said
}

// note keeps what is said. The caller holds mu.
func (t *Turn) note(n Notice, now time.Time) {
	row := n.row(now)
	t.notices = append(t.notices, row)
	t.l.remember(row)
}

// Close ends the turn's part in the ledger, and writes what no write of the turn had. Every call but the first does nothing.
func (t *Turn) Close(ctx context.Context) error {
	if t == nil || t.close() {
		return nil
	}
	t.Abort()
	wctx, cancel := t.l.store.Patient(ctx)
	err := t.write(wctx)
	cancel()
	t.l.mu.Lock()
	var all []*window
	for _, windows := range t.windows {
		all = append(all, windows...)
	}
	t.l.mu.Unlock()
	t.l.release(all)
	return err
}

// close reports whether the turn was closed before.
func (t *Turn) close() (before bool) {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	before, t.closed = t.closed, true
	return before
}
