package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/service"
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
			if p.json {
				p.writeJSON(p.out, presentStatus{"up", s})
				return nil
			}
			p.showStatus(s)
			p.showRest(cmd.Context(), g, s)
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
		p.hidden(table(p, p.out, adapterColumns, rows.Items))
	}
	if s.State == ops.StateStopping {
		if down, err := g.Shutdown(ctx); err == nil {
			p.say("")
			p.showShutdown(down)
		}
	}
}

// absent prints why there is no status. That no gateway runs is said only where there is no home, or where nobody is
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
		a.LastEnd, a.Overran = lastEnd(past)
		a.Warnings = past.Problems()
	}
	if p.json {
		p.writeJSON(p.out, a)
		return &outcome{code: exitNoGateway}
	}
	p.say("gateway     %s: %s", a.Gateway, a.Why)
	p.say("            %s", a.Hint)
	if a.LastEnd != nil {
		p.showLastEnd(*a.LastEnd)
	}
	if a.Overran != "" {
		p.say("overran     %s", a.Overran)
	}
	for _, w := range a.Warnings {
		p.say("warning     %s", w)
	}
	return &outcome{code: exitNoGateway}
}

// stateFor is the state of a gateway and since when it has that one, which is not since its start while it drains or stops.
func stateFor(s ops.Status) string {
	up := millis(s.UptimeMS)
	switch {
	case s.State == ops.StateDraining && s.Drain != nil:
		by := ""
		if s.Drain.By != "" {
			by = " by " + words(s.Drain.By)
		}
		return words(s.State) + " for " + ago(s.Drain.Since) + by + ", started " + up + " ago"
	case s.State == ops.StateDraining || s.State == ops.StateStopping:
		return words(s.State) + ", started " + up + " ago"
	}
	return words(s.State) + " for " + up
}

func (p *program) showStatus(s ops.Status) {
	p.say("gateway     up, %s", stateFor(s))
	p.say("life        %s, pid %d, version %s, since %s", s.Life, s.PID, s.Version, moment(s.StartedAt))
	p.say("home        %s", s.Home)
	if s.Demo != nil {
		p.say("demo        made-up platforms and people, a scripted model: nothing here is real")
	}
	p.say("config      %s%s", or(s.Config.Path, config.Embedded), map[bool]string{true: " (changed since the start)"}[s.Config.Changed])
	n := s.Counts
	p.say("counts      %s, %s, %s, %s, %d of %s connected", counted(n.Sessions, "session"), counted(n.RunningTurns, "running turn"),
		counted(n.CachedAgents, "cached agent"), counted(n.Processes, "process"), n.AdaptersConnected, counted(n.Adapters, "adapter"))
	for _, line := range limitLines(s.Limits) {
		p.say("limits      %s", line)
	}
	if s.APIListen != "" {
		p.say("api         http://%s/v1", s.APIListen)
		if s.APIAccess != nil {
			p.say("            %s", s.APIAccess)
		}
	}
	if s.MetricsListen != "" {
		p.say("metrics     http://%s/metrics", s.MetricsListen)
	}
	if s.Supervisor.Name == "" && s.Supervisor.BudgetMS == 0 {
		p.say("supervisor  none detected; it will not restart after a crash")
	} else {
		p.say("supervisor  %s, %s", or(s.Supervisor.Name, "none detected"), patience(s.Supervisor))
	}
	if d := s.Drain; d != nil {
		p.say("draining    for %s, by %s: %s", ago(d.Since), d.By, or(d.Reason, "no reason given"))
	}
	if s.LastEnd == nil {
		p.say("last end    none: this is the first life on this home")
	} else {
		p.showLastEnd(*s.LastEnd)
	}
	if len(s.Warnings) == 0 {
		p.say("warnings    none")
	}
	for _, w := range s.Warnings {
		p.say("warning     %s: %s (for %s)", w.Code, w.Message, ago(w.Since))
	}
}

// limitLines says what is in use of each bound: of the whole gateway's in one line, of those per turn and session in
// another.
func limitLines(limits []ops.Limit) (lines []string) {
	var all, each []string
	for _, l := range limits {
		amount := func(n int64) string { return strconv.FormatInt(n, 10) }
		if l.Unit == "bytes" {
			amount = size
		}
		text := fmt.Sprintf("%s %s of %s", strings.ReplaceAll(strings.TrimPrefix(l.Name, "limits."), "_", " "), amount(l.Used), amount(l.Bound))
		if l.Waiting > 0 {
			text += fmt.Sprintf(" (%d waiting)", l.Waiting)
		}
		if l.Per == "" {
			all = append(all, text)
		} else {
			each = append(each, text)
		}
	}
	if len(all) > 0 {
		lines = append(lines, strings.Join(all, ", "))
	}
	if len(each) > 0 {
		lines = append(lines, "largest of any turn or session: "+strings.Join(each, ", "))
	}
	return lines
}

