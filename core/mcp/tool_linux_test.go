package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/fence"
	"gatewaytui/core/model"
	"gatewaytui/core/tool"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/mcptest"
)

// gate notes the steps that it is asked about, and refuses those whose text has no "please".
type gate struct{ steps []tool.Step }

func (g *gate) Pass(_ context.Context, _ tool.Call, step tool.Step) error {
	g.steps = append(g.steps, step)
	if !strings.Contains(step.Text, "please") {
		return &tool.WithheldError{Text: "refused"}
	}
	return nil
}

func TestHR1_TrustIsWhatTheConfigSays(t *testing.T) {
	d := playing("files")
	d.Trusted = []string{"echo", "w*"}
	s := newStage(t, nil, d)
	g := &gate{}
	by := map[string]tool.Tool{}
	for _, one := range s.set.View([]string{"files"}, g).Tools(t.Context(), "a") {
		by[one.Spec().Name] = one
	}
	for _, tc := range []struct {
		tool, text  string
		asked, runs bool
	}{
		{"files__echo", "now", false, true},
		{"files__where", "now", false, true},
		{"files__nothing", "now", true, false},
		{"files__nothing", "please", true, true},
	} {
		g.steps = nil
		_, err := s.run(t.Context(), by[tc.tool], "a", `{"text":"`+tc.text+`"}`)
		if asked := len(g.steps) == 1; asked != tc.asked || (err == nil) != tc.runs {
			t.Errorf("%s %s: asked %v, %v", tc.tool, tc.text, g.steps, err)
		}
		if tc.asked && (g.steps[0].Kind != tool.StepTool || g.steps[0].Text != tc.tool+` {"text":"`+tc.text+`"}` || "files__"+strings.TrimPrefix(g.steps[0].Tool, "files ") != tc.tool || g.steps[0].Judgement.Verdict != fence.Ask) {
			t.Errorf("the step is %+v", g.steps[0])
		}
	}
}

func TestHR1_ThePatternsOfTheConfigSayWhichToolsAreOffered(t *testing.T) {
	d := playing("files")
	d.Tools = []string{"e*", "fail"}
	s := newStage(t, nil, d)
	var names []string
	for name := range s.tools("files", "a") {
		names = append(names, name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"echo", "fail"}) {
		t.Errorf("it offers %q", names)
	}
}

func TestHR1_ResultsAreTextAndFilesOfTheSession(t *testing.T) {
	s := newStage(t, nil, playing("files"))
	for _, tc := range []struct{ tool, arguments, want, fails string }{
		{"echo", `{"text":"a\u0007b\u202ec\nd"}`, "abc\nd", ""},
		{"fail", `{"text":"no \u001b[2Jsuch file"}`, "", "it failed: no [2Jsuch file"},
		{"structured", `{}`, `{"sum":3}`, ""},
		{"nothing", ``, "(the tool returned nothing)", ""},
		{"image", `{}`, "[image saved as received/a/files-image.png, image/png, 70 bytes]\na picture", ""},
		{"resource", `{}`, "[resource saved as received/a/files-report.pdf, application/pdf, 4 bytes]\n[resource test://notes]\nthe notes\n[resource \"x\": https://example.com/x]", ""},
		{"echo", `[]`, "", "one JSON object"},
		{"echo", `{"text":`, "", "one JSON object"},
	} {
		got, err := s.call("files", "a", tc.tool, tc.arguments)
		if got != tc.want || (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
			t.Errorf("%s %s: %q, %v", tc.tool, tc.arguments, got, err)
		}
	}
	if got := s.files.kept["received/a/files-image.png"]; base64.StdEncoding.EncodeToString([]byte(got)) != mcptest.Picture {
		t.Errorf("the picture is %q", got)
	}
	big := s.must("files", "a", "giant", `{"bytes":3000000}`)
	if len(big) != maxText {
		t.Errorf("a text of 3000000 bytes has %d", len(big))
	}
}

