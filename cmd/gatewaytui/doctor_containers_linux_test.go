package main

import (
	"os"
	"path/filepath"
	"testing"

	"gatewaytui/core/doctor"
)

// TR6: what keeps containers from being made is known before the first command, and is said only to those who use them.
func TestTR6_DoctorSaysWhyAContainerCannotBeMade(t *testing.T) {
	a := newAccount(t)
	for _, r := range a.doctor(t).Checks {
		if r.Check == "containers" {
			t.Errorf("a config without containers: %+v", r)
		}
	}
	write(t, filepath.Join(a.dir, ".config", "gatewaytui", "config.toml"), "[environments.box]\nkind = \"container\"\nimage = \"tools:1\"\n")
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	a.doctor(t).has(t, "containers", doctor.Warn, "install Docker or Podman")

	program := filepath.Join(dir, "docker")
	play := func(script string) {
		write(t, program, "#!/bin/sh\n"+script)
		if err := os.Chmod(program, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	play(`echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?" >&2; exit 1`)
	a.doctor(t).has(t, "containers", doctor.Warn, "start the daemon", "Is the docker daemon running?")
	play(`[ "$1" = info ] && { echo "{}"; exit; }; echo "Error response from daemon: No such image: tools:1" >&2; exit 1`)
	a.doctor(t).has(t, "containers", doctor.Warn, "environments.box", "docker pull tools:1")
	play(`echo "{}"`)
	a.doctor(t).has(t, "containers", doctor.OK, "docker answers")
}
