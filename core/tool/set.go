package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
)

// minLimit is the smallest limit of a result, in bytes: the frame of a terminal's answer and a few lines of output.
const minLimit = 1 << 10

// Set is the tools that one agent may call. It never changes and may be used by many goroutines.
type Set struct {
	tools []Tool
	specs []model.ToolSpec // of tools: every model call of every agent needs them
	limit int
	mask  func(string) string       // nil: nothing is masked
	count func(name, result string) // nil: no call is counted
}

// NewSet returns a set of tools whose results are at most limit bytes each (at least minLimit). If two tools have the
// same name, the first one counts.
func NewSet(limit int, tools ...Tool) *Set {
	s := &Set{limit: max(limit, minLimit)}
	for _, t := range tools {
		s.add(t)
	}
	return s
}

// Enabled returns the set of the tools with these names, in the order of CONTRACT.md, 5. A name may be that of a group. One of no
// tool is ignored.
func Enabled(processes *process.Registry, opts Options, names []string) *Set {
	var all []Tool
	for _, t := range []struct {
		name  string
		tools []Tool
	}{
		{"terminal", []Tool{NewTerminal(processes, opts)}},
		{"process", []Tool{NewProcess(processes, opts)}},
		{"delegate", []Tool{Delegate{opts.OutputLimit}}},
		{"files", NewFiles(opts)},
		{"send_file", []Tool{SendFile{opts.Files}}},
		{"web", NewWeb(opts)},
		{"memory", NewMemory(opts.Notes, opts.OutputLimit)},
		{"ask_user", []Tool{AskUser{opts.Asker}}},
		{"jobs", NewJobs(opts)},
	} {
		if slices.Contains(names, t.name) {
			all = append(all, t.tools...)
		}
	}
	return NewSet(opts.OutputLimit, all...)
}

// Masking returns the set with results masked by mask, which replaces secrets. mask may be called from any goroutine.
func (s *Set) Masking(mask func(string) string) *Set {
	masking := *s
	masking.mask = mask
	return &masking
}

// Counting returns the set with each call counted: the name of the tool, and what became of it as the timeline says, empty if the call was
// done. count may be called from any goroutine, and must not wait.
func (s *Set) Counting(count func(name, result string)) *Set {
	counting := *s
	counting.count = count
	return &counting
}

// add adds a tool unless the name exists.
func (s *Set) add(t Tool) {
	if spec := t.Spec(); s.find(spec.Name) == nil {
		s.tools, s.specs = append(s.tools, t), append(s.specs, spec)
	}
}

// Specs describes the tools to a model, in the order of NewSet. All callers share the slice: do not change it.
func (s *Set) Specs() []model.ToolSpec { return s.specs[:len(s.specs):len(s.specs)] }

// Names is the names of the tools, in the order in which they were given.
func (s *Set) Names() []string {
	names := make([]string, len(s.tools))
	for i := range s.specs {
		names[i] = s.specs[i].Name
	}
	return names
}

// Subset returns the set of the named tools. A name that is not in s is an error that lists the ones that are.
func (s *Set) Subset(names []string) (*Set, error) {
	sub := &Set{limit: s.limit, mask: s.mask, count: s.count}
	for _, name := range names {
		t := s.find(name)
		if t == nil {
			return nil, s.unknown(name)
		}
		sub.add(t)
	}
	return sub, nil
}

// With returns the set with further tools. A tool whose name exists is left out.
func (s *Set) With(more ...Tool) *Set {
	if len(more) == 0 {
		return s
	}
	all := &Set{tools: slices.Clone(s.tools), specs: slices.Clone(s.specs), limit: s.limit, mask: s.mask, count: s.count}
	for _, t := range more {
		all.add(t)
	}
	return all
}

// Without returns the set of all tools but the named one.
func (s *Set) Without(name string) *Set {
	rest, _ := s.Subset(slices.DeleteFunc(s.Names(), func(own string) bool { return own == name }))
	return rest
}

