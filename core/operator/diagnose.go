package operator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v3/load"
	"github.com/shirou/gopsutil/v3/mem"
	"github.com/shirou/gopsutil/v3/net"
	"golang.org/x/sys/unix"

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

// writeSockets lists the sockets among our descriptors with what the kernel says of each (proc(5), /proc/net/tcp). It
// reads links and tables alone and opens no file of ours.
func writeSockets(ctx context.Context, w io.Writer) {
	sockets, err := net.ConnectionsPidMaxWithoutUidsWithContext(ctx, "all", int32(os.Getpid()), 0)
	if err != nil {
		fmt.Fprintf(w, "no sockets: %v\n", err)
	}
	for _, s := range sockets {
		fmt.Fprintf(w, "fd %d %s %s:%d -> %s:%d %s\n", s.Fd, socketKinds[s.Family], s.Laddr.IP, s.Laddr.Port, s.Raddr.IP, s.Raddr.Port, s.Status)
	}
}

var socketKinds = map[uint32]string{unix.AF_UNIX: "unix", unix.AF_INET: "ip", unix.AF_INET6: "ip6"}

// writeHost says how the machine is: a gateway that is slow is often on one that is out of something.
func writeHost(ctx context.Context, w io.Writer) {
	if avg, err := load.AvgWithContext(ctx); err == nil {
		fmt.Fprintf(w, "load %.2f %.2f %.2f\n", avg.Load1, avg.Load5, avg.Load15)
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		fmt.Fprintf(w, "memory %s, available %s\n", humanize.IBytes(m.Total), humanize.IBytes(m.Available))
	}
	if s, err := mem.SwapMemoryWithContext(ctx); err == nil && s.Total > 0 {
		fmt.Fprintf(w, "swap %s, used %s\n", humanize.IBytes(s.Total), humanize.IBytes(s.Used))
	}
}
