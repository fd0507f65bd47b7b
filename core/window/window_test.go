package window

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatewaytui/core/model"
)

var usual = Policy{PruneAt: 0.6, CompactAt: 0.75, CompactTo: 0.4, Keep: 0.2}

// words is a text of about n tokens.
func words(n int) string { return strings.Repeat("wo ", n*parts/asciiCost/3) }

func user(text string) model.Message { return model.Message{Role: model.RoleUser, Content: text} }
func says(text string) model.Message { return model.Message{Role: model.RoleAssistant, Content: text} }

// step is a tool call with its result.
func step(id, result string) []model.Message {
	return []model.Message{
		{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: id, Name: "terminal", Arguments: `{"command":"ls"}`}}},
		{Role: model.RoleTool, ToolCallID: id, Content: result},
	}
}

// talk is n turns of about 100 tokens, a third of which is a tool's.
func talk(n int) (out []model.Message) {
	for i := range n {
		out = append(out, user(fmt.Sprintf("question %d", i)))
		out = append(out, step(fmt.Sprint("c", i), words(60))...)
		out = append(out, says(fmt.Sprintf("answer %d", i)))
	}
	return out
}

func TestCV4_APlanDoesWhatTheFillingOfTheWindowCallsFor(t *testing.T) {
	long := Past{Messages: slices.Concat([]model.Message{user("go")}, step("a", words(500)), step("b", words(500)), []model.Message{user("next")})}
	spoken := Past{Messages: []model.Message{user("one"), says(words(400)), user("two"), says(words(400)), user("three")}}
	huge := Past{Messages: []model.Message{user("look"), says("yes"), user(words(900))}}
	for _, c := range []struct {
		name   string
		usable int
		past   Past
		asked  bool
		prune  int
		cut    int
		said   []string
		none   bool
	}{
		{name: "half full", usable: 2200, past: long, none: true},
		{name: "over 60 %: old results go in one batch", usable: 1600, past: long, prune: 5},
		{name: "over 75 %, and pruning helps", usable: 1100, past: long, prune: 5},
		{name: "over 60 % without results", usable: 1300, past: spoken, none: true},
		{name: "over 75 % without results", usable: 1000, past: spoken, cut: 4, said: []string{"one", "two"}},
		{name: "asked for with room left", usable: 100_000, past: spoken, asked: true, cut: 4, said: []string{"one", "two"}},
		{name: "asked for with one message", usable: 1000, past: Past{Messages: []model.Message{user("hi")}}, asked: true, none: true},
		{name: "the newest message alone is too long", usable: 1000, past: huge, cut: 2, said: []string{"look"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Decide(usual, Room{Window: c.usable + 500, Usable: c.usable}, c.past, c.asked)
			if plan.Nothing() != c.none || plan.Prune != c.prune || plan.Cut != c.cut {
				t.Fatalf("of %d tokens in %d: %+v", c.past.Tokens(), c.usable, plan)
			}
			if diff := cmp.Diff(c.said, plan.Said); plan.Compact && diff != "" {
				t.Errorf("what users wrote (-want +got):\n%s", diff)
			}
			after := plan.Apply(c.past, "what happened")
			if again := Decide(usual, Room{Window: c.usable + 500, Usable: c.usable}, after, false); !again.Nothing() {
				t.Errorf("a second plan of %d tokens is %+v", after.Tokens(), again)
			}
		})
	}
}

func TestCV4_WhatUsersWroteStaysWordForWordUpToItsShareTheNewestFirst(t *testing.T) {
	past := Past{Messages: talk(40)}
	plan := Decide(usual, Room{Window: 3000, Usable: 2000}, past, true)
	after := plan.Apply(past, "they talked")
	n := len(after.Digest.Said)
	if n < 10 || after.Digest.Said[n-1] != fmt.Sprintf("question %d", (plan.Cut-1)/4) {
		t.Errorf("kept %q of %d messages", after.Digest.Said, plan.Cut)
	}
	if used := saidTokens(after.Digest.Said); used > 450 {
		t.Errorf("what users wrote has %d tokens", used)
	}
	if text := after.Digest.Text(); !strings.Contains(text, "they talked") || !strings.Contains(text, "\n- question 3") {
		t.Errorf("the digest reads %s", text)
	}
}

func TestCV4_ATextIsShortenedInItsMiddle(t *testing.T) {
	for _, s := range []string{strings.Repeat("abcdefg ", 400), strings.Repeat("漢字", 300), strings.Repeat("é", 900)} {
		for _, most := range []int{0, 1, 5, 20, 100, 250} {
			got := Shorten(s, most)
			if Text(got) > most || !strings.HasPrefix(s, got[:min(3, len(got))]) || strings.ToValidUTF8(got, "?") != got {
				t.Errorf("of %d tokens, shortened to %d: %d tokens, %q", Text(s), most, Text(got), got)
			}
		}
	}
	if got := Shorten("short", 2); got != "short" {
		t.Errorf("a text that fits became %q", got)
	}
}

func TestCV4_TheEstimateFollowsTheEndpointsUsage(t *testing.T) {
	var g Gauge
	if g.Tokens(100) != 100 || g.Estimate(100) != 100 {
		t.Errorf("an estimate of 100 is %d without any usage", g.Tokens(100))
	}
	g.Learn(100, 150)
	g.Learn(100, 0) // an endpoint without usage
	if g.Tokens(100) != 150 || g.Estimate(150) != 100 {
		t.Errorf("an estimate of 100 is %d where the endpoint counted 150", g.Tokens(100))
	}
	g.Learn(100, 1_000_000)
	if g.Tokens(100) != 400 {
		t.Errorf("nonsense is believed: %d", g.Tokens(100))
	}
	if r := NewRoom(Gauge{}, 8192, Output(8192), 10_000); r.Usable != 1024 {
		t.Errorf("a fixed part above the window leaves %d tokens", r.Usable)
	}
}

