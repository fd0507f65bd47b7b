package tool

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// sample has an argument of every kind that the tools take.
type sample struct {
	Text   string   `json:"text"`
	Flag   bool     `json:"flag"`
	Number float64  `json:"number"`
	Whole  int      `json:"whole"`
	List   []string `json:"list"`
}

func TestDecode_NamesWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     string // in the error; empty for none
	}{
		{"an empty text has no arguments", ``, ``},
		{"null has no arguments", ` null `, ``},
		{"an empty object has no arguments", `{}`, ``},
		{"every kind is read", `{"text":"a","flag":true,"number":1.5,"whole":3,"list":["x"]}`, ``},
		{"an unknown argument is named with those there are", `{"texd":"a"}`, `unknown argument "texd"; this tool takes text, flag, number, whole, list`},
		{"another case is another name", `{"TEXT":"a"}`, `unknown argument "TEXT"`},
		{"a string for a number is named", `{"number":"3"}`, `argument "number" must be a number, not a string`},
		{"a fraction for a whole number is named", `{"whole":1.5}`, `argument "whole" must be a whole number`},
		{"a number for a bool is named", `{"flag":1}`, `argument "flag" must be true or false, not a number`},
		{"a string for a list is named", `{"list":"x"}`, `argument "list" must be a list, not a string`},
		{"a list instead of an object is said", `[1]`, `one JSON object`},
		{"half an object is said", `{"text":`, `not valid JSON`},
		{"two objects are said", `{}{}`, `not valid JSON`},
		{"prose is said", `run ls`, `not valid JSON`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got sample
			err := decode(json.RawMessage(tt.in), &got)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		``, ` `, `{}`, `null`, `{"text":"\ud800"}`, `{"text":null,"list":[null]}`, `{"whole":1e400}`, `{"whole":9223372036854775808}`,
		`{"text":"a","text":1}`, "{\"te\xffxt\":1}", `[[[[`, `{"list":[["x"]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var got sample
		err := decode(in, &got)
		if in := bytes.TrimSpace(in); err == nil && len(in) > 0 && !json.Valid(in) { // blanks have no arguments
			t.Errorf("took %q, which is not JSON", in)
		}
		if err != nil {
			if text := errorText(err); !json.Valid([]byte(text)) || !utf8.ValidString(text) {
				t.Errorf("the model would get %q", text)
			}
		}
	})
}
