package main

import (
	"os"
	"path/filepath"
	"testing"

	"gatewaytui/core/doctor"
)

func TestHR7_DoctorSaysThatTheProgramOfAnAgentIsMissing(t *testing.T) {
	a := newAccount(t)
	for _, r := range a.doctor(t).Checks {
		if r.Check == "external agents" {
			t.Errorf("a config without external agents: %+v", r)
		}
	}
	write(t, filepath.Join(a.dir, ".config", "gatewaytui", "config.toml"), "[agents.coder]\nkind = \"acp\"\ncommand = [\"some-agent\", \"acp\"]\n")
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	a.doctor(t).has(t, "external agents", doctor.Warn, "agents.coder.command", "install it")
	program := filepath.Join(dir, "some-agent")
	write(t, program, "#!/bin/sh\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	a.doctor(t).has(t, "external agents", doctor.OK, program)
}
