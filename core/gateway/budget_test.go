package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/budget"
	"gatewaytui/core/config"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// limits is a budget for all agents of a gateway, whose model costs 1 for a million tokens unless its answers say what they cost.
func limits(b config.BudgetLimits) func(*setup) {
	return func(s *setup) {
		s.cfg.Budgets = map[string]*config.BudgetLimits{config.DefaultName: &b}
		s.opts = func(o *Options) {
			o.Models = model.NewPool(slog.New(slog.DiscardHandler), model.Spec{Name: model.Default, Provider: s.model, In: 1, Out: 1})
		}
	}
}

// costly is an answer that cost so much.
func costly(r model.Response, cost float64) model.Response {
	r.Usage = model.Usage{In: 100, Out: 10, Cost: cost, Priced: true}
	return r
}

// used is what the store has of the budget today, in billionths.
func (l *lab) used() budget.Money {
	l.t.Helper()
	u, err := l.g.recovery.Store().UsedIn(context.Background(), config.DefaultName, "day", time.Now().UTC().Format(time.DateOnly))
	if err != nil {
		l.t.Fatal(err)
	}
	return budget.Money(u.Cost)
}

func TestTR8_ConcurrentTurnsSpendAtMostOneCallEachBeyondTheirBudget(t *testing.T) {
	const turns, limit, largest = 64, 3.0, 0.2
	var mu sync.Mutex
	var served budget.Money
	var calls, refused int
	l := start(t, func(s *setup) {
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			cost := budget.Money(rand.Int64N(int64(budget.Of(largest))))
			mu.Lock()
			served += cost
			calls++
			steps := calls % 3
			mu.Unlock()
			if steps > 0 {
				return costly(callsTool("files_list", `{}`), cost.Float()), nil
			}
			return costly(says("done"), cost.Float()), nil
		})
	}, limits(config.BudgetLimits{PerDay: limit}))
	var all sync.WaitGroup
	for n := range turns {
		all.Go(func() {
			for range 3 {
				got := l.await(l.send(fmt.Sprintf("api:user:%d", n), "go"))
				if got.err != nil || strings.Contains(got.text, "is used up") {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d calls cost %s of %.2f; %d turns were refused or stopped", calls, served, limit, refused)
	if got := l.used(); got != served {
		t.Errorf("the store has %s, and the model has served %s", got, served)
	}
	if most := budget.Of(limit + turns*largest); served > most {
		t.Errorf("%s were spent, at most %s may be", served, most)
	}
	if refused == 0 {
		t.Error("no turn was refused: the test does not reach the limit")
	}
	if st, err := l.g.Status(t.Context()); err != nil || len(st.Budgets) != 1 || budget.Of(st.Budgets[0].Spent) != served || st.Budgets[0].Limit != limit {
		t.Errorf("the status has %+v, %v", st.Budgets, err)
	}
}

func TestTR8_ATurnEndsWithASentenceOnceItsBudgetIsUsedUp(t *testing.T) {
	l := start(t, func(s *setup) {
		s.model = script(func(context.Context, model.Request) (model.Response, error) {
			return costly(callsTool("files_list", `{}`), 0.3), nil
		})
	}, limits(config.BudgetLimits{PerTurn: 1, PerDay: 2}))
	got := l.await(l.send("api:user:a", "go"))
	if got.err != nil || !strings.Contains(got.text, `The budget "default" is used up: 1.20 of 1.00 USD in this turn. What was done so far is kept. Send a message to continue`) {
		t.Fatalf("the turn ended with %q, %v", got.text, got.err)
	}
	got = l.await(l.send("api:user:a", "go on"))
	if !strings.Contains(got.text, "2.10 of 2.00 USD today") {
		t.Errorf("the next turn ended with %q, %v", got.text, got.err)
	}
	got = l.await(l.send("api:user:a", "and now"))
	e := ops.AsError(got.err)
	if e == nil || e.Code != ops.CodeBudget || e.HTTPStatus() != 429 || e.RetryAfter <= 0 || !strings.Contains(e.Message, `"default"`) || !strings.Contains(e.Hint, "budgets raise default") {
		t.Errorf("a turn that cannot begin is answered with %q, %+v", got.text, e)
	}
	if req := l.do(ops.Command{Verb: ops.VerbRaise, Target: "default", Amount: "1", Until: "1h"}); req.State != ops.RequestDone {
		t.Fatalf("the raise ended as %+v", req)
	}
	if got := l.await(l.send("api:user:a", "once more")); !strings.Contains(got.text, "I stopped here") {
		t.Errorf("after the raise a turn ended with %q, %v", got.text, got.err)
	}
	inbox, err := l.g.Inbox(t.Context(), ops.Query{})
	if err != nil || len(inbox.Items) == 0 || inbox.Items[0].Kind != ops.InboxBudget {
		t.Errorf("the inbox has %+v, %v", inbox.Items, err)
	}
}

func TestTR8_ChildrenCountInTheTurnOfTheirParent(t *testing.T) {
	l := start(t, func(s *setup) {
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			text, answered := lastUser(req)
			switch {
			case text == "help me":
				return costly(says("helped"), 0.25), nil
			case answered:
				return costly(says("done"), 0.25), nil
			}
			return costly(callsTool("delegate", `{"goal":"help me"}`), 0.25), nil
		})
	}, limits(config.BudgetLimits{PerDay: 10}))
	if got := l.ask("api:user:a", "go"); got != "done" {
		t.Fatalf("the turn ended with %q", got)
	}
	if got := l.used(); got != budget.Of(0.75) {
		t.Errorf("a turn with a child cost %s, want 0.75", got)
	}
	page, err := l.g.Usage(t.Context(), ops.UsageQuery{By: "session"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Group != "api:user:a" || page.Items[0].Calls != 3 || *page.Items[0].Cost != 0.75 {
		t.Errorf("the usage is %+v, %v", page.Items, err)
	}
}

func TestTR8_SummariesCountAndRefusedCallsDoNot(t *testing.T) {
	e := &endpoint{window: 100_000, told: true}
	l := start(t, func(s *setup) { s.model = e }, limits(config.BudgetLimits{PerDay: 10}))
	const key = "chat:dm:1"
	for i := range 6 {
		l.ask(key, fmt.Sprintf("message %d", i))
	}
	if got := l.ask(key, "/compact"); !strings.Contains(got, "is compacted: a summary") {
		t.Fatalf("/compact answered %q", got)
	}
	e.mu.Lock()
	e.window = 10 // each further call is refused by its endpoint
	e.mu.Unlock()
	if got := l.await(l.send(key, "too long")); got.err == nil {
		t.Fatalf("a call that is too long was answered with %q", got.text)
	}
	page, err := l.g.Usage(t.Context(), ops.UsageQuery{})
	if err != nil || len(page.Items) != 1 || int(page.Items[0].Calls) != e.calls-e.tooBig {
		t.Errorf("the usage is %+v, %v, after %d calls, of which %d were refused", page.Items, err, e.calls, e.tooBig)
	}
}

func TestTR8_ACallWhoseEndpointReportsNothingIsEstimated(t *testing.T) {
	l := start(t, func(s *setup) {
		s.model = script(func(context.Context, model.Request) (model.Response, error) {
			return model.Response{Message: model.Message{Role: model.RoleAssistant, Content: "you said hello"}}, nil
		})
	}, limits(config.BudgetLimits{PerDay: 10}))
	l.ask("api:user:a", "hello")
	page, err := l.g.Usage(t.Context(), ops.UsageQuery{By: "model"})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("the usage is %+v, %v", page.Items, err)
	}
	if u := page.Items[0]; !u.Estimated || u.TokensIn < 100 || u.TokensOut == 0 || u.Cost == nil || *u.Cost != float64(u.TokensIn+u.TokensOut)/1e6 {
		t.Errorf("the usage is %+v", u)
	}
}

func TestTR8_TheScriptedModelCountsInTokensWhereTheConfigSetsTheirLimit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		price float64
		limit int
		free  bool
	}{
		{"with the standard limit", 0, 3_000_000, true},
		{"with another limit", 0, 1000, false},
		{"with a price", 1, 3_000_000, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Model.PriceIn = tt.price
			cfg.Budgets = map[string]*config.BudgetLimits{config.DefaultName: {TokensPerDay: tt.limit}}
			if got := freeOf(cfg, config.DefaultName); got != tt.free {
				t.Errorf("the scripted model is free: %v", got)
			}
			if cfg.Model.Provider = config.OpenAI; freeOf(cfg, config.DefaultName) {
				t.Error("another model is free")
			}
		})
	}
}

