package events

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// A reader that asked for few kinds gets each event of these, and a report of the others at most four times a second.
// Its place follows the stream, so that it can resume without a gap.
func TestAReaderOfFewKindsLearnsOfTheOthersFourTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var seen []ops.Event
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for e, err := range h.Follow(ctx, 0, ops.EventAdapterState) {
				if err != nil {
					t.Error(err)
				}
				seen = append(seen, e)
			}
		}()
		const seconds, perSecond = 5, 1000
		for i := range seconds * perSecond {
			kind := ops.EventTurnProgress
			if i%perSecond == perSecond/2 {
				kind = ops.EventAdapterState
			}
			h.Emit(kind, "x", "", nil)
			time.Sleep(time.Second / perSecond)
		}
		time.Sleep(time.Second) // for the event that reports what was skipped last
		synctest.Wait()
		cancel()
		<-ended
		states, reports, others := 0, 0, 0
		var last uint64
		for _, e := range seen {
			if e.Seq < last {
				t.Errorf("event %d came after %d", e.Seq, last)
			}
			last = e.Seq
			switch e.Type {
			case ops.EventAdapterState:
				states++
			case ops.EventSkipped:
				reports++
				others += int(e.Data.(ops.Missed).Count)
			default:
				t.Errorf("got an event of type %s", e.Type)
			}
		}
		if states != seconds || others != seconds*perSecond-seconds || last != seconds*perSecond {
			t.Errorf("%d events that were asked for, %d others reported, the last is %d; want %d, %d, %d", states, others, last, seconds, seconds*perSecond-seconds, seconds*perSecond)
		}
		if reports > 4*(seconds+1)+1 {
			t.Errorf("%d reports of others in %d seconds", reports, seconds+1)
		}
	})
}

func TestSkippedEventsThatNothingFollowsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New()
		for range 1000 { // more than are taken at once
			h.Emit(ops.EventTurnEnded, "x", "", nil)
		}
		for e := range h.Follow(t.Context(), 0, ops.EventWarning) {
			if e.Seq == 1000 {
				h.Close()
			}
		}
	})
}

// A reader that comes too late gets the number of the events that it missed, and the metric counts them.
func TestMissedEventsAreReportedAndCounted(t *testing.T) {
	h := New()
	const more = 10
	for range kept + more {
		h.Emit(ops.EventTurnEnded, "x", "", nil)
	}
	h.Close()
	var missed uint64
	for e := range h.Follow(t.Context(), 1) {
		if e.Type == ops.EventDropped {
			missed = e.Data.(ops.Missed).Count
		}
	}
	if want := uint64(more - 1); missed != want || h.Missed() != want {
		t.Errorf("the reader learned of %d missed events and %d are counted, want %d", missed, h.Missed(), want)
	}
}
