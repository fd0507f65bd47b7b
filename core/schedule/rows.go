package schedule

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Rows are all jobs, by name. It does no I/O.
func (b *Book) Rows() []ops.Job { return b.rows(func(*job) bool { return true }) }

// rows are the jobs that match. match is called with mu held.
func (b *Book) rows(match func(*job) bool) []ops.Job {
	b.mu.Lock()
	rows := make([]ops.Job, 0, len(b.jobs))
	for _, j := range b.jobs {
		if match(j) {
			rows = append(rows, b.row(j))
		}
	}
	b.mu.Unlock()
	slices.SortFunc(rows, ops.CompareJobs)
	return rows
}

// row is a job for operators. The caller holds mu.
func (b *Book) row(j *job) ops.Job {
	r := ops.Job{
		Name: j.Name, Schedule: j.Schedule, Zone: j.Zone, LastResult: ops.JobResult(j.LastResult), LastError: cmp.Or(j.broken, j.LastReason),
		State: b.state(j), Agent: j.Agent, Deliver: j.Deliver, Origin: cmp.Or(j.Owner, j.Source), Session: session.JobKey(j.Name),
	}
	if !j.Next.IsZero() {
		r.NextAt = ops.At(j.Next)
	}
	if !j.Last.IsZero() {
		r.LastAt = ops.At(j.Last)
	}
	return r
}

// state is the state of a job. The caller holds mu.
func (b *Book) state(j *job) ops.JobState {
	switch {
	case b.running[j.Name] != nil:
		return ops.JobRunning
	case j.Paused:
		return ops.JobPaused
	case j.broken != "":
		return ops.JobFailed
	case j.Next.IsZero():
		return ops.JobEnded
	case j.Failures > 0:
		return ops.JobFailed
	}
	return ops.JobWaiting
}

// lateLook is after how long without a look the scheduler is taken for stuck.
const lateLook = 2 * time.Minute

// Stuck says, once, that the scheduler has not looked for too long; empty: it has, or it has not begun.
func (b *Book) Stuck(now time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := now.Sub(b.looked)
	was := b.stuck
	b.stuck = !b.looked.IsZero() && since > lateLook
	if b.stuck && !was {
		return "the scheduler of jobs has not looked for " + text.Duration(since) + ": jobs that are due do not run"
	}
	return ""
}

// What a person can do about a failed job.
const (
	answerRun     = "run"
	answerPause   = "pause"
	answerDismiss = "dismiss"
)

// Inbox implements operator.InboxSource: a row for each job whose last run failed or was cut off.
func (b *Book) Inbox() []ops.InboxItem {
	b.mu.Lock()
	defer b.mu.Unlock()
	var items []ops.InboxItem
	for _, j := range b.jobs {
		if j.Failures == 0 || b.running[j.Name] != nil {
			continue
		}
		said := "job " + j.Name + " " + text.Words(ops.JobResult(j.LastResult)) + ": " + j.LastReason
		if j.Failures > 1 {
			said += "; " + text.Count(j.Failures, "run") + " in a row"
		}
		items = append(items, ops.InboxItem{
			ID: inboxID(j), Kind: ops.InboxJob, Session: session.JobKey(j.Name), AskedAt: ops.At(j.Last), State: ops.InboxWaiting, Who: "an operator", Text: said,
			Reasons: []string{}, Options: []string{answerRun, answerPause, answerDismiss},
		})
	}
	return items
}

// Answer implements operator.InboxSource.
func (b *Book) Answer(ctx context.Context, cmd ops.Command) (detail string, err error) {
	name := ""
	b.mu.Lock()
	for _, j := range b.jobs {
		if j.Failures > 0 && inboxID(j) == cmd.Target {
			name = j.Name
		}
	}
	b.mu.Unlock()
	if name == "" {
		return "", &ops.Error{Code: ops.CodeConflict, Message: "request " + term.Quote(cmd.Target) + " has just ended", Hint: "nothing was done"}
	}
	switch cmd.Text {
	case answerRun:
		return "job " + name + " runs now", b.Run(ctx, name, cmd.By.User)
	case answerPause:
		return "job " + name + " is paused", b.Pause(ctx, name, cmd.By.User)
	default:
		return "dismissed", b.dismiss(ctx, name, cmd.By.User)
	}
}

// inboxID names the row of a failed run. It is another one for the next run that fails.
func inboxID(j *job) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", j.Name, j.Last.UnixMicro(), j.Failures))
	return base32.StdEncoding.EncodeToString(sum[:])[:7]
}
