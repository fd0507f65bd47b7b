package ops

import "time"

// Rates is what a gateway did over a span, from the ring that it keeps in memory: a console that attaches late sees all of it.
// A life begins with an empty ring.
type Rates struct {
	// At is the moment of the answer; SpanMS the span that is answered, of RateSpans, which ends there.
	At     Time  `json:"at"`
	SpanMS int64 `json:"span_ms"`
	// StepMS is how long each of Steps lasts; the last one is not over yet. Steps are oldest first, without a gap, and at most
	// RateSteps. They begin with the life at the earliest.
	StepMS int64      `json:"step_ms"`
	Steps  []RateStep `json:"steps"`
	// TurnP50MS and TurnP95MS are how long turns took that ended in the span, FirstTokenP50MS and FirstTokenP95MS how long model
	// calls took until the first byte of their answer; 0: there was none.
	TurnP50MS       int64 `json:"turn_p50_ms"`
	TurnP95MS       int64 `json:"turn_p95_ms"`
	FirstTokenP50MS int64 `json:"first_token_p50_ms"`
	FirstTokenP95MS int64 `json:"first_token_p95_ms"`
	// Lately are the last turns that ended, newest first, at most RateTurns.
	Lately []TurnEnded `json:"lately"`
}

// RateSpan is the span of a question that names none.
const RateSpan = 30 * time.Minute

// Bounds of Rates.
const (
	RateSteps = 60
	RateTurns = 20
)

// RateSpans are the spans that a gateway knows; another one is answered by the next longer of these,
// one that is too long by the longest.
var RateSpans = []time.Duration{5 * time.Minute, 30 * time.Minute, 6 * time.Hour, 24 * time.Hour}

// RateStep is one step of Rates.
type RateStep struct {
	// Turns ended in it; Tokens and Cost are those of the model calls that ended in it.
	Turns     int     `json:"turns"`
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	Cost      float64 `json:"cost"`
	// FirstTokenMS is the median over the model calls that began to answer in it; 0: none did.
	FirstTokenMS int64 `json:"first_token_ms"`
	// What follows is the greatest value in the step: running turns, messages that wait, resident memory of the gateway and of
	// the processes that it tracks, and how many processes these were.
	Running    int   `json:"running"`
	Queued     int   `json:"queued"`
	RSSBytes   int64 `json:"rss_bytes"`
	ToolsBytes int64 `json:"tools_bytes"`
	Processes  int   `json:"processes"`
}

// TurnEnded is a turn that has ended.
type TurnEnded struct {
	Session   string `json:"session"`
	Turn      string `json:"turn"`
	Agent     string `json:"agent"`
	EndedAt   Time   `json:"ended_at"`
	ElapsedMS int64  `json:"elapsed_ms"`
	// State is as in TurnEnd.
	State  string `json:"state"`
	Tokens int64  `json:"tokens"`
	// Cost is the money for its model calls; null: unknown.
	Cost *float64 `json:"cost"`
}
