package main

import (
	"context"
	"errors"

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

// lastEnd is how the newest life of the files ended, and what overran in its stop; nil if they know of none.
func lastEnd(p *lives.Past) (end *ops.LastEnd, late string) {
	r, known := p.Newest()
	if !known {
		return nil, ""
	}
	end = &ops.LastEnd{Life: r.Life, Outcome: r.Outcome, Phase: r.Phase, Reason: r.Reason, By: r.By, RSSBytes: r.RSSBytes}
	end.At, _ = r.End()
	if r.Shutdown != nil {
		end.Stopped(*r.Shutdown)
	}
	return end, lines.Overran(r)
}
