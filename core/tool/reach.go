package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/fence"
	"gatewaytui/core/term"
)

const (
	// hostsPerCommand bounds the hosts that one command can ask for, and hostsAtOnce those that wait for a person at the same time.
	hostsPerCommand = 20
	hostsAtOnce     = 3
	// askingWidth is the room for a command in the reasons of a request, in cells.
	askingWidth = 200
)

// Hosts puts the hosts to the gate that commands connect to and that the network of their sandbox does not list (TR3). The zero value is
// ready. Its methods may be called from any goroutine.
type Hosts struct {
	mu      sync.Mutex // guards what follows; never held over a question
	running []*reach   // the newest last
}

// Ask decides on a host for the commands of a sandbox. The question belongs to the newest command of its session that a turn waits for, and
// ends with it. Its answer holds for every connection of that command. The error is for the command. Ask waits until ctx ends at most.
func (h *Hosts) Ask(ctx context.Context, use environment.Use, host string) error {
	r := h.newest(use)
	if r == nil {
		return fmt.Errorf("a person is asked only while a turn waits for a command; the owner can add the host to environments.%s.network", use.Definition.Name)
	}
	return r.ask(ctx, use.Definition.Name, host)
}

func (h *Hosts) newest(use environment.Use) *reach {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Backward(h.running) {
		if r.call.Session == use.Session && r.call.Agent == use.Agent {
			return r
		}
	}
	return nil
}

// reach is what one command in the foreground may connect to beyond its list.
type reach struct {
	hosts *Hosts
	call  Call
	gate  Gate
	// text is the command, and doing the activity that the turn shows for it.
	text, doing string
	ctx         context.Context // ends with the command
	stop        context.CancelFunc
	work        sync.WaitGroup // the questions; grows under mu while closed is false

	mu     sync.Mutex // guards what follows; never held over a question
	asked  map[string]*decision
	open   int // the questions that wait
	closed bool
	limit  *time.Timer // ends the command; nil until it runs
	left   time.Duration
	since  time.Time // when limit was started
	over   string    // the answer for the user when a question ended the turn
}

// decision is the answer about a host. done is closed when err holds.
type decision struct {
	done chan struct{}
	err  error
}

// begin lets a command in the foreground ask for hosts until end is called. It returns nil where no person can be asked.
func (h *Hosts) begin(ctx context.Context, gate Gate, call Call, text, doing string) *reach {
	if h == nil || gate == nil {
		return nil
	}
	r := &reach{hosts: h, call: call, gate: gate, text: text, doing: doing, asked: map[string]*decision{}}
	r.ctx, r.stop = context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = append(h.running, r)
	return r
}

// end withdraws what waits, and waits until it is. It returns the answer for the user if a question ended the turn; empty: none did.
func (r *reach) end() (over string) {
	if r == nil {
		return ""
	}
	r.hosts.mu.Lock()
	r.hosts.running = slices.DeleteFunc(r.hosts.running, func(other *reach) bool { return other == r })
	r.hosts.mu.Unlock()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.work.Wait() // a gate returns soon after the end of its context
	return r.over
}

// within is ctx with the limit of the command, which stands still while a person is asked.
func (r *reach) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if r == nil {
		return context.WithTimeout(ctx, limit)
	}
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit, r.left, r.since = time.AfterFunc(limit, cancel), limit, time.Now()
	if r.open > 0 {
		r.pause()
	}
	return ctx, func() {
		r.mu.Lock()
		r.limit.Stop()
		r.limit = nil
		r.mu.Unlock()
		cancel()
	}
}

// pause stops the limit. r.mu is held.
func (r *reach) pause() {
	if r.limit != nil && r.limit.Stop() {
		r.left -= time.Since(r.since)
	}
}

// resume lets the limit go on. r.mu is held.
func (r *reach) resume() {
	if r.limit != nil {
		r.since = time.Now()
		r.limit.Reset(max(r.left, 0))
	}
}

// errCommandEnded refuses a host to what a command has left.
var errCommandEnded = errors.New("the command that wanted it has ended")

func (r *reach) ask(ctx context.Context, environment, host string) error {
	r.mu.Lock()
	d := r.asked[host]
	switch {
	case d != nil:
	case r.closed:
		r.mu.Unlock()
		return errCommandEnded
	case r.over != "":
		r.mu.Unlock()
		return errors.New("too many requests of this turn were refused")
	case len(r.asked) == hostsPerCommand:
		r.mu.Unlock()
		return fmt.Errorf("one command can ask for at most %d hosts", hostsPerCommand)
	case r.open == hostsAtOnce:
		r.mu.Unlock()
		return fmt.Errorf("%d hosts of this command wait for a person already", hostsAtOnce)
	default:
		d = &decision{done: make(chan struct{})}
		r.asked[host] = d
		if r.open++; r.open == 1 {
			r.pause()
		}
		r.work.Go(func() { r.decide(d, environment, host) })
	}
	r.mu.Unlock()
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// decide asks the gate about a host.
func (r *reach) decide(d *decision, environment, host string) {
	err := r.gate.Pass(r.ctx, r.call, Step{Kind: StepHost, Text: host, Environment: fence.Sandbox, Judgement: fence.Judgement{
		Verdict: fence.Ask, Reasons: []string{"environments." + environment + ".network does not list the host", "the command is " + term.Clean(r.text, askingWidth)},
	}})
	r.mu.Lock()
	if over, is := errors.AsType[*OverError](err); is {
		r.over = over.Text
	}
	if r.open--; r.open == 0 && !r.closed {
		r.resume()
	}
	r.mu.Unlock()
	d.err = err
	close(d.done)
	if r.ctx.Err() == nil {
		r.call.Progress(r.doing)
	}
}
