package irc

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// daemon is the path of the program of a Debian package of the same name.
func daemon(t *testing.T, name string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		program = "/usr/sbin/" + name
	}
	if _, err := os.Stat(program); err != nil {
		soak.Missing(t, "runs where %s is installed (apt-get install %s)", name, name)
	}
	return program
}

// freePort is a port of this machine that no program listens on.
func freePort(t *testing.T) (port string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	_ = l.Close() // a server takes the port
	return port
}

// config writes the config of a server, and returns its path.
func config(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "server.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a program until the test ends.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	server := exec.CommandContext(t.Context(), program, args...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it has nothing to save
		_ = server.Wait()
	})
}

// answers waits until a server answers a line with a text.
func answers(t *testing.T, address, line, text string) {
	t.Helper()
	eventually.True(t, fmt.Sprintf("the server answers %q with %q", line, text), func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return false
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
			return false
		}
		if _, err := fmt.Fprintf(conn, "%s\r\n", line); err != nil {
			return false
		}
		for in := bufio.NewScanner(conn); in.Scan(); {
			if strings.Contains(in.Text(), text) {
				return true
			}
		}
		return false
	})
}

// person is a client of a test that keeps what it hears.
func person(t *testing.T, address, nick string) (say func(string), hears <-chan string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	done := make(chan struct{})
	say = func(line string) {
		if _, err := fmt.Fprintf(conn, "%s\r\n", line); err != nil {
			t.Errorf("%s cannot say %q: %v", nick, line, err)
		}
	}
	go func() {
		defer close(done)
		for in := bufio.NewScanner(conn); in.Scan(); {
			lines <- in.Text()
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	say("PASS " + password + "\r\nNICK " + nick + "\r\nUSER " + nick + " 0 * :" + nick)
	until(t, lines, " 001 ")
	return say, lines
}

// until returns the first line with a text.
func until(t *testing.T, hears <-chan string, text string) string {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case line := <-hears:
			if strings.Contains(line, text) {
				return line
			}
		case <-late:
			t.Fatalf("there came no %q", text)
		}
	}
}

// joined connects to a server and joins its channel. The test's end takes the connection down.
func joined(t *testing.T, p *Platform, in adapter.Receiver) adapter.Conn {
	t.Helper()
	c, err := p.Connect(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conformance.TakeDown(c); err != nil {
			t.Error(err)
		}
	})
	if _, err := p.Connect(t.Context(), in); !is[*adapter.ConflictError](err) {
		t.Errorf("a second bot of the same nick: %v", err)
	}
	eventually.True(t, "the bot is in the channel", func() bool { return len(p.Lacks()) == 0 })
	return c
}

// sendTo sends a text, within 20 s.
func sendTo(t *testing.T, c adapter.Conn, target, text string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := c.Send(ctx, adapter.Outgoing{Target: target, Text: text, Markdown: true})
	return err
}

// converse has alice talk to the bot alone and in the channel, and the bot answer: with a short text, and with one of several lines.
func converse(t *testing.T, c adapter.Conn, in *conformance.Receiver, say func(string), hears <-chan string) {
	t.Helper()
	say("JOIN " + help)
	until(t, hears, " 366 ")
	say("PRIVMSG bot :alone")
	say("PRIVMSG " + help + " :bot: in the channel")
	eventually.True(t, "both messages arrive", func() bool { return len(in.Messages()) == 2 })
	in.WantTexts(t, "alone", "in the channel")
	if err := sendTo(t, c, in.Messages()[0].Target, "short"); err != nil {
		t.Error(err)
	}
	until(t, hears, "PRIVMSG alice :short")
	long := strings.Repeat("wörter ", 100)
	if err := sendTo(t, c, in.Messages()[1].Target, long); err != nil {
		t.Error(err)
	}
	var heard string
	for !strings.HasSuffix(strings.TrimSpace(heard), strings.TrimSpace(long)) {
		line := until(t, hears, "PRIVMSG "+help+" :")
		_, text, _ := strings.Cut(line, "PRIVMSG "+help+" :")
		heard += strings.TrimSpace(text) + " "
	}
	if want := "alice: " + long; heard != want {
		t.Errorf("the channel has %q, want %q", heard, want)
	}
	if err := sendTo(t, c, "carol", "hello"); !is[*adapter.RefusedError](err) {
		t.Errorf("a message to no one returned %v", err)
	}
	if err := c.Err(); err != nil {
		t.Errorf("the connection ended: %v", err)
	}
}
