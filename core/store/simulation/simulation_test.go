package simulation

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/faultfs"
	"gatewaytui/fixtures/soak"
)

var seed = flag.Uint64("seed", 0, "run only this seed of the simulation")

// noon is the simulation's clock: the store takes every time from its caller.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := faultfs.Install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestWhatWasAcknowledgedSurvivesEveryFaultOfTheDisk(t *testing.T) {
	if *seed != 0 {
		if err := newWorld(t, *seed).run(); err != nil {
			t.Fatal(err)
		}
		return
	}
	for n := range soak.Count(t, 200, 2000) / share {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			if err := newWorld(t, uint64(n+1)).run(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The simulation must be able to fail: it finds a disk that answers a sync without doing it.
func TestADiskThatLiesAboutItsSyncsIsFoundOut(t *testing.T) {
	found := 0
	for n := range uint64(20) {
		w := newWorld(t, n+1)
		w.lies = true
		if w.run() != nil {
			found++
		}
		w.disk.Detach()
	}
	if found < 5 {
		t.Errorf("%d of 20 seeds found it", found)
	}
}

func TestASeedReplaysTheSameCallsWithTheSameFaults(t *testing.T) {
	for n := range uint64(5) {
		first, second := newWorld(t, n+1), newWorld(t, n+1)
		if err := errors.Join(first.run(), second.run()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first.trace, second.trace) {
			for i := range first.trace {
				if i >= len(second.trace) || first.trace[i] != second.trace[i] {
					t.Fatalf("seed %d: line %d is first %q, then %q", n+1, i, first.trace[i], second.trace[min(i, len(second.trace)-1)])
				}
			}
			t.Fatalf("seed %d: %d lines, then %d", n+1, len(first.trace), len(second.trace))
		}
	}
}

// world is one run of the simulation.
type world struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	trace []string // every call of SQLite and every call of the store with its result
	model model
	ids   int
	lies  bool // syncs do nothing

	dir   string
	disk  *faultfs.Disk
	store *store.Store
	plan  func(faultfs.Call) faultfs.Fault // nil: no fault
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 2026)), model: model{sure: rows{}}}
}

// broken is what a run panics with when the store broke a promise.
type broken struct{ error }

// fatal ends the run.
func (w *world) fatal(format string, args ...any) { panic(broken{fmt.Errorf(format, args...)}) }

// note adds a line to the trace. The folder is another in each run.
func (w *world) note(args ...any) {
	w.trace = append(w.trace, strings.ReplaceAll(fmt.Sprint(args...), w.dir, "DIR"))
}

func (w *world) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s%d", prefix, w.ids)
}

// oneOf is a random element, in an order that does not depend on the map's.
func oneOf[V any](w *world, of []V) (v V, ok bool) {
	if len(of) == 0 {
		return v, false
	}
	return of[w.rng.IntN(len(of))], true
}

// run runs the lives of a seed. The error names the promise that the store broke, the last calls, and the command that
// replays the seed.
func (w *world) run() (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		what, is := v.(broken)
		if !is {
			panic(v)
		}
		err = fmt.Errorf("%w\n\nthe last calls:\n%s\n\nreplay with: go test ./core/store/simulation -run WhatWasAcknowledged -seed %d",
			what, strings.Join(w.trace[max(0, len(w.trace)-40):], "\n"), w.seed)
		w.plan = nil
		if w.store != nil {
			_ = w.store.Close(context.Background())
		}
	}()
	w.attach(w.t.TempDir())
	for range 2 + w.rng.IntN(3) {
		w.begin()
		w.plan = w.faults()
		for range 5 + w.rng.IntN(40) {
			w.step()
		}
		w.end()
	}
	w.begin()
	w.close()
	return nil
}

func (w *world) attach(dir string) {
	w.dir = dir
	w.disk = faultfs.Attach(dir, w.rng, func(c faultfs.Call) faultfs.Fault {
		var f faultfs.Fault
		if w.plan != nil {
			f = w.plan(c)
		}
		f.Lie = w.lies && c.Op == faultfs.OpSync
		w.note("  ", c, " -> ", f.Code)
		return f
	})
}

