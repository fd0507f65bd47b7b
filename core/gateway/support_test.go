package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/files"
	"gatewaytui/core/held"
	"gatewaytui/core/instance"
	"gatewaytui/core/limit"
	"gatewaytui/core/lives"
	"gatewaytui/core/media"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/acpagent"
	"gatewaytui/fixtures/eventually"
)

func TestMain(m *testing.M) {
	acpagent.Play()
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for a fact that must come about; a machine under load takes longer than a quiet one.
const patience = 20 * time.Second

// script is a model that answers with a function.
type script func(ctx context.Context, req model.Request) (model.Response, error)

func (s script) Name() string      { return "scripted-by-test" }
func (s script) New() model.Client { return scriptClient{s} }
func (s script) Window() int       { return 0 }
func (s script) Vision() bool      { return false }

type scriptClient struct{ script }

func (c scriptClient) Complete(ctx context.Context, req model.Request, _ func(string)) (model.Response, error) {
	return c.script(ctx, req)
}
func (c scriptClient) Close() error { return nil }

// says is a model's answer in words, callsTool one that calls a tool.
func says(text string) model.Response {
	return model.Response{Message: model.Message{Role: model.RoleAssistant, Content: text}, Usage: model.Usage{In: 3, Out: 2}}
}

func callsTool(tool, arguments string) model.Response {
	return model.Response{Message: model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "c1", Name: tool, Arguments: arguments}}}}
}

func arguments(of map[string]any) string {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// lastUser is the newest message of the user in a request, and whether tools have answered since.
func lastUser(req model.Request) (text string, answered bool) {
	for _, m := range slices.Backward(req.Messages) {
		switch m.Role {
		case model.RoleTool:
			answered = true
		case model.RoleUser:
			return m.Content, answered
		}
	}
	return "", answered
}

// echo answers with the user's text, hangs until it is cancelled on "hang", and ignores its cancellation on "wedge".
func echo(release <-chan struct{}) script {
	return func(ctx context.Context, req model.Request) (model.Response, error) {
		text, answered := lastUser(req)
		command, isShell := strings.CutPrefix(text, "sh: ")
		job, isJob := strings.CutPrefix(text, "bg: ")
		switch {
		case text == "hang":
			<-ctx.Done()
			return model.Response{}, ctx.Err()
		case text == "wedge":
			<-release
			return model.Response{}, errors.New("late")
		case answered:
			return says("ran: " + req.Messages[len(req.Messages)-1].Content), nil
		case isShell:
			return callsTool("terminal", arguments(map[string]any{"command": command})), nil
		case isJob:
			return callsTool("terminal", arguments(map[string]any{"command": job, "background": true})), nil
		}
		return says("you said " + text), nil
	}
}

// platform is a chat platform whose calls do what the test says.
type platform struct {
	name       string
	send       func(ctx context.Context, m adapter.Outgoing) error
	disconnect func(ctx context.Context) error

	mu       sync.Mutex
	receiver adapter.Receiver
	sent     []adapter.Outgoing
	began    atomic.Pointer[time.Time] // of the disconnect
}

func (p *platform) Name() string { return p.name }

func (p *platform) Connect(_ context.Context, r adapter.Receiver) (adapter.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receiver = r
	return &conn{p: p, done: make(chan struct{})}, nil
}

func (p *platform) messages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.sent {
		out = append(out, m.Target+": "+m.Text)
	}
	return out
}

type conn struct {
	p    *platform
	done chan struct{}
}

func (c *conn) Done() <-chan struct{}             { return c.done }
func (c *conn) Err() error                        { return nil }
func (c *conn) LastInbound() time.Time            { return time.Now() }
func (c *conn) CancelTasks(context.Context) error { return nil }

func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	if c.p.send != nil {
		if err := c.p.send(ctx, m); err != nil {
			return adapter.Sent{}, err
		}
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.sent = append(c.p.sent, m)
	return adapter.Sent{IDs: []string{""}}, nil
}

func (c *conn) Disconnect(ctx context.Context) error {
	now := time.Now()
	c.p.began.Store(&now)
	if c.p.disconnect != nil {
		return c.p.disconnect(ctx)
	}
	return nil
}

// pool is a pool of one model.
func pool(p model.Provider) *model.Pool {
	return model.NewPool(slog.New(slog.DiscardHandler), model.Spec{Name: model.Default, Provider: p})
}

// lab is a running gateway.
type lab struct {
	t      testing.TB
	g      *Gateway
	dir    string
	chat   *platform
	marked atomic.Pointer[time.Time]
	ended  chan struct{}
	end    End
	err    error
}

// setup is what a test changes before its gateway starts.
type setup struct {
	cfg       config.Config
	model     model.Provider
	chat      *platform
	platforms []adapter.Platform
	dir       string
	opts      func(*Options)
	// closed means that only the config says who may speak.
	closed bool
	log    slog.Handler
	holder held.Holder
}

