package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what should be at once, on a busy machine.
const patience = 20 * time.Second

// bodyPatience bounds a whole request. An echo of 16 MiB takes 20 s under the race detector on a machine with 8 times its load.
const bodyPatience = time.Minute

// gateway is a receiver that notes what it got and lets take decide about it.
type gateway struct {
	adapter.Door // the api lets its callers in itself
	take         func(ctx context.Context, m adapter.Inbound) error

	mu        sync.Mutex
	got       []adapter.Inbound
	withdrawn []string
	answers   map[string]adapter.Answer
	full      error // of KeepAnswer
}

func (g *gateway) ToolSocket(context.Context, adapter.Socket) (string, bool, error) {
	return "", false, nil
}

func (g *gateway) ToolRefused(ops.Actor, string) {}

func (g *gateway) KeepAnswer(_ context.Context, a adapter.Answer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.full != nil {
		return g.full
	}
	if g.answers == nil {
		g.answers = map[string]adapter.Answer{}
	}
	g.answers[a.ID+a.Owner] = a
	return nil
}

func (g *gateway) KeptAnswer(_ context.Context, id, owner string) (adapter.Answer, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, found := g.answers[id+owner]
	return a, found, nil
}

func (g *gateway) DropAnswer(_ context.Context, id, owner string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, found := g.answers[id+owner]
	delete(g.answers, id+owner)
	return found, nil
}

func (g *gateway) Withdraw(session, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.withdrawn = append(g.withdrawn, session+" "+id)
}

func (g *gateway) Receive(ctx context.Context, m adapter.Inbound) (string, error) {
	g.mu.Lock()
	g.got = append(g.got, m)
	id := fmt.Sprintf("message%d", len(g.got))
	g.mu.Unlock()
	return id, g.take(ctx, m)
}

// messages are those that were received so far.
func (g *gateway) messages() []adapter.Inbound {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]adapter.Inbound(nil), g.got...)
}

// echo answers at once with what was said.
func echo(_ context.Context, m adapter.Inbound) error {
	m.Responder.Done("echo: "+m.Text, nil)
	return nil
}

// says answers at once with pieces that make up the answer.
func says(pieces ...string) func(context.Context, adapter.Inbound) error {
	return func(_ context.Context, m adapter.Inbound) error {
		for _, p := range pieces {
			m.Responder.Delta(p)
		}
		m.Responder.Done(strings.Join(pieces, ""), nil)
		return nil
	}
}

// fails takes the message, and ends its turn without an answer.
func fails(err error) func(context.Context, adapter.Inbound) error {
	return func(_ context.Context, m adapter.Inbound) error {
		m.Responder.Done("", err)
		return nil
	}
}

// holds takes the message, hands its responder over, and leaves it unanswered.
func holds() (take func(context.Context, adapter.Inbound) error, held chan adapter.Responder) {
	held = make(chan adapter.Responder, 16)
	return func(_ context.Context, m adapter.Inbound) error {
		held <- m.Responder
		return nil
	}, held
}

// fixture is a platform that listens on loopback, and a client of it.
type fixture struct {
	t        testing.TB
	platform *Platform
	conn     *conn
	gateway  *gateway
	base     string
	client   *http.Client
}

// start connects a platform. It is taken down with the test.
func start(t testing.TB, o Options, take func(context.Context, adapter.Inbound) error) *fixture {
	t.Helper()
	g := &gateway{take: take}
	return startWith(t, o, g, g, func(*Platform) {})
}

// startWith is start with a receiver that notes in g what it got, of a platform that is prepared first.
func startWith(t testing.TB, o Options, g *gateway, r adapter.Receiver, prepare func(*Platform)) *fixture {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Model == "" {
		o.Model = "agent"
	}
	f := &fixture{t: t, platform: New(o), gateway: g}
	prepare(f.platform)
	c, err := f.platform.Connect(t.Context(), r)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	f.conn = c.(*conn)
	f.base = "http://" + f.platform.Addr()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	f.client = &http.Client{Transport: transport, Timeout: bodyPatience}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(c.CancelTasks(ctx), c.Disconnect(ctx)); err != nil {
			t.Errorf("take the platform down: %v", err)
		}
	})
	return f
}

