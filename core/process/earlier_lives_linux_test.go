package process

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/eventually"
)

// stray is a process without a known ancestor, with this environment. It is called while no registry is open:
// one would adopt it.
func stray(t testing.TB, env ...string) ident {
	t.Helper()
	cmd := exec.Command("/bin/bash", "-c", `/usr/bin/setsid /bin/sleep 1000 >&- 2>&- & echo $!`)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	var p proc
	eventually.True(t, "the stray is an orphan in a session of its own", func() bool {
		if p, err = statOf(pid); err != nil {
			t.Fatal(err)
		}
		return p.SID == pid && p.PPID != os.Getpid()
	})
	becomes(t, p.Ident, "sleep")
	t.Cleanup(func() { _ = sendSignal(&target{proc: p, fd: -1}, unix.SIGKILL, false) })
	return p.Ident
}

// What a life that was killed with its guardian left is ended by the next one: by the identity of the journal's rows, and
// by that life's marks. A process that reused the pid of a row is spared, as is another life (C2, B11, B13, B14).
func TestC2_TheNextStartEndsWhatTheJournalNames(t *testing.T) {
	levels(t, "by identity and marks", func(t *testing.T, level Containment) {
		// Of the past, before this registry is open: none of them descends from it.
		t.Setenv(playFound, "yes")
		g := playedGuarded(t, level, len(hostile))
		rows := lastRows(t, g)
		if err := unix.Kill(g.guardian.PID, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		other := stray(t, EnvLife+"=another life of "+testLife)
		recycled := stray(t)
		elsewhere := stray(t)
		unmarked := stray(t)
		boot := rows[0].BootID
		rows = append(rows,
			Entry{Life: g.life, PID: recycled.PID, StartTicks: recycled.Start - 1, BootID: boot},
			Entry{Life: g.life, PID: unmarked.PID, StartTicks: unmarked.Start, BootID: boot},
			Entry{Life: g.life, PID: elsewhere.PID, StartTicks: elsewhere.Start, BootID: "another boot"},
			Entry{Life: testLife, PID: elsewhere.PID, StartTicks: elsewhere.Start, BootID: boot},
		)
		unstop := func() { _ = unix.Kill(g.guardian.PID, unix.SIGCONT) }
		defer unstop()
		if err := g.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = g.Wait() // it was killed

		r := registry(t, at(level), func(o *Options) { o.HomeID = testHomeOf(g.life) })
		mine := sh(t, r, `exec sleep 1000`)
		left := g.left(t)
		if len(left) == 0 {
			t.Fatal("there is nothing to sweep")
		}
		ended, spared, err := r.SweepEarlier(t.Context(), rows)
		if err != nil {
			t.Error(err)
		}
		if now := g.left(t); len(now) > 0 {
			t.Errorf("of %v, %v are left", left, now)
		}
		if lives(unmarked) || !slices.ContainsFunc(ended, func(e Entry) bool { return e.PID == unmarked.PID }) {
			t.Error("a row's process was not ended for its identity alone")
		}
		if len(ended) == 0 || slices.ContainsFunc(ended, func(e Entry) bool { return e.Life != g.life || e.PID == recycled.PID }) {
			t.Errorf("ended are %+v", ended)
		}
		if len(spared) != 1 || spared[0].PID != recycled.PID {
			t.Errorf("spared are %+v", spared)
		}
		for name, i := range map[string]ident{
			"another life": other, "who has the pid of a row": recycled, "a row of another boot": elsewhere,
			"a process of this life": mine.tree.leader,
		} {
			if !lives(i) {
				t.Errorf("%s was ended", name)
			}
		}
		if r.groups != nil {
			dir, kept := r.groups.of(g.life)
			for _, dir := range []string{dir, kept} {
				if _, err := os.Stat(dir); !os.IsNotExist(err) {
					t.Errorf("the group of the earlier life: %v", err)
				}
			}
		}
		again, _, err := r.SweepEarlier(t.Context(), rows)
		if len(again) > 0 || err != nil {
			t.Errorf("a second sweep ended %+v, %v", again, err)
		}
		unstop()
		eventually.True(t, "the old guardian ends, too late for anything", func() bool { return !lives(g.guardian) })
	})
}

// lastRows are the journal's rows of a gateway outside.
func lastRows(t testing.TB, g *guarded) []Entry {
	t.Helper()
	me, err := readSelf()
	if err != nil {
		t.Fatal(err)
	}
	var rows []Entry
	for _, i := range g.rows {
		rows = append(rows, Entry{Life: g.life, PID: i.PID, StartTicks: i.Start, BootID: me.bootID, Policy: PolicySession})
	}
	return rows
}

// What descends from this program is never taken for an earlier life's, for any row.
func TestC2_WhatIsOursIsOfNoEarlierLife(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `exec sleep 1000`)
	row := Entry{Life: "an earlier life", PID: p.PID(), StartTicks: p.tree.leader.Start, BootID: r.self.bootID}
	ended, spared, err := r.SweepEarlier(t.Context(), []Entry{row, {Life: "an earlier life", PID: os.Getpid(), StartTicks: r.self.Start, BootID: r.self.bootID}})
	if err != nil || len(spared) > 0 || len(ended) > 0 {
		t.Errorf("%+v, %+v, %v", ended, spared, err)
	}
	if _, exited := p.Exited(); exited {
		t.Error("it was ended")
	}
	if ended, spared, err := r.SweepEarlier(t.Context(), nil); ended != nil || spared != nil || err != nil {
		t.Errorf("of nothing: %+v, %+v, %v", ended, spared, err)
	}
}
