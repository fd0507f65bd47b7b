package plain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

type command struct {
	name, takes, about string
	do                 func(l *Console, ctx context.Context, rest string) error
}

// commands are all of them: those that look, the gateway's verbs, and the way out.
func commands() []command {
	all := []command{
		{"help", "", "list the commands", (*Console).help},
		{"status", "", "say how the gateway is", show(ops.Console.Status, lines.Printer.Status)},
		{"sessions", "[TEXT]", "list the sessions, with numbers", lists("session", ops.Console.Sessions, sessionSentence)},
		{"agents", "[TEXT]", "list the agents", lists("agent", ops.Console.Agents, agentSentence)},
		{"processes", "[TEXT]", "list the process trees, with numbers", lists("process", ops.Console.Processes, processSentence)},
		{"adapters", "[TEXT]", "list the chat platforms, with numbers", lists("adapter", ops.Console.Adapters, adapterSentence)},
		{"environments", "[TEXT]", "list what the commands of sessions run in", lists("environment", ops.Console.Environments, environmentSentence)},
		{"servers", "[TEXT]", "list the MCP servers, with numbers", lists("server", ops.Console.Servers, serverSentence)},
		{"jobs", "[TEXT]", "list the jobs, with numbers", lists("job", ops.Console.Jobs, jobSentence)},
		{"held", "[TEXT]", "list what sessions and the gateway hold: servers, browsers, external agents, hooks", lists("held resource", ops.Console.Held, heldSentence)},
		{"memory", "[TEXT]", "list the notes of agents' memory, with numbers", lists("note", ops.Console.Notes, noteSentence)},
		{"inbox", "[TEXT]", "list what waits for a person, with the ids that approve, deny and answer take", lists("request", ops.Console.Inbox, inboxSentence)},
		{"rules", "[TEXT]", "list the rules that approvals made, with the ids that remove-rule takes", lists("rule", ops.Console.Rules, ruleSentence)},
		{"budgets", "", "say what is spent of each budget", show(ops.Console.Budgets, lines.Printer.Budgets)},
		{"plan", "[CASE …]", "say what a stop would do now, or in a case such as drain=60s hang=telegram", plan},
		{"shutdown", "", "say what the running stop waits for, or how the last one went", show(ops.Console.Shutdown, lines.Printer.Shutdown)},
		{"history", "[NUMBER|TEXT]", "list the past lives and how each ended, with numbers; with one, that life's stop", (*Console).history},
		{"watch", "", "print events as they happen; watch again to stop", (*Console).watch},
	}
	for _, spec := range ops.Verbs {
		all = append(all, verbCommand(spec))
	}
	return append(all, command{"quit", "", "leave", (*Console).quit})
}

func plan(l *Console, ctx context.Context, rest string) error {
	return show(func(c ops.Console, ctx context.Context) (ops.Plan, error) {
		return c.Plan(ctx, strings.Fields(rest)...)
	}, lines.Printer.Plan)(l, ctx, "")
}

func verbCommand(spec ops.VerbSpec) command {
	c := command{name: spec.ConsoleName(), takes: string(spec.Rest), about: spec.Summary}
	if spec.TakesTarget() {
		c.takes = strings.TrimSpace("NUMBER " + c.takes)
	}
	if byID(spec.Target) {
		c.takes = strings.TrimSpace("ID " + string(spec.Rest))
	}
	c.do = func(l *Console, ctx context.Context, rest string) error {
		cmd := ops.Command{Verb: spec.Verb}
		if spec.TakesTarget() {
			name, text, _ := strings.Cut(rest, " ")
			t, err := l.target(string(spec.Target), name)
			if err != nil {
				return err
			}
			cmd.Target, rest = t.name, strings.TrimSpace(text)
			if spec.Verb != ops.VerbMessage { // a message is for the session, whichever conversation it has
				cmd.Expect = t.expect
			}
		}
		if spec.OfLife {
			cmd.Expect = l.life
		}
		if err := spec.ReadRest(&cmd, rest); err != nil {
			return err
		}
		return l.command(ctx, c.name, spec, cmd)
	}
	return c
}