// open opens the store. Where the disk fails meanwhile it must say so, and open once the disk works.
func (w *world) open() {
	path := filepath.Join(w.dir, "gateway.db")
	if w.rng.IntN(4) == 0 {
		w.plan = w.faults()
		s, err := store.Open(context.Background(), store.Options{Path: path, Verify: w.rng.IntN(2) == 0})
		w.note("open: ", err)
		if err == nil {
			w.store, w.plan = s, nil
			return
		}
	}
	w.plan = nil
	s, err := store.Open(context.Background(), store.Options{Path: path, Verify: true})
	w.note("open: ", err)
	if err != nil {
		w.fatal("the disk works, and the store does not open: %v", err)
	}
	w.store = s
}

// begin begins a life: it looks at what the last one left, and does what a start does.
func (w *world) begin() {
	w.open()
	have, err := found(filepath.Join(w.dir, "gateway.db"))
	if err == nil {
		err = w.model.settle(have)
	}
	if err != nil {
		w.fatal("%v", err)
	}
	n, err := w.store.InterruptRunning(context.Background(), "the last life ended", true, noon)
	if err != nil {
		w.fatal("the disk works, and the start fails: %v", err)
	}
	for _, key := range w.keys("turn", "running") {
		w.model.set(key, "interrupted")
		n--
	}
	if n != 0 {
		w.fatal("%d turns more than the model knows were running", n)
	}
}

// end ends a life in one of its three ways.
func (w *world) end() {
	switch how := w.rng.IntN(3); how {
	case 0: // a stop, on a disk that may fail meanwhile
		w.close()
	default: // the power fails, or the process is killed while the disk goes on
		to := w.t.TempDir()
		cut := w.disk.Cut
		if how == 1 {
			cut = w.disk.Kill
		}
		if err := cut(to); err != nil {
			w.fatal("%v", err)
		}
		w.note("power cut or kill ", how)
		w.close()
		w.attach(to)
	}
}

func (w *world) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := w.store.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		w.fatal("the store does not close")
	}
	w.note("close")
	w.disk.Detach()
	if err == nil { // the next life may find the same folder
		w.attach(w.dir)
	}
}

// faults is what goes wrong in a life.
func (w *world) faults() func(faultfs.Call) faultfs.Fault {
	writes := func(c faultfs.Call) bool {
		return c.Op == faultfs.OpWrite || c.Op == faultfs.OpSync || c.Op == faultfs.OpTruncate
	}
	n := w.disk.Calls() + 1 + w.rng.IntN(200)
	torn := w.rng.IntN(8192)
	switch w.rng.IntN(6) {
	case 0:
		return nil
	case 1: // the n-th call fails
		return func(c faultfs.Call) faultfs.Fault {
			if c.N != n {
				return faultfs.Fault{}
			}
			f := faultfs.IOError(c.Op)
			f.Torn = torn
			return f
		}
	case 2: // the disk is full for a while
		until := n + 1 + w.rng.IntN(60)
		return func(c faultfs.Call) faultfs.Fault {
			if c.Op == faultfs.OpWrite && c.N >= n && c.N < until {
				return faultfs.Full()
			}
			return faultfs.Fault{}
		}
	case 3: // from the n-th call on everything that writes fails
		return func(c faultfs.Call) faultfs.Fault {
			if c.N >= n && writes(c) {
				return faultfs.IOError(c.Op)
			}
			return faultfs.Fault{}
		}
	case 4: // syncs fail now and then
		return func(c faultfs.Call) faultfs.Fault {
			if c.Op == faultfs.OpSync && w.rng.IntN(4) == 0 {
				return faultfs.IOError(c.Op)
			}
			return faultfs.Fault{}
		}
	default: // everything fails now and then, writes are torn
		return func(c faultfs.Call) faultfs.Fault {
			if w.rng.IntN(60) != 0 {
				return faultfs.Fault{}
			}
			f := faultfs.IOError(c.Op)
			f.Torn = w.rng.IntN(8192)
			return f
		}
	}
}

