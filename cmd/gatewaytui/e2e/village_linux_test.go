package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
)

// villageArgument makes the test binary an external adapter (core/adapter/external/PROTOCOL.md) of a village: a chat platform that is a
// folder. It gives each line of the file said as a message, in each run from the first on, and writes what it sends into the file sent. When there
// is a file freeze, it neither reads nor writes any more. A child in a session of its own ignores TERM and holds its pipes open.
const villageArgument = "village"

// villageToken is the variable of its credential.
const villageToken = "VILLAGE_TOKEN"

// village is what a test does at the platform.
type village struct {
	t   testing.TB
	dir string
}

// villager is a message of the village, as the protocol has it.
type villager struct {
	Type      string            `json:"type"`
	Seq       int               `json:"seq"`
	ID        string            `json:"id"`
	Chat      string            `json:"chat"`
	Kind      string            `json:"kind"`
	Group     string            `json:"group,omitempty"`
	User      map[string]string `json:"user"`
	Text      string            `json:"text"`
	Mentioned bool              `json:"mentioned,omitempty"`
}

// letter is what the bot sent.
type letter struct{ Chat, Text string }

func newVillage(t testing.TB) village {
	setenv(t, villageToken, "c4nary-of-the-village")
	return village{t, t.TempDir()}
}

// config is that of a gateway of the village, whose owner is u1 and whose group is g1.
func (v village) config() string {
	return quick + fmt.Sprintf(`
[access]
owners = ["village:u1"]
[adapters.village]
command  = [%q, %q]
env_pass = [%q]
allow    = ["u1"]
groups   = ["g1"]
[adapters.village.settings]
folder = %q
`, os.Args[0], villageArgument, villageToken, v.dir)
}

func (v village) say(m villager) {
	v.t.Helper()
	line, err := json.Marshal(m)
	if err != nil {
		v.t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(v.dir, "said"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		v.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\n')); err != nil {
		v.t.Fatal(err)
	}
}

// tell says something to the bot alone.
func (v village) tell(id, text string) {
	v.t.Helper()
	v.say(villager{ID: id, Chat: "d#1", Kind: "dm", User: map[string]string{"id": "u1", "name": "Ada"}, Text: text})
}

func (v village) sent() (all []letter) {
	v.t.Helper()
	content, err := os.ReadFile(filepath.Join(v.dir, "sent"))
	if err != nil && !os.IsNotExist(err) {
		v.t.Fatal(err)
	}
	for line := range bytes.Lines(content) {
		var l letter
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(line, &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

// times is how often a chat got a text.
func (v village) times(chat, text string) (n int) {
	for _, l := range v.sent() {
		if l.Chat == chat && strings.Contains(l.Text, text) {
			n++
		}
	}
	return n
}

func (v village) has(chat, text string) {
	v.t.Helper()
	eventually.True(v.t, fmt.Sprintf("the chat %s has %q", chat, text), func() bool { return v.times(chat, text) > 0 })
}

func (v village) freeze() {
	v.t.Helper()
	if err := os.WriteFile(filepath.Join(v.dir, "freeze"), nil, 0o600); err != nil {
		v.t.Fatal(err)
	}
	eventually.True(v.t, "the program is frozen", func() bool {
		_, err := os.Stat(filepath.Join(v.dir, "frozen"))
		return err == nil
	})
}

// villagePlay is the program. It returns when it has been asked to stop, or its standard input has ended.
func villagePlay(args []string) {
	if len(args) > 0 { // its child
		ignoreTERM()
	}
	var mu sync.Mutex // of standard output, and of all work: a frozen program holds it
	defer mu.Lock()   // it does not end either
	out := json.NewEncoder(os.Stdout)
	write := func(line any) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(line) // a gateway that has gone closes standard input as well
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 32<<20)
	var folder string
	for in.Scan() {
		var line struct {
			Type, Chat, Text string
			ID               int
			Settings         struct{ Folder string }
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			fmt.Fprintln(os.Stderr, "the gateway wrote no JSON:", err)
			return
		}
		switch line.Type {
		case "hello":
			if os.Getenv(villageToken) == "" {
				write(map[string]any{"type": "failed", "code": "credentials", "variable": villageToken, "text": "the gate is closed"})
				return
			}
			folder = line.Settings.Folder
			child := exec.Command(os.Args[0], villageArgument, "child")
			child.Stdout, child.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
			if err := child.Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			write(map[string]any{"type": "ready", "version": 1, "abilities": []string{"groups", "typing"}})
			go villageHear(folder, write, &mu)
		case "send":
			mu.Lock()
			file, err := os.OpenFile(filepath.Join(folder, "sent"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				err = json.NewEncoder(file).Encode(letter{line.Chat, line.Text})
				_ = file.Close()
			}
			mu.Unlock()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			write(map[string]any{"type": "result", "id": line.ID, "messages": []string{fmt.Sprintf("s%d", line.ID)}})
		case "stop":
			return
		case "took", "refused", "later":
		default:
			write(map[string]any{"type": "result", "id": line.ID})
		}
	}
}

// ignoreTERM does not return.
func ignoreTERM() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	for range signals {
		continue
	}
}

// villageHear gives what was said.
func villageHear(folder string, write func(any), mu *sync.Mutex) {
	for given := 0; ; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(folder, "freeze")); err == nil {
			mu.Lock()
			_ = os.WriteFile(filepath.Join(folder, "frozen"), nil, 0o600) // the test waits for it
			ignoreTERM()
		}
		content, _ := os.ReadFile(filepath.Join(folder, "said")) // there is none at first
		lines := bytes.SplitAfter(content, []byte("\n"))
		for ; given < len(lines)-1; given++ {
			var m villager
			if json.Unmarshal(lines[given], &m) == nil {
				m.Type, m.Seq = "message", given+1
				write(m)
			}
		}
	}
}
