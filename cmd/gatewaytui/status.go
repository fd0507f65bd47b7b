package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/views/lines"
)

// presence is the answer to "is one running" where none answers; presentStatus has the same key. It is "up", "down" or
// "unknown": a script that reads "gateway" needs no other key and no exit code.
type presence struct {
	Gateway string `json:"gateway"`
	Why     string `json:"why"`
	Hint    string `json:"hint"`
	// LastEnd is how the last life ended, as the files of the home tell; Overran names what overran in its stop, and
	// Warnings the files that cannot be used.
	LastEnd  *ops.LastEnd `json:"last_end,omitempty"`
	Overran  string       `json:"overran,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

func statusVerb(p *program) *cobra.Command {
	c := p.verb(&cobra.Command{
		Use: "status", Short: "show the gateway on one screen: up, down or unknown, and why",
		Example: "  gatewaytui status\n  gatewaytui status --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := p.reach()
			if err != nil {
				return p.absent(err)
			}
			defer g.Close()
			s, err := g.Status(cmd.Context())
			if err != nil {
				return p.absent(g.Explain(err))
			}
			p.show(presentStatus{"up", s}, func() {
				p.lines().Status(s)
				p.showRest(cmd.Context(), g, s)
			})
			return nil
		},
	})
	p.tableFlag(c)
	return c
}

// presentStatus is what the socket answers, and that it did.
type presentStatus struct {
	Gateway string `json:"gateway"`
	ops.Status
}

// showRest prints what a status does not have. It is extra: a gateway that ended meanwhile has been shown all the same.
func (p *program) showRest(ctx context.Context, g *remote.Gateway, s ops.Status) {
	if rows, err := g.Adapters(ctx, ops.Query{}); err == nil && len(rows.Items) > 0 {
		p.say("")
		p.lines().Hidden(lines.Table(p.lines(), lines.Adapters, rows.Items))
	}
	if s.State == ops.StateStopping {
		if down, err := g.Shutdown(ctx); err == nil {
			p.say("")
			p.lines().Shutdown(down)
		}
	}
}

// absent prints why there is no status. That no gateway runs is said only where there is no home, or where no process is
// behind its socket and no gateway of the pid file lives.
func (p *program) absent(err error) error {
	if ops.HasCode(err, ops.CodeInvalid) {
		return err // it is not known which home is meant
	}
	e := ops.AsError(err)
	a := presence{Gateway: "unknown", Why: e.Message, Hint: e.Hint}
	if remote.Gone(err) || errors.Is(err, remote.ErrNoHome) {
		a.Gateway = "down"
	}
	if past, ok := p.past(err); ok {
		if l, known := past.Newest(); known {
			a.LastEnd, a.Overran = l.LastEnd(), lines.Overran(l)
		}
		a.Warnings = past.Problems()
	}
	if p.asJSON() {
		p.writeJSON(p.out, a)
		return &outcome{code: exitNoGateway}
	}
	p.say("gateway     %s: %s", a.Gateway, a.Why)
	p.say("            %s", a.Hint)
	if a.LastEnd != nil {
		p.lines().LastEnd(*a.LastEnd)
	}
	if a.Overran != "" {
		p.say("overran     %s", a.Overran)
	}
	for _, w := range a.Warnings {
		p.say("warning     %s", w)
	}
	return &outcome{code: exitNoGateway}
}
