package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gatewaytui/fixtures/eventually"
)

// TestScripts runs the verbs as a shell would, each script in a folder and on a home of its own.
func TestScripts(t *testing.T) {
	path := programFolder(t) + string(filepath.ListSeparator) + os.Getenv("PATH")
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "fixtures", "verbs"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", path)
			env.Setenv("GATEWAYTUI_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("GATEWAYTUI_ADAPTERS_API_LISTEN", "127.0.0.1:0") // scripts run side by side
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"await": await,
		},
	})
}

// exits is the script command "exits CODE PROGRAM [ARG...]": it runs the program and checks its exit code, and that what
// it prints is fit for a terminal.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if r, raw := rawRune(ts.ReadFile(stream)); raw {
			ts.Fatalf("%U is printed raw on %s", r, stream)
		}
	}
}

// await is the script command "await TEXT PROGRAM [ARG...]": it runs the program until it prints the text.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await TEXT PROGRAM [ARG...]")
	}
	if !eventually.Within(func() bool {
		_ = ts.Exec(args[1], args[2:]...) // what it prints is what counts
		return strings.Contains(ts.ReadFile("stdout"), args[0])
	}) {
		ts.Fatalf("within %v %q was not printed", eventually.Patience, args[0])
	}
}
