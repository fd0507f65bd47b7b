package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the linker: -X main.version=1.2.3 -X main.commit=abc.
var (
	version string
	commit  string
)

// buildInfo says which build this is.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// versionInfo is what the linker set, else what the Go command recorded, else "devel" and "unknown".
func versionInfo() buildInfo {
	v := buildInfo{Version: version, Commit: commit, Go: runtime.Version()}
	if b, ok := debug.ReadBuildInfo(); ok {
		if v.Version == "" && b.Main.Version != "(devel)" {
			v.Version = b.Main.Version
		}
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" && v.Commit == "" {
				v.Commit = s.Value
			}
		}
	}
	if v.Version == "" {
		v.Version = "devel"
	}
	if v.Commit == "" {
		v.Commit = "unknown"
	}
	return v
}

func (v buildInfo) String() string {
	return fmt.Sprintf("gatewaytui %s, commit %s, %s", v.Version, v.Commit, v.Go)
}

func versionVerb(p *program) *cobra.Command {
	return p.verb(&cobra.Command{
		Use: "version", Short: "print version, commit and Go version", Example: "  gatewaytui version --json",
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo()
			p.show(v, func() { p.say("%s", v.String()) })
			return nil
		},
	})
}
