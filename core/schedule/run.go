package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// tellAgain is how long a chat hears nothing of further failures of a job that fails again and again.
const tellAgain = time.Hour

// start begins a run of a job that does not run. note is for the readers of its answer. further rows are written with it. The caller
// holds Book.one.
func (b *Book) start(ctx context.Context, j job, run store.JobRun, note string, further ...store.JobRun) error {
	run.ID, run.Job, run.Started, run.Result, run.Times = b.o.NewID(), j.Name, b.o.Now().Round(0), store.JobRunning, 1
	j.Last = run.Started
	if err := b.write(ctx, j.Job, nil, append(further, run)...); err != nil {
		return err
	}
	b.put(j.Job)
	b.mu.Lock()
	b.running[j.Name] = &running{JobRun: run}
	b.mu.Unlock()
	for _, missed := range further {
		b.ended(missed)
	}
	key := session.JobKey(j.Name)
	b.o.Log.Info("job started", "event", ops.LogJob, "job", j.Name, "run", run.ID, "by", run.By)
	b.o.Events.Emit(ops.EventJobStarted, j.Name, "job started", ops.JobStart{By: cmp.Or(run.By, "schedule"), Session: key})
	if !b.o.Tasks.Start(ctx, "job "+j.Name, key, func(ctx context.Context) { b.carryOut(ctx, j, run, note) }) {
		return b.end(ctx, run, "", session.ErrStopping, note)
	}
	return nil
}

// carryOut runs the turn of a run, and ends the run.
func (b *Book) carryOut(ctx context.Context, j job, run store.JobRun, note string) {
	answer, err := b.work(ctx, j, run)
	unlock, lockErr := b.lock(context.WithoutCancel(ctx)) // each holder's writes are bounded
	if lockErr != nil {
		return
	}
	defer unlock()
	if err := b.end(ctx, run, answer, err, note); err != nil { // the next life reports it as cut off
		b.o.Log.Error("end of a job's run not saved", "event", ops.LogJob, "job", j.Name, "run", run.ID, "error", term.Clean(err.Error(), 300))
	}
}