// start runs a gateway with short bounds on a directory of its own, and stops it when the test ends.
func start(t testing.TB, change ...func(*setup)) *lab {
	t.Helper()
	release := make(chan struct{})
	s := &setup{cfg: config.Default(), model: echo(release), chat: &platform{name: "chat"}, dir: t.TempDir(), log: slog.DiscardHandler}
	s.cfg.Adapters.API.Enabled = false
	s.cfg.Tools.MayStop = config.Yes                  // no person is there
	s.cfg.Agent.Approvals = config.ApprovalsOff       // the scripts run any command; the tests of approvals say otherwise
	s.cfg.Agent.Environment = config.EnvironmentLocal // tests of environments choose another one
	s.cfg.Process.KillGrace.Duration = 300 * time.Millisecond
	s.cfg.Shutdown.DrainTimeout.Duration = 300 * time.Millisecond
	s.cfg.Shutdown.NotifyTimeout.Duration = 300 * time.Millisecond
	s.cfg.Shutdown.InterruptGrace.Duration = 500 * time.Millisecond
	s.cfg.Shutdown.AdapterTimeout.Duration = 500 * time.Millisecond
	for _, c := range change {
		c(s)
	}
	l := &lab{t: t, dir: s.dir, chat: s.chat, ended: make(chan struct{})}
	o := Options{
		Settings: Settings{Config: s.cfg, Models: pool(s.model)}, Configs: fixedConfig{}, Log: slog.New(s.log), Identity: Identity{Life: "life-" + filepath.Base(t.TempDir()) + "-" + fmt.Sprint(time.Now().UnixNano()), PID: os.Getpid()},
		Home:      Home{Dir: s.dir, ID: fmt.Sprintf("lab-%d", os.Getpid()), Database: filepath.Join(s.dir, "gateway.db"), Search: filepath.Join(s.dir, "search.db"), Workdir: s.dir, Lives: lives.Files{Dir: t.TempDir()}.List()},
		Limits:    &limit.Set{},
		Media:     media.New(media.Options{Work: s.dir, Folder: files.New(s.dir, files.Own{}), Kept: filepath.Join(s.dir, "files"), Log: slog.New(s.log)}),
		Platforms: append([]adapter.Platform{s.chat}, s.platforms...),
		Host: &hostDouble{
			mark: func(instance.Marker) error {
				now := time.Now()
				l.marked.Store(&now)
				return nil
			},
			exit:      func(code int) { t.Errorf("the watchdog ended the process with %d", code) },
			diagnosis: func() (*os.File, error) { return os.CreateTemp(s.dir, "diagnosis-*.txt") },
		},
	}
	if s.opts != nil {
		s.opts(&o)
	}
	for _, p := range o.Platforms {
		if name := p.Name(); !s.closed && name != "api" {
			o.Open = append(o.Open, name)
		}
	}
	if !s.closed {
		o.Open = append(o.Open, "cli", "other") // lab.ask has these sessions from the chat, too
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l.g = g
	if s.holder != nil {
		g.held.Add("the test's", s.holder)
	}
	go func() {
		defer close(l.ended)
		l.end, l.err = g.Run(context.Background())
	}()
	t.Cleanup(func() {
		close(release)
		l.stop(ops.ModeImmediate)
		g.conversations.Wait()
	})
	l.wait("the gateway is ready", func() bool {
		select {
		case <-g.Ready():
			return true
		case <-l.ended:
			t.Fatalf("the gateway ended at its start: %v", l.err)
		default:
		}
		return false
	})
	return l
}

// wait waits until fact holds.
func (l *lab) wait(what string, fact func() bool) {
	l.t.Helper()
	eventually.True(l.t, what, fact)
}

// audit are the rows of the audit, as a person with sqlite3 reads them.
func (l *lab) audit() (rows []store.Audit) {
	l.t.Helper()
	db := second(l.t, l.dir)
	defer db.Close()
	found, err := db.Query(`SELECT id, verb, target, via, uid, tool, session, reason, state, detail FROM audit`)
	if err != nil {
		l.t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var a store.Audit
		if err := found.Scan(&a.ID, &a.Verb, &a.Target, &a.Via, &a.UID, &a.Tool, &a.Session, &a.Reason, &a.State, &a.Detail); err != nil {
			l.t.Fatal(err)
		}
		rows = append(rows, a)
	}
	return rows
}

// replace puts a session into the table as if the store had it so.
func (l *lab) replace(s session.Session) {
	l.t.Helper()
	if _, ok := l.g.table.BeginReplace(s.Key); !ok {
		l.t.Fatalf("the session %s is in use", s.Key)
	}
	l.g.table.EndReplace(context.Background(), s.Key, &s, true)
}

// stop ends the gateway and returns the report.
func (l *lab) stop(mode ops.Mode) ops.Shutdown {
	l.t.Helper()
	l.g.Stop(StopRequest{Mode: mode, Reason: "test", By: "the test"})
	return l.report()
}

func (l *lab) report() ops.Shutdown {
	l.t.Helper()
	select {
	case <-l.ended:
	case <-time.After(patience):
		l.t.Fatalf("the gateway did not end within %v", patience)
	}
	if l.end.Report == nil {
		l.t.Fatalf("the gateway ended without a report: %v", l.err)
	}
	return *l.end.Report
}

// reply is what came back for one message.
type reply struct {
	text string
	err  error
}

type responder chan reply

func (responder) Delta(string)          {}
func (r responder) Ended(model.Outcome) {}

func (r responder) Done(text string, err error) { r <- reply{text, err} }

// send gives the gateway a message, as a platform that waits for the answer does.
func (l *lab) send(key, text string) responder {
	l.t.Helper()
	r := make(responder, 1)
	if _, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: key, User: "maria", Text: text, Responder: r}); err != nil {
		l.t.Fatalf("message %q was refused: %v", text, err)
	}
	return r
}

