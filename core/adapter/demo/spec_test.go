package demo

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []Spec
	}{
		{"one platform", "a=good", []Spec{{"a", "good", ""}}},
		{"several, in their order", "z=deaf,a=good", []Spec{{"z", "deaf", ""}, {"a", "good", ""}}},
		{"blanks do not matter", " a = good , b = flaky ", []Spec{{"a", "good", ""}, {"b", "flaky", ""}}},
		{"with what people say", "a=hang-send:sh: sleep 60", []Spec{{"a", "hang-send", "sh: sleep 60"}}},
		{"an empty text is ignored", "a=good: ", []Spec{{"a", "good", ""}}},
		{"names have digits and dashes", "b2-x=black-hole", []Spec{{"b2-x", "black-hole", ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Parse(tt.in); err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestParseRefusesWithOneSentence(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a wrong behaviour names the nearest", "a=hang-sned", `demo platform a cannot be "hang-sned"; did you mean hang-send?`},
		{"in any case", "a=BLACKHOLE", "did you mean black-hole?"},
		{"and all that there are", "a=godo", "There are good, hang-connect"},
		{"an empty behaviour", "a=", `cannot be ""`},
		{"a name alone", "west", `demo platform "west" has no behaviour; write west=good`},
		{"a behaviour alone", "deaf", "write demo=deaf"},
		{"nothing", "", "is missing"},
		{"no name", "=good", "has no name"},
		{"the same name twice", "a=good,b=deaf,a=deaf", "two demo platforms are named a"},
		{"a comma too many", "a=good,", "between two commas"},
		{"a name of the gateway's own", "api=good", "api is the gateway's own platform"},
		{"a name that would break a session key", "a:b=good", "a-z, 0-9 and -"},
		{"a name that begins with a digit", "2=good", "begins with a letter"},
		{"a hostile name is quoted", "a\x1b[2J=good", `"a\x1b[2J"`},
		{"a long name", strings.Repeat("a", 33) + "=good", "longer than 32 bytes"},
		{"too many", strings.Repeat("a=good,", 256) + "a=good", "257 demo platforms are too many"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %+v, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a=good", "a=hang-send:sh: sleep 60", "a=godo", "=", ",", "a=good,a=good", "\x1b=\xff", "a:b=c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		specs, err := Parse(s)
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Fatalf("the error %q would reach a terminal raw", err)
			}
			return
		}
		if len(specs) == 0 {
			t.Fatal("no platforms and no error")
		}
		seen := map[string]bool{}
		for _, spec := range specs {
			if seen[spec.Name] || checkName(spec.Name) != nil {
				t.Fatalf("the name %q was let through", spec.Name)
			}
			seen[spec.Name] = true
			New(spec, Options{}) // panics on what it does not know
		}
	})
}
