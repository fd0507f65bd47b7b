package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"strings"
	"testing"
	"testing/slogtest"
	"time"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/term"
)

// known is a secret that looks like nothing.
const known = "correct horse\nbattery"

type lazy struct{ v slog.Value }

func (l lazy) LogValue() slog.Value { return l.v }

type panicking struct{}

func (panicking) Error() string { panic("boom") }

// logOn logs one line in every form and returns what was written.
func logOn(t *testing.T, line func(*slog.Logger)) map[string]string {
	t.Helper()
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	written := map[string]string{}
	for name, o := range map[string]Options{"json": {}, "text": {Format: "text"}, "colour": {StderrIsTerminal: true}} {
		p := &page{}
		o.Stderr, o.Redactor = p, term.NewRedactor(known)
		l := open(t, o)
		line(l.Logger())
		closeLog(t, l)
		written[name] = p.String()
	}
	return written
}

func TestI1_NoSecretIsWritten(t *testing.T) {
	cause := &url.Error{Op: "Post", URL: "https://api.telegram.org/bot1234567:AAabcdefghijklmnopqrstuvwxyz012345/getMe", Err: errors.New("refused")}
	for _, c := range []struct {
		name   string
		line   func(*slog.Logger)
		secret []string
	}{
		{"in a message", func(l *slog.Logger) { l.Info("sent " + known) }, []string{"correct", "battery"}},
		{"in an attribute", func(l *slog.Logger) { l.Info("m", "text", "x"+known+"y") }, []string{"correct", "battery"}},
		{"in an error within an error", func(l *slog.Logger) { l.Error("m", "error", fmt.Errorf("poll: %w", cause)) }, []string{"AAabcdef"}},
		{"in a nested group", func(l *slog.Logger) {
			l.Info("m", slog.Group("a", slog.Group("b", slog.Any("error", errors.New(known)))))
		}, []string{"correct", "battery"}},
		{"in what With added", func(l *slog.Logger) { l.With("text", known).WithGroup("g").Info("m") }, []string{"correct", "battery"}},
		{"under a name that says so", func(l *slog.Logger) { l.Info("m", "api_key", "pippin", "token", 314159) }, []string{"pippin", "314159"}},
		{"under a group's name that says so", func(l *slog.Logger) { l.Info("m", slog.Group("password", "is", "pippin")) }, []string{"pippin"}},
		{"in an object", func(l *slog.Logger) { l.Info("m", "config", map[string]any{"api_key": "pippin"}) }, []string{"pippin"}},
		{"in bytes", func(l *slog.Logger) { l.Info("m", "body", []byte(known)) }, []string{"correct", "battery"}},
		{"in a value that is made late", func(l *slog.Logger) {
			l.Info("m", "v", lazy{slog.GroupValue(slog.String("text", known), slog.String("secret", "pippin"))})
		}, []string{"correct", "battery", "pippin"}},
		{"with something invisible in it", func(l *slog.Logger) { l.Info("m", "text", "ghp_0123456789\u200babcdefghij0123456789") }, []string{"0123456789"}},
		{"where a long text is cut", func(l *slog.Logger) {
			l.Info("m", "text", strings.Repeat("x", maxText-len("correct ")-1)+" "+known)
		}, []string{"correct"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for form, got := range logOn(t, c.line) {
				for _, s := range c.secret {
					if strings.Contains(got, s) {
						t.Errorf("%s has %q: %.300q", form, s, got)
					}
				}
				if !strings.Contains(got, "[redacted]") && !strings.Contains(got, "…") {
					t.Errorf("%s does not say that something was left out: %.300q", form, got)
				}
			}
		})
	}
}

func TestI4_HostileTextIsNeverWrittenRaw(t *testing.T) {
	const evil = "a\x1b]52;c;eA==\x07b\nc\r\u202ed\u2066e\x00f\u009bg\u2028h\xffi\U000e0041"
	for _, c := range []struct {
		name string
		line func(*slog.Logger)
	}{
		{"a message", func(l *slog.Logger) { l.Info(evil) }},
		{"a message that looks like a line of the log", func(l *slog.Logger) { l.Info("x\n{\"msg\":\"stopped\"}") }},
		{"a value", func(l *slog.Logger) { l.Info("m", "k", evil) }},
		{"a key", func(l *slog.Logger) { l.Info("m", evil, "v") }},
		{"an error", func(l *slog.Logger) { l.Info("m", "k", errors.New(evil)) }},
		{"a group's key", func(l *slog.Logger) { l.Info("m", slog.Group(evil, slog.Group(evil, "k", evil))) }},
		{"a group's key that With has", func(l *slog.Logger) { l.With(slog.Group(evil, "k", evil)).Info("m") }},
		{"a group's name", func(l *slog.Logger) { l.WithGroup(evil).Info("m", "k", evil) }},
		{"a group that is made late", func(l *slog.Logger) { l.Info("m", evil, lazy{slog.GroupValue(slog.String(evil, evil))}) }},
		{"an object", func(l *slog.Logger) { l.Info("m", "k", map[string]string{evil: evil}) }},
		{"a panic", func(l *slog.Logger) { l.Info("m", "k", panicking{}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for form, got := range logOn(t, c.line) {
				if strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") {
					t.Errorf("%s is not one line: %q", form, got)
				}
				checkInert(t, form, strings.TrimSuffix(got, "\n"))
				if form == "json" {
					parse(t, got)
				}
			}
		})
	}
}

