package schedule

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/schedule/when"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

// nameOf is what a name may be that a person or a model chooses.
var nameOf = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// invalid is the error for a job that cannot be made.
func invalid(format string, args ...any) error {
	return &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf(format, args...), Hint: "nothing was made"}
}

// NoJob is the error for a name that no job has.
func NoJob(name string) error {
	return &ops.Error{Code: ops.CodeNotFound, Message: "no job " + term.Quote(name), Hint: "`gatewaytui jobs` lists them"}
}

// Make implements tool.Jobs: it makes a job of the person who writes in the session of j.
func (b *Book) Make(ctx context.Context, j tool.NewJob) (ops.Job, error) {
	return b.make(ctx, FromTool, j)
}

func (b *Book) make(ctx context.Context, source string, from tool.NewJob) (ops.Job, error) {
	row, err := b.draft(source, from)
	if err != nil {
		return ops.Job{}, err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return ops.Job{}, err
	}
	defer unlock()
	if err := b.room(&row); err != nil {
		return ops.Job{}, err
	}
	row.Target = b.o.Target(ctx, row.Deliver)
	if row.Target == "" { // the session is not a chat: answers stay in the session of the job
		row.Deliver = ""
	}
	if err := b.store.PutJob(ctx, row); err != nil {
		return ops.Job{}, err
	}
	b.put(row)
	b.o.Log.Info("job made", "event", ops.LogJob, "job", row.Name, "by", row.Owner, "session", from.Session)
	b.nudge()
	made := b.rows(func(j *job) bool { return j.Name == row.Name })
	if len(made) == 0 {
		return ops.Job{}, NoJob(row.Name)
	}
	return made[0], nil
}

// draft is the row of a job that a person makes, checked but for what other jobs there are.
func (b *Book) draft(source string, from tool.NewJob) (row store.Job, err error) {
	now := b.o.Now().Round(0)
	if _, is := session.JobOf(from.Session); is {
		return row, invalid("a job makes no jobs")
	}
	key := session.Owner(from.Session)
	row = store.Job{
		Name: strings.ToLower(cut(from.Name)), Source: source, Owner: person(key, from.Person), Prompt: cut(from.Prompt), Agent: from.Agent,
		Deliver: key, Missed: from.Missed, Allow: from.Allow, Made: now, Zone: from.Zone,
	}
	if row.Missed == "" {
		row.Missed = missedOnce
	}
	if row.Zone == "" {
		row.Zone = b.o.Zone()
	}
	switch {
	case row.Name != "" && (len(row.Name) > maxName || !nameOf.MatchString(row.Name)):
		return row, invalid("the name %s is not lower-case letters, digits, - and _, at most %d", term.Quote(row.Name), maxName)
	case row.Prompt == "":
		return row, invalid("the prompt is empty: it is what the agent is asked")
	case len(row.Prompt) > maxPrompt:
		return row, invalid("the prompt has more than %d bytes", maxPrompt)
	case row.Missed != missedOnce && row.Missed != missedSkip:
		return row, invalid("missed is %s or %s, not %s", missedOnce, missedSkip, term.Quote(row.Missed))
	case len(row.Allow) > maxGrants:
		return row, invalid("a job has at most %d grants", maxGrants)
	}
	for _, rule := range row.Allow {
		if _, err := fence.ParseAllowRule(rule); err != nil {
			return row, invalid("the grant %s %v", term.Quote(rule), err)
		}
	}
	zone, err := when.Zone(row.Zone)
	if err != nil {
		return row, invalid("%v", err)
	}
	s, err := when.ParseNow(from.Schedule, zone, now)
	if err != nil {
		return row, invalid("%v", err)
	}
	row.Schedule, row.Next = s.String(), s.Next(now, now)
	return row, nil
}

