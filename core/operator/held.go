package operator

import (
	"context"
	"slices"
	"strings"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Servers are the MCP servers of the gateway.
type Servers interface {
	// Rows are the servers in any order, as a slice of the caller's own. It reads memory alone.
	Rows() []ops.Server
	// Restart ends each running server of this name. The next call starts a server again, without waiting for its backoff.
	Restart(ctx context.Context, name string) error
}

// Jobs are the scheduled prompts of the gateway.
type Jobs interface {
	// Rows are the jobs in any order, as a slice of the caller's own. It reads memory alone.
	Rows() []ops.Job
	// Run begins a run and does not wait for its end. by says who asked, as in the audit, here and below.
	Run(ctx context.Context, name, by string) error
	Pause(ctx context.Context, name, by string) error
	Resume(ctx context.Context, name, by string) error
	// Delete deletes a job; one of the config is CodeInvalid.
	Delete(ctx context.Context, name, by string) error
	// Forget deletes the jobs of a person, such as telegram:4711. each gets the session key of a job before that job is deleted, and
	// may keep it by an error.
	Forget(ctx context.Context, person string, each func(key string) error) (deleted int, err error)
}

// Held is what sessions and the gateway hold besides processes and environments.
type Held interface {
	// Rows are all that is held now, oldest first, as a slice of the caller's own. It reads memory alone.
	Rows() []ops.Held
}

// Notes is the memory of agents.
type Notes interface {
	// Notes are all notes, newest first.
	Notes(ctx context.Context) ([]ops.Note, error)
	// Forget deletes a note; one that is not there is CodeNotFound.
	Forget(ctx context.Context, id string) error
	// ForgetPerson deletes what is kept of a person, platform:id, outside of the store, and returns how many notes that were.
	ForgetPerson(ctx context.Context, person string) (int, error)
}

// maxHeldText bounds each text of a server, a job, a note or a held resource, in runes.
const maxHeldText = 600

// serverRows is every server, clean and in order.
func (op *Operator) serverRows() []ops.Server {
	if op.o.Servers == nil {
		return nil
	}
	rows := op.o.Servers.Rows()
	for i := range rows {
		r := &rows[i]
		r.Name, r.Session, r.LastError = term.Clean(r.Name, maxHeldText), term.Clean(r.Session, maxHeldText), term.Clean(r.LastError, maxHeldText)
	}
	slices.SortStableFunc(rows, ops.CompareServers)
	return rows
}

// jobRows is every job, clean and in order.
func (op *Operator) jobRows() []ops.Job {
	if op.o.Jobs == nil {
		return nil
	}
	rows := op.o.Jobs.Rows()
	for i := range rows {
		r := &rows[i]
		for _, text := range []*string{&r.Name, &r.Schedule, &r.Zone, &r.LastError, &r.Agent, &r.Deliver, &r.Origin, &r.Session} {
			*text = term.Clean(*text, maxHeldText)
		}
	}
	slices.SortStableFunc(rows, ops.CompareJobs)
	return rows
}

// heldRows is everything held, clean, oldest first.
func (op *Operator) heldRows() []ops.Held {
	if op.o.Held == nil {
		return nil
	}
	rows := op.o.Held.Rows()
	for i := range rows {
		r := &rows[i]
		for _, text := range []*string{&r.ID, &r.Session, &r.Owner, &r.Detail} {
			*text = term.Clean(*text, maxHeldText)
		}
	}
	return rows
}

// Servers implements ops.Console.
func (op *Operator) Servers(_ context.Context, q ops.Query) (ops.Page[ops.Server], error) {
	return page(op.serverRows(), q, func(s ops.Server) string { return s.Name + " " + s.Session }, filter.Servers)
}

// Jobs implements ops.Console.
func (op *Operator) Jobs(_ context.Context, q ops.Query) (ops.Page[ops.Job], error) {
	return page(op.jobRows(), q, func(j ops.Job) string { return j.Name }, filter.Jobs)
}

// Held implements ops.Console.
func (op *Operator) Held(_ context.Context, q ops.Query) (ops.Page[ops.Held], error) {
	return page(op.heldRows(), q, heldKey, filter.Held)
}

// Browsers implements ops.Console.
func (op *Operator) Browsers(_ context.Context, q ops.Query) (ops.Page[ops.Held], error) {
	rows := slices.DeleteFunc(op.heldRows(), func(h ops.Held) bool { return h.Kind != ops.HeldBrowser })
	return page(rows, q, heldKey, filter.Held)
}

func heldKey(h ops.Held) string { return string(h.Kind) + " " + h.ID + " " + h.Session }

// Notes implements ops.Console.
func (op *Operator) Notes(ctx context.Context, q ops.Query) (ops.Page[ops.Note], error) {
	var rows []ops.Note
	if op.o.Notes != nil {
		var err error
		if rows, err = op.o.Notes.Notes(ctx); err != nil {
			return ops.Page[ops.Note]{}, err
		}
	}
	for i := range rows {
		r := &rows[i]
		r.Scope, r.Owner, r.By, r.Text = term.Clean(r.Scope, maxHeldText), term.Clean(r.Owner, maxHeldText), term.Clean(r.By, maxHeldText), term.Clean(r.Text, maxInboxCommand)
		if !op.o.Texts.All() {
			r.Text, r.Withheld = "", true
		}
	}
	return page(rows, q, func(n ops.Note) string { return n.ID }, filter.Notes)
}

// countHeld counts servers, browsers and jobs.
func (op *Operator) countHeld(c *ops.Counts) {
	browsers := map[[2]string]bool{}
	for _, h := range op.heldRows() {
		if h.Kind == ops.HeldBrowser {
			c.Browsers++
			browsers[[2]string{h.ID, h.Session}] = true
		}
	}
	for _, s := range op.serverRows() {
		if s.State != ops.ServerIdle && !browsers[[2]string{s.Name, s.Session}] {
			c.Servers++
		}
		if s.State.Troubled() {
			c.ServersTroubled++
		}
	}
	for _, j := range op.jobRows() {
		c.Jobs++
		switch j.State {
		case ops.JobRunning:
			c.JobsRunning++
		case ops.JobFailed:
			c.JobsFailed++
		}
	}
}

// named refuses a name that is not among names.
func named(what, name, list string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	hint := "there is none; see `gatewaytui " + list + "`"
	if len(names) > 0 {
		hint = "there are: " + strings.Join(names[:min(len(names), 20)], ", ")
	}
	return &ops.Error{Code: ops.CodeNotFound, Message: "no " + what + " " + term.Quote(name), Hint: hint}
}

// checkServer refuses a command for a server that is not there.
func checkServer(op *Operator, cmd ops.Command) error {
	var names []string
	for _, s := range op.serverRows() {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return named("server", cmd.Target, "servers", names)
}

// previewServer says what a restart of a server ends.
func (op *Operator) previewServer(p *ops.Preview, cmd ops.Command) {
	for _, s := range op.serverRows() {
		if s.Name != cmd.Target || s.State == ops.ServerIdle {
			continue
		}
		name := "server " + s.Name
		if s.Session != "" {
			name += " of " + s.Session
		}
		p.Closes = append(p.Closes, name)
		p.EndsWork = true
	}
	if p.EndsWork {
		p.Loses = append(p.Loses, "the calls of its tools that are under way")
	}
	p.Keeps = append(p.Keeps, "the list of its tools; the next call starts it again")
}

// restartServer carries out VerbRestartServer.
func (op *Operator) restartServer(ctx context.Context, cmd ops.Command) (string, any, error) {
	if op.o.Servers == nil {
		return "", nil, checkServer(op, cmd)
	}
	return "ended; the next call starts it again", nil, op.o.Servers.Restart(ctx, cmd.Target)
}

// checkJob refuses a command for a job that is not there.
func checkJob(op *Operator, cmd ops.Command) error {
	var names []string
	for _, j := range op.jobRows() {
		names = append(names, j.Name)
	}
	return named("job", cmd.Target, "jobs", names)
}

// says is a detail without the name of the job.
func says(detail string) func(string) string { return func(string) string { return detail } }

// onJob makes the function of a verb that acts on a job.
func onJob(does func(Jobs, context.Context, string, string) error, detail func(name string) string) func(*Operator, context.Context, ops.Command) (string, any, error) {
	return func(op *Operator, ctx context.Context, cmd ops.Command) (string, any, error) {
		if op.o.Jobs == nil {
			return "", nil, checkJob(op, cmd)
		}
		return detail(cmd.Target), nil, does(op.o.Jobs, ctx, cmd.Target, actor(cmd.By))
	}
}

// previewDelete says what the deletion of a job loses.
func (op *Operator) previewDelete(p *ops.Preview, cmd ops.Command) {
	for _, j := range op.jobRows() {
		if j.Name != cmd.Target {
			continue
		}
		p.EndsWork = true
		p.Loses = append(p.Loses, "job "+j.Name+" ("+j.Schedule+")")
		if j.State == ops.JobRunning {
			p.Keeps = append(p.Keeps, "the run that is under way")
		}
		p.Keeps = append(p.Keeps, "what its runs said")
	}
}

// previewForgetNote says which note is deleted.
func (op *Operator) previewForgetNote(p *ops.Preview, cmd ops.Command) {
	p.EndsWork = true
	p.Loses = append(p.Loses, "note "+term.Clean(cmd.Target, 80))
}

// forgetNote carries out VerbForgetNote.
func (op *Operator) forgetNote(ctx context.Context, cmd ops.Command) (string, any, error) {
	if op.o.Notes == nil {
		return "", nil, named("note", cmd.Target, "memory", nil)
	}
	return "deleted", nil, op.o.Notes.Forget(ctx, cmd.Target)
}
