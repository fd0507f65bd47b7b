package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/tool"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/mcptest"
	"gatewaytui/fixtures/soak"
	"gatewaytui/fixtures/syncbuf"
)

// TestMain lets the test binary be the tool server of the tests, or the client of the conformance suite.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == mcptest.Argument {
		mcptest.Main(os.Args[2:])
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == conformanceClient {
		if err := beConformanceClient(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// late is what a busy machine may add to a bound.
const late = 20 * time.Second

// stage is a set of servers over a registry of its own.
type stage struct {
	t     testing.TB
	set   *Set
	procs *process.Registry
	log   *syncbuf.Buffer
	files *folder

	mu     sync.Mutex
	events []ops.Server
}

// newStage returns a set with these servers, which is closed with the test: nothing may be left then.
func newStage(t testing.TB, change func(*Options), definitions ...Definition) *stage {
	t.Helper()
	soak.Long(t) // it starts processes
	s := &stage{t: t, log: &syncbuf.Buffer{}, files: &folder{}}
	life := fmt.Sprintf("mcp-tests-%d-%d", os.Getpid(), time.Now().UnixNano())
	s.procs = process.New(process.Options{
		Life: life, HomeID: life, KillGrace: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pass: func(name, _ string) bool { return name == "PATH" || name == "HOME" || name == "GORACE" },
	})
	if err := s.procs.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Spawn: s.procs.Spawn, Folder: t.TempDir(), Workdir: t.TempDir(), KillGrace: 200 * time.Millisecond, Files: s.files,
		Log: slog.New(slog.NewTextHandler(s.log, nil)),
		OnState: func(row ops.Server) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, row)
		},
	}
	if change != nil {
		change(&o)
	}
	s.set = New(o)
	s.set.Use(definitions)
	t.Cleanup(s.close)
	return s
}

func (s *stage) close() {
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	if err := s.set.CloseAll(ctx); err != nil {
		s.t.Error(err)
	}
	s.empty()
	if err := s.procs.Close(ctx); err != nil {
		s.t.Error(err)
	}
}

// empty waits until the registry has seen the end of each tree. A kill is verified a moment before the last row goes.
func (s *stage) empty() {
	s.t.Helper()
	eventually.True(s.t, "no process tree is left", func() bool { return s.procs.Count() == 0 })
}

// folder keeps files in memory.
type folder struct {
	wrong error // of each picture
	mu    sync.Mutex
	kept  map[string]string
}

func (f *folder) Picture(content []byte) (model.Image, error) {
	return model.Image{URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString(content)}, f.wrong
}

func (f *folder) Keep(session, name string, content []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil {
		f.kept = map[string]string{}
	}
	path := filepath.Join("received", session, name)
	f.kept[path] = string(content)
	return path, nil
}

// playing is a definition of a server that behaves so.
func playing(name string, behaviours ...string) Definition {
	return Definition{
		Name: name, Command: append([]string{os.Args[0], mcptest.Argument}, behaviours...), Scope: ops.ServerOfSession, Trusted: []string{"*"}, Tools: []string{"*"},
		Timeout: 30 * time.Second, Idle: 10 * time.Minute,
	}
}

// tools are the tools of a server for a session, by the server's names.
func (s *stage) tools(server, session string) map[string]tool.Tool {
	s.t.Helper()
	all := map[string]tool.Tool{}
	for _, one := range s.set.View([]string{server}, nil).Tools(s.t.Context(), session) {
		all[strings.TrimPrefix(one.Spec().Name, server+"__")] = one
	}
	return all
}

// call calls a tool of a server. arguments is JSON.
func (s *stage) call(server, session, name, arguments string) (string, error) {
	s.t.Helper()
	return s.run(s.t.Context(), s.tools(server, session)[name], session, arguments)
}

func (s *stage) run(ctx context.Context, t tool.Tool, session, arguments string) (string, error) {
	s.t.Helper()
	if t == nil {
		s.t.Fatal("the tool is not offered")
	}
	return t.Run(ctx, tool.Call{Session: session, Turn: "turn", Arguments: json.RawMessage(arguments), Progress: func(string) {}})
}

// must is call for a call that succeeds.
func (s *stage) must(server, session, name, arguments string) string {
	s.t.Helper()
	got, err := s.call(server, session, name, arguments)
	if err != nil {
		s.t.Fatalf("%s__%s: %v", server, name, err)
	}
	return got
}

// row is the one row of a server.
func (s *stage) row(server string) ops.Server {
	s.t.Helper()
	var found []ops.Server
	for _, r := range s.set.Rows() {
		if r.Name == server {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("the server %s has %d rows: %+v", server, len(found), found)
	}
	return found[0]
}

// lines are the lines of a file that a server has written.
func lines(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}
