package control

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestALongPollAnswersWhenTheRequestEndsOrItsTimeIsUp(t *testing.T) {
	f := newFake()
	over := make(chan struct{})
	f.request = func(ctx context.Context, id string, wait bool) (ops.Request, error) {
		req := ops.Request{ID: id, State: ops.RequestRunning, Verb: ops.VerbKill, At: testTime}
		if !wait {
			return req, nil
		}
		select {
		case <-over:
			req.State = ops.RequestDone
		case <-ctx.Done():
		}
		return req, nil
	}
	r := serve(t, f)
	if status, body := r.ask(t, "GET", "/v1/requests/r9?wait_ms=20", ""); status != 200 || !strings.Contains(body, `"running"`) {
		t.Fatalf("got %d %s", status, body)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if req, err := r.client.Request(ctx, "r9", true); err != nil || req.State != ops.RequestRunning {
		t.Fatalf("a wait that its caller ends gave %+v, %v; promised the current state", req, err)
	}
	close(over)
	if req, err := r.client.Request(context.Background(), "r9", true); err != nil || req.State != ops.RequestDone {
		t.Fatalf("got %+v, %v", req, err)
	}
}

func TestAClosingServerEndsLongPollsAndIdleConnectionsAtOnce(t *testing.T) {
	f := newFake()
	asked := make(chan struct{})
	f.request = func(ctx context.Context, id string, wait bool) (ops.Request, error) {
		if wait {
			close(asked)
			<-ctx.Done()
		}
		return ops.Request{ID: id, State: ops.RequestRunning, Verb: ops.VerbKill, At: testTime}, nil
	}
	r := serve(t, f)
	mute, err := net.Dial("unix", r.path) // connects and never asks: net/http alone would wait 5 s for it
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	type answer struct {
		status int
		body   string
	}
	got := make(chan answer, 1)
	go func() {
		status, body := r.ask(t, "GET", "/v1/requests/r9?wait_ms=60000", "")
		got <- answer{status, body}
	}()
	<-asked
	began := time.Now()
	r.stop()
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("the shutdown took %v", d)
	}
	if a := <-got; a.status != 200 || !strings.Contains(a.body, "running") {
		t.Errorf("the long poll got %d %s, promised the current state", a.status, a.body)
	}
	if _, err := os.Lstat(r.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestAConsoleThatNeverReturnsDoesNotHoldTheStopUp(t *testing.T) {
	f := newFake()
	entered, release := make(chan struct{}), make(chan struct{})
	f.snapshot = func(context.Context) (ops.Snapshot, error) { close(entered); <-release; return ops.Snapshot{}, nil }
	dir := t.TempDir()
	s := NewServer(Options{Console: f, Path: filepath.Join(dir, homeSocket)})
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	c := NewClient(s.opt.Path, ClientOptions{})
	defer c.Close()
	asked := make(chan error, 1)
	go func() { _, err := c.Snapshot(context.Background()); asked <- err }()
	<-entered
	began := time.Now()
	cancel()
	err := <-served
	if d := time.Since(began); err == nil || d > 30*time.Second {
		t.Errorf("serve ended after %v with %v; promised an error that says what was abandoned, within 0.6 s", d, err)
	}
	if err := <-asked; !ops.HasCode(err, ops.CodeUnavailable) {
		t.Errorf("the caller got %v", err)
	}
	close(release)
}
