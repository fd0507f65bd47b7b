package main

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// completions are what a shell is offered for a command line, and the directive that ends the answer.
func completions(t *testing.T, r result) (offered []string, directive string) {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(r.must(t, exitDone).out, "\n"), "\n")
	return all[:len(all)-1], all[len(all)-1]
}

// Directives as a shell reads them (cobra's ShellCompDirective).
const (
	filesToo   = ":0"
	nothing    = ":4"
	foldersToo = ":16"
	asListed   = ":36" // nothing else, in this order
)

func TestCompletionOffersWhatTheVerbCanActOn(t *testing.T) {
	f := newFake()
	f.down = &ops.Shutdown{Outcome: ops.ShutdownRunning, Phases: []ops.Phase{
		{Name: "mark", State: ops.StepDone},
		{Name: "drain", State: ops.StepRunning, BudgetMS: 60_000, Items: []ops.Item{
			{Kind: "turn", ID: "cli:local", State: ops.StepRunning, ElapsedMS: 2_000, Detail: "model call"},
			{Kind: "turn", ID: "cli:done", State: ops.StepDone},
		}},
		{Name: "adapters", State: ops.StepPending, BudgetMS: 5_000, Items: []ops.Item{{Kind: "adapter", ID: "telegram", State: ops.StepPending}}},
		{Name: "stores", State: ops.StepPending, BudgetMS: 3_000, PhaseRules: ops.PhaseRules{Vital: true}},
	}}
	g := start(t, f)
	for _, c := range []struct {
		name, line string
		want       []string
		directive  string
	}{
		// The other session has a key that a terminal or a shell would act on.
		{"a session, never one with a hostile name", "reset |", []string{"cli:local\trunning"}, asListed},
		{"a session that begins so", "reset tele|", []string{}, asListed},
		{"only one argument is a session", "reset cli:local |", nil, nothing},
		{"the session of a message", "send --session |", []string{"cli:local\trunning"}, asListed},
		{"a text is the person's own", "send |", nil, nothing},
		{"a session whose agent is cached", "evict |", []string{}, asListed},
		{"a process, described without control characters", "kill |", []string{"9\t" + "sleep 60" + shownHostile + ", api:user:alice"}, asListed},
		{"an adapter", "adapter pause |", []string{"telegram\tneeds credentials, dial" + shownHostile}, asListed},
		{"the program of an adapter", "adapter test -- |", nil, filesToo},
		{"an adapter that is paused", "adapter resume |", []string{}, asListed},
		{"a phase that can be extended", "shutdown extend --phase s|", []string{"stores\tpending, at most 3.0s"}, asListed},
		{"a phase that is not over and can be skipped", "shutdown skip --phase |", []string{"drain\trunning, at most 1m00s", "adapters\tpending, at most 5.0s"}, asListed},
		{"an item of the running phase", "shutdown skip --item |", []string{"cli:local\tturn, for 2.0s, model call"}, asListed},
		{"an item of the phase that is named", "shutdown skip --phase adapters --item |", []string{"telegram\tadapter, for 0s"}, asListed},
		{"a request that asks for a yes", "approve |", []string{"7K3M9Q\t" + term.Clean("command, cli:local, rm -rf build"+hostile, maxDescription)}, asListed},
		{"a request that asks for a text", "answer |", []string{}, asListed},
		{"a rule", "approvals rules remove |", []string{"9F2C\tgit push" + shownHostile + ", /srv/gw/work"}, asListed},
		{"a mode", "stop --mode |", []string{"graceful", "fast", "immediate"}, asListed},
		{"a mode after an equals sign", "stop --mode=f|", []string{"graceful", "fast", "immediate"}, asListed},
		{"a log level", "--log-level |", []string{"debug", "info", "warn", "error"}, asListed},
		{"a log format", "--log-format |", []string{"auto", "text", "json"}, asListed},
		{"an output", "sessions -o |", []string{"wide", "json"}, asListed},
		{"an environment", "approvals check --environment |", []string{"local", "partial", "sandbox", "container"}, asListed},
		{"an agent of the config", "approvals check --agent d|", []string{"default"}, nothing},
		{"a command is the person's own", "approvals check |", nil, nothing},
		{"a number", "sessions --limit |", nil, nothing},
		{"a column of a filter", "sessions --filter s|", []string{"session:", "state:"}, ":6"}, // no space follows
		{"a value of a column", "sessions --filter state:r|", []string{"state:running"}, nothing},
		{"an unknown column", "sessions --filter nosuch:r|", nil, nothing},
		{"no argument at all", "status |", nil, nothing},
		{"a file where a file is meant", "--config |", nil, filesToo},
		{"a folder where a folder is meant", "--home |", nil, foldersToo},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := strings.TrimSuffix(c.line, "|")
			words := strings.Split(line, " ")
			got, directive := completions(t, g.run(t, append([]string{"__complete"}, words...)...))
			if d := cmp.Diff(append([]string{}, c.want...), append([]string{}, got...)); d != "" || directive != c.directive {
				t.Errorf("the directive is %s, want %s; the offers (-want +got):\n%s", directive, c.directive, d)
			}
		})
	}
}

func TestCompletionWithoutAGatewayOffersNothing(t *testing.T) {
	home := newHome(t)
	silent, err := net.Listen("unix", home.Socket()) // it takes connections and answers none
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, dir := range map[string]string{"no home": "/nonexistent", "a gateway that does not answer": home.Dir()} {
		t.Run(name, func(t *testing.T) {
			for _, line := range []string{"reset ", "kill ", "adapter pause ", "shutdown skip --item "} {
				got, directive := completions(t, invocation{home: dir}.run(t, t.Context(), append([]string{"__complete"}, strings.Split(line, " ")...)...))
				if len(got) != 0 || directive != nothing && directive != asListed {
					t.Errorf("%s: %q and the directive %s", line, got, directive)
				}
			}
		})
	}
}

// A flag that is added later cannot fall back to file names unless it says that it takes a file.
func TestEveryFlagAndArgumentHasACompletion(t *testing.T) {
	every(newTree(), func(c *cobra.Command) {
		if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			t.Errorf("the arguments of %s are completed with file names", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, found := c.GetFlagCompletionFunc(f.Name); !found && f.Value.Type() != "bool" && !slices.Contains([]string{"help", "version"}, f.Name) {
				t.Errorf("--%s of %s is completed with file names", f.Name, c.CommandPath())
			}
		})
	})
}

func TestOnlyANameThatIsSafeInAShellIsOffered(t *testing.T) {
	for name, want := range map[string]bool{
		"cli:local": true, "telegram:group:-100:topic:7": true, "api:user:zoë": true, "api:user:a+b@example.org": true,
		"api:user:$(reboot)": false, "api:user:`id`": false, "api:user:a b": false, "api:user:a;b": false, "api:user:a|b": false, "api:user:*": false,
		"api:user:\x1b[2J": false, "api:user:a'b": false, "api:user:\u202eevil": false, "-rf": false, "": false,
	} {
		if typable(name) != want {
			t.Errorf("typable(%q) is %t", name, !want)
		}
	}
}
