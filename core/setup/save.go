package setup

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gatewaytui/core/config"
)

// draftEnd ends the name of the file with the answers of a setup that was interrupted, which is a config next to the config.
const draftEnd = ".setup"

func (s *setup) draft() string { return s.Config + draftEnd }

// readDraft begins with the answers of an interrupted setup, unless the config was changed since.
func (s *setup) readDraft() bool {
	draft, err := os.Stat(s.draft())
	if err != nil {
		return false
	}
	if file, err := os.Stat(s.Config); err == nil && file.ModTime().After(draft.ModTime()) {
		_ = os.Remove(s.draft()) // it is about another config
		return false
	}
	text, err := os.ReadFile(s.draft())
	if err != nil {
		return false
	}
	loaded, err := config.Load(config.Options{Path: s.draft()})
	if err != nil {
		return false
	}
	s.now, s.text, s.agreed = loaded, text, config.ChangedSettings(s.base, text)
	return true
}

// giveUp keeps the answers so far for the next setup. It returns err with what was done.
func (s *setup) giveUp(err error) error {
	if len(s.changes()) == 0 {
		return err
	}
	edited, failed := config.Edit(s.base, s.changes())
	if failed == nil {
		failed = config.WriteFile(s.draft(), edited)
	}
	if failed == nil {
		s.say("")
		s.say("Your answers so far are in %s, without secrets; the next setup offers them again.", s.draft())
	}
	return err
}

// finish shows what changes, asks, and writes it.
func (s *setup) finish(ctx context.Context) error {
	changes := s.changes()
	s.result.Changed = len(changes) > 0 || len(s.secrets) > 0 || s.base == nil
	s.show(changes)
	what := "write it, and start the gateway?"
	switch {
	case !s.result.Changed && s.Running:
		what = "send the agent a message?"
	case !s.result.Changed:
		what = "start the gateway?"
	case s.Running:
		what = "write it, and have the gateway that runs take it over?"
	}
	yes, err := s.confirm(ctx, what)
	if err != nil {
		return err
	}
	if !yes {
		return ErrDeclined
	}
	if s.result.Changed {
		return s.save(changes)
	}
	_ = os.Remove(s.draft()) // it says what the config says
	return nil
}

// show says what will be written.
func (s *setup) show(changes []config.Setting) {
	if !s.result.Changed {
		s.say("  The config stays as it is.")
		return
	}
	if len(changes) > 0 {
		s.say("  %s gets", s.Config)
	}
	for _, c := range changes {
		s.say("    %s", shown(c.String()))
	}
	for _, path := range slices.Sorted(maps.Keys(s.secrets)) {
		s.say("  %s gets the secret (0600)", path)
	}
	if s.base != nil && len(changes) > 0 {
		s.say("  The file as it was is kept as %s.", filepath.Base(s.Config)+config.OldEnd)
	}
}

// save writes the secrets and then the config. A config that the gateway would not accept is not written.
func (s *setup) save(changes []config.Setting) error {
	text, err := config.Edit(s.base, changes)
	if err != nil {
		return err
	}
	if s.base == nil {
		text = slices.Concat([]byte("# gatewaytui config example prints every key with its default.\n\n"), text)
	}
	if err := config.WriteFile(s.draft(), text); err != nil {
		return err
	}
	loaded, err := config.Load(config.Options{Path: s.draft()})
	if err != nil {
		return fmt.Errorf("the answers do not make a valid config; the file is unchanged: %w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(s.secrets)) {
		if err := config.WriteFile(path, []byte(s.secrets[path]+"\n")); err != nil {
			return err
		}
	}
	for name, key := range loaded.Config.Credentials(s.Getenv).Models {
		if key.Err != nil { // a gateway would not start
			return fmt.Errorf("the key of the model %s cannot be read; the config is unchanged: %w", name, key.Err)
		}
	}
	if err := config.Replace(s.Config, s.base, text); err != nil {
		return err
	}
	_ = os.Remove(s.draft()) // the next setup sees that it is older than the config
	s.say("  written")
	return nil
}
