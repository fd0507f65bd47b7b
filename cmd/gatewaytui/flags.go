package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/text"

	"github.com/spf13/pflag"
)

// configFlag adds --config.
func configFlag(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "config", "", "config `FILE` (default: $GATEWAYTUI_CONFIG, else ~/.config/gatewaytui/config.toml)")
}

// choice is a flag that takes one of some words.
type choice struct {
	value *string
	words []string
}

var _ pflag.Value = choice{}

func (c choice) String() string {
	if c.value == nil { // pflag asks a zero value as well
		return ""
	}
	return *c.value
}

// Set implements pflag.Value.
func (c choice) Set(s string) error {
	if slices.Contains(c.words, s) {
		*c.value = s
		return nil
	}
	hint := ""
	if near := text.Suggest(s, c.words); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return fmt.Errorf("it takes %s%s", strings.Join(c.words, ", "), hint)
}

// Type implements pflag.Value: what the help shows for the value.
func (c choice) Type() string { return strings.Join(c.words, "|") }

// choices is what completion offers.
func (c choice) choices() []string { return c.words }

// span is a flag that takes a Go duration over zero, in milliseconds.
type span struct{ ms *int64 }

var _ pflag.Value = span{}

func (s span) String() string {
	if s.ms == nil || *s.ms == 0 {
		return ""
	}
	return (time.Duration(*s.ms) * time.Millisecond).String()
}

// Set implements pflag.Value.
func (s span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond {
		return fmt.Errorf("it takes a duration from 1ms, such as 30s")
	}
	*s.ms = d.Milliseconds()
	return nil
}

// Type implements pflag.Value.
func (s span) Type() string { return "DURATION" }
