package search

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/core/search/words"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/fixtures/eventually"
)

// lab is an index over a store.
type lab struct {
	t     *testing.T
	st    *store.Store
	x     *Index
	path  string
	turns int

	mu     sync.Mutex
	warned []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir := t.TempDir()
	l := &lab{t: t, path: filepath.Join(dir, "search.db")}
	var err error
	l.st, err = store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "gateway.db"), Log: slog.New(slog.DiscardHandler), OnTransaction: func(time.Duration) {
		if l.x != nil {
			l.x.Wake()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.st.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// open starts the index, which ends with the test.
func (l *lab) open() {
	l.t.Helper()
	l.x = New(Options{Path: l.path, Log: slog.New(slog.DiscardHandler), Warn: func(code, text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.warned = append(l.warned, code+": "+text)
	}})
	ready := make(chan struct{})
	close(ready)
	l.x.Start(l.st, ready)
	l.t.Cleanup(l.close)
}

func (l *lab) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := l.x.Close(ctx); err != nil {
		l.t.Error(err)
	}
}

func (l *lab) warnings() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.warned, "\n")
}

// say writes a turn.
func (l *lab) say(key, user, text, answer string) {
	l.t.Helper()
	l.turns++
	now := time.Now()
	platform, _, _ := strings.Cut(key, ":")
	v := store.Session{Key: key, ID: "id of " + key, Platform: platform, User: user, State: "idle", CreatedAt: now, LastActivityAt: now, Title: "title of " + key}
	turn := store.Turn{ID: fmt.Sprintf("turn %d", l.turns), SessionID: v.ID, Life: "l", StartedAt: now, State: store.TurnRunning}
	if err := l.st.BeginTurn(l.t.Context(), v, turn, store.Message{Role: "user", Who: user, Content: text, At: now}); err != nil {
		l.t.Fatal(err)
	}
	turn.State = store.TurnDone
	if err := l.st.EndTurn(l.t.Context(), v, turn, []store.Message{{Role: "tool", Content: "a result"}, {Role: "assistant", Content: answer, At: now}}); err != nil {
		l.t.Fatal(err)
	}
}

// find waits until a search finds as many messages, and returns their snippets.
func (l *lab) find(q Query, want int) []string {
	l.t.Helper()
	var got []string
	eventually.True(l.t, fmt.Sprintf("%+v finds %d messages", q, want), func() bool {
		found, err := l.x.Find(l.t.Context(), q)
		got = nil
		for _, h := range found.Items {
			got = append(got, h.Snippet)
		}
		return err == nil && len(got) == want
	})
	return got
}

