package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTimesOnTheWire(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for _, tc := range []struct {
		name string
		in   Time
		want string
	}{
		{"a zero time is null", Time{}, "null"},
		{"a time has milliseconds and is UTC", At(time.Date(2026, 11, 21, 13, 4, 5, 6_700_000, berlin)), `"2026-11-21T12:04:05.006Z"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := json.Marshal(tc.in)
			if err != nil || string(b) != tc.want {
				t.Fatalf("wrote %s, %v; want %s", b, err, tc.want)
			}
			var back Time
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatal(err)
			}
			if !back.Equal(tc.in.Truncate(time.Millisecond)) {
				t.Fatalf("read back %v, wrote %v", back, tc.in)
			}
		})
	}
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{`null`, `""`, `"2026-11-21T12:04:05.006Z"`, `12`, `"`, `"x"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v Time
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return
		}
		if _, err := json.Marshal(v); err != nil {
			t.Fatalf("read %q and could not write it: %v", s, err)
		}
	})
}

func TestMillisNeverTurnsSomethingIntoNothing(t *testing.T) {
	for d, want := range map[time.Duration]int64{-time.Second: 0, 0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2} {
		if got := Millis(d); got != want {
			t.Errorf("Millis(%v) = %d, want %d", d, got, want)
		}
	}
}

func TestEveryVerbCanBeListedAndFound(t *testing.T) {
	paths := map[string]Verb{}
	for _, s := range Verbs {
		if got, ok := s.Verb.Spec(); !ok || got != s {
			t.Errorf("%s is not found by its name", s.Verb)
		}
		if other, taken := paths[s.Path]; taken {
			t.Errorf("%s and %s share the path %s", s.Verb, other, s.Path)
		}
		paths[s.Path] = s.Verb
		if !strings.HasPrefix(s.Path, "/v1/") || s.Summary == "" {
			t.Errorf("%s has no path below /v1/ or no summary", s.Verb)
		}
	}
}

func TestErrorsKeepTheirCodeThroughWrapping(t *testing.T) {
	e := &Error{Code: CodeBusy, Message: "agent is busy", Hint: "interrupt the turn first"}
	wrapped := fmt.Errorf("evict x: %w", e)
	if !HasCode(wrapped, CodeBusy) || AsError(wrapped) != e {
		t.Fatalf("the code was lost in %v", wrapped)
	}
	if e.HTTPStatus() != 409 || AsError(errors.New("x")).HTTPStatus() != 500 || AsError(nil) != nil {
		t.Fatal("a code has the wrong status")
	}
	if got := e.Error(); got != "agent is busy; interrupt the turn first" {
		t.Fatalf("got %q", got)
	}
}

func TestBlockersAreTheRunningItemsOfTheRunningPhase(t *testing.T) {
	s := Shutdown{Phases: []Phase{
		{Name: "drain", State: StepTimedOut, Items: []Item{{ID: "a", State: StepTimedOut}}},
		{Name: "adapters", State: StepRunning, Items: []Item{{ID: "b", State: StepDone}, {ID: "c", State: StepRunning}}},
		{Name: "stores", State: StepPending},
	}}
	if b := s.Blockers(); len(b) != 1 || b[0].ID != "c" {
		t.Fatalf("blockers are %+v, want c alone", b)
	}
	if p, ok := s.Running(); !ok || p.Name != "adapters" {
		t.Fatalf("the running phase is %+v", p)
	}
}

func TestWhatOverranIsEachPhaseThatDidOrWhoseItemDid(t *testing.T) {
	s := Shutdown{Phases: []Phase{
		{Name: "notify", State: StepDone, Items: []Item{{ID: "sent", State: StepDone}, {ID: "unreachable", State: StepFailed}}},
		{Name: "drain", State: StepTimedOut, Items: []Item{{ID: "slow", State: StepTimedOut}, {ID: "quick", State: StepDone}, {ID: "left", State: StepSkipped}}},
		{Name: "interrupt", State: StepSkipped},
		{Name: "adapters", State: StepRunning, Items: []Item{{ID: "hangs", State: StepRunning}}},
		{Name: "stores", State: StepFailed},
	}}
	got := ""
	for _, p := range s.Overran() {
		got += p.Name
		for _, it := range p.Items {
			got += " " + it.ID
		}
		got += ";"
	}
	if want := "notify unreachable;drain slow;stores;"; got != want {
		t.Fatalf("overran: %q, want %q", got, want)
	}
	if len(s.Phases[1].Items) != 3 {
		t.Fatal("the report itself has lost items")
	}
}

