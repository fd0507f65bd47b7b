package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// doors is a gateway with few descriptors, and so with few connections, except under soak.
func doors(t *testing.T, config string, few, full int) (g *gateway, connections int) {
	t.Helper()
	connections = soak.Count(t, few, full)
	wrapper := `exec "$@"`
	if !soak.On() {
		wrapper = fmt.Sprintf(`ulimit -n %d; exec "$@"`, few) // half of them are for connections
	}
	return startUnder(t, wrapper, newHome(t), config), connections
}

// HF11: 5,000 connections that do nothing keep no client from its answer (soak; otherwise 300 on a listener of 150).
func TestHF11_HeldConnectionsBlockNoNewClient(t *testing.T) {
	t.Parallel() // it mostly waits
	for name, hold := range map[string]string{
		"idle after a probe":     "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"half a header":          "POST /v1/chat/comp",
		"a body that stops":      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{",
		"a body without a route": "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			g, n := doors(t, "", 300, 5_000)
			for range n {
				nc, err := net.DialTimeout("tcp", g.api, patience)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { nc.Close() })
				// A connection that the gateway closed meanwhile takes nothing.
				_ = nc.SetWriteDeadline(time.Now().Add(patience))
				_, _ = io.WriteString(nc, hold)
			}
			began := time.Now()
			if reply, status := g.chat("maria", "hello"); status != http.StatusOK {
				t.Errorf("a new client got %d %s", status, reply)
			}
			// The old gateway needs until its timeouts: 10 s for a header, 30 s for a body, 2 min for an idle connection.
			took := time.Since(began)
			t.Logf("answered after %s with %d connections", took, n)
			if took > 8*time.Second {
				t.Errorf("a new client waited %s with %d connections", took, n)
			}
			if code, _ := g.stop(); code != 0 {
				t.Errorf("the stop ended with %d", code)
			}
		})
	}
}

// HF20: uploads that stall cost bounded memory, hold up no complete body, and leave nothing.
func TestHF20_StalledUploadsAreBounded(t *testing.T) {
	t.Parallel() // it mostly waits
	config, size := "[limits]\nbody_bytes = \"8MiB\"\n[adapters.api]\nbody_max = \"1MiB\"\n", 900<<10
	if soak.On() {
		config, size = "", 8<<20
	}
	uploads := soak.Count(t, 60, 1_000)
	g := start(t, newHome(t), config)
	var all sync.WaitGroup
	conns := make([]net.Conn, uploads)
	for i := range uploads {
		all.Go(func() {
			nc, err := net.DialTimeout("tcp", g.api, patience)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { nc.Close() })
			conns[i] = nc
			_ = nc.SetWriteDeadline(time.Now().Add(3 * time.Second)) // the gateway may not take all of it
			_, _ = fmt.Fprintf(nc, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1048000\r\n\r\n%s", strings.Repeat("x", 1_000_000))
		})
	}
	all.Wait()
	peak := residentMiB(t, g)
	t.Logf("resident during %d stalled uploads: %d MiB", uploads, peak)
	if peak > 150 {
		t.Errorf("%d stalled uploads cost %d MiB, want at most 150", uploads, peak)
	}
	for i := range 8 {
		all.Go(func() {
			if reply, status := g.chat(fmt.Sprintf("u%d", i), strings.Repeat("y", size-200)); status != http.StatusOK {
				t.Errorf("a complete body next to them got %d %.200s", status, reply)
			}
		})
	}
	all.Wait()
	for _, nc := range conns {
		if nc != nil {
			nc.Close()
		}
	}
	eventually.True(t, "nothing of the uploads is left", func() bool {
		var s struct {
			Limits []struct {
				Name string
				Used int
			}
		}
		g.socket(http.MethodGet, "/v1/status", nil, &s)
		for _, l := range s.Limits {
			if l.Name == "limits.body_bytes" {
				return l.Used == 0
			}
		}
		t.Fatal("status has no row for limits.body_bytes")
		return false
	})
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
}

