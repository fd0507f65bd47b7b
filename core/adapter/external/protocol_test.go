package external

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
)

// transcript are the lines of the page, with > before what the gateway writes and < before what the program writes.
func transcript(t *testing.T) (lines []string) {
	t.Helper()
	page, err := os.ReadFile("PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "> {") || strings.HasPrefix(line, "< {") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestPL4_ThePageShowsLinesAsTheGatewayReadsAndWritesThem(t *testing.T) {
	types := map[string]bool{}
	for _, line := range transcript(t) {
		side, text, _ := strings.Cut(line, " ")
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(text), &head); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		types[head.Type] = true
		var into any = &command{}
		if side == "<" {
			read, err := decode([]byte(text))
			if err != nil || read == nil {
				t.Fatalf("%s is read as %v: %v", line, read, err)
			}
			into = empty(head.Type)
		}
		strict := json.NewDecoder(strings.NewReader(text))
		strict.DisallowUnknownFields()
		if err := strict.Decode(into); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var back bytes.Buffer
		e := json.NewEncoder(&back)
		e.SetEscapeHTML(false)
		if err := e.Encode(into); err != nil || strings.TrimSpace(back.String()) != text {
			t.Errorf("%s is written as %s: %v", line, &back, err)
		}
	}
	if len(types) < 12 {
		t.Errorf("the transcript has the types %v", types)
	}
}

// The tables of the page name each field and each type that the gateway knows, so that an author needs no other page.
func TestPL4_ThePageNamesEveryFieldAndType(t *testing.T) {
	page, err := os.ReadFile("PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	whole := []any{
		command{
			Version: 1, Adapter: "a", Settings: map[string]any{"url": 1}, Groups: []string{"g"}, Seq: 1, ID: 1, Chat: "c", Message: "m", Text: "t", Markdown: true, Reply: "r", Key: "k",
			Buttons: [][]button{{{}}}, Passing: true, Emoji: "e", Name: "n", MediaType: "m", Content: []byte("c"), Caption: "c", Ref: "r", Most: 1, Commands: []menuCommand{{}},
		},
		ready{Abilities: []string{"a"}, Bounds: bounds{1, 1, 1, 1, 1}},
		failed{Code: "c", Text: "t", Variable: "v", RetryMS: 1},
		message{Group: "g", User: user{Name: "n"}, Text: "t", Mentioned: true, Quoted: "q", Edited: true, Forwarded: true, Files: []file{{"r", "n", "m", 1, true}}},
		result{Messages: []string{"m"}, Content: []byte("c"), QuietMS: 1, Error: &failure{"c", "t", 1}},
	}
	for _, line := range whole {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		for name, value := range fields {
			if name != "type" && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("the page does not name the field %s", name)
			}
			if inner, is := value.(map[string]any); is && name != "settings" {
				for name := range inner {
					if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), `"`+name+`"`) {
						t.Errorf("the page does not name the field %s", name)
					}
				}
			}
		}
	}
	for _, typ := range []string{
		typeHello, typeSend, typeEdit, typeDelete, typeTyping, typeReact, typeFile, typeFetch, typeMenu, typePing, typeTook, typeRefused, typeLater, typeStop,
		typeReady, typeFailed, typeMessage, typeResult,
	} {
		if !strings.Contains(string(page), "`"+typ+"`") {
			t.Errorf("the page does not name the type %s", typ)
		}
	}
	for _, a := range known {
		if !strings.Contains(string(page), "`"+string(a)+"`") {
			t.Errorf("the page does not name the ability %s", a)
		}
	}
}

