package operator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime/pprof"
	"time"

	"gatewaytui/core/term"
)

// diagnose writes what one would ask for of a gateway that hangs into one private file: the shutdown with its blockers,
// turns, process trees, background tasks, open sockets, and every goroutine with the phase and the item that it works for
// (its pprof labels). It holds no message bodies.
func (op *Operator) diagnose(ctx context.Context) (string, error) {
	f, err := op.o.Host.Diagnosis()
	if err != nil {
		return "", fmt.Errorf("make a file for the diagnosis: %w", err)
	}
	w := bufio.NewWriter(f)
	op.writeDiagnosis(ctx, w)
	if err := w.Flush(); err != nil {
		_ = f.Close() // the write's error says more
		return "", fmt.Errorf("write the diagnosis to %s: %w", f.Name(), err)
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("write the diagnosis to %s: %w", f.Name(), err)
	}
	return f.Name(), nil
}

func (op *Operator) writeDiagnosis(ctx context.Context, w io.Writer) {
	section := func(title string) { fmt.Fprintf(w, "\n== %s\n", title) }
	s, err := op.Snapshot(ctx)
	if err != nil {
		fmt.Fprintf(w, "no snapshot: %v\n", err)
		return
	}
	fmt.Fprintf(w, "gatewaytui %s, life %s, pid %d, %s, up %s, written %s\n", s.Version, s.Life, s.PID, s.State, time.Since(op.o.Health.Started()).Round(time.Second), time.Now().Format(time.RFC3339))
	if s.Shutdown != nil {
		section("shutdown " + s.Shutdown.ID + " " + term.Clean(s.Shutdown.ModeText(), 200) + ", " + term.Clean(s.Shutdown.Reason, 200))
		for _, p := range s.Shutdown.Phases {
			fmt.Fprintf(w, "%-11s %-9s %6d ms of %6d ms  %s\n", p.Name, p.State, p.ElapsedMS, p.BudgetMS, term.Clean(p.Detail, 200))
			for _, it := range p.Items {
				fmt.Fprintf(w, "    %-9s %s %s %d ms of %d ms  %s\n", it.State, it.Kind, term.Clean(it.ID, 120), it.ElapsedMS, it.BudgetMS, term.Clean(it.Detail, 200))
			}
		}
	}
	section("turns")
	for _, v := range op.o.Table.Turns() {
		fmt.Fprintf(w, "%s turn %s: %s, last progress %s ago\n", turnLine(v), v.ID, v.Doing, time.Since(v.Progress).Round(time.Millisecond))
	}
	section("processes")
	for _, p := range s.Processes {
		fmt.Fprintf(w, "%s, %s, age %d ms, rss %d\n", processLine(p), p.State, p.AgeMS, p.RSSBytes)
	}
	section("adapters")
	for _, a := range s.Adapters {
		fmt.Fprintf(w, "%s %s since %s, queue %d, attempt %d, %s\n", a.Name, a.State, a.Since.Format(time.RFC3339), a.Queue, a.Attempt, term.Clean(a.LastError, 200))
	}
	section("background")
	for _, t := range s.Background {
		fmt.Fprintf(w, "%s %s %s %s, age %d ms\n", t.ID, t.Name, term.Clean(t.Session, 120), t.Progress, t.AgeMS)
	}
	section("host")
	writeHost(ctx, w)
	section("sockets")
	writeSockets(ctx, w)
	section("goroutines")
	if err := pprof.Lookup("goroutine").WriteTo(w, 1); err != nil {
		fmt.Fprintf(w, "no goroutines: %v\n", err)
	}
}
