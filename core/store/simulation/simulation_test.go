package simulation

import (
	"context"
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
	for n := range soak.Count(t, 30, 2000) {
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
	const enough = 5
	found := 0
	for n := uint64(0); n < 20 && found < enough; n++ {
		w := newWorld(t, n+1)
		w.lies = true
		if w.run() != nil {
			found++
		}
		w.disk.Detach()
	}
	if found < enough {
		t.Errorf("%d of 20 seeds found it", found)
	}
}

func TestASeedReplaysTheSameCallsWithTheSameFaults(t *testing.T) {
	for n := range uint64(soak.Count(t, 2, 5)) {
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
