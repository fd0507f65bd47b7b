package tool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatewaytui/core/model"
)

type fake struct {
	name string
	run  func(context.Context, Call) (string, error)
}

func (f fake) Spec() model.ToolSpec { return model.ToolSpec{Name: f.name} }

func (f fake) Run(ctx context.Context, call Call) (string, error) { return f.run(ctx, call) }

func answers(name, text string) fake {
	return fake{name, func(context.Context, Call) (string, error) { return text, nil }}
}

func TestSet_EveryCallIsAnAnswerToTheModel(t *testing.T) {
	s := NewSet(4<<10,
		answers("ok", "fine"),
		fake{"fails", func(context.Context, Call) (string, error) { return "", errors.New(`no <such> "file"`) }},
		fake{"panics", func(context.Context, Call) (string, error) { panic("nil map") }},
		answers("garbage", "a\xff\xfe\x00b"),
		answers("long", strings.Repeat("é", 4<<10)),
		answers("ok", "the second of one name"),
	)
	for _, tt := range []struct{ name, tool, want string }{
		{"a result is returned as it is", "ok", "fine"},
		{"an error is returned", "fails", `{"error":"no <such> \"file\""}`},
		{"a panic is returned", "panics", `{"error":"the tool panics failed: panic: nil map"}`},
		{"an unknown tool is answered with the known ones", "rm", `{"error":"unknown tool \"rm\"; available: ok, fails, panics, garbage, long"}`},
		{"broken UTF-8 is fixed", "garbage", "a\uFFFD\x00b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.Run(t.Context(), tt.tool, Call{}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a long result is cut, and says so", func(t *testing.T) {
		got := s.Run(t.Context(), "long", Call{})
		if len(got) > 4<<10 || !strings.Contains(got, "the result had 8192 bytes") || !utf8.ValidString(got) {
			t.Errorf("%d bytes, valid %v, ends %q", len(got), utf8.ValidString(got), got[len(got)-40:])
		}
	})
	t.Run("an error after the turn's end is an unknown outcome", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := s.Run(ctx, "fails", Call{}); !strings.Contains(got, "may or may not have taken effect") {
			t.Errorf("got %q", got)
		}
	})
}

func TestSet_Subset(t *testing.T) {
	s := NewSet(0, answers("a", ""), answers("b", ""), answers("c", ""))
	sub, err := s.Subset([]string{"c", "a", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c", "a"}, sub.Names()); diff != "" {
		t.Errorf("subset (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "c"}, s.Without("b").Names()); diff != "" {
		t.Errorf("without b (-want +got):\n%s", diff)
	}
	if _, err := s.Subset([]string{"x"}); err == nil || !strings.Contains(err.Error(), "available: a, b, c") {
		t.Errorf("an unknown name: %v", err)
	}
	if got := len(s.Specs()); got != 3 {
		t.Errorf("the set itself has %d tools now", got)
	}
}

func TestBounded_AlwaysFitsAndIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 3*minLimit).Draw(t, "text"))
		limit := rapid.IntRange(minLimit, 2*minLimit).Draw(t, "limit")
		if got := truncate(text, limit); len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%d bytes of at most %d, valid %v", len(got), limit, utf8.ValidString(got))
		}
	})
}
