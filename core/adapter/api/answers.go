package api

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// Bounds on the answers that are kept for clients that ask again.
const (
	storedFor         = 10 * time.Minute
	maxStored         = 4096
	maxStoredBytes    = 16 << 20
	maxIdempotencyKey = 255 // bytes of an Idempotency-Key
)

// print names a request: the sum over its caller, its session and its body.
type print [sha256.Size]byte

// mark is how a request says that it may have been sent before.
type mark struct {
	print print
	// key is the Idempotency-Key with its caller; empty: none was sent.
	key string
	// retry says that the client's library sends it again (X-Stainless-Retry-Count above 0).
	retry bool
}

// markOf reads the mark of a request of by for the named session, which is empty for an anonymous one. A caller is known by its
// key, its address and its uid: one caller never gets another one's answer.
func markOf(r *http.Request, by ops.Caller, session string, stream bool, body []byte) (mark, *problem) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	known := strconv.AppendQuote(strconv.AppendQuote(nil, r.Header.Get("Authorization")), host)
	caller := sha256.Sum256(strconv.AppendInt(known, int64(by.UID), 10))
	sum := sha256.New()
	_, _ = sum.Write(strconv.AppendBool(strconv.AppendQuote(append([]byte(nil), caller[:]...), session), stream)) // a hash takes all
	_, _ = sum.Write(body)
	m := mark{print: print(sum.Sum(nil))}
	if key := r.Header.Get("Idempotency-Key"); len(key) > maxIdempotencyKey {
		return m, invalid("Idempotency-Key", fmt.Sprintf("Idempotency-Key is longer than %d bytes", maxIdempotencyKey))
	} else if key != "" {
		m.key = fmt.Sprintf("%x %s", caller, key)
	}
	count, err := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
	m.retry = err == nil && count > 0
	return m, nil
}

// answers are the exchanges of one listener that a client may ask for again: the exchanges whose turn runs, and the answers
// of the last ten minutes, at most maxStored of them and maxStoredBytes together, oldest dropped first (TF7).
type answers struct {
	mu     sync.Mutex
	closed bool
	byKey  map[string]*exchange
	// running and done are the exchanges by their requests, oldest first. What each request looks at is running: a caller
	// may have thousands of done ones of the same request.
	running, done map[print][]*exchange
	ended         []stored // those in done, oldest first
	bytes         int
	timer         *time.Timer // drops the oldest when its time is over
}

type stored struct {
	x     *exchange
	at    time.Time
	bytes int
}

func newAnswers() *answers {
	return &answers{byKey: map[string]*exchange{}, running: map[print][]*exchange{}, done: map[print][]*exchange{}}
}

// enter returns the exchange for a request, with the client attached: one that is there, or fresh. A request joins
//
//   - the exchange with its Idempotency-Key; it is an error if the key belonged to another request;
//   - if its library sends it again, the same request of the same caller, first of all one whose client has gone;
//   - without a mark, the same request only while it runs and its client has gone. So a message that a user repeats on
//     purpose is a new turn.
func (a *answers) enter(m mark, fresh *exchange) (r *reader, joined bool, p *problem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire(time.Now())
	named := a.byKey[m.key] // nil without a key: none is kept by it
	if named != nil && named.print != m.print {
		return nil, false, &problem{
			status: http.StatusUnprocessableEntity, code: "idempotency_key_reused", param: "Idempotency-Key",
			message: "this Idempotency-Key was used for another request; send a new key",
		}
	}
	for _, x := range []*exchange{named, a.same(m)} {
		if x == nil {
			continue
		}
		if r := x.attach(); r != nil {
			return r, true, nil
		}
	}
	fresh.print = m.print
	if !a.closed {
		a.running[m.print] = append(a.running[m.print], fresh)
		if m.key != "" {
			a.byKey[m.key], fresh.key = fresh, m.key
		}
	}
	return fresh.attach(), false, nil
}

// same is the exchange of the same request that m may join, nil if there is none. a.mu is held.
func (a *answers) same(m mark) *exchange {
	if m.retry {
		all := slices.Concat(a.done[m.print], a.running[m.print])
		if i := slices.IndexFunc(all, func(x *exchange) bool { left, _ := x.standing(); return left }); i >= 0 {
			return all[i]
		}
		if len(all) > 0 {
			return all[len(all)-1]
		}
		return nil
	}
	for _, x := range a.running[m.print] {
		if left, ended := x.standing(); left && !ended && m.key == "" {
			return x
		}
	}
	return nil
}

// keep begins the ten minutes of an answer that is complete.
func (a *answers) keep(x *exchange) {
	size := x.size()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || !without(a.running, x) {
		return
	}
	a.done[x.print] = append(a.done[x.print], x)
	now := time.Now()
	a.ended = append(a.ended, stored{x, now, size})
	a.bytes += size
	a.expire(now)
}

// drop forgets x: it was refused, or its turn was withdrawn.
func (a *answers) drop(x *exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(x)
}

// expire drops what is too old or too much. a.mu is held.
func (a *answers) expire(now time.Time) {
	for len(a.ended) > 0 {
		s := a.ended[0]
		if now.Sub(s.at) < storedFor && len(a.ended) <= maxStored && a.bytes <= maxStoredBytes {
			if a.timer == nil {
				a.timer = time.AfterFunc(s.at.Add(storedFor).Sub(now), a.tick)
			}
			return
		}
		a.ended[0] = stored{} // the exchange can be freed
		a.ended = a.ended[1:]
		a.bytes -= s.bytes
		a.remove(s.x)
	}
}

// tick drops what has become too old, also where no request comes any more.
func (a *answers) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = nil
	if !a.closed {
		a.expire(time.Now())
	}
}

// remove takes x out of the index. a.mu is held.
func (a *answers) remove(x *exchange) {
	if !without(a.running, x) {
		without(a.done, x)
	}
	if a.byKey[x.key] == x {
		delete(a.byKey, x.key)
	}
}

// without takes x out of an index by requests, and reports whether it was there.
func without(index map[print][]*exchange, x *exchange) bool {
	all := index[x.print]
	at := slices.Index(all, x)
	switch {
	case at < 0:
		return false
	case len(all) == 1:
		delete(index, x.print)
	default:
		index[x.print] = slices.Delete(all, at, at+1)
	}
	return true
}

// close forgets everything and ends every grace; nothing is kept from then on.
func (a *answers) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	for _, index := range []map[print][]*exchange{a.running, a.done} {
		for _, all := range index {
			for _, x := range all {
				x.forget()
			}
		}
		clear(index)
	}
	clear(a.byKey)
	a.ended = nil
	a.bytes = 0
}
