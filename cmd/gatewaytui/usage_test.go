package main

import (
	"strings"
	"testing"
)

func TestAWrongCommandLineIsOneSentenceAndTheNearestWord(t *testing.T) {
	tests := []struct {
		name string
		args string
		want []string
	}{
		{"an unknown verb", "statsu", []string{`unknown command "statsu"`, "did you mean gatewaytui status?"}},
		{"an unknown verb with flags", "statsu --json", []string{`unknown command "statsu"`, "did you mean gatewaytui status?"}},
		{"an unknown verb that is near to none", "frobnicate", []string{`unknown command "frobnicate"`, "gatewaytui --help lists them"}},
		{"an unknown verb of a group", "adapter puase telegram", []string{`unknown command "puase"`, "did you mean gatewaytui adapter pause?"}},
		{"an unknown verb of a group with flags", "shutdown skpi --phase drain", []string{"did you mean gatewaytui shutdown skip?"}},
		{"a group without a verb", "shutdown", []string{"gatewaytui shutdown needs a command", "takes one of extend, force, skip"}},
		{"config without a verb", "config", []string{"gatewaytui config needs a command", "check, example"}},
		{"help about an unknown verb", "help stopp", []string{`unknown command "stopp"`, "did you mean gatewaytui stop?"}},
		{"completion for an unknown shell", "completion bsh", []string{"did you mean gatewaytui completion bash?"}},
		{"completion without a shell", "completion", []string{"gatewaytui completion needs a command"}},
		{"an unknown flag", "stop --reson x", []string{"unknown flag: --reson", "did you mean --reason?"}},
		{"an unknown flag of a run", "--no-tiu", []string{"unknown flag: --no-tiu", "did you mean --no-tui?"}},
		{"an unknown shorthand", "status -x", []string{"unknown shorthand flag", "see gatewaytui status --help"}},
		{"a flag without its value", "stop --reason", []string{"flag needs an argument: --reason"}},
		{"a wrong mode", "stop --mode fsat", []string{`"fsat"`, "--mode", "graceful, fast, immediate", "did you mean fast?"}},
		{"a wrong log level", "--log-level wran", []string{`"wran"`, "--log-level", "debug, info, warn, error", "did you mean warn?"}},
		{"a wrong log format", "--log-format xml", []string{`"xml"`, "--log-format", "auto, text, json"}},
		{"a wrong duration", "shutdown extend --by 30", []string{`"30"`, "--by", "such as 30s"}},
		{"a duration below zero", "shutdown extend --by=-3s", []string{`"-3s"`, "a duration from 1ms"}},
		{"a wrong number", "sessions --limit many", []string{`"many"`, "--limit", "a whole number"}},
		{"a number below one", "sessions --limit=-1", []string{"--limit is -1", "a number from 1"}},
		{"a wrong event number", "watch --after=-1", []string{`"-1"`, "--after", "a whole number from 0"}},
		{"a wrong boolean", "stop --yes=perhaps", []string{`"perhaps"`, "--yes", "true or false"}},
		{"a missing text", "send", []string{"TEXT is missing", "use gatewaytui send TEXT"}},
		{"a text without quotes", "send hello world", []string{`unexpected argument "world"`, "quote the text"}},
		{"a missing key", "reset", []string{"KEY is missing"}},
		{"a missing pid", "kill", []string{"PID is missing"}},
		{"a missing name", "adapter pause", []string{"NAME is missing"}},
		{"a verb without arguments that is given one", "status now", []string{`unexpected argument "now"`}},
		{"an invalid pid", "kill firefox", []string{`"firefox" is not a process id`, "gatewaytui processes"}},
		{"pid 1", "kill 1", []string{`"1" is not a process id`}},
		{"a pid below zero", "kill -- -4", []string{`"-4" is not a process id`}},
		{"a pid beyond all numbers", "kill 99999999999999999999", []string{"is not a process id"}},
		{"an empty session", "send --session= hello", []string{"--session is empty"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// No home is there: what is wrong is said before one is looked for.
			r := invocation{home: "/nonexistent"}.run(t, t.Context(), strings.Fields(tt.args)...).must(t, exitUsage).says(t, tt.want...)
			if r.out != "" {
				t.Errorf("stdout has %q", r.out)
			}
		})
	}
}

func TestAWrongCommandLineIsNeverPrintedRaw(t *testing.T) {
	for _, args := range [][]string{
		{hostile},
		{"--" + hostile},
		{"-" + hostile},
		{"adapter", hostile},
		{"help", hostile},
		{"stop", "--mode", hostile},
		{"stop", "--yes=" + hostile},
		{"sessions", "--limit", hostile},
		{"kill", hostile},
		{"status", hostile},
		{"kill", strings.Repeat("9", 100_000)},
	} {
		r := invocation{home: "/nonexistent"}.run(t, t.Context(), args...).must(t, exitUsage)
		if len(r.err) > 2000 {
			t.Errorf("%.40q: the error has %d bytes", args, len(r.err))
		}
	}
}

func TestAnErrorIsJSONWhereJSONWasAskedFor(t *testing.T) {
	r := invocation{home: "/nonexistent"}.run(t, t.Context(), "kill", "--json", "firefox").must(t, exitUsage)
	var got struct {
		Error struct{ Code, Message, Hint string }
	}
	decodeLine(t, r.err, &got)
	if got.Error.Code != "invalid" || got.Error.Message == "" || got.Error.Hint == "" {
		t.Errorf("the error is %+v", got.Error)
	}
}

func TestWithoutAnyHomeItSaysWhatToSet(t *testing.T) {
	for _, verb := range []string{"status", "sessions"} {
		invocation{}.run(t, t.Context(), verb).must(t, exitUsage).says(t, "no home", "--home DIR")
	}
}
