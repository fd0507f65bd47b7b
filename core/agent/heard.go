package agent

import (
	"strings"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// heard is what an External has written of its answer. Any goroutine may write.
type heard struct {
	r *run

	mu           sync.Mutex // guards what follows
	b            strings.Builder
	first, moved time.Time
}

// delta hands on a part of the answer, and says now and then that text comes.
func (h *heard) delta(text string) {
	if h.r.ctx.Err() != nil || text == "" {
		return
	}
	now := time.Now()
	h.mu.Lock()
	if h.first.IsZero() {
		h.first = now
	}
	h.b.WriteString(text)
	moved := now.Sub(h.moved) >= progressEvery
	if moved {
		h.moved = now
	}
	h.mu.Unlock()
	if h.r.turn.Delta != nil {
		h.r.turn.Delta(text)
	}
	if moved {
		h.r.progress(ops.DoingModelAnswer)
	}
}

// text is what was written, and when the first part came.
func (h *heard) text() (string, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String(), h.first
}
