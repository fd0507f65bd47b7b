package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/control"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

// completionTime bounds what a shell waits for the gateway's answer when the user presses tab.
const completionTime = 300 * time.Millisecond

// maxDescription bounds the description of a completion, in characters.
const maxDescription = 60

// source lists what may stand in one place of the command line, each value with a description.
type source func(ctx context.Context, g *control.Client, c *cobra.Command) []cobra.Completion

// sources answers for the placeholders of arguments and flags. A placeholder that is not here is completed with nothing,
// never with file names.
var sources = map[string]source{
	"KEY":    sessionKeys,
	"PID":    processIDs,
	"NAME":   adapterNames,
	"PHASE":  phaseNames,
	"ITEM":   itemNames,
	"ID":     namedIDs,
	"TURN":   turnIDs,
	"RULE":   ruleIDs,
	"BUDGET": budgetNames,
	"SERVER": serverNames,
	"JOB":    jobNames,
	"NOTE":   noteIDs,
	"GROUP":  func(context.Context, *control.Client, *cobra.Command) []cobra.Completion { return ops.UsageGroups },
}

// completeAll gives every verb of the tree below c, and every flag, its completion: by the placeholder in the usage of
// an argument or a flag, or by the words that a flag takes.
func (p *program) completeAll(c *cobra.Command) {
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
		c.ValidArgsFunction = p.completeArgument
	}
	flags := func(f *pflag.Flag) {
		if _, done := c.GetFlagCompletionFunc(f.Name); !done {
			_ = c.RegisterFlagCompletionFunc(f.Name, p.flagCompletion(f)) // it fails for a flag that is not c's
		}
	}
	c.LocalNonPersistentFlags().VisitAll(flags)
	c.PersistentFlags().VisitAll(flags)
	for _, sub := range c.Commands() {
		p.completeAll(sub)
	}
}

// completeArgument completes the argument that follows args.
func (p *program) completeArgument(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var places []string
	for _, word := range strings.Fields(c.Use)[1:] {
		if word = strings.Trim(word, "[]"); word == strings.ToUpper(word) {
			places = append(places, word)
		}
	}
	if len(args) >= len(places) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completePlace(places[len(args)])(c, args, begun)
}

// flagCompletion is the completion of a flag's value.
func (p *program) flagCompletion(f *pflag.Flag) cobra.CompletionFunc {
	if words, ok := f.Value.(choice); ok {
		return cobra.FixedCompletions(words.words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
	}
	place, _ := pflag.UnquoteUsage(f)
	return p.completePlace(place)
}

// completePlace completes what a placeholder stands for.
func (p *program) completePlace(place string) cobra.CompletionFunc {
	list := sources[place]
	switch {
	case place == "FILE":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case place == "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case list == nil:
		return cobra.NoFileCompletions
	}
	return func(c *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var fitting []cobra.Completion
		p.askGateway(c, func(ctx context.Context, g *control.Client) {
			for _, one := range list(ctx, g, c) {
				if value, _, _ := strings.Cut(one, "\t"); strings.HasPrefix(value, begun) && typable(value) {
					fitting = append(fitting, one)
				}
			}
		})
		return fitting, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// askGateway calls ask with the gateway of this home, if there is one. It is over after completionTime.
func (p *program) askGateway(c *cobra.Command, ask func(context.Context, *control.Client)) {
	g, err := p.reach()
	if err != nil {
		return
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	ask(ctx, g.Client)
}

// typable reports whether value can stand on a command line as it is. Names come from chats and tools: one with a
// character that a shell or a terminal could act on is not offered, because the shell inserts what it is given.
func typable(value string) bool {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(":._-@+/,=", r)
	}
	return value != "" && value[0] != '-' && !strings.ContainsFunc(value, odd)
}

// offer is a value with its description.
func offer(value string, about ...string) cobra.Completion {
	about = slices.DeleteFunc(about, func(a string) bool { return a == "" })
	return cobra.CompletionWithDesc(value, term.Clean(strings.Join(about, ", "), maxDescription))
}

// rows asks for the rows of a list, as many as one page has; none if the gateway does not answer.
func rows[T any](ctx context.Context, ask func(context.Context, ops.Query) (ops.Page[T], error)) []T {
	page, _ := ask(ctx, ops.Query{Limit: ops.MaxLimit})
	return page.Items
}

// sessionKeys lists the sessions that the verb can act on.
func sessionKeys(ctx context.Context, g *control.Client, c *cobra.Command) (keys []cobra.Completion) {
	for _, s := range rows(ctx, g.Sessions) {
		if c.Name() == "interrupt" && s.TurnStartedAt.IsZero() || c.Name() == "evict" && !s.Cached {
			continue
		}
		keys = append(keys, offer(s.Key, text.Words(s.State), lines.Doing(s), s.User))
	}
	return keys
}

// turnIDs lists the turns of the session that the command line names, newest first.
func turnIDs(ctx context.Context, g *control.Client, c *cobra.Command) (ids []cobra.Completion) {
	key := c.Flags().Arg(0)
	if key == "" {
		return nil
	}
	page, _ := g.Turns(ctx, key, ops.Query{})
	for _, t := range page.Items {
		ids = append(ids, offer(t.ID, t.State, text.Millis(t.ElapsedMS), text.Moment(t.StartedAt.Time)))
	}
	return ids
}

func processIDs(ctx context.Context, g *control.Client, _ *cobra.Command) (pids []cobra.Completion) {
	for _, r := range rows(ctx, g.Processes) {
		pids = append(pids, offer(strconv.Itoa(r.PID), r.Command, r.Session))
	}
	return pids
}

// adapterNames lists the adapters for which the verb changes something.
func adapterNames(ctx context.Context, g *control.Client, c *cobra.Command) (names []cobra.Completion) {
	for _, a := range rows(ctx, g.Adapters) {
		if changes(c, a.State == ops.AdapterPaused) {
			names = append(names, offer(a.Name, text.Words(a.State), a.LastError))
		}
	}
	return names
}

// changes reports whether a verb changes something that is paused, or is not.
func changes(c *cobra.Command, paused bool) bool {
	return (c.Name() != "pause" || !paused) && (c.Name() != "resume" || paused)
}

// running is the phases of the shutdown that runs; none if none does.
func running(ctx context.Context, g *control.Client) []ops.Phase {
	if s, err := g.Shutdown(ctx); err == nil && s.Outcome == ops.ShutdownRunning {
		return s.Phases
	}
	return nil
}

// phaseNames lists the phases of the running shutdown that are not over; for skip, those that can be skipped.
func phaseNames(ctx context.Context, g *control.Client, c *cobra.Command) (names []cobra.Completion) {
	for _, ph := range running(ctx, g) {
		if !ph.State.Over() && !(c.Name() == "skip" && ph.Vital) {
			names = append(names, offer(ph.Name, text.Words(ph.State), "at most "+text.Millis(ph.BudgetMS)))
		}
	}
	return names
}

// itemNames lists what the phase of --phase waits for, or the running one without it.
func itemNames(ctx context.Context, g *control.Client, c *cobra.Command) (names []cobra.Completion) {
	phase, _ := c.Flags().GetString("phase")
	for _, ph := range running(ctx, g) {
		if ph.Name != phase && (phase != "" || ph.State != ops.StepRunning) {
			continue
		}
		for _, it := range ph.Items {
			if !it.State.Over() {
				names = append(names, offer(it.ID, it.Kind, "for "+text.Millis(it.ElapsedMS), it.Detail))
			}
		}
	}
	return names
}
