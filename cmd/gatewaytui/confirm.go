package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
)

// maxShown is how many things of a kind a preview names to people; --json names all.
const maxShown = 20

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
		p.showPreview(p.out, r, preview)
		return false, nil
	case p.asks:
		return p.ask(ctx, g, r, preview)
	case !preview.EndsWork:
		return true, nil
	}
	p.showPreview(p.out, r, preview)
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
	shown := *p
	shown.json = false // it is a person who is asked
	shown.showPreview(p.err, r, preview)
	p.line(p.err, "")
	fmt.Fprint(p.err, "go on? [y/N] ")
	// It waits for as long as the person does. An end of the input is a no.
	answer, err := bufio.NewReader(io.LimitReader(p.in, 1024)).ReadString('\n')
	if err != nil {
		p.line(p.err, "")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, &outcome{exitConfirm, &ops.Error{Code: ops.CodeNeedsConfirmation, Message: "not confirmed: nothing was done"}}
}

// expectSeen ties r to the conversation that its session holds now, or to the life of the gateway.
func expectSeen(ctx context.Context, g *remote.Gateway, r *request) error {
	switch r.Verb {
	case ops.VerbStop:
		s, err := g.Status(ctx)
		r.Expect = s.Life
		return err
	case ops.VerbReset, ops.VerbInterrupt, ops.VerbEvict:
	default:
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
func (p *program) showPreview(w io.Writer, r *request, preview ops.Preview) {
	if p.json {
		p.writeJSON(w, preview)
		return
	}
	p.line(w, "%s %s", strings.TrimSpace(r.name+" "+r.Target), "would")
	nothing := true
	for _, part := range []struct {
		does string
		what []string
	}{
		{"wait for", preview.WaitsFor},
		{"interrupt", preview.Interrupt},
		{"close", preview.Closes},
		{"kill", preview.Kills},
		{"lose", preview.Loses},
		{"keep", preview.Keeps},
	} {
		for i, what := range part.what {
			nothing = false
			if i == maxShown {
				p.line(w, "  %-10s and %d more", part.does, len(part.what)-i)
				break
			}
			p.line(w, "  %-10s %s", part.does, what)
		}
	}
	if nothing {
		p.line(w, "  end nothing that runs")
	}
	if preview.WorstCaseMS > 0 {
		p.line(w, "  %-10s at most %s", "take", millis(preview.WorstCaseMS))
	}
}
