// Package demo is what gatewaytui --demo plays in: its config and its home.
//
// What it promises: a demo is harmless. It has a home of its own, reads neither the config file nor GATEWAYTUI_ variables, connects to
// no real platform, calls no model, and listens on a free port of the loopback address (TF8). Its home is a fresh folder that is
// removed when the demo ends, unless --home names one; a folder with a real store in it is refused. The made-up platforms are
// core/adapter/demo.
package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

// markFile marks a home as a demo's. Its text is markTemporary for one that goes with its demo.
const (
	markFile      = "demo"
	markTemporary = "temporary\n"
	markKept      = "kept\n"
	prefix        = "gatewaytui-demo-"
)

// Settings of a demo that differ from the defaults: a chat that gets stuck is called so within seconds, a stop waits for
// made-up people for no minute, and leaves time to look at the platform that hangs.
const (
	stall          = 4 * time.Second
	drain          = 10 * time.Second
	adapterTimeout = 15 * time.Second
)

// Config returns the config of a demo: the defaults. It reads no files and no variables.
func Config() (config.Loaded, error) {
	loaded, err := config.Load(config.Options{Environ: []string{}})
	if err != nil {
		return loaded, err
	}
	c := &loaded.Config
	c.Adapters.API.Listen = "127.0.0.1:0"
	c.Agent.StallWarn.Duration = stall
	c.Shutdown.DrainTimeout.Duration = drain
	c.Shutdown.AdapterTimeout.Duration = adapterTimeout
	c.Jobs = map[string]*config.Job{"report": {
		Schedule: "every 30m", Zone: "UTC", Agent: config.DefaultName, Missed: config.MissedSkip, Prompt: "Say in one line how the harbour is.",
	}}
	return loaded, nil
}

// Home is the home that a demo plays in; nil is none.
type Home struct {
	// Dir is the folder.
	Dir string
	// temporary homes are removed when the demo ends.
	temporary bool
}

// NewHome finds the home of a demo. named is --home, empty for a fresh folder. A folder that is neither empty nor a demo's
// home is refused, so that no made-up chat gets into a real store; the error of another's folder wraps instance.ErrForeign.
func NewHome(named string, getenv func(string) string) (*Home, error) {
	if named == "" {
		base := getenv("XDG_RUNTIME_DIR")
		if fi, err := os.Stat(base); !filepath.IsAbs(base) || err != nil || !fi.IsDir() {
			base = os.TempDir()
		}
		removeKilled(base)
		dir, err := os.MkdirTemp(base, prefix)
		if err != nil {
			return nil, fmt.Errorf("make a home for the demo: %w", err)
		}
		return &Home{Dir: dir, temporary: true}, nil
	}
	dir, err := instance.Resolve(named, getenv)
	if err != nil {
		return nil, err
	}
	s := &Home{Dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, markFile))
	if err == nil {
		s.temporary = string(text) == markTemporary
		return s, nil
	}
	if err := instance.CheckHome(dir); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		return nil, &ops.Error{
			Code: ops.CodeInvalid, Message: "--demo uses only an empty folder or the home of an earlier demo, and " + dir + " is neither",
			Hint: "leave --home out: a demo makes a home of its own and removes it at its end",
		}
	}
	return s, nil
}

// removeKilled removes the temporary homes in base of demos that were killed. It takes only the user's own folders that are
// marked as such, whose pid file names a process that is gone and whose lock is free. A demo that restarts, or has not
// started yet, has no pid file. Errors leave a folder where it is.
func removeKilled(base string) {
	found, _ := filepath.Glob(filepath.Join(base, prefix+"*")) // a pattern that cannot be read finds none
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
	text, err := os.ReadFile(filepath.Join(dir, markFile))
	if err != nil || string(text) != markTemporary {
		return false
	}
	found, err := instance.Locate(dir)
	return err == nil && found.Record.PID != 0 && found.Known && !found.Alive
}

// Mark marks the home, which must be open, as a demo's.
func (s *Home) Mark() error {
	if s == nil {
		return nil
	}
	text := markKept
	if s.temporary {
		text = markTemporary
	}
	if err := os.WriteFile(filepath.Join(s.Dir, markFile), []byte(text), 0o600); err != nil {
		return fmt.Errorf("mark the home of the demo: %w", err)
	}
	return nil
}

// Close removes a temporary home.
func (s *Home) Close() {
	if s != nil && s.temporary && strings.HasPrefix(filepath.Base(s.Dir), prefix) {
		_ = os.RemoveAll(s.Dir) // what is left in a runtime or temporary folder is removed some day
	}
}

// LastLines is what a demo says at its end: what the stop has shown, and where its home is.
func (s *Home) LastLines(report ops.Shutdown, hangs []string) []string {
	var lines []string
	for _, ph := range report.Phases {
		for _, it := range ph.Items {
			if it.Kind == "adapter" && (it.State == ops.StepTimedOut || it.State == ops.StepSkipped) && slices.Contains(hangs, it.ID) {
				lines = append(lines, "That was a platform that never answered ("+it.ID+").", "Without the bound it would hang for ever.",
					"Next: run the demo again with `gatewaytui attach` in a second terminal,", "or start a gateway of your own with `gatewaytui`.")
			}
		}
	}
	if s.temporary {
		return append(lines, "The demo's home is removed; your own home and config were not touched.")
	}
	return append(lines, "The demo's home is "+s.Dir+"; `gatewaytui --demo --home` with it goes on there.")
}
