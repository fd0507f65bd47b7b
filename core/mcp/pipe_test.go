package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// over returns a connection whose server has printed this, and what broke it.
func over(t testing.TB, printed string, changed func()) (*pipes, *error) {
	t.Helper()
	inServer, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, outServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(outServer, printed) // the reader may close before its end
		_ = outServer.Close()
	}()
	var broke error
	p := newPipes(in, out, changed, func(err error) {
		if broke == nil {
			broke = err
		}
	})
	t.Cleanup(func() { _, _, _ = p.Close(), inServer.Close(), outServer.Close() })
	return p, &broke
}

func TestHR1_AConnectionReadsMessagesAndNothingElse(t *testing.T) {
	request := `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	answer := `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
	for name, tc := range map[string]struct {
		printed  string
		messages int
		changes  int
		broken   string
	}{
		"answers and requests are read":                {answer + request, 2, 0, "EOF"},
		"lines that are not messages are left out":     {"hello\n\n{}\n[1]\nnull\n" + answer, 1, 0, "EOF"},
		"a line without its end is not a message":      {answer + `{"jsonrpc":"2.0","id":2,"result":{}}`, 1, 0, "EOF"},
		"notifications are left out, changes are seen": {changed + `{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n" + changed + answer, 1, 2, "EOF"},
		"much that is not a message ends it":           {strings.Repeat("junk\n", maxJunk/4), 0, 0, "not a message"},
		"a message that is too long ends it":           {`{"x":"` + strings.Repeat("x", maxMessage) + `"}` + "\n", 0, 0, "longer than"},
		"many requests at once end it":                 {strings.Repeat(request, maxAsked+1), maxAsked, 0, "requests of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			changes := 0
			p, broke := over(t, tc.printed, func() { changes++ })
			n := 0
			for {
				if _, err := p.Read(t.Context()); err != nil {
					break
				}
				n++
			}
			if n != tc.messages || changes != tc.changes || *broke == nil || !strings.Contains((*broke).Error(), tc.broken) {
				t.Errorf("%d messages, %d changes, broken by %v; want %d, %d, %q", n, changes, *broke, tc.messages, tc.changes, tc.broken)
			}
		})
	}
}

func TestHR1_AWriteToAServerThatDoesNotReadEnds(t *testing.T) {
	p, broke := over(t, "", func() {})
	large, err := json.Marshal(strings.Repeat("x", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	id, err := jsonrpc.MakeID("1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := p.Write(ctx, &jsonrpc.Request{ID: id, Method: "m", Params: large}); !errors.Is(err, errFrozen) || !errors.Is(*broke, errFrozen) {
		t.Errorf("the write: %v, broken by %v", err, *broke)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Write(t.Context(), &jsonrpc.Request{ID: id, Method: "m"}); err == nil {
		t.Error("a write after the close succeeds")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\nhello\n[]\n")
	f.Add(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\xff\n")
	f.Fuzz(func(t *testing.T, printed string) {
		p, broke := over(t, printed, func() {})
		for {
			message, err := p.Read(t.Context())
			if err != nil {
				break
			}
			if message == nil {
				t.Fatal("neither a message nor an error")
			}
		}
		if *broke == nil {
			t.Error("the end of the connection has no reason")
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("files", "read \x1b[2J")
	f.Add("", "\xff\u202e")
	f.Fuzz(func(t *testing.T, server, tool string) {
		name := nameOf(server, tool)
		if len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			t.Errorf("the name %q", name)
		}
		if said := plain(tool, 10); !utf8.ValidString(said) || strings.ContainsAny(said, "\x1b\x00\x7f\u202e\u009b") || len(said) > 10 {
			t.Errorf("the text %q", said)
		}
	})
}
