package api

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/limit"
)

const (
	// bodyWait is how long a body waits for a part of the budget before its request is refused.
	bodyWait = 5 * time.Second
	// stalledAfter is how long a body may take to fill the part that it has while others wait. A part is at most maxStep, so
	// that a client which sends less than 64 KiB a second gives way when the budget is used up.
	stalledAfter = time.Second
	maxStep      = 64 << 10
	// trimAfter is how long after a peak of the budget its memory is given back to the system, trimPause the least time
	// between two times: it runs the garbage collector.
	trimAfter = 2 * time.Second
	trimPause = 30 * time.Second
)

// steps are the sizes of the parts in which a body takes its share.
var steps = [...]int64{4 << 10, 16 << 10, maxStep}

// stepAt is the size of the next part of a body that has so many bytes: it never takes much more than it has.
func stepAt(have int64) int64 {
	switch {
	case have < steps[0]:
		return steps[0]
	case have < maxStep:
		return steps[1]
	}
	return maxStep
}

var (
	// errGaveWay ends the reading of a body that stalled while others waited, errNoBudget of one that itself waited.
	errGaveWay  = errors.New("the body stalled while others waited for limits.body_bytes")
	errNoBudget = errors.New("limits.body_bytes is used up")
)

// budget bounds the bytes of the bodies that are under way, over all requests (limits.body_bytes, HF20). A body takes its
// share in steps, as its bytes arrive, independent of its Content-Length, and returns all of it when its message was passed
// on.
//
// Where the budget is used up a body waits, and the latest request is served first: it is the one that is most likely to have
// all its bytes at hand, and the others have the least time left. As long as its bytes flow, an earlier request gets only what
// the rest of its body leaves. Room is made at the cost of
//
//   - bodies that do not fill their step within stalledAfter, the longest first,
//   - and, where everyone waits for everyone, of the body that waits and began first.
//
// So neither stalled uploads nor many that are half there hold up a body that is complete.
type budget struct {
	most  int64
	bound *limit.Bound

	mu   sync.Mutex
	used int64
	peak int64 // of used since memory was last given back
	next uint64
	// reading are the bodies that fill a step, the one that began to longest ago first, waiting those that wait for one, the
	// earliest request first, and whole how many are complete.
	reading, waiting []*upload
	whole            int
	timer            *time.Timer // looks for bodies that have stalled meanwhile
	trim             *time.Timer
	trimmed          time.Time
	trims            sync.WaitGroup
}

func newBudget(most int64) *budget { return &budget{most: most} }

// upload is one body that is under way.
type upload struct {
	to *budget
	// cut ends the reading.
	cut context.CancelCauseFunc

	// What follows is guarded by to.mu.
	number  uint64 // in the order of the requests
	claim   int64  // the length of the whole body, as far as it is known
	held    int64
	state   uploadState
	since   time.Time // of the step that it fills
	want    int64
	granted chan struct{}
}

type uploadState int

const (
	uploadNew uploadState = iota
	uploadReading
	uploadWaiting
	uploadWhole
	uploadOver
)

// inUse is the bytes that are taken.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// waiters is how many bodies wait.
func (b *budget) waiters() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// begin counts a body in that has at most claim bytes, and takes nothing for it yet. cut is called, with a lock held, when it
// has to give way.
func (b *budget) begin(claim int64, cut context.CancelCauseFunc) *upload {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return &upload{to: b, number: b.next, claim: claim, cut: cut}
}

// grow takes n more bytes, for which it waits up to bodyWait. The error is errNoBudget, errGaveWay or the cause of ctx.
func (u *upload) grow(ctx context.Context, n int64) error {
	b := u.to
	b.mu.Lock()
	if u.state == uploadOver {
		b.mu.Unlock()
		return context.Cause(ctx)
	}
	u.leave()
	if len(b.waiting) == 0 && b.used+n <= b.most {
		b.take(u, n)
		b.mu.Unlock()
		return nil
	}
	b.bound.Reached()
	u.state, u.want, u.granted = uploadWaiting, n, make(chan struct{})
	at, _ := slices.BinarySearchFunc(b.waiting, u.number, func(w *upload, number uint64) int { return cmp.Compare(w.number, number) })
	b.waiting = slices.Insert(b.waiting, at, u)
	b.balance()
	b.mu.Unlock()

	select {
	case <-u.granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(bodyWait):
		b.mu.Lock()
		defer b.mu.Unlock()
		if u.state != uploadWaiting { // meanwhile
			return context.Cause(ctx)
		}
		b.end(u)
		return errNoBudget
	}
}

