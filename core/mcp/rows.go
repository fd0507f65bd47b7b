package mcp

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Rows are the servers as operators see them: one row of each that runs or that failed, and one of each other. It does no I/O.
func (s *Set) Rows() (rows []ops.Server) {
	rows = []ops.Server{}
	for _, one := range s.all() {
		n := len(rows)
		for _, i := range one.existing() {
			if row := i.row(); row.State != ops.ServerIdle || row.LastError != "" {
				rows = append(rows, row)
			}
		}
		one.mu.Lock()
		retiring := one.retiring
		one.mu.Unlock()
		if len(rows) == n && !retiring {
			rows = append(rows, one.row())
		}
	}
	return rows
}

// row is a server that does not run.
func (s *server) row() ops.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ops.Server{
		Name: s.def.Name, Scope: s.def.Scope, State: ops.ServerIdle, Tools: len(s.tools), LastError: s.refused, Calls: s.calls, Transport: s.transport(),
		Since: ops.At(s.since),
	}
}

// row is the server as its session has it.
func (i *instance) row() ops.Server {
	row := i.server.row()
	i.mu.Lock()
	defer i.mu.Unlock()
	row.Session, row.State, row.Since, row.Calls = i.session, i.state, ops.At(i.since), i.calls
	if i.problem != "" {
		row.LastError = i.problem
	}
	if i.link != nil && i.link.process != nil {
		row.PID = i.link.process.PID()
	}
	return row
}

// heldStates are the states of rows of what is held. A server that is idle holds nothing.
var heldStates = map[ops.ServerState]ops.HeldState{
	ops.ServerStarting: ops.HeldStarting, ops.ServerReady: ops.HeldReady, ops.ServerBackoff: ops.HeldBackoff, ops.ServerFailed: ops.HeldFailed,
	ops.ServerClosing: ops.HeldClosing,
}

// Holder is the set as what holds resources of sessions and of the gateway.
type Holder struct{ *Set }

// Holder returns the set as a holder.
func (s *Set) Holder() Holder { return Holder{s} }

// Rows are the servers that run. It does no I/O.
func (h Holder) Rows() (rows []ops.Held) {
	for _, one := range h.all() {
		for _, i := range one.existing() {
			if row, is := i.held(); is {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// held is the instance as what its session holds; is is false for one that holds nothing.
func (i *instance) held() (row ops.Held, is bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.link == nil && i.busy == nil {
		return row, false
	}
	row = ops.Held{Kind: ops.HeldServer, ID: i.server.def.Name, Session: i.session, Owner: "mcp:" + i.server.def.Name, State: heldStates[i.state], Since: ops.At(i.since), Detail: cmp.Or(i.problem, "its start is under way")}
	if l := i.link; l != nil {
		row.Kind, row.Owner, row.Detail = l.kind, l.owner(), text.Count(int(i.calls), "call")
		if l.users > 0 {
			row.Detail += ", " + strconv.Itoa(l.users) + " under way"
		}
	}
	return row, true
}

// CloseSession ends the servers of a session; of the empty one those of the gateway. Its calls fail. It is idempotent, and bounded by ctx.
func (s *Set) CloseSession(ctx context.Context, session string) error {
	return s.closeEach(ctx, endedSession, func(i *instance) bool { return i.session == session })
}

// CloseAll ends every server. Afterwards none is started. It is idempotent, and bounded by ctx.
func (s *Set) CloseAll(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	over := make(chan struct{})
	go func() { // it ends with the tasks, which are bounded
		s.tasks.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return errors.New("close the tool servers: " + text.Count(len(s.Holder().Rows()), "server") + " still running: " + context.Cause(ctx).Error())
	}
}

// Restart ends each running server of this name and forgets its failures. The next call starts it, and its list of tools is read again.
func (s *Set) Restart(ctx context.Context, name string) error {
	one := s.find(name)
	if one == nil {
		return &ops.Error{Code: ops.CodeNotFound, Message: "no server is called " + name, Hint: "`gatewaytui servers` lists them"}
	}
	if err := s.closeEach(ctx, endedRestart, func(i *instance) bool { return i.server.def.Name == name }); err != nil {
		return err
	}
	return nil
}

// closeEach ends the chosen instances, all at once.
func (s *Set) closeEach(ctx context.Context, why ending, chosen func(*instance) bool) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, one := range s.all() {
		for _, i := range one.existing() {
			if !chosen(i) {
				continue
			}
			all.Go(func() {
				if err := i.end(ctx, why, true); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}
			})
		}
	}
	all.Wait()
	return errors.Join(errs...)
}