// request makes a request; header are pairs of name and value.
func (f *fixture) request(method, path, body string, header ...string) *http.Request {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.base+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (f *fixture) do(r *http.Request) answer {
	f.t.Helper()
	resp, err := f.client.Do(r)
	if err != nil {
		f.t.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	return f.read(resp)
}

func (f *fixture) read(resp *http.Response) answer {
	f.t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatalf("read the answer: %v", err)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

// chat posts a chat completion.
func (f *fixture) chat(body string, header ...string) answer {
	f.t.Helper()
	return f.do(f.request(http.MethodPost, "/v1/chat/completions", body, header...))
}

// saying is a body with one user message.
func saying(text string) string {
	return body(text, nil)
}

func streaming(text string) string {
	return body(text, map[string]any{"stream": true})
}

func body(text string, more map[string]any) string {
	all := map[string]any{"model": "any", "messages": []any{map[string]string{"role": "user", "content": text}}}
	for k, v := range more {
		all[k] = v
	}
	out, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// whole is the answer of a plain completion.
func (a answer) whole(t testing.TB) string {
	t.Helper()
	var c completion
	if a.status != http.StatusOK || json.Unmarshal(a.body, &c) != nil || len(c.Choices) != 1 || c.Choices[0].Message == nil || c.Choices[0].Message.Content == nil {
		t.Fatalf("no completion, but %d %s", a.status, a.body)
	}
	return *c.Choices[0].Message.Content
}

// wireError is an error in OpenAI's shape, read strictly.
type wireError struct {
	Message *string `json:"message"`
	Type    *string `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// failure reads an error body and fails the test if it is not in OpenAI's shape.
func failure(t testing.TB, data []byte) wireError {
	t.Helper()
	var e struct {
		Error *wireError `json:"error"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil || e.Error == nil || e.Error.Message == nil || e.Error.Type == nil || e.Error.Code == nil {
		t.Fatalf("not an error in OpenAI's shape (%v): %s", err, data)
	}
	for _, member := range []string{`"message"`, `"type"`, `"param"`, `"code"`} {
		if !bytes.Contains(data, []byte(member)) {
			t.Fatalf("the error has no member %s: %s", member, data)
		}
	}
	return *e.Error
}

// refused checks that a is an error with a status and a code.
func (a answer) refused(t testing.TB, status int, code string) wireError {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("the content type of an error is %q: %s", got, a.body)
	}
	e := failure(t, a.body)
	if a.status != status || *e.Code != code {
		t.Errorf("answered %d %s, want %d %s: %s", a.status, *e.Code, status, code, *e.Message)
	}
	return e
}

// events are the data of a stream.
func events(t testing.TB, stream []byte) []string {
	t.Helper()
	var all []string
	for block := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not an event of one data line: %q", block)
		}
		all = append(all, data)
	}
	return all
}

// spoken is the text of a stream's chunks; others are left out.
func spoken(t testing.TB, events []string) string {
	t.Helper()
	var text strings.Builder
	for _, data := range events {
		var c completion
		if json.Unmarshal([]byte(data), &c) != nil {
			continue
		}
		for _, choice := range c.Choices {
			if choice.Delta != nil && choice.Delta.Content != nil {
				text.WriteString(*choice.Delta.Content)
			}
		}
	}
	return text.String()
}

// dial opens a bare connection to the platform.
func (f *fixture) dial() net.Conn {
	f.t.Helper()
	nc, err := net.DialTimeout("tcp", strings.TrimPrefix(f.base, "http://"), patience)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		f.t.Fatal(err)
	}
	return nc
}

// raw is a chat completion as it goes over the wire.
func raw(body string) string {
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// receive takes the next of ch.
func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("did not come within %s: %s", patience, what)
		panic("unreachable")
	}
}
