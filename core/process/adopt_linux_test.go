package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/core/process/kernel"
	"gatewaytui/fixtures/eventually"
)

// playRows are rows, as JSON, that playKeeping adopts before it starts anything.
const playRows = "PROCESS_TEST_ROWS"

// keptScript is a server with a detached child: it writes a line again and again, and counts them. It starts nothing else, so
// that the tree always has the same two processes: it pauses in a read of what its child never writes.
const keptScript = `exec 3<> <(exec setsid sleep 1000); for ((i = 0; ; i++)); do echo "line $i"; read -t 0.02 -u 3; done`

// playKeeping is a gateway with a guardian, a tree that is kept and one that is not. It says its journal's rows, a line of
// JSON each, and then "ready".
func playKeeping() error {
	said := json.NewEncoder(os.Stdout)
	var rows []Entry
	if err := json.Unmarshal([]byte(os.Getenv(playRows)), &rows); err != nil {
		return err
	}
	r := New(Options{
		Life: os.Getenv(playLife), HomeID: testHome(), Log: discard, Guardian: true, KillGrace: short,
		Containment: Containment(os.Getenv(playLevel)), Journal: recording(func(e Entry) error { return said.Encode(e) }),
	})
	ctx := context.Background()
	if err := r.Open(ctx); err != nil {
		return err
	}
	if _, err := awaitGuardian(r); err != nil {
		return err
	}
	if adopted := r.AdoptEarlier(ctx, rows); len(adopted) != len(rows) {
		return fmt.Errorf("of %+v, %+v were adopted", rows, adopted)
	}
	if len(rows) == 0 {
		for _, policy := range []Policy{PolicyKept, PolicySession} {
			if _, err := r.Spawn(ctx, spec(keptScript, func(s *Spec) { s.Policy, s.Stdin = policy, true })); err != nil {
				return err
			}
		}
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1)) // its end
	return r.Close(ctx)
}

// recording is a journal that calls itself at each start.
type recording func(Entry) error

