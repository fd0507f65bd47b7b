package operator

import (
	"context"
	"fmt"

	"gatewaytui/core/ops"
	"gatewaytui/core/reload"
	"gatewaytui/core/text"
)

// Configs is the config file of a gateway (OP4).
type Configs interface {
	// Plan says what a reload would change now. The error says why the file cannot be applied.
	Plan(ctx context.Context) (reload.Plan, error)
	// Reload applies the file as a whole, or not at all. expect is the Digest of the plan that was looked at; empty: any.
	Reload(ctx context.Context, expect, by string) (ops.ConfigReload, error)
}

// checkReload refuses a file that cannot be applied, before the request is taken.
func checkReload(op *Operator, cmd ops.Command) error {
	plan, err := op.o.Configs.Plan(context.Background()) // it reads one file, and waits for a reload that runs
	if err == nil && cmd.Expect != "" && cmd.Expect != plan.Digest {
		err = &ops.Error{Code: ops.CodeConflict, Message: "the config file has changed since it was looked at, so nothing was changed", Hint: "look at it again with `gatewaytui reload --dry-run`"}
	}
	return err
}

// previewReload says what a reload would change now.
func (op *Operator) previewReload(p *ops.Preview, _ ops.Command) {
	plan, err := op.o.Configs.Plan(context.Background())
	if err != nil { // the file changed after the check
		return
	}
	p.Seen = plan.Digest
	lines := func(class ops.ChangeClass, note string) (all []string) {
		for _, c := range plan.Of(class) {
			all = append(all, c.String()+note)
		}
		return all
	}
	p.Applies, p.Loosens, p.Restarts = lines(ops.ChangeNow, ""), lines(ops.ChangeSecurity, " (security)"), lines(ops.ChangeRestart, " (needs a restart)")
	if !plan.Applies() {
		p.Keeps = append(p.Keeps, "the config in force: the file changes nothing that can be applied")
		return
	}
	if n := len(op.o.Table.Turns()); n > 0 {
		p.Keeps = append(p.Keeps, fmt.Sprintf("%d running %s, with the config that they began with", n, text.Plural(n, "turn", "turns")))
	}
}

// reload carries out VerbReload.
func (op *Operator) reload(ctx context.Context, cmd ops.Command) (string, any, error) {
	done, err := op.o.Configs.Reload(ctx, cmd.Expect, actor(cmd.By))
	if err != nil {
		return "", nil, err
	}
	return Reloaded(done), done, nil
}

// Reloaded says in one line what a reload did.
func Reloaded(done ops.ConfigReload) string {
	said := "nothing to apply"
	if n := len(done.Applied); n > 0 {
		said = fmt.Sprintf("generation %d, %s applied", done.Generation, text.Count(n, "change"))
	}
	if n := len(done.Restarts); n > 0 {
		said += fmt.Sprintf("; %s a restart", text.Plural(n, "one change needs", fmt.Sprintf("%d changes need", n)))
	}
	return said
}
