package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/importer"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/store"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

// imported are the flags of import.
type imported struct {
	config      string
	dryRun, yes bool
}

func importVerb(p *program) *cobra.Command {
	c := p.verb(&cobra.Command{
		Use: "import", Short: "take over persona, skills, people and conversations of another gateway",
		Example: "  gatewaytui import openclaw ~/.openclaw --dry-run\n  gatewaytui import hermes ~/.hermes",
		Args:    group, RunE: group,
	})
	c.AddCommand(importFromVerb(p, "openclaw", "take over what OpenClaw has in its state folder"), importFromVerb(p, "hermes", "take over what Hermes has in its home"))
	return c
}

func importFromVerb(p *program, source, short string) *cobra.Command {
	var o imported
	c := p.verb(&cobra.Command{
		Use: source + " DIR", Short: short, Args: arguments("DIR"),
		Example: "  gatewaytui import " + source + " ~/." + source + " --dry-run\n  gatewaytui import " + source + " ~/." + source + " --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.importFrom(cmd.Context(), source, args[0], o)
		},
	})
	f := c.Flags()
	configFlag(f, &o.config)
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be taken and what not, and exit")
	f.BoolVar(&o.yes, "yes", false, "skip the confirmation")
	p.tableFlag(c)
	return c
}

// importFrom shows the plan, asks, and carries it out. Without a gateway alone: only the gateway opens its database while it runs.
func (p *program) importFrom(ctx context.Context, source, dir string, o imported) error {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt)
	defer release()
	home, err := instance.Resolve(p.home, p.getenv)
	if err != nil {
		return err
	}
	if err := instance.CheckHome(home); err != nil {
		return err
	}
	into, err := p.importInto(ctx, home, o.config)
	if err != nil {
		return err
	}
	plan, err := importer.Read(ctx, source, dir, into)
	if err != nil {
		return err
	}
	defer plan.Close()
	_, runs := remote.StatusOf(ctx, home)
	if runs == nil {
		p.showImport(plan, o.dryRun)
		if o.dryRun || !plan.Takes() {
			return nil
		}
		return &ops.Error{Code: ops.CodeBusy, Message: "a gateway runs on this home, and only it opens its database: nothing was taken", Hint: "gatewaytui stop --wait, then import again"}
	}
	return p.importDown(ctx, home, plan, o)
}

// importInto is what the import goes into.
func (p *program) importInto(ctx context.Context, home, flag string) (into importer.Into, err error) {
	path, note := p.configPath(ctx, flag)
	if path, err = config.Place(path, p.getenv); err != nil {
		return into, err
	}
	if note != "" {
		p.note("note: %s", note)
	}
	into = importer.Into{Config: path, Now: config.Default()}
	switch into.Text, err = os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
		into.Text = nil
	case err != nil:
		return into, fmt.Errorf("read the config: %w", err)
	default:
		loaded, err := config.Load(config.Options{Path: path})
		if err != nil {
			return into, err
		}
		into.Now = loaded.Config
	}
	into.Work = cmp.Or(into.Now.Tools.Workdir, instance.WorkDir(home))
	return into, nil
}

// importDown carries a plan out without a gateway: it holds the home's lock meanwhile, so that none starts. A dry run makes no home and
// no database.
func (p *program) importDown(ctx context.Context, dir string, plan *importer.Plan, o imported) (err error) {
	if o.dryRun {
		if there, err := p.compareDown(ctx, dir, plan); err != nil || there {
			p.showImport(plan, true)
			return err
		}
		p.showImport(plan, true)
		return nil
	}
	home, err := instance.Open(dir)
	if err != nil {
		return err
	}
	lock, err := home.Hold()
	if err != nil {
		return err
	}
	defer lock.Release() // its failure changes nothing of what was taken
	s, err := store.Open(ctx, store.Options{Path: home.Database()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	if err := plan.Compare(ctx, s); err != nil {
		return err
	}
	p.showImport(plan, false)
	if !plan.Takes() {
		return nil
	}
	if err := p.confirmImport(o); err != nil {
		return err
	}
	if err := plan.Apply(ctx); err != nil {
		return err
	}
	if err := plan.Keep(ctx, s, time.Now(), p.progressOf("import", "conversation", int64(plan.Conversations()))); err != nil {
		return err
	}
	if !p.asJSON() {
		p.say("taken. gatewaytui setup sets what is missing, such as keys and tokens, and starts the gateway.")
	}
	return nil
}

// compareDown compares a plan with the database of a home, where there is one.
func (p *program) compareDown(ctx context.Context, dir string, plan *importer.Plan) (there bool, err error) {
	if _, err := instance.Locate(dir); err != nil || !plan.TakesRows() {
		return false, nil
	}
	home, err := instance.Open(dir)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(home.Database()); err != nil {
		return false, nil
	}
	lock, err := home.Hold()
	if err != nil {
		return false, err
	}
	defer lock.Release() // nothing was written
	s, err := store.Open(ctx, store.Options{Path: home.Database(), ReadOnly: true})
	if err != nil {
		return false, err
	}
	return true, errors.Join(plan.Compare(ctx, s), s.Close(ctx))
}

// confirmImport asks whether the plan is to be carried out.
func (p *program) confirmImport(o imported) error {
	if o.yes {
		return nil
	}
	declined := &ops.Error{Code: ops.CodeNeedsConfirmation, Message: "import needs confirmation: nothing was taken", Hint: "use --yes, or --dry-run to preview"}
	if !p.asks {
		return &outcome{exitConfirm, declined}
	}
	fmt.Fprint(p.err, "take it? [y/N] ")
	answer, err := bufio.NewReader(io.LimitReader(p.in, 1024)).ReadString('\n')
	if err != nil {
		p.note("")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &outcome{exitConfirm, &ops.Error{Code: ops.CodeNeedsConfirmation, Message: "not confirmed: nothing was taken"}}
}

// importReport is the JSON output of import.
type importReport struct {
	DryRun bool            `json:"dry_run"`
	Items  []importer.Item `json:"items"`
}

var importColumns = []lines.Column[importer.Item]{
	{Head: "STATE", Cell: func(i importer.Item) string { return string(i.State) }, Rank: 0},
	{Head: "KIND", Cell: func(i importer.Item) string { return string(i.Kind) }, Rank: 1},
	{Head: "FROM", Cell: func(i importer.Item) string { return i.From }, Rank: 0},
	{Head: "TO", Cell: func(i importer.Item) string { return i.To }, Rank: 2},
	{Head: "WHY", Cell: func(i importer.Item) string { return i.Why }, Rank: 1},
}

// showImport prints what becomes of each thing.
func (p *program) showImport(plan *importer.Plan, dryRun bool) {
	p.show(importReport{dryRun, plan.Items}, func() {
		p.lines().Hidden(lines.Table(p.lines(), importColumns, plan.Items))
		count := map[importer.State]int{}
		for _, i := range plan.Items {
			count[i.State]++
		}
		p.say("%d taken, %d there already, %s, %d not taken", count[importer.Taken], count[importer.There], text.Count(count[importer.Conflict], "conflict"), count[importer.Left])
	})
}
