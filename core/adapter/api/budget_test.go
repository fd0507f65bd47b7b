package api

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/limit"
)

// small has a budget in which a few bodies fit.
func small(set *limit.Set) Options {
	return Options{Model: "agent", BodyMax: 256 << 10, BodyBytes: 512 << 10, Limits: set}
}

// stall begins an upload of a body of 250 KiB and stops before its end.
func stall(t *testing.T, nc net.Conn) {
	t.Helper()
	whole := raw(saying(strings.Repeat("x", 250<<10)))
	go func() { _, _ = nc.Write([]byte(whole[:len(whole)-1000])) }() // the server may stop reading
}

// HF20: complete bodies are served next to any number of uploads that stall.
func TestHF20_StalledUploadsGiveWayToCompleteBodies(t *testing.T) {
	var set limit.Set
	virtualWith(t, small(&set), echo, func(t *testing.T, c *conn, dial func() net.Conn) {
		for range 20 {
			stall(t, dial())
			synctest.Wait()
		}
		time.Sleep(stalledAfter / 2)
		synctest.Wait()
		if n := c.platform.bodies.inUse(); n > 512<<10 || n < 256<<10 {
			t.Errorf("%d bytes of bodies are under way, want nearly 512 KiB", n)
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 8 {
			nc := dial()
			all.Go(func() {
				if resp := ask(t, nc, raw(saying(strings.Repeat("y", 200<<10)))); resp.StatusCode != http.StatusOK {
					t.Errorf("a complete body was answered %s", resp.Status)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > bodyWait {
			t.Errorf("complete bodies waited for %s", took)
		}
		if rows := set.Rows(); len(rows) != 1 || rows[0].Name != "limits.body_bytes" || rows[0].Unit != "bytes" || rows[0].Bound != 512<<10 || rows[0].Reached == 0 {
			t.Errorf("the bound's row is %+v", rows)
		}
		time.Sleep(2 * readTimeout)
		synctest.Wait()
		if n := c.platform.bodies.inUse(); n != 0 {
			t.Errorf("%d bytes are under way when every upload is over", n)
		}
	})
}

// HF20: where the budget is held by messages that the gateway is about to take, a body waits 5 s and is refused with the
// name of the bound.
func TestHF20_ABodyWithoutBudgetIsRefusedAfterFiveSeconds(t *testing.T) {
	take := func(ctx context.Context, _ adapter.Inbound) error {
		<-ctx.Done()
		return ctx.Err()
	}
	virtualWith(t, small(nil), take, func(t *testing.T, c *conn, dial func() net.Conn) {
		for range 2 {
			send(t, dial(), raw(saying(strings.Repeat("x", 255<<10))))
		}
		synctest.Wait()
		nc := dial()
		began := time.Now()
		go func() { _, _ = nc.Write([]byte(raw(saying(strings.Repeat("y", 100<<10))))) }()
		a := answered(t, nc)
		if a.refused(t, http.StatusTooManyRequests, "limit"); !strings.Contains(string(a.body), "limits.body_bytes") || a.header.Get("Retry-After") != "5" {
			t.Errorf("Retry-After %q, body %s", a.header.Get("Retry-After"), a.body)
		}
		if took := time.Since(began); took != bodyWait {
			t.Errorf("after %s", took)
		}
	})
}

func TestHF20_AStalledUploadThatGaveWayGetsAnError(t *testing.T) {
	virtualWith(t, small(nil), echo, func(t *testing.T, c *conn, dial func() net.Conn) {
		var stalled []net.Conn
		for range 2 {
			nc := dial()
			stall(t, nc)
			stalled = append(stalled, nc)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * stalledAfter)
		ask(t, dial(), raw(saying(strings.Repeat("y", 100<<10))))
		a := answered(t, stalled[0])
		if e := a.refused(t, http.StatusRequestTimeout, "request_timeout"); !strings.Contains(*e.Message, "limits.body_bytes") {
			t.Errorf("the error is %q", *e.Message)
		}
	})
}

// A long body may take longer than a short one, as long as it comes with 64 KiB a second.
func TestABodyThatComesSteadilyIsReadToItsEnd(t *testing.T) {
	virtual(t, echo, func(t *testing.T, _ *conn, dial func() net.Conn) {
		nc := dial()
		whole := []byte(raw(saying(strings.Repeat("x", 5<<20))))
		began := time.Now()
		go func() {
			for rest := whole; len(rest) > 0; {
				n := min(len(rest), 100<<10)
				if _, err := nc.Write(rest[:n]); err != nil {
					return
				}
				if rest = rest[n:]; len(rest) > 0 {
					time.Sleep(time.Second)
				}
			}
		}()
		if a := answered(t, nc); a.status != http.StatusOK || time.Since(began) < readTimeout {
			t.Errorf("answered %d after %s: %.200s", a.status, time.Since(began), a.body)
		}
	})
}

func TestABodyThatIsTooLongIsRefusedForAnyContentLength(t *testing.T) {
	for name, request := range map[string]string{
		"with a length": raw(saying(strings.Repeat("x", 300<<10))),
		"in chunks":     "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1000\r\n"+strings.Repeat("x", 0x1000)+"\r\n", 75) + "0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			virtualWith(t, small(nil), echo, func(t *testing.T, c *conn, dial func() net.Conn) {
				nc := dial()
				go func() { _, _ = nc.Write([]byte(request)) }()
				a := answered(t, nc)
				if e := a.refused(t, http.StatusRequestEntityTooLarge, "request_too_large"); !strings.Contains(*e.Message, "256 KiB") {
					t.Errorf("the error is %q", *e.Message)
				}
				if n := c.platform.bodies.inUse(); n != 0 {
					t.Errorf("%d bytes are still under way", n)
				}
			})
		})
	}
}

