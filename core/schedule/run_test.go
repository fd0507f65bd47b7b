package schedule

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// failing is a world whose job fails at each hour.
func failing(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	w.book.Use([]Definition{define("a", "0 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon)
	w.answer = func(string, session.Message) (string, error) { return "", errModel }
	w.at(noon.Add(time.Hour))
	return w
}

func TestHR8_AFailureReachesTheChatTheInboxAndTheEvents(t *testing.T) {
	w := failing(t)
	if len(w.sent) != 1 || w.sent[0].Text != "Job a failed: the model did not answer." || w.sent[0].Target != "4711" {
		t.Errorf("the chat got %+v", w.sent)
	}
	items := w.book.Inbox()
	if len(items) != 1 || items[0].Kind != ops.InboxJob || items[0].State != ops.InboxWaiting || !slices.Equal(items[0].Options, []string{"run", "pause", "dismiss"}) {
		t.Fatalf("the inbox has %+v", items)
	}
	if row := w.row(t, "a"); row.State != ops.JobFailed || row.LastResult != ops.JobRunFailed || row.LastError != "the model did not answer" {
		t.Errorf("the row is %+v", row)
	}
	if want := []ops.EventType{ops.EventJobStarted, ops.EventJobEnded}; !slices.Equal(w.events, want) {
		t.Errorf("the events are %v", w.events)
	}
	w.at(noon.Add(time.Hour + 30*time.Minute))
	w.answer = nil
	if _, err := w.book.Answer(t.Context(), ops.Command{Target: items[0].ID, Text: "run"}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if row := w.row(t, "a"); row.State != ops.JobWaiting || len(w.book.Inbox()) != 0 {
		t.Errorf("after a run that was well the row is %+v, and the inbox has %+v", row, w.book.Inbox())
	}
	if _, err := w.book.Answer(t.Context(), ops.Command{Target: items[0].ID, Text: "run"}); !ops.HasCode(err, ops.CodeConflict) {
		t.Errorf("an answer to a request that has ended: %v", err)
	}
}

func TestHR8_AJobThatFailsEachMinuteTellsItsChatOnceAnHour(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("a", "* * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon)
	w.answer = func(string, session.Message) (string, error) { return "", errModel }
	for i := range 121 {
		w.at(noon.Add(time.Duration(i+1) * time.Minute))
	}
	if len(w.turns) != 121 || len(w.sent) != 3 {
		t.Errorf("of %d failures in two hours the chat got %d messages", len(w.turns), len(w.sent))
	}
}

func TestHR8_ARunThatAStopOrACrashCutOffIsReportedAndNotRunAgain(t *testing.T) {
	for name, cut := range map[string]func(w *world){
		"a stop during the turn": func(w *world) {
			w.answer = func(string, session.Message) (string, error) { return "", session.ErrStopping }
			w.settle()
		},
		"a stop before the turn": func(w *world) { w.settle() },
		"a crash":                func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			all := []Definition{define("a", "at 2026-02-10T13:00", "UTC", missedOnce)}
			w.book.Use(all)
			w.open(t)
			w.at(noon)
			w.set(noon.Add(time.Hour))
			w.closed = name == "a stop before the turn"
			w.book.look(t.Context())
			cut(w)
			turns := len(w.turns)
			w.life()
			w.book.Use(all)
			w.open(t)
			w.at(noon.Add(2 * time.Hour))
			w.at(noon.Add(26 * time.Hour))
			if row := w.row(t, "a"); row.LastResult != ops.JobRunInterrupted || len(w.turns) != turns || !row.NextAt.IsZero() {
				t.Errorf("the row is %+v, with %d turns after the cut", row, len(w.turns)-turns)
			}
			if results, _ := w.counted("a"); results["interrupted"] != 1 || len(results) != 1 {
				t.Errorf("the runs are %v", results)
			}
			if len(w.book.Inbox()) != 1 {
				t.Errorf("the inbox has %+v", w.book.Inbox())
			}
		})
	}
}

func TestHR8_ARunIsATurnOfItsJobAsThePersonWhoMadeIt(t *testing.T) {
	w := newWorld()
	w.open(t)
	made := w.make(t, "every 1h")
	d := define("conf", "30 * * * *", "UTC", missedOnce)
	d.Allow = []string{"make"}
	w.book.Use([]Definition{d})
	w.at(noon)
	var grants []string
	w.answer = func(key string, m session.Message) (string, error) {
		if key == "job:conf" {
			grants = w.book.Grants(key)
		}
		return "", nil
	}
	w.at(noon.Add(30 * time.Minute))
	w.at(noon.Add(time.Hour))
	if len(w.turns) != 2 {
		t.Fatalf("the turns are %+v", w.turns)
	}
	conf, own := w.turns[0], w.turns[1]
	if !conf.Operator || conf.Role != ops.RoleOwner || conf.User != "" || !conf.Unattended || conf.Job == "" || conf.Agent != "default" {
		t.Errorf("the turn of a job of the config has %+v", conf)
	}
	if own.Operator || own.Role != ops.RoleMember || own.User != "telegram:4711" || !own.Unattended || own.Job == conf.Job {
		t.Errorf("the turn of a member's job has %+v", own)
	}
	if !slices.Equal(grants, []string{"make"}) || w.book.Grants("job:conf") != nil || w.book.Grants("telegram:dm:4711") != nil {
		t.Errorf("the grants are %v during the run and %v after it", grants, w.book.Grants("job:conf"))
	}
	delete(w.roles, "telegram:4711") // the person is removed
	w.at(noon.Add(2 * time.Hour))
	if row := w.row(t, made.Name); row.LastResult != ops.JobRunFailed || !strings.Contains(row.LastError, "may not use the gateway any more") {
		t.Errorf("without its person the job is %+v", row)
	}
}

func TestHR8_ARunThatCannotBeWrittenDoesNotBegin(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("a", "0 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon)
	w.fault = errDisk
	w.at(noon.Add(time.Hour))
	if len(w.turns) != 0 {
		t.Error("a turn began whose run no row has")
	}
	w.fault = nil
	w.at(noon.Add(time.Hour + 20*time.Second))
	if len(w.turns) != 1 {
		t.Error("the run did not begin when the disk was free again")
	}
}

func TestHR8_AnAnswerWithoutAChatStaysInTheSession(t *testing.T) {
	w := newWorld()
	d := define("a", "0 * * * *", "UTC", missedOnce)
	d.Deliver = ""
	w.book.Use([]Definition{d})
	w.open(t)
	w.at(noon)
	w.at(noon.Add(time.Hour))
	if row := w.row(t, "a"); len(w.sent) != 0 || row.LastResult != ops.JobRunDone || row.Session != "job:a" {
		t.Errorf("sent were %+v, and the row is %+v", w.sent, row)
	}
}

func TestHR8_TheReasonOfAFailureIsThatOfTheTurn(t *testing.T) {
	for want, err := range map[string]error{
		"the turn was interrupted because the gateway is stopping": session.ErrStopping,
		"the model did not answer":                                 errModel,
		"boom":                                                     errors.New("boom"),
	} {
		if got := reasonOf(err); got != want {
			t.Errorf("%v is said as %q", err, got)
		}
	}
	if resultOf(session.ErrStopping) != "interrupted" || resultOf(errModel) != "failed" || resultOf(&ops.Error{Code: ops.CodeConflict}) != "interrupted" {
		t.Error("an interrupt is a failure, or the reverse")
	}
}

func TestHR8_ARowThatCannotBeReadIsAFailedJob(t *testing.T) {
	w := newWorld()
	w.jobs["a"] = store.Job{Name: "a", Source: FromChat, Owner: "telegram:4711", Schedule: "whenever", Zone: "UTC", Prompt: "x", Missed: missedOnce, Next: noon}
	w.open(t)
	if row := w.row(t, "a"); row.State != ops.JobFailed || row.LastError == "" {
		t.Errorf("the row is %+v", row)
	}
}