// residentMiB is the memory that the gateway has.
func residentMiB(t *testing.T, g *gateway) int {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if kib, is := strings.CutPrefix(in.Text(), "VmRSS:"); is {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(kib, "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return n >> 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// HF17: refused requests do not fill the log, and guessing at the key is slow.
func TestHF17_RefusedRequestsDoNotFillTheLog(t *testing.T) {
	t.Setenv("DOORS_KEY", "the-right-key-of-this-test")
	g := start(t, newHome(t), "[adapters.api]\nkey_env = \"DOORS_KEY\"\n")
	guesses := soak.Count(t, 600, 36_000)
	guess := func(key string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.api+"/v1/models", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Close = true // each from a port of its own
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	answers := map[int]int{}
	for i := range guesses {
		answers[guess(fmt.Sprint("guess-", i))]++
	}
	if answers[http.StatusUnauthorized] > 20 || answers[http.StatusTooManyRequests] < guesses-20 {
		t.Errorf("%d guesses were answered %v", guesses, answers)
	}
	if status := guess("the-right-key-of-this-test"); status != http.StatusTooManyRequests {
		t.Errorf("the right guess was answered %d", status)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
	lines := 0
	for _, l := range g.log() {
		if l.text("msg") == "api request refused" {
			lines++
		}
	}
	if lines == 0 || lines >= 100 {
		t.Errorf("%d refused requests are %d lines", guesses, lines)
	}
}

// HF19: requests that name no session leave nothing, in memory or on disk.
func TestHF19_AnonymousRequestsLeaveNothing(t *testing.T) {
	const clients = 8
	g := start(t, newHome(t), "")
	each := soak.Count(t, 400, 48_000) / clients / 2
	half := func() {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range each {
					if reply, status := g.chat("", "hello"); status != http.StatusOK {
						t.Errorf("answered %d %s", status, reply)
						return
					}
				}
			})
		}
		all.Wait()
	}
	size := func() (sum int64) {
		files, err := filepath.Glob(g.home + "/gateway.db*")
		if err != nil || len(files) == 0 {
			t.Fatalf("no database: %v", err)
		}
		for _, f := range files {
			if fi, err := os.Stat(f); err == nil {
				sum += fi.Size()
			}
		}
		return sum
	}
	half()
	disk, memory := size(), residentMiB(t, g)
	half()
	t.Logf("disk %d KiB, then %d; memory %d MiB, then %d", disk>>10, size()>>10, memory, residentMiB(t, g))
	// The log of the database grows up to 4 MiB before it is written back, however little is kept.
	if grown := size() - disk; grown > 5<<20 {
		t.Errorf("the database grew by %d KiB", grown>>10)
	}
	if now := residentMiB(t, g); now > memory+24 {
		t.Errorf("memory grew from %d to %d MiB", memory, now)
	}
	eventually.True(t, "no session is left", func() bool {
		var s struct{ Sessions []any }
		g.socket(http.MethodGet, "/v1/snapshot", nil, &s)
		return len(s.Sessions) == 0
	})
	g.stop()
}

// HF16: with a slow Bot API an allowed user waits for none of 300 unknown users.
func TestHF16_AnAllowedUserDoesNotWaitForUnknownUsers(t *testing.T) {
	bot := botapitest.New(botToken)
	defer bot.Close()
	const unknown, allowed = 300, 4711
	bot.Fail("sendMessage", botapitest.Fault{Delay: 300 * time.Millisecond})
	for i := range unknown {
		bot.Inject(botapitest.Update{User: int64(10_000 + i), Text: "hello"})
	}
	bot.Inject(botapitest.Update{User: allowed, Text: "hello"})
	g := start(t, newHome(t), strings.Replace(withBot(t, bot), "allow_all = true", fmt.Sprintf("allow = [%d]", allowed), 1))
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	before := 0
	if err := bot.Await(ctx, func(s *botapitest.Server) bool {
		for i, m := range s.Sent() {
			if m.ChatID == allowed {
				before = i
				return true
			}
		}
		return false
	}); err != nil {
		t.Fatalf("the allowed user got no answer: %v", err)
	}
	t.Logf("the allowed user was answered after %s, after %d notices", time.Since(began), before)
	if before > 50 {
		t.Errorf("%d unknown users got a notice before the allowed user was answered", before)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
}
