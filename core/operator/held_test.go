package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

const dirty = "x\n\x1b]0;x\a\u202e"

// holding is the servers, jobs, held resources and notes of a test, and what was asked of them.
type holding struct {
	servers []ops.Server
	jobs    []ops.Job
	held    []ops.Held
	notes   []ops.Note
	asked   []string
}

type (
	holdingServers struct{ *holding }
	holdingJobs    struct{ *holding }
	holdingHeld    struct{ *holding }
	holdingNotes   struct{ *holding }
)

func (h *holding) ask(format string, args ...any) error {
	h.asked = append(h.asked, fmt.Sprintf(format, args...))
	return nil
}

func (h holdingServers) Rows() []ops.Server { return slices.Clone(h.servers) }
func (h holdingServers) Restart(_ context.Context, name string) error {
	return h.ask("restart %s", name)
}

func (h holdingJobs) Rows() []ops.Job { return slices.Clone(h.jobs) }
func (h holdingJobs) Run(_ context.Context, name, by string) error {
	return h.ask("run %s by %s", name, by)
}

func (h holdingJobs) Pause(_ context.Context, name, by string) error {
	return h.ask("pause %s by %s", name, by)
}

func (h holdingJobs) Resume(_ context.Context, name, by string) error {
	return h.ask("resume %s by %s", name, by)
}

func (h holdingJobs) Forget(context.Context, string, func(key string) error) (int, error) {
	return 0, nil
}

func (h holdingJobs) Delete(_ context.Context, name, by string) error {
	return h.ask("delete %s by %s", name, by)
}

func (h holdingHeld) Rows() []ops.Held { return slices.Clone(h.held) }

func (h holdingNotes) Notes(context.Context) ([]ops.Note, error) { return slices.Clone(h.notes), nil }

func (h holdingNotes) Forget(_ context.Context, id string) error         { return h.ask("forget %s", id) }
func (h holdingNotes) ForgetPerson(context.Context, string) (int, error) { return 0, nil }

func withHeld(texts ops.Texts) (*Operator, *holding) {
	h := &holding{
		servers: []ops.Server{
			{Name: "github", Scope: ops.ServerOfGateway, State: ops.ServerIdle},
			{Name: "files", Session: "cli:b", State: ops.ServerFailed, LastError: "exit 1" + dirty, Since: at(5)},
			{Name: "files", Session: "cli:a", State: ops.ServerReady},
			{Name: "browser", Session: "cli:a", State: ops.ServerReady},
			{Name: "files", Session: "cli:c", State: ops.ServerFailed, LastError: "exit 1", Since: at(6)},
		},
		jobs: []ops.Job{
			{Name: "report", Schedule: "every 6h", State: ops.JobFailed, LastAt: at(7), LastError: "no model" + dirty, Session: "job:report"},
			{Name: "morning", Schedule: "0 8 * * *", State: ops.JobRunning, Deliver: dirty},
		},
		held: []ops.Held{
			{Kind: ops.HeldBrowser, ID: "browser", Session: "cli:a", Owner: "browser", State: ops.HeldReady},
			{Kind: ops.HeldHook, ID: "notify", Owner: "hook", State: ops.HeldStarting, Detail: dirty},
		},
		notes: []ops.Note{{ID: "n2", Owner: "telegram:4711", Text: "likes tea" + dirty}, {ID: "n1", Owner: "telegram:7", Text: "lives in Graz"}},
	}
	return New(Options{Servers: holdingServers{h}, Jobs: holdingJobs{h}, Held: holdingHeld{h}, Notes: holdingNotes{h}, Texts: texts}), h
}

