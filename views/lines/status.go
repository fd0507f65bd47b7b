package lines

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/service"
	"gatewaytui/core/text"
)

// Status prints the status of a gateway that answers.
func (p Printer) Status(s ops.Status) {
	p.Say("gateway     up, %s", s.StateFor())
	p.Say("life        %s, pid %d, version %s, since %s", s.Life, s.PID, s.Version, text.Moment(s.StartedAt.Time))
	p.Say("home        %s", s.Home)
	if s.Demo != nil {
		p.Say("demo        made-up platforms and people, a scripted model: nothing here is real")
	}
	p.Say("config      %s%s", cmp.Or(s.Config.Path, config.Embedded), map[bool]string{true: " (changed since the start)"}[s.Config.Changed])
	n := s.Counts
	p.Say("counts      %s, %s, %s, %s, %d of %s connected", text.Count(n.Sessions, "session"), text.Count(n.RunningTurns, "running turn"),
		text.Count(n.CachedAgents, "cached agent"), text.Count(n.Processes, "process"), n.AdaptersConnected, text.Count(n.Adapters, "adapter"))
	if held := heldCounts(n); held != "" {
		p.Say("held        %s", held)
	}
	for _, line := range limitLines(s.Limits) {
		p.Say("limits      %s", line)
	}
	for _, b := range s.Budgets {
		if b.Spent > 0 || b.Tokens > 0 {
			p.Say("budget      %s: %s", b.Name, spentToday(b))
		}
	}
	if s.APIListen != "" {
		p.Say("api         http://%s/v1", s.APIListen)
		if s.APIAccess != nil {
			p.Say("            %s", s.APIAccess)
		}
	}
	if s.MetricsListen != "" {
		p.Say("metrics     http://%s/metrics", s.MetricsListen)
	}
	if s.Supervisor.Name == "" && s.Supervisor.BudgetMS == 0 {
		p.Say("supervisor  none detected; it will not restart after a crash")
	} else {
		p.Say("supervisor  %s, %s", cmp.Or(s.Supervisor.Name, "none detected"), patience(s.Supervisor))
	}
	if d := s.Drain; d != nil { // the first line says since when, and who asked for it
		p.Say("draining    %s", cmp.Or(d.Reason, "no reason given"))
	}
	if s.LastEnd == nil {
		p.Say("last end    none: this is the first life on this home")
	} else {
		p.LastEnd(*s.LastEnd)
	}
	if len(s.Warnings) == 0 {
		p.Say("warnings    none")
	}
	for _, w := range s.Warnings {
		p.Say("warning     %s: %s (for %s)", w.Code, w.Message, text.Ago(w.Since.Time))
	}
}

// heldCounts is how many servers, browsers and jobs there are; empty: none.
func heldCounts(n ops.Counts) string {
	var parts []string
	add := func(n, bad int, thing, how string) {
		switch {
		case n == 0 && bad == 0:
		case bad > 0:
			parts = append(parts, fmt.Sprintf("%s (%d %s)", text.Count(n, thing), bad, how))
		default:
			parts = append(parts, text.Count(n, thing))
		}
	}
	add(n.Servers, n.ServersTroubled, "server", "not working")
	add(n.Browsers, 0, "browser", "")
	add(n.Jobs, n.JobsFailed, "job", "failed")
	return strings.Join(parts, ", ")
}

// spentToday is what a budget has used today, of how much.
func spentToday(b ops.BudgetToday) string {
	said := ops.Amount(b.Spent)
	if b.Limit > 0 {
		said += " of " + ops.Amount(b.Limit)
	}
	said += " " + b.Currency
	if b.Tokens > 0 {
		said += ", " + humanize.Comma(b.Tokens)
		if b.TokensLimit > 0 {
			said += " of " + humanize.Comma(b.TokensLimit)
		}
		said += " tokens without a price"
	}
	return said + " today"
}

