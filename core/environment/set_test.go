package environment

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a driver whose environments are in memory.
type fake struct {
	kind  Kind
	probe error
	slow  time.Duration // of its probe

	mu     sync.Mutex
	made   int
	open   map[string]bool
	fails  error // of Make
	stays  error // of Close
	hangs  bool  // in Close
	making time.Duration
}

func (f *fake) Kind() Kind { return f.kind }

func (f *fake) Probe(ctx context.Context) (string, error) {
	select {
	case <-time.After(f.slow):
		return "tried", f.probe
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (f *fake) Make(ctx context.Context, use Use) (Environment, error) {
	select {
	case <-time.After(f.making):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return nil, f.fails
	}
	if f.open == nil {
		f.open = map[string]bool{}
	}
	f.made++
	f.open[use.ID] = true
	return &fakeOne{f, use.ID}, nil
}

type fakeOne struct {
	f  *fake
	id string
}

func (e *fakeOne) Command(_ context.Context, cmd Command) (Launch, error) {
	return Launch{Argv: append([]string{"in", e.id}, cmd.Argv...)}, nil
}
func (e *fakeOne) Detail() string { return "in memory" }
func (e *fakeOne) Close(ctx context.Context) error {
	e.f.mu.Lock()
	hangs, stays := e.f.hangs, e.f.stays
	if stays == nil && !hangs {
		delete(e.f.open, e.id)
	}
	e.f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return stays
}

func newSet(t *testing.T, o Options) *Set {
	t.Helper()
	dir := t.TempDir()
	o.Homes, o.Workdir, o.Log = dir+"/agents", dir+"/work", slog.New(slog.DiscardHandler)
	s := New(o)
	s.Open()
	t.Cleanup(func() {
		if err := s.CloseAll(context.Background()); err != nil { // the test's own ctx has ended
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func ask(session string) Request {
	return Request{Session: session, Agent: "default", Owner: true, Command: Command{Argv: []string{"true"}}}
}

func TestTR6_ADefinitionMeansTheStrongestKindThatWorksAndNeverAWeakerOneThanItAllows(t *testing.T) {
	broken := errors.New("bubblewrap is not installed")
	for _, tt := range []struct {
		name             string
		def              Definition
		sandbox, partial error
		want             Kind
		why, refused     string
	}{
		{"auto is a sandbox where that works", Definition{Name: "auto", Kind: KindAuto}, nil, nil, KindSandbox, "", ""},
		{"auto is partial where a sandbox does not work", Definition{Name: "auto", Kind: KindAuto}, broken, nil, KindPartial, "not installed", ""},
		{"auto is local where neither works", Definition{Name: "auto", Kind: KindAuto}, broken, errors.New("no landlock"), KindLocal, "no landlock", ""},
		{"a sandbox by name is never less", Definition{Name: "box", Kind: KindSandbox}, broken, nil, "", "", "not installed"},
		{"a sandbox with the fallback is partial", Definition{Name: "box", Kind: KindSandbox, Fallback: true}, broken, nil, KindPartial, "not installed", ""},
		{"a sandbox with the fallback is never local", Definition{Name: "box", Kind: KindSandbox, Fallback: true}, broken, errors.New("no landlock"), "", "", "not installed"},
		{"a container without a driver is refused", Definition{Name: "c", Kind: KindContainer}, nil, nil, "", "", "container"},
		{"local is local", Definition{Name: "local", Kind: KindLocal}, nil, nil, KindLocal, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSet(t, Options{
				Drivers: []Driver{&fake{kind: KindSandbox, probe: tt.sandbox}, &fake{kind: KindPartial, probe: tt.partial}},
				Setup:   Setup{Definitions: map[string]Definition{tt.def.Name: tt.def}, Agents: map[string]string{"default": tt.def.Name}},
			})
			place, err := s.Resolve(t.Context(), "default")
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Fatalf("resolve = %v, %v; want a refusal with %q", place, err, tt.refused)
				}
				if _, _, err := s.Command(t.Context(), ask("a")); err == nil {
					t.Error("the command was not refused")
				}
				return
			}
			if err != nil || place.Kind != tt.want || !strings.Contains(place.Why, tt.why) || tt.why == "" && place.Why != "" {
				t.Errorf("resolve = %+v, %v; want %s with %q", place, err, tt.want, tt.why)
			}
		})
	}
}

func TestTR6_AsRootTheMachineItselfIsForOwnersAlone(t *testing.T) {
	s := newSet(t, Options{Root: true, Setup: Setup{Agents: map[string]string{"default": NameLocal}}})
	r := ask("a")
	if _, _, err := s.Command(t.Context(), r); err != nil {
		t.Errorf("an owner is refused: %v", err)
	}
	r.Owner = false
	if _, _, err := s.Command(t.Context(), r); !errors.Is(err, ErrOwnersAlone) {
		t.Errorf("another caller: %v, want %v", err, ErrOwnersAlone)
	}
}

func TestTR6_AnEnvironmentIsMadeOnceForASessionAndListedUntilItIsClosed(t *testing.T) {
	f := &fake{kind: KindSandbox}
	s := newSet(t, Options{Drivers: []Driver{f}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if launch, _, err := s.Command(t.Context(), ask("a")); err != nil || launch.Argv[0] != "in" {
				t.Errorf("command = %v, %v", launch, err)
			}
		})
	}
	wg.Wait()
	rows := s.Rows()
	if f.made != 1 || len(rows) != 1 || rows[0].State != ops.EnvironmentReady || rows[0].Session != "a" || rows[0].Detail != "in memory" {
		t.Fatalf("%d made, rows %+v; want one", f.made, rows)
	}
	for range 2 {
		if err := s.Close(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if rows := s.Rows(); len(rows) != 0 || len(f.open) != 0 {
		t.Errorf("after the close: rows %+v, open %v", rows, f.open)
	}
}

func TestTR6_ACloseThatFailsLeavesARowWithTheReasonAndIsTriedAgain(t *testing.T) {
	f := &fake{kind: KindSandbox, stays: errors.New("the daemon does not answer")}
	s := newSet(t, Options{Drivers: []Driver{f}})
	if _, _, err := s.Command(t.Context(), ask("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("close = %v", err)
	}
	rows := s.Rows()
	if len(rows) != 1 || rows[0].State != ops.EnvironmentCloseFailed || !strings.Contains(rows[0].Detail, "does not answer") {
		t.Fatalf("rows = %+v", rows)
	}
	// The session goes on with another environment.
	if _, _, err := s.Command(t.Context(), ask("a")); err != nil || f.made != 2 {
		t.Fatalf("the next command: %v, %d made", err, f.made)
	}
	f.mu.Lock()
	f.stays = nil
	f.mu.Unlock()
	if err := s.Close(t.Context(), "a"); err != nil || len(s.Rows()) != 0 || len(f.open) != 0 {
		t.Errorf("second close: %v, rows %+v, open %v", err, s.Rows(), f.open)
	}
}

func TestTR6_CloseAllIsBoundedByItsContextEvenIfADriverHangs(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{kind: KindSandbox, hangs: true}
		s := New(Options{Drivers: []Driver{f}, Homes: dir, Workdir: dir, Log: slog.New(slog.DiscardHandler)})
		s.Open()
		for _, session := range []string{"a", "b", "c"} {
			if _, _, err := s.Command(t.Context(), ask(session)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := s.CloseAll(ctx)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		for _, id := range []string{"e1", "e2", "e3"} {
			if err == nil || !strings.Contains(err.Error(), id) {
				t.Errorf("the error does not name %s: %v", id, err)
			}
		}
		for _, row := range s.Rows() {
			if !strings.Contains(row.Detail, "in memory") {
				t.Errorf("the row of %s does not have what the driver says of it: %q", row.ID, row.Detail)
			}
		}
		if _, _, err := s.Command(t.Context(), ask("d")); !errors.Is(err, ErrClosed) {
			t.Errorf("a command after it: %v", err)
		}
	})
}

func TestTR6_TheFirstUseWaitsForTheProbe(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{kind: KindSandbox, slow: time.Second}
		s := New(Options{Drivers: []Driver{f}, Homes: dir, Workdir: dir, Log: slog.New(slog.DiscardHandler)})
		began := time.Now()
		s.Open()
		if time.Since(began) != 0 {
			t.Error("Open waited")
		}
		place, err := s.Resolve(t.Context(), "default")
		if err != nil || place.Kind != KindSandbox || time.Since(began) != time.Second {
			t.Errorf("resolve = %+v, %v after %v", place, err, time.Since(began))
		}
		if err := s.CloseAll(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTR6_AnEnvironmentThatCannotBeMadeLeavesNoRowAndIsTriedAgain(t *testing.T) {
	f := &fake{kind: KindSandbox, fails: os.ErrPermission}
	s := newSet(t, Options{Drivers: []Driver{f}})
	if _, _, err := s.Command(t.Context(), ask("a")); !errors.Is(err, os.ErrPermission) {
		t.Errorf("command = %v", err)
	}
	if rows := s.Rows(); len(rows) != 0 {
		t.Errorf("rows = %+v", rows)
	}
	f.mu.Lock()
	f.fails = nil
	f.mu.Unlock()
	if _, _, err := s.Command(t.Context(), ask("a")); err != nil {
		t.Errorf("the next command: %v", err)
	}
}