func TestTheLastWordOfAReportIsItsEndOrHowFarItHadCome(t *testing.T) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name string
		in   Shutdown
		want time.Time
	}{
		{"one that ended", Shutdown{StartedAt: At(began), ElapsedMS: 5, EndedAt: At(began.Add(time.Hour))}, began.Add(time.Hour)},
		{"one that was cut off", Shutdown{StartedAt: At(began), ElapsedMS: 1500}, began.Add(1500 * time.Millisecond)},
		{"one that says nothing", Shutdown{ElapsedMS: 1500}, time.Time{}},
	} {
		if got := tc.in.LastWord(); !got.Equal(tc.want) {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestEveryVerbSaysWhatItsSurfacesNeed(t *testing.T) {
	names := map[string]Verb{}
	for _, s := range Verbs {
		if s.Name == "" || s.Summary == "" || s.Doing == "" || s.Done == "" || s.Examples == "" {
			t.Errorf("%s: a text is missing: %+v", s.Verb, s)
		}
		for _, name := range []string{s.CommandLine(), s.ConsoleName()} {
			if other, taken := names[name]; taken {
				t.Errorf("%s and %s have the name %s", s.Verb, other, name)
			}
			names[name] = s.Verb
		}
		if s.TakesTarget() != strings.Contains(s.Path, "{target}") {
			t.Errorf("%s: its target is %q and its path %s", s.Verb, s.Target, s.Path)
		}
		if s.Word != "" && !s.Ends {
			t.Errorf("%s is confirmed by a word and ends nothing", s.Verb)
		}
		command := strings.TrimSuffix(s.CommandLine(), " "+strings.TrimPrefix(s.Usage(), s.Name+" "))
		for line := range strings.SplitSeq(s.Examples, "\n") {
			if !strings.Contains(line, command) {
				t.Errorf("%s: the example %q is not of %q", s.Verb, line, command)
			}
		}
	}
}

func TestTheRestOfALineIsReadAsTheVerbSays(t *testing.T) {
	for _, tc := range []struct {
		verb Verb
		rest string
		want Command
		bad  bool
	}{
		{VerbMessage, "hello there", Command{Text: "hello there"}, false},
		{VerbMessage, "", Command{}, true},
		{VerbDrain, "deploy", Command{Reason: "deploy"}, false},
		{VerbStop, "fast", Command{Mode: ModeFast}, false},
		{VerbEvict, "interrupt", Command{Interrupt: true}, false},
		{VerbEvict, "now", Command{}, true},
		{VerbExtend, "", Command{}, false},
		{VerbExtend, "2m", Command{ByMS: 120_000}, false},
		{VerbExtend, "-3s", Command{}, true},
		{VerbReset, "now", Command{}, true},
	} {
		spec, _ := tc.verb.Spec()
		var got Command
		err := spec.ReadRest(&got, tc.rest)
		if (err != nil) != tc.bad || err == nil && got != tc.want {
			t.Errorf("%s %q: %+v, %v", tc.verb, tc.rest, got, err)
		}
		if err != nil && AsError(err).Hint == "" {
			t.Errorf("%s %q: %v has no hint", tc.verb, tc.rest, err)
		}
	}
}

func TestAPIDIsReadByOneRule(t *testing.T) {
	for target, want := range map[string]int{"4711": 4711, "2": 2, "1": 0, "0": 0, "-4": 0, "": 0, "1x": 0, "99999999999999999999": 0} {
		cmd := Command{Verb: VerbKill, Target: target}
		if err := cmd.Parse(); (err == nil) != (want > 0) || err == nil && cmd.PID != want {
			t.Errorf("%q is read as %d, %v", target, cmd.PID, err)
		}
	}
}
