package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/budget"
	"gatewaytui/core/model"
	"gatewaytui/core/process"
	"gatewaytui/core/tool"
	"gatewaytui/core/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal is the order in which things happened.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

// play answers one model call; call counts from 0 over the life of its client.
type play func(ctx context.Context, call int, req model.Request, delta func(string)) (model.Response, error)

// models makes clients that play one function. The first client made is the agent's, the next ones its children's.
type models struct {
	play play
	log  *journal
	// closing is what the end of a client meets; nil is nothing.
	closing func() error
	sees    bool

	mu      sync.Mutex
	clients []*client
}

func (m *models) Name() string { return "played" }
func (m *models) Window() int  { return 0 }
func (m *models) Vision() bool { return m.sees }

func (m *models) New() model.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &client{models: m, n: len(m.clients)}
	m.clients = append(m.clients, c)
	return c
}

// open is how many clients are not closed.
func (m *models) open() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, c := range m.clients {
		if !c.closed {
			n++
		}
	}
	return n
}

type client struct {
	models *models
	n      int
	calls  int
	closed bool // guarded by models.mu
}

func (c *client) Name() string { return "played" }

func (c *client) Complete(ctx context.Context, req model.Request, delta func(string)) (model.Response, error) {
	c.calls++
	return c.models.play(ctx, c.calls-1, req, delta)
}

func (c *client) Close() error {
	c.models.mu.Lock()
	c.closed = true
	c.models.mu.Unlock()
	c.models.log.add("close client %d", c.n)
	if c.models.closing != nil {
		return c.models.closing()
	}
	return nil
}

// memory is a transcript with faults. A nil fault does nothing.
type memory struct {
	log                       *journal
	loadErr, saveErr          func() error
	flush, remember, shutdown func(ctx context.Context) error
	// writesAnyway makes Append write although it fails, as a commit does whose answer came too late.
	writesAnyway bool

	mu       sync.Mutex
	messages []model.Message
	kept     Compaction
	pins     []string
	unsaved  bool
	loads    int
}

func (m *memory) Load(_ context.Context, first bool) (Past, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loads++
	if m.loadErr != nil {
		if err := m.loadErr(); err != nil {
			return Past{}, err
		}
	}
	if first {
		return Past{Pins: m.pins}, nil
	}
	past := Past{Compaction: m.kept, Pins: m.pins}
	for i, msg := range m.messages {
		if msg.Seq = int64(i + 1); msg.Seq > m.kept.Upto {
			past.Messages = append(past.Messages, msg)
		}
	}
	return past, nil
}

func (m *memory) Compact(_ context.Context, turn string, c Compaction) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.saveErr != nil {
		if err := m.saveErr(); err != nil {
			return err
		}
	}
	m.kept = c
	m.log.add("compact %s", turn)
	return nil
}

func (m *memory) Append(_ context.Context, turn string, messages []model.Message, _ *budget.Charge) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.saveErr != nil {
		if err := m.saveErr(); err != nil {
			m.unsaved = !errors.Is(err, ErrStale)
			if m.writesAnyway {
				m.messages = append(m.messages, messages...)
			}
			return err
		}
	}
	m.messages = append(m.messages, messages...)
	for _, msg := range messages {
		m.log.add("append %s %s", turn, msg.Role)
	}
	return nil
}

// write is what the gateway writes itself: the user's message, and the final ones with the turn's end.
func (m *memory) write(messages ...model.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.messages = append(m.messages, messages...)
}

func (m *memory) Write(ctx context.Context, w func(context.Context) error) error { return w(ctx) }

func (m *memory) Unsaved() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unsaved
}

func (m *memory) Flush(ctx context.Context) error {
	m.log.add("flush")
	if m.flush != nil {
		return m.flush(ctx)
	}
	return nil
}

func (m *memory) Remember(ctx context.Context) error {
	m.log.add("remember")
	if m.remember != nil {
		return m.remember(ctx)
	}
	return nil
}

func (m *memory) Shutdown(ctx context.Context) error {
	m.log.add("shutdown")
	if m.shutdown != nil {
		return m.shutdown(ctx)
	}
	return nil
}

