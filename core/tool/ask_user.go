package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gatewaytui/core/model"
)

// Question is what a person is asked.
type Question struct {
	// Text is the question. Check says how long it may be.
	Text string
	// Options are the only answers; empty: any text is one.
	Options []string
}

// Asker asks the person whose message a turn works on. Servers and external agents ask through it as well. *approval.Book is one.
type Asker interface {
	// Ask waits for the answer, until ctx ends or approvals.expire is over. The turn holds no slot meanwhile. With options the answer is one of
	// them. The error is a *WithheldError where there is no answer; Declined says that a person chose to give none. An *OverError also ends
	// the turn.
	Ask(ctx context.Context, call Call, q Question) (answer string, err error)
}

// The bounds of a question, so that every chat shows it whole.
const (
	mostQuestion = 1500 // runes
	mostOptions  = 10
	mostOption   = 60 // runes
)

// Check is why a question cannot be asked.
func (q Question) Check() error {
	if strings.TrimSpace(q.Text) == "" {
		return required("question")
	}
	if n := utf8.RuneCountInString(q.Text); n > mostQuestion {
		return fmt.Errorf("the question has %d characters, at most %d are shown whole in a chat; ask shorter", n, mostQuestion)
	}
	if n := len(q.Options); n > mostOptions {
		return fmt.Errorf("%d options are too many; give at most %d, or none for a free answer", n, mostOptions)
	}
	for i, option := range q.Options {
		switch {
		case strings.TrimSpace(option) == "":
			return fmt.Errorf("option %d is empty", i+1)
		case utf8.RuneCountInString(option) > mostOption:
			return fmt.Errorf("option %d has more than %d characters", i+1, mostOption)
		case slices.Contains(q.Options[:i], option):
			return fmt.Errorf("option %d is there twice", i+1)
		}
	}
	return nil
}

// AskUser is the tool that asks the user a question.
type AskUser struct{ Asker Asker }

type askUserArguments struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

// Spec implements Tool.
func (AskUser) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "ask_user",
		Description: "Ask the user a question and wait for the answer. Use it where you cannot go on without a decision that only the user can " +
			"make. With options the answer is one of them. If no one answers, do what is possible without the answer.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["question"],"properties":{
			"question":{"type":"string","description":"the question, complete in itself"},
			"options":{"type":"array","maxItems":10,"items":{"type":"string"},"description":"the only answers to choose from; leave it out for a free answer"}}}`),
	}
}

// Run implements Tool. The result is the answer as JSON.
func (t AskUser) Run(ctx context.Context, call Call) (string, error) {
	var args askUserArguments
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	q := Question{Text: strings.TrimSpace(args.Question), Options: args.Options}
	if err := q.Check(); err != nil {
		return "", err
	}
	if t.Asker == nil {
		return "", errors.New("no person can be asked here")
	}
	answer, err := t.Asker.Ask(ctx, call, q)
	if err != nil {
		return "", err
	}
	return encode(struct {
		Answer string `json:"answer"`
	}{answer}), nil
}
