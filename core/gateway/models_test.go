package gateway

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// two are two models that say which of them answers, with what system prompt and which tools. The second one has prices.
func two(s *setup) {
	say := func(name string) model.Provider {
		return script(func(_ context.Context, req model.Request) (model.Response, error) {
			var tools []string
			for _, t := range req.Tools {
				tools = append(tools, t.Name)
			}
			text := name + "|" + req.Messages[0].Content + "|" + strings.Join(tools, ",")
			return model.Response{Message: model.Message{Role: model.RoleAssistant, Content: text}, Usage: model.Usage{In: 1000, Cached: 500, Out: 100}}, nil
		})
	}
	s.cfg.Agents = map[string]*config.Definition{"coder": {Models: []string{"second", "default"}, Text: "You write Go on {{platform}} in {{chat}} for {{speaker}}.", Tools: []string{"terminal"}}}
	s.cfg.Routes = []*config.Route{{Match: "chat:dev:*", Agent: "coder"}}
	s.opts = func(o *Options) {
		o.Models = model.NewPool(slog.New(slog.DiscardHandler), model.Spec{Name: model.Default, Provider: say("first")}, model.Spec{Name: "second", Provider: say("second"), In: 3, Cached: 0.3, Out: 15})
	}
}

func (l *lab) costs(key string, want float64) {
	l.t.Helper()
	if row := l.session(key); row.Cost == nil || math.Abs(*row.Cost-want) > 1e-9 {
		l.t.Errorf("%s cost %v, want %v", key, row.Cost, want)
	}
}

func TestCV3_ASessionHasTheAgentOfItsRouteAndOfItsMessage(t *testing.T) {
	l := start(t, two)
	if got := l.ask("chat:dev:7", "hi"); got != "second|You write Go on chat in dev:7 for maria.|terminal" {
		t.Errorf("the agent of the route answered %q", got)
	}
	if got := l.ask("chat:dm:1", "hi"); !strings.HasPrefix(got, "first|You are an assistant") || !strings.Contains(got, "|terminal,process,delegate,files_read,files_write,files_edit,files_list,files_search,send_file,web_fetch,memory_save,memory_search,memory_forget") {
		t.Errorf("the default answered %q", got)
	}
	if row := l.session("chat:dev:7"); row.Agent != "coder" || row.Model != "second" || row.TokensCached != 500 {
		t.Errorf("the row of the route's session is %+v", row)
	}
	l.costs("chat:dev:7", 0.0015+0.00015+0.0015)
	if row := l.session("chat:dm:1"); row.Agent != "default" || row.Model != "scripted-by-test" || row.Cost != nil {
		t.Errorf("the row of the other session is %+v", row)
	}
	// A message that names an agent goes to it, in the same conversation.
	r := make(responder, 1)
	if _, err := l.g.intake.Receive(t.Context(), adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", User: "maria", Text: "again", Agent: "coder", Responder: r}); err != nil {
		t.Fatal(err)
	}
	if got := l.await(r).text; !strings.HasPrefix(got, "second|You write Go") {
		t.Errorf("the named agent answered %q", got)
	}
	if row := l.session("chat:dm:1"); row.Agent != "coder" || row.Model != "second" || row.TokensIn != 2000 {
		t.Errorf("the row is %+v", row)
	}
	second := map[string]string{"model": "second"}
	if got := counted(t, l.g, "gatewaytui_model_cost_total", second); math.Abs(got-2*0.00315) > 1e-9 {
		t.Errorf("the metrics have a cost of %v", got)
	}
	if got := counted(t, l.g, "gatewaytui_model_tokens_total", map[string]string{"model": "second", "direction": "cached"}); got != 1000 {
		t.Errorf("the metrics have %v tokens from the cache", got)
	}
}

// S19: what a session's people chose ends with the session.
func TestCV5_TheModelOfAConversationIsChosenInItsChatAndSurvivesARestart(t *testing.T) {
	l := start(t, two)
	const key = "chat:dm:1"
	shown := l.ask(key, "/model")
	for _, want := range []string{"the agent default: default", "second: scripted-by-test, 3.00 in, 0.30 cached, 15.00 out per million tokens", "default: scripted-by-test, an unknown price"} {
		if !strings.Contains(shown, want) {
			t.Errorf("/model shows %q, want %q in it", shown, want)
		}
	}
	if got := l.await(l.send(key, "/model secnd")); !ops.HasCode(got.err, ops.CodeNotFound) || !strings.Contains(got.err.Error(), "did you mean second?") {
		t.Errorf("an unknown model: %q, %v", got.text, got.err)
	}
	if got := l.ask(key, "/model second"); !strings.Contains(got, "uses second") || !strings.Contains(got, "15.00 out") {
		t.Errorf("the choice was answered with %q", got)
	}
	if row := l.session(key); row.Model != "second" || row.User != "maria" {
		t.Errorf("before the next message the row is %+v", row)
	}
	if got := l.ask(key, "hi"); !strings.HasPrefix(got, "second|You are") {
		t.Errorf("answered %q", got)
	}
	l.stop(ops.ModeFast)

	l = start(t, two, func(s *setup) { s.dir = l.dir })
	if row := l.session(key); row.Model != "second" || row.Agent != "default" || row.TokensCached != 500 {
		t.Errorf("after a restart the row is %+v", row)
	}
	l.costs(key, 0.00315)
	if got := l.ask(key, "hi"); !strings.HasPrefix(got, "second|") {
		t.Errorf("after a restart answered %q", got)
	}
	if got := l.ask(key, "/model auto"); !strings.Contains(got, "the agent default again") {
		t.Errorf("auto was answered with %q", got)
	}
	if got := l.ask(key, "hi"); !strings.HasPrefix(got, "first|") {
		t.Errorf("after auto answered %q", got)
	}
	l.ask(key, "/model second")
	l.ask(key, "/new")
	if got := l.ask(key, "hi"); !strings.HasPrefix(got, "first|") {
		t.Errorf("a fresh conversation was answered by %q", got)
	}
	if row := l.session(key); row.Cost != nil || row.TokensCached != 500 || row.TokensIn != 1000 {
		t.Errorf("the row of a fresh conversation is %+v", row)
	}
	if shown := l.ask(key, "/status"); strings.Contains(shown, "Cost") {
		t.Errorf("/status of a session whose cost is unknown says %q", shown)
	}
}