// processes notes what it was asked to kill.
type processes struct {
	log  *journal
	kill func(ctx context.Context) error
}

func (p *processes) KillSession(ctx context.Context, session string, grace time.Duration) process.Report {
	p.log.add("kill session %s", session)
	if p.kill != nil && p.kill(ctx) != nil {
		return process.Report{}
	}
	return process.Report{Verified: true}
}

func (p *processes) KillTurn(_ context.Context, turn string, grace time.Duration) process.Report {
	p.log.add("kill turn %s", turn)
	return process.Report{Verified: true}
}

// fakeTool runs a function.
type fakeTool struct {
	name string
	run  func(ctx context.Context, call tool.Call) (string, error)
}

func (f fakeTool) Spec() model.ToolSpec { return model.ToolSpec{Name: f.name} }

func (f fakeTool) Run(ctx context.Context, call tool.Call) (string, error) { return f.run(ctx, call) }

// bench is an agent with everything around it.
type bench struct {
	*Agent
	log       *journal
	models    *models
	memory    *memory
	processes *processes
}

// usual is the default of [context].
var usual = window.Policy{PruneAt: 0.6, CompactAt: 0.75, CompactTo: 0.4, Keep: 0.2}

func newBench(p play, change func(*Config), tools ...tool.Tool) *bench {
	log := &journal{}
	b := &bench{
		log: log, models: &models{play: p, log: log}, memory: &memory{log: log}, processes: &processes{log: log},
	}
	cfg := Config{
		Session: "cli:local", Models: b.models, Tools: tool.NewSet(64<<10, tools...), Processes: b.processes,
		KillGrace: 100 * time.Millisecond, Memory: b.memory, MaxIterations: 5, Context: usual, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	b.Agent = New(cfg)
	return b
}

// turn does what the gateway does around Run: the user's message before it, the final ones after it.
func (b *bench) turn(ctx context.Context, t Turn) (Result, error) {
	b.memory.write(model.Message{Role: model.RoleUser, Content: t.Text})
	res, err := b.Run(ctx, t)
	if !errors.Is(err, ErrStale) {
		b.memory.write(res.Last...)
	}
	if got, want := b.tokens, b.past().Tokens(); got != want && !errors.Is(err, ErrBusy) {
		panic(fmt.Sprintf("the agent counts %d tokens, and its conversation has %d", got, want))
	}
	return res, err
}

func says(text string) model.Response {
	return model.Response{Message: model.Message{Role: model.RoleAssistant, Content: text}, Usage: model.Usage{In: 10, Out: 1}}
}

func asks(calls ...model.ToolCall) model.Response {
	return model.Response{Message: model.Message{Role: model.RoleAssistant, ToolCalls: calls}, Usage: model.Usage{In: 10, Out: 1}}
}

// hang is a play that waits for its context, as a good client does.
func hang(ctx context.Context, _ int, _ model.Request, _ func(string)) (model.Response, error) {
	<-ctx.Done()
	return model.Response{}, ctx.Err()
}

func always(r model.Response) play {
	return func(context.Context, int, model.Request, func(string)) (model.Response, error) { return r, nil }
}

// inOrder plays one response for each call and repeats the last.
func inOrder(rs ...model.Response) play {
	return func(_ context.Context, call int, _ model.Request, _ func(string)) (model.Response, error) {
		return rs[min(call, len(rs)-1)], nil
	}
}

// wellFormed says what an endpoint would refuse in a transcript, empty for nothing.
func wellFormed(messages []model.Message) string {
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == model.RoleTool {
			return fmt.Sprintf("message %d is a tool result that answers nothing", i)
		}
		for _, c := range m.ToolCalls {
			i++
			if i >= len(messages) || messages[i].Role != model.RoleTool || messages[i].ToolCallID != c.ID {
				return fmt.Sprintf("call %s is not answered at message %d", c.ID, i)
			}
		}
	}
	return ""
}

// childrenOf is how many child agents work for a, their own children not counted.
func childrenOf(a *Agent) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.children)
}

// bytesOf is what the transcripts of all agents of a cache cost now.
func bytesOf(c *Cache) (n int64) {
	for _, a := range c.All() {
		n += a.Bytes()
	}
	return n
}