// CV13: what was said is found newest first, within a scope or everywhere, page by page; tools' results are not.
func TestCV13_WhatWasSaidIsFoundNewestFirst(t *testing.T) {
	l := newLab(t)
	l.say("chat:dm:1", "maria", "the first weather", "sunny")
	l.open()
	l.say("chat:dm:1", "maria", "the second Weather, Grüße", "rainy")
	l.say("chat:group:7", "maria", "weather in the group", "snow")
	l.say("chat:group:7", "paul", "more weather", "ice")
	l.say("other:dm:1", "maria", "weather elsewhere", "fog")
	l.say("api:request:01JABCDEFGHJKMNPQRSTVWXYZ0", "maria", "weather of a request", "wind")
	for name, tc := range map[string]struct {
		q    Query
		want []string
	}{
		"everywhere":             {Query{Text: "WEATHER"}, []string{"weather elsewhere", "more weather", "weather in the group", "the second Weather, Grüße", "the first weather"}},
		"all words":              {Query{Text: "weather the"}, []string{"weather in the group", "the second Weather, Grüße", "the first weather"}},
		"words in a row":         {Query{Text: `"the first"`}, []string{"the first weather"}},
		"begins of words":        {Query{Text: "elsew*"}, []string{"weather elsewhere"}},
		"without accents":        {Query{Text: "gruße"}, []string{"the second Weather, Grüße"}},
		"an agent's":             {Query{Text: "sunny"}, []string{"sunny"}},
		"a session":              {Query{Text: "weather", Session: "chat:group:7"}, []string{"more weather", "weather in the group"}},
		"a person":               {Query{Text: "weather", Platform: "chat", User: "maria"}, []string{"weather in the group", "the second Weather, Grüße", "the first weather"}},
		"an answer to a person":  {Query{Text: "snow", Platform: "chat", User: "maria"}, []string{"snow"}},
		"an answer to another":   {Query{Text: "ice", Platform: "chat", User: "maria"}, nil},
		"results of tools":       {Query{Text: "result"}, nil},
		"words of SQLite's":      {Query{Text: `weather NOT the`}, nil},
		"a column's":             {Query{Text: `scope:weather`}, nil},
		"signs":                  {Query{Text: `weather -- ) " OR`}, nil},
		"of a person of no name": {Query{Text: "weather", Platform: "chat", User: "nothing"}, nil},
		"of an unknown session":  {Query{Text: "weather", Session: "chat:dm:2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := l.find(tc.q, len(tc.want)); strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
	var pages []string
	q := Query{Text: "weather", Limit: 2}
	for {
		var found ops.Found
		eventually.True(t, "everything is indexed", func() (all bool) {
			var err error
			if found, err = l.x.Find(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			return found.Unindexed == 0
		})
		for _, h := range found.Items {
			pages = append(pages, h.Snippet)
			if h.Title != "title of "+h.Session || h.Conversation != "id of "+h.Session || h.Turn == "" || h.At.IsZero() {
				t.Errorf("a row is %+v", h)
			}
		}
		if q.Before = found.Next; q.Before == "" {
			break
		}
	}
	if len(pages) != 5 {
		t.Errorf("the pages have %q", pages)
	}
	for _, text := range []string{"", " ", "!? ..", strings.Repeat("x", maxQuery+1), strings.Repeat("x ", maxTerms+1), "els*"} {
		if _, err := l.x.Find(t.Context(), Query{Text: text}); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// CV13: a person who changes their name still finds their messages, and one who takes a name that is free does not find another's.
func TestCV13_APersonIsTheirIDNotTheirName(t *testing.T) {
	l := newLab(t)
	l.open()
	l.say("chat:dm:4711", "maria (4711)", "a plan", "good")
	l.say("chat:dm:4711", "4711", "another plan", "good")
	l.say("chat:dm:12", "maria (12)", "the plan of another maria", "good")
	l.say("chat:dm:13", "maria", "the plan of a third", "good")
	for user, want := range map[string]int{"anna (4711)": 2, "4711": 2, "maria (12)": 1, "maria": 1, "maria ()": 0, "(4711": 0} {
		l.find(Query{Text: "plan"}, 4)
		if got := l.find(Query{Text: "plan", Platform: "chat", User: user}, want); len(got) != want {
			t.Errorf("%s finds %q", user, got)
		}
	}
}

// CV13: while older messages are missing in the index there is a row that says so, and the newest ones are found already.
func TestCV13_TheIndexIsBuiltFromTheNewestMessage(t *testing.T) {
	l := newLab(t)
	for i := range 200 {
		l.say("chat:dm:1", "maria", fmt.Sprintf("message n%d", i), "answer")
	}
	l.x = New(Options{Path: l.path})
	f, err := open(t.Context(), l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	l.x.file, l.x.store = f, l.st
	fill := &filler{store: l.st, file: f}
	for range 2 { // where to begin, and the first messages
		if did, err := fill.step(t.Context()); err != nil || did != older {
			t.Fatalf("a step did %v, %v", did, err)
		}
		l.x.note(fill, time.Now())
	}
	rows := l.x.Rows(time.Now().Add(time.Second))
	if len(rows) != 1 || rows[0].Name != "build search index" || !strings.Contains(rows[0].Progress, "88 older messages are left") || rows[0].Percent != 85 || rows[0].AgeMS < 1000 {
		t.Errorf("the rows are %+v", rows)
	}
	for text, want := range map[string]int{"n199": 1, "n0": 0} {
		if found, err := l.x.Find(t.Context(), Query{Text: text}); err != nil || len(found.Items) != want || found.Unindexed != 88 {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
	settle(t, fill)
	l.x.note(fill, time.Now())
	if rows := l.x.Rows(time.Now()); len(rows) != 0 {
		t.Errorf("a whole index has the rows %+v", rows)
	}
	l.find(Query{Text: "n0"}, 1)
}

// CV13: an index without work holds no descriptor and no memory, and goes on where it was.
func TestCV13_AnIndexWithoutWorkGivesUpItsConnections(t *testing.T) {
	l := newLab(t)
	l.say("chat:dm:1", "maria", "before the rest", "answer")
	l.open()
	l.find(Query{Text: "before"}, 1)
	l.x.mu.Lock()
	f := l.x.file
	l.x.mu.Unlock()
	f.rest()
	l.st.Shrink(t.Context())
	if n := f.read.Stats().OpenConnections + f.write.Stats().OpenConnections; n > 1 { // a step may be under way
		t.Errorf("an index that rests has %d connections", n)
	}
	l.find(Query{Text: "before"}, 1)
	l.say("chat:dm:1", "maria", "after the rest", "answer")
	l.find(Query{Text: "rest"}, 2)
}

// CV13: an index that is missing, damaged or of another version is made again; a warning says so, unless it was only missing.
func TestCV13_ABrokenIndexIsMadeAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, path string)
		warns string
	}{
		"missing": {func(t *testing.T, path string) {
			if err := remove(path); err != nil {
				t.Error(err)
			}
		}, ""},
		"not an index":       {func(t *testing.T, path string) { write(t, path, strings.Repeat("nonsense", 4096)) }, warnRebuilt},
		"of another version": {func(t *testing.T, path string) { statement(t, path, "PRAGMA user_version = 99") }, warnRebuilt},
		"without a table":    {func(t *testing.T, path string) { statement(t, path, "DROP TABLE reach") }, warnRebuilt},
		"cut off": {func(t *testing.T, path string) {
			if err := os.Truncate(path, 8192); err != nil {
				t.Error(err)
			}
		}, warnRebuilt},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			for i := range 40 {
				l.say("chat:dm:1", "maria", fmt.Sprintf("hello number %d", i), strings.Repeat(fmt.Sprintf("word%d ", i), 50))
			}
			l.open()
			l.find(Query{Text: "hello"}, 40)
			l.close()
			tc.spoil(t, l.path)
			l.open()
			l.find(Query{Text: "hello"}, 40)
			if got := l.warnings(); (tc.warns == "") != (got == "") || !strings.Contains(got, tc.warns) {
				t.Errorf("warned %q, want %q", got, tc.warns)
			}
		})
	}
}

// CV13: a file that cannot be an index is left alone: there is a warning and no search.
func TestCV13_ALinkInThePlaceOfTheIndexIsLeftAlone(t *testing.T) {
	l := newLab(t)
	target := filepath.Join(t.TempDir(), "precious")
	write(t, target, "precious")
	if err := os.Symlink(target, l.path); err != nil {
		t.Fatal(err)
	}
	l.open()
	eventually.True(t, "there is a warning", func() bool { return strings.Contains(l.warnings(), warnOff) })
	if _, err := l.x.Find(t.Context(), Query{Text: "x"}); !ops.HasCode(err, ops.CodeUnavailable) || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a search: %v", err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "precious" {
		t.Errorf("the target has %q, %v", text, err)
	}
}

// CV13: what the store deletes is found no more at once, and leaves the index soon after.
func TestCV13_DeletedMessagesLeaveTheIndex(t *testing.T) {
	l := newLab(t)
	l.say("chat:dm:1", "maria", "a secret", "kept")
	l.say("chat:dm:2", "maria", "no secret", "kept")
	l.open()
	l.find(Query{Text: "secret"}, 2)
	if err := l.st.ForgetSessions(t.Context(), "id of chat:dm:1"); err != nil {
		t.Fatal(err)
	}
	if found, err := l.x.Find(t.Context(), Query{Text: "secret"}); err != nil || len(found.Items) != 1 {
		t.Errorf("found %+v, %v", found.Items, err)
	}
	l.x.Sweep()
	eventually.True(t, "its words are gone", func() bool {
		var n int
		err := l.x.file.read.QueryRow(`SELECT count(*) FROM words WHERE words MATCH 'secret'`).Scan(&n)
		return err == nil && n == 1
	})
}

// CV13: any part of a text without spaces is found.
func TestCV13_AnyPartOfADenseTextIsFound(t *testing.T) {
	f, err := open(t.Context(), filepath.Join(t.TempDir(), "search.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	var row int64
	rapid.Check(t, func(t *rapid.T) {
		row++
		text := []rune(rapid.StringOfN(rapid.SampledFrom([]rune("今天气怎么样東京タワーひらがな한국어 ab1,。")), 3, 40, -1).Draw(t, "text"))
		from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		part := string(text[from:rapid.IntRange(from+1, len(text)).Draw(t, "to")])
		for _, other := range []string{"a", "b", "1"} { // of words with spaces a part is not found
			if strings.Contains(part, other) {
				return
			}
		}
		match, _, err := parse(part, "")
		if err != nil { // it has no letter
			return
		}
		if _, err := f.write.Exec("INSERT INTO words (rowid, scope, text) VALUES (?, '', ?)", row, words.Indexed(string(text))); err != nil {
			t.Fatal(err)
		}
		if got, err := matching(context.Background(), f, match, row+1, 1); err != nil || len(got) != 1 || got[0] != row {
			t.Fatalf("%q is not found in %q by %s: %v, %v", part, string(text), match, got, err)
		}
	})
}

// FuzzQuery: no text makes a query that SQLite refuses, and every snippet is short and clean.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{`"a b" c*`, "天气", `a"b`, "x AND NOT (", "*", "\x00\xff", "a:b", "NEAR(a b)", "{text}: x", "^a + b"} {
		f.Add(s)
	}
	index, err := open(f.Context(), filepath.Join(f.TempDir(), "search.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = index.close() })
	f.Fuzz(func(t *testing.T, s string) {
		match, words, err := parse(s, sessionScope("k"))
		if err == nil {
			if _, err := matching(context.Background(), index, match, 1, 1); err != nil {
				t.Fatalf("%q became %s: %v", s, match, err)
			}
		}
		if got := snippet(s+"x"+s, words); len([]rune(got)) > snippetLong || term.Clean(got, 0) != got {
			t.Fatalf("the snippet of %q is %q", s, got)
		}
	})
}

func TestASnippetShowsWhatWasFound(t *testing.T) {
	long := strings.Repeat("before ", 40) + "Needle " + strings.Repeat("after ", 40)
	got := snippet(long, []string{"needle"})
	if !strings.HasPrefix(got, "…before before") || !strings.Contains(got, "Needle after") || !strings.HasSuffix(got, "…") {
		t.Errorf("the snippet is %q", got)
	}
	if got := snippet("short\n text \x1b[2J", []string{"missing"}); got != "short text ␛[2J" {
		t.Errorf("the snippet is %q", got)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// statement changes an index that no one has open.
func statement(t *testing.T, path, text string) {
	t.Helper()
	db, err := pool(path, "rw", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}
