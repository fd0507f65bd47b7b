package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/views/lines"
)

// reach finds the gateway of the home that is meant. It does not connect. The caller closes what it returns.
func (p *program) reach() (*remote.Gateway, error) { return p.find(control.ClientOptions{}) }

func (p *program) find(opts control.ClientOptions) (*remote.Gateway, error) {
	home, err := instance.Resolve(p.home, p.getenv)
	if err != nil {
		return nil, err
	}
	return remote.Find(home, opts)
}

// asking makes a verb's body of a function that needs the gateway.
func (p *program) asking(body func(ctx context.Context, g *remote.Gateway, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		g, err := p.reach()
		if err != nil {
			return err
		}
		defer g.Close()
		err = body(cmd.Context(), g, args)
		if is[*outcome](err) {
			return err
		}
		return g.Explain(err)
	}
}

// past is what the files of the home tell, if err says that no gateway runs there; false where one may run, and where
// the home does not exist.
func (p *program) past(err error) (*lives.Past, bool) {
	dir, down := p.isDown(err)
	if !down {
		return nil, false
	}
	found, locateErr := instance.Locate(dir)
	if locateErr != nil {
		return nil, false
	}
	return lives.ReadPast(dir, found.Record), true
}

// isDown reports whether err says that no gateway runs on the home, and the home is there.
func (p *program) isDown(err error) (home string, down bool) {
	if err == nil || errors.Is(err, remote.ErrNoHome) || !remote.Gone(err) {
		return "", false
	}
	home, err = instance.Resolve(p.home, p.getenv)
	return home, err == nil
}

// request is an action as it was asked for.
type request struct {
	ops.Command
	spec        ops.VerbSpec
	name        string // of the action, for people
	dryRun, yes bool
	noWait      bool   // send: do not wait for the reply
	wait        bool   // stop: wait for the end
	lockDir     string // backup: where a gateway of this home would keep its lock; empty: in the home
}

// confirm says whether r may be given. With --yes it may. Otherwise who sits at a terminal sees what would end and is
// asked, and who does not may end nothing that runs (CONTRACT.md, 1; J8).
func (p *program) confirm(ctx context.Context, g *remote.Gateway, r *request) (goOn bool, err error) {
	if r.yes && !r.dryRun {
		return true, nil
	}
	preview, err := g.Preview(ctx, r.Command)
	switch {
	case err != nil:
		return false, err
	case r.dryRun:
		p.showPreview(r, preview)
		return false, nil
	case p.asks:
		return p.ask(ctx, g, r, preview)
	case !preview.EndsWork:
		return true, nil
	}
	p.showPreview(r, preview)
	return false, &outcome{exitConfirm, &ops.Error{
		Code: ops.CodeNeedsConfirmation, Message: r.name + " would end running work and needs confirmation",
		Hint: "use --yes, or --dry-run to preview",
	}}
}

// ask shows the preview and reads the answer. The answer is about the object that was shown: a conversation or a life that
// took its place meanwhile is left alone. Turns that begin and end meanwhile do not matter.
func (p *program) ask(ctx context.Context, g *remote.Gateway, r *request, preview ops.Preview) (bool, error) {
	if err := expectSeen(ctx, g, r); err != nil {
		return false, err
	}
	r.Expect = cmp.Or(r.Expect, preview.Seen)
	lines.Printer{Out: p.err}.Preview(r.what(), preview) // it is a person who is asked
	p.note("")
	fmt.Fprint(p.err, "go on? [y/N] ")
	// It waits for as long as the person does. An end of the input is a no.
	answer, err := bufio.NewReader(io.LimitReader(p.in, 1024)).ReadString('\n')
	if err != nil {
		p.note("")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, &outcome{exitConfirm, &ops.Error{Code: ops.CodeNeedsConfirmation, Message: "not confirmed: nothing was done"}}
}

// expectSeen ties r to the conversation that its session holds now, or to the life of the gateway.
func expectSeen(ctx context.Context, g *remote.Gateway, r *request) error {
	switch {
	case r.spec.OfLife:
		s, err := g.Status(ctx)
		r.Expect = s.Life
		return err
	case r.spec.Target != ops.TargetSession:
		return nil
	}
	page, err := g.Sessions(ctx, ops.Query{Key: r.Target})
	if err != nil {
		return err
	}
	for _, s := range page.Items {
		if s.Key == r.Target {
			r.Expect = s.ID
		}
	}
	return nil
}

// showPreview prints what r would do.
func (p *program) showPreview(r *request, preview ops.Preview) {
	p.show(preview, func() { p.lines().Preview(r.what(), preview) })
}

// what names the action and its target.
func (r *request) what() string { return strings.TrimSpace(r.name + " " + r.Target) }

// carryOut gives the command, waits until it is done, and shows what was done.
func (p *program) carryOut(ctx context.Context, g *remote.Gateway, r *request) error {
	req, err := g.Do(ctx, r.Command)
	if err != nil {
		return err
	}
	req, err = p.ended(ctx, g, req, fmt.Sprintf("the gateway goes on with it as request %s", req.ID))
	if o, ok := errors.AsType[*outcome](err); ok && o.code == exitNoGateway && r.spec.OfStop() {
		err = nil // what it acted on is over, which is what a lever is for
		req.Detail = "the gateway is gone"
	}
	if err != nil {
		return err
	}
	return p.showEnd(r, req)
}

// showEnd prints how a request ended. Its error is why the request failed.
func (p *program) showEnd(r *request, req ops.Request) error {
	p.show(req, func() { p.showDone(r, req) })
	return failed(req)
}

// ended waits for the end of a request, for as long as it takes: the gateway bounds each. goesOn tells who
// interrupts the wait what goes on.
func (p *program) ended(ctx context.Context, g *remote.Gateway, req ops.Request, goesOn string) (ops.Request, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	last, err := g.Request(ctx, req.ID, true)
	switch {
	case err == nil && last.State.Over():
		return last, nil
	case ctx.Err() != nil:
		return req, interrupted(goesOn)
	}
	if _, now := g.Recheck(ctx, err); remote.Gone(now) {
		return req, &outcome{exitNoGateway, &ops.Error{
			Code:    ops.CodeUnavailable,
			Message: fmt.Sprintf("the gateway went away before it said what became of request %s", req.ID),
			Hint:    "its history says how it ended: gatewaytui history, once it runs again",
		}}
	}
	return req, err
}

// failed is the error of a request that ended with one.
func failed(req ops.Request) error {
	switch {
	case req.Error != nil:
		return &outcome{exitFailed, req.Error}
	case req.State == ops.RequestFailed:
		return &outcome{exitFailed, &ops.Error{Code: ops.CodeInternal, Message: string(req.Verb) + " has failed, and the gateway did not say why"}}
	}
	return nil
}

// showDone prints what was done. That it failed is said by the error.
func (p *program) showDone(r *request, req ops.Request) {
	switch r.Verb {
	case ops.VerbKill:
		var k ops.KillResult
		if json.Unmarshal(req.Result, &k) == nil && len(k.Survivors) > 0 {
			p.say("survivors: %s", strings.Trim(fmt.Sprint(k.Survivors), "[]"))
		}
	case ops.VerbDiagnose:
		var d ops.DiagnoseResult
		if json.Unmarshal(req.Result, &d) == nil && d.Path != "" {
			p.say("%s", d.Path) // alone on its line, for $(gatewaytui diagnose)
			return
		}
	}
	if req.Error == nil {
		p.say("%s", cmp.Or(req.Detail, "done"))
	}
}