// work runs the turn of a run.
func (b *Book) work(ctx context.Context, j job, run store.JobRun) (answer string, err error) {
	defer func() {
		if p := recover(); p != nil {
			b.o.Log.Error("job panicked", "event", ops.LogJob, "job", j.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = &ops.Error{Code: ops.CodeInternal, Message: "the run failed inside the gateway", Hint: "the log has the details"}
		}
	}()
	m := session.Message{User: j.Owner, Role: ops.RoleOwner, Text: j.Prompt, Agent: j.Agent, At: run.Started, Unattended: true, Job: run.ID, Operator: j.Owner == ""}
	if j.Owner != "" {
		if m.Role = b.o.Role(j.Owner); m.Role == "" || !m.Role.AtLeast(ops.RoleMember) {
			return "", &ops.Error{Code: ops.CodeForbidden, Message: term.Clean(j.Owner, 80) + ", who made it, may not use the gateway any more", Hint: "delete the job with gatewaytui jobs delete " + j.Name}
		}
	}
	return b.turns.RunJob(ctx, session.JobKey(j.Name), m)
}

// end ends a run: in the store together with the message to its chat, in memory, as an event. The caller holds Book.one.
func (b *Book) end(ctx context.Context, run store.JobRun, answer string, cause error, note string) error {
	now := b.o.Now().Round(0)
	run.Ended, run.Result = now, string(ops.JobRunDone)
	if cause != nil {
		run.Result, run.Reason = resultOf(cause), reasonOf(cause)
	}
	j, found := b.get(run.Job)
	b.mu.Lock()
	skipped := 0
	if r := b.running[run.Job]; r != nil {
		skipped = r.skipped
	}
	delete(b.running, run.Job)
	b.mu.Unlock()
	defer b.nudge()
	defer b.ended(run)
	if !found { // it was deleted meanwhile
		return nil
	}
	j.LastResult, j.LastReason = run.Result, run.Reason
	failed := cause != nil
	quiet := failed && j.Failures > 0 && now.Sub(j.told) < tellAgain
	if failed {
		j.Failures++
	} else {
		j.Failures = 0
	}
	if skipped > 0 {
		note = cut(note + fmt.Sprintf(" Skipped, because this run was still running: %d.", skipped))
	}
	var message *store.Outbox
	if !quiet {
		message = b.message(ctx, j, run.ID, said(j.Name, answer, cause, note), now)
	}
	if err := b.write(ctx, j.Job, message, run); err != nil {
		return err
	}
	b.put(j.Job)
	if failed && message != nil {
		b.mu.Lock()
		b.jobs[j.Name].told = now
		b.mu.Unlock()
	}
	b.send(message)
	return nil
}

// resultOf is the result of a run that ended with an error.
func resultOf(err error) string {
	if ops.HasCode(err, ops.CodeStopping) || ops.HasCode(err, ops.CodeConflict) || errors.Is(err, session.ErrStopping) {
		return string(ops.JobRunInterrupted)
	}
	return string(ops.JobRunFailed)
}

// reasonOf is an error for people.
func reasonOf(err error) string {
	e := ops.AsError(err)
	if answer := session.Answer(err); answer != nil {
		e = answer
	}
	return term.Clean(e.Message, 300)
}

// said is what a chat reads of a run.
func said(name, answer string, cause error, note string) string {
	if note != "" {
		note = "\n\n(" + note + ")"
	}
	if cause == nil {
		return "Job " + name + ":\n\n" + answer + note
	}
	what := "failed"
	if resultOf(cause) == string(ops.JobRunInterrupted) {
		what = "was interrupted"
	}
	return "Job " + name + " " + what + ": " + reasonOf(cause) + "." + note
}

// cutOff ends a run that an earlier life did not end.
func (b *Book) cutOff(ctx context.Context, run store.JobRun) {
	now := b.o.Now().Round(0)
	run.Ended, run.Result, run.Reason = now, string(ops.JobRunInterrupted), "the gateway ended during the run"
	j, found := b.get(run.Job)
	if !found {
		j = job{Job: store.Job{Name: run.Job}}
	} else {
		j.LastResult, j.LastReason = run.Result, run.Reason
		j.Failures++
	}
	text := "Job " + j.Name + " was cut off, because the gateway ended during the run that began at " + shown(run.Started, j.Zone) + ". It is not run again by itself."
	message := b.message(ctx, j, run.ID, text, now)
	if !found {
		return // its rows went with it
	}
	if err := b.write(ctx, j.Job, message, run); err != nil {
		b.o.Log.Warn("run that was cut off not recorded", "event", ops.LogJob, "job", run.Job, "error", term.Clean(err.Error(), 300))
		return
	}
	b.put(j.Job)
	b.ended(run)
	b.send(message)
}

// ended says that a run has ended, or that there was none: in the log and as an event.
func (b *Book) ended(run store.JobRun) {
	b.o.Log.Info("job ended", "event", ops.LogJob, "job", run.Job, "run", run.ID, "result", run.Result, "reason", run.Reason, "times", run.Times)
	end := ops.JobEnd{Error: run.Reason, Result: ops.JobResult(run.Result), Session: session.JobKey(run.Job)}
	if !run.Started.IsZero() {
		end.ElapsedMS = ops.Millis(run.Ended.Sub(run.Started))
	}
	b.o.Events.Emit(ops.EventJobEnded, run.Job, "job "+run.Result, end)
}

// message is a message to the chat of a job, with the id of the run; nil: the job has no chat, or its address is not known.
func (b *Book) message(ctx context.Context, j job, id, text string, now time.Time) *store.Outbox {
	if j.Deliver == "" {
		return nil
	}
	target := b.o.Target(ctx, j.Deliver)
	if target == "" {
		target = j.Target
	}
	if target == "" {
		b.o.Log.Warn("address of a job's chat not known", "event", ops.LogJob, "job", j.Name, "session", j.Deliver)
		return nil
	}
	return &store.Outbox{ID: id, Session: j.Deliver, Adapter: session.Platform(j.Deliver), Target: target, Text: text, At: now, Tried: true}
}

// send sends a message that the store has, on a task. During a stop it stays for the next life.
func (b *Book) send(message *store.Outbox) {
	if message != nil {
		b.o.Tasks.Start(context.Background(), "notice", message.Session, func(context.Context) { b.o.Chats.Deliver(*message) })
	}
}
