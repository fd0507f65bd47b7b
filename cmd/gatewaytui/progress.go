package main

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// progressOf returns a function to call before each of whole things. Where the work takes longer than progressEvery, it tells the person at
// the terminal each time how far it is. A whole of 0 is not known.
func (p *program) progressOf(verb, thing string, whole int64) func() {
	done, said := int64(0), time.Now()
	return func() {
		if now := time.Now(); p.asks && now.Sub(said) >= progressEvery {
			said = now
			p.note("%-11s %s", verb, howFar(done, whole, thing))
		}
		done++
	}
}

// howFar says how many things are done, and how many of how many where that is known.
func howFar(done, whole int64, thing string) string {
	if whole < done || whole == 0 {
		return text.Count(int(done), thing)
	}
	return fmt.Sprintf("%d of %s, %d%%", done, text.Count(int(whole), thing), ops.Percent(done, whole))
}
