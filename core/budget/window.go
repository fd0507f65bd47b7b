package budget

import (
	"context"
	"time"
)

// window is a counter: in billionths, or in tokens if its kind is KindTokens. Ledger.mu guards it.
type window struct {
	key
	spent, reserved int64
	// percent is how much of it was said to be used.
	percent int
	// users are the turns that count in it. It stays in the ledger while there are some, and as long as its day or month lasts.
	users int
	// loaded is closed when spent has what the store has; err is why it could not be read.
	loaded chan struct{}
	err    error
}

// acquire returns the windows of a turn for a day, with what the store has of them. release is for each of them.
func (l *Ledger) acquire(ctx context.Context, keys []key) ([]*window, error) {
	all, fresh := l.join(keys)
	for _, w := range fresh {
		l.load(ctx, w)
	}
	for _, w := range all {
		select {
		case <-w.loaded:
		case <-ctx.Done():
			l.release(all)
			return nil, context.Cause(ctx)
		}
		if w.err != nil {
			l.release(all)
			return nil, w.err
		}
	}
	return all, nil
}

// join adds a user to each window, and makes those that do not exist. fresh are the new ones, which the caller loads.
func (l *Ledger) join(keys []key) (all, fresh []*window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	newDay := false
	for _, k := range keys {
		w := l.windows[k]
		if w == nil {
			w = &window{key: k, loaded: make(chan struct{})}
			l.windows[k] = w
			fresh = append(fresh, w)
			newDay = newDay || k.kind == KindDay
		}
		w.users++
		all = append(all, w)
	}
	if newDay {
		l.forgetOld()
	}
	return all, fresh
}

// load adds to a window what the store has. A turn's own window begins at 0.
func (l *Ledger) load(ctx context.Context, w *window) {
	var spent int64
	var percent int
	var err error
	if w.kind != KindTurn {
		used, failed := l.store.UsedIn(ctx, w.budget, string(w.kind), w.period)
		if spent, percent, err = used.Cost, used.Percent, failed; w.kind == KindTokens {
			spent = used.Unpriced
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.spent += spent
	w.percent = max(w.percent, percent)
	if w.err = err; err != nil {
		delete(l.windows, w.key)
	}
	close(w.loaded)
}

// release takes a user from each window.
func (l *Ledger) release(all []*window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	day := l.day(time.Now())
	for _, w := range all {
		if w.users--; w.users == 0 && !w.current(day) {
			delete(l.windows, w.key)
		}
	}
}

// forgetOld drops the windows without users that are over or belong to a turn, a session, a person or a run: the store has them. The
// caller holds mu.
func (l *Ledger) forgetOld() {
	day := l.day(time.Now())
	for k, w := range l.windows {
		if w.users == 0 && !k.current(day) {
			delete(l.windows, k)
		}
	}
}
