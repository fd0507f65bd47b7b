package imap

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted runs f with a Client whose server says greeting, and then answers each line of the client with what answer returns for the
// command without its tag; TAG in it is the tag.
func scripted(t *testing.T, greeting string, answer func(command string) string, f func(ctx context.Context, c *Client, err error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			_, _ = io.WriteString(there, greeting) // the client may leave
			in, tag := bufio.NewReader(there), ""
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				line = strings.TrimRight(line, "\r\n")
				if first, rest, has := strings.Cut(line, " "); has && strings.HasPrefix(first, "a") {
					tag, line = first, rest
				}
				text := "* CAPABILITY IMAP4rev1\r\nTAG OK\r\n"
				if line != "CAPABILITY" {
					text = answer(line)
				}
				if _, err := io.WriteString(there, strings.ReplaceAll(text, "TAG", tag)); err != nil {
					return
				}
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := New(ctx, here)
		f(ctx, c, err)
		_ = here.Close() // of a test
		_ = there.Close()
		<-served
	})
}

const hello = "* OK hello\r\n"

func TestWhatAServerMaySayInTheWrongPlace(t *testing.T) {
	for _, tc := range []struct{ name, greeting, answer, want string }{
		{"no greeting", "", "", "end of the context"},
		{"another protocol", "220 smtp.example ESMTP\r\n", "", "smtp.example"},
		{"a refusal to serve", "* BYE busy\r\n", "", "busy"},
		{"a greeting without an end", "* OK " + strings.Repeat("x", maxLine) + "\r\n", "", "too long a line"},
		{"an answer to another command", hello, "a99 OK\r\n", "not IMAP"},
		{"a question", hello, "+ more?\r\n", "no answer"},
		{"half a line", hello, "* OK", "end of the context"},
		{"a literal without an end", hello, "* X {10}\r\nabc", "end of the context"},
		{"a literal of a terabyte", hello, "* X {1000000000000}\r\n", "at most 65536 were expected"},
		{"a literal that overflows", hello, "* X {99999999999999999999999}\r\nTAG OK\r\n", ""},
		{"a refusal", hello, "TAG NO [ALERT] not now\r\n", "not now"},
		{"the end in a command", hello, "* BYE stopping\r\n", "ended the connection"},
		{"other responses", hello, "* 3 EXISTS\r\n* OK [ALERT] x\r\n* X {3}\r\nabc (y)\r\nTAG OK\r\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			scripted(t, tc.greeting, func(string) string { return tc.answer }, func(ctx context.Context, c *Client, err error) {
				if err == nil {
					err = c.Noop(ctx)
				}
				if tc.want == "end of the context" {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("it returned %v", err)
					}
					return
				}
				if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("it returned %v, want %q", err, tc.want)
				}
			})
		})
	}
}

func TestWhatASearchFinds(t *testing.T) {
	for response, want := range map[string][]uint32{
		"* SEARCH":                                  nil,
		"* SEARCH 3 1 2 2":                          {1, 2, 3},
		"* SEARCH 1\r\n* SEARCH 2":                  {1, 2},
		"* SEARCH 0 x 4294967296 -1 7":              {7},
		`* ESEARCH (TAG "TAG") UID ALL 2,9:7,4`:     {2, 4, 7, 8, 9},
		`* ESEARCH (TAG "TAG") UID`:                 nil,
		`* ESEARCH (TAG "TAG") UID COUNT 3 ALL 5`:   {5},
		"* 9 EXISTS\r\n* search 5\r\n* 1 FETCH (X)": {5},
	} {
		scripted(t, hello, func(string) string { return response + "\r\nTAG OK\r\n" }, func(ctx context.Context, c *Client, err error) {
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Unseen(ctx, time.Unix(0, 0))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q finds %v, want %v: %v", response, got, want, err)
			}
		})
	}
	if n := len(found("ESEARCH UID ALL 1:4294967295")); n != maxFound {
		t.Errorf("a search finds %d messages, want at most %d", n, maxFound)
	}
}

func TestHowAMessageIsSent(t *testing.T) {
	for _, tc := range []struct {
		name, response, want string
		found                bool
	}{
		{"a literal", "* 1 FETCH (UID 7 BODY[]<0> {5}\r\nhello)", "hello", true},
		{"the text first", "* 1 FETCH (BODY[]<0> {5}\r\nhello UID 7)", "hello", true},
		{"the whole", "* 1 FETCH (UID 7 body[] {5}\r\nhello)", "hello", true},
		{"more than was asked for", "* 1 FETCH (BODY[]<0> {20}\r\nhello and much more)", "hello and ", true},
		{"a quoted text", `* 1 FETCH (UID 7 BODY[]<0> "a \"b\"")`, `a "b"`, true},
		{"an empty one", "* 1 FETCH (UID 7 BODY[]<0> {0}\r\n)", "", true},
		{"none", "* 1 FETCH (UID 7 BODY[]<0> NIL)", "", true},
		{"flags of another message alone", `* 2 FETCH (FLAGS (\Seen))`, "", false},
		{"a message that is gone", "* 1 EXPUNGE", "", false},
		{"the same twice", "* 1 FETCH (BODY[]<0> {5}\r\nhello)\r\n* 1 FETCH (BODY[]<0> {5}\r\nagain)", "hello", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			scripted(t, hello, func(string) string { return tc.response + "\r\nTAG OK\r\n" }, func(ctx context.Context, c *Client, err error) {
				if err != nil {
					t.Fatal(err)
				}
				var got []byte
				found, err := c.Fetch(ctx, 7, 10, func(r io.Reader) { got, _ = io.ReadAll(r) })
				if err != nil || found != tc.found || string(got) != tc.want {
					t.Errorf("fetched %q, found: %t, %v", got, found, err)
				}
				if err := c.Noop(ctx); err != nil {
					t.Errorf("the next command: %v", err)
				}
			})
		})
	}
}

