// Package hook tells programs of the operator what happens in the gateway: a command that reads an event, or an address that gets
// it (HR9).
//
// What it promises: a hook never slows the gateway. Each hook has a queue of its own with a bound; events beyond it are counted and
// dropped. A hook handles one event at a time, in their order, within its timeout. A command is a tracked process tree, which ends
// with its event in every case, with all that it started. A request follows no redirect. What a hook does causes no further event for
// hooks. Every hook has a row, and a stop ends all of them by name.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/text"
)

// Owner is the owner of the processes of hooks.
const Owner = "hook"

// Spec is one hook of the config.
type Spec struct {
	// Name is the operator's.
	Name string
	// On are patterns of event types, in which * is any text.
	On []string
	// Command is the program with its arguments, URL the address in its place.
	Command []string
	URL     string
	// Secret signs each request to URL; empty: none is signed.
	Secret string
	// Broken says why the hook cannot run; empty: it can.
	Broken string
	// Timeout bounds what one event costs.
	Timeout time.Duration
}

// kinds are the event types that the hook wants.
func (s Spec) kinds() (kinds []ops.EventType) {
	for _, kind := range ops.EventTypes {
		if slices.ContainsFunc(s.On, func(pattern string) bool { return text.Glob(pattern, string(kind)) }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Events is where events come from. *events.Hub is one.
type Events interface {
	Newest() uint64
	Follow(ctx context.Context, seq uint64, kinds ...ops.EventType) iter.Seq2[ops.Event, error]
}

// Processes starts commands. *process.Registry is one.
type Processes interface {
	Spawn(ctx context.Context, spec process.Spec) (*process.Process, error)
}

// Options are what New needs. Every field is required.
type Options struct {
	Events    Events
	Processes Processes
	// Dir is the working directory of commands.
	Dir string
	Log *slog.Logger
}

// Hooks are the hooks of a gateway. Its methods may be called from any goroutine; Run is called at most once.
type Hooks struct {
	o Options

	mu sync.Mutex // guards what follows
	// ctx is that of the workers; nil before Run.
	ctx    context.Context
	cancel context.CancelFunc
	closed bool
	hooks  []*hook
	// leaving are hooks of an earlier config that may still handle an event.
	leaving []*hook
	// from is the newest event when the hooks changed last: hooks get what comes later.
	from uint64
	// again ends the following of events, because the hooks have changed.
	again context.CancelFunc
}

// New returns hooks that wait for Run. It does no I/O.
func New(o Options) *Hooks { return &Hooks{o: o} }

// Use puts the hooks of a config in force. A hook that is the same as before keeps its queue and its counts; one that is gone or
// different ends with the event that it handles.
func (h *Hooks) Use(specs []Spec) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	var next []*hook
	for _, s := range specs {
		at := slices.IndexFunc(h.hooks, func(k *hook) bool { return reflect.DeepEqual(k.spec, s) })
		if at >= 0 {
			next = append(next, h.hooks[at])
			continue
		}
		k := newHook(s, h.o.Log, h.sender(s))
		if h.ctx != nil {
			k.start(h.ctx)
		}
		next = append(next, k)
	}
	h.leaving = slices.DeleteFunc(h.leaving, (*hook).gone)
	for _, k := range h.hooks {
		if !slices.Contains(next, k) {
			k.cancel()
			h.leaving = append(h.leaving, k)
		}
	}
	h.change(next)
}

// change makes hooks those in force. mu is held.
func (h *Hooks) change(hooks []*hook) {
	h.hooks, h.from = hooks, h.o.Events.Newest()
	if h.again != nil {
		h.again()
	}
}

// sender is how a hook hands out an event.
func (h *Hooks) sender(s Spec) sender {
	if len(s.Command) > 0 {
		return &command{argv: s.Command, dir: h.o.Dir, processes: h.o.Processes}
	}
	return newRequest(s)
}

// Run hands events to the hooks, those from now on, until ctx ends or the hooks are closed.
func (h *Hooks) Run(ctx context.Context) {
	seq := h.o.Events.Newest()
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	// The workers end at CloseAll, which waits for them: the end of ctx alone would let the stop not name them.
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, k := range h.hooks {
		k.start(h.ctx)
	}
	h.mu.Unlock()
	for ctx.Err() == nil {
		var more bool
		if seq, more = h.follow(ctx, seq); !more {
			return
		}
	}
}

// follow hands out the events after seq until the hooks change, and returns the last one. more is false if no event follows.
func (h *Hooks) follow(ctx context.Context, seq uint64) (last uint64, more bool) {
	ctx, again := context.WithCancel(ctx)
	defer again()
	h.mu.Lock()
	closed, hooks := h.closed, slices.Clone(h.hooks)
	h.again = again
	h.mu.Unlock()
	if closed {
		return seq, false
	}
	var kinds []ops.EventType
	for _, k := range hooks {
		kinds = append(kinds, k.kinds...)
	}
	if len(kinds) == 0 {
		<-ctx.Done() // no deadline: without hooks there is nothing to do
		h.mu.Lock()
		defer h.mu.Unlock()
		return max(seq, h.from), true
	}
	for e, err := range h.o.Events.Follow(ctx, seq, kinds...) {
		if err != nil {
			return seq, false
		}
		seq = max(seq, e.Seq)
		switch {
		case e.Type == ops.EventDropped:
			h.o.Log.Warn(ops.LogHookDropped, "hook", "*", "reason", "events came faster than they could be read", "count", missed(e))
		case e.Type != ops.EventSkipped && !own(e):
			hand(hooks, e)
		}
	}
	return seq, ctx.Err() != nil
}

// own reports whether an event is about what a hook did: a hook would cause its own next event.
func own(e ops.Event) bool {
	change, is := ops.PayloadOf[ops.ProcessChange](e)
	return is && change.Owner == Owner
}

func missed(e ops.Event) uint64 {
	m, _ := ops.PayloadOf[ops.Missed](e)
	return m.Count
}

// hand puts an event, as the control socket shows it, into the queues of the hooks that want it. It does not wait.
func hand(hooks []*hook, e ops.Event) {
	var body []byte
	for _, k := range hooks {
		if !slices.Contains(k.kinds, e.Type) {
			continue
		}
		if body == nil {
			var err error
			if body, err = json.Marshal(e); err != nil {
				return // a payload of this program always encodes
			}
		}
		k.put(e.Type, body)
	}
}

// Rows implements held.Holder.
func (h *Hooks) Rows() []ops.Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.ctx == nil {
		return nil
	}
	rows := make([]ops.Held, 0, len(h.hooks))
	for _, k := range h.hooks {
		rows = append(rows, k.row())
	}
	return rows
}

// CloseSession implements held.Holder: hooks are the gateway's, and end with it.
func (h *Hooks) CloseSession(ctx context.Context, session string) error {
	if session != "" {
		return nil
	}
	return h.CloseAll(ctx)
}

// CloseAll implements held.Holder: it ends every hook with the event that it handles, drops what waits, and waits for all of it
// within ctx. The error names the hooks that have not ended. Twice is harmless.
func (h *Hooks) CloseAll(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	if h.cancel != nil {
		h.cancel()
	}
	if h.again != nil {
		h.again()
	}
	hooks := slices.Concat(h.hooks, h.leaving)
	h.mu.Unlock()
	var left []string
	for _, k := range hooks {
		if !k.ended(ctx) {
			left = append(left, k.spec.Name)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("end the hooks: still running: %s", strings.Join(left, ", "))
	}
	return nil
}

// sender hands one event to what the operator named. Its error says why the event may not have been handled, for people, without
// a secret.
type sender interface {
	send(ctx context.Context, e ops.EventType, body []byte) error
	// close releases what sends share.
	close()
}
