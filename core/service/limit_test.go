package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answer is a systemctl that prints text.
func answer(text string) Run {
	return func(context.Context, []string) (string, error) { return text, nil }
}

func shown(timeout string) string {
	return "LoadState=loaded\nTimeoutStopUSec=" + timeout + "\nRestart=always\nNeedDaemonReload=no\n"
}

func TestA3_TheLimitIsWhatSystemdSaysAndElseTheEnvironment(t *testing.T) {
	unit := Manager{Systemd, "gatewaytui.service", false}
	for _, tt := range []struct {
		name    string
		manager Manager
		env     string
		run     Run
		budget  time.Duration
		source  string
		errs    string
	}{
		{"systemd's answer", unit, "", answer(shown("1min 30s")), 90 * time.Second, SourceSystemd, ""},
		{"systemd's answer goes before the environment, a drop-in may have changed it", unit, "90s", answer(shown("30s")), 30 * time.Second, SourceSystemd, ""},
		{"systemd has no limit", unit, "90s", answer(shown("infinity")), 0, SourceSystemd, ""},
		{"systemd does not know the unit", unit, "90s", answer("LoadState=not-found\nTimeoutStopUSec=1min 30s\n"), 90 * time.Second, SourceEnvironment, "not loaded"},
		{"systemd answers nonsense", unit, "", answer("what?"), 0, SourceUnknown, "not loaded"},
		{"the unit is not known", Manager{Kind: Systemd}, "90s", nil, 90 * time.Second, SourceEnvironment, ""},
		{"another manager", Manager{Kind: Supervisord}, "10s", nil, 10 * time.Second, SourceEnvironment, ""},
		{"runsv never kills", Manager{Kind: Runit}, "", nil, 0, "runit", ""},
		{"but who runs it may", Manager{Kind: Runit}, "90s", nil, 90 * time.Second, SourceEnvironment, ""},
		{"s6 has no known limit", Manager{Kind: S6}, "", nil, 0, SourceUnknown, ""},
		{"no limit is known", Manager{Kind: None}, "", nil, 0, SourceUnknown, ""},
		{"a variable that is not a duration", Manager{Kind: None}, "90", nil, 0, SourceUnknown, StopBudgetVariable},
		{"A4: zero is not a budget", Manager{Kind: None}, "0s", nil, 0, SourceUnknown, StopBudgetVariable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Limit(t.Context(), tt.manager, env(StopBudgetVariable, tt.env), tt.run)
			if got.Budget != tt.budget || got.Source != tt.source {
				t.Errorf("it is %s from %s, want %s from %s", got.Budget, got.Source, tt.budget, tt.source)
			}
			if answered := got.Settings != (Settings{}); answered != (tt.source == SourceSystemd) {
				t.Errorf("its settings are %+v", got.Settings)
			}
			if (err == nil) != (tt.errs == "") || err != nil && !strings.Contains(err.Error(), tt.errs) {
				t.Errorf("the error is %v, want one with %q", err, tt.errs)
			}
			if _, wrong := errors.AsType[*VariableError](err); wrong != (tt.errs == StopBudgetVariable) {
				t.Errorf("%v is an operator's mistake: %v", err, wrong)
			}
		})
	}
}

func TestAskingSystemdTakesHalfASecondAtTheMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := func(ctx context.Context, _ []string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		began := time.Now()
		got, err := Limit(t.Context(), Manager{Systemd, "x.service", false}, env(StopBudgetVariable, "45s"), hung)
		if took := time.Since(began); took > 500*time.Millisecond || got.Budget != 45*time.Second || got.Source != SourceEnvironment {
			t.Errorf("after %s: %s from %s", took, got.Budget, got.Source)
		}
		if err == nil || !strings.Contains(err.Error(), "no answer within 500ms") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestSystemdIsAskedAboutTheUnitAndNothingElse(t *testing.T) {
	var asked []string
	run := func(_ context.Context, argv []string) (string, error) {
		asked = argv
		return shown("infinity"), nil
	}
	if _, err := Ask(t.Context(), Manager{Systemd, "gatewaytui.service", true}, run); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(asked, " ")
	if !strings.HasPrefix(got, "systemctl --user ") || !strings.HasSuffix(got, " -- gatewaytui.service") {
		t.Errorf("it runs %q", got)
	}
	asked = nil
	for _, m := range []Manager{{Kind: None}, {Systemd, "--version", false}, {Systemd, "", false}, {Systemd, "a b.service", false}} {
		if s, err := Ask(t.Context(), m, run); err == nil || asked != nil {
			t.Errorf("%+v: it ran %q and says %+v", m, asked, s)
		}
	}
}

func TestG5_C12_TroublesAreSettingsThatBreakAPromise(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   Settings
		want string
	}{
		{"ours", Settings{Restart: "always", KillMode: "mixed"}, ""},
		{"no limit is known", Settings{}, ""},
		{"not started again", Settings{Restart: "no", KillMode: "mixed"}, "Restart"},
		{"not started again after a failure", Settings{Restart: "on-success", KillMode: "mixed"}, "Restart"},
		{"the tools hear of it as well", Settings{Restart: "always", KillMode: "control-group"}, "KillMode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, trouble := range tt.in.Issues() {
				got = append(got, trouble.Setting)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("the troubles of %+v are %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestTimeSpansAreReadAsSystemdWritesThem(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1min 30s": 90 * time.Second, "90": 90 * time.Second, "500ms": 500 * time.Millisecond, "1min 500ms": time.Minute + 500*time.Millisecond,
		"2h 3min": 2*time.Hour + 3*time.Minute, "1.5s": 1500 * time.Millisecond, "5min30s": 330 * time.Second, "infinity": 0, "0": 0,
		"584542y 2w": 0, "3d": 72 * time.Hour, "250us": 250 * time.Microsecond,
	} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "min", "5 parsecs", "1..5s", "-3s", "90s x", "5M"} {
		if got, err := parseSpan(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func FuzzParseSpan(f *testing.F) {
	f.Add("1min 30s")
	f.Add("infinity")
	f.Add("9999999999999999999999999h")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseSpan(text); d < 0 || err != nil && d != 0 {
			t.Errorf("%q is %s, %v", text, d, err)
		}
	})
}

func FuzzParseSettings(f *testing.F) {
	f.Add(shown("1min 30s"))
	f.Add("LoadState=loaded\nTimeoutStopUSec=infinity\nRestart=\x1b[2J")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSettings(text)
		if s.StopLimit < 0 || err != nil && s != (Settings{}) || printable(s.Restart) != s.Restart {
			t.Errorf("%q is %+v, %v", text, s, err)
		}
	})
}
