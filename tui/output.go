package tui

import (
	"context"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// What the pages with output read.
const (
	// outputFirst is how many bytes of the end of an output are read at first, outputMost how many the page holds.
	outputFirst, outputMost = 32 << 10, 128 << 10
	// outputEvery is how often a running process is looked at.
	outputEvery = 700 * time.Millisecond
)

// outputReader reads the output of a process: that of the row, or the newest one of a session.
type outputReader struct {
	pid     int
	session string // of which the newest process is read; empty: pid is
	out     views.Output
}

func newOutputReader(v views.View, row string) reader {
	if v != views.Processes {
		return &outputReader{session: row, out: views.Output{Drawn: &views.Drawn{}}}
	}
	pid, err := strconv.Atoi(row)
	if err != nil { // not the key of a process
		return nil
	}
	return &outputReader{pid: pid, out: views.Output{Drawn: &views.Drawn{}}}
}

func (r *outputReader) show(s *views.Screen) { s.Output = r.out }

func (r *outputReader) next(m *model) (readQuestion, time.Duration) {
	pid := r.pid
	if r.session != "" {
		pid = newestProcess(m.snapshot().Processes, r.session)
	}
	switch {
	case pid == 0:
		return nil, 0
	case !r.out.Read || r.out.Tail.PID != pid:
		return r.ask(pid, -outputFirst), 0
	case r.out.Tail.Exit != nil && r.out.Tail.Next >= r.out.Tail.Total:
		return nil, 0
	case r.out.Tail.Next < r.out.Tail.Total:
		return r.ask(pid, r.out.Tail.Next), 0
	}
	return r.ask(pid, r.out.Tail.Next), outputEvery
}

// newestProcess is the pid of the process of a session that was started last and whose output the gateway has; 0: there is none.
func newestProcess(rows []ops.Process, session string) int {
	pid, age := 0, int64(0)
	for i := range rows {
		if r := &rows[i]; r.Session == session && r.Origin == ops.OriginSpawned && (pid == 0 || r.AgeMS < age) {
			pid, age = r.PID, r.AgeMS
		}
	}
	return pid
}

// ask reads what a process has written from an offset on; below 0 it counts from the end.
func (r *outputReader) ask(pid int, after int64) readQuestion {
	return func(ctx context.Context, c ops.Console) (func(*model), error) {
		out, err := c.Output(ctx, ops.OutputQuery{PID: pid, After: after, Limit: outputMost, By: operator()})
		return func(*model) {
			o := &r.out
			if after < 0 {
				o.Text, o.Cut = "", max(out.Next-int64(len(out.Text)), 0)
				if o.Cut > 0 { // the rest of a line that began before
					_, whole, found := strings.Cut(out.Text, "\n")
					if found {
						o.Cut += int64(len(out.Text) - len(whole))
						out.Text = whole
					}
				}
			}
			if o.Text += out.Text; after >= 0 {
				o.Cut += out.Missed
			}
			if over := len(o.Text) - outputMost; over > 0 {
				if at := strings.IndexByte(o.Text[over:], '\n'); at >= 0 {
					over += at + 1
				}
				o.Text, o.Cut = strings.ToValidUTF8(o.Text[over:], ""), o.Cut+int64(over)
			}
			if o.Tail, o.Read = out, true; out.Text != "" || after < 0 {
				o.Drawn = &views.Drawn{}
			}
			o.Tail.Text = ""
		}, err
	}
}
