package approval

import (
	"strings"
	"testing"
	"testing/synctest"

	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/tool"
)

func host(name string, v fence.Verdict) tool.Step {
	return tool.Step{Kind: tool.StepHost, Text: name, Judgement: fence.Judgement{Verdict: v, Reasons: []string{"the page is https://" + name + "/a"}}}
}

func TestTR3_AHostIsAskedUnlessItsEnvironmentHasIt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		mode    Mode
		given   fence.Verdict
		verdict fence.Verdict
		at      fence.Environment
	}{
		{"a new host is asked", ModeFence, fence.Ask, fence.Ask, fence.Local},
		{"a host of the environment's network is not", ModeFence, fence.Allowed, fence.Allowed, fence.Local},
		{"a strict agent asks for it", ModeStrict, fence.Allowed, fence.Ask, fence.Local},
		{"without approvals a new host is not asked", ModeOff, fence.Ask, fence.Allowed, fence.Local},
		{"a host that a sandbox does not list is asked", ModeFence, fence.Ask, fence.Ask, fence.Sandbox},
		{"without approvals a sandbox reaches its list alone", ModeOff, fence.Ask, fence.Never, fence.Sandbox},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, newRows())
			b.mode = tt.mode
			step := host("pages.example", tt.given)
			step.Environment = tt.at
			if got := b.book.terms.Load().judge("default", step).Verdict; got != tt.verdict {
				t.Errorf("it is %s, want %s", got, tt.verdict)
			}
		})
	}
}

func TestTR4_AHostThatASessionMayUseIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		one := b.turn("telegram:dm:4711")
		id, out := b.asks(t.Context(), call(one), host("pages.example", fence.Ask))
		if card := b.shown()[0].text; !strings.Contains(card, "connect to a new host") || !strings.Contains(card, "https://pages.example/a") {
			t.Errorf("the card is %q", card)
		}
		words, err := b.allow(id, ops.ScopeSession)
		if err != nil || !strings.Contains(words, "the same again") || strings.HasSuffix(words, " in ") {
			t.Fatalf("%q, %v", words, err)
		}
		if err := <-out; err != nil {
			t.Fatal(err)
		}
		if err := b.book.Pass(t.Context(), call(one), host("pages.example", fence.Ask)); err != nil {
			t.Errorf("the same host: %v", err)
		}
		other, out := b.asks(t.Context(), call(one), host("other.example", fence.Ask))
		if _, err := b.deny(other, "no"); err != nil {
			t.Fatal(err)
		}
		if err := <-out; err == nil {
			t.Error("a host that was denied was reached")
		}
		unattended := call(one)
		unattended.Unattended = true
		if err := b.book.Pass(t.Context(), unattended, host("third.example", fence.Ask)); err == nil || !strings.Contains(err.Error(), "approval of a person") {
			t.Errorf("a caller that does not wait: %v", err)
		}
	})
}
