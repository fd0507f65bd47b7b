package api

import (
	"container/list"
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
	// earliest request first, and whole how many are complete. Each value is an *upload.
	reading, waiting *list.List
	whole            int
	timer            *time.Timer // looks for bodies that have stalled meanwhile
	trim             *time.Timer
	trimmed          time.Time
	trims            sync.WaitGroup
	// free are parts that no body uses, by their size in steps, freeBytes their sum. They are used again, because what the bodies
	// under way turn over would otherwise be as much again in garbage.
	free      [len(steps)][][]byte
	freeBytes int64
}

func newBudget(most int64) *budget {
	return &budget{most: most, reading: list.New(), waiting: list.New()}
}

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
	place   *list.Element
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
	return b.waiting.Len()
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
	if b.waiting.Len() == 0 && b.used+n <= b.most {
		b.take(u, n)
		b.mu.Unlock()
		return nil
	}
	b.bound.Reached()
	u.state, u.want, u.granted = uploadWaiting, n, make(chan struct{})
	before := b.waiting.Back()
	for before != nil && before.Value.(*upload).number > u.number {
		before = before.Prev()
	}
	if before == nil {
		u.place = b.waiting.PushFront(u)
	} else {
		u.place = b.waiting.InsertAfter(u, before)
	}
	b.balance()
	b.mu.Unlock()

	patience := time.NewTimer(bodyWait)
	defer patience.Stop()
	select {
	case <-u.granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-patience.C:
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
	u.place = b.reading.PushBack(u)
}

// part is a buffer of n bytes.
func (b *budget) part(n int64) []byte {
	if i := slices.Index(steps[:], n); i >= 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		if last := len(b.free[i]) - 1; last >= 0 {
			p := b.free[i][last]
			b.free[i] = slices.Delete(b.free[i], last, last+1)
			b.freeBytes -= n
			return p
		}
	}
	return make([]byte, n)
}

// recycle takes parts that nothing refers to any more.
func (b *budget) recycle(parts [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range parts {
		n := int64(cap(p))
		if i := slices.Index(steps[:], n); i >= 0 && b.freeBytes+n <= b.most {
			b.free[i] = append(b.free[i], p[:n])
			b.freeBytes += n
		}
	}
}

// leave takes u out of the list that it is in. to.mu is held.
func (u *upload) leave() {
	switch u.state {
	case uploadReading:
		u.to.reading.Remove(u.place)
	case uploadWaiting:
		u.to.waiting.Remove(u.place)
	case uploadWhole:
		u.to.whole--
	}
	u.place = nil
}

// end takes everything from u. b.mu is held.
func (b *budget) end(u *upload) {
	if u.state == uploadOver {
		return
	}
	u.leave()
	u.state = uploadOver
	b.used -= u.held
	u.held = 0
	b.balance()
	b.giveBack()
}

// balance grants what can be granted, and makes room for the body that is next. b.mu is held.
func (b *budget) balance() {
	for {
		last := b.waiting.Back()
		if last == nil {
			return
		}
		next := last.Value.(*upload)
		if b.used+next.want+b.flowing(next.number) <= b.most {
			next.leave()
			b.take(next, next.want)
			close(next.granted)
			continue
		}
		if first := b.reading.Front(); first != nil {
			slowest := first.Value.(*upload)
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
		b.dismiss(b.waiting.Front().Value.(*upload), errNoBudget)
	}
}

// flowing is what the requests after number still need whose bodies flow. b.mu is held.
func (b *budget) flowing(number uint64) int64 {
	need := int64(0)
	for e := b.reading.Back(); e != nil; e = e.Prev() {
		u := e.Value.(*upload)
		if time.Since(u.since) >= stalledAfter {
			break // and so all before it
		}
		if u.number > number {
			need += max(u.claim-u.held, 0)
		}
	}
	return need
}

// dismiss takes everything from u, which has to give way. b.mu is held.
func (b *budget) dismiss(u *upload, why error) {
	u.leave()
	u.state = uploadOver
	b.used -= u.held
	u.held = 0
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
		b.free, b.freeBytes = [len(steps)][][]byte{}, 0
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
