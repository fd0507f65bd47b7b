package gateway

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/review"
)

// reviewing is a gateway that reviews conversations after two turns. The model of reviews answers with a function.
func reviewing(find func(ctx context.Context, req model.Request) (model.Response, error)) func(*setup) {
	return func(s *setup) {
		s.cfg.Memory.ReviewEvery, s.cfg.Memory.ReviewModel = 2, model.Default
		s.model = script(func(ctx context.Context, req model.Request) (model.Response, error) {
			if strings.HasPrefix(req.Session, "review:") {
				return find(ctx, req)
			}
			text, _ := lastUser(req)
			return says("you said " + text), nil
		})
	}
}

func (l *lab) notes() (texts []string) {
	l.t.Helper()
	page, err := l.g.Notes(context.Background(), ops.Query{})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, n := range page.Items {
		texts = append(texts, n.Text)
	}
	return texts
}

// HR6, S14: after so many turns a review saves what is worth a note. Its calls are counted under a name of their own, and nothing of it
// is left.
func TestHR6_AConversationIsReviewedInTheBackground(t *testing.T) {
	var read atomic.Pointer[string]
	l := start(t, reviewing(func(_ context.Context, req model.Request) (model.Response, error) {
		read.Store(&req.Messages[len(req.Messages)-1].Content)
		if len(req.Tools) > 0 {
			t.Errorf("the review has the tools %v", req.Tools)
		}
		return says(`["Maria's dog is Rex."]`), nil
	}))
	l.ask("chat:dm:maria", "my dog is Rex")
	if got := l.notes(); len(got) > 0 || read.Load() != nil {
		t.Errorf("after one turn there are the notes %q", got)
	}
	l.ask("chat:dm:maria", "and I like tea")
	l.wait("the note is saved", func() bool { return strings.Contains(strings.Join(l.notes(), "\n"), "dog is Rex") })
	if text := *read.Load(); !strings.Contains(text, "my dog is Rex") || !strings.Contains(text, "you said and I like tea") {
		t.Errorf("the review read %q", text)
	}
	l.wait("the review has ended", func() bool { return l.g.background.Count("chat:dm:maria", review.Task) == 0 })
	usage, err := l.g.Usage(t.Context(), ops.UsageQuery{By: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]int64{}
	for _, row := range usage.Items {
		counted[row.Group] = row.Calls
	}
	if counted[review.Label] != 1 || counted["default"] != 2 {
		t.Errorf("the calls are counted as %v", counted)
	}
	if page, err := l.g.Agents(t.Context(), ops.Query{}); err != nil || len(page.Items) != 1 {
		t.Errorf("the agents are %+v, %v", page.Items, err)
	}
}

// HR6: neither a reset nor a stop waits for a review that hangs. What it did not read stays recorded, for the next life.
func TestHR6_NothingWaitsForAReviewThatHangs(t *testing.T) {
	hangs := make(chan struct{}, 8)
	first := start(t, reviewing(func(ctx context.Context, _ model.Request) (model.Response, error) {
		hangs <- struct{}{}
		<-ctx.Done()
		return model.Response{}, ctx.Err()
	}))
	first.ask("chat:dm:maria", "my dog is Rex")
	first.ask("chat:dm:maria", "and I like tea")
	<-hangs
	began := time.Now()
	report := first.stop(ops.ModeGraceful)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the stop took %v", took)
	}
	for _, phase := range report.Phases {
		for _, item := range phase.Items {
			if item.State != ops.StepDone && item.State != ops.StepSkipped {
				t.Errorf("the item %s %s of phase %s is %s: %s", item.Kind, item.ID, phase.Name, item.State, item.Detail)
			}
		}
	}
	next := start(t, reviewing(func(context.Context, model.Request) (model.Response, error) {
		return says(`["Maria's dog is Rex."]`), nil
	}), func(s *setup) { s.dir = first.dir })
	now := time.Now()
	next.g.memory.Retry(next.g.watchers.ctx, now)
	next.g.memory.Retry(next.g.watchers.ctx, now.Add(time.Minute)) // by then it is due
	next.wait("the next life reads what was left", func() bool { return strings.Contains(strings.Join(next.notes(), "\n"), "dog is Rex") })
}

// HR6: the end of a conversation does not wait for the model: a task reads what was said since the last review.
func TestHR6_AResetLeavesTheReviewToATask(t *testing.T) {
	l := start(t, reviewing(func(context.Context, model.Request) (model.Response, error) {
		return says(`["Maria's dog is Rex."]`), nil
	}))
	l.ask("chat:dm:maria", "my dog is Rex")
	if r := l.do(ops.Command{Verb: ops.VerbReset, Target: "chat:dm:maria"}); r.State != ops.RequestDone {
		t.Fatalf("the reset: %+v", r)
	}
	l.wait("the note is saved", func() bool { return strings.Contains(strings.Join(l.notes(), "\n"), "dog is Rex") })
}
