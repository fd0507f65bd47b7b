package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/timeline"
	"gatewaytui/core/tool"
)

// tasks is a step that delegates goals side by side.
func tasks(goals ...string) model.Response {
	list := make([]map[string]string, len(goals))
	for i, goal := range goals {
		list[i] = map[string]string{"goal": goal}
	}
	arguments, _ := json.Marshal(map[string]any{"tasks": list})
	return delegates("d", string(arguments))
}

// brood is a play for a parent that delegates goals once and stores in got what it received. child plays each child by its goal.
func brood(got *string, goals []string, child func(ctx context.Context, call int, goal string, req model.Request) (model.Response, error)) play {
	return func(ctx context.Context, call int, req model.Request, _ func(string)) (model.Response, error) {
		if req.Session != "cli:local" {
			i := slices.IndexFunc(req.Messages, func(m model.Message) bool { return m.Role == model.RoleUser })
			return child(ctx, call, req.Messages[i].Content, req)
		}
		if call == 0 {
			return tasks(goals...), nil
		}
		*got = req.Messages[len(req.Messages)-1].Content
		return says("parent done"), nil
	}
}

func sideBySide(n int) func(*Config) { return func(c *Config) { c.Delegates = n } }

// HR10: at most Delegates children work at once, results are in the order of the tasks, and one that fails ends no other.
func TestHR10_ChildrenWorkSideBySideAndOneThatFailsEndsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		var mu sync.Mutex
		at, most := 0, 0
		b := newBench(brood(&got, []string{"slow", "fails", "panics", "quick", "last"}, func(_ context.Context, _ int, goal string, _ model.Request) (model.Response, error) {
			mu.Lock()
			at++
			most = max(most, at)
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				at--
			}()
			switch goal {
			case "slow":
				time.Sleep(10 * time.Second)
			case "fails":
				time.Sleep(time.Second)
				return model.Response{}, errors.New("endpoint gone")
			case "panics":
				panic("no endpoint")
			default:
				time.Sleep(2 * time.Second)
			}
			return says(goal + " done"), nil
		}), sideBySide(3), tool.Delegate{Limit: 4096})
		began := time.Now()
		line := timeline.New(began, time.Time{})
		var doing journal
		res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go", Line: line, Progress: func(s string) { doing.add("%s", s) }})
		if err != nil || res.Text != "parent done" {
			t.Fatalf("parent: %q, %v", res.Text, err)
		}
		const want = `{"results":[{"task":1,"state":"done","result":"slow done"},{"task":2,"state":"failed","error":"the child agent ended without a result: model call: endpoint gone"},` +
			`{"task":3,"state":"failed","error":"the child agent ended without a result: the turn failed: panic: no endpoint"},{"task":4,"state":"done","result":"quick done"},{"task":5,"state":"done","result":"last done"}]}`
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the parent got (-want +got):\n%s", diff)
		}
		if took := time.Since(began); most != 3 || took != 10*time.Second {
			t.Errorf("%d worked at once for %v, want 3 for 10s", most, took)
		}
		if want := int64(10*2 + 10*3); res.Usage.In != want {
			t.Errorf("usage in %d, want %d: the parent's two calls and three children's", res.Usage.In, want)
		}
		if childrenOf(b.Agent) != 0 || b.models.open() != 1 {
			t.Errorf("%d children and %d open clients are left", childrenOf(b.Agent), b.models.open())
		}
		for i := 1; i <= 5; i++ {
			if want := fmt.Sprintf("kill turn T/%d", i); !slices.Contains(b.log.all(), want) {
				t.Errorf("no %q in %q", want, b.log.all())
			}
		}
		var spans []string
		for _, item := range line.Record("", true).Items {
			if item.Child != "" {
				spans = append(spans, fmt.Sprintf("%s %d-%d", item.Child, item.Start, item.End))
			}
		}
		slices.Sort(spans)
		if want := []string{"1 0-10000", "2 0-1000", "3 0-10000", "4 0-2000", "5 1000-3000"}; !slices.Equal(spans, want) {
			t.Errorf("the timeline has %q, want %q", spans, want)
		}
		if !slices.Contains(doing.all(), "delegate 2: model call") {
			t.Errorf("the progress %q does not name the child", doing.all())
		}
	})
}

// HR10, S13: an operator interrupts one child alone; its parent and the others go on.
func TestHR10_OneChildIsInterruptedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		b := newBench(brood(&got, []string{"hangs", "works"}, func(ctx context.Context, _ int, goal string, _ model.Request) (model.Response, error) {
			if goal == "hangs" {
				<-ctx.Done()
				return model.Response{}, ctx.Err()
			}
			time.Sleep(time.Minute)
			return says("worked"), nil
		}), sideBySide(2), tool.Delegate{Limit: 4096})
		done := make(chan error)
		go func() {
			res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"})
			if res.Text != "parent done" {
				err = fmt.Errorf("it said %q: %w", res.Text, err)
			}
			done <- err
		}()
		synctest.Wait()
		rows := b.Row().Delegates
		if len(rows) != 2 || b.InterruptChild("3") {
			t.Fatalf("the children are %+v", rows)
		}
		for _, row := range rows {
			if want := "T/" + row.ID; row.Turn != want || row.State != ops.AgentRunning || row.Doing != ops.DoingModelCall || row.StartedAt.IsZero() {
				t.Errorf("the row of a child is %+v", row)
			}
		}
		if !b.InterruptChild("1") {
			t.Fatal("there is no child 1")
		}
		synctest.Wait()
		if rows := b.Row().Delegates; len(rows) != 1 || rows[0].ID != "2" {
			t.Errorf("after the interrupt the children are %+v", rows)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got, `{"task":1,"state":"failed","error":"an operator interrupted this child agent`) || !strings.Contains(got, `"result":"worked"`) {
			t.Errorf("the parent got %s", got)
		}
	})
}

