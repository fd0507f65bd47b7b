package window

import (
	"fmt"
	"unicode/utf8"

	"gatewaytui/core/model"
)

// The costs of a text in parts of a token: prose and code have about 3.5 ASCII characters to a token, other writings about
// one character.
const (
	parts     = 7
	asciiCost = 2
	otherCost = parts
)

// What a message, a tool call and a picture cost in addition to their texts, in tokens.
const (
	perMessage = 6
	perCall    = 10
	perImage   = 1000
)

// Text is about how many tokens a text has.
func Text(s string) int {
	cost := 0
	for i := range len(s) {
		switch b := s[i]; {
		case b < utf8.RuneSelf:
			cost += asciiCost
		case utf8.RuneStart(b):
			cost += otherCost
		}
	}
	return (cost + parts - 1) / parts
}

// Message is about how many tokens a message has.
func Message(m model.Message) int {
	n := perMessage + Text(m.Content) + perImage*len(m.Images)
	for _, c := range m.ToolCalls {
		n += perCall + Text(c.Name) + Text(c.Arguments)
	}
	return n
}

// Tools is about how many tokens the descriptions of tools have.
func Tools(specs []model.ToolSpec) int {
	n := 0
	for _, s := range specs {
		n += perCall + Text(s.Name) + Text(s.Description) + Text(string(s.Schema))
	}
	return n
}

// Messages is about how many tokens messages have.
func Messages(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		n += Message(m)
	}
	return n
}

// Shorten is a text of at most so many tokens: s itself, or its beginning and its end with a note between them.
func Shorten(s string, tokens int) string {
	if Text(s) <= tokens {
		return s
	}
	note := fmt.Sprintf("\n[%d bytes left out]\n", len(s))
	left := tokens - Text(note)
	if left <= 0 {
		return s[:head(s, max(tokens, 0))]
	}
	begin := head(s, left*2/3)
	end := tail(s[begin:], left-left*2/3)
	note = fmt.Sprintf("\n[%d bytes left out]\n", len(s)-begin-end)
	return s[:begin] + note + s[len(s)-end:]
}

// head is how many bytes of the beginning of s have at most so many tokens.
func head(s string, tokens int) int {
	left := tokens * parts
	for i, r := range s {
		if left -= cost(r); left < 0 {
			return i
		}
	}
	return len(s)
}

// tail is head for the end of s.
func tail(s string, tokens int) int {
	left, at := tokens*parts, len(s)
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		if left -= cost(r); left < 0 {
			break
		}
		at -= size
	}
	return len(s) - at
}

func cost(r rune) int {
	if r < utf8.RuneSelf {
		return asciiCost
	}
	return otherCost
}

// Gauge turns estimates into tokens as an endpoint counts them. The zero value trusts the estimates. It belongs to one
// goroutine.
type Gauge struct {
	ratio float64
}

// The bounds of what an endpoint's usage is believed: beyond them it counts something else, or reports nonsense.
const (
	leastRatio = 0.5
	mostRatio  = 4.0
)

// Learn takes what an endpoint counted for a request, next to the estimate of that same request. A count of 0 is none. What was
// counted before a compaction says nothing about what is left, so that only the ratio is kept.
func (g *Gauge) Learn(estimated int, counted int64) {
	if estimated > 0 && counted > 0 {
		g.ratio = min(max(float64(counted)/float64(estimated), leastRatio), mostRatio)
	}
}

// Tokens is how many tokens the endpoint counts for an estimate.
func (g Gauge) Tokens(estimated int) int {
	return int(float64(estimated) * g.factor())
}

// Estimate is the estimate to which Tokens gives at most so many tokens.
func (g Gauge) Estimate(tokens int) int {
	return int(float64(tokens) / g.factor())
}

func (g Gauge) factor() float64 {
	if g.ratio == 0 {
		return 1
	}
	return g.ratio
}
