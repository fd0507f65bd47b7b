package control

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/fixtures/shortdir"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("CONTROL_TEST_CONNECT"); path != "" {
		os.Exit(connector(path))
	}
	if path := os.Getenv("CONTROL_TEST_IMPOSTOR"); path != "" {
		os.Exit(impostor(path))
	}
	if path := os.Getenv("CONTROL_TEST_PROBE"); path != "" {
		os.Exit(probe(path))
	}
	goleak.VerifyTestMain(m)
}

// running is a server that answers until the test ends.
type running struct {
	path   string
	server *Server
	client *Client
	stop   context.CancelFunc
	served chan error
}

func serve(t *testing.T, f *fake, change ...func(*Options)) *running {
	t.Helper()
	dir := shortdir.New(t)
	opt := Options{Console: f, Path: filepath.Join(dir, "control.sock"), Life: "01LIFE"}
	for _, c := range change {
		c(&opt)
	}
	r := start(t, opt)
	return r
}

func start(t *testing.T, opt Options) *running {
	t.Helper()
	r := &running{path: opt.Path, server: NewServer(opt), served: make(chan error, 1)}
	if err := r.server.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.served <- r.server.Serve(ctx) }()
	r.client = NewClient(opt.Path, ClientOptions{})
	t.Cleanup(func() {
		r.client.Close()
		cancel()
		if err := r.ended(); err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	return r
}

// ended is Serve's error; it may be asked more than once.
func (r *running) ended() error {
	select {
	case err := <-r.served:
		r.served <- err
		return err
	case <-time.After(10 * time.Second):
		return errors.New("serve did not end within 10 s of its context")
	}
}
