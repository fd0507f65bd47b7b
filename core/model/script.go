package model

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Bounds on a script.
const (
	maxScript = 1 << 20 // bytes
	// maxWedge bounds how long a step may ignore its own cancellation.
	maxWedge = 10 * time.Minute
	// maxDelay bounds what a template may make of a duration.
	maxDelay = 24 * time.Hour
)

// Script is what a scripted model plays: an ordered list of rules, of which the first that matches the last user
// message is played.
//
//	[[rule]]
//	match = '(?i)^sh:\s*(.+)'          # regexp, RE2; a rule without one matches everything and must be the last
//	call  = [{ tool = "terminal", arguments = { command = "$1" } }]
//	then  = [{ reply = "It says:\n{{result}}" }]
//
// A rule is a step, played first, and then the list of the steps that follow, one after each round of tool calls; where
// then runs out, the reply is the last tool result. The keys of a step, played in this order:
//
//	wedge   duration during which even cancellation is ignored, at most 10m
//	delay   duration before the answer; ends with the call
//	hang    true: no answer, until the call is ended
//	error   {status, message, times}: the call fails as if an endpoint had answered so; with times only the first that
//	        many times in each session
//	reply   the answer's text
//	chunk   runes of text in each piece that is streamed; 0 is all in one
//	pace    duration between the pieces
//	call    tool calls: {tool, arguments}; arguments is a table, or a string that is sent as it stands
//
// Texts, durations and arguments are templates: $1 or ${name} is what a group of match captured, $$ a dollar sign,
// {{input}} the user's message, {{session}} its key, {{model}} the model's name. {{round}} is how many rounds of tool calls
// there were since, {{result}} the last tool result for people and {{result.NAME}} one member of it. {{number $1}}, alone
// in an argument, is a number. A reply that asks for a member which the result does not have is the result itself.
type Script struct {
	rules []rule
}

type rule struct {
	Match *pattern `toml:"match"`
	step
	Then []step `toml:"then"`
}

// step is one answer of the model.
type step struct {
	Wedge duration  `toml:"wedge"`
	Delay duration  `toml:"delay"`
	Hang  bool      `toml:"hang"`
	Error *failure  `toml:"error"`
	Reply *template `toml:"reply"`
	Chunk int       `toml:"chunk"`
	Pace  duration  `toml:"pace"`
	Call  []call    `toml:"call"`
}

type failure struct {
	Status  int      `toml:"status"`
	Message template `toml:"message"`
	Times   int      `toml:"times"`
}

type call struct {
	Tool      string `toml:"tool"`
	Arguments any    `toml:"arguments"`
}

// pattern is a regexp that the decoder compiles, so that an error has a line.
type pattern struct{ *regexp.Regexp }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *pattern) UnmarshalText(text []byte) (err error) {
	p.Regexp, err = regexp.Compile(string(text))
	return err
}

// duration is a template that gives a Go duration; the empty one gives 0.
type duration struct{ template }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	err := d.template.UnmarshalText(text)
	if err == nil && !hole.Match(text) {
		_, err = parseDuration(string(text))
	}
	return err
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxDelay {
		return 0, fmt.Errorf("%.40q is not a duration from 0s to %s", text, maxDelay)
	}
	return d, nil
}

// ParseScript reads a script. The error names the line where it can.
func ParseScript(text []byte) (*Script, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("script is longer than %d MiB", maxScript>>20)
	}
	var file struct {
		Rule []rule `toml:"rule"`
	}
	decoder := toml.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, describeTOML(err)
	}
	if len(file.Rule) == 0 {
		return nil, errors.New("script has no [[rule]]")
	}
	lines := ruleLines(text)
	for i := range file.Rule {
		if err := file.Rule[i].check(i == len(file.Rule)-1); err != nil {
			where := fmt.Sprintf("rule %d", i+1)
			if i < len(lines) {
				where = fmt.Sprintf("line %d: %s", lines[i], where)
			}
			return nil, fmt.Errorf("%s: %w", where, err)
		}
	}
	return &Script{rules: file.Rule}, nil
}

