package window

import (
	"fmt"
	"slices"

	"gatewaytui/core/model"
)

const (
	// saidShare is the part of the window that what users wrote may have in a digest.
	saidShare = 0.15
	// batch is the part of the usable tokens that pruning must give: the endpoint's cache is lost behind what changes.
	batch = 0.1
	// digestLeast is the part of the usable tokens that a digest gets in any case.
	digestLeast = 0.1
	// mostSummary bounds a summary, in tokens.
	mostSummary = 4000
	// smallResult is a result that is not worth pruning, in tokens.
	smallResult = 64
	// leastSaid is the least of a message that is worth keeping, in tokens.
	leastSaid = 24
)

// Plan says what is to be done with a past. The zero value is nothing.
type Plan struct {
	// Prune says that the large results of tools among the first so many messages are replaced by notes.
	Prune int
	// Compact says that a digest replaces the first Cut messages and the digest before them. Cut may be 0.
	Compact bool
	Cut     int
	// Said is what users wrote there, and Summary how many tokens the summary may have.
	Said    []string
	Summary int
	// most is how many tokens the past may have in the end.
	most int
}

// Nothing reports whether nothing is to be done.
func (p Plan) Nothing() bool { return p.Prune == 0 && !p.Compact }

// Relaxed reports whether a conversation of so many tokens leaves so much room that nothing is to be done unless it is asked for.
func (p Policy) Relaxed(room Room, tokens int) bool {
	return tokens < int(p.PruneAt*float64(room.Usable))
}

// Decide says what is to be done with a past. asked means that a user wants it compacted in any case.
func Decide(policy Policy, room Room, past Past, asked bool) Plan {
	share := func(part float64) int { return int(part * float64(room.Usable)) }
	used := past.Tokens()
	if !asked && policy.Relaxed(room, used) {
		return Plan{}
	}
	keep := share(policy.Keep)
	if asked { // there may be much room yet
		keep = min(keep, int(policy.Keep*float64(used)))
	}
	start := newest(past.Messages, keep)
	if gain := prunable(past.Messages[:start]); !asked && gain >= max(share(batch), 1) && used-gain < share(policy.CompactAt) {
		return Plan{Prune: start}
	}
	if used < share(policy.CompactAt) && (!asked || start == 0) {
		return Plan{}
	}
	plan := Plan{Compact: true, Cut: start, most: share((policy.CompactAt + policy.CompactTo) / 2)}
	if Messages(clipped(past.Messages[start:], true, leastSaid))+share(digestLeast) > plan.most {
		plan.Cut = len(past.Messages) // not even their beginnings fit
	}
	rest := max(share(policy.CompactTo)-Messages(past.Messages[plan.Cut:]), share(digestLeast))
	rest -= perMessage + Digest{Summary: " ", Said: []string{" "}}.Tokens()
	plan.Said = said(past, plan.Cut, min(int(saidShare*float64(room.Window)), rest*2/3))
	plan.Summary = min(rest-saidTokens(plan.Said), mostSummary)
	return plan
}

// newest is where the newest messages begin that have at most so many tokens, between whole steps. It is at least the last step.
func newest(messages []model.Message, tokens int) int {
	start, used := len(messages), 0
	for i := len(messages) - 1; i >= 0; i-- {
		used += Message(messages[i])
		if messages[i].Role == model.RoleTool {
			continue // its call is before it
		}
		if used > tokens && start < len(messages) {
			break
		}
		start = i
	}
	return start
}

// prunable is about how many tokens pruning gives.
func prunable(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		if m.Role != model.RoleTool {
			continue
		}
		n += perImage * len(m.Images)
		if Text(m.Content) > smallResult {
			n += Text(m.Content) - Text(prunedNote(m.Content))
		}
	}
	return n
}

func prunedNote(content string) string {
	return fmt.Sprintf("[result of %d bytes left out to save room; call the tool again if it is needed]", len(content))
}

// said is what users wrote in the first so many messages of a past and before them, oldest first, in at most so many tokens:
// the newest of it. The oldest that is in it may be shortened.
func said(past Past, cut, tokens int) []string {
	all := slices.Clone(past.Digest.Said)
	for _, m := range past.Messages[:cut] {
		if m.Role == model.RoleUser && m.Content != "" {
			all = append(all, m.Content)
		}
	}
	var kept []string
	for _, text := range slices.Backward(all) {
		own := Text("\n- "+text) + 1
		if own > tokens {
			if tokens > leastSaid {
				kept = append(kept, Shorten(text, tokens-2))
			}
			break
		}
		tokens -= own
		kept = append(kept, text)
	}
	slices.Reverse(kept)
	return kept
}

func saidTokens(said []string) int {
	n := 0
	for _, text := range said {
		n += Text("\n- "+text) + 1
	}
	return n
}

// Apply does what a plan says and returns the past that the model gets. The messages of past are not changed. summary is for a
// plan that compacts, and is shortened where it is too long; empty: there is none.
func (p Plan) Apply(past Past, summary string) Past {
	if p.Prune > 0 {
		return Past{Digest: past.Digest, Messages: pruned(past.Messages, p.Prune)}
	}
	if !p.Compact {
		return past
	}
	if summary == "" && p.Cut > 0 {
		summary = NoSummary
	}
	out := Past{Digest: Digest{Summary: Shorten(summary, max(p.Summary, 0)), Said: p.Said}, Messages: past.Messages[p.Cut:]}
	return out.within(p.most)
}

// pruned is messages with notes for the large results among the first so many, and without the pictures of these results.
func pruned(messages []model.Message, before int) []model.Message {
	out := slices.Clone(messages)
	for i, m := range out[:before] {
		if m.Role != model.RoleTool {
			continue
		}
		out[i].Images = nil
		if Text(m.Content) > smallResult {
			out[i].Content = prunedNote(m.Content)
		}
	}
	return out
}

// within is a past of at most so many tokens: texts are shortened, those of users last.
func (p Past) within(tokens int) Past {
	for _, users := range []bool{false, true} {
		longest := 0
		for _, m := range p.Messages {
			longest = max(longest, Message(m))
		}
		for most := longest; p.Tokens() > tokens && most > leastSaid; {
			most = max(most*3/4, leastSaid)
			p.Messages = clipped(p.Messages, users, most)
		}
	}
	return p
}

// clipped is messages whose texts have at most so many tokens, and whose results have no picture that alone has more. users says that what
// users wrote is shortened too.
func clipped(messages []model.Message, users bool, most int) []model.Message {
	out := slices.Clone(messages)
	for i, m := range out {
		if m.Role == model.RoleUser && !users {
			continue
		}
		out[i].Content = Shorten(m.Content, most)
		if m.Role == model.RoleTool && most < perImage {
			out[i].Images = nil
		}
		out[i].ToolCalls = slices.Clone(m.ToolCalls)
		for at, c := range m.ToolCalls {
			if Text(c.Arguments) > most {
				out[i].ToolCalls[at].Arguments = fmt.Sprintf(`{"left_out":"%d bytes"}`, len(c.Arguments))
			}
		}
	}
	return out
}

// Pruned is messages with notes for the large results of tools up to a place in the store.
func Pruned(messages []model.Message, upto int64) []model.Message {
	before := 0
	for i, m := range messages {
		if m.Seq > 0 && m.Seq <= upto {
			before = i + 1
		}
	}
	if before == 0 {
		return messages
	}
	return pruned(messages, before)
}