// complete says that all of the body is there. It reports false if the body had to give way.
func (u *upload) complete() bool {
	b := u.to
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.state == uploadOver {
		return false
	}
	u.leave()
	u.state = uploadWhole
	b.whole++
	return true
}

// release gives everything back. Twice is harmless.
func (u *upload) release() {
	u.to.mu.Lock()
	defer u.to.mu.Unlock()
	u.to.end(u)
}

// take gives n bytes to u, which is in no list. b.mu is held.
func (b *budget) take(u *upload, n int64) {
	b.used += n
	b.peak = max(b.peak, b.used)
	u.held += n
	u.state, u.since = uploadReading, time.Now()
	b.reading = append(b.reading, u)
}

// spareParts are buffers that no body uses, by their size in steps. They are used again, because what the bodies under way turn over
// would otherwise be as much again in garbage.
var spareParts [len(steps)]sync.Pool

// part is a buffer of n bytes.
func part(n int64) []byte {
	if i := slices.Index(steps[:], n); i >= 0 {
		if p, _ := spareParts[i].Get().(*[]byte); p != nil {
			return *p
		}
	}
	return make([]byte, n)
}

// recycle takes a part that nothing refers to any more.
func recycle(p []byte) {
	if i := slices.Index(steps[:], int64(cap(p))); i >= 0 {
		p = p[:cap(p)]
		spareParts[i].Put(&p)
	}
}

// leave takes u out of the list that it is in. to.mu is held.
func (u *upload) leave() {
	is := func(other *upload) bool { return other == u }
	switch u.state {
	case uploadReading:
		u.to.reading = slices.DeleteFunc(u.to.reading, is)
	case uploadWaiting:
		u.to.waiting = slices.DeleteFunc(u.to.waiting, is)
	case uploadWhole:
		u.to.whole--
	}
}

// end takes everything from u. b.mu is held.
func (b *budget) end(u *upload) {
	if u.state != uploadOver {
		b.drop(u)
		b.balance()
		b.giveBack()
	}
}

// drop takes everything from u, which is not over. b.mu is held.
func (b *budget) drop(u *upload) {
	u.leave()
	u.state = uploadOver
	b.used -= u.held
	u.held = 0
}

// balance grants what can be granted, and makes room for the body that is next. b.mu is held.
func (b *budget) balance() {
	for len(b.waiting) > 0 {
		next := b.waiting[len(b.waiting)-1]
		if b.used+next.want+b.flowing(next.number) <= b.most {
			next.leave()
			b.take(next, next.want)
			close(next.granted)
			continue
		}
		if len(b.reading) > 0 {
			slowest := b.reading[0]
			if left := stalledAfter - time.Since(slowest.since); left > 0 {
				b.look(left)
				return
			}
			b.dismiss(slowest, errGaveWay)
			continue
		}
		if b.whole > 0 { // they end without help
			return
		}
		b.dismiss(b.waiting[0], errNoBudget)
	}
}

// flowing is what the requests after number still need whose bodies flow. b.mu is held.
func (b *budget) flowing(number uint64) int64 {
	need := int64(0)
	for _, u := range slices.Backward(b.reading) {
		if time.Since(u.since) >= stalledAfter {
			break // and so all before it
		}
		if u.number > number {
			need += max(u.claim-u.held, 0)
		}
	}
	return need
}

// dismiss ends u, which has to give way. b.mu is held.
func (b *budget) dismiss(u *upload, why error) {
	b.drop(u)
	u.cut(why)
}

// look balances again after d. b.mu is held.
func (b *budget) look(d time.Duration) {
	if b.timer != nil {
		return
	}
	b.timer = time.AfterFunc(d, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.timer = nil
		b.balance()
	})
}

// giveBack has the memory of a peak that is over given back to the system soon: without it the collector would run in two
// minutes, and the memory would be the process's until then. b.mu is held.
func (b *budget) giveBack() {
	if b.trim != nil || b.peak < b.most/4 || b.used > b.most/8 {
		return
	}
	wait := max(trimAfter, trimPause-time.Since(b.trimmed))
	b.trim = time.AfterFunc(wait, func() {
		b.mu.Lock()
		b.trim = nil
		if b.used > b.most/8 { // the next body that ends sees to it
			b.mu.Unlock()
			return
		}
		b.peak, b.trimmed = b.used, time.Now()
		b.trims.Add(1)
		b.mu.Unlock()
		defer b.trims.Done()
		debug.FreeOSMemory()
	})
}

// close ends the budget's goroutine and waits for it. The bodies have ended.
func (b *budget) close() {
	b.mu.Lock()
	if b.trim != nil {
		b.trim.Stop()
		b.trim = nil
	}
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	b.mu.Unlock()
	b.trims.Wait()
}
