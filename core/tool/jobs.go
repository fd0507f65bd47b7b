package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/fence"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Jobs keeps jobs. *schedule.Book is one.
type Jobs interface {
	// Make makes a job. Its error is for the model.
	Make(ctx context.Context, j NewJob) (ops.Job, error)
	// Own are the jobs that a person made, who writes in the session of key.
	Own(key, person string) []ops.Job
	// DeleteOwn deletes one of them.
	DeleteOwn(ctx context.Context, key, person, name string) error
}

// NewJob is a job that a person asks for in a session, or an agent on behalf of that person.
type NewJob struct {
	// Session is the key of the session, whose chat gets the answers. Person wrote its message. Agent is the name of the agent that works.
	Session, Person, Agent string
	// Name may be empty. Zone and Missed may be empty, too: those of the gateway.
	Name, Schedule, Zone, Prompt, Missed string
	// Allow are the commands that it may run without a person.
	Allow []string
}

// NewJobs are the tools of the group jobs.
func NewJobs(o Options) []Tool {
	if o.Jobs == nil {
		return nil
	}
	return []Tool{jobCreate{o}, jobList{o.Jobs}, jobDelete{o.Jobs}}
}

type jobCreate struct{ Options }

type jobArguments struct {
	Name     string   `json:"name"`
	Schedule string   `json:"schedule"`
	Prompt   string   `json:"prompt"`
	Zone     string   `json:"zone"`
	Missed   string   `json:"missed"`
	Allow    []string `json:"allow"`
}

// jobRow is a job for the model (CONTRACT.md, 5).
type jobRow struct {
	Name       string `json:"name"`
	Schedule   string `json:"schedule"`
	Zone       string `json:"zone"`
	NextAt     string `json:"next_at"`
	LastAt     string `json:"last_at,omitempty"`
	LastResult string `json:"last_result,omitempty"`
	State      string `json:"state"`
	Deliver    string `json:"deliver"`
}

func rowOf(j ops.Job) jobRow {
	at := func(t ops.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Time.UTC().Format(time.RFC3339)
	}
	return jobRow{j.Name, j.Schedule, j.Zone, at(j.NextAt), at(j.LastAt), string(j.LastResult), string(j.State), j.Deliver}
}

// Spec implements Tool.
func (jobCreate) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "job_create",
		Description: "Make a job: at each time of a schedule a fresh conversation begins with the prompt, and its answer is sent to this chat. " +
			"The prompt must say all that the job needs, because the job does not see this conversation. No person can be asked during a run: " +
			"what needs an approval is refused unless allow has it.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["schedule","prompt"],"properties":{
			"schedule":{"type":"string","description":"five fields of cron such as \"0 8 * * mon-fri\", \"every 30m\", or once \"at 2026-12-01T08:00\" or \"in 20m\""},
			"prompt":{"type":"string","description":"what the agent is asked at each run"},
			"name":{"type":"string","description":"lower-case letters, digits, - and _"},
			"zone":{"type":"string","description":"the time zone of the schedule, such as Europe/Vienna"},
			"missed":{"type":"string","enum":["once","skip"],"description":"what becomes of runs whose time passed while the gateway was down: one run later (once, the default), or none"},
			"allow":{"type":"array","items":{"type":"string"},"description":"commands that the job may run without a person, such as \"go test\"; a person is asked for them now"}}}`),
	}
}

// Run implements Tool. The grants of a job need a person: they take the place of all questions during its runs.
func (t jobCreate) Run(ctx context.Context, call Call) (string, error) {
	var args jobArguments
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	switch {
	case strings.TrimSpace(args.Schedule) == "":
		return "", required("schedule")
	case strings.TrimSpace(args.Prompt) == "":
		return "", required("prompt")
	case !call.Role.AtLeast(ops.RoleMember):
		return "", &WithheldError{Text: "guests make no jobs"}
	}
	call.Progress("job_create: " + term.Clean(args.Schedule, goalWidth))
	if len(args.Allow) > 0 {
		step := Step{
			Kind: StepTool, Text: fmt.Sprintf("job_create %s (%s), which may run without a person: %s\n%s", args.Name, args.Schedule, strings.Join(args.Allow, ", "), args.Prompt),
			Judgement: fence.Judgement{Verdict: fence.Ask, Reasons: []string{"the job may then run these commands without a person, at each of its times"}},
		}
		if err := t.pass(ctx, call, step); err != nil {
			return "", err
		}
	}
	made, err := t.Jobs.Make(ctx, NewJob{
		Session: call.Session, Person: call.Person, Agent: call.Agent,
		Name: args.Name, Schedule: args.Schedule, Zone: args.Zone, Prompt: args.Prompt, Missed: args.Missed, Allow: args.Allow,
	})
	if err != nil {
		return "", err
	}
	return encode(rowOf(made)), nil
}

type jobList struct{ jobs Jobs }

// Spec implements Tool.
func (jobList) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "job_list", Description: "List the jobs of the person who writes to you, with their next time and the result of the last run.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{}}`),
	}
}

// Run implements Tool.
func (t jobList) Run(_ context.Context, call Call) (string, error) {
	var none struct{}
	if err := decode(call.Arguments, &none); err != nil {
		return "", err
	}
	rows := []jobRow{}
	for _, j := range t.jobs.Own(call.Session, call.Person) {
		rows = append(rows, rowOf(j))
	}
	return encode(struct {
		Jobs []jobRow `json:"jobs"`
	}{rows}), nil
}

type jobDelete struct{ jobs Jobs }

// Spec implements Tool.
func (jobDelete) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "job_delete", Description: "Delete a job of the person who writes to you.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string","description":"as job_list has it"}}}`),
	}
}

// Run implements Tool.
func (t jobDelete) Run(ctx context.Context, call Call) (string, error) {
	var args struct {
		Name string `json:"name"`
	}
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	if strings.TrimSpace(args.Name) == "" {
		return "", required("name")
	}
	call.Progress("job_delete: " + term.Clean(args.Name, goalWidth))
	if err := t.jobs.DeleteOwn(ctx, call.Session, call.Person, args.Name); err != nil {
		return "", err
	}
	return encode(struct {
		Deleted string `json:"deleted"`
	}{args.Name}), nil
}
