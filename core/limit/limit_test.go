package limit

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

func TestABoundThatWasReachedIsAWarningForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set
		b := s.Add(Spec{Name: Background, Per: "session", Most: 8, Used: func() int64 { return 3 }, Hint: "wait until a task has ended"})
		if w := s.Warnings(time.Now()); len(w) != 0 {
			t.Errorf("a bound that nothing reached warns: %+v", w)
		}
		b.Reached()
		began := time.Now()
		time.Sleep(Recent - time.Second)
		w := s.Warnings(time.Now())
		if len(w) != 1 || w[0].Code != Background || !w[0].Since.Equal(began) {
			t.Fatalf("warnings %+v, want one since %v", w, began)
		}
		if want := "limits.background (8) was reached; raise limits.background, or wait until a task has ended"; w[0].Message != want {
			t.Errorf("the warning is %q, want %q", w[0].Message, want)
		}
		b.Reached()
		time.Sleep(Recent - time.Second)
		if w := s.Warnings(time.Now()); len(w) != 1 || !strings.Contains(w[0].Message, "was reached 2 times") || !w[0].Since.Equal(began) {
			t.Errorf("warnings %+v, want one that counts two", w)
		}
		time.Sleep(time.Second)
		if w := s.Warnings(time.Now()); len(w) != 0 {
			t.Errorf("ten minutes later it still warns: %+v", w)
		}
		b.Reached()
		if w := s.Warnings(time.Now()); len(w) != 1 || !w[0].Since.Equal(time.Now()) {
			t.Errorf("warnings %+v, want one that begins now", w)
		}
	})
}

func TestABoundIsAWarningForAsLongAsSomethingWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set
		waiting := 2
		b := s.Add(Spec{Name: QueuedBytes, Bytes: true, Most: 64 << 20, Used: func() int64 { return 64 << 20 }, Waiting: func() int { return waiting }})
		b.Reached()
		time.Sleep(2 * Recent)
		w := s.Warnings(time.Now())
		if len(w) != 1 || w[0].Message != "limits.queued_bytes (64 MiB) is reached: 2 waiting; raise limits.queued_bytes" {
			t.Errorf("warnings %+v", w)
		}
		if rows := s.Rows(); len(rows) != 1 || rows[0] != (ops.Limit{
			Name: QueuedBytes, Used: 64 << 20, Bound: 64 << 20, Unit: "bytes", Waiting: 2, Reached: 1, LastReachedAt: rows[0].LastReachedAt,
		}) {
			t.Errorf("rows %+v", rows)
		}
		waiting = 0
		if w := s.Warnings(time.Now()); len(w) != 0 {
			t.Errorf("nothing waits any more, and it warns: %+v", w)
		}
	})
}

// work is one thing that waits in the model of a queue.
type work struct {
	owner string
	n     int
}

// A queue serves what a list of lists would serve: owners in turn, and each owner's work in its order.
func TestAQueueServesItsOwnersInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[work]
		var line []string // owners, the next one first
		waiting := map[string][]work{}
		places := map[work]Place{}
		n := 0
		leave := func(owner string) {
			if len(waiting[owner]) == 0 {
				delete(waiting, owner)
				line = slices.DeleteFunc(line, func(o string) bool { return o == owner })
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				w := work{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner"), n}
				n++
				if waiting[w.owner] == nil {
					line = append(line, w.owner)
				}
				waiting[w.owner] = append(waiting[w.owner], w)
				places[w] = q.Push(w.owner, w)
			},
			"remove": func(t *rapid.T) {
				if len(line) == 0 {
					t.Skip("runs while work waits")
				}
				owner := rapid.SampledFrom(line).Draw(t, "owner")
				w := rapid.SampledFrom(waiting[owner]).Draw(t, "work")
				q.Remove(places[w])
				waiting[owner] = slices.DeleteFunc(waiting[owner], func(other work) bool { return other == w })
				leave(owner)
			},
			"pop": func(t *rapid.T) {
				got, ok := q.Pop()
				if len(line) == 0 {
					if ok {
						t.Fatalf("an empty queue served %+v", got)
					}
					return
				}
				owner := line[0]
				if want := waiting[owner][0]; !ok || got != want {
					t.Fatalf("served %+v (%v), want %+v", got, ok, want)
				}
				waiting[owner] = waiting[owner][1:]
				line = append(line[1:], owner)
				leave(owner)
			},
			"": func(t *rapid.T) {
				total := 0
				for _, w := range waiting {
					total += len(w)
				}
				if q.Len() != total {
					t.Fatalf("its length is %d, want %d", q.Len(), total)
				}
			},
		})
	})
}
