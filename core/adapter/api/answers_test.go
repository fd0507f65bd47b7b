package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
)

// marked is a chat completion as it goes over the wire, with more header lines.
func marked(body string, header ...string) string {
	return strings.Replace(raw(body), "\r\n\r\n", "\r\n"+strings.Join(append(header, ""), "\r\n")+"\r\n", 1)
}

const retried = "X-Stainless-Retry-Count: 1"

// world is a platform in virtual time whose gateway holds every message and records who was withdrawn.
type world struct {
	t    *testing.T
	c    *conn
	g    *gateway
	held chan adapter.Responder
	dial func() net.Conn
}

func (w *world) send(text string) net.Conn {
	w.t.Helper()
	nc := w.dial()
	send(w.t, nc, text)
	synctest.Wait()
	return nc
}

func (w *world) messages(want int) {
	w.t.Helper()
	if got := len(w.g.messages()); got != want {
		w.t.Errorf("the gateway got %d messages, want %d", got, want)
	}
}

func (w *world) withdrawn(want int) {
	w.t.Helper()
	synctest.Wait()
	w.g.mu.Lock()
	defer w.g.mu.Unlock()
	if got := len(w.g.withdrawn); got != want {
		w.t.Errorf("%d messages were withdrawn (%v), want %d", got, w.g.withdrawn, want)
	}
}