func TestCV4_TheSummarisingModelGetsATextThatFits(t *testing.T) {
	d := Digest{Summary: words(2000)}
	for _, most := range []int{100, 1000, 10_000} {
		got := Script(d, talk(100), most)
		if n := Text(got); n > most+20 || !strings.HasSuffix(got, "Assistant: answer 99\n") {
			t.Errorf("%d tokens of %d: …%s", n, most, got[max(len(got)-80, 0):])
		}
	}
}

var texts = rapid.Custom(func(t *rapid.T) string {
	n := rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, 400), rapid.IntRange(0, 4000)).Draw(t, "tokens")
	if rapid.Bool().Draw(t, "wide") {
		return strings.Repeat("字", n)
	}
	return words(n)
})

// pasts draws conversations whose calls have their results.
var pasts = rapid.Custom(func(t *rapid.T) Past {
	p := Past{}
	for i := range rapid.IntRange(0, 40).Draw(t, "steps") {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			p.Messages = append(p.Messages, user(fmt.Sprintf("u%d ", i)+texts.Draw(t, "user")))
		case 1:
			p.Messages = append(p.Messages, says(texts.Draw(t, "answer")))
		default:
			call := says(texts.Draw(t, "why"))
			var results []model.Message
			for at := range rapid.IntRange(1, 4).Draw(t, "calls") {
				id := fmt.Sprintf("%d.%d", i, at)
				call.ToolCalls = append(call.ToolCalls, model.ToolCall{ID: id, Name: "terminal", Arguments: `{"command":"` + texts.Draw(t, "argument") + `"}`})
				result := model.Message{Role: model.RoleTool, ToolCallID: id, Content: texts.Draw(t, "result")}
				if rapid.IntRange(0, 9).Draw(t, "shows") == 0 {
					result.Images = make([]model.Image, rapid.IntRange(1, 3).Draw(t, "pictures"))
				}
				results = append(results, result)
			}
			p.Messages = append(append(p.Messages, call), results...)
		}
	}
	p.Messages = append(p.Messages, user("newest "+texts.Draw(t, "newest")))
	return p
})

// policies draws what [context] accepts.
var policies = rapid.Custom(func(t *rapid.T) Policy {
	to := rapid.Float64Range(0.2, 0.6).Draw(t, "to")
	at := rapid.Float64Range(to+0.1, 1).Draw(t, "at")
	return Policy{
		PruneAt: rapid.Float64Range(0.2, at).Draw(t, "prune"), CompactTo: to, CompactAt: at, Keep: rapid.Float64Range(0, to*0.75).Draw(t, "keep"),
	}
})

// whole checks that each call is directly followed by its results, and each result has a call.
func whole(t *rapid.T, messages []model.Message) {
	open := map[string]bool{}
	for _, m := range messages {
		if m.Role == model.RoleTool {
			if !open[m.ToolCallID] {
				t.Fatalf("the result of %s has no call", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Fatalf("the calls %v have no result", open)
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		t.Fatalf("the calls %v have no result", open)
	}
}

func TestCV4_WhateverAConversationHoldsItFitsAndStaysWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy, past := policies.Draw(t, "policy"), pasts.Draw(t, "past")
		usable := rapid.IntRange(400, 20_000).Draw(t, "usable")
		room := Room{Window: usable + rapid.IntRange(0, usable).Draw(t, "fixed"), Usable: usable}
		asked := rapid.Bool().Draw(t, "asked")
		for range 3 { // several compactions one after the other, and what comes between them
			plan := Decide(policy, room, past, asked)
			after := plan.Apply(past, rapid.SampledFrom([]string{"", "short", words(9000)}).Draw(t, "summary"))
			whole(t, after.Messages)
			if limit := int(policy.CompactAt * float64(usable)); after.Tokens() > limit {
				t.Fatalf("%d tokens are left of %d, in %d: %+v", after.Tokens(), past.Tokens(), limit, plan)
			}
			if again := Decide(policy, room, after, false); !again.Nothing() {
				t.Fatalf("after %+v to %d of %d tokens a second plan is %+v", plan, after.Tokens(), usable, again)
			}
			newestWhole(t, policy, usable, asked, past, after)
			past = after
			past.Messages = append(slices.Clone(past.Messages), says(texts.Draw(t, "more")), user("newest "+texts.Draw(t, "newest")))
		}
	})
}

// newestWhole checks that the newest message is there, or quoted, and that what fits into the newest part is unchanged.
func newestWhole(t *rapid.T, policy Policy, usable int, asked bool, before, after Past) {
	last := before.Messages[len(before.Messages)-1]
	if n := len(after.Messages); n > 0 {
		if got := after.Messages[n-1].Content; got[:6] != last.Content[:6] {
			t.Fatalf("the newest message is %.40q, was %.40q", got, last.Content)
		}
	} else if said := after.Digest.Said; len(said) == 0 || !strings.HasPrefix(last.Content, said[len(said)-1][:6]) {
		t.Fatalf("the newest message is lost: %q", said)
	}
	keep := int(policy.Keep * float64(usable))
	for i, used := 1, 0; i <= len(before.Messages); i++ {
		m := before.Messages[len(before.Messages)-i]
		if used += Message(m); asked || used > keep || m.Role == model.RoleTool {
			return
		}
		if diff := cmp.Diff(m, after.Messages[len(after.Messages)-i]); diff != "" {
			t.Fatalf("message %d from the end changed:\n%s", i, diff)
		}
	}
}
