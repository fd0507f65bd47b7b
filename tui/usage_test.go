package tui

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// $ and :usage open what model calls used; ] and [ turn the grouping, r reads it at once, esc closes it.
func TestTF37_WhatWasUsedIsAPageOfTheConsole(t *testing.T) {
	for _, opened := range []func(b *bench){func(b *bench) { b.keys("$") }, func(b *bench) { b.line("usage") }} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, newGateway(), Options{ReadOnly: true})
			opened(b)
			b.mustShow("usage this month", "[day]", "one day", "default", "$8.50 of $10.00", "85%")
			for _, by := range append(ops.UsageGroups[1:len(ops.UsageGroups):len(ops.UsageGroups)], "day") {
				b.keys("]")
				b.mustShow("["+by+"]", "one "+by)
			}
			b.keys("[")
			b.mustShow("[session]", "one session")
			view := b.m.view
			b.keys("2", "S", "j", "G", "g", "k")
			b.mustShow("[session]")
			if b.m.view != view || len(b.g.commands()) > 0 {
				t.Error("a key of the page did something else")
			}
			before := b.g.used
			if b.keys("r"); b.g.used == before {
				t.Error("r does not read it")
			}
			b.keys("esc")
			b.mustNotShow("usage this month")
		})
	}
}

// While the page is open it is read every 5 s. An error stays on it, with what was read before, and a closed page is not read.
func TestTF37_WhatWasUsedIsReadWhileItIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.keys("$")
		after := func(d time.Duration) int64 {
			before := b.g.used
			time.Sleep(d) // of the bubble's clock
			b.send(tick{})
			return b.g.used - before
		}
		if n := after(usageEvery - time.Second); n != 0 {
			t.Errorf("it was read %d times too early", n)
		}
		if n := after(time.Second); n != 1 {
			t.Errorf("it was read %d times, not once", n)
		}
		b.g.usedE = errors.New("the disk is away")
		after(usageEvery)
		b.mustShow("the disk is away", "one day")
		b.g.usedE = nil
		after(usageEvery)
		b.mustNotShow("the disk is away")
		b.keys("p") // no key of the page
		b.keys("q")
		if n := after(2 * usageEvery); n != 0 || b.m.dialog != nil {
			t.Error("a closed page is read")
		}
	})
}

func TestTF37_TheLogIsOpenedByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.keys("2")
		for range 2 { // the second time it is open already
			b.line("logs")
			if !b.m.stream.Log || b.m.stream.About != "" || b.m.view.String() != "events" {
				t.Errorf(":logs opens %s, %+v", b.m.view, b.m.stream)
			}
		}
		b.keys("1")
		b.mustShow("[ ] range")
	})
}