// Run calls the named tool and returns the model's result in every case. An unknown tool, an error and a panic become
// {"error": …}. An error after ctx's end becomes an unknown outcome. The text is valid UTF-8 and at most as long as the
// set allows.
func (s *Set) Run(ctx context.Context, name string, call Call) string {
	text, err := s.run(ctx, name, call)
	if over, is := errors.AsType[*OverError](err); is && call.Over != nil {
		call.Over(over.Text)
	}
	if _, withheld := errors.AsType[*WithheldError](err); err != nil && ctx.Err() != nil && !withheld {
		err = errors.New("interrupted before it was done; it may or may not have taken effect")
	}
	became := result(ctx, err)
	call.Span.End(became)
	if s.count != nil {
		s.count(name, became)
	}
	if err != nil {
		text = errorText(err)
	}
	if s.mask != nil { // before anything is cut
		text = s.mask(text)
	}
	return truncate(text, s.limit)
}

// result is what became of a call, for the timeline.
func result(ctx context.Context, err error) string {
	_, withheld := errors.AsType[*WithheldError](err)
	_, over := errors.AsType[*OverError](err)
	switch {
	case withheld || over:
		return ops.TimelineNotRun
	case ctx.Err() != nil:
		return ops.TimelineInterrupted
	case err != nil:
		return ops.TimelineFailed
	}
	return ""
}

func (s *Set) run(ctx context.Context, name string, call Call) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "tool panicked", "tool", name, "session", call.Session, "turn", call.Turn,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("the tool %s failed: panic: %v", name, p)
		}
	}()
	t := s.find(name)
	if t == nil {
		return "", s.unknown(name)
	}
	return t.Run(ctx, call)
}

func (s *Set) find(name string) Tool {
	for i := range s.specs {
		if s.specs[i].Name == name {
			return s.tools[i]
		}
	}
	return nil
}

func (s *Set) unknown(name string) error {
	if len(s.tools) == 0 {
		return fmt.Errorf("unknown tool %q; no tools are available", name)
	}
	return fmt.Errorf("unknown tool %q; available: %s", name, strings.Join(s.Names(), ", "))
}

// errorText is an error in the form for a model.
func errorText(err error) string {
	return encode(struct {
		Error string `json:"error"`
	}{strings.ToValidUTF8(err.Error(), "\uFFFD")})
}

// encode is JSON without the escapes that only browsers need: a model reads < better than \u003c, and pays less. It adds
// escapes that JSON leaves out, so that no output acts on a terminal that shows it raw (I4).
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only a value without a JSON form gets here, and the tools encode structs of plain fields.
		panic(errors.Join(errors.New("encode a tool's result"), err))
	}
	return escapeC1(strings.TrimSuffix(b.String(), "\n"))
}

// escapeC1 escapes DEL and the controls U+0080 to U+009F, which occur only in the strings of a JSON text.
func escapeC1(text string) string {
	acts := func(r rune) bool { return r >= 0x7f && r <= 0x9f }
	if !strings.ContainsFunc(text, acts) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if acts(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// truncate returns text as valid UTF-8 in at most limit bytes, with a note about what was cut.
func truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	note := fmt.Sprintf("\n[cut: the result had %d bytes]", len(text))
	return head(text, limit-len(note)) + note
}

// head is the longest prefix of text that has at most n bytes and ends with a whole character.
func head(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(n, 0)]
}

// truncateMiddle returns text in about n bytes: its beginning and its end, with a line between them about the missing
// bytes.
func truncateMiddle(text string, n int) string {
	if len(text) <= n {
		return text
	}
	from := len(text) - n/2
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	begin := head(text, n-n/2)
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", begin, from-len(begin), text[from:])
}

// fitLimit is the JSON of a result within limit bytes. JSON may need six bytes for one of the output, so an output that
// is too long as JSON is cut once more, in its middle.
func fitLimit(limit int, output *string, truncated *bool, json func() string) string {
	limit = max(limit, minLimit)
	text := json()
	whole := *output
	for keep := len(whole); len(text) > limit && keep > 0; {
		// The factor reduces it to what fits; the eighth makes sure that the loop ends.
		keep = keep * limit / (len(text) + limit/8)
		*output, *truncated = truncateMiddle(whole, keep), true
		text = json()
	}
	return text
}

// fitMost is the JSON of the most of n parts that fit within limit bytes.
func fitMost(limit, n int, json func(n int) string) string {
	limit = max(limit, minLimit)
	if text := json(n); len(text) <= limit {
		return text
	}
	return json(max(sort.Search(n, func(n int) bool { return len(json(n)) > limit })-1, 0))
}
