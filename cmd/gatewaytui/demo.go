package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gatewaytui/core/adapter/demo"
	"gatewaytui/core/config"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

// A demo (--demo) is harmless: it has a home of its own, reads neither the config file nor GATEWAYTUI_ variables, connects
// to no real platform, calls no model, and listens on a free port of the loopback address (TF8). Its home is a fresh
// folder that is removed when the demo ends, unless --home names one.

// demoFile marks a home as a demo's. Its text is demoTemporary for one that goes with its demo.
const (
	demoFile      = "demo"
	demoTemporary = "temporary\n"
	demoKept      = "kept\n"
	demoPrefix    = "gatewaytui-demo-"
)

// Settings of a demo that differ from the defaults: a chat that gets stuck is called so within seconds, a stop waits for
// made-up people for no minute, and leaves time to look at the platform that hangs.
const (
	demoStall   = 4 * time.Second
	demoDrain   = 10 * time.Second
	demoAdapter = 15 * time.Second
)

// demoConfig returns the config of a demo: the defaults. It reads no files and no variables.
func demoConfig(o runOptions) (config.Loaded, error) {
	if o.Config != "" {
		return config.Loaded{}, wrongUsage("leave one of them out; --demo-platforms adds made-up platforms to your own config", "--demo reads no config, and --config names one")
	}
	loaded, err := config.Load(config.Options{Environ: []string{}})
	if err != nil {
		return loaded, err
	}
	c := &loaded.Config
	c.Adapters.API.Listen = "127.0.0.1:0"
	c.Agent.StallWarn.Duration = demoStall
	c.Shutdown.DrainTimeout.Duration = demoDrain
	c.Shutdown.AdapterTimeout.Duration = demoAdapter
	return loaded, nil
}

// stage is the home that a demo plays in.
type stage struct {
	home string
	// temporary homes are removed when the demo ends.
	temporary bool
}

// newStage finds the home of a demo. named is --home, empty for a fresh folder. A folder that is neither empty nor a demo's
// home is refused, so that no made-up chat gets into a real store.
func newStage(named string, getenv func(string) string) (*stage, error) {
	if named == "" {
		base := getenv("XDG_RUNTIME_DIR")
		if fi, err := os.Stat(base); !filepath.IsAbs(base) || err != nil || !fi.IsDir() {
			base = os.TempDir()
		}
		removeKilled(base)
		dir, err := os.MkdirTemp(base, demoPrefix)
		if err != nil {
			return nil, fmt.Errorf("make a home for the demo: %w", err)
		}
		return &stage{home: dir, temporary: true}, nil
	}
	dir, err := instance.Resolve(named, getenv)
	if err != nil {
		return nil, err
	}
	s := &stage{home: dir}
	text, err := os.ReadFile(filepath.Join(dir, demoFile))
	if err == nil {
		s.temporary = string(text) == demoTemporary
		return s, nil
	}
	if err := instance.CheckHome(dir); err != nil { // no gateway's home
		return nil, &outcome{exitConfig, err}
	}
	if entries, err := os.ReadDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		return nil, wrongUsage("leave --home out: a demo makes a home of its own and removes it at its end", "--demo uses only an empty folder or the home of an earlier demo, and %s is neither", dir)
	}
	return s, nil
}

// removeKilled removes the temporary homes in base of demos that were killed. It takes only the user's own folders that are
// marked as such, whose pid file names a process that is gone and whose lock is free. A demo that restarts, or has not
// started yet, has no pid file. Errors leave a folder where it is.
func removeKilled(base string) {
	found, _ := filepath.Glob(filepath.Join(base, demoPrefix+"*")) // a pattern that cannot be read finds none
	for _, dir := range found {
		if !wasKilled(dir) {
			continue
		}
		home, err := instance.Open(dir)
		if err != nil {
			continue
		}
		lock, err := home.Hold()
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Release()
	}
}

// wasKilled reports whether dir is the temporary home of a demo of this user whose process is gone without removing it.
func wasKilled(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() {
		return false
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return false
	}
	text, err := os.ReadFile(filepath.Join(dir, demoFile))
	if err != nil || string(text) != demoTemporary {
		return false
	}
	found, err := instance.Locate(dir)
	return err == nil && found.Record.PID != 0 && found.Known && !found.Alive
}

// open marks the home, which must be open, as a demo's.
func (s *stage) open() error {
	if s == nil {
		return nil
	}
	text := demoKept
	if s.temporary {
		text = demoTemporary
	}
	if err := os.WriteFile(filepath.Join(s.home, demoFile), []byte(text), 0o600); err != nil {
		return fmt.Errorf("mark the home of the demo: %w", err)
	}
	return nil
}

// close removes a temporary home.
func (s *stage) close() {
	if s != nil && s.temporary && strings.HasPrefix(filepath.Base(s.home), demoPrefix) {
		_ = os.RemoveAll(s.home) // what is left in a runtime or temporary folder is removed some day
	}
}

// farewell is what a demo says at its end: what the stop has shown, and where its home is.
func (s *stage) farewell(report ops.Shutdown, hangs []string) []string {
	var lines []string
	for _, ph := range report.Phases {
		for _, it := range ph.Items {
			if it.Kind != "adapter" || it.State != ops.StepTimedOut && it.State != ops.StepSkipped {
				continue
			}
			for _, name := range hangs {
				if name == it.ID {
					lines = append(lines, "That was a platform that never answered ("+name+").", "Without the bound it would hang for ever.",
						"Next: run the demo again with `gatewaytui attach` in a second terminal,", "or start a gateway of your own with `gatewaytui`.")
				}
			}
		}
	}
	if s.temporary {
		return append(lines, "The demo's home is removed; your own home and config were not touched.")
	}
	return append(lines, "The demo's home is "+s.home+"; `gatewaytui --demo --home` with it goes on there.")
}

// roles are the made-up platforms that the flags ask for: those that are named, else the scene of a demo.
func roles(o runOptions) ([]demo.Role, error) {
	if o.DemoPlatforms == "" {
		if o.Demo {
			return demo.Scene(), nil
		}
		return nil, nil
	}
	specs, err := demo.Parse(o.DemoPlatforms)
	if err != nil {
		return nil, &outcome{exitUsage, err}
	}
	var out []demo.Role
	for _, s := range specs {
		out = append(out, demo.Role{Spec: s})
	}
	return out, nil
}

// demo is what a demo shows about itself; nil where the gateway is none.
func (p parts) demo(roles []demo.Role) func() *ops.Demo {
	if p.talk == nil {
		return nil
	}
	hangs := demo.Hangs(roles)
	return func() *ops.Demo { return &ops.Demo{Hangs: hangs, Talk: p.talk.Lines()} }
}

// behaviours lists what a made-up platform can be told to do, for the help.
func behaviours() string {
	var names []string
	for _, b := range demo.Behaviours() {
		names = append(names, b.Name)
	}
	return strings.Join(names, ", ")
}
