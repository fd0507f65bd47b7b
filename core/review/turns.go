package review

import (
	"context"
	"time"

	"gatewaytui/core/ops"
)

// Task names the background task of a review.
const Task = "memory review"

const (
	// taskBound is how long one review may take.
	taskBound = 2 * time.Minute
	// mostCounted is of how many conversations the turns are counted.
	mostCounted = 4096
	// mostLate is how many reviews of ended conversations of one session may run at once.
	mostLate = 8
)

// TurnEnded counts a turn of a conversation that has notes, and begins a review after so many. It does not wait for it. ctx is that of the life.
func (r *Reviewer) TurnEnded(ctx context.Context, key, conversation string) {
	if !r.due(conversation) {
		return
	}
	if r.begin(ctx, 1, key, conversation) > 0 { // the next turn asks again
		r.mu.Lock()
		r.turns[conversation] = r.o.Every()
		r.mu.Unlock()
	}
}

// begin begins a review, unless most of the session run. It returns how many do if it began none.
func (r *Reviewer) begin(ctx context.Context, most int, key, conversation string) (running int) {
	started, running := r.o.Tasks.StartUpTo(ctx, most, Task, key, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, taskBound)
		defer cancel()
		if r.o.Flush(ctx, conversation) == nil { // else the memory has logged why
			r.o.Log.Info("conversation reviewed for notes", "event", ops.LogMemory, "session", key)
		}
	})
	if started {
		return 0
	}
	return running
}

// due counts a turn, and reports whether a review is due. The count begins again then.
func (r *Reviewer) due(conversation string) bool {
	every := r.o.Every()
	if every <= 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, counted := r.turns[conversation]; !counted && len(r.turns) >= mostCounted {
		for other := range r.turns { // any: its review is late, and the end of its conversation makes up for it
			delete(r.turns, other)
			break
		}
	}
	if r.turns[conversation]++; r.turns[conversation] < every {
		return false
	}
	delete(r.turns, conversation)
	return true
}

// Forget drops the count of a conversation that has ended.
func (r *Reviewer) Forget(conversation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.turns, conversation)
}
