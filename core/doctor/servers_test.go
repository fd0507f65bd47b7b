package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gatewaytui/core/config"
)

func TestHR1_DoctorSaysWhatAServerLacksToStart(t *testing.T) {
	program := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		server config.Server
		want   []Verdict
	}{
		"a program that is there":                {config.Server{Command: []string{program}}, []Verdict{OK}},
		"a program of PATH":                      {config.Server{Command: []string{"sh"}}, []Verdict{OK}},
		"a program that is not in PATH":          {config.Server{Command: []string{"no-such-program"}}, []Verdict{Warn}},
		"a path without a program":               {config.Server{Command: []string{program + "-other"}}, []Verdict{Warn}},
		"a folder is not a program":              {config.Server{Command: []string{filepath.Dir(program)}}, []Verdict{Warn}},
		"a variable that is not set":             {config.Server{Command: []string{program}, Env: []string{"NOT_SET"}}, []Verdict{Warn}},
		"a header whose variable is set":         {config.Server{URL: "http://127.0.0.1:1", HeadersEnv: config.Variables{"A": "SET"}}, []Verdict{OK}},
		"a header whose variable is not set":     {config.Server{URL: "http://127.0.0.1:1", HeadersEnv: config.Variables{"A": "NOT_SET"}}, []Verdict{Warn}},
		"a preset, which has a check of its own": {config.Server{Preset: config.PresetBrowser}, []Verdict{OK}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &checkup{valid: true, loaded: config.Loaded{Config: config.Config{Servers: map[string]*config.Server{"files": &tc.server}}}, o: Options{Getenv: env("SET", "value")}}
			c.checkServers(t.Context())
			var got []Verdict
			for _, f := range c.findings {
				got = append(got, f.Verdict)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%+v, want %v", c.findings, tc.want)
			}
		})
	}
}
