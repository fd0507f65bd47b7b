package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/reload"
)

// edited is a config file that a test edits. Of a plan it applies session.queue_limit alone.
type edited struct {
	t       *testing.T
	path    string
	inForce *config.Loaded
	cfg     config.Config // of the gateway that runs
	model   model.Provider
	build   func() error // nil: Build does not fail

	inside         atomic.Int32 // calls under way
	builds, adopts atomic.Int32
}

// startEdited starts a gateway with a config file.
func startEdited(t *testing.T, change ...func(*setup)) (*lab, *edited) {
	t.Helper()
	f := &edited{t: t, path: filepath.Join(t.TempDir(), "config.toml")}
	f.write("")
	loaded, err := config.Load(config.Options{Path: f.path, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	f.inForce = &loaded
	return start(t, append(change, func(s *setup) {
		f.cfg, f.model = s.cfg, s.model
		s.opts = func(o *Options) { o.Configs = f }
	})...), f
}

// write replaces the file as an editor does.
func (f *edited) write(content string) {
	f.t.Helper()
	next := f.path + ".next"
	if err := errors.Join(os.WriteFile(next, []byte(content), 0o600), os.Rename(next, f.path)); err != nil {
		f.t.Error(err)
	}
}

// alone says when two calls are under way: the methods of Configs are called one at a time.
func (f *edited) alone() (leave func()) {
	if f.inside.Add(1) > 1 {
		f.t.Error("two calls of Configs are under way")
	}
	return func() { f.inside.Add(-1) }
}

func (f *edited) Look() (string, error) {
	defer f.alone()()
	return f.inForce.Look()
}

func (f *edited) InForce() (string, time.Time) {
	defer f.alone()()
	return f.inForce.Digest(), f.inForce.At
}

func (f *edited) Plan() (reload.Plan, error) {
	defer f.alone()()
	file, err := f.inForce.Again()
	if err != nil {
		return reload.Plan{}, err
	}
	return reload.Compare(f.inForce, &file), nil
}

func (f *edited) Build(p reload.Plan) (Next, error) {
	defer f.alone()()
	f.builds.Add(1)
	if f.build != nil {
		if err := f.build(); err != nil {
			return Next{}, err
		}
	}
	cfg := f.cfg
	cfg.Session.QueueLimit = p.Next.Config.Session.QueueLimit
	return Next{Settings: Settings{Config: cfg, Models: pool(f.model)}}, nil
}

func (f *edited) Adopt(p reload.Plan) {
	defer f.alone()()
	f.adopts.Add(1)
	f.inForce = &p.Next
}

// has fails the test unless the gateway has this generation with this queue limit.
func (f *edited) has(l *lab, generation, limit int) {
	f.t.Helper()
	now := l.g.now()
	if now.number != generation || now.Config.Session.QueueLimit != limit || int(f.adopts.Load()) != generation-1 {
		f.t.Errorf("in force is generation %d with the limit %d after %d files, want generation %d with %d", now.number, now.Config.Session.QueueLimit, f.adopts.Load(), generation, limit)
	}
}

const (
	limitSeven = "[session]\nqueue_limit = 7\n"
	limitEight = "[session]\nqueue_limit = 8\n"
)

func TestOP4_AFileThatWasNotLookedAtIsNotApplied(t *testing.T) {
	l, f := startEdited(t)
	before := l.g.now().Config.Session.QueueLimit
	f.write(limitSeven)
	preview, err := l.g.Preview(t.Context(), ops.Command{Verb: ops.VerbReload})
	if err != nil || preview.Seen == "" || len(preview.Applies) != 1 {
		t.Fatalf("the preview is %+v, %v", preview, err)
	}
	f.write(limitEight)
	if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbReload, Expect: preview.Seen}); !ops.HasCode(err, ops.CodeConflict) {
		t.Errorf("the verb: %v", err)
	}
	if _, err := l.g.reloading.Reload(t.Context(), preview.Seen, "the test"); !ops.HasCode(err, ops.CodeConflict) {
		t.Errorf("the reload itself: %v", err)
	}
	f.has(l, 1, before)
	f.write(limitSeven)
	if req := l.do(ops.Command{Verb: ops.VerbReload, Expect: preview.Seen}); req.State != ops.RequestDone {
		t.Errorf("the file that was looked at: %+v", req)
	}
	f.has(l, 2, 7)
}