func TestTR8_AnInterruptedCallCostsWhatWasReservedForIt(t *testing.T) {
	l := start(t, limits(config.BudgetLimits{PerDay: 10}))
	answer := l.send("api:user:a", "hang")
	l.running("api:user:a")
	l.wait("the call is reserved", func() bool {
		rows, err := l.g.Budgets(t.Context())
		return err == nil && reservedToday(rows.Items[0]) > 0
	})
	l.do(ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:a"})
	l.await(answer)
	l.wait("the call has its cost", func() bool { return l.used() > 0 })
	page, err := l.g.Usage(t.Context(), ops.UsageQuery{})
	if err != nil || len(page.Items) != 1 || !page.Items[0].Estimated {
		t.Errorf("the usage is %+v, %v", page.Items, err)
	}
}

func reservedToday(b ops.Budget) float64 {
	for _, w := range b.Windows {
		if w.Window == string(budget.KindDay) {
			return *w.Reserved
		}
	}
	return 0
}

func TestTR8_APersonHearsOfTheirBudgetInTheirChat(t *testing.T) {
	l := start(t, func(s *setup) {
		s.model = script(func(context.Context, model.Request) (model.Response, error) { return costly(says("fine"), 0.6), nil })
	}, limits(config.BudgetLimits{PerPerson: 1}))
	l.say("chat:dm:1", "1", "hello")
	l.wait("the chat hears that half is used", func() bool {
		return strings.Contains(strings.Join(l.chat.messages(), "\n"), `1: 50 % of the budget "default" are used: 0.60 of 1.00 USD by one person today.`)
	})
	l.say("chat:dm:1", "1", "again")
	l.wait("the second answer", func() bool { return strings.Count(strings.Join(l.chat.messages(), "\n"), "1: fine") == 2 })
	l.say("chat:dm:1", "1", "and again")
	l.wait("the chat hears that it is used up", func() bool {
		return strings.Contains(strings.Join(l.chat.messages(), "\n"), `The budget "default" is used up: 1.20 of 1.00 USD by one person today`)
	})
}

func TestTR8_WhatWasUsedStaysWithoutThePersonWhoIsForgotten(t *testing.T) {
	l := start(t, func(s *setup) {
		s.model = script(func(context.Context, model.Request) (model.Response, error) { return costly(says("fine"), 0.5), nil })
	}, limits(config.BudgetLimits{PerPerson: 1}))
	l.say("chat:dm:maria", "maria", "hello")
	l.wait("it is answered", func() bool { return l.used() > 0 && l.session("chat:dm:maria").State == ops.SessionIdle })
	if req := l.do(ops.Command{Verb: ops.VerbForget, Target: "chat:maria"}); req.State != ops.RequestDone {
		t.Fatalf("the deletion ended as %+v", req)
	}
	for _, by := range []string{"person", "session"} {
		page, err := l.g.Usage(t.Context(), ops.UsageQuery{By: by})
		if err != nil || len(page.Items) != 1 || page.Items[0].Group != "" || *page.Items[0].Cost != 0.5 {
			t.Errorf("the usage by %s is %+v, %v", by, page.Items, err)
		}
	}
	notices, err := l.g.recovery.Store().BudgetNotices(t.Context(), time.Now().Add(-time.Hour), 10)
	if err != nil || len(notices) != 0 {
		t.Errorf("warnings are kept of the person: %+v, %v", notices, err)
	}
}
