package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/control"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/views/lines"
)

// peopleVerb lists who may speak. What acts on a person is below it.
func peopleVerb(p *program) *cobra.Command {
	list := func(use, example string) *cobra.Command {
		return listing[ops.Person]{
			use: use, short: "list who may speak and as what: those who ask first, then by role", example: example,
			ask: (*control.Client).People, fields: filter.People, columns: lines.People,
		}.verb(p)
	}
	c := list("people", "  gatewaytui people\n  gatewaytui people approve 4KQ7RTWD\n  gatewaytui people --json --filter state:blocked | jq -r '.items[].id'")
	c.Short = "list who may speak, let people in, and delete what is kept of one"
	c.AddCommand(list("list", "  gatewaytui people list\n  gatewaytui people list --filter role:owner"))
	return c
}

// roleFlag is the flag that says what a person becomes.
func roleFlag(f *pflag.FlagSet, r *request) {
	f.Func("role", "what the person becomes: owner, member or guest, as `ROLE` (default: a guest with a code, a member by id)", func(name string) (err error) {
		r.Role, err = role(name)
		return err
	})
}

// role reads the name of a role.
func role(name string) (ops.Role, error) {
	r, err := ops.ReadRole(name)
	if err != nil {
		e := ops.AsError(err)
		return r, wrongUsage(e.Hint, "%s", e.Message)
	}
	return r, nil
}

// personIDs lists the people whom a verb can name.
func personIDs(ctx context.Context, g *control.Client, _ *cobra.Command) (ids []cobra.Completion) {
	for _, v := range rows(ctx, g.People) {
		ids = append(ids, offer(v.ID, v.Name, string(v.Role), string(v.State)))
	}
	return ids
}
