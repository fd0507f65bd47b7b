package main

import (
	"context"

	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

// heldVerbs list what sessions and the gateway hold besides processes and environments. What acts on a row is below its list.
func heldVerbs(p *program) []*cobra.Command {
	return []*cobra.Command{
		below(p, "servers", listing[ops.Server]{
			use: "servers", short: "list the MCP servers: which run, for whom, and what went wrong",
			example: "  gatewaytui servers\n  gatewaytui servers --filter state:failed\n  gatewaytui servers restart files",
			ask:     (*control.Client).Servers, fields: filter.Servers, columns: lines.Servers,
		}.verb(p)),
		below(p, "jobs", listing[ops.Job]{
			use: "jobs", short: "list the jobs: when each runs next, and how its last run ended",
			example: "  gatewaytui jobs\n  gatewaytui jobs run morning\n  gatewaytui jobs --json | jq '.items[] | select(.state == \"failed\")'",
			ask:     (*control.Client).Jobs, fields: filter.Jobs, columns: lines.Jobs,
		}.verb(p)),
		listing[ops.Held]{
			use: "browsers", short: "list the browsers of sessions", example: "  gatewaytui browsers",
			ask: (*control.Client).Browsers, fields: filter.Held, columns: lines.Held,
		}.verb(p),
		listing[ops.Held]{
			use: "held", short: "list what sessions and the gateway hold: servers, browsers, external agents, hooks",
			example: "  gatewaytui held\n  gatewaytui held --filter kind:acp",
			ask:     (*control.Client).Held, fields: filter.Held, columns: lines.Held,
		}.verb(p),
		below(p, "memory", listing[ops.Note]{
			use: "memory", short: "list the notes of agents' memory, newest first",
			example: "  gatewaytui memory\n  gatewaytui memory --filter owner:telegram:4711\n  gatewaytui memory forget 01M8FV",
			ask:     (*control.Client).Notes, fields: filter.Notes, columns: lines.Notes,
		}.verb(p)),
	}
}

// below adds the verbs of a group to the command that lists what they act on.
func below(p *program, group string, list *cobra.Command) *cobra.Command {
	for _, spec := range ops.Verbs {
		if spec.Group == group {
			list.AddCommand(actions[spec.Verb].command(p, spec))
		}
	}
	return list
}

// belowLists are the groups whose verbs are below a list.
var belowLists = []string{"approvals rules", "budgets", "servers", "jobs", "memory"}

func serverNames(ctx context.Context, g *control.Client, _ *cobra.Command) (names []cobra.Completion) {
	last := ""
	for _, s := range rows(ctx, g.Servers) { // in the order of their names
		if s.Name != last {
			names = append(names, offer(s.Name, text.Words(s.State), s.LastError))
		}
		last = s.Name
	}
	return names
}

// jobNames lists the jobs for which the verb changes something.
func jobNames(ctx context.Context, g *control.Client, c *cobra.Command) (names []cobra.Completion) {
	for _, j := range rows(ctx, g.Jobs) {
		if changes(c, j.State == ops.JobPaused) {
			names = append(names, offer(j.Name, text.Words(j.State), j.Schedule))
		}
	}
	return names
}

func noteIDs(ctx context.Context, g *control.Client, _ *cobra.Command) (ids []cobra.Completion) {
	for _, n := range rows(ctx, g.Notes) {
		ids = append(ids, offer(n.ID, n.Owner, n.Text))
	}
	return ids
}