// limitLines says what is in use of each bound: of the whole gateway's in one line, of those per turn and session in
// another.
func limitLines(limits []ops.Limit) (lines []string) {
	var all, each []string
	for _, l := range limits {
		amount := func(n int64) string { return strconv.FormatInt(n, 10) }
		if l.Unit == "bytes" {
			amount = Size
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
		lines = append(lines, "largest of any turn, session or process tree: "+strings.Join(each, ", "))
	}
	return lines
}

// LastEnd prints how the last life ended.
func (p Printer) LastEnd(e ops.LastEnd) {
	p.Say("last end    %s (life %s)", howEnded(e), e.Life)
}

// howEnded is how the last life ended, in words: "clean: stopped by an operator, 9.0s ago, by uid 0; some items were
// abandoned", "crashed, last seen 3m00s ago".
func howEnded(e ops.LastEnd) string {
	how := text.Words(e.Outcome)
	if e.Phase != "" {
		how += " in " + e.Phase
	}
	if e.Outcome == ops.OutcomeCrashed && e.RSSBytes > 0 {
		how += " with " + Size(e.RSSBytes) + " resident"
	}
	if e.Reason != "" {
		how += ": " + e.Reason
	}
	when := "at an unknown time"
	switch {
	case e.At.IsZero():
	case e.Outcome == ops.OutcomeClean:
		when = text.Ago(e.At.Time) + " ago"
	default:
		when = "last seen " + text.Ago(e.At.Time) + " ago"
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
		return fmt.Sprintf("allows a stop %s (%s)", text.Millis(sv.BudgetMS), sv.Source)
	case sv.Source == "" || sv.Source == service.SourceUnknown:
		return "its limit for a stop is unknown"
	case service.Named(sv.Name).Unlimited():
		return "sets no limit for a stop (but sv force-stop kills after 7s)"
	}
	return "sets no limit for a stop (" + sv.Source + ")"
}

// Shutdown prints a shutdown: its phases, what it waits for, and its problems.
func (p Printer) Shutdown(s ops.Shutdown) {
	end, waits := "it took "+text.Millis(s.ElapsedMS), "waited for"
	if s.Outcome == ops.ShutdownRunning {
		waits = "waits for"
		end = "over in at most " + text.Duration(s.Left(0))
	}
	p.Say("shutdown    %s, %s, by %s: %s; %s", s.ModeText(), text.Words(s.Outcome), cmp.Or(s.By, "an unknown sender"), cmp.Or(s.Reason, "no reason given"), end)
	Table(p, phaseColumns, s.Phases)
	for i, b := range s.Blockers() {
		if i == MaxShown {
			p.Say("            and %d more", len(s.Blockers())-i)
			break
		}
		p.Say("%-11s %s", waits, Blocker(s, b))
	}
	for _, ph := range s.Phases {
		shown := 0
		for _, it := range ph.Items {
			label := map[ops.StepState]string{ops.StepTimedOut: "overran", ops.StepFailed: "failed", ops.StepSkipped: "skipped"}[it.State]
			if label == "" {
				continue
			}
			if shown++; shown > MaxShown {
				p.Say("            and more in %s: --json has all", ph.Name)
				break
			}
			p.Say("%-11s %s %s, %s of %s: %s", label, it.Kind, it.ID, text.Millis(it.ElapsedMS), text.Millis(it.BudgetMS), cmp.Or(it.Detail, "no word"))
		}
	}
}

var phaseColumns = []Column[ops.Phase]{
	{"PHASE", func(r ops.Phase) string { return r.Name }, 0},
	{"STATE", func(r ops.Phase) string { return text.Words(r.State) }, 1},
	{"TOOK", func(r ops.Phase) string { return text.Millis(r.ElapsedMS) }, 2},
	{"BUDGET", func(r ops.Phase) string { return text.Millis(r.BudgetMS) }, 4},
	{"ITEMS", func(r ops.Phase) string { return itemCount(r) }, 5},
	{"DETAIL", func(r ops.Phase) string { return r.Detail }, 3},
}

func itemCount(p ops.Phase) string {
	total, done := p.Counts()
	return fmt.Sprintf("%d of %d done", done, total)
}

var planColumns = []Column[ops.PlanPhase]{
	{"PHASE", func(r ops.PlanPhase) string { return r.Name }, 0},
	{"AT MOST", func(r ops.PlanPhase) string { return text.Millis(r.BudgetMS) }, 1},
	{"EXPECTED", func(r ops.PlanPhase) string { return expected(r.ExpectedMS) }, 3},
	{"CRITICAL", func(r ops.PlanPhase) string { return yes(r.Critical) }, 5},
	{"SET BY", func(r ops.PlanPhase) string { return r.Bound }, 2},
	{"EXPECTS", func(r ops.PlanPhase) string { return r.Expects }, 4},
}

// expected is a time that is expected of a phase.
func expected(ms int64) string {
	if ms == 0 {
		return "·"
	}
	return text.Millis(ms)
}

// Expected is how long a stop is expected to take, and why.
func Expected(plan ops.Plan) string {
	var why []string
	for _, p := range plan.Phases {
		if p.Expects != "" {
			why = append(why, p.Name+" "+text.Millis(p.ExpectedMS)+" ("+p.Expects+")")
		}
	}
	if len(why) == 0 {
		return "0s: nothing runs or hangs"
	}
	return text.Millis(plan.ExpectedMS) + ": " + strings.Join(why, ", ")
}

// Plan prints the plan of a stop.
func (p Printer) Plan(plan ops.Plan) {
	p.Hidden(Table(p, planColumns, plan.Phases))
	p.Say("")
	for i, assumption := range plan.If {
		p.Say("%-11s %s", []string{"if", ""}[min(i, 1)], assumption)
	}
	p.Say("worst case  %s, %s of it for running turns", text.Millis(plan.WorstCaseMS), text.Millis(plan.DrainMS))
	p.Say("expected    %s", Expected(plan))
	switch {
	case plan.SupervisorBudgetMS == 0:
		p.Say("limit       none known: no service manager told one (shutdown.supervisor_budget sets it)")
	case plan.Fits:
		p.Say("limit       %s: it fits", text.Millis(plan.SupervisorBudgetMS))
	default:
		p.Say("limit       %s: it does NOT fit; the service manager would kill the gateway before it is done", text.Millis(plan.SupervisorBudgetMS))
	}
	for _, s := range plan.Shrunk {
		p.Say("shortened   %s to %s, the config asks for %s", s.Name, text.Millis(s.GotMS), text.Millis(s.WantedMS))
	}
}
