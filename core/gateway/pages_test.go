package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// Pages of any size hold every row once, running ones first.
func TestPagesHoldEveryRowOnce(t *testing.T) {
	l := start(t)
	for i := range 7 {
		l.ask(fmt.Sprintf("api:user:%d", i), "hello")
	}
	l.send("api:user:3", "hang")
	l.running("api:user:3")
	seen := map[string]int{}
	var first string
	for q := (ops.Query{Limit: 3}); ; {
		p, err := l.g.Sessions(context.Background(), q)
		if err != nil || len(p.Items) > 3 {
			t.Fatalf("page %+v, %v", p, err)
		}
		for _, s := range p.Items {
			if first == "" {
				first = s.Key
			}
			seen[s.Key]++
		}
		if q.Cursor = p.Next; p.Next == "" {
			break
		}
	}
	if len(seen) != 7 || first != "api:user:3" {
		t.Fatalf("the pages hold %v, first %s", seen, first)
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s is %d times in the pages", key, n)
		}
	}
	p, err := l.g.Sessions(context.Background(), ops.Query{Filter: "API:USER:5"})
	if err != nil || len(p.Items) != 1 || p.Items[0].Key != "api:user:5" {
		t.Fatalf("filtered: %+v, %v", p.Items, err)
	}
	if _, err := l.g.Sessions(context.Background(), ops.Query{Cursor: "nonsense"}); !ops.HasCode(err, ops.CodeInvalid) {
		t.Fatalf("an invalid cursor: %v", err)
	}
	if _, err := l.g.Agents(context.Background(), ops.Query{Cursor: "api:user:gone"}); !ops.HasCode(err, ops.CodeConflict) {
		t.Fatalf("a cursor of an agent that is gone: %v", err)
	}
	if _, err := l.g.Sessions(context.Background(), ops.Query{Filter: "stat:running"}); !ops.HasCode(err, ops.CodeInvalid) || !strings.Contains(err.Error(), "state:") {
		t.Fatalf("a filter with an unknown key: %v", err)
	}
	for filter, want := range map[string]int{"state:running": 1, "!state:running": 6, "state:running !api:user:3": 0, "~apsr user": 7} {
		if p, err := l.g.Sessions(context.Background(), ops.Query{Filter: filter}); err != nil || len(p.Items) != want {
			t.Errorf("%q picks %d sessions, want %d: %v", filter, len(p.Items), want, err)
		}
	}
	if p, err := l.g.Sessions(context.Background(), ops.Query{Key: "api:user:5"}); err != nil || len(p.Items) != 1 || p.Items[0].Key != "api:user:5" {
		t.Fatalf("one by its key: %+v, %v", p.Items, err)
	}
	if p, err := l.g.Sessions(context.Background(), ops.Query{Key: "api:user:"}); err != nil || len(p.Items) != 0 {
		t.Fatalf("a key that no session has: %+v, %v", p.Items, err)
	}
	l.ask("api:user:3", "/stop")
}

// Events can be resumed, and end with the gateway.
func TestEventsAreResumedWhereTheyWereLeftAndEndWithTheGateway(t *testing.T) {
	l := start(t)
	l.ask("api:user:a", "one")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var last uint64
	for e, err := range l.g.Events(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != last+1 {
			t.Fatalf("event %d follows %d", e.Seq, last)
		}
		last = e.Seq
		if e.Type == ops.EventTurnEnded {
			break
		}
	}
	ended := make(chan []ops.Event, 1)
	go func() {
		var all []ops.Event
		for e := range l.g.Events(ctx, last) {
			all = append(all, e)
		}
		ended <- all
	}()
	l.ask("api:user:a", "two")
	l.stop(ops.ModeGraceful)
	all := <-ended
	if ctx.Err() != nil {
		t.Fatal("the events did not end with the gateway")
	}
	if len(all) == 0 || all[0].Seq != last+1 {
		t.Fatalf("resumed after %d with %+v", last, all)
	}
	kinds := map[ops.EventType]int{}
	for _, e := range all {
		kinds[e.Type]++
	}
	over := 0
	for _, e := range all {
		if e.Type == ops.EventShutdownEnded {
			break
		}
		if change, ok := ops.PayloadOf[ops.PhaseChange](e); ok && change.Phase.State.Over() {
			over++
		}
	}
	if over != 11 {
		t.Fatalf("%d phases are seen to end before the end of the shutdown, want all but the last", over)
	}
	if kinds[ops.EventTurnStarted] != 1 || kinds[ops.EventShutdownEnded] != 1 || kinds[ops.EventShutdownPhase] < 12 {
		t.Fatalf("the events were %v", kinds)
	}
}

// A snapshot has the first sessions of the order and says what it left out; a page goes on after them; and a filter that
// matches little ends in bounded pages.
func TestASnapshotIsBoundedAndItsRestIsInPages(t *testing.T) {
	l := start(t)
	const n = ops.MaxScan + 2000
	for i := range n {
		l.g.table.Load(session.Session{Key: fmt.Sprintf("api:user:%d", i), ID: fmt.Sprint(i), State: ops.SessionIdle, LastActivity: time.Now().Add(-time.Duration(i) * time.Second)})
	}
	s, err := l.g.Snapshot(context.Background())
	if err != nil || len(s.Sessions) != ops.SnapshotSessions || s.Omitted == nil || s.Omitted.Sessions != n-ops.SnapshotSessions {
		t.Fatalf("the snapshot has %d sessions and left out %+v, %v", len(s.Sessions), s.Omitted, err)
	}
	p, err := l.g.Sessions(context.Background(), ops.Query{Limit: 2, Cursor: s.Omitted.Next})
	if err != nil || len(p.Items) != 2 || p.Items[0].Key != fmt.Sprintf("api:user:%d", ops.SnapshotSessions) {
		t.Fatalf("after the snapshot come %+v, %v", p.Items, err)
	}
	s, err = l.g.Snapshot(context.Background(), ops.Most{Table: ops.TableSessions, Rows: 3}, ops.Most{Table: ops.TableProcesses})
	if err != nil || len(s.Sessions) != 3 || s.Processes == nil || s.Omitted.Sessions != n-3 {
		t.Fatalf("with a bound of 3 the snapshot has %d sessions, %v", len(s.Sessions), err)
	}
	last := ops.Query{Filter: fmt.Sprintf("key:%d", n-1)}
	p, err = l.g.Sessions(context.Background(), last)
	if err != nil || len(p.Items) != 0 || p.Scanned != ops.MaxScan || p.Next == "" {
		t.Fatalf("a filter for the last of all: %d rows, %d looked at, next %q, %v", len(p.Items), p.Scanned, p.Next, err)
	}
	last.Cursor = p.Next
	p, err = l.g.Sessions(context.Background(), last)
	if err != nil || len(p.Items) != 1 || p.Scanned != 0 || p.Next != "" {
		t.Fatalf("its second page: %+v, %d looked at, next %q, %v", p.Items, p.Scanned, p.Next, err)
	}
}