func TestWhatIsHeldIsListedInOrderAndClean(t *testing.T) {
	op, _ := withHeld(ops.TextsAll)
	servers, err := op.Servers(t.Context(), ops.Query{})
	if err != nil {
		t.Fatal(err)
	}
	jobs, _ := op.Jobs(t.Context(), ops.Query{})
	held, _ := op.Held(t.Context(), ops.Query{})
	browsers, _ := op.Browsers(t.Context(), ops.Query{})
	notes, _ := op.Notes(t.Context(), ops.Query{Filter: "owner:4711"})
	got := ""
	for _, s := range servers.Items {
		got += s.Name + "/" + s.Session + " "
	}
	for _, j := range jobs.Items {
		got += j.Name + " "
	}
	for _, h := range held.Items {
		got += string(h.Kind) + " "
	}
	for _, n := range notes.Items {
		got += n.ID
	}
	if want := "browser/cli:a files/cli:a files/cli:b files/cli:c github/ morning report browser hook n2"; got != want {
		t.Errorf("listed: %q, want %q", got, want)
	}
	if len(browsers.Items) != 1 || browsers.Items[0].ID != "browser" {
		t.Errorf("the browsers are %+v", browsers.Items)
	}
	if all := fmt.Sprint(servers.Items, jobs.Items, held.Items, notes.Items); strings.ContainsAny(all, "\n\x1b\a\u202e") {
		t.Errorf("not clean: %q", all)
	}
	page, err := op.Servers(t.Context(), ops.Query{Limit: 1, Cursor: "files cli:a"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Session != "cli:b" {
		t.Errorf("the page behind the server of a session is %+v, %v", page, err)
	}
	var c ops.Counts
	op.countHeld(&c)
	if c.Servers != 3 || c.ServersTroubled != 2 || c.Browsers != 1 || c.Jobs != 2 || c.JobsRunning != 1 || c.JobsFailed != 1 {
		t.Errorf("counted: %+v", c)
	}
}

func TestTheTextOfANoteIsShownAsTheConfigSays(t *testing.T) {
	for _, texts := range []ops.Texts{ops.TextsLengths, ops.TextsNone} {
		op, _ := withHeld(texts)
		page, err := op.Notes(t.Context(), ops.Query{})
		if err != nil || len(page.Items) != 2 || page.Items[0].Text != "" || !page.Items[0].Withheld {
			t.Errorf("%s: %+v, %v", texts, page, err)
		}
		if page, _ := op.Notes(t.Context(), ops.Query{Filter: "tea"}); len(page.Items) != 0 {
			t.Errorf("%s: a filter tells what a note says", texts)
		}
	}
}

func TestAVerbActsOnTheServerJobOrNoteThatItNamesOrOnNothing(t *testing.T) {
	by := ops.Actor{Via: "socket", UID: 1000, PID: 42}
	for verb, want := range map[ops.Verb]string{
		ops.VerbRestartServer: "restart files", ops.VerbRunJob: "run report by uid 1000, pid 42", ops.VerbPauseJob: "pause report by uid 1000, pid 42",
		ops.VerbResumeJob: "resume report by uid 1000, pid 42", ops.VerbDeleteJob: "delete report by uid 1000, pid 42", ops.VerbForgetNote: "forget n1",
	} {
		op, h := withHeld(ops.TextsAll)
		target := map[ops.Verb]string{ops.VerbRestartServer: "files", ops.VerbForgetNote: "n1"}[verb]
		if target == "" {
			target = "report"
		}
		cmd := ops.Command{Verb: verb, Target: target, By: by}
		v := verbs[verb]
		if v.check != nil {
			if err := v.check(op, cmd); err != nil {
				t.Errorf("%s: %v", verb, err)
			}
			cmd.Target = "filse"
			if err := v.check(op, cmd); !ops.HasCode(err, ops.CodeNotFound) || ops.AsError(err).Hint == "" {
				t.Errorf("%s of an unknown name: %v", verb, err)
			}
			cmd.Target = target
		}
		if _, _, err := v.run(op, t.Context(), cmd); err != nil || !slices.Equal(h.asked, []string{want}) {
			t.Errorf("%s: asked %q, %v; want %q", verb, h.asked, err, want)
		}
		if _, _, err := v.run(New(Options{}), t.Context(), cmd); !ops.HasCode(err, ops.CodeNotFound) {
			t.Errorf("%s of a gateway that has none: %v", verb, err)
		}
	}
}

func TestAPreviewSaysWhatARestartOfAServerEnds(t *testing.T) {
	op, _ := withHeld(ops.TextsAll)
	var running, idle, job ops.Preview
	op.previewServer(&running, ops.Command{Target: "files"})
	op.previewServer(&idle, ops.Command{Target: "github"})
	op.previewDelete(&job, ops.Command{Target: "morning"})
	if !running.EndsWork || len(running.Closes) != 3 || idle.EndsWork || len(idle.Closes) != 0 {
		t.Errorf("a restart closes %+v, of a server that does not run %+v", running, idle)
	}
	if !job.EndsWork || len(job.Loses) != 1 || len(job.Keeps) != 2 {
		t.Errorf("a deletion is described as %+v", job)
	}
}

func TestOP1_AFailedServerIsInTheInboxUntilItWorks(t *testing.T) {
	_, h := withHeld(ops.TextsAll)
	c := Conditions{Servers: holdingServers{h}}
	found := c.servers()
	if len(found) != 1 || !found[0].Kind.Remedied() || !slices.Equal(found[0].Options, []string{"restart"}) || found[0].Session != "cli:b" {
		t.Fatalf("two servers of one name have the rows %+v", found)
	}
	if _, err := found[0].remedies["restart"](t.Context()); err != nil || !slices.Equal(h.asked, []string{"restart files"}) {
		t.Errorf("asked %q, %v", h.asked, err)
	}
	h.servers[1].State, h.servers[4].State = ops.ServerReady, ops.ServerIdle
	if left := c.servers(); len(left) != 0 {
		t.Errorf("after the remedy %+v", left)
	}
}
