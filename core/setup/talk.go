package setup

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// Talk is the way to the person.
type Talk interface {
	// Say prints a line.
	Say(line string)
	// Ask prints a prompt and reads a line, without its end. It returns when ctx ends, with ctx's error, and with io.EOF where the
	// input has ended.
	Ask(ctx context.Context, prompt string) (string, error)
	// AskSecret is Ask for a line that is not shown.
	AskSecret(ctx context.Context, prompt string) (string, error)
	// Prompt prints a prompt again, under a line that was printed during Ask.
	Prompt(prompt string)
}

// ErrDeclined is the end of a setup whose last question was answered with no.
var ErrDeclined = errors.New("not confirmed: nothing was written")

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 4 << 10

// ask reads an answer. Enter is the standard.
func (s *setup) ask(ctx context.Context, what, standard string) (string, error) {
	prompt := "  " + what
	if standard != "" {
		prompt += " [" + shown(standard) + "]"
	}
	line, err := s.Talk.Ask(ctx, prompt+": ")
	if line = strings.TrimSpace(line); line == "" || err != nil {
		return standard, err
	}
	if len(line) > maxAnswer {
		s.say("  That is too long.")
		return s.ask(ctx, what, standard)
	}
	return line, nil
}

// choose offers numbered choices and returns the index of the chosen one. Enter is the standard.
func (s *setup) choose(ctx context.Context, choices []string, standard int) (int, error) {
	for i, c := range choices {
		s.say("  %d  %s", i+1, c)
	}
	for {
		line, err := s.ask(ctx, "your choice", strconv.Itoa(standard+1))
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(choices) {
			return n - 1, nil
		}
		s.say("  Type a number from 1 to %d.", len(choices))
	}
}

// confirm asks a question that enter answers with yes.
func (s *setup) confirm(ctx context.Context, what string) (bool, error) {
	for {
		line, err := s.Talk.Ask(ctx, "  "+what+" [Y/n]: ")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "", "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		s.say("  Type y or n.")
	}
}

// again asks what to do after a check failed: true is to answer again.
func (s *setup) again(ctx context.Context) (bool, error) {
	n, err := s.choose(ctx, []string{"answer again", "keep the answers, and go on without a test"}, 0)
	return n == 0, err
}
