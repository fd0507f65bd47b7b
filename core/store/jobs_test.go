package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHR8_AJobAndItsRunsAreReadAsTheyWereWritten(t *testing.T) {
	s := open(t, t.TempDir())
	job := Job{
		Name: "a", Source: "tool", Owner: "telegram:47", Schedule: "0 8 * * *", Zone: "Europe/Vienna", Prompt: "look", Agent: "default", Deliver: "telegram:dm:47", Target: "47",
		Missed: "once", Allow: []string{"make"}, Made: noon, Next: noon.Add(time.Hour), Last: noon, LastResult: "failed", LastReason: "why", Failures: 2, Paused: true,
	}
	if err := s.PutJob(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for i := range 130 {
		run := JobRun{ID: fmt.Sprintf("r%03d", i), Job: "a", Due: noon, Started: noon, Ended: noon, Result: "done", Times: 1}
		if i == 5 {
			run.Ended, run.Result = time.Time{}, JobRunning
		}
		if err := s.PutJobRuns(t.Context(), job, nil, run); err != nil {
			t.Fatal(err)
		}
	}
	message := &Outbox{ID: "r130", Session: "telegram:dm:47", Adapter: "telegram", Target: "47", Text: "answer", At: noon, Tried: true}
	last := JobRun{ID: "r130", Job: "a", Due: noon, Started: noon, Ended: noon, Result: "failed", Reason: "why", Times: 3, By: "uid 0"}
	if err := s.PutJobRuns(t.Context(), job, message, last); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Jobs(t.Context())
	if diff := cmp.Diff([]Job{job}, jobs); diff != "" || err != nil {
		t.Errorf("the jobs are others (%v; -written +read):\n%s", err, diff)
	}
	runs, err := s.JobRuns(t.Context(), "a", 1000)
	if err != nil || len(runs) != keptRuns+1 || cmp.Diff(last, runs[0]) != "" {
		t.Errorf("%d runs are kept, the last is %+v (%v); want the last %d and the open one", len(runs), runs[0], err, keptRuns)
	}
	if open, err := s.OpenJobRuns(t.Context()); err != nil || len(open) != 1 || open[0].ID != "r005" {
		t.Errorf("the open runs are %+v, %v", open, err)
	}
	if sent, err := s.OpenOutbox(t.Context()); err != nil || len(sent) != 1 || sent[0].Text != "answer" {
		t.Errorf("the outbox has %+v, %v", sent, err)
	}
	if err := s.DropJob(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	runs, err = s.JobRuns(t.Context(), "a", 10)
	if jobs, jobsErr := s.Jobs(t.Context()); len(jobs) != 0 || len(runs) != 0 || err != nil || jobsErr != nil {
		t.Errorf("of a deleted job are left %v and %v", jobs, runs)
	}
}
