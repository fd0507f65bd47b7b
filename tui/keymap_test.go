package tui

import (
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

func TestNoKeyMeansTwoThingsInOneView(t *testing.T) {
	for _, v := range views.Views {
		for _, page := range []views.StopPage{views.StopNow, views.StopLives, views.StopReport, views.StopPlan, views.StopReplay} {
			taken := map[string]string{}
			for _, b := range bindings {
				if !b.inView(v) || v == views.Shutdown && !b.onPage(page) {
					continue
				}
				for _, k := range b.keys {
					if other, ok := taken[k]; ok {
						t.Errorf("%s means %s and %s in the view %s, page %d", keyName(k), other, b.action, v, page)
					}
					taken[k] = b.action
				}
			}
		}
	}
}

func TestEveryActionHasItsOwnNameAndHelp(t *testing.T) {
	names := map[string]bool{}
	for _, b := range bindings {
		if b.action == "" || b.help == "" || strings.Contains(b.action, " ") || names[b.action] {
			t.Errorf("the action %q (%s) has no name of its own or no help", b.action, b.help)
		}
		names[b.action] = true
		if b.isAction() == (b.do != nil) || b.isAction() != (b.target != nil) {
			t.Errorf("%s is neither a lever nor a move", b.action)
		}
		for _, s := range settings() {
			if s.name == b.action {
				t.Errorf("%s is a key and a setting", s.name)
			}
		}
	}
}

func TestEveryVerbHasALeverWithItsTwin(t *testing.T) {
	for _, spec := range ops.Verbs {
		i := slices.IndexFunc(bindings, func(b binding) bool { return b.verb == spec.Verb })
		if i < 0 {
			t.Errorf("no key and no command gives %s", spec.Verb)
			continue
		}
		if b := bindings[i]; !strings.HasPrefix(b.cliEquivalent, "gatewaytui ") {
			t.Errorf("%s has no twin on the command line", b.action)
		}
	}
}

// What ends something asks first, and its key cannot be hit by a finger that meant a lower-case neighbour.
func TestWhatEndsSomethingAsksAndHasACapitalOrASign(t *testing.T) {
	for _, b := range bindings {
		spec, lever := b.verb.Spec()
		if !lever || !spec.Ends {
			continue
		}
		if b.confirm < withDialog {
			t.Errorf("%s ends something and asks only %q", b.action, b.confirm)
		}
		for _, k := range b.keys {
			if len(k) != 1 || k[0] >= 'a' && k[0] <= 'z' {
				t.Errorf("%s ends something with the key %s", b.action, k)
			}
			if lower := bindingFor(strings.ToLower(k), views.Sessions, views.StopNow); lower != nil && strings.ToLower(k) != k && lower.isAction() {
				if s, _ := lower.verb.Spec(); s.Ends {
					t.Errorf("%s, next to %s, ends something too", strings.ToLower(k), k)
				}
			}
		}
	}
}

// DESIGN.md, 8.2: keys that terminals own are not ours.
func TestNoKeyBelongsToTheTerminal(t *testing.T) {
	owned := []string{"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+s", "ctrl+q", "ctrl+z", "ctrl+["}
	for _, b := range bindings {
		for _, k := range b.keys {
			if slices.Contains(owned, k) || len(k) > 1 && k[0] == 'f' && k[1] >= '0' && k[1] <= '9' {
				t.Errorf("%s is bound to %s", b.action, k)
			}
		}
	}
}

func TestTheDocumentationListsTheWholeTable(t *testing.T) {
	keys := Keys()
	if len(keys) != len(bindings) {
		t.Fatalf("%d rows of %d are listed", len(keys), len(bindings))
	}
	for _, k := range keys {
		if k.Verb != "" && (k.Command == "" || k.Confirm == "") {
			t.Errorf("%s is listed without its twin or its question", k.Action)
		}
	}
}

func TestAReadOnlyConsoleListsNoLever(t *testing.T) {
	for _, s := range helpOf(true, "").Sections {
		for _, h := range s.Keys {
			for _, b := range bindings {
				if b.isAction() && b.help == h.Label {
					t.Errorf("the help of a read-only console lists %s", b.action)
				}
			}
		}
	}
}

// TF35: the documentation says how a key asks, and S shows what would end; only the immediate stop asks for a word.
func TestTheDocumentationSaysHowTheStopAsks(t *testing.T) {
	for _, k := range Keys() {
		if k.Verb == ops.VerbStop && (k.Confirm != withDialog.String() || !strings.Contains(k.Help, "immediate asks for a typed word")) {
			t.Errorf("S %s: %s", k.Confirm, k.Help)
		}
	}
}

// A verb that no row of the keys has is in the palette as ops.Verbs describes it.
func TestAVerbWithoutAKeyIsMadeOfTheTable(t *testing.T) {
	before := ops.Verbs
	t.Cleanup(func() { ops.Verbs = before })
	ops.Verbs = append(slices.Clone(before), ops.VerbSpec{
		Verb: "session.nudge", Path: "/v1/sessions/{target}/nudge", Name: "nudge", Target: ops.TargetSession, Summary: "nudge a session", Ends: true,
	})
	made := tableBindings(actionBindings())
	if len(made) != 1 {
		t.Fatalf("%d rows are made of the table, want 1: %+v", len(made), made)
	}
	b := fromTable(made[0])
	if b.action != "nudge" || b.help != "nudge a session" || b.cliEquivalent != "gatewaytui nudge KEY" || b.confirm != withDialog || b.disabledReason(keyContext{}) == "" {
		t.Errorf("the row is %+v", b)
	}
	f := keyContext{view: views.Sessions, session: &ops.Session{Key: "cli:local", ID: "s1"}}
	if cmd := b.target(f); cmd.Target != "cli:local" || cmd.Expect != "s1" {
		t.Errorf("it aims at %+v", cmd)
	}
}