func (f recording) Record(_ context.Context, notes []Note) error {
	for _, n := range notes {
		if n.How == "" {
			if err := f(n.Entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// killedKeeper plays a gateway that keeps, kills it when its trees are whole, and returns its journal's rows when its guardian is
// done.
func killedKeeper(t *testing.T, level Containment, adopt ...Entry) (rows []Entry) {
	t.Helper()
	if adopt == nil {
		adopt = []Entry{}
	}
	b, err := json.Marshal(adopt)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(playRows, string(b))
	t.Setenv(playLevel, string(level))
	t.Setenv(playLife, fmt.Sprintf("%s-%d", testLife, played.Add(1)))
	g := spawnOutside(t, "a gateway that keeps")
	for g.Lines.Scan() && g.Lines.Text() != "ready" {
		var e Entry
		if err := json.Unmarshal(g.Lines.Bytes(), &e); err != nil {
			t.Fatalf("it says %q", g.Lines.Text())
		}
		rows = append(rows, e)
	}
	if g.Lines.Text() != "ready" {
		t.Fatalf("it did not become ready: %v", g.Lines.Err())
	}
	for _, e := range rows {
		eventually.True(t, "a server has its child", func() bool { return len(keptOf(t, e)) == 2 })
	}
	if err := g.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = g.Wait() // it was killed
	for _, e := range rows {
		if e.Policy != PolicyKept {
			eventually.True(t, "the guardian ends what is not kept", func() bool { return !lives(ident{PID: e.PID, Start: e.StartTicks}) })
		}
	}
	return rows
}

// keptOf are the live processes of the tree of keptScript: its leader and all that has its tag.
func keptOf(t *testing.T, e Entry) []proc {
	t.Helper()
	procs, err := kernel.Table(nil)
	if err != nil {
		t.Fatal(err)
	}
	tag := kernel.MarksOf(e.PID).Tag()
	if !tag.Valid() {
		t.Fatalf("pid %d has no tag: it is gone", e.PID)
	}
	var out []proc
	for _, p := range procs {
		if p.Alive() && kernel.MarksOf(p.PID).Tag() == tag {
			out = append(out, p)
		}
	}
	return out
}

func rowOf(r *Registry, pid int) (found bool, state, origin, policy, session string, size int, last string) {
	for _, row := range r.Rows() {
		if row.PID == pid {
			return true, string(row.State), string(row.Origin), string(row.Policy), row.Session, row.TreeSize, row.LastOutput
		}
	}
	return false, "", "", "", "", 0, ""
}

// A tree that is kept outlives the gateway's SIGKILL, its guardian and the next start's sweep; the next life, and the one
// after that, shows it as adopted with its age, reads its output on, and ends all of it when its session ends (C10).
func TestC10_WhatIsKeptIsAdoptedByTheNextLife(t *testing.T) {
	levels(t, "a server with a detached child", func(t *testing.T, level Containment) {
		rows := killedKeeper(t, level)
		kept := rows[slices.IndexFunc(rows, func(e Entry) bool { return e.Policy == PolicyKept })]
		rows = killedKeeper(t, level, kept) // another life adopts it, and is killed as well
		if len(rows) != 1 || rows[0].PID != kept.PID || rows[0].Life == kept.Life || !rows[0].StartedAt.Equal(kept.StartedAt) {
			t.Fatalf("the life between has the rows %+v", rows)
		}
		kept = rows[0]
		members := keptOf(t, kept)
		if len(members) != 2 {
			t.Fatalf("of what is kept there are %v", members)
		}

		j := &records{}
		r := registry(t, at(level), func(o *Options) { o.Journal = j })
		adopted := r.AdoptEarlier(t.Context(), rows)
		if len(adopted) != 1 || adopted[0].PID != kept.PID {
			t.Fatalf("adopted are %+v", adopted)
		}
		if len(j.started) != 1 || j.started[0].Life != testLife || j.started[0].Policy != PolicyKept {
			t.Errorf("the journal has %+v", j.started)
		}
		if ended, _, err := r.SweepEarlier(t.Context(), nil); len(ended) > 0 || err != nil {
			t.Errorf("the sweep ended %+v, %v", ended, err)
		}
		eventually.True(t, "its row shows the whole tree and what it writes now", func() bool {
			there, state, origin, policy, session, size, last := rowOf(r, kept.PID)
			if !there || state != "running" || origin != "adopted" || policy != "kept" || session != "s" {
				t.Fatalf("its row: %t, %s, %s, %s, %s", there, state, origin, policy, session)
			}
			return size == len(members) && strings.HasPrefix(last, "line ")
		})
		p, there := r.Get(kept.PID)
		if !there {
			t.Fatal("it has no handle")
		}
		// What it wrote without a reader is there, and it was never stopped by a pipe that broke or was full.
		first, _, _ := p.Log(0, 0)
		from, err := strconv.Atoi(strings.TrimPrefix(strings.SplitN(first, "\n", 2)[0], "line "))
		if err != nil {
			t.Fatalf("its output begins with %.60q", first)
		}
		eventually.True(t, "its output goes on without a gap", func() bool {
			text, _, _ := p.Log(0, 0)
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			for i, line := range lines[:len(lines)-1] {
				if line != fmt.Sprintf("line %d", from+i) {
					t.Fatalf("line %d of %d is %q, after line %d", i, len(lines), line, from)
				}
			}
			return len(lines) > 20
		})

		dir := p.tree.dir
		verified(t, r.KillSession(t.Context(), "s", short))
		for _, m := range members {
			if lives(m.Ident) {
				t.Errorf("pid %d of the tree outlives its session", m.PID)
			}
		}
		if exit, exited := p.Exited(); !exited || exit.Code != CodeUnknown {
			t.Errorf("how it ended: %+v, %t", exit, exited)
		}
		eventually.True(t, "it is gone from the rows, and the journal knows", func() bool {
			there, _, _, _, _, _, _ := rowOf(r, kept.PID)
			return !there && j.endOf(kept.PID) == EndedByKill
		})
		if dir != "" {
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("its control group: %v", err)
			}
		}
	})
}

// A stop ends what is kept like everything else, whether this life started it or an earlier one.
func TestAStopEndsWhatIsKept(t *testing.T) {
	levels(t, "started and adopted", func(t *testing.T, level Containment) {
		rows := killedKeeper(t, level)
		r := registry(t, at(level))
		own := sh(t, r, keptScript, func(s *Spec) { s.Policy = PolicyKept })
		adopted := r.AdoptEarlier(t.Context(), rows)
		if len(adopted) != 1 {
			t.Fatalf("adopted are %+v", adopted)
		}
		left := append(keptOf(t, adopted[0]), keptOf(t, Entry{PID: own.PID()})...)
		verified(t, r.KillAll(t.Context(), short))
		for _, p := range left {
			if lives(p.Ident) {
				t.Errorf("pid %d outlives the stop", p.PID)
			}
		}
	})
}

// The sweep ends a process that was to be kept and is not adopted, because its session is gone.
func TestC2_WhatIsNotAdoptedIsEnded(t *testing.T) {
	levels(t, "a server with a detached child", func(t *testing.T, level Containment) {
		rows := killedKeeper(t, level)
		kept := rows[slices.IndexFunc(rows, func(e Entry) bool { return e.Policy == PolicyKept })]
		members := keptOf(t, kept)
		r := registry(t, at(level))
		ended, _, err := r.SweepEarlier(t.Context(), rows)
		// The guardian may still be at the other tree.
		if err != nil || !slices.ContainsFunc(ended, func(e Entry) bool { return e.PID == kept.PID }) {
			t.Errorf("ended are %+v, %v", ended, err)
		}
		for _, p := range members {
			if lives(p.Ident) {
				t.Errorf("pid %d is left", p.PID)
			}
		}
	})
}

// A row adopts its own process alone: a process that reused its pid, another boot's and another policy's are not adopted,
// and neither is a process that cannot be followed because it has no tag.
func TestB11_ARowAdoptsItsOwnProcessAlone(t *testing.T) {
	someone := stray(t)
	r := registry(t)
	row := Entry{
		Life: "an earlier life", PID: someone.PID, StartTicks: someone.Start, BootID: r.self.bootID, Session: "s", Policy: PolicyKept,
	}
	for name, change := range map[string]func(*Entry){
		"no tag":           func(*Entry) {},
		"another's pid":    func(e *Entry) { e.StartTicks-- },
		"another boot":     func(e *Entry) { e.BootID = "another boot" },
		"another policy":   func(e *Entry) { e.Policy = PolicySession },
		"this life":        func(e *Entry) { e.Life = testLife },
		"an unused pid":    func(e *Entry) { e.PID = 1 << 22 },
		"ourselves":        func(e *Entry) { e.PID, e.StartTicks = r.self.PID, r.self.Start },
		"no life is named": func(e *Entry) { e.Life = "" },
	} {
		e := row
		change(&e)
		if adopted := r.AdoptEarlier(t.Context(), []Entry{e}); len(adopted) > 0 || r.Count() > 0 {
			t.Errorf("%s: adopted are %+v", name, adopted)
		}
	}
	if !lives(someone) {
		t.Error("the other process is gone")
	}
}

// A process on the gateway's terminal hangs up with the gateway, so it cannot be kept.
func TestATerminalIsNotKept(t *testing.T) {
	r := registry(t)
	if _, err := r.Spawn(t.Context(), spec("true", func(s *Spec) { s.Policy, s.PTY = PolicyKept, true })); err == nil {
		t.Error("it was started")
	}
}