// room checks the bounds on jobs, and gives a job without a name one. The caller holds Book.one.
func (b *Book) room(row *store.Job) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	own, made := 0, 0
	for _, j := range b.jobs {
		if j.Source == FromConfig {
			continue
		}
		made++
		if j.Owner == row.Owner {
			own++
		}
	}
	switch {
	case own >= maxOwn:
		return &ops.Error{Code: ops.CodeLimit, Message: fmt.Sprintf("you have %d jobs, and no more are possible", own), Hint: "delete one that you do not need"}
	case made >= maxAll:
		return &ops.Error{Code: ops.CodeLimit, Message: fmt.Sprintf("there are %d jobs, and no more are possible", made)}
	case row.Name != "" && (b.jobs[row.Name] != nil || b.running[row.Name] != nil):
		return invalid("the name %s is in use", row.Name)
	}
	for n := own + 1; row.Name == ""; n++ {
		if name := fmt.Sprint("job-", n); b.jobs[name] == nil && b.running[name] == nil {
			row.Name = name
		}
	}
	return nil
}

// change changes the row of a job, in the store and in memory.
func (b *Book) change(ctx context.Context, name, by, what string, change func(*job) error) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	j, found := b.get(name)
	if !found {
		return NoJob(name)
	}
	if err := change(&j); err != nil {
		return err
	}
	if err := b.store.PutJob(ctx, j.Job); err != nil {
		return err
	}
	b.put(j.Job)
	b.o.Log.Info("job changed", "event", ops.LogJob, "job", name, "what", what, "by", by)
	b.nudge()
	return nil
}

// Pause keeps a job from running at its times. A run under way goes on.
func (b *Book) Pause(ctx context.Context, name, by string) error {
	return b.change(ctx, name, by, "paused", func(j *job) error {
		if j.Paused {
			return &ops.Error{Code: ops.CodeConflict, Message: "job " + name + " is paused already"}
		}
		j.Paused, j.Failures = true, 0
		return nil
	})
}

// Resume lets a paused job run again, at its next time. What passed meanwhile is not missed.
func (b *Book) Resume(ctx context.Context, name, by string) error {
	return b.change(ctx, name, by, "resumed", func(j *job) error {
		if !j.Paused {
			return &ops.Error{Code: ops.CodeConflict, Message: "job " + name + " is not paused"}
		}
		j.Paused, j.Next = false, j.next(b.o.Now().Round(0))
		return nil
	})
}

// dismiss takes the failures of a job out of the inbox.
func (b *Book) dismiss(ctx context.Context, name, by string) error {
	return b.change(ctx, name, by, "failures dismissed", func(j *job) error {
		j.Failures = 0
		return nil
	})
}

// Delete deletes a job that a person made, with what is known of its runs. A run under way goes on.
func (b *Book) Delete(ctx context.Context, name, by string) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	j, found := b.get(name)
	switch {
	case !found:
		return NoJob(name)
	case j.Source == FromConfig:
		return &ops.Error{Code: ops.CodeInvalid, Message: "job " + name + " is in the config", Hint: "take [jobs." + name + "] out of the file and reload, or pause the job"}
	}
	return b.drop(ctx, name, by)
}

// Forget implements operator.Jobs.
func (b *Book) Forget(ctx context.Context, person string, each func(key string) error) (deleted int, err error) {
	unlock, err := b.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, r := range b.rows(func(j *job) bool { return j.Source != FromConfig && j.Owner == person }) {
		if err := each(session.JobKey(r.Name)); err != nil {
			return deleted, err
		}
		if err := b.drop(ctx, r.Name, "the deletion of its person"); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}

// drop deletes a job. The caller holds Book.one.
func (b *Book) drop(ctx context.Context, name, by string) error {
	if err := b.store.DropJob(ctx, name); err != nil {
		return err
	}
	b.mu.Lock()
	delete(b.jobs, name)
	b.mu.Unlock()
	b.o.Log.Info("job deleted", "event", ops.LogJob, "job", name, "by", by)
	return nil
}

// Run begins a run now, in addition to the schedule. It does not wait for its end.
func (b *Book) Run(ctx context.Context, name, by string) error {
	if err := b.o.Gate.Admit(); err != nil {
		return err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	j, found := b.get(name)
	switch {
	case !found:
		return NoJob(name)
	case b.runs(name):
		return &ops.Error{Code: ops.CodeBusy, Message: "job " + name + " is running already", Hint: "`gatewaytui jobs` shows when it has ended"}
	}
	return b.start(context.WithoutCancel(ctx), j, store.JobRun{Due: b.o.Now().Round(0), By: by}, "")
}
