package main

import (
	"os"
	"path/filepath"
	"testing"

	"gatewaytui/core/doctor"
)

// HR2: what a browser lacks is known before an agent uses it, and is said only to those who have one.
func TestHR2_DoctorSaysWhatABrowserLacks(t *testing.T) {
	a := newAccount(t)
	for _, r := range a.doctor(t).Checks {
		if r.Check == "browsers" {
			t.Errorf("a config without browsers: %+v", r)
		}
	}
	write(t, filepath.Join(a.dir, ".config", "gatewaytui", "config.toml"), "[servers.browser]\npreset = \"browser\"\n")
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	program := func(name string) {
		write(t, filepath.Join(dir, name), "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a.doctor(t).has(t, "browsers", doctor.Warn, "servers.browser", "npm install -g @playwright/mcp@")
	program("playwright-mcp")
	a.doctor(t).has(t, "browsers", doctor.Warn, "servers.browser", "apt-get install chromium")
	program("chromium")
	a.doctor(t).has(t, "browsers", doctor.OK, filepath.Join(dir, "chromium"))
}
