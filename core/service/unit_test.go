package service

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/shutdown"
	"gatewaytui/fixtures/golden"
	"gatewaytui/fixtures/shortdir"
	"gatewaytui/fixtures/soak"
)

// defaults are the budgets of CONTRACT.md, 3, with another drain.
func defaults(drain time.Duration) shutdown.Plan {
	const s = time.Second
	return shutdown.Standard(shutdown.Budgets{
		Drain: drain, Notify: 3 * s, InterruptGrace: 4500 * time.Millisecond, KillGrace: 2 * s, Agent: 3 * s, Adapter: 5 * s, Background: s, Store: 3 * s,
	})
}

func values(stop time.Duration) Values {
	return Values{Name: DefaultName, Exec: "/usr/bin/gatewaytui", Home: "/home/ada/.local/state/gatewaytui", StopTimeout: stop}
}

func unit(t *testing.T, v Values) string {
	t.Helper()
	text, err := SystemdUnit(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func plist(t *testing.T, v Values) string {
	t.Helper()
	text, err := LaunchdPlist(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheDefinitionsOfTheDefaultConfig(t *testing.T) {
	stop := defaults(time.Minute).TimeoutStopSec()
	golden.Check(t, filepath.Join("testdata", "user.service"), unit(t, values(stop)))
	golden.Check(t, filepath.Join("testdata", "user.plist"), plist(t, values(stop)))
	v := Values{
		Name: "gatewaytui-gw-0b1c2d3e", Exec: "/opt/gate way/100%/gatewaytui", Home: `/srv/"gw" $HOME & <co>`, Config: `/etc/gatewaytui/back\slash.toml`,
		StopTimeout: defaults(5 * time.Minute).TimeoutStopSec(), Environment: map[string]string{"GATEWAYTUI_LOG_LEVEL": "debug"},
		Credentials: []string{"OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN"}, System: true, User: "ada",
	}
	golden.Check(t, filepath.Join("testdata", "system.service"), unit(t, v))
	golden.Check(t, filepath.Join("testdata", "system.plist"), plist(t, v))
}

func TestS2_TheServiceManagersPatienceIsTheDrainAndThirtySeconds(t *testing.T) {
	for _, tt := range []struct{ drain, want time.Duration }{
		{time.Minute, 90 * time.Second},
		{0, 30 * time.Second},
		{500 * time.Millisecond, 31 * time.Second}, // whole seconds
		{5 * time.Minute, 330 * time.Second},
		{6 * time.Hour, 6*time.Hour + 30*time.Second},
	} {
		plan := defaults(tt.drain)
		v := values(plan.TimeoutStopSec())
		service, agent := settingsOf(unit(t, v)), settingsOf(plist(t, v))
		for where, text := range map[string]string{
			"TimeoutStopSec": service.get("Service.TimeoutStopSec"), "ExitTimeOut": agent.get("ExitTimeOut"),
			"the unit's variable": service.get("Service.Environment." + StopBudgetVariable), "the plist's variable": agent.get("EnvironmentVariables." + StopBudgetVariable),
		} {
			got, err := time.ParseDuration(strings.TrimSuffix(text, "s") + "s")
			if strings.ContainsAny(text, "mh") {
				got, err = time.ParseDuration(text)
			}
			if err != nil || got != tt.want || plan.WorstCase() >= got {
				t.Errorf("drain %s: %s is %s (%v), want %s and more than the worst case of %s", tt.drain, where, text, err, tt.want, plan.WorstCase())
			}
		}
	}
}

func TestS9_TheUnitKnowsTheExitCodes(t *testing.T) {
	s := settingsOf(unit(t, values(90*time.Second)))
	for name, want := range map[string]string{
		"Type": "notify", "KillMode": "mixed", "Restart": "always", "RestartForceExitStatus": "75", "RestartPreventExitStatus": "69 78",
		"SuccessExitStatus": "75", // G1: a planned restart is not a failed unit
		"Delegate":          "cpu memory pids", "DelegateSubgroup": Subgroup, "OOMPolicy": "continue", "WatchdogSec": "60", "TimeoutStopSec": "90",
	} {
		if got := s.get("Service." + name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	// B2: no number of tries after which it stays down.
	if got := s.get("Unit.StartLimitIntervalSec"); got != "0" {
		t.Errorf("StartLimitIntervalSec is %q", got)
	}
	// G3: launchd starts again what ends with another code than 0.
	if got := settingsOf(plist(t, values(90*time.Second))).get("KeepAlive.SuccessfulExit"); got != "false" {
		t.Errorf("KeepAlive.SuccessfulExit is %q", got)
	}
}

// G3: another program's reader of property lists finds what launchd goes by: enough time for the stop, and a start again after
// 75 and after a crash, not after 0.
func TestG3_ThePropertyListSaysWhatLaunchdGoesBy(t *testing.T) {
	python := soak.Peer(t, "python3", "Debian package python3") // its plistlib reads property lists
	v := values(defaults(time.Minute).TimeoutStopSec())
	v.Name, v.Home, v.Config = "gatewaytui-bots-1a2b3c4d", `/srv/<b>ots & "co"`, "/etc/größe.toml"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))")
	cmd.Stdin = strings.NewReader(plist(t, v))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("plistlib: %v", err)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"Label": v.Name, "ProgramArguments": []any{v.Exec, "--no-tui"}, "RunAtLoad": true,
		"ExitTimeOut": 90.0, "ThrottleInterval": 10.0,
		"KeepAlive": map[string]any{"SuccessfulExit": false},
		"EnvironmentVariables": map[string]any{
			"GATEWAYTUI_HOME": v.Home, "GATEWAYTUI_CONFIG": v.Config, "GATEWAYTUI_STOP_BUDGET": "1m30s",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plistlib reads (-want +got):\n%s", diff)
	}
}

func TestWhatNoDefinitionCanSayIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Values){
		"a home with a line break":        func(v *Values) { v.Home = "/srv/a\nExecStartPre=/bin/evil" },
		"a config with an escape":         func(v *Values) { v.Config = "/etc/\x1b[2J" },
		"a home that is not UTF-8":        func(v *Values) { v.Home = "/srv/\xff" },
		"a program with a quote":          func(v *Values) { v.Exec = `/opt/"x"/gatewaytui` },
		"a program without a path":        func(v *Values) { v.Exec = "gatewaytui" },
		"a name with a slash":             func(v *Values) { v.Name = "../x" },
		"no name":                         func(v *Values) { v.Name = "" },
		"a relative home":                 func(v *Values) { v.Home = "gw" },
		"a relative config":               func(v *Values) { v.Config = "c.toml" },
		"no time for a stop":              func(v *Values) { v.StopTimeout = 0 },
		"half seconds for a stop":         func(v *Values) { v.StopTimeout = 1500 * time.Millisecond },
		"an invalid variable":             func(v *Values) { v.Environment = map[string]string{"A B": "c"} },
		"a variable with a line break":    func(v *Values) { v.Environment = map[string]string{"A": "b\nc"} },
		"an invalid credential":           func(v *Values) { v.Credentials = []string{"A --> B"} },
		"a user that is a list of things": func(v *Values) { v.System, v.User = true, "ada bob" },
		"a character that XML cannot say": func(v *Values) { v.Home = "/srv/\ufffe" },
	} {
		v := values(time.Minute)
		change(&v)
		if text, err := SystemdUnit(v); err == nil {
			t.Errorf("%s: the unit is\n%s", name, text)
		}
		if text, err := LaunchdPlist(v); err == nil {
			t.Errorf("%s: the property list is\n%s", name, text)
		}
	}
}

func TestAnEditedFileIsKnownFromAnOlderOne(t *testing.T) {
	for kind, text := range map[string]string{"unit": unit(t, values(time.Minute)), "plist": plist(t, values(time.Minute))} {
		if Edited(text) {
			t.Errorf("the %s as it is written counts as edited", kind)
		}
		for change, edited := range map[string]string{
			"another number":       strings.Replace(text, "60", "15", 1),
			"a line more":          text + "#\n",
			"a line less":          strings.Replace(text, "gatewaytui: as written", "", 1),
			"another digest":       strings.Replace(text, stampMark, stampMark+"f", 1),
			"an end after a digit": text[:strings.Index(text, stampMark)+len(stampMark)+1],
			"nothing":              "",
		} {
			if !Edited(edited) {
				t.Errorf("the %s with %s counts as written by us", kind, change)
			}
		}
	}
}

func TestCompareFindsWhatIsDifferent(t *testing.T) {
	old, now := unit(t, values(30*time.Second)), unit(t, values(90*time.Second))
	if got := Compare(now, now); got != nil {
		t.Errorf("a unit is different from itself: %+v", got)
	}
	want := []Difference{
		{"Service.Environment.GATEWAYTUI_STOP_BUDGET", "30s", "1m30s", false},
		{"Service.TimeoutStopSec", "30", "90", true},
	}
	if diff := cmp.Diff(want, Compare(old, now)); diff != "" {
		t.Errorf("an older one:\n%s", diff)
	}
	by := func(from, to string) []Difference { return Compare(strings.Replace(now, from, to, 1), now) }
	for _, tt := range []struct {
		name, from, to string
		want           []Difference
	}{
		{"layout and comments make no difference", "Restart=always\n", "\n; mine\n  Restart = \\\n   always  \n", nil},
		{"a comment within a continued line", "Restart=always\n", "Restart=\\\n# mine\nalways\n", nil},
		{"the last value of a setting counts", "TimeoutStopSec=90\n", "TimeoutStopSec=5\nTimeoutStopSec=90\n", nil},
		{"the same time in other words", "TimeoutStopSec=90\n", "TimeoutStopSec=1min 30s\n", []Difference{{"Service.TimeoutStopSec", "1min 30s", "90", false}}},
		{"more time is not a danger", "TimeoutStopSec=90\n", "TimeoutStopSec=10min\n", []Difference{{"Service.TimeoutStopSec", "10min", "90", false}}},
		{"the systemd default is what is missing", "TimeoutStopSec=90\n", "", []Difference{{"Service.TimeoutStopSec", "", "90", false}}},
		{"no limit is not a danger", "TimeoutStopSec=90\n", "TimeoutStopSec=infinity\n", []Difference{{"Service.TimeoutStopSec", "infinity", "90", false}}},
		{"nonsense is one", "TimeoutStopSec=90\n", "TimeoutStopSec=soon\n", []Difference{{"Service.TimeoutStopSec", "soon", "90", true}}},
		{"the default kill mode ends the tools while turns drain", "KillMode=mixed\n", "", []Difference{{"Service.KillMode", "", "mixed", true}}},
		{"what was added", "Delegate=cpu memory pids\n", "Delegate=cpu memory pids\nNice=5\n", []Difference{{"Service.Nice", "5", "", false}}},
		{"an empty value resets", "Delegate=cpu memory pids\n", "Delegate=cpu memory pids\nDelegate=\n", []Difference{{"Service.Delegate", "", "cpu memory pids", false}}},
	} {
		if diff := cmp.Diff(tt.want, by(tt.from, tt.to)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
	later := unit(t, values(6*time.Minute))
	if got := Compare(strings.Replace(later, "TimeoutStopSec=360\n", "", 1), later); len(got) != 1 || !got[0].Kills {
		t.Errorf("90 s by default where 6 min are needed: %+v", got)
	}
	got := Compare(plist(t, values(20*time.Second)), plist(t, values(90*time.Second)))
	want = []Difference{
		{"EnvironmentVariables.GATEWAYTUI_STOP_BUDGET", "20s", "1m30s", false},
		{"ExitTimeOut", "20", "90", true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a property list:\n%s", diff)
	}
}

// FuzzValuesComeBack: for any path, the definitions say just that, and nothing else.
func FuzzValuesComeBack(f *testing.F) {
	f.Add("/srv/gw", "/etc/c.toml")
	f.Add(`/srv/%h "x" \n ${HOME} 'y' \`, `/a;b & <c> ]]> -- $$`)
	f.Add("/srv/\u2028\u00a0ä", "/c # d")
	f.Fuzz(func(t *testing.T, home, config string) {
		v := values(90 * time.Second)
		v.Home, v.Config = "/"+home, "/"+config
		text, err := SystemdUnit(v)
		list, listErr := LaunchdPlist(v)
		if (err == nil) != (listErr == nil) {
			t.Fatalf("%v and %v", err, listErr)
		}
		if err != nil {
			return
		}
		plain := unit(t, Values{Name: DefaultName, Exec: v.Exec, Home: "/h", Config: "/c", StopTimeout: v.StopTimeout})
		if a, b := strings.Count(text, "\n"), strings.Count(plain, "\n"); a != b {
			t.Errorf("it has %d lines and not %d", a, b)
		}
		for kind, definition := range map[string]string{"unit": text, "plist": list} {
			s := settingsOf(definition)
			prefix := map[string]string{"unit": "Service.Environment.", "plist": "EnvironmentVariables."}[kind]
			if HomeOf(definition) != v.Home || s.get(prefix+configVariable) != v.Config {
				t.Errorf("the %s says %q and %q, not %q and %q", kind, HomeOf(definition), s.get(prefix+configVariable), v.Home, v.Config)
			}
			if Edited(definition) || Compare(definition, definition) != nil {
				t.Errorf("the %s is not what it is", kind)
			}
		}
		dec := xml.NewDecoder(strings.NewReader(list))
		for err = nil; err == nil; {
			_, err = dec.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("the property list is not XML: %v", err)
		}
	})
}

// FuzzCompare: an installed file may be anything, and is never different from itself.
func FuzzCompare(f *testing.F) {
	f.Add("[Service]\nTimeoutStopSec=5\\\n")
	f.Add("<plist><dict><key>A</key><dict><key>B</key><true/></dict></dict></dict></dict>")
	f.Add("<dict><true/>")
	f.Add("\\\n[\n]=\nEnvironment=\"\\")
	computed, err := SystemdUnit(values(90 * time.Second))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, installed string) {
		if got := Compare(installed, installed); got != nil {
			t.Errorf("it is different from itself: %+v", got)
		}
		for _, d := range Compare(installed, computed) {
			if d.Installed == d.Computed && d.Computed != "" || d.Setting == "" {
				t.Errorf("this is not a difference: %+v", d)
			}
		}
		if HomeOf(installed) != "" && !strings.Contains(installed, homeVariable) {
			t.Errorf("it names the home %q", HomeOf(installed))
		}
	})
}

// TestSystemdItselfFindsNothingWrong runs where systemd-analyze is installed.
func TestSystemdItselfFindsNothingWrong(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("runs where systemd-analyze is installed")
	}
	dir := shortdir.New(t)
	program := filepath.Join(dir, "100% gate $way")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, system := range []bool{true, false} {
		v := Values{
			Name: DefaultName, Exec: program, Home: `/srv/"gw" 100% $HOME\`, StopTimeout: 90 * time.Second, System: system,
			Credentials: []string{"TELEGRAM_BOT_TOKEN"},
		}
		path := filepath.Join(dir, DefaultName+".service")
		if err := os.WriteFile(path, []byte(unit(t, v)), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"verify", path}
		if !system {
			args = slices.Insert(args, 0, "--user")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, analyze, args...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		out, err := cmd.CombinedOutput()
		// It reads every unit that ours names, and says what is wrong with those as well.
		about := slices.DeleteFunc(strings.Split(string(out), "\n"), func(l string) bool {
			// Before version 254 it ignores a setting that it does not know.
			return !strings.Contains(l, DefaultName+".service") || strings.Contains(l, "DelegateSubgroup") && strings.HasSuffix(l, "ignoring.")
		})
		if err != nil || len(about) > 0 {
			t.Errorf("system %v: %v\n%s", system, err, out)
		}
	}
}

// A system unit for a home of root's says that tools run as root, and where a user is named instead.
func TestASystemUnitWithoutAUserSaysThatToolsRunAsRoot(t *testing.T) {
	v := Values{Name: DefaultName, Exec: "/usr/bin/gatewaytui", Home: "/var/lib/gatewaytui", StopTimeout: 90 * time.Second, System: true}
	root, err := SystemdUnit(v)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(root, "\n#User=gatewaytui\n") || !strings.Contains(root, "run as root") || strings.Contains(root, "\nUser=") {
		t.Errorf("it does not say how to name a user:\n%s", root)
	}
	v.User = "ada"
	if named, err := SystemdUnit(v); err != nil || !strings.Contains(named, "\nUser=ada\n") || strings.Contains(named, "#User=") {
		t.Errorf("with a user (%v):\n%s", err, named)
	}
	v.System, v.User = false, ""
	if own, err := SystemdUnit(v); err != nil || strings.Contains(own, "User=") {
		t.Errorf("a unit of one's own names a user (%v):\n%s", err, own)
	}
}