// checkInert reports what would act on a terminal in a line; our own colours may.
func checkInert(t *testing.T, form, line string) {
	t.Helper()
	if form == "colour" {
		line = term.StripSGR(line)
	}
	if !utf8.ValidString(line) {
		t.Errorf("%s is not UTF-8: %q", form, line)
	}
	for _, r := range line {
		if !unicode.IsPrint(r) {
			t.Errorf("%s has %U raw: %q", form, r, line)
			return
		}
	}
}

type named string

func TestValuesAreWrittenForPeopleAndScripts(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.FixedZone("", 3600))
	for _, c := range []struct {
		name       string
		value      any
		json, text string
	}{
		{"a text", "v", `"v"`, "v"},
		{"a text with spaces", "a b", `"a b"`, `"a b"`},
		{"broken UTF-8 hides nothing that follows", "a\xffb", `"a` + "\ufffd" + `b"`, "a?b"},
		{"a number", 7, "7", "7"},
		{"a number without a sign", uint64(math.MaxUint64), "18446744073709551615", "18446744073709551615"},
		{"a share", 0.5, "0.5", "0.5"},
		{"a truth", true, "true", "true"},
		{"a duration", 1500 * time.Millisecond, `"1.5s"`, "1.5s"},
		{"a time", at, `"2026-01-02T02:04:05.678Z"`, "2026-01-02T02:04:05.678Z"},
		{"nothing", nil, `"<nil>"`, "<nil>"},
		{"an error", errors.New("refused"), `"refused"`, "refused"},
		{"an error that panics", panicking{}, `"!PANIC: boom"`, `"!PANIC: boom"`},
		{"an error that is nil", (*url.Error)(nil), `"!PANIC: runtime error: invalid memory address or nil pointer dereference"`, `"!PANIC: runtime error: invalid memory address or nil pointer dereference"`},
		{"a list", []string{"a", "b\x1b"}, `["a","b␛"]`, `"a, b␛"`},
		{"a list of named texts", []named{"a", "b"}, `["a","b"]`, `"a, b"`},
		{"a named text", named("a b"), `"a b"`, `"a b"`},
		{"what JSON cannot say", struct{ C chan int }{}, `"{C:<nil>}"`, "{C:<nil>}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := logOn(t, func(l *slog.Logger) { l.Info("m", "k", c.value) })
			if !strings.HasSuffix(got["json"], `"msg":"m","k":`+c.json+"}\n") {
				t.Errorf("JSON is %s, want %s", got["json"], c.json)
			}
			if !strings.HasSuffix(got["text"], " INF m k="+c.text+"\n") {
				t.Errorf("text is %s, want %s", got["text"], c.text)
			}
		})
	}
}

func TestALongTextIsCut(t *testing.T) {
	for form, got := range logOn(t, func(l *slog.Logger) { l.Info("m", "k", strings.Repeat("é", 2*maxText)) }) {
		if n := strings.Count(got, "é"); n != maxText-1 || !strings.Contains(got, "…") {
			t.Errorf("%s has %d of it", form, n)
		}
	}
}

func TestTheHandlerIsOneOfSlogs(t *testing.T) {
	var p *page
	var l *Log
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		p = &page{}
		l = onPage(t, p)
		return l.Logger().Handler()
	}, func(t *testing.T) map[string]any {
		closeLog(t, l)
		line := p.lines(t)[0]
		if strings.HasSuffix(t.Name(), "/zero-time") {
			delete(line, "time") // here each line has the time at which it was written
		}
		return line
	})
}

func FuzzLine(f *testing.F) {
	f.Add("m", "k", "v")
	f.Add("\x1b[2J\n", "\u202e", "\xff\ufffd")
	f.Add("token: 123456", "api_key", known)
	f.Fuzz(func(t *testing.T, msg, k, v string) {
		for name, o := range map[string]Options{"json": {}, "text": {Format: "text"}} {
			p := &page{}
			o.Stderr = p
			l := open(t, o)
			l.Logger().WithGroup(k).Info(msg, k, v, slog.Group(v, k, msg))
			closeLog(t, l)
			got := p.String()
			if strings.Count(got, "\n") != 1 {
				t.Fatalf("%s is not one line: %q", name, got)
			}
			checkInert(t, name, strings.TrimSuffix(got, "\n"))
			if name == "json" && !json.Valid([]byte(got)) {
				t.Fatalf("%q is not JSON", got)
			}
		}
	})
}