func TestHR1_NamesAreThoseThatModelsAccept(t *testing.T) {
	s := newStage(t, nil, playing("my files", mcptest.Colliding, mcptest.Controls))
	for _, one := range s.set.View([]string{"my files"}, nil).Tools(t.Context(), "a") {
		spec := one.Spec()
		if len(spec.Name) > maxName || strings.Trim(spec.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("the name %q", spec.Name)
		}
		if strings.ContainsAny(spec.Description, "\x1b\x07\u202e") || !json.Valid(spec.Schema) {
			t.Errorf("%s: %q %s", spec.Name, spec.Description, spec.Schema)
		}
	}
	row := s.row("my files")
	if !strings.Contains(row.LastError, "would both be my_files__a_b") || strings.Contains(row.LastError, "\x1b") {
		t.Errorf("its row says %q", row.LastError)
	}
	two := newServer(s.set, Definition{Name: "a__b", Tools: []string{"*"}})
	other := newServer(s.set, Definition{Name: "a", Tools: []string{"*"}})
	two.setTools([]listed{{Name: "c", Spec: specOf("a__b", "c")}}, nil)
	other.setTools([]listed{{Name: "b__c", Spec: specOf("a", "b__c")}}, nil)
	close(two.prepared)
	close(other.prepared)
	s.set.mu.Lock()
	s.set.servers["a__b"], s.set.servers["a"] = two, other
	s.set.mu.Unlock()
	two.begin.Do(func() {})
	other.begin.Do(func() {})
	if all := s.set.View([]string{"a__b", "a"}, nil).Tools(t.Context(), "a"); len(all) != 1 {
		t.Errorf("two servers with tools of one name offer %d", len(all))
	}
	if !strings.Contains(s.log.String(), "tools of two servers have the same name") {
		t.Errorf("the log has %s", s.log.String())
	}
}

func TestHR1_ManyToolsAreOfferedBySearch(t *testing.T) {
	s := newStage(t, nil, playing("files", mcptest.Many+"=1000"))
	all := s.tools("files", "a")
	if len(all) != 2 || all[searchName] == nil || all[callName] == nil {
		t.Fatalf("it offers %v", all)
	}
	got, err := s.run(t.Context(), all[searchName], "a", `{"query":"sheep of meadow 977"}`)
	if first, _, _ := strings.Cut(got, "\n"); err != nil || !strings.Contains(first, `"files__tool977"`) || !strings.Contains(first, `"properties"`) {
		t.Errorf("the search: %.200q, %v", got, err)
	}
	if len(got) > foundBytes+maxSchema {
		t.Errorf("its answer has %d bytes", len(got))
	}
	if got, err := s.run(t.Context(), all[callName], "a", `{"name":"files__echo","arguments":{"text":"found"}}`); err != nil || got != "found" {
		t.Errorf("the call: %q, %v", got, err)
	}
	if _, err := s.run(t.Context(), all[callName], "a", `{"name":"files__eco"}`); err == nil || !strings.Contains(err.Error(), "did you mean files__echo") {
		t.Errorf("a name that is not there: %v", err)
	}
	if _, err := s.run(t.Context(), all[searchName], "a", `{}`); err == nil {
		t.Error("a search without words is one")
	}
}

// asker answers each question.
type asker struct {
	answer string
	err    error
	asked  chan tool.Question
}

func (a *asker) Ask(_ context.Context, _ tool.Call, q tool.Question) (string, error) {
	a.asked <- q
	return a.answer, a.err
}

func TestCV9_APictureOfAServerIsShownToAModelThatSees(t *testing.T) {
	for name, tc := range map[string]struct {
		show  error
		wrong error // of the picture itself
		want  string
		shown int
	}{
		"it is shown":                        {nil, nil, "; you see it with this result, and not later]", 1},
		"it says why the model sees none":    {errors.New("there are too many"), nil, "; you do not see it: there are too many]", 1},
		"what is not a picture is not tried": {nil, errors.New("it is too large"), "; you do not see it: it is too large]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, playing("files"))
			s.files.wrong = tc.wrong
			var shown []model.Image
			got, err := s.tools("files", "a")["image"].Run(t.Context(), tool.Call{Session: "a", Turn: "turn", Progress: func(string) {}, Show: func(picture model.Image) error {
				shown = append(shown, picture)
				return tc.show
			}})
			if err != nil || !strings.HasPrefix(got, "[image saved as received/a/files-image.png, image/png, 70 bytes"+tc.want) || len(shown) != tc.shown {
				t.Errorf("%q, %v with %d shown", got, err, len(shown))
			}
			if tc.shown == 1 && shown[0].URL != "data:image/png;base64,"+mcptest.Picture {
				t.Errorf("it shows %q", shown[0].URL)
			}
		})
	}
}

