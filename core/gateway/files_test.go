package gateway

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// courier is a platform whose connections carry files.
type courier struct {
	*platform
	fetch func(ctx context.Context) ([]byte, error)
	files chan adapter.OutgoingFile
}

func (*courier) Abilities() []adapter.Ability {
	return []adapter.Ability{adapter.AbilityFilesIn, adapter.AbilityFilesOut}
}

func (p *courier) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	c, err := p.platform.Connect(ctx, r)
	return courierConn{c.(*conn), p}, err
}

type courierConn struct {
	*conn
	p *courier
}

func (c courierConn) Fetch(ctx context.Context, _ string, _ int64) ([]byte, error) {
	return c.p.fetch(ctx)
}

func (c courierConn) SendFile(_ context.Context, _ string, f adapter.OutgoingFile) (adapter.Sent, error) {
	c.p.files <- f
	return adapter.Sent{IDs: []string{""}}, nil
}

// mailing starts a gateway with a courier named mail.
func mailing(t *testing.T, fetch func(ctx context.Context) ([]byte, error), change ...func(*setup)) (*lab, *courier) {
	p := &courier{platform: &platform{name: "mail"}, fetch: fetch, files: make(chan adapter.OutgoingFile, 4)}
	return start(t, append(change, func(s *setup) { s.platforms = append(s.platforms, p) })...), p
}

func (p *courier) receive(t *testing.T, text string, files ...adapter.File) {
	t.Helper()
	if _, err := p.receiver.Receive(t.Context(), adapter.Inbound{Adapter: "mail", Session: "mail:dm:1", User: "ann", Target: "1", Text: text, Files: files}); err != nil {
		t.Fatal(err)
	}
}

// CV9, D11: /stop ends a turn that fetches a file of a platform that hangs. What its user wrote stays in the conversation.
func TestCV9_AStopEndsATurnThatFetchesAFile(t *testing.T) {
	fetches, hang := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(hang) })
	l, mail := mailing(t, func(context.Context) ([]byte, error) {
		fetches <- struct{}{}
		<-hang // it ignores its context, and is abandoned
		return nil, nil
	})
	mail.receive(t, "look", adapter.File{Name: "a.pdf", Type: "application/pdf"})
	<-fetches
	if v, running := l.g.table.Running("mail:dm:1"); !running || v.Doing != "fetching a file" {
		t.Errorf("the turn is %+v", v)
	}
	began := time.Now()
	mail.receive(t, "/stop")
	l.wait("both are answered", func() bool { return len(mail.messages()) == 2 })
	if took := time.Since(began); took > patience/2 {
		t.Errorf("the stop took %s", took)
	}
	page, err := l.g.Transcript(t.Context(), "mail:dm:1", ops.MessageQuery{})
	if err != nil || len(page.Items) == 0 || page.Items[0].Text != "look\n\n[File \"a.pdf\": not fetched, because the turn was interrupted]" {
		t.Errorf("the conversation has %+v, %v; the chat %q", page.Items, err, mail.messages())
	}
	mail.receive(t, "go on")
	l.wait("the next message has its answer", func() bool { return len(mail.messages()) == 3 })
}

// CV9: what was not taken is said in the chat and to the model, and the message is answered.
func TestCV9_AFileThatIsRefusedIsSaidAndTheMessageAnswered(t *testing.T) {
	l, mail := mailing(t, func(context.Context) ([]byte, error) { return nil, &adapter.RefusedError{Why: "the file is gone"} })
	mail.receive(t, "look", adapter.File{Name: "a.pdf"})
	l.wait("the notice and the answer are there", func() bool { return len(mail.messages()) == 2 })
	all := strings.Join(mail.messages(), "\n")
	for _, want := range []string{`1: I could not take everything. File "a.pdf": the file is gone.`, "1: you said look\n\n[File \"a.pdf\": not taken, because the file is gone]"} {
		if !strings.Contains(all, want) {
			t.Errorf("the chat has\n%s\nnot %q", all, want)
		}
	}
}

// CV9: a file goes to the chat that asked for it, before the answer; a caller who gets no files learns that from the model.
func TestCV9_TheToolSendsAFileToItsChatAlone(t *testing.T) {
	var result atomic.Pointer[string]
	l, mail := mailing(t, nil, func(s *setup) {
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			if text, answered := lastUser(req); !answered {
				return callsTool("send_file", arguments(map[string]any{"path": text, "caption": "here"})), nil
			}
			result.Store(&req.Messages[len(req.Messages)-1].Content)
			return says("done"), nil
		})
	})
	if err := os.WriteFile(filepath.Join(l.dir, "secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mail.receive(t, "missing.txt")
	l.wait("it has its answer", func() bool { return len(mail.messages()) == 1 })
	if got := *result.Load(); !strings.Contains(got, "there is no such file or folder in the work folder") {
		t.Errorf("the model reads %s", got)
	}
	if r := <-l.send("api:user:bob", "secret"); r.err != nil || !strings.Contains(*result.Load(), "held over api, which takes no files") {
		t.Errorf("%v; the model reads %s", r.err, *result.Load())
	}
	select {
	case f := <-mail.files:
		t.Errorf("%s was sent", f.Name)
	default:
	}
}
