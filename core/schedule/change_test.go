package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/tool"
)

// asked is a job that a member asks for in a chat.
func asked(schedule string) tool.NewJob {
	return tool.NewJob{Session: "telegram:dm:4711", Person: "maria (4711)", Agent: "default", Schedule: schedule, Prompt: "look"}
}

func (w *world) make(t *testing.T, schedule string) ops.Job {
	t.Helper()
	made, err := w.book.Make(t.Context(), asked(schedule))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestHR8_AJobThatIsMadeRunsAndItsAnswerComesToItsChat(t *testing.T) {
	w := newWorld()
	w.open(t)
	made := w.make(t, "in 20m")
	if !made.NextAt.Equal(noon.Add(20*time.Minute)) || made.Deliver != "telegram:dm:4711" || made.Origin != "telegram:4711" || made.State != ops.JobWaiting {
		t.Errorf("the job is %+v", made)
	}
	w.at(noon.Add(20 * time.Minute))
	if len(w.sent) != 1 || w.sent[0].Session != "telegram:dm:4711" || !strings.HasSuffix(w.sent[0].Text, "\n\nlook") {
		t.Errorf("the chat got %+v", w.sent)
	}
	if row := w.row(t, made.Name); row.State != ops.JobEnded || !row.NextAt.IsZero() {
		t.Errorf("after its only time the job is %+v", row)
	}
	w.life()
	w.open(t)
	w.at(noon.Add(24 * time.Hour))
	if len(w.turns) != 1 {
		t.Error("it ran again in the next life")
	}
}

func TestHR8_WhatCannotBeAJobIsRefusedWithTheReason(t *testing.T) {
	w := newWorld()
	w.open(t)
	taken := asked("every 1h")
	taken.Name = "taken"
	if _, err := w.book.Make(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*tool.NewJob){
		"is in use":           func(j *tool.NewJob) { j.Name = "taken" },
		"lower-case":          func(j *tool.NewJob) { j.Name = "../x" },
		"prompt is empty":     func(j *tool.NewJob) { j.Prompt = " " },
		"prompt has more":     func(j *tool.NewJob) { j.Prompt = strings.Repeat("x", maxPrompt+1) },
		"one minute":          func(j *tool.NewJob) { j.Schedule = "every 10s" },
		"is over":             func(j *tool.NewJob) { j.Schedule = "at 2026-01-01T00:00" },
		"zone":                func(j *tool.NewJob) { j.Zone = "Mars/Base" },
		"once or skip":        func(j *tool.NewJob) { j.Missed = "twice" },
		"grant":               func(j *tool.NewJob) { j.Allow = []string{"bash"} },
		"a job makes no jobs": func(j *tool.NewJob) { j.Session = "job:taken" },
		"at most 20 grants":   func(j *tool.NewJob) { j.Allow = strings.Fields(strings.Repeat("make ", 21)) },
	} {
		j := asked("every 1h")
		change(&j)
		if _, err := w.book.Make(t.Context(), j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	for range maxOwn - 1 {
		w.make(t, "every 1h")
	}
	if _, err := w.book.Make(t.Context(), asked("every 1h")); !ops.HasCode(err, ops.CodeLimit) {
		t.Errorf("job %d of a person: %v", maxOwn+1, err)
	}
	other := asked("every 1h")
	other.Session, other.Person = "telegram:dm:48", "otto (48)"
	if _, err := w.book.Make(t.Context(), other); err != nil {
		t.Errorf("a job of another person: %v", err)
	}
}

func TestHR8_PeopleActOnTheirOwnJobsAndOwnersOnAll(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("conf", "0 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon)
	mine := w.make(t, "every 1h").Name
	say := func(user string, role ops.Role, words string) (string, error) {
		return w.book.Chat(t.Context(), "telegram:group:-1", session.Message{User: user, Role: role}, "default", words)
	}
	other := "otto (48)"
	for _, words := range []string{"run ", "pause ", "delete "} {
		if said, err := say(other, ops.RoleMember, words+mine); !ops.HasCode(err, ops.CodeNotFound) {
			t.Errorf("%s by another member: %q, %v", words, said, err)
		}
		if said, err := say("maria (4711)", ops.RoleMember, words+"conf"); !ops.HasCode(err, ops.CodeNotFound) {
			t.Errorf("%s of the config's by a member: %q, %v", words, said, err)
		}
	}
	if err := w.book.DeleteOwn(t.Context(), "telegram:dm:48", other, mine); !ops.HasCode(err, ops.CodeNotFound) {
		t.Errorf("a tool for another member: %v", err)
	}
	if own := w.book.Own("telegram:dm:48", other); len(own) != 0 {
		t.Errorf("another member has %+v", own)
	}
	if own := w.book.Own("telegram:group:-1", "4711"); len(own) != 1 {
		t.Errorf("in a group the member has %+v", own)
	}
	for _, tt := range []struct{ words, want string }{
		{"", mine + ": every 1h (UTC), waiting"},
		{"pause " + mine, "is paused"},
		{"", "paused."},
		{"resume " + mine, "runs at its times again"},
		{"add every 2h: look again", "is made"},
		{"add nonsense", "Write /jobs"},
		{"what", "Write /jobs"},
		{"run " + mine, "runs now"},
		{"show " + mine, "running"},
		{"delete " + mine, "is deleted"},
	} {
		if said, err := say("maria (4711)", ops.RoleMember, tt.words); err != nil || !strings.Contains(said, tt.want) {
			t.Errorf("/jobs %s: %q, %v", tt.words, said, err)
		}
	}
	if said, err := say("anna (1)", ops.RoleOwner, "list"); err != nil || !strings.Contains(said, "conf: ") {
		t.Errorf("an owner lists %q, %v", said, err)
	}
	if err := w.book.Delete(t.Context(), "conf", "uid 0"); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("the deletion of a job of the config: %v", err)
	}
}

func TestHR8_JobsOfTheCommandLineHaveOneOwner(t *testing.T) {
	w := newWorld()
	w.open(t)
	for _, caller := range []string{"uid 0, pid 17", "uid 0, pid 18"} {
		j := asked("every 1h")
		j.Session, j.Person = "cli:local", caller
		if _, err := w.book.Make(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	if own := w.book.Own("cli:other", "uid 0, pid 19"); len(own) != 2 || own[0].Origin != "cli:operator" || own[0].Deliver != "cli:local" {
		t.Errorf("another call finds %+v", own)
	}
}

func TestHR8_APausedJobMissesNothing(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("a", "0 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon)
	if err := w.book.Pause(t.Context(), "a", "uid 0"); err != nil {
		t.Fatal(err)
	}
	w.at(noon.Add(3 * time.Hour))
	w.life() // it stays paused
	w.book.Use([]Definition{define("a", "0 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon.Add(4*time.Hour + time.Minute))
	if row := w.row(t, "a"); row.State != ops.JobPaused || len(w.turns) != 0 {
		t.Errorf("the row is %+v, with %d turns", row, len(w.turns))
	}
	if err := w.book.Resume(t.Context(), "a", "uid 0"); err != nil {
		t.Fatal(err)
	}
	w.at(noon.Add(4*time.Hour + 2*time.Minute))
	w.at(noon.Add(5 * time.Hour))
	if _, times := w.counted("a"); times != 1 || len(w.turns) != 1 || len(w.sent) != 1 {
		t.Errorf("after it was resumed at 16:02 there are rows for %d times, %d turns", times, len(w.turns))
	}
}

func TestHR8_TheJobsOfAConfigComeAndGoWithIt(t *testing.T) {
	w := newWorld()
	w.open(t)
	own := asked("every 1h")
	own.Name = "a"
	if _, err := w.book.Make(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	w.book.Use([]Definition{define("a", "0 * * * *", "UTC", missedOnce), define("b", "every 90m", "UTC", missedOnce), define("past", "at 2020-01-01T00:00", "UTC", missedOnce)})
	w.at(noon)
	if row := w.row(t, "a-2"); row.Origin != "telegram:4711" {
		t.Errorf("the member's job is %+v", row)
	}
	if row := w.row(t, "past"); row.State != ops.JobEnded || row.LastError == "" {
		t.Errorf("a job whose time was over is %+v", row)
	}
	later := define("b", "every 90m", "UTC", missedOnce)
	later.Prompt = "other"
	w.book.Use([]Definition{later})
	w.at(noon.Add(80 * time.Minute))
	if row := w.row(t, "b"); !row.NextAt.Equal(noon.Add(90 * time.Minute)) {
		t.Errorf("another prompt changed the next time: %+v", row)
	}
	later.Schedule = "every 30m"
	w.book.Use([]Definition{later})
	w.at(noon.Add(85 * time.Minute))
	if row := w.row(t, "b"); !row.NextAt.Equal(noon.Add(115 * time.Minute)) {
		t.Errorf("another schedule counts from elsewhere: %+v", row)
	}
	if names := fmt.Sprint(w.book.names()); names != "[a-2 b]" {
		t.Errorf("the jobs are %s", names)
	}
	w.book.Use(nil)
	w.at(noon.Add(86 * time.Minute))
	if names := fmt.Sprint(w.book.names()); names != "[a-2]" {
		t.Errorf("without jobs in the config there are %s", names)
	}
}

func TestHR8_ADeletedJobEndsItsRunAndTakesItsNameAfterThat(t *testing.T) {
	w := newWorld()
	w.open(t)
	j := asked("every 1h")
	j.Name = "a"
	if _, err := w.book.Make(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if err := w.book.Run(t.Context(), "a", "uid 0"); err != nil {
		t.Fatal(err)
	}
	if err := w.book.Delete(t.Context(), "a", "uid 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.book.Make(t.Context(), j); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("a job of the same name during the run: %v", err)
	}
	w.settle()
	if len(w.jobs) != 0 || len(w.runs) != 0 {
		t.Errorf("left are %v and %v", w.jobs, w.runs)
	}
	if _, err := w.book.Make(t.Context(), j); err != nil {
		t.Errorf("a job of the same name after the run: %v", err)
	}
}

func TestHR8_TheJobsOfAPersonAreDeletedWithThePerson(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("conf", "0 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.make(t, "every 1h")
	other := asked("every 1h")
	other.Session, other.Person, other.Name = "telegram:dm:48", "otto (48)", "other"
	if _, err := w.book.Make(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if n, err := w.book.Forget(t.Context(), "telegram:4711", func(string) error { return errDisk }); n != 0 || err == nil {
		t.Errorf("%d jobs are deleted whose conversations are not", n)
	}
	n, err := w.book.Forget(t.Context(), "telegram:4711", func(string) error { return nil })
	if names := fmt.Sprint(w.book.names()); n != 1 || err != nil || names != "[conf other]" || len(w.jobs) != 2 {
		t.Errorf("%d are deleted (%v), left are %s", n, err, names)
	}
}
