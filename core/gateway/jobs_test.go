package gateway

import (
	"context"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// withJob gives a gateway a job that is due in a year, and tools of the group jobs.
func withJob(prompt string) func(*setup) {
	return func(s *setup) {
		s.cfg.Jobs = map[string]*config.Job{"daily": {Schedule: "at 2099-01-01T00:00", Zone: "UTC", Prompt: prompt, Agent: "default", Deliver: "chat:dm:1", Missed: config.MissedOnce}}
		s.cfg.Tools.Enabled = append(s.cfg.Tools.Enabled, "jobs")
	}
}

// job waits for the row of a job for which fact holds.
func (l *lab) jobRow(name string, fact func(ops.Job) bool) (row ops.Job) {
	l.t.Helper()
	l.wait("the job "+name, func() bool {
		page, err := l.g.Jobs(l.t.Context(), ops.Query{Limit: 100})
		for _, j := range page.Items {
			if err == nil && j.Name == name {
				row = j
				return fact(j)
			}
		}
		return false
	})
	return row
}

// do carries out a verb on a job.
func (l *lab) onJob(verb ops.Verb, name string) {
	l.t.Helper()
	if _, err := l.g.Do(l.t.Context(), ops.Command{Verb: verb, Target: name}); err != nil {
		l.t.Fatal(err)
	}
}

func TestHR8_ARunIsATurnWhoseAnswerComesToItsChatAndWhoseProcessesEnd(t *testing.T) {
	l := start(t, withJob("bg: sleep 300"))
	l.say("chat:dm:1", "room 1", "hello") // the gateway knows the chat
	l.wait("the answer", func() bool { return len(l.chat.messages()) == 1 })
	l.onJob(ops.VerbRunJob, "daily")
	row := l.jobRow("daily", func(j ops.Job) bool { return j.LastResult == ops.JobRunDone })
	if row.Session != "job:daily" || row.Origin != "config" {
		t.Errorf("the row is %+v", row)
	}
	l.wait("the answer in the chat", func() bool {
		return strings.Contains(strings.Join(l.chat.messages(), "\n"), "room 1: Job daily:\n\nran: ")
	})
	if rows := l.g.procs.SessionRows("job:daily"); len(rows) > 0 && rows[0].State == "running" {
		t.Errorf("the run left %+v", rows)
	}
	db := second(t, l.dir)
	defer db.Close()
	counted := 0
	if err := db.QueryRow(`SELECT count(*) FROM usage u JOIN job_runs r ON r.id = u.job WHERE r.job = 'daily' AND u.calls = 2`).Scan(&counted); err != nil || counted != 1 {
		t.Errorf("its calls are counted for %d runs (%v), want for one", counted, err)
	}
}

func TestHR8_AStopInterruptsTheTurnOfAJobAndTheNextLifeDoesNotRunItAgain(t *testing.T) {
	l := start(t, withJob("hang"))
	l.onJob(ops.VerbRunJob, "daily")
	l.wait("the turn of the job", func() bool {
		_, running := l.g.table.Running("job:daily")
		return running
	})
	began := time.Now()
	report := l.stop(ops.ModeGraceful)
	if report.ExitCode != 0 || time.Since(began) > 20*time.Second {
		t.Errorf("the stop ended with %d after %v", report.ExitCode, time.Since(began))
	}
	next := start(t, withJob("hang"), func(s *setup) { s.dir = l.dir })
	row := next.jobRow("daily", func(j ops.Job) bool { return j.State != ops.JobRunning })
	if row.LastResult != ops.JobRunInterrupted || row.State != ops.JobFailed {
		t.Errorf("in the next life the row is %+v", row)
	}
	if _, running := next.g.table.Running("job:daily"); running {
		t.Error("the next life runs it again")
	}
	inbox, err := next.g.Inbox(t.Context(), ops.Query{Limit: 10})
	if err != nil || len(inbox.Items) == 0 || inbox.Items[0].Kind != ops.InboxJob {
		t.Errorf("the inbox is %+v, %v", inbox.Items, err)
	}
}

func TestHR8_AnAgentMakesAJobForThePersonWhoAsks(t *testing.T) {
	l := start(t, withJob("x"), func(s *setup) {
		said := s.model.(script)
		s.model = script(func(ctx context.Context, req model.Request) (model.Response, error) {
			if text, answered := lastUser(req); text == "remind me" && !answered {
				return callsTool("job_create", `{"schedule":"in 1h","prompt":"tea","name":"tea"}`), nil
			}
			return said(ctx, req)
		})
	})
	l.say("chat:dm:1", "room 1", "remind me")
	row := l.jobRow("tea", func(ops.Job) bool { return true })
	if row.Deliver != "chat:dm:1" || row.Origin == "config" || row.NextAt.IsZero() {
		t.Errorf("the job is %+v", row)
	}
	l.onJob(ops.VerbDeleteJob, "tea")
	l.wait("the job is gone", func() bool {
		page, err := l.g.Jobs(t.Context(), ops.Query{Limit: 10})
		return err == nil && len(page.Items) == 1
	})
}

func TestHR8_WithAPersonTheJobsGoAndWhatWasSaidInThem(t *testing.T) {
	l := start(t, withJob("x"))
	l.say("chat:dm:1", "room 1", "/jobs add every 1h: my small task of the day")
	l.jobRow("job-1", func(ops.Job) bool { return true })
	for range 2 { // the first run's conversation has ended
		l.onJob(ops.VerbRunJob, "job-1")
		l.wait("the run", func() bool {
			return !strings.Contains(string(l.jobRow("job-1", func(j ops.Job) bool { return j.LastResult == ops.JobRunDone }).State), "running")
		})
	}
	if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbForget, Target: "chat:maria"}); err != nil {
		t.Fatal(err)
	}
	db := second(t, l.dir)
	defer db.Close()
	l.wait("nothing is left of it", func() bool {
		left := -1
		err := db.QueryRow(`SELECT (SELECT count(*) FROM jobs WHERE owner <> '') + (SELECT count(*) FROM job_runs) + (SELECT count(*) FROM sessions WHERE key = 'job:job-1')`).Scan(&left)
		return err == nil && left == 0
	})
}
