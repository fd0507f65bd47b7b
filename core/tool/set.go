package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"gatewaytui/core/model"
	"gatewaytui/core/process"
)

// minLimit is the least room a result gets, in bytes: the frame of a terminal's answer and a few lines of output.
const minLimit = 1 << 10

// Set is the tools that one agent may call. It never changes and may be used by many goroutines.
type Set struct {
	tools []Tool
	specs []model.ToolSpec // of tools: every model call of every agent needs them
	limit int
	mask  func(string) string // nil: nothing is masked
}

// NewSet returns a set of tools whose results are at most limit bytes each (at least minLimit). Of two tools with one
// name the first one counts.
func NewSet(limit int, tools ...Tool) *Set {
	s := &Set{limit: max(limit, minLimit)}
	for _, t := range tools {
		s.add(t)
	}
	return s
}

// Enabled returns the set of the tools with these names, in the order of CONTRACT.md, 5. A name of no tool is ignored.
func Enabled(processes *process.Registry, opts Options, names []string) *Set {
	s := NewSet(opts.OutputLimit)
	for _, t := range []Tool{NewTerminal(processes, opts), NewProcess(processes, opts), Delegate{}} {
		if slices.Contains(names, t.Spec().Name) {
			s.add(t)
		}
	}
	return s
}

// Masking returns the set with results that went through mask, which replaces secrets. mask may be called from any goroutine.
func (s *Set) Masking(mask func(string) string) *Set {
	masking := *s
	masking.mask = mask
	return &masking
}

// add adds a tool unless there is one of its name.
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
	sub := &Set{limit: s.limit, mask: s.mask}
	for _, name := range names {
		t := s.find(name)
		if t == nil {
			return nil, s.unknown(name)
		}
		sub.add(t)
	}
	return sub, nil
}

// Without returns the set of all tools but the named one.
func (s *Set) Without(name string) *Set {
	rest := &Set{limit: s.limit, mask: s.mask}
	for i, t := range s.tools {
		if s.specs[i].Name != name {
			rest.add(t)
		}
	}
	return rest
}

// Run calls the named tool and returns what the model is told, whatever happens: an unknown tool, an error and a panic
// are told as {"error": …}, and an error after ctx's end as an outcome that nobody knows. The text is valid UTF-8 and at
// most as long as the set allows.
func (s *Set) Run(ctx context.Context, name string, call Call) string {
	text, err := s.run(ctx, name, call)
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted before it was done; it may or may not have had its effect")
	}
	if err != nil {
		text = errorText(err)
	}
	if s.mask != nil { // before anything is cut
		text = s.mask(text)
	}
	return bounded(text, s.limit)
}

func (s *Set) run(ctx context.Context, name string, call Call) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "tool panicked", "tool", name, "session", call.Session, "turn", call.Turn,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("the tool %s broke: %v", name, p)
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
		return fmt.Errorf("unknown tool %q; there are none", name)
	}
	return fmt.Errorf("unknown tool %q; there are %s", name, strings.Join(s.Names(), ", "))
}

// errorText is an error as a model is told of it.
func errorText(err error) string {
	return encode(struct {
		Error string `json:"error"`
	}{strings.ToValidUTF8(err.Error(), "\uFFFD")})
}

// encode is JSON without the escapes that are only for browsers: a model reads < better than \u003c, and pays less. It
// has the escapes that JSON leaves out: nothing in it acts on a terminal, wherever it is shown raw (I4).
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only a value that has no JSON form gets here, and the tools encode structs of plain fields.
		panic(errors.Join(errors.New("encode a tool's result"), err))
	}
	return escapeC1(strings.TrimSuffix(b.String(), "\n"))
}

// escapeC1 escapes DEL and the controls U+0080 to U+009F, which stand in the strings of a JSON text alone.
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

// bounded is text as valid UTF-8 in at most limit bytes; what was cut off is said.
func bounded(text string, limit int) string {
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

// middleOut is text in about n bytes: its beginning and its end, with a line between them that says what is missing.
func middleOut(text string, n int) string {
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

// fitted is the JSON of a result within limit bytes. JSON may need six bytes for one of the output, so an output that is
// too long as JSON is cut once more, in its middle.
func fitted(limit int, output *string, truncated *bool, json func() string) string {
	limit = max(limit, minLimit)
	text := json()
	whole := *output
	for keep := len(whole); len(text) > limit && keep > 0; {
		// The factor brings it down to what fits; the eighth makes sure that it ends.
		keep = keep * limit / (len(text) + limit/8)
		*output, *truncated = middleOut(whole, keep), true
		text = json()
	}
	return text
}