// byID reports whether things of a kind are named by an id and not by the number of a row.
func byID(kind ops.TargetKind) bool {
	return kind == ops.TargetPerson || kind == ops.TargetInbox || kind == ops.TargetRule || kind == ops.TargetBudget
}

func invalid(message, hint string) error {
	return &ops.Error{Code: ops.CodeInvalid, Message: message, Hint: hint}
}

// target is the row that a number of the last list of its kind means. A session can be named by its key and an adapter by
// its name; a process only by its number, for a pid would look like one.
func (l *Console) target(kind, name string) (target, error) {
	plural := map[string]string{"session": "sessions", "process": "processes", "adapter": "adapters", "life": "history", "server": "servers", "job": "jobs", "note": "memory"}[kind]
	n, err := strconv.Atoi(name)
	switch rows := l.listed[kind]; {
	case kind == string(ops.TargetPerson) && name == "":
		return target{}, invalid("the person is missing", "name the platform and its id of the person, for instance telegram:4711")
	case kind == string(ops.TargetBudget) && name == "":
		return target{}, invalid("the budget is missing", "name it, for instance default")
	case byID(ops.TargetKind(kind)) && name == "":
		return target{}, invalid("the id is missing", "inbox and rules list them")
	case byID(ops.TargetKind(kind)):
		return target{name: name}, nil
	case name == "":
		return target{}, invalid("the number is missing", plural+" lists them")
	case err != nil && kind == "process":
		return target{}, invalid(strconv.Quote(name)+" is not a number", plural+" lists them")
	case err != nil:
		return target{name: name}, nil
	case rows == nil:
		return target{}, invalid("no list has been printed yet", "type "+plural+" first")
	case n < 1 || n > len(rows):
		return target{}, invalid(fmt.Sprintf("there is no number %d in the last list", n), "say "+plural+" again")
	default:
		return rows[n-1], nil
	}
}

// command gives cmd. One that ends something is described and asked about first.
func (l *Console) command(ctx context.Context, name string, spec ops.VerbSpec, cmd ops.Command) error {
	if !spec.Ends {
		return l.give(ctx, name, cmd)
	}
	preview, err := l.Gateway.Preview(ctx, cmd)
	if err != nil {
		return err
	}
	l.Printer.Preview(strings.TrimSpace(name+" "+cmd.Target), preview)
	word := cmp.Or(spec.Word, "y")
	l.say("Type %s to do it; anything else does nothing.", word)
	l.asked = func(answer string) {
		if answer != word {
			l.say("Nothing was done.")
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, patience)
		defer cancel()
		if err := l.give(ctx, name, cmd); err != nil {
			l.complain(err)
		}
	}
	return nil
}

// give gives cmd and has it said what became of it, however long that takes.
func (l *Console) give(ctx context.Context, name string, cmd ops.Command) error {
	req, err := l.Gateway.Do(ctx, cmd)
	if err != nil {
		return err
	}
	what := strings.TrimSpace(name + " " + cmd.Target)
	if req.State.Over() || cmd.Verb == ops.VerbStop {
		l.tell(became{what, req})
		return nil
	}
	l.pending.Go(func() {
		last, err := l.Gateway.Request(l.ctx, req.ID, true)
		if err != nil {
			last = ops.Request{Error: ops.AsError(err)}
		}
		select {
		case l.ended <- became{what, last}:
		case <-l.ctx.Done():
		}
	})
	return nil
}

type became struct {
	what string
	req  ops.Request
}

func (l *Console) tell(b became) {
	if b.req.Error != nil {
		l.say("%s has failed: %s", b.what, fullStop(b.req.Error.Error()))
		return
	}
	var m ops.MessageResult
	if b.req.Verb == ops.VerbMessage && json.Unmarshal(b.req.Result, &m) == nil {
		l.say("%s is answered:", b.what)
		l.Printer.Text(m.Text())
		return
	}
	l.say("%s: %s", b.what, fullStop(cmp.Or(b.req.Detail, text.Words(b.req.State))))
}

func (l *Console) help(context.Context, string) error {
	for _, c := range commands() {
		l.say("%s: %s", strings.TrimSpace(c.name+" "+c.takes), fullStop(c.about))
	}
	l.say("NUMBER is that of a row in the last list; a session's key or an adapter's name will do as well.")
	return nil
}

