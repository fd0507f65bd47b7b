// Package setup is the guided first configuration (OP5): it asks a person a few questions, tries each answer that can be tried, and
// writes the config.
//
// What it promises: nothing is written before the last question is answered, and then the config is replaced in one step; what no
// answer is about stays as it was, comments too; the file before is kept next to it. A secret goes into a file of its own (0600) or
// stays in its variable, and is never in the config, in a draft or on the screen. Answers that were given before an interruption are
// kept as a draft, and the next setup begins with them. A second setup offers what is there, and enter keeps it.
//
// setup.go has the order of the questions, talk.go how one is put, save.go what is written. The other files have a question each. What
// is tried with a network or a process is behind Checks.
package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatewaytui/core/config"
	"gatewaytui/core/term"
)

// Options are what a setup is about.
type Options struct {
	// Home is the gateway's home, Config its config file, which may not exist. Both are absolute.
	Home, Config string
	// Running says that a gateway runs on the home.
	Running bool
	// Getenv reads the environment of the gateway.
	Getenv func(string) string
	Talk   Talk
	Checks Checks
}

// Result is what a setup came to.
type Result struct {
	// Changed says that the config or a secret is another one now.
	Changed bool
	// Scripted says that the model plays a script.
	Scripted bool
	// Bot is the name of the Telegram bot, without the @; empty: there is none, or it is not known.
	Bot string
	// Variables are those that hold secrets, which a service manager does not have by itself.
	Variables []string
}

// setup is one run.
type setup struct {
	Options
	base   []byte        // the config file; nil: there is none
	now    config.Loaded // the config that answers begin with: that of the draft, else of the file
	text   []byte        // the text of now
	agreed []config.Setting
	// secrets are the files to be written, by their paths.
	secrets map[string]string
	typed   secret // the key of the model in the try before
	result  Result
}

// Run asks the questions and writes the config. An error of the context means that nothing was written; the answers so far are in
// the draft. ErrDeclined means the same for a person who answered no in the end.
func Run(ctx context.Context, o Options) (Result, error) {
	s := &setup{Options: o, secrets: map[string]string{}}
	if err := s.begin(); err != nil {
		return Result{}, err
	}
	steps := []struct {
		title string
		ask   func(context.Context) error
	}{
		{"Which model answers?", s.askModel},
		{"Where do people write to it?", s.askPlatform},
		{"Where may it run commands?", s.askCommands},
		{"What may it spend?", s.askBudget},
	}
	for i, step := range steps {
		s.say("")
		s.say("%d of %d  %s", i+1, len(steps)+1, step.title)
		if err := step.ask(ctx); err != nil {
			return Result{}, s.giveUp(err)
		}
	}
	s.say("")
	s.say("%d of %d  Write and start?", len(steps)+1, len(steps)+1)
	if err := s.finish(ctx); err != nil {
		return Result{}, s.giveUp(err)
	}
	return s.result, nil
}

// begin reads what is there.
func (s *setup) begin() error {
	if target, err := filepath.EvalSymlinks(s.Config); err == nil {
		s.Config = target // a link to the file stays one
	}
	base, err := os.ReadFile(s.Config)
	switch {
	case os.IsNotExist(err):
	case err != nil:
		return fmt.Errorf("read the config: %w", err)
	default:
		if s.now, err = config.Load(config.Options{Path: s.Config}); err != nil {
			return err
		}
		s.base, s.text = base, base
	}
	drafted := s.readDraft()
	if s.text == nil {
		if s.now, err = config.Load(config.Options{Environ: withoutFile(os.Environ())}); err != nil {
			return err
		}
	}
	s.say("This asks for what a gateway needs, and ends with a message to the agent.")
	s.say("Enter takes what stands in [brackets]. Nothing is written before the last question; ctrl+c leaves.")
	s.say("")
	s.say("  home    %s   (another: --home DIR)", s.Home)
	note := "will be made"
	if s.base != nil {
		note = "is there, and keeps what you do not change"
	}
	s.say("  config  %s   %s (another: --config FILE)", s.Config, note)
	if drafted {
		s.say("  An earlier setup was interrupted: its answers are offered again.")
	}
	return nil
}

// withoutFile is an environment in which a config is the embedded default and what variables change of it.
func withoutFile(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return slices.Contains([]string{"HOME", "XDG_CONFIG_HOME", "GATEWAYTUI_CONFIG"}, name)
	})
}

// set notes what an answer means for a key. The last one counts.
func (s *setup) set(value any, path ...string) {
	s.unset(path...)
	s.agreed = append(s.agreed, config.Setting{Path: path, Value: value})
}

// unset takes back what an earlier answer meant for a key.
func (s *setup) unset(path ...string) {
	s.agreed = slices.DeleteFunc(s.agreed, func(c config.Setting) bool { return slices.Equal(c.Path, path) })
}

// changes are the settings that the file does not have already.
func (s *setup) changes() []config.Setting {
	return slices.DeleteFunc(slices.Clone(s.agreed), func(c config.Setting) bool { return c.In(s.base) })
}

// say prints a line.
func (s *setup) say(format string, args ...any) { s.Talk.Say(fmt.Sprintf(format, args...)) }

// shown is text from outside, for a line.
func shown(text string) string { return term.Clean(term.Redact(text), 300) }
