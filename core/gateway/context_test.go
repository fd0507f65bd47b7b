package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/fixtures/soak"
)

// endpoint is a model with a context of a fixed size, which it counts in its own way and keeps to the letter.
type endpoint struct {
	window int
	// told is whether the config knows the window.
	told bool
	// fails says whether a summary fails.
	fails func() bool

	mu                       sync.Mutex
	calls, summaries, tooBig int
	last                     model.Request
	broken                   string // what an endpoint would refuse in a request
}

func (e *endpoint) Name() string      { return "small" }
func (e *endpoint) New() model.Client { return endpointClient{e} }
func (e *endpoint) Vision() bool      { return false }
func (e *endpoint) Window() int {
	if e.told {
		return e.window
	}
	return 0
}

type endpointClient struct{ *endpoint }

func (c endpointClient) Close() error { return nil }

// tokens is what the endpoint counts: more than most.
func tokens(req model.Request) (n int) {
	for _, m := range req.Messages {
		n += 4 + len(m.Content)/3
		for _, call := range m.ToolCalls {
			n += 8 + len(call.Arguments)/3
		}
	}
	for _, t := range req.Tools {
		n += (len(t.Description) + len(t.Schema)) / 3
	}
	return n
}

func (c endpointClient) Complete(_ context.Context, req model.Request, _ func(string)) (model.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	n := tokens(req)
	summary := strings.HasPrefix(req.Messages[0].Content, "You summarise")
	if summary {
		c.summaries++
	}
	if n > c.window {
		c.tooBig++
		return model.Response{}, &model.Error{Kind: model.KindTooLong, Status: 400, Message: "too long", Window: map[bool]int{true: c.window}[c.told]}
	}
	if summary {
		if c.fails != nil && c.fails() {
			return model.Response{}, &model.Error{Kind: model.KindUnavailable, Message: "broken"}
		}
		return model.Response{Message: model.Message{Role: model.RoleAssistant, Content: "They spoke of numbers. " + strings.Repeat("More was said. ", 40)}, Usage: model.Usage{In: int64(n), Out: 200}}, nil
	}
	c.last = req
	if wrong := malformed(req.Messages); wrong != "" {
		c.broken = wrong
	}
	text, answered := lastUser(req)
	if strings.HasSuffix(text, " look") && !answered {
		return callsTool("terminal", arguments(map[string]any{"command": "seq 300"})), nil
	}
	return model.Response{Message: model.Message{Role: model.RoleAssistant, Content: "I heard: " + strings.Repeat("yes ", 30)}, Usage: model.Usage{In: int64(n), Out: 40}}, nil
}

// malformed says what an endpoint refuses in a transcript.
func malformed(messages []model.Message) string {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role == model.RoleTool {
			if !open[m.ToolCallID] {
				return fmt.Sprintf("message %d answers no call", i)
			}
			delete(open, m.ToolCallID)
		} else if len(open) > 0 {
			return fmt.Sprintf("a call before message %d has no result", i)
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	return ""
}

// has reports whether the last request says text anywhere.
func (e *endpoint) has(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.last.Messages, func(m model.Message) bool { return strings.Contains(m.Content, text) })
}

func TestCV4_ALongConversationNeverFailsForItsLength(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprintf("window told %v", told), func(t *testing.T) {
			e := &endpoint{window: 8192, told: told}
			l := start(t, func(s *setup) { s.model = e })
			const key = "chat:dm:1"
			l.ask(key, "hello")
			if got := l.ask(key, "/pin the password of the door is 4711"); !strings.Contains(got, "number 1") {
				t.Fatalf("/pin answered %q", got)
			}
			turns := soak.Count(t, 100, 5000)
			for i := range turns {
				text := fmt.Sprintf("message %d: %s", i, strings.Repeat("some words ", i%40))
				if i%10 == 0 {
					text += " look"
				}
				l.ask(key, text)
				for _, want := range []string{fmt.Sprintf("message %d:", i), fmt.Sprintf("message %d:", max(i-1, 0)), "4711"} {
					if !e.has(want) {
						t.Fatalf("in turn %d the model does not read %q", i, want)
					}
				}
				if e.broken != "" {
					t.Fatalf("in turn %d %s", i, e.broken)
				}
			}
			row := l.session(key)
			if e.summaries < 3 || row.ContextWindow == 0 || row.ContextUsed == 0 || row.ContextUsed > row.ContextWindow {
				t.Errorf("%d summaries, the row says %d of %d tokens", e.summaries, row.ContextUsed, row.ContextWindow)
			}
			if most := map[bool]int{true: 0, false: 2}[told]; e.tooBig > most {
				t.Errorf("%d calls were too long", e.tooBig)
			}
			t.Logf("%d calls, %d summaries, %d too long, %d of %d", e.calls, e.summaries, e.tooBig, row.ContextUsed, row.ContextWindow)
			if rows, err := l.g.recovery.Store().Since(t.Context(), row.ID, 0); err != nil || len(rows) < 2*turns || rows[0].Content != "hello" {
				t.Errorf("the store has %d messages, %v", len(rows), err)
			}
		})
	}
}