func TestHR1_AServerAsksAPersonDuringACall(t *testing.T) {
	for name, tc := range map[string]struct {
		asker *asker
		want  string
	}{
		"the answer reaches the server":        {&asker{answer: "maria"}, `{"action":"accept","content":{"name":"maria"}}`},
		"a refusal reaches the server":         {&asker{err: &tool.WithheldError{Declined: true}}, `{"action":"decline"}`},
		"without an answer it is cancelled":    {&asker{err: errors.New("expired")}, `{"action":"cancel"}`},
		"without a person it is not an answer": {nil, ``},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(o *Options) {
				if tc.asker != nil {
					tc.asker.asked = make(chan tool.Question, 1)
					o.Asker = tc.asker
				}
			}, playing("files"))
			if got := s.must("files", "a", "ask", `{"text":"your \u001bname?"}`); got != tc.want && tc.want != "" || strings.Contains(got, "accept") && tc.want == "" {
				t.Errorf("the server has %q, want %q", got, tc.want)
			}
			if tc.asker == nil {
				return
			}
			if q := <-tc.asker.asked; q.Text != "The server files asks: your name?\nname" || len(q.Options) != 0 {
				t.Errorf("the question was %+v", q)
			}
		})
	}
}

func TestHR1_AnAnswerHasTheFieldsThatTheServerAsksFor(t *testing.T) {
	var schema any
	text := `{"type":"object","properties":{"age":{"type":"integer","title":"Your age"},"sure":{"type":"boolean"},"size":{"type":"string","enum":["s","l"],"description":"the size\u0007"},
		"tall":{"type":"number","default":1.75},"titled":{"type":"string","default":"Dr\u0007"},"to":{"type":"string","enum":["me","us"],"default":"us"},"used":{"type":"boolean","default":false}}}`
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatal(err)
	}
	all, err := fieldsOf(schema)
	if err != nil || len(all) != 7 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []struct {
		label, answer string
		options       []string
		value         any
	}{
		{"age: Your age", "41", nil, int64(41)},
		{"size: the size", "l", []string{"s", "l"}, "l"},
		{"sure", "yes", []string{"yes", "no"}, true},
		{`tall (default: 1.75; answer "default" to take it)`, " Default", nil, 1.75},
		{`titled (default: Dr; answer "default" to take it)`, "default", nil, "Dr\a"},
		{"to (default: us)", "us", []string{"us", "me"}, "us"},
		{"used (default: no)", "no", []string{"no", "yes"}, false},
	} {
		f := all[i]
		if got, err := f.value(want.answer); f.label != want.label || !slices.Equal(f.options, want.options) || got != want.value || err != nil {
			t.Errorf("%+v: %v, %v; want %+v", f, got, err, want)
		}
	}
	for _, f := range []field{all[0], all[3]} {
		if _, err := f.value("many"); err == nil {
			t.Errorf("a word is a number for %s", f.name)
		}
	}
}

func TestHR1_APresetMakesTheLaunchAndItsFolderGoesWithTheServer(t *testing.T) {
	gone := make(chan string, 10)
	d := playing("browser")
	command := d.Command
	d.Command, d.Preset = nil, "test"
	s := newStage(t, func(o *Options) {
		o.Presets = map[string]Preset{"test": func(_ context.Context, use Use) (Launch, error) {
			return Launch{
				Command: command, Env: []string{"MCP_TEST_PROFILE=" + use.Session + use.ID}, Owner: "browser", Kind: "browser",
				Close: func(context.Context) error { gone <- use.ID; return nil },
			}, nil
		}}
	}, d)
	s.tools("browser", "a")
	<-gone // the start for the list
	if got := s.must("browser", "a", "variable", `{"text":"MCP_TEST_PROFILE"}`); got != "true a2" {
		t.Errorf("its variable: %q", got)
	}
	if rows := s.set.Holder().Rows(); len(rows) != 1 || rows[0].Kind != "browser" || rows[0].Owner != "browser" || s.procs.Rows()[0].Owner != "browser" {
		t.Errorf("its rows are %+v", rows)
	}
	if err := s.set.CloseSession(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	eventually.True(t, "its folder is gone", func() bool { return len(gone) == 1 })
}
