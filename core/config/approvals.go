package config

import (
	"cmp"
	"fmt"
	"path/filepath"

	"gatewaytui/core/fence"
)

// approvalRules says what is wrong with a list of rules; empty: nothing is.
func approvalRules(texts []string, parse func(string) (fence.Rule, error)) string {
	for _, text := range texts {
		if _, err := parse(text); err != nil {
			return fmt.Sprintf("holds the rule %s, which %v", quote(text), err)
		}
	}
	return ""
}

// Fence judges the commands that run in an environment on this config. home is the folder of the gateway and work the
// work folder where the config names none; both are absolute. The config is valid, so that its rules are.
func (l *Loaded) Fence(e fence.Environment, home, work string, getenv func(string) string) *fence.Fence {
	c := l.Config
	f := &fence.Fence{Environment: e, Work: filepath.Clean(cmp.Or(c.Tools.Workdir, work)), Home: getenv("HOME"), Own: []string{home}, Links: true}
	for _, file := range append(c.SecretFiles(), l.Path) {
		if abs, err := filepath.Abs(file); file != "" && err == nil {
			f.Own = append(f.Own, abs)
		}
	}
	for _, text := range c.Approvals.Never {
		if r, err := fence.ParseRule(text); err == nil {
			f.Never = append(f.Never, r)
		}
	}
	for _, text := range c.Approvals.Allow {
		if r, err := fence.ParseAllowRule(text); err == nil {
			f.Allow = append(f.Allow, r)
		}
	}
	return f
}