func TestABodyInChunksIsServed(t *testing.T) {
	text := saying(strings.Repeat("x", 200<<10))
	virtualWith(t, small(nil), echo, func(t *testing.T, c *conn, dial func() net.Conn) {
		nc := dial()
		go func() {
			_, _ = fmt.Fprintf(nc, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(text), text)
		}()
		if a := answered(t, nc); a.status != http.StatusOK {
			t.Errorf("answered %d %.200s", a.status, a.body)
		}
	})
}

// A random mix of uploads: never more than the budget is taken, each upload ends in bounded time, nothing is left.
func TestHF20_TheBudgetHoldsForAnyMixOfUploads(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			b := newBudget(1 << 20)
			var all sync.WaitGroup
			for range 200 {
				size := rng.Int64N(512<<10) + 1
				pace := time.Duration(rng.Int64N(int64(50 * time.Millisecond)))
				stops := int64(-1)
				if rng.IntN(3) == 0 {
					stops = rng.Int64N(size)
				}
				start := time.Duration(rng.Int64N(int64(20 * time.Second)))
				all.Go(func() {
					time.Sleep(start)
					ctx, cut := context.WithCancelCause(t.Context())
					defer cut(nil)
					u := b.begin(size, cut)
					defer u.release()
					for have := int64(0); have < size; {
						step := min(stepAt(have), size-have)
						began := time.Now()
						err := u.grow(ctx, step)
						if took := time.Since(began); took > bodyWait {
							t.Errorf("seed %d: a body waited %s", seed, took)
						}
						if n := b.inUse(); n > 1<<20 {
							t.Errorf("seed %d: %d bytes are taken", seed, n)
						}
						if err != nil {
							if !errors.Is(err, errNoBudget) && !errors.Is(err, errGaveWay) {
								t.Errorf("seed %d: %v", seed, err)
							}
							return
						}
						have += step
						wait := pace
						if stops >= 0 && have > stops {
							wait = readTimeout
						}
						select {
						case <-time.After(wait):
						case <-ctx.Done():
							return
						}
					}
					u.complete()
				})
			}
			all.Wait()
			if b.inUse() != 0 || b.waiters() != 0 || len(b.reading) != 0 || b.whole != 0 {
				t.Errorf("seed %d: %d bytes, %d waiting, %d reading and %d complete are left", seed, b.inUse(), b.waiters(), len(b.reading), b.whole)
			}
			b.close()
		})
	}
}
