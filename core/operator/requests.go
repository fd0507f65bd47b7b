package operator

import (
	"context"
	"encoding/json"
	"sync"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// requestsKept is how many ended requests can still be asked for.
const requestsKept = 4096

// requests are the accepted commands and what became of them (B5). Ended ones are kept until requestsKept newer ones
// have ended.
type requests struct {
	mu    sync.Mutex
	byID  map[string]*request
	ended []string // ids, oldest first
}

type request struct {
	row  ops.Request
	done chan struct{}
}

func newRequests() *requests { return &requests{byID: map[string]*request{}} }

func (rs *requests) add(r ops.Request) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.byID[r.ID] = &request{row: r, done: make(chan struct{})}
}

// update changes a request that has not ended. Ending it twice is harmless: the first end counts.
func (rs *requests) update(id string, state ops.RequestState, detail string, result any, err error) (ops.Request, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.byID[id]
	if r == nil || r.row.State.Over() {
		return ops.Request{}, false
	}
	r.row.State, r.row.Detail, r.row.Error = state, detail, ops.AsError(err)
	if result != nil {
		r.row.Result, _ = json.Marshal(result) // our own result types: they always marshal
	}
	if state.Over() {
		close(r.done)
		rs.ended = append(rs.ended, id)
		if len(rs.ended) > requestsKept {
			delete(rs.byID, rs.ended[0])
			rs.ended = rs.ended[1:]
		}
	}
	return r.row, true
}

// get returns a request; with wait it does so when the request has ended or ctx has.
func (rs *requests) get(ctx context.Context, id string, wait bool) (ops.Request, error) {
	rs.mu.Lock()
	r := rs.byID[id]
	rs.mu.Unlock()
	if r == nil {
		return ops.Request{}, &ops.Error{Code: ops.CodeNotFound, Message: "no request " + term.Quote(id), Hint: "requests are kept for one life, and the oldest are forgotten"}
	}
	if wait {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return r.row, nil
}