// show asks the gateway for one thing and prints it.
func show[T any](ask func(ops.Console, context.Context) (T, error), print func(lines.Printer, T)) func(*Console, context.Context, string) error {
	return func(l *Console, ctx context.Context, _ string) error {
		v, err := ask(l.Gateway, ctx)
		if err == nil {
			print(l.Printer, v)
		}
		return err
	}
}

func (l *Console) watch(context.Context, string) error {
	l.watched = !l.watched
	if l.watched {
		l.say("Printing events as they happen; watch again to stop.")
	} else {
		l.say("No longer printing events; state changes are still printed.")
	}
	return nil
}

// quit leaves at once where that touches nothing, and asks where the gateway is in this process.
func (l *Console) quit(context.Context, string) error {
	if l.Attached {
		l.leave(tui.Detached)
		return nil
	}
	l.say("Leave: type stop to stop the gateway, or keep to keep it running in this terminal without a console. Anything else stays.")
	l.asked = func(answer string) {
		switch answer {
		case "stop":
			ctx, cancel := context.WithTimeout(l.ctx, patience)
			defer cancel()
			if err := l.give(ctx, "stop", ops.Command{Verb: ops.VerbStop, Reason: "the console was left", Expect: l.life}); err != nil {
				l.complain(err)
			}
		case "keep":
			l.leave(tui.LeftRunning)
		default:
			l.say("Nothing was done.")
		}
	}
	return nil
}

// lists reads out the rows of a kind that a filter matches, each with the number by which a command can name it.
func lists[T any](kind string, ask func(ops.Console, context.Context, ops.Query) (ops.Page[T], error), sentence func(T) (target, string)) func(*Console, context.Context, string) error {
	return func(l *Console, ctx context.Context, filter string) error {
		page, err := ops.Fill(ctx, ops.Query{Limit: maxRows, Filter: filter}, func(ctx context.Context, q ops.Query) (ops.Page[T], error) { return ask(l.Gateway, ctx, q) })
		if err != nil {
			return err
		}
		rows := make([]target, len(page.Items))
		for i, item := range page.Items {
			t, text := sentence(item)
			rows[i] = t
			l.say("%d. %s", i+1, fullStop(text))
		}
		l.listed[kind] = rows
		switch {
		case len(rows) == 0 && filter != "":
			l.say("No %s matches %s.", kind, strconv.Quote(filter))
		case len(rows) == 0:
			l.say("There is no %s.", kind)
		case page.Next != "":
			l.say("There are more; a text after the command narrows the list.")
		}
		return nil
	}
}