func TestAWaitEndsWithAMessageAndWithItsTime(t *testing.T) {
	for _, tc := range []struct {
		name, begin string
		want        time.Duration
	}{
		{"nothing comes", "+ idling\r\n", 5 * time.Second},
		{"a sign of life comes", "+ idling\r\n* OK still here\r\n", 5 * time.Second},
		{"a message comes", "+ idling\r\n* 4 EXISTS\r\n", 0},
		{"a message came before", "* 4 EXISTS\r\n+ idling\r\n", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer := func(command string) string {
				if command == "IDLE" {
					return tc.begin
				}
				return "TAG OK\r\n"
			}
			scripted(t, hello, answer, func(ctx context.Context, c *Client, err error) {
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if err := c.Idle(ctx, 5*time.Second); err != nil || time.Since(began) != tc.want {
					t.Errorf("it waited %s: %v", time.Since(began), err)
				}
			})
		})
	}
}

func TestAMessageThatCameAfterTheSearchIsNotWaitedFor(t *testing.T) {
	answer := func(command string) string {
		if strings.HasPrefix(command, "UID STORE") {
			return "* 4 EXISTS\r\nTAG OK\r\n"
		}
		return "TAG OK\r\n"
	}
	scripted(t, hello, answer, func(ctx context.Context, c *Client, err error) {
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := errors.Join(c.MarkSeen(ctx, 7), c.Idle(ctx, time.Hour)); err != nil || time.Since(began) != 0 {
			t.Errorf("it waited %s: %v", time.Since(began), err)
		}
	})
}

func TestNoNameBreaksOutOfItsCommand(t *testing.T) {
	var said []string
	answer := func(command string) string {
		said = append(said, command)
		return "TAG OK\r\n"
	}
	scripted(t, hello, answer, func(ctx context.Context, c *Client, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"a\r\nb", "a\x00", "ü"} {
			if err := c.Login(ctx, bad, "x"); err == nil {
				t.Errorf("it logged in as %q", bad)
			}
			if _, err := c.Select(ctx, bad, true); err == nil {
				t.Errorf("it opened %q", bad)
			}
		}
		if err := c.Login(ctx, `a" "b`, `c\`); err != nil || !slices.Equal(said, []string{`LOGIN "a\" \"b" "c\\"`}) {
			t.Errorf("it said %q: %v", said, err)
		}
	})
}

func TestTheEncryptionHasNothingBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			in := bufio.NewReader(there)
			for _, answer := range []string{"* OK hello\r\n", "* CAPABILITY STARTTLS\r\na1 OK\r\n", "a2 OK\r\na3 OK injected\r\n"} {
				if _, err := io.WriteString(there, answer); err != nil {
					return
				}
				if _, err := in.ReadString('\n'); err != nil {
					return
				}
			}
		}()
		c, err := New(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.StartTLS(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "before the encryption") {
			t.Errorf("it returned %v", err)
		}
	})
}

func FuzzResponsesAreRead(f *testing.F) {
	for _, text := range []string{
		"* 1 FETCH (UID 7 BODY[]<0> {5}\r\nhello)\r\na1 OK\r\n", "* ESEARCH UID ALL 1:3\r\na1 OK\r\n", "* BYE\r\n", "+\r\na1 NO [X] y\r\n", "* X {0}\r\n{0}\r\n\r\n", `* 1 FETCH (BODY[] "a\"")`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Client{conn: &net.TCPConn{}, in: bufio.NewReader(bytes.NewReader(text))}
		var read int64
		body := func(r io.Reader) {
			n, err := io.Copy(io.Discard, r)
			if read += n; err != nil {
				t.Errorf("the text ended with %v", err)
			}
		}
		err := c.finish("a1", nil, func(line string) { found(line) }, func() (string, error) { return c.response(body) })
		if read > int64(len(text)) {
			t.Errorf("of %d bytes %d were read", len(text), read)
		}
		if err == nil && !bytes.Contains(bytes.ToLower(text), []byte("a1 ok")) {
			t.Errorf("%q ends a command", text)
		}
		_ = fmt.Sprint(err) // it can be printed
	})
}
