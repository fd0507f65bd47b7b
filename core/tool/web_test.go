package tool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/core/fence"
	"gatewaytui/core/web"
)

// paper is a web of one page, with a redirect to it.
type paper struct {
	page    web.Page
	results []web.Result
	search  bool
}

func (p paper) Fetch(ctx context.Context, address string, allow web.Allow) (web.Page, error) {
	for _, name := range []string{"start.example", "end.example"} {
		if err := allow(ctx, hosts.Target{Name: name, Port: 443}, address); err != nil {
			return web.Page{}, err
		}
	}
	return p.page, nil
}

func (p paper) CanSearch() bool { return p.search }

func (p paper) Search(_ context.Context, _ string, most int) ([]web.Result, error) {
	return p.results[:min(most, len(p.results))], nil
}

func TestHR3_ANewHostPassesTheGate(t *testing.T) {
	gate := &asked{refuses: "end.example", err: &WithheldError{Text: "a person said no"}}
	listed := ""
	b := newBench(t, func(o *Options) {
		o.Gate, o.Web = gate, paper{page: web.Page{Text: "secret"}}
		o.Reaches = func(_ string, host hosts.Target) bool { return host.Name == listed }
	})
	fetch := NewWeb(b.opts)[0]
	if text := b.call(t.Context(), fetch, map[string]any{"url": "https://start.example/x"}); text != `{"error":"a person said no"}` {
		t.Errorf("the model reads %s", text)
	}
	if len(gate.steps) != 2 || gate.steps[0].Kind != StepHost || gate.steps[0].Text != "start.example" || gate.steps[0].Judgement.Verdict != fence.Ask {
		t.Errorf("the gate judged %+v", gate.steps)
	}
	if reasons := strings.Join(gate.steps[0].Judgement.Reasons, " "); !strings.Contains(reasons, "https://start.example/x") {
		t.Errorf("a person reads %q", reasons)
	}
	listed, gate.steps, gate.err = "start.example", nil, nil
	if text := b.call(t.Context(), fetch, map[string]any{"url": "https://start.example/x"}); !strings.Contains(text, `"text":"secret"`) {
		t.Errorf("the model reads %s", text)
	}
	if gate.steps[0].Judgement.Verdict != fence.Allowed || gate.steps[1].Judgement.Verdict != fence.Ask {
		t.Errorf("the gate judged %+v", gate.steps)
	}
}

func TestHR3_ALongPageIsReadInParts(t *testing.T) {
	whole := strings.Repeat("Zeile über \"alles\" <b>\n", 4000)
	b := newBench(t, func(o *Options) {
		o.OutputLimit, o.Web = 4<<10, paper{page: web.Page{URL: "https://end.example/", Status: 200, Type: "text/html", Title: "A page", Text: whole, Bytes: 100}}
	})
	fetch := NewWeb(b.opts)[0]
	read, from, calls := "", 0, 0
	for next := -1; next != 0; calls++ {
		var part fetched
		text := b.call(t.Context(), fetch, map[string]any{"url": "https://start.example/", "from": from})
		if err := json.Unmarshal([]byte(text), &part); err != nil || len(text) > 4<<10 || !utf8.ValidString(part.Text) || part.Note != fromOthers || part.Title != "A page" {
			t.Fatalf("%d bytes, %v: %.300s", len(text), err, text)
		}
		read, from, next = read+part.Text, part.Next, part.Next
	}
	if read != whole || calls < 10 {
		t.Errorf("%d calls read %d bytes of %d", calls, len(read), len(whole))
	}
	for want, args := range map[string]map[string]any{
		`less than`: {"url": "https://start.example/", "from": len(whole) + 1}, `at least 0`: {"url": "https://start.example/", "from": -1}, `\"url\" is required`: {},
	} {
		if text := b.call(t.Context(), fetch, args); !strings.Contains(text, want) {
			t.Errorf("%v: %s, want %s", args, text, want)
		}
	}
}

func TestHR3_ASearchIsOfferedWhereItWorks(t *testing.T) {
	with := paper{search: true, results: []web.Result{{Title: "One", URL: "https://one.example/", Snippet: "first"}, {Title: "Two", URL: "https://two.example/"}}}
	if names := Enabled(nil, Options{}, []string{"web"}).Names(); len(names) != 0 {
		t.Errorf("without a web: %v", names)
	}
	if names := strings.Join(Enabled(nil, Options{Web: paper{}}, []string{"web"}).Names(), " "); names != "web_fetch" {
		t.Errorf("without an endpoint: %s", names)
	}
	b := newBench(t, func(o *Options) { o.Web = with })
	search := NewWeb(b.opts)[1]
	want := `{"note":"` + fromOthers + `","results":[{"title":"One","url":"https://one.example/","snippet":"first"}]}`
	if text := b.call(t.Context(), search, map[string]any{"query": " cats ", "limit": 1}); text != want {
		t.Errorf("the model reads %s", text)
	}
	for want, args := range map[string]map[string]any{
		"required": {"query": " "}, "longer than": {"query": strings.Repeat("x", queryMost+1)}, "at least 1": {"query": "x", "limit": 0},
	} {
		if text := b.call(t.Context(), search, args); !strings.Contains(text, want) {
			t.Errorf("%v: %s, want %s", args, text, want)
		}
	}
}
