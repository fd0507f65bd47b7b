package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/control"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

func inboxVerb(p *program) *cobra.Command {
	return listing[ops.InboxItem]{
		use: "inbox", short: "list what waits for a person, oldest first, and then what has ended",
		example: "  gatewaytui inbox\n  gatewaytui inbox --filter state:waiting\n  gatewaytui inbox --json | jq -r '.items[].command'",
		ask:     (*control.Client).Inbox, fields: filter.Inbox, columns: lines.Inbox,
	}.verb(p)
}

// rulesVerb lists the rules that approvals made, and removes one.
func rulesVerb(p *program) *cobra.Command {
	return below(p, "approvals rules", listing[ops.Rule]{
		use: "rules", short: "list the rules that approvals with --always made, newest first", example: "  gatewaytui approvals rules\n  gatewaytui approvals rules remove 9F2C",
		ask: (*control.Client).Rules, fields: filter.Rules, columns: lines.Rules,
	}.verb(p))
}

// scopeFlags are the flags that say how far an approval reaches; at most one of them is given.
func scopeFlags(f *pflag.FlagSet, r *request) {
	scope := func(s ops.Scope, usage string) {
		f.BoolFunc(string(s), usage, func(string) error {
			if r.Scope != "" && r.Scope != s {
				return wrongUsage("give one of --turn, --session and --always", "--%s and --%s are two scopes", r.Scope, s)
			}
			r.Scope = s
			return nil
		})
	}
	scope(ops.ScopeTurn, "approve such commands for the rest of the turn")
	scope(ops.ScopeSession, "approve such commands for the rest of the session")
	scope(ops.ScopeAlways, "approve such commands until the rule that this makes ends (approvals.always_expires)")
}

// namedIDs lists what the verb can name by an id: requests of the inbox that wait, and rules.
func namedIDs(ctx context.Context, g *control.Client, c *cobra.Command) (ids []cobra.Completion) {
	if c.HasParent() && c.Parent().Name() == "people" {
		return personIDs(ctx, g, c)
	}
	switch c.Name() {
	case "approve", "deny", "answer":
		for _, i := range rows(ctx, g.Inbox) {
			if question := i.Kind == ops.InboxQuestion || i.Kind.Remedied(); i.State == ops.InboxWaiting && (question == (c.Name() == "answer") || i.Kind == ops.InboxQuestion && c.Name() == "deny") {
				ids = append(ids, offer(i.ID, text.Words(i.Kind), i.Session, i.Command))
			}
		}
	}
	return ids
}

func ruleIDs(ctx context.Context, g *control.Client, _ *cobra.Command) (ids []cobra.Completion) {
	for _, r := range rows(ctx, g.Rules) {
		ids = append(ids, offer(r.ID, lines.RuleCommand(r), r.Folder))
	}
	return ids
}
