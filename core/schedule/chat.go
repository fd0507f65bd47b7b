package schedule

import (
	"context"
	"fmt"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/core/tool"
)

// Own implements tool.Jobs.
func (b *Book) Own(key, user string) []ops.Job {
	who := person(session.Owner(key), user)
	return b.rows(func(j *job) bool { return j.Source != FromConfig && j.Owner == who })
}

// DeleteOwn implements tool.Jobs.
func (b *Book) DeleteOwn(ctx context.Context, key, user, name string) error {
	who := person(session.Owner(key), user)
	if j, found := b.get(name); !found || j.Source == FromConfig || j.Owner != who {
		return notYours(name)
	}
	return b.Delete(ctx, name, who)
}

// usage is what /jobs takes.
const usage = "Write /jobs, /jobs add SCHEDULE: PROMPT, or /jobs show, run, pause, resume or delete with the name of a job. A schedule is for example 0 8 * * mon-fri, every 30m or at 2026-12-01T08:00."

// Chat carries out /jobs with words, for the sender of m in the session of key, where the agent with this name works. Members act on
// their own jobs, owners on all.
func (b *Book) Chat(ctx context.Context, key string, m session.Message, agent, words string) (string, error) {
	who := person(session.Owner(key), m.User)
	mine := func(j *job) bool {
		return m.Role.AtLeast(ops.RoleOwner) || j.Source != FromConfig && j.Owner == who
	}
	verb, rest, _ := strings.Cut(cut(words), " ")
	rest = cut(rest)
	if verb == "" || verb == "list" {
		return listed(b.rows(mine)), nil
	}
	if verb == "add" {
		when, prompt, found := strings.Cut(rest, ": ")
		if !found {
			return usage, nil
		}
		made, err := b.make(ctx, FromChat, tool.NewJob{Session: key, Person: m.User, Agent: agent, Schedule: when, Prompt: prompt})
		if err != nil {
			return "", err
		}
		return "Job " + made.Name + " is made. " + line(made), nil
	}
	if verb == "show" {
		j, found := b.get(rest)
		if !found || !mine(&j) {
			return "", notYours(rest)
		}
		return b.history(ctx, j)
	}
	do := map[string]struct {
		act  func(ctx context.Context, name, by string) error
		done string
	}{"run": {b.Run, "runs now"}, "pause": {b.Pause, "is paused"}, "resume": {b.Resume, "runs at its times again"}, "delete": {b.Delete, "is deleted"}}[verb]
	if do.act == nil || rest == "" {
		return usage, nil
	}
	if j, found := b.get(rest); !found || !mine(&j) {
		return "", notYours(rest)
	}
	if err := do.act(ctx, rest, who); err != nil {
		return "", err
	}
	return "Job " + rest + " " + do.done + ".", nil
}

// notYours is the error for a job that its asker does not have. It does not tell whether there is one.
func notYours(name string) error {
	return &ops.Error{Code: ops.CodeNotFound, Message: "you have no job " + term.Quote(name), Hint: "/jobs lists them"}
}

// shownRuns is how many runs /jobs show has.
const shownRuns = 5

// history is a job with its prompt and its last runs.
func (b *Book) history(ctx context.Context, j job) (string, error) {
	runs, err := b.store.JobRuns(ctx, j.Name, shownRuns)
	if err != nil {
		return "", err
	}
	var s strings.Builder
	for _, r := range b.rows(func(other *job) bool { return other.Name == j.Name }) {
		fmt.Fprintf(&s, "%s: %s\n%s\n", r.Name, line(r), j.Prompt)
	}
	for _, r := range runs {
		fmt.Fprintf(&s, "\n%s: %s", shown(r.Due, j.Zone), r.Result)
		if r.Times > 1 {
			fmt.Fprintf(&s, " (%d times)", r.Times)
		}
		if r.Reason != "" {
			s.WriteString(": " + r.Reason)
		}
	}
	return cut(s.String()), nil
}

// listed is a list of jobs for a chat.
func listed(rows []ops.Job) string {
	if len(rows) == 0 {
		return "You have no jobs. " + usage
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s: %s\n", r.Name, line(r))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// line says when a job runs, in what state it is, and how its last run ended.
func line(r ops.Job) string {
	said := r.Schedule + " (" + r.Zone + "), " + text.Words(r.State)
	if !r.NextAt.IsZero() && r.State != ops.JobPaused {
		said += ", next at " + shown(r.NextAt.Time, r.Zone)
	}
	if r.LastResult != "" {
		said += ", last run " + string(r.LastResult)
	}
	return said + "."
}