// answer reads the answer of a client.
func (w *world) answer(nc net.Conn) (status int, body string) {
	w.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (w *world) answered(nc net.Conn, want string) {
	w.t.Helper()
	if status, body := w.answer(nc); status != http.StatusOK || !strings.Contains(body, want) {
		w.t.Errorf("answered %d %s, want %q in it", status, body, want)
	}
}

// TF7: what becomes of a turn whose client leaves, and which request joins one.
func TestTF7_AClientThatLeavesAndOneThatAsksAgain(t *testing.T) {
	const grace = 10 * time.Second
	plain, stream := saying("hi"), streaming("hi")
	for name, c := range map[string]struct {
		grace time.Duration
		run   func(w *world)
	}{
		"a closed stream ends its turn at once": {grace, func(w *world) {
			nc := w.send(raw(stream))
			nc.Close()
			w.withdrawn(1)
		}},
		"a closed plain request leaves its turn the grace": {grace, func(w *world) {
			nc := w.send(raw(plain))
			nc.Close()
			time.Sleep(grace - time.Nanosecond)
			w.withdrawn(0)
			time.Sleep(time.Nanosecond)
			w.withdrawn(1)
		}},
		"a closed plain request leaves its turn alone where the grace is never": {-1, func(w *world) {
			nc := w.send(raw(plain))
			nc.Close()
			time.Sleep(24 * time.Hour)
			w.withdrawn(0)
		}},
		"a turn that was answered is not withdrawn": {grace, func(w *world) {
			nc := w.send(raw(plain))
			nc.Close()
			synctest.Wait()
			(<-w.held).Done("late", nil)
			time.Sleep(2 * grace)
			w.withdrawn(0)
		}},
		"a stream that two wait for ends with the second": {grace, func(w *world) {
			first := w.send(raw(stream))
			second := w.send(marked(stream, retried))
			w.messages(1)
			first.Close()
			w.withdrawn(0)
			second.Close()
			w.withdrawn(1)
		}},
		"a retry joins the running turn, and both get the answer": {grace, func(w *world) {
			first := w.send(raw(plain))
			second := w.send(marked(plain, retried))
			w.messages(1)
			(<-w.held).Done("the answer", nil)
			w.answered(first, "the answer")
			w.answered(second, "the answer")
		}},
		"a retry of a stream gets what was streamed so far and what follows": {grace, func(w *world) {
			first := w.send(raw(stream))
			go func() { _, _ = io.Copy(io.Discard, first) }()
			turn := <-w.held
			turn.Delta("one ")
			synctest.Wait()
			second := w.send(marked(stream, retried))
			turn.Delta("two")
			turn.Done("one two", nil)
			_, body := w.answer(second)
			if got := spoken(w.t, events(w.t, []byte(body))); got != "one two" {
				w.t.Errorf("the second client got %q", got)
			}
			w.messages(1)
		}},
		"the same body again is a new turn while its client waits": {grace, func(w *world) {
			w.send(raw(plain))
			w.send(raw(plain))
			w.messages(2)
		}},
		"the same body again joins a turn whose client has gone": {grace, func(w *world) {
			nc := w.send(raw(plain))
			nc.Close()
			time.Sleep(grace / 2)
			again := w.send(raw(plain))
			w.messages(1)
			time.Sleep(2 * grace) // it waits for the turn, which goes on
			w.withdrawn(0)
			(<-w.held).Done("the answer", nil)
			w.answered(again, "the answer")
		}},
		"the same body again is a new turn once it is answered": {grace, func(w *world) {
			nc := w.send(raw(plain))
			(<-w.held).Done("the answer", nil)
			w.answered(nc, "the answer")
			w.send(raw(plain))
			w.messages(2)
		}},
		"the same body again is a new turn once its client left and it was answered": {grace, func(w *world) {
			nc := w.send(raw(plain))
			nc.Close()
			synctest.Wait()
			(<-w.held).Done("the answer", nil)
			w.send(raw(plain))
			w.messages(2)
		}},
		"a retry after a withdrawn turn is a new turn": {grace, func(w *world) {
			nc := w.send(raw(stream))
			nc.Close()
			w.withdrawn(1)
			w.send(marked(stream, retried))
			w.messages(2)
		}},
		"a retry gets the stored answer for ten minutes": {grace, func(w *world) {
			nc := w.send(raw(plain))
			(<-w.held).Done("the answer", nil)
			w.answered(nc, "the answer")
			time.Sleep(10*time.Minute - time.Second)
			w.answered(w.send(marked(plain, retried)), "the answer")
			w.messages(1)
			time.Sleep(time.Second)
			w.send(marked(plain, retried))
			w.messages(2)
		}},
		"a retry gets the stored error": {grace, func(w *world) {
			nc := w.send(raw(plain))
			(<-w.held).Done("", fmt.Errorf("broken"))
			status, body := w.answer(nc)
			again, repeated := w.answer(w.send(marked(plain, retried)))
			if status != again || body != repeated {
				w.t.Errorf("answered %d %s, and then %d %s", status, body, again, repeated)
			}
			w.messages(1)
		}},
		"a retry prefers the turn whose client has gone": {grace, func(w *world) {
			first := w.send(raw(plain))
			w.send(raw(plain))
			w.messages(2)
			first.Close()
			synctest.Wait()
			again := w.send(marked(plain, retried))
			(<-w.held).Done("the first answer", nil)
			w.answered(again, "the first answer")
		}},
		"an Idempotency-Key joins, running and answered": {grace, func(w *world) {
			first, second := w.send(marked(plain, "Idempotency-Key: k1")), w.send(marked(plain, "Idempotency-Key: k1"))
			(<-w.held).Done("the answer", nil)
			w.answered(first, "the answer")
			w.answered(second, "the answer")
			w.answered(w.send(marked(plain, "Idempotency-Key: k1")), "the answer")
			w.messages(1)
		}},
		"another Idempotency-Key is another turn": {grace, func(w *world) {
			w.send(marked(plain, "Idempotency-Key: k1"))
			w.send(marked(plain, "Idempotency-Key: k2"))
			w.messages(2)
		}},
		"an Idempotency-Key with another body is refused": {grace, func(w *world) {
			w.send(marked(plain, "Idempotency-Key: k1"))
			status, body := w.answer(w.send(marked(saying("something else"), "Idempotency-Key: k1")))
			if e := failure(w.t, []byte(body)); status != http.StatusUnprocessableEntity || *e.Code != "idempotency_key_reused" {
				w.t.Errorf("answered %d %s", status, body)
			}
			w.messages(1)
		}},
		"an Idempotency-Key that is too long is refused": {grace, func(w *world) {
			if status, body := w.answer(w.send(marked(plain, "Idempotency-Key: "+strings.Repeat("k", 256)))); status != http.StatusBadRequest {
				w.t.Errorf("answered %d %s", status, body)
			}
		}},
		"a retry of another session is a new turn": {grace, func(w *world) {
			w.send(marked(plain, "X-Session-Key: a"))
			w.send(marked(plain, "X-Session-Key: b", retried))
			w.messages(2)
		}},
		"a retry of another caller is a new turn": {grace, func(w *world) {
			w.send(marked(plain, "Authorization: Bearer a"))
			w.send(marked(plain, "Authorization: Bearer b", retried))
			w.messages(2)
		}},
		"a retry of a refused message is a new message": {grace, func(w *world) {
			w.g.take = func(context.Context, adapter.Inbound) error { return fmt.Errorf("not now") }
			if status, _ := w.answer(w.send(raw(plain))); status != http.StatusServiceUnavailable {
				w.t.Errorf("answered %d", status)
			}
			w.send(marked(plain, retried))
			w.messages(2)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			take, held := holds()
			virtualWith(t, Options{Model: "agent", LeaveGrace: c.grace}, take, func(t *testing.T, conn *conn, dial func() net.Conn) {
				c.run(&world{t: t, c: conn, g: conn.receiver.(*gateway), held: held, dial: dial})
				for len(held) > 0 {
					(<-held).Done("", fmt.Errorf("over"))
				}
			})
		})
	}
}

// However many answers there are, and however long: what is kept of them is bounded, and old ones go without a request.
func TestStoredAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers()
		add := func(n, size int) {
			for i := range n {
				text, _ := json.Marshal([]int{n, size, i})
				m := mark{print: print(append(text, make([]byte, 32)...)[:32]), key: string(text)}
				x := newExchange(false)
				x.ended = a.keep
				if _, joined, p := a.enter(m, x); joined || p != nil {
					t.Fatalf("joined %v, problem %v", joined, p)
				}
				x.Done(strings.Repeat("x", size), nil)
			}
		}
		check := func() {
			t.Helper()
			a.mu.Lock()
			defer a.mu.Unlock()
			if len(a.ended) > maxStored || a.bytes > maxStoredBytes || len(a.running)+len(a.done) > maxStored || len(a.byKey) > maxStored {
				t.Errorf("%d answers with %d bytes are kept, under %d prints and %d keys", len(a.ended), a.bytes, len(a.running)+len(a.done), len(a.byKey))
			}
		}
		add(2*maxStored, 10)
		check()
		add(40, 1<<20)
		check()
		time.Sleep(storedFor)
		synctest.Wait()
		a.mu.Lock()
		if len(a.ended) != 0 || a.bytes != 0 || len(a.running)+len(a.done)+len(a.byKey) != 0 {
			t.Errorf("after %s %d answers with %d bytes are kept", storedFor, len(a.ended), a.bytes)
		}
		a.mu.Unlock()
		a.close()
	})
}

// HF19: what streamed answers hold is counted, and not only their length.
func TestHF19_TheMemoryOfKeptAnswersIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers()
		defer a.close()
		piece := strings.Repeat("x", 1000)
		for i := range 200 {
			x := newExchange(true)
			x.ended = a.keep
			r, _, p := a.enter(mark{print: print{byte(i), byte(i >> 8)}}, x)
			if p != nil {
				t.Fatal(p.message)
			}
			for range 300 + i {
				x.Delta(piece)
			}
			x.Done("", nil)
			r.detach(false)
		}
		held := 0
		for _, s := range a.ended {
			held += cap(s.x.text)
		}
		if held > maxStoredBytes || held < maxStoredBytes/2 {
			t.Errorf("the kept answers hold %d bytes, want at most %d and not much less", held, maxStoredBytes)
		}
	})
}