// enumerate joins what is worth saying.
func enumerate(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// some is a number of things, empty for none.
func some(n int, thing string) string {
	if n == 0 {
		return ""
	}
	return text.Count(n, thing)
}

func sessionSentence(r ops.Session) (target, string) {
	state := text.Words(r.State)
	if !r.TurnStartedAt.IsZero() {
		state += " for " + text.Ago(r.TurnStartedAt.Time)
	}
	return target{r.Key, r.ID}, r.Key + ": " + enumerate(state, lines.Doing(r), some(r.Queued, "waiting message"), some(r.Processes, "process tree"))
}

func agentSentence(r ops.Agent) (target, string) {
	return target{name: r.Session}, r.Session + ": " + enumerate(text.Words(r.State), lines.Size(r.Bytes), text.Count(r.Messages, "message"), "idle for "+text.Millis(r.IdleMS))
}

func processSentence(r ops.Process) (target, string) {
	return target{name: strconv.Itoa(r.PID)}, enumerate(fmt.Sprintf("pid %d: %s", r.PID, r.Command), lines.ProcessState(r), text.Millis(r.AgeMS)+" old", "of "+cmp.Or(r.Session, "no session"), fmt.Sprintf("tree of %d", r.TreeSize))
}

func adapterSentence(r ops.Adapter) (target, string) {
	next := ""
	if in := text.Until(r.NextAttemptAt.Time); in != "" {
		next = "next attempt in " + in
	}
	return target{name: r.Name}, r.Name + ": " + enumerate(text.Words(r.State)+" for "+cmp.Or(text.Ago(r.Since.Time), "no time"), r.LastError, next)
}

func inboxSentence(r ops.InboxItem) (target, string) {
	state := text.Words(r.State) + " for " + cmp.Or(text.Ago(r.AskedAt.Time), "no time")
	if r.State != ops.InboxWaiting {
		state = text.Words(r.State)
	}
	folder, why := "", ""
	if r.Folder != "" {
		folder = "in " + r.Folder
	}
	if len(r.Reasons) > 0 {
		why = "because " + strings.Join(r.Reasons, " and ")
	}
	return target{name: r.ID}, r.ID + ": " + enumerate(state, cmp.Or(r.Session, "no session"), text.Words(r.Kind), cmp.Or(r.Command, r.Text), folder, why)
}

func environmentSentence(e ops.Environment) (target, string) {
	return target{name: e.ID}, e.ID + ": " + enumerate(string(e.Kind)+" of "+e.Session, string(e.State), e.Detail)
}

func serverSentence(s ops.Server) (target, string) {
	of, tools := "", ""
	if s.Session != "" {
		of = "of " + s.Session
	}
	if s.Tools > 0 {
		tools = text.Count(s.Tools, "tool")
	}
	return target{name: s.Name}, s.Name + ": " + enumerate(text.Words(s.State), of, tools, s.LastError)
}

func jobSentence(j ops.Job) (target, string) {
	next, last := lines.JobNext(j), ""
	if next != "" {
		next = "next run " + next
	}
	if j.LastResult != "" {
		last = "last run " + text.Words(j.LastResult)
	}
	return target{name: j.Name}, j.Name + ": " + enumerate(text.Words(j.State), next, j.Schedule, last, j.LastError)
}

func heldSentence(h ops.Held) (target, string) {
	return target{name: h.ID}, text.Words(h.Kind) + " " + h.ID + ": " + enumerate(text.Words(h.State), "of "+cmp.Or(h.Session, "the gateway"), h.Detail)
}

func noteSentence(n ops.Note) (target, string) {
	what := n.Text
	if n.Withheld {
		what = "its text is not shown"
	}
	return target{name: n.ID}, n.ID + ": " + enumerate("of "+text.Words(n.Scope)+" "+n.Owner, what)
}

func ruleSentence(r ops.Rule) (target, string) {
	return target{name: r.ID}, r.ID + ": " + enumerate(lines.RuleCommand(r), "in "+r.Folder, "of the agent "+r.Agent, "until "+text.Moment(r.Expires.Time))
}

func lifeSentence(l ops.Life) (target, string) {
	how := text.Words(l.Outcome)
	if l.Phase != "" {
		how += " in " + l.Phase
	}
	when := "began " + text.Moment(l.StartedAt.Time)
	switch at, known := l.End(); {
	case known:
		when += ", ended " + text.Moment(at.Time)
	case !at.IsZero():
		when += ", last seen " + text.Moment(at.Time)
	}
	asked, late := "", lines.Overran(l)
	if l.By != "" || l.Reason != "" {
		asked = "asked for by " + cmp.Or(l.By, "an unknown sender") + ": " + cmp.Or(l.Reason, "no reason given")
	}
	if late != "" {
		late = "overran: " + late
	}
	return target{name: l.Life}, enumerate(how+" (life "+l.Life+")", when, asked, late)
}

// history lists the past lives, or says all that is known of the one with a number of the last list.
func (l *Console) history(ctx context.Context, rest string) error {
	if _, err := strconv.Atoi(rest); err != nil {
		return lists("life", ops.Console.History, lifeSentence)(l, ctx, rest)
	}
	t, err := l.target("life", rest)
	if err != nil {
		return err
	}
	page, err := l.Gateway.History(ctx, ops.Query{Filter: filter.Quote(t.name)}) // others may name it in their reason
	if err != nil {
		return err
	}
	i := slices.IndexFunc(page.Items, func(r ops.Life) bool { return r.Life == t.name })
	if i < 0 {
		return &ops.Error{Code: ops.CodeNotFound, Message: "the life " + t.name + " is not recorded any more", Hint: "say history again"}
	}
	l.Printer.Life(page.Items[i])
	return nil
}
