package store

import (
	"context"
	"time"
)

// Job is what runs at a time (HR8).
type Job struct {
	Name string
	// Source is where it was made: config, chat, tool. Owner is the person who made it, such as telegram:4711; empty: the config.
	Source, Owner                 string
	Schedule, Zone, Prompt, Agent string
	// Deliver is the session key of the chat that gets the answers, and Target the platform's address of it; empty: none does.
	Deliver, Target string
	// Missed says what becomes of runs whose time passed: once, skip. Allow are the commands that it may run without a person.
	Missed string
	Allow  []string
	Paused bool
	// Made is when it was made, Next when it is due; zero: never again. Last is the begin of its last run.
	Made, Next, Last time.Time
	// LastResult is that of the last run, and LastReason why. Failures is how many runs have failed in a row.
	LastResult, LastReason string
	Failures               int
}

const jobColumns = `name, source, owner, schedule, zone, prompt, agent, deliver, target, missed, allow, paused, made_at, next_at, last_at, last_result, last_reason, failures`

func (v *Job) fields() []any {
	return []any{
		&v.Name, &v.Source, &v.Owner, &v.Schedule, &v.Zone, &v.Prompt, &v.Agent, &v.Deliver, &v.Target, &v.Missed, (*phrases)(&v.Allow), &v.Paused,
		(*stamp)(&v.Made), (*stamp)(&v.Next), (*stamp)(&v.Last), &v.LastResult, &v.LastReason, &v.Failures,
	}
}

// JobRun is one run of a job, or a time at which it did not run.
type JobRun struct {
	ID, Job string
	// Due is when it was due, Started when it began; zero: it did not run.
	Due, Started, Ended time.Time
	Result, Reason      string
	// Times is how many times of the schedule the row stands for. By is who asked for the run; empty: its schedule.
	Times int
	By    string
}

// JobRunning is the result of a run that has not ended.
const JobRunning = "running"

const runColumns = `id, job, due_at, started_at, ended_at, result, reason, times, by`

func (v *JobRun) fields() []any {
	return []any{&v.ID, &v.Job, (*stamp)(&v.Due), (*stamp)(&v.Started), (*stamp)(&v.Ended), &v.Result, &v.Reason, &v.Times, &v.By}
}

// keptRuns is how many runs of a job are kept.
const keptRuns = 100

var (
	putJob = insertion("INSERT OR REPLACE INTO jobs", jobColumns, "")
	putRun = insertion("INSERT OR REPLACE INTO job_runs", runColumns, "")
)

// PutJob writes a job, in place of the one with its name.
func (s *Store) PutJob(ctx context.Context, v Job) error {
	return s.change(ctx, "write job "+v.Name, putJob, v.fields()...)
}

// PutJobRuns writes a job with some of its runs, and the message to its chat, in one commit. Of the job's runs the last 100 stay.
func (s *Store) PutJobRuns(ctx context.Context, v Job, message *Outbox, runs ...JobRun) error {
	return s.write(ctx, "write runs of job "+v.Name, func(t *tx) error {
		if err := t.do(putJob, v.fields()...); err != nil {
			return err
		}
		for i := range runs {
			if err := t.do(putRun, runs[i].fields()...); err != nil {
				return err
			}
		}
		err := t.do(`DELETE FROM job_runs WHERE job = ?1 AND result <> 'running' AND id IN (SELECT id FROM job_runs WHERE job = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)`, v.Name, keptRuns)
		if err != nil || message == nil {
			return err
		}
		return t.putOutbox(*message)
	})
}

// DropJob deletes a job with its runs.
func (s *Store) DropJob(ctx context.Context, name string) error {
	return s.write(ctx, "delete job "+name, func(t *tx) error {
		if err := t.do(`DELETE FROM job_runs WHERE job = ?`, name); err != nil {
			return err
		}
		return t.do(`DELETE FROM jobs WHERE name = ?`, name)
	})
}

// Jobs are all jobs, by name.
func (s *Store) Jobs(ctx context.Context) ([]Job, error) {
	return list[Job](ctx, s, "read the jobs", `SELECT `+jobColumns+` FROM jobs ORDER BY name`)
}

// OpenJobRuns are the runs that have not ended, the oldest first.
func (s *Store) OpenJobRuns(ctx context.Context) ([]JobRun, error) {
	return list[JobRun](ctx, s, "read the open runs of jobs", `SELECT `+runColumns+` FROM job_runs WHERE result = 'running' ORDER BY id`)
}

// JobRuns are the last runs of a job, newest first, at most limit.
func (s *Store) JobRuns(ctx context.Context, name string, limit int) ([]JobRun, error) {
	return list[JobRun](ctx, s, "read the runs of job "+name, `SELECT `+runColumns+` FROM job_runs WHERE job = ? ORDER BY id DESC LIMIT ?`, name, limit)
}
