package operator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/people"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// forgetBound is what the deletion of a person may take; what is left then goes on in the next life.
	forgetBound = 10 * time.Minute
	// forgetPreview is what it may take to count what would be deleted.
	forgetPreview = 10 * time.Second
	// forgetRuns is of how many runs of a job the conversations are deleted at once.
	forgetRuns = 100
)

// newPeople is what deletes people from the parts of this gateway.
func (op *Operator) newPeople() *people.People {
	return people.New(people.Options{
		Log: op.o.Log, Conversations: op.o.Conversations, Store: func() people.Store { return op.store() },
		Before: []people.Holder{{Kind: "messages in memory", Forget: func(ctx context.Context, f store.Forgetting, keys []string) (int, error) {
			open, err := op.store().OpenInboxOf(ctx, f)
			if err != nil {
				return 0, err
			}
			return op.o.Intake.Forget(ctx, f, keys, open)
		}}, {Kind: "files", Forget: op.forgetFiles}, {Kind: "jobs", Forget: op.forgetJobs}, {Kind: "ends of processes", Forget: func(ctx context.Context, _ store.Forgetting, _ []string) (int, error) {
			return 0, op.o.Processes.Recorded(ctx) // only the row of a process with an end is deleted
		}}},
		After: []people.Holder{{Kind: "notes of the server", Forget: func(ctx context.Context, f store.Forgetting, _ []string) (int, error) {
			if op.o.Notes == nil {
				return 0, nil
			}
			return op.o.Notes.ForgetPerson(ctx, f.Platform+":"+f.ID)
		}}, {Kind: "words in the search index", Forget: func(ctx context.Context, _ store.Forgetting, _ []string) (int, error) {
			return 0, op.o.Search.Forget(ctx)
		}}, {Kind: "rows about who may speak", Forget: func(ctx context.Context, f store.Forgetting, _ []string) (int, error) {
			return op.o.People.Forget(ctx, access.Person{Platform: f.Platform, ID: f.ID}, f.At)
		}}},
	})
}

// forgetJobs deletes the jobs of a person with what was said in their runs.
func (op *Operator) forgetJobs(ctx context.Context, f store.Forgetting, _ []string) (int, error) {
	if op.o.Jobs == nil {
		return 0, nil
	}
	return op.o.Jobs.Forget(ctx, f.Platform+":"+f.ID, func(key string) error {
		if err := op.o.Conversations.Forget(ctx, key); err != nil {
			return err
		}
		for {
			ended, err := op.store().EndedSessions(ctx, key, forgetRuns)
			if err != nil || len(ended) == 0 {
				return err
			}
			ids := make([]string, len(ended))
			for i, s := range ended {
				ids[i] = s.ID
			}
			if err := op.store().ForgetSessions(ctx, ids...); err != nil {
				return err
			}
		}
	})
}

// forgetFiles deletes the files of a person's own sessions.
func (op *Operator) forgetFiles(ctx context.Context, f store.Forgetting, keys []string) (int, error) {
	if op.o.Media == nil {
		return 0, nil
	}
	sent, err := op.store().FilesSentTo(ctx, f)
	if err != nil {
		return 0, err
	}
	gone, err := op.o.Media.Forget(ctx, keys, sent)
	return gone.Files, err
}

// FinishForgetting goes on with the deletions of people that an earlier life began.
func (op *Operator) FinishForgetting(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, forgetBound)
	defer cancel()
	op.people.Finish(ctx)
}

// checkPerson refuses what does not name a person.
func checkPerson(_ *Operator, cmd ops.Command) error {
	_, err := people.Read(cmd.Target)
	return err
}

func (op *Operator) forget(ctx context.Context, cmd ops.Command) (string, any, error) {
	ctx, cancel := context.WithTimeout(ctx, forgetBound)
	defer cancel()
	return result(op.people.Forget(ctx, cmd.Target))
}

// People implements ops.Console.
func (op *Operator) People(_ context.Context, q ops.Query) (ops.Page[ops.Person], error) {
	return page(op.o.People.List(), q, func(p ops.Person) string { return p.ID }, filter.People)
}

// letIn carries out VerbLetIn.
func (op *Operator) letIn(ctx context.Context, cmd ops.Command) (string, any, error) {
	done, err := op.o.People.Approve(ctx, cmd.Text, cmp.Or(cmd.Role, ops.RoleGuest), actor(cmd.By))
	return done, nil, err
}

// addPerson carries out VerbAddPerson.
func (op *Operator) addPerson(ctx context.Context, cmd ops.Command) (string, any, error) {
	done, err := op.o.People.Add(ctx, cmd.Target, cmp.Or(cmd.Role, ops.RoleMember), actor(cmd.By))
	return done, nil, err
}

// setRole carries out VerbSetRole.
func (op *Operator) setRole(ctx context.Context, cmd ops.Command) (string, any, error) {
	role, err := ops.ReadRole(string(cmd.Role))
	if err != nil {
		return "", nil, err
	}
	done, err := op.o.People.SetRole(ctx, cmd.Target, role, actor(cmd.By))
	return done, nil, err
}

// removePerson carries out VerbRemovePerson: first nothing new of the person is taken, then their turns end, and what waits.
func (op *Operator) removePerson(ctx context.Context, cmd ops.Command) (string, any, error) {
	done, err := op.o.People.Remove(ctx, cmd.Target, actor(cmd.By))
	if err != nil {
		return "", nil, err
	}
	f, err := people.Read(cmd.Target)
	if err != nil {
		return "", nil, err
	}
	open, err := op.store().OpenInboxOf(ctx, f)
	if err == nil {
		err = op.o.Intake.End(ctx, open)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s; what runs for them was not ended: %w", done, err)
	}
	return done, nil, nil
}

// turnsOf are the turns that run for a person.
func (op *Operator) turnsOf(f store.Forgetting) (turns []session.TurnView) {
	for _, v := range op.o.Table.Turns() {
		if session.Platform(v.Session.Key) == f.Platform && !v.Message.Operator && session.PersonOf(v.Message.User) == f.ID {
			turns = append(turns, v)
		}
	}
	return turns
}

func (op *Operator) previewRemoval(p *ops.Preview, cmd ops.Command) {
	f, err := people.Read(cmd.Target)
	if err != nil {
		return
	}
	for _, v := range op.turnsOf(f) {
		p.Interrupt = append(p.Interrupt, turnLine(v))
	}
	p.Keeps = append(p.Keeps, "the person's conversations; people forget deletes them")
}

// result is what a verb that has a result of its own type returns.
func result[T any](detail string, v T, err error) (string, any, error) { return detail, v, err }

func (op *Operator) previewForget(p *ops.Preview, cmd ops.Command) {
	f, err := people.Read(cmd.Target)
	if err != nil || op.store() == nil {
		return
	}
	for _, v := range op.o.Table.Turns() {
		if f.Owns(v.Session.Key) {
			p.Interrupt = append(p.Interrupt, turnLine(v))
		}
	}
	for _, row := range op.o.Processes.Rows() {
		if f.Owns(row.Session) {
			p.Kills = append(p.Kills, processLine(row))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetPreview)
	defer cancel()
	lines, err := op.people.Preview(ctx, cmd.Target)
	if err != nil {
		lines = []string{"everything that is kept of " + term.Clean(cmd.Target, 80) + "; it could not be counted: " + term.Clean(err.Error(), 200)}
	}
	p.Loses = append(p.Loses, lines...)
	p.Keeps = append(p.Keeps, "backups, files in the work folder, and the messages of others")
}
