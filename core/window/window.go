// Package window decides what of a conversation a model call gets, so that it fits the model's context: which results of
// tools go, what a digest stands for, and which texts are shortened. It does no I/O and knows no clock.
//
// What it promises: what a plan leaves fits. A tool call is never without its result. The newest part of a conversation stays
// whole as long as that is possible, and what users wrote stays word for word the longest. A plan ends what called for it: a
// second one does nothing (CV4).
//
// tokens.go estimates, digest.go has what stands for the past, plan.go decides.
package window

import "gatewaytui/core/model"

// Policy says when something goes, in parts of the usable tokens (CONTRACT.md, [context]).
type Policy struct {
	// PruneAt is from where on old results of tools go, CompactAt from where on a digest replaces the past, and CompactTo what
	// is in use after that. 0 < CompactTo < CompactAt <= 1.
	PruneAt, CompactAt, CompactTo float64
	// Keep is the newest part, which stays whole. It is less than CompactTo.
	Keep float64
}

// Fallback is the context of a model where it is not known, in tokens.
const Fallback = 32_768

// Room is how many tokens a conversation may have, as this package estimates them.
type Room struct {
	// Window is the whole context, Usable what is left of it for the conversation.
	Window, Usable int
}

// leastUsable is the part of a window that a conversation gets in any case: with less of it no plan can help.
const leastUsable = 8

// NewRoom is the room in a window of so many tokens as the endpoint counts them, of which output are reserved for the answer.
// fixed is the estimate for what every request has: the prompt and the tools.
func NewRoom(g Gauge, window, output, fixed int) Room {
	whole := max(g.Estimate(window), 1)
	return Room{Window: whole, Usable: max(whole-g.Estimate(output)-fixed, whole/leastUsable, 1)}
}

// Output is how many tokens of a window are reserved for the answer where the config says nothing.
func Output(window int) int { return min(window/4, 4096) }

// Past is a conversation as a model gets it: the digest, then the messages, each call directly followed by its results.
type Past struct {
	Digest   Digest
	Messages []model.Message
}

// Tokens is about how many tokens the past has.
func (p Past) Tokens() int { return p.Digest.Tokens() + Messages(p.Messages) }