// HR10: what an operator writes to one child is read by that child after its next step, or its parent learns that it came too late.
func TestHR10_OneChildIsToldAlone(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps int
		want  string
	}{
		{"it reads it after its next step", 2, `"result":"read: use the other folder"`},
		{"it ends without a further step", 1, `"result":"read: a\n\n[An operator wrote this to the child agent when it had ended, so it did not read it: use the other folder]"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got string
				noop := fakeTool{"noop", func(context.Context, tool.Call) (string, error) { return "ok", nil }}
				b := newBench(brood(&got, []string{"a", "b"}, func(_ context.Context, call int, goal string, req model.Request) (model.Response, error) {
					time.Sleep(time.Second)
					if goal == "a" && call+1 < tt.steps {
						return asks(model.ToolCall{ID: "n", Name: "noop"}), nil
					}
					return says("read: " + req.Messages[len(req.Messages)-1].Content), nil
				}), sideBySide(2), tool.Delegate{Limit: 4096}, noop)
				done := make(chan error)
				go func() {
					_, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"})
					done <- err
				}()
				synctest.Wait()
				if !b.TellChild("1", "use the other folder") || b.TellChild("7", "x") {
					t.Error("a text reaches the child with its number, and no other")
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(got, tt.want) || !strings.Contains(got, `"result":"read: b"`) {
					t.Errorf("the parent got %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// HR10, HF5: the model calls of a turn are bounded exactly, however many children make them at the same time.
func TestHR10_ABoundOnCallsHoldsForChildrenTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(2, 30).Draw(t, "calls")
		steps := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 8).Draw(t, "steps of the children")
		width := rapid.IntRange(1, 5).Draw(t, "side by side")
		goals := make([]string, len(steps))
		for i := range goals {
			goals[i] = fmt.Sprint(i)
		}
		var got string
		var mu sync.Mutex
		made, wanted := 0, 2
		for _, n := range steps {
			wanted += n
		}
		noop := fakeTool{"noop", func(context.Context, tool.Call) (string, error) { return "ok", nil }}
		p := brood(&got, goals, func(_ context.Context, call int, goal string, _ model.Request) (model.Response, error) {
			if i := slices.Index(goals, goal); call+1 < steps[i] {
				return asks(model.ToolCall{ID: "n", Name: "noop"}), nil
			}
			return says("done"), nil
		})
		b := newBench(func(ctx context.Context, call int, req model.Request, delta func(string)) (model.Response, error) {
			mu.Lock()
			made++
			mu.Unlock()
			return p(ctx, call, req, delta)
		}, func(c *Config) { c.Delegates, c.MaxIterations = width, 10 }, tool.Delegate{Limit: 64 << 10}, noop)
		calls := NewCalls(most, nil)
		if _, err := b.turn(context.Background(), Turn{ID: "T", Text: "go", Calls: calls}); err != nil {
			t.Fatal(err)
		}
		if want := min(most, wanted); made != want || calls.Used() != want {
			t.Fatalf("%d calls were made and %d counted, want %d", made, calls.Used(), want)
		}
		if childrenOf(b.Agent) != 0 || b.models.open() != 1 {
			t.Fatalf("%d children and %d open clients are left", childrenOf(b.Agent), b.models.open())
		}
	})
}

// HR10, S10: the close of the agent closes every child, and what has not begun does not begin.
func TestHR10_ACloseReachesEveryChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		b := newBench(brood(&got, []string{"a", "b", "c", "d", "e"}, func(ctx context.Context, _ int, _ string, _ model.Request) (model.Response, error) {
			<-ctx.Done()
			return model.Response{}, ctx.Err()
		}), sideBySide(3), tool.Delegate{})
		done := make(chan error)
		go func() {
			_, err := b.Run(t.Context(), Turn{ID: "T", Text: "go"})
			done <- err
		}()
		synctest.Wait()
		if n := b.models.open(); n != 4 {
			t.Fatalf("%d clients, want the parent's and three children's", n)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("the turn ended with %v", err)
		}
		if childrenOf(b.Agent) != 0 || b.models.open() != 0 || len(b.models.clients) != 4 {
			t.Errorf("%d children and %d open clients are left of %d", childrenOf(b.Agent), b.models.open(), len(b.models.clients))
		}
	})
}

// HR10: a child whose approval was refused too often ends, the others do not, and then the turn ends with its answer.
func TestHR10_AChildThatIsOverEndsTheTurnAfterTheOthers(t *testing.T) {
	stops := fakeTool{"stops", func(context.Context, tool.Call) (string, error) { return "", &tool.OverError{Text: "I stop here."} }}
	finished := false
	b := newBench(func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
		switch req.Messages[len(req.Messages)-1].Content {
		case "go":
			return tasks("a", "b"), nil
		case "a":
			return asks(model.ToolCall{ID: "s", Name: "stops"}), nil
		}
		finished = true
		return says("b done"), nil
	}, sideBySide(1), tool.Delegate{}, stops)
	res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"})
	if err != nil || !res.Over || res.Text != "I stop here." || !finished {
		t.Errorf("it ended with %+v, %v; the other child finished: %v", res, err, finished)
	}
}
