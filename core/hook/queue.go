package hook

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// maxWaiting bounds the events that wait for one hook, and maxBytes their JSON.
const (
	maxWaiting = 256
	maxBytes   = 1 << 20
)

// complainEvery is the shortest time between two lines of the log of one kind about one hook.
const complainEvery = time.Minute

// hook is one hook with what waits for it, and the goroutine that handles it.
type hook struct {
	spec  Spec
	kinds []ops.EventType
	to    sender
	log   *slog.Logger
	// wake has room for one: something waits.
	wake chan struct{}
	// cancel ends the goroutine, done is closed when it has ended; nil before start.
	cancel context.CancelFunc
	done   chan struct{}

	failures, drops rate.Sometimes

	mu      sync.Mutex // guards what follows
	waiting []item
	bytes   int
	running ops.EventType // the event that is handled; empty: none is
	since   time.Time     // of running, or since nothing is
	handled uint64
	failed  uint64
	dropped uint64
	// last is why the last event failed; empty: it was handled.
	last string
}

// item is an event that waits.
type item struct {
	kind ops.EventType
	body []byte
}

func newHook(s Spec, log *slog.Logger, to sender) *hook {
	k := &hook{
		spec: s, kinds: s.kinds(), to: to, log: log, wake: make(chan struct{}, 1), since: time.Now(), last: s.Broken, cancel: func() {},
		failures: rate.Sometimes{Interval: complainEvery}, drops: rate.Sometimes{Interval: complainEvery},
	}
	if s.Broken != "" {
		k.kinds = nil
	}
	return k
}

// start begins the goroutine, which lasts as long as ctx.
func (k *hook) start(ctx context.Context) {
	ctx, k.cancel = context.WithCancel(ctx)
	k.done = make(chan struct{})
	go k.work(ctx)
}

// put adds an event, or drops it where the queue is full. It does not wait.
func (k *hook) put(kind ops.EventType, body []byte) {
	k.mu.Lock()
	full := len(k.waiting) >= maxWaiting || k.bytes+len(body) > maxBytes
	if full {
		k.dropped++
	} else {
		k.waiting, k.bytes = append(k.waiting, item{kind, body}), k.bytes+len(body)
	}
	count := k.dropped
	k.mu.Unlock()
	if full {
		k.drops.Do(func() {
			k.log.Warn(ops.LogHookDropped, "hook", k.spec.Name, "reason", "it is slower than its events", "count", count)
		})
		return
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// take removes the oldest event that waits.
func (k *hook) take() (next item, some bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) == 0 {
		return item{}, false
	}
	next, k.waiting = k.waiting[0], k.waiting[1:]
	k.bytes -= len(next.body)
	k.running, k.since = next.kind, time.Now()
	return next, true
}

// work handles one event after the other until ctx ends.
func (k *hook) work(ctx context.Context) {
	defer close(k.done)
	defer k.to.close()
	for ctx.Err() == nil {
		next, some := k.take()
		if !some {
			select { // no deadline: it waits for an event as long as it lives
			case <-k.wake:
			case <-ctx.Done():
			}
			continue
		}
		within, cancel := context.WithTimeout(ctx, k.spec.Timeout)
		err := k.to.send(within, next.kind, next.body)
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("it took longer than %s and was ended", text.Duration(k.spec.Timeout))
		}
		cancel()
		k.end(next.kind, err, ctx.Err() != nil)
	}
}

// end notes how an event was handled. One that a stop cut off is in the report of the stop.
func (k *hook) end(kind ops.EventType, err error, cut bool) {
	why := ""
	if err != nil {
		why = term.Clean(term.Redact(err.Error()), 200)
	}
	k.mu.Lock()
	k.running, k.since, k.last = "", time.Now(), why
	if err != nil {
		k.failed++
	} else {
		k.handled++
	}
	count := k.failed
	k.mu.Unlock()
	if err == nil || cut {
		return
	}
	k.failures.Do(func() {
		k.log.Warn(ops.LogHookFailed, "hook", k.spec.Name, "type", string(kind), "count", count, "error", why)
	})
}

// gone reports whether the goroutine has ended, or never began.
func (k *hook) gone() bool {
	if k.done == nil {
		return true
	}
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// ended waits for the end of the goroutine, within ctx, and reports whether it came.
func (k *hook) ended(ctx context.Context) bool {
	if k.done != nil {
		select {
		case <-k.done:
		case <-ctx.Done():
		}
	}
	return k.gone()
}

// row is the hook as a row.
func (k *hook) row() ops.Held {
	k.mu.Lock()
	defer k.mu.Unlock()
	row := ops.Held{Kind: ops.HeldHook, ID: k.spec.Name, Owner: Owner, State: ops.HeldReady, Since: ops.At(k.since)}
	row.Detail = fmt.Sprintf("%d handled, %d failed, %d dropped", k.handled, k.failed, k.dropped)
	if n := len(k.waiting); n > 0 {
		row.Detail += fmt.Sprintf(", %d waiting", n)
	}
	if k.running != "" {
		row.Detail += "; handles " + string(k.running)
	}
	if k.last != "" {
		row.State = ops.HeldFailed
		row.Detail += "; the last one: " + k.last
	}
	return row
}
