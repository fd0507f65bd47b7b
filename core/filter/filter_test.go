package filter

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gatewaytui/core/ops"
)

var maria = ops.Session{
	Key: "telegram:dm:4711", Platform: "telegram", State: ops.SessionWaitingApproval, User: "Maria Österreicher", Doing: "terminal: go test ./...",
}

func TestAFilterKeepsARowThatMatchesAllOfItsWords(t *testing.T) {
	for _, tc := range []struct {
		name, filter string
		want         bool
	}{
		{"the empty filter keeps everything", "  ", true},
		{"a word is looked for in every column", "pytest", false},
		{"upper and lower case are alike", "TELEGRAM maria", true},
		{"upper and lower case are alike beyond ASCII", "öSTER", true},
		{"all words must match", "telegram bob", false},
		{"a key looks at its column alone", "user:telegram", false},
		{"a key may be in capitals", "USER:maria", true},
		{"the wire's name of a column is a key as well", "key:4711 platform:tele", true},
		{"a state in the wire's word", "state:waiting_approval", true},
		{"an exclamation mark turns a word round", "!bob !state:idle", true},
		{"a tilde takes letters in their order", "~tgdm", true},
		{"a tilde after a key", "session:~tg47", true},
		{"a tilde turned round", "!~tgdm", false},
		{"a session's key is a word", "telegram:dm:4711", true},
		{"the end of a session's key is a word", "dm:4711", true},
		{"a session's key of a platform that is not known", "zulip:stream:4", false},
		{"a time is a word", "10:30", false},
		{"quotes hold spaces", `"go test"`, true},
		{"quotes hold spaces after a key", `doing:"go test"`, true},
		{"quoted marks are text", `"!bob"`, false},
		{"a quoted key is text", `"user:maria"`, false},
		{"a quote that is not closed goes to the end", `"go test`, true},
		{"a word that is not finished changes nothing", "! ~ state: !~ user:~", true},
		{"an exclamation mark before quotes turns them round", `!"go test"`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := Parse(tc.filter, Sessions)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Match(&maria); got != tc.want {
				t.Fatalf("%q keeps the row: %v, want %v", tc.filter, got, tc.want)
			}
		})
	}
}

func TestAnUnknownKeyIsAnErrorThatNamesTheNearest(t *testing.T) {
	for filter, nearest := range map[string]string{
		"stat:running": "state", "!sate:running": "state", "usr:~m": "user", "Sesion:x": "session", "telegram stat:": "state",
	} {
		_, err := Parse(filter, Sessions)
		if !ops.HasCode(err, ops.CodeInvalid) || !strings.Contains(err.Error(), "did you mean "+nearest+":?") {
			t.Errorf("%q: %v, want an error that names %s", filter, err, nearest)
		}
	}
	if _, err := Parse("pid:1", Sessions); err == nil {
		t.Error("pid was taken for a column of sessions")
	}
	if _, err := Parse("pid:1", Processes); err != nil {
		t.Errorf("pid of a process: %v", err)
	}
	if _, err := Parse(strings.Repeat("x", MaxLength+1), Sessions); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("a filter of %d bytes: %v", MaxLength+1, err)
	}
}

func TestAStateRulesOutWhatCannotMatch(t *testing.T) {
	for _, tc := range []struct {
		filter, state string
		want          bool
	}{
		{"state:running", "running", true},
		{"state:running", "idle", false},
		{"!state:idle", "idle", false},
		{"!state:idle", "running", true},
		{"user:x", "idle", true},
		{"running", "idle", true},
		{"state:i state:e", "idle", true},
		{"state:running state:idle", "idle", false},
	} {
		f, err := Parse(tc.filter, Sessions)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Could("state", tc.state); got != tc.want {
			t.Errorf("%q could match a row that is %s: %v, want %v", tc.filter, tc.state, got, tc.want)
		}
	}
}

// FuzzParse: any input is read or refused without a panic; what was quoted is found as it is; and turning a word
// round keeps exactly the other rows.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "state:stalled ~fuzzy !not", `user:"a b" "c:d`, `\ "\`, "telegram:dm:4711", "!~key:", "stat:x", "\xff:\xff", "ſ K İ"} {
		f.Add(seed, "telegram:dm:1")
	}
	f.Fuzz(func(t *testing.T, filter, key string) {
		row := ops.Session{Key: key, State: ops.SessionIdle}
		if got, err := Parse(filter, Sessions); err == nil {
			matched := got.Match(&row)
			if matched && !got.Could("state", "idle") {
				t.Fatalf("%q matches a row that it rules out", filter)
			}
		} else if !ops.HasCode(err, ops.CodeInvalid) {
			t.Fatalf("%q: %v has no code", filter, err)
		}
		if len(key) == 0 || len(Quote(key)) > MaxLength-4 || !utf8.ValidString(key) {
			return
		}
		is, err := Parse(Quote(key), Sessions)
		if err != nil || !is.Match(&row) {
			t.Fatalf("%q quoted as %s is not found in itself: %v", key, Quote(key), err)
		}
		not, err := Parse("!"+Quote(key), Sessions)
		if err != nil || not.Match(&row) {
			t.Fatalf("%q quoted and turned round is found in itself: %v", key, err)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, filter := range []string{"zebra", "state:running", "~tgx", "user:maria telegram"} {
		f, err := Parse(filter, Sessions)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.ReplaceAll(filter, " ", "+"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Match(&maria)
			}
		})
	}
}