// describeTOML says in one line what the decoder found, and where.
func describeTOML(err error) error {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(missing.Errors) > 0 {
		first := missing.Errors[0]
		row, column := first.Position()
		return fmt.Errorf("line %d, column %d: unknown key %q", row, column, strings.Join(first.Key(), "."))
	}
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := decode.Position()
		return fmt.Errorf("line %d, column %d: %s", row, column, strings.TrimPrefix(decode.Error(), "toml: "))
	}
	return err
}

// ruleLines is the line of each [[rule]] header. A text of several lines that holds one puts it off, which costs no more
// than a wrong number in an error that names the rule as well.
func ruleLines(text []byte) []int {
	var lines []int
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if header, _, _ := bytes.Cut(line, []byte("#")); string(bytes.TrimSpace(header)) == "[[rule]]" {
			lines = append(lines, n)
		}
	}
	return lines
}

func (r *rule) check(last bool) error {
	if r.Match == nil && !last {
		return errors.New("it has no match, so that no rule after it is ever played; only the last may have none")
	}
	groups := map[string]string{}
	if r.Match != nil {
		groups = r.Match.groups(make([]string, r.Match.NumSubexp()+1))
	}
	if err := r.step.check(groups); err != nil {
		return err
	}
	for i := range r.Then {
		if i == 0 && len(r.Call) == 0 || i > 0 && len(r.Then[i-1].Call) == 0 {
			return fmt.Errorf("step %d of then is never played: the one before it calls no tool", i+1)
		}
		if err := r.Then[i].check(groups); err != nil {
			return fmt.Errorf("step %d of then: %w", i+1, err)
		}
	}
	return nil
}

// groups is found, which is a match of p, by the numbers and names of its groups.
func (p *pattern) groups(found []string) map[string]string {
	groups := map[string]string{}
	for i, name := range p.SubexpNames() {
		groups[strconv.Itoa(i)] = found[i]
		if name != "" {
			groups[name] = found[i]
		}
	}
	return groups
}

// check checks a step of a rule whose match has these groups.
func (s *step) check(groups map[string]string) error {
	if s.Reply == nil && len(s.Call) == 0 && s.Error == nil && !s.Hang {
		return errors.New("it has none of reply, call, error and hang")
	}
	if s.Chunk < 0 {
		return fmt.Errorf("chunk is %d, want 0 or more", s.Chunk)
	}
	if d, err := time.ParseDuration(s.Wedge.text); err == nil && d > maxWedge {
		return fmt.Errorf("wedge is %s, want at most %s", d, maxWedge)
	}
	if err := s.checkError(); err != nil {
		return err
	}
	for i, c := range s.Call {
		if c.Tool == "" {
			return fmt.Errorf("call %d names no tool", i+1)
		}
		if _, err := mapTexts(c.Arguments, func(t template) (any, error) { return nil, t.check(groups) }); err != nil {
			return fmt.Errorf("arguments of %s: %w", c.Tool, err)
		}
	}
	texts := []template{s.Wedge.template, s.Delay.template, s.Pace.template}
	if s.Reply != nil {
		texts = append(texts, *s.Reply)
	}
	if s.Error != nil {
		texts = append(texts, s.Error.Message)
	}
	for _, t := range texts {
		if err := t.check(groups); err != nil {
			return err
		}
	}
	return nil
}

// checkError checks the error that the step plays, if it has one.
func (s *step) checkError() error {
	e := s.Error
	switch {
	case e == nil:
	case e.Status < 400 || e.Status > 599:
		return fmt.Errorf("error.status is %d, want 400 to 599", e.Status)
	case e.Times < 0:
		return fmt.Errorf("error.times is %d, want 0 (always) or more", e.Times)
	case e.Times > 0 && s.Reply == nil && len(s.Call) == 0 && !s.Hang:
		return errors.New("error.times is set, and nothing says what comes after: add reply or call")
	}
	return nil
}
