package background

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// S3: a task is in the rows while it runs, ends with the group's stop, and none begins afterwards.
func TestS3_ATaskIsSeenWhileItRunsAndEndsWithTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(slog.New(slog.DiscardHandler))
		caller, leave := context.WithCancel(t.Context())
		g.Start(caller, "job", "chat:dm:1", func(ctx context.Context) {
			g.Progress(ctx, 1, 2, "1 of 2")
			<-ctx.Done()
		})
		leave() // the task does not end with its caller
		time.Sleep(time.Minute)
		synctest.Wait()
		rows := g.Rows(time.Now())
		if len(rows) != 1 || rows[0].Name != "job" || rows[0].Progress != "1 of 2" || rows[0].Percent != 50 || rows[0].AgeMS != 60_000 || g.Count("chat:dm:1", "job") != 1 {
			t.Fatalf("after a minute the rows are %+v", rows)
		}
		for _, task := range g.Close() {
			if what, since := g.Describe(task)(); what != "job, chat:dm:1, 1 of 2" || time.Since(since) != time.Minute {
				t.Errorf("the stop says %q since %s", what, since)
			}
			if err := task.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if len(g.Rows(time.Now())) != 0 || g.Start(t.Context(), "job", "", func(context.Context) {}) {
			t.Error("after the stop a task runs, or one begins")
		}
	})
}

func TestAPanicEndsItsTaskAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(slog.New(slog.DiscardHandler))
		g.Start(t.Context(), "job", "", func(context.Context) { panic("boom") })
		hold := make(chan struct{})
		g.Start(t.Context(), "other", "", func(context.Context) { <-hold })
		synctest.Wait()
		if rows := g.Rows(time.Now()); len(rows) != 1 || rows[0].Name != "other" {
			t.Errorf("after a panic the rows are %+v", rows)
		}
		close(hold)
		synctest.Wait()
	})
}

// The bound holds for one name in one session, and a task that ends makes room.
func TestNoMoreTasksRunThanTheBoundAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(slog.New(slog.DiscardHandler))
		hold := make(chan struct{})
		wait := func(context.Context) { <-hold }
		for i := range 3 {
			if started, running := g.StartUpTo(t.Context(), 2, "job", "a", wait); started != (i < 2) || running != min(i+1, 2) {
				t.Errorf("task %d: started %v, running %d", i, started, running)
			}
		}
		if started, _ := g.StartUpTo(t.Context(), 2, "job", "b", wait); !started || g.Most("job") != 2 {
			t.Errorf("another session's task: started %v; the most of a session is %d", started, g.Most("job"))
		}
		close(hold)
		synctest.Wait()
		if started, running := g.StartUpTo(t.Context(), 2, "job", "a", wait); !started || running != 1 {
			t.Errorf("after all have ended: started %v, running %d", started, running)
		}
		synctest.Wait()
	})
}