func (p *program) showLastEnd(e ops.LastEnd) {
	p.say("last end    %s (life %s)", howEnded(e), e.Life)
}

// howEnded is how the last life ended, in words: "clean: stopped by an operator, 9.0s ago, by uid 0; some items were
// abandoned", "crashed, last seen 3m00s ago".
func howEnded(e ops.LastEnd) string {
	how := words(e.Outcome)
	if e.Phase != "" {
		how += " in " + e.Phase
	}
	if e.Outcome == ops.OutcomeCrashed && e.RSSBytes > 0 {
		how += " with " + size(e.RSSBytes) + " resident"
	}
	if e.Reason != "" {
		how += ": " + e.Reason
	}
	when := "at an unknown time"
	switch {
	case e.At.IsZero():
	case e.Outcome == ops.OutcomeClean:
		when = ago(e.At) + " ago"
	default:
		when = "last seen " + ago(e.At) + " ago"
	}
	how += ", " + when
	if e.By != "" {
		how += ", by " + e.By
	}
	switch {
	case e.Stop == ops.ShutdownIncomplete:
		how += "; some items were abandoned"
	case e.Stop == ops.ShutdownForced && e.StopMode == "":
		how += "; the stop was forced"
	}
	if e.StopMode != "" {
		how += "; the stop was " + e.StopMode
	}
	return how
}

// patience is what is known of what a service manager allows a stop.
func patience(sv ops.Supervisor) string {
	switch {
	case sv.BudgetMS > 0:
		return fmt.Sprintf("allows a stop %s (%s)", millis(sv.BudgetMS), sv.Source)
	case sv.Source == "" || sv.Source == service.SourceUnknown:
		return "its limit for a stop is unknown"
	case managerOf(sv).Unlimited():
		return "sets no limit for a stop (but sv force-stop kills after 7s)"
	}
	return "sets no limit for a stop (" + sv.Source + ")"
}

// showShutdown prints a shutdown: its phases, what it waits for, and its problems.
func (p *program) showShutdown(s ops.Shutdown) {
	end, waits := "it took "+millis(s.ElapsedMS), "waited for"
	if s.Outcome == ops.ShutdownRunning {
		waits = "waits for"
		end = "over in at most " + age(s.Left(0))
	}
	p.say("shutdown    %s, %s, by %s: %s; %s", s.ModeText(), words(s.Outcome), or(s.By, "an unknown sender"), or(s.Reason, "no reason given"), end)
	table(p, p.out, phaseColumns, s.Phases)
	for i, b := range s.Blockers() {
		if i == maxShown {
			p.say("            and %d more", len(s.Blockers())-i)
			break
		}
		p.say("%-11s %s", waits, blockerLine(s, b))
	}
	for _, ph := range s.Phases {
		shown := 0
		for _, it := range ph.Items {
			label := map[ops.StepState]string{ops.StepTimedOut: "overran", ops.StepFailed: "failed", ops.StepSkipped: "skipped"}[it.State]
			if label == "" {
				continue
			}
			if shown++; shown > maxShown {
				p.say("            and more in %s: --json has all", ph.Name)
				break
			}
			p.say("%-11s %s %s, %s of %s: %s", label, it.Kind, it.ID, millis(it.ElapsedMS), millis(it.BudgetMS), or(it.Detail, "no word"))
		}
	}
}

var phaseColumns = []column[ops.Phase]{
	{"PHASE", func(r ops.Phase) string { return r.Name }, 0},
	{"STATE", func(r ops.Phase) string { return words(r.State) }, 1},
	{"TOOK", func(r ops.Phase) string { return millis(r.ElapsedMS) }, 2},
	{"BUDGET", func(r ops.Phase) string { return millis(r.BudgetMS) }, 4},
	{"ITEMS", func(r ops.Phase) string { return itemCount(r) }, 5},
	{"DETAIL", func(r ops.Phase) string { return r.Detail }, 3},
}

func itemCount(p ops.Phase) string {
	total, done := p.Counts()
	return fmt.Sprintf("%d of %d done", done, total)
}

// until is the time to t, empty for no time or one that is over.
func until(t ops.Time) string {
	if t.IsZero() || !t.After(time.Now()) {
		return ""
	}
	return age(time.Until(t.Time))
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