// say gives the gateway a message from a chat that the answer is sent to.
func (l *lab) say(key, target, text string) {
	l.t.Helper()
	if _, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: key, User: "maria", Target: target, Text: text}); err != nil {
		l.t.Fatalf("message %q was refused: %v", text, err)
	}
}

func (l *lab) await(r responder) reply {
	l.t.Helper()
	select {
	case got := <-r:
		return got
	case <-time.After(patience):
		l.t.Fatalf("no answer within %v", patience)
		return reply{}
	}
}

// ask is send and await of an answer without an error.
func (l *lab) ask(key, text string) string {
	l.t.Helper()
	got := l.await(l.send(key, text))
	if got.err != nil {
		l.t.Fatalf("%q was answered with %v", text, got.err)
	}
	return got.text
}

func (l *lab) session(key string) ops.Session {
	l.t.Helper()
	s, err := l.g.Snapshot(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, row := range s.Sessions {
		if row.Key == key {
			return row
		}
	}
	return ops.Session{}
}

// running waits until the turn of key is in a model or tool call.
func (l *lab) running(key string) {
	l.t.Helper()
	l.wait(key+" runs a turn in a call", func() bool {
		v, ok := l.g.table.Running(key)
		return ok && v.Doing != "starting" && v.Doing != "saving the message"
	})
}

// do gives a command and waits for its outcome.
func (l *lab) do(cmd ops.Command) ops.Request {
	l.t.Helper()
	cmd.By = ops.Actor{Via: "socket", UID: os.Getuid(), PID: os.Getpid()}
	req, err := l.g.Do(context.Background(), cmd)
	if err != nil {
		l.t.Fatalf("%s %s was refused: %v", cmd.Verb, cmd.Target, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err = l.g.Request(ctx, req.ID, true)
	if err != nil || !req.State.Over() {
		l.t.Fatalf("%s %s has not ended: %+v, %v", cmd.Verb, cmd.Target, req, err)
	}
	return req
}

// spawn starts a process outside of any turn, as a bug in teardown would.
func (l *lab) spawn(ctx context.Context) (pid int, err error) {
	p, err := l.g.procs.Spawn(ctx, process.Spec{Argv: []string{"sleep", "300"}, Session: "api:user:late", Policy: process.PolicySession, Dir: l.dir})
	if err != nil {
		return 0, err
	}
	return p.PID(), nil
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "gateway.db"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// crash leaves the row of a life that ended without a word.
func crash(t *testing.T, dir string, row store.Life) {
	t.Helper()
	st := open(t, dir)
	if err := errors.Join(st.PutLife(context.Background(), row), st.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
}

// interruptedTurn leaves a turn that was running when its life ended.
func interruptedTurn(t *testing.T, dir, key, id string) {
	t.Helper()
	st := open(t, dir)
	now := time.Now()
	s := store.Session{Key: key, ID: id, Platform: "api", State: ops.SessionRunning, CreatedAt: now, LastActivityAt: now}
	turn := store.Turn{ID: "cut-off", SessionID: id, Life: "crashed", StartedAt: now, State: store.TurnRunning}
	err := st.BeginTurn(context.Background(), s, turn, store.Message{Role: "user", Content: "do it", At: now})
	if err := errors.Join(err, st.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
}

// notesTo is a model that sends all messages of its request to notes.
func notesTo(notes chan<- string) model.Provider {
	return script(func(_ context.Context, req model.Request) (model.Response, error) {
		var all []string
		for _, m := range req.Messages {
			all = append(all, m.Content)
		}
		notes <- strings.Join(all, "\n")
		return says("ok"), nil
	})
}