func TestPL4_ALineThatIsNotOfTheProtocolIsIgnoredOrAFault(t *testing.T) {
	message := func(change string) string {
		return `{"type":"message","seq":1,"id":"m","chat":"c","kind":"dm","user":{"id":"u"}` + change + "}"
	}
	long := strings.Repeat("x", maxID+1)
	for name, tc := range map[string]struct {
		line    string
		read    bool
		problem string // of the error; empty: there is none
	}{
		"a message":                         {message(""), true, ""},
		"a field that is not known":         {message(`,"colour":"red"`), true, ""},
		"a type that is not known":          {`{"type":"weather","seq":1}`, false, ""},
		"an object without a type":          {`{}`, false, ""},
		"a type that is not text":           {`{"type":7}`, false, ""},
		"text":                              {"hello", false, errNoObject.Error()},
		"an empty line":                     {"", false, errNoObject.Error()},
		"a list":                            {`["type"]`, false, errNoObject.Error()},
		"null":                              {"null", false, errNoObject.Error()},
		"an object that is cut":             {`{"type":"ready"`, false, errNoObject.Error()},
		"a field of another kind":           {message(`,"text":7`), false, "type message"},
		"a message without seq":             {`{"type":"message","id":"m","chat":"c","kind":"dm","user":{"id":"u"}}`, false, "seq"},
		"a message without a user":          {`{"type":"message","seq":1,"id":"m","chat":"c","kind":"dm"}`, false, "user.id"},
		"a message of no kind":              {`{"type":"message","seq":1,"id":"m","chat":"c","kind":"x","user":{"id":"u"}}`, false, "kind"},
		"a message of a group without one":  {`{"type":"message","seq":1,"id":"m","chat":"c","kind":"group","user":{"id":"u"}}`, false, "group is empty"},
		"a list that is an object":          {message(`,"files":{}`), false, "a list was expected"},
		"a list that is null":               {message(`,"files":null`), true, ""},
		"a message with a long text":        {message(`,"text":"` + strings.Repeat("x", maxText+1) + `"`), false, "text is longer"},
		"a message with a long name":        {message(`,"group":"` + long + `"`), false, "name is longer"},
		"a message with many files":         {message(`,"files":[` + strings.Repeat(`{"ref":"f"},`, maxList) + `{"ref":"f"}]`), false, "more than 100 elements"},
		"a file without a ref":              {message(`,"files":[{}]`), false, "ref"},
		"a ready of another version":        {`{"type":"ready","version":2}`, false, "version"},
		"a bound below 0":                   {`{"type":"ready","version":1,"bounds":{"file":-1}}`, false, "below 0"},
		"a bound that no text fits":         {`{"type":"ready","version":1,"bounds":{"message":1}}`, false, "message"},
		"a result with a long id":           {`{"type":"result","id":1,"messages":["` + long + `"]}`, false, "longer"},
		"a content that is not base64":      {`{"type":"result","id":1,"content":"?"}`, false, "type result"},
		"a failure with a code that is new": {`{"type":"failed","code":"x"}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := decode([]byte(tc.line))
			switch {
			case (read != nil) != tc.read:
				t.Errorf("it is read as %+v", read)
			case (err != nil) != (tc.problem != ""), err != nil && !strings.Contains(err.Error(), tc.problem):
				t.Errorf("the error is %v, want one about %q", err, tc.problem)
			}
		})
	}
}

// A line may have millions of elements: the gateway makes none that it does not take.
func TestPL4_ALongListOfAProgramCostsLittleMoreThanItsLine(t *testing.T) {
	const elements = 1 << 18
	for name, line := range map[string]string{
		"files":     `{"type":"message","seq":1,"id":"m","chat":"c","kind":"dm","user":{"id":"u"},"files":[` + strings.Repeat("{},", elements) + "{}]}",
		"abilities": `{"type":"ready","version":1,"abilities":[` + strings.Repeat(`"",`, elements) + `""]}`,
		"messages":  `{"type":"result","id":1,"messages":[` + strings.Repeat(`"",`, elements) + `""]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := decode([]byte(line))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "more than 100 elements") {
				t.Errorf("the error is %v", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 4*uint64(len(line)) {
				t.Errorf("a line of %d bytes took %d bytes", len(line), took)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message","seq":1,"id":"m","chat":"c","kind":"dm","user":{"id":"u"},"files":[{"ref":"f"}]}`,
		`{"type":"ready","version":1,"abilities":["edit"],"bounds":{"message":100,"typing_ms":1}}`,
		`{"type":"result","id":1,"content":"Y29udGVudA==","error":{"code":"x"}}`, `{"type":"failed"}`, "[]", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		read, err := decode(line)
		switch read := read.(type) {
		case nil:
		case *message:
			if err != nil || read.Seq < 1 || read.ID == "" || read.Chat == "" || read.User.ID == "" || len(read.Text) > maxText {
				t.Errorf("%+v, %v", read, err)
			}
		case *ready:
			if p := read.profile(); err != nil || p.bounds.Message != 0 && p.bounds.Message < minMessage || p.bounds.File < 1 || p.bounds.File > maxFile || p.bounds.Typing < 0 {
				t.Errorf("%+v, %v", p, err)
			}
		default:
			if err != nil {
				t.Errorf("%+v and %v", read, err)
			}
		}
	})
}