// keys are the rows of a table that have a value and belong to no failed call, in order.
func (w *world) keys(table, value string) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(w.model.sure)) {
		if strings.HasPrefix(key, table+" ") && w.model.sure[key] == value && !w.model.frozen(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// call notes what became of a call of the store.
func (w *world) call(what string, err error, change rows) {
	w.note(what, ": ", err)
	if err != nil {
		w.model.failed(what, change)
		return
	}
	w.model.apply(change)
}

// step is one random call of the store.
func (w *world) step() {
	steps := []func(){
		w.accept, w.accept, w.accept, w.again, w.drop, w.beginTurn, w.beginTurn, w.beginTurn, w.appendTo, w.appendTo,
		w.endTurn, w.endTurn, w.notice, w.delivered, w.delivered, w.reset, w.forget, w.checkpoint, w.read,
	}
	steps[w.rng.IntN(len(steps))]()
}

func bare(key string) string {
	_, id, _ := strings.Cut(key, " ")
	return id
}

// text is a message's content: its id, and now and then more than a page.
func (w *world) text(id string) string {
	if w.rng.IntN(8) == 0 {
		return id + strings.Repeat(" and more", 1+w.rng.IntN(4000))
	}
	return id
}

func (w *world) accept() {
	id, name := w.id("m"), w.id("d")
	_, fresh, err := w.store.PutInbox(context.Background(), store.Inbox{
		ID: id, Dedupe: name, Session: "k", Adapter: "a", Target: "t", User: "u", Text: w.text(id), At: noon, State: store.InboxWaiting,
	})
	if err == nil && !fresh {
		w.fatal("message %s is new and was taken for an old one", id)
	}
	w.call("accept "+id, err, rows{"inbox " + id: "waiting", "dedupe " + name: once})
}

// again brings a message that the platform sends a second time.
func (w *world) again() {
	key, ok := oneOf(w, w.keys("dedupe", once))
	if !ok {
		return
	}
	id := w.id("m")
	_, fresh, err := w.store.PutInbox(context.Background(), store.Inbox{
		ID: id, Dedupe: bare(key), Session: "k", Adapter: "a", Target: "t", User: "u", Text: id, At: noon, State: store.InboxWaiting,
	})
	if err == nil && fresh {
		w.fatal("%s came a second time and was taken for a new message", key)
	}
	w.call("again "+bare(key), err, rows{})
}

func (w *world) drop() {
	key, ok := oneOf(w, w.keys("inbox", "waiting"))
	if !ok {
		return
	}
	// Ids are given in pairs: the message's, then its name for ever.
	var n int
	if _, err := fmt.Sscanf(bare(key), "m%d", &n); err != nil {
		w.fatal("%v", err)
	}
	w.call("drop "+bare(key), w.store.DropInbox(context.Background(), bare(key)), rows{key: "", fmt.Sprintf("dedupe d%d", n+1): ""})
}

// sessionOf is the session of a turn or a message, by the name that it was given: turn of session s1 is "s1/t2".
func sessionOf(key string) string {
	id, _, _ := strings.Cut(bare(key), "/")
	return id
}

func session(id string) store.Session {
	return store.Session{
		ID: id, Key: "key of " + id, Platform: "cli", User: "u", Target: "t", State: ops.SessionIdle, CreatedAt: noon, LastActivityAt: noon,
	}
}

func (w *world) beginTurn() {
	waiting, ok := oneOf(w, w.keys("inbox", "waiting"))
	if !ok {
		return
	}
	id := w.id("s")
	if old, ok := oneOf(w, w.keys("session", "current")); ok && w.rng.IntN(3) > 0 {
		id = bare(old)
	}
	turn := id + "/" + w.id("t")
	change := rows{"session " + id: "current", "turn " + turn: "running", "inbox " + waiting[len("inbox "):]: "running", "message " + turn + " asked": once}
	for _, running := range w.of("turn", id) {
		if w.model.frozen(running) {
			return
		}
		if w.model.sure[running] == "running" {
			change[running] = "interrupted" // superseded
		}
	}
	err := w.store.BeginTurn(context.Background(), session(id),
		store.Turn{ID: turn, SessionID: id, Life: "life", StartedAt: noon, State: store.TurnRunning, Message: bare(waiting)},
		store.Message{Role: "user", Content: turn + " asked", At: noon})
	w.call("begin "+turn, err, change)
}

// of are the keys of a table that belong to a session, those of failed calls included.
func (w *world) of(table, session string) []string {
	all := slices.Collect(maps.Keys(w.model.sure))
	for _, g := range w.model.maybe {
		all = slices.AppendSeq(all, maps.Keys(g.after))
	}
	all = slices.DeleteFunc(all, func(key string) bool {
		return !strings.HasPrefix(key, table+" ") || sessionOf(key) != session
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// running is a turn that runs, in a session that no failed call has touched.
func (w *world) running() (turn string, ok bool) {
	key, ok := oneOf(w, w.keys("turn", "running"))
	if !ok || w.model.frozen("session "+sessionOf(key)) {
		return "", false
	}
	return bare(key), true
}

func (w *world) appendTo() {
	turn, ok := w.running()
	if !ok {
		return
	}
	text := w.text(turn + " " + w.id("says"))
	err := w.store.AppendMessages(context.Background(), sessionOf("turn "+turn), turn, []store.Message{{Role: "assistant", Content: text, At: noon}})
	w.call("append to "+turn, err, rows{"message " + text: once})
}

func (w *world) endTurn() {
	turn, ok := w.running()
	if !ok {
		return
	}
	id, reply := sessionOf("turn "+turn), w.id("o")
	change := rows{"turn " + turn: "done", "message " + turn + " answered": once, "outbox " + reply: "waiting"}
	ended := store.Turn{ID: turn, SessionID: id, EndedAt: noon, State: store.TurnDone}
	ended.Reply = &store.Outbox{ID: reply, Session: "k", Adapter: "a", Target: "t", Text: w.text(reply), At: noon}
	if asked, ok := oneOf(w, w.keys("inbox", "running")); ok {
		ended.Message, change[asked] = bare(asked), "answered"
	} else {
		ended.Reply = nil
		delete(change, "outbox "+reply)
	}
	err := w.store.EndTurn(context.Background(), session(id), ended, []store.Message{{Role: "assistant", Content: turn + " answered", At: noon}})
	w.call("end "+turn, err, change)
}

func (w *world) notice() {
	id := w.id("o")
	err := w.store.PutOutbox(context.Background(), store.Outbox{ID: id, Session: "k", Adapter: "a", Target: "t", Text: w.text(id), At: noon})
	w.call("notice "+id, err, rows{"outbox " + id: "waiting"})
}

func (w *world) delivered() {
	key, ok := oneOf(w, w.keys("outbox", "waiting"))
	if !ok {
		return
	}
	refused, state := "", "sent"
	if w.rng.IntN(4) == 0 {
		refused, state = "blocked", "refused"
	}
	w.call(state+" "+bare(key), w.store.EndOutbox(context.Background(), bare(key), refused, noon), rows{key: state})
}

// whole are the rows of a session with its turns, and its messages if wanted; false if a failed call has touched one.
func (w *world) whole(id string, tables ...string) (keys []string, ok bool) {
	for _, table := range tables {
		keys = append(keys, w.of(table, id)...)
	}
	return keys, !slices.ContainsFunc(keys, w.model.frozen)
}

func (w *world) reset() {
	key, ok := oneOf(w, w.keys("session", "current"))
	if !ok {
		return
	}
	turns, ok := w.whole(bare(key), "turn")
	if !ok {
		return
	}
	change := rows{key: "ended"}
	for _, turn := range turns {
		if w.model.sure[turn] == "running" {
			change[turn] = "interrupted"
		}
	}
	w.call("reset "+bare(key), w.store.EndSession(context.Background(), bare(key), noon, "reset"), change)
}

func (w *world) forget() {
	key, ok := oneOf(w, w.keys("session", "ended"))
	if !ok {
		return
	}
	keys, ok := w.whole(bare(key), "turn", "message")
	if !ok {
		return
	}
	change := rows{key: ""}
	for _, k := range keys {
		change[k] = ""
	}
	w.call("forget "+bare(key), w.store.ForgetSessions(context.Background(), bare(key)), change)
}

// checkpoint copies the -wal into the database, as SQLite does by itself once the -wal is long. Its failure is no loss.
func (w *world) checkpoint() {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "gateway.db"))
	if err != nil {
		w.fatal("%v", err)
	}
	defer db.Close()
	mode := []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[w.rng.IntN(4)]
	_, err = db.Exec("PRAGMA wal_checkpoint(" + mode + ")")
	w.note("checkpoint ", mode, ": ", err)
}

// read reads while the disk may fail: what is read is true, or there is an error.
func (w *world) read() {
	open, err := w.store.OpenInbox(context.Background())
	w.note("read: ", len(open), " ", err)
	if err != nil {
		return
	}
	for _, v := range open {
		if key := "inbox " + v.ID; !w.model.frozen(key) && w.model.sure[key] != string(v.State) {
			w.fatal("%s is read as %q and is %q", key, v.State, w.model.sure[key])
		}
	}
}
