package main

import (
	"os"
	"path/filepath"
	"testing"

	"gatewaytui/core/doctor"
)

func TestPL4_DoctorSaysThatTheProgramOfAnAdapterOrItsVariableIsMissing(t *testing.T) {
	a := newAccount(t)
	for _, r := range a.doctor(t).Checks {
		if r.Check == "external adapters" {
			t.Errorf("a config without external adapters: %+v", r)
		}
	}
	config := filepath.Join(a.dir, ".config", "gatewaytui", "config.toml")
	write(t, config, "[adapters.mattermost]\ncommand = [\"some-chat\"]\nenv_pass = [\"SOME_CHAT_TOKEN\"]\n")
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	missing := a.doctor(t)
	missing.has(t, "external adapters", doctor.Warn, "adapters.mattermost.command", "install it")
	missing.has(t, "external adapters", doctor.Warn, "the environment variable SOME_CHAT_TOKEN, which is not set here", "set it")
	program := filepath.Join(dir, "some-chat")
	write(t, program, "#!/bin/sh\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOME_CHAT_TOKEN", "a-token-of-some-chat")
	there := a.doctor(t)
	there.has(t, "external adapters", doctor.OK, program)
	for _, r := range there.Checks {
		if r.Check == "external adapters" && r.Verdict != doctor.OK {
			t.Errorf("it has what it needs, and doctor says %+v", r)
		}
	}
	write(t, config, "[adapters.mattermost]\nenabled = false\ncommand = [\"some-other-chat\"]\n")
	for _, r := range a.doctor(t).Checks {
		if r.Check == "external adapters" {
			t.Errorf("a disabled adapter: %+v", r)
		}
	}
}