func TestCV4_CompactionUnderFailingSummariesLeavesEveryConversationUsable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	e := &endpoint{window: 4096}
	e.fails = func() bool { return random.IntN(2) == 0 }
	l := start(t, func(s *setup) { s.model = e })
	for i := range soak.Count(t, 6, 200) {
		key := fmt.Sprintf("chat:dm:%d", i)
		for turn := range 30 {
			before := e.calls
			text := fmt.Sprintf("message %d: %s", turn, strings.Repeat("words ", random.IntN(200)))
			if turn%7 == 3 {
				text += "look"
			}
			l.ask(key, text)
			if n := e.calls - before; n > 4 || !strings.HasSuffix(text, "look") && n > 3 {
				t.Fatalf("turn %d of conversation %d made %d calls", turn, i, n)
			}
			if e.broken != "" {
				t.Fatal(e.broken)
			}
		}
	}
	t.Logf("%d calls, %d summaries, %d too long", e.calls, e.summaries, e.tooBig)
}

func TestCV4_AConversationIsCompactedOnRequestAndGoesOnSoAfterARestart(t *testing.T) {
	e := &endpoint{window: 100_000, told: true}
	with := func(s *setup) { s.model = e }
	l := start(t, with)
	const key = "chat:dm:1"
	if got := l.ask(key, "/compact"); !strings.Contains(got, "no conversation yet") {
		t.Errorf("/compact without a conversation: %q", got)
	}
	l.ask(key, "my name is Maria")
	for i := range 10 {
		l.ask(key, fmt.Sprintf("message %d", i))
	}
	got := l.ask(key, "/compact the name of the user")
	if !strings.Contains(got, "is compacted: a summary") || e.summaries != 1 {
		t.Fatalf("/compact answered %q after %d summaries", got, e.summaries)
	}
	l.ask(key, "/pin speak Portuguese")
	if got := l.ask(key, "/status"); !strings.Contains(got, "of 100,000 tokens") || !strings.Contains(got, "1 text is pinned") {
		t.Errorf("/status says %q", got)
	}
	l.stop(ops.ModeFast)

	l = start(t, with, func(s *setup) { s.dir = l.dir })
	if row := l.session(key); row.ContextWindow != 100_000 || row.ContextUsed == 0 {
		t.Errorf("after a restart the row says %d of %d", row.ContextUsed, row.ContextWindow)
	}
	l.ask(key, "who am I?")
	if !e.has("They spoke of numbers.") || !e.has("my name is Maria") || !e.has("speak Portuguese") || e.has("I heard: yes yes") && len(e.last.Messages) > 10 {
		t.Errorf("after a restart the model reads %+v", e.last.Messages)
	}
	if got := l.ask(key, "/unpin 1"); !strings.Contains(got, "speak Portuguese") {
		t.Errorf("/unpin answered %q", got)
	}
	l.ask(key, "and now?")
	if e.has("speak Portuguese") {
		t.Error("what is no longer pinned is still there")
	}
}

func TestCV4_AHistoryThatTheClientSentIsNeverCompacted(t *testing.T) {
	e := &endpoint{window: 2000, told: true}
	l := start(t, func(s *setup) { s.model = e })
	in := &model.Input{Given: true}
	for i := range 100 {
		in.History = append(in.History, model.Message{Role: model.RoleUser, Content: fmt.Sprint("question ", i, strings.Repeat(" more", 20))}, model.Message{Role: model.RoleAssistant, Content: "answer"})
	}
	r := make(responder, 1)
	if _, err := l.g.intake.Receive(t.Context(), adapter.Inbound{Adapter: "chat", Session: session.RequestPrefix + "1", Text: "go", Input: in, Responder: r}); err != nil {
		t.Fatal(err)
	}
	got := l.await(r)
	failed, is := errors.AsType[*ops.Error](got.err)
	if !is || failed.Code != ops.CodeTooLong || e.calls != 1 || e.summaries != 0 {
		t.Errorf("answered %q, %v after %d calls", got.text, got.err, e.calls)
	}
}

// BenchmarkLongConversation is the cost of a turn late in a conversation against that of an early one, with the agent in the
// cache and with one that has to load the conversation.
func BenchmarkLongConversation(b *testing.B) {
	const early, late, around = 100, 5000, 60
	for b.Loop() {
		e := &endpoint{window: 8192, told: true}
		l := start(b, func(s *setup) { s.model = e })
		const key = "chat:dm:1"
		took := map[int]map[bool][]time.Duration{early: {}, late: {}}
		for i := range late {
			at, loads := late, i%2 == 0
			if i < 2*early {
				at = early
			}
			measured := i >= early-around && i < early+around || i >= late-2*around
			if measured && loads {
				if _, err := l.g.conversations.Evict(b.Context(), key); err != nil {
					b.Fatal(err)
				}
			}
			began := time.Now()
			l.ask(key, fmt.Sprintf("message %d: %s", i, strings.Repeat("some words ", i%40)))
			if measured {
				took[at][loads] = append(took[at][loads], time.Since(began))
			}
		}
		for loads, name := range map[bool]string{false: "cached", true: "loaded"} {
			median := func(at int) time.Duration { slices.Sort(took[at][loads]); return took[at][loads][around/2] }
			b.ReportMetric(float64(median(late))/float64(median(early)), name+"-ratio")
			b.ReportMetric(float64(median(late).Microseconds()), name+"-µs")
		}
		l.stop(ops.ModeImmediate)
	}
}