// The second reload begins after the first and applies the file of that time. A caller who leaves meanwhile is let go.
func TestOP4_ReloadsComeOneAfterTheOther(t *testing.T) {
	l, f := startEdited(t)
	var second sync.WaitGroup
	f.build = func() error {
		if f.builds.Load() > 1 {
			return nil
		}
		f.write(limitEight)
		second.Go(func() {
			if done, err := l.g.reloading.Reload(context.Background(), "", "the second"); err != nil || done.Generation != 3 {
				t.Errorf("the second reload: %+v, %v", done, err)
			}
		})
		gone, leave := context.WithCancel(context.Background())
		leave()
		if _, err := l.g.reloading.Reload(gone, "", "who left"); !errors.Is(err, context.Canceled) {
			t.Errorf("a reload while another runs: %v", err)
		}
		return nil
	}
	f.write(limitSeven)
	if done, err := l.g.reloading.Reload(t.Context(), "", "the first"); err != nil || done.Generation != 2 {
		t.Errorf("the first reload: %+v, %v", done, err)
	}
	second.Wait()
	f.has(l, 3, 8)
}

func TestOP4_AFileThatIsNotValidChangesNothing(t *testing.T) {
	l, f := startEdited(t)
	before := l.g.now()
	for name, content := range map[string]string{
		"half a file": "[session]\nqueue_limit = \n", "an unknown key": limitSeven + "nothing = 1\n", "a value out of bounds": "[session]\nqueue_limit = -1\n",
	} {
		f.write(content)
		if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbReload}); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.write(limitSeven)
	f.build = func() error { return errors.New("a script is missing") }
	if _, err := l.g.reloading.Reload(t.Context(), "", "the test"); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("a file that cannot be built: %v", err)
	}
	if l.g.now() != before || f.adopts.Load() != 0 {
		t.Errorf("another config is in force: %+v", l.g.now().Config.Session)
	}
}

func TestOP4_AToolReloadsNothing(t *testing.T) {
	l, f := startEdited(t)
	before := l.g.now()
	f.write(limitSeven)
	tool := ops.Actor{Via: "socket", Tool: true, Session: "api:user:bob"}
	if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbReload, By: tool}); !ops.HasCode(err, ops.CodeToolCaller) {
		t.Errorf("a tool reloads: %v", err)
	}
	if l.g.now() != before || f.builds.Load() != 0 {
		t.Error("it changed the config in force")
	}
}

func TestOP4_NothingIsReloadedDuringAStop(t *testing.T) {
	during := make(chan error, 1)
	var l *lab
	l, f := startEdited(t, func(s *setup) {
		s.chat.disconnect = func(ctx context.Context) error {
			_, err := l.g.reloading.Reload(ctx, "", "the test")
			during <- err
			return nil
		}
	})
	before := l.g.now()
	f.write(limitSeven)
	l.stop(ops.ModeGraceful)
	if err := <-during; !ops.HasCode(err, ops.CodeStopping) || l.g.now() != before {
		t.Errorf("a reload during the stop: %v", err)
	}
}

// openClients is a provider that counts its open clients.
type openClients struct {
	script
	open *atomic.Int32
}

func (c openClients) New() model.Client {
	c.open.Add(1)
	return openClient{c.script.New(), c.open}
}

type openClient struct {
	model.Client
	open *atomic.Int32
}

func (c openClient) Close() error {
	c.open.Add(-1)
	return c.Client.Close()
}

// A reload and the gateway's close may come at the same time: one client is open before the close, and none after it.
func TestOP4_ModelConnectionsAreReplacedAndClosedAtTheSameTime(t *testing.T) {
	var open atomic.Int32
	var held connections
	use := func() {
		if err := held.Use(pool(openClients{echo(nil), &open})); err != nil {
			t.Error(err)
		}
	}
	use()
	use()
	if n := open.Load(); n != 1 {
		t.Errorf("%d clients are open", n)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(use)
	}
	all.Go(func() {
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	if n := open.Load(); n != 0 {
		t.Errorf("%d clients are open after the close", n)
	}
}
