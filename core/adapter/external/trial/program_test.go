package trial

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// bot is the program under test, on the platform of platform_test.go, or on none if its settings have no address. bad names the one way in
// which it does not do what the protocol says; empty: it does.
type bot struct {
	bad string

	mu       sync.Mutex
	server   net.Conn
	heard    time.Time
	seq      int
	ids      map[int]any // of messages, by seq
	stopping bool
}

func playBot(bad string) {
	b := &bot{bad: bad, heard: time.Now(), ids: map[int]any{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		if len(in.Bytes()) == 0 && b.is("breaks at an empty line") {
			os.Exit(1)
		}
		var line doc
		if json.Unmarshal(in.Bytes(), &line) == nil {
			b.take(line)
		}
	}
	if b.is("runs on without its input") && !b.stopping {
		select {}
	}
}

func (b *bot) is(bad string) bool { return b.bad == bad }

// write writes a line to the gateway.
func (b *bot) write(line doc) {
	text, _ := json.Marshal(line)
	_, _ = os.Stdout.Write(append(text, '\n'))
}

func (b *bot) fail(code, text string) {
	line := doc{"type": "failed", "code": code, "text": text}
	if code == "credentials" {
		line["variable"] = variable
	}
	if b.is("vague about credentials") || code == "conflict" && b.is("vague about a conflict") {
		line["code"] = "error"
	}
	b.write(line)
	os.Exit(1)
}

func (b *bot) take(line doc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch kind := line["type"]; kind {
	case "hello":
		b.hello(line)
	case "stop":
		b.stop()
	case "ping":
		quiet := time.Since(b.heard).Milliseconds()
		if b.is("never quiet") {
			quiet = 0
		}
		if b.is("leaves a process") {
			leave()
		}
		if !b.is("deaf to pings") {
			b.write(doc{"type": "result", "id": line["id"], "quiet_ms": quiet})
		}
	case "took", "refused", "later":
		seq := int(line["seq"].(float64))
		if b.server == nil && kind != "later" {
			os.Exit(1) // the message would be lost
		}
		if id := b.ids[seq]; b.server != nil && !b.is("gives all again") {
			b.pass(doc{"type": kind, "of": id})
		}
	case "send", "edit", "delete", "typing", "react", "file", "fetch":
		b.request(line)
	default:
		if b.is("breaks at an unknown type") {
			b.fail("error", "unknown type")
		}
	}
}

func (b *bot) hello(line doc) {
	settings, _ := line["settings"].(doc)
	addr, _ := settings["addr"].(string)
	secret := os.Getenv(variable)
	if b.is("writes no JSON") {
		fmt.Println("connecting")
	}
	if b.is("talks about its token") {
		fmt.Fprintln(os.Stderr, "the token is "+secret)
	}
	if b.is("leaves a process after a failure") && secret == "" {
		leave()
	}
	if settings["strict"] == true && secret == "" {
		b.fail("credentials", "no token")
	}
	switch {
	case b.is("in need of each field") && line["groups"] == nil:
		b.fail("error", "no groups")
	case b.is("never ready"):
		b.fail("error", "the platform is closed")
	case b.is("of another version"):
		b.write(doc{"type": "ready", "version": 2})
	case addr == "":
		b.write(doc{"type": "ready", "version": 1, "abilities": []string{"edit", "files in"}})
		b.message(doc{"type": "message", "id": "m1", "chat": chatOfAda, "kind": "dm", "user": doc{"id": "u1"}, "text": "hello"})
	default:
		b.connect(addr, secret)
	}
}

// leave starts a process that outlives the program.
func leave() {
	c := exec.Command(os.Args[0], "play", "sleeper")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		panic(err)
	}
}

func (b *bot) stop() {
	b.stopping = true
	switch b.bad {
	case "ignores a stop":
		signal.Ignore(syscall.SIGTERM)
		select {}
	case "writes after a stop":
		b.write(doc{"type": "result", "id": 99})
	}
	os.Exit(0)
}

func (b *bot) connect(addr, secret string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.fail("error", err.Error())
	}
	b.server = c
	if b.is("ready without its platform") {
		b.write(doc{"type": "ready", "version": 1})
	}
	_, _ = fmt.Fprintln(c, secret)
	go b.listen()
}

// pass passes a line on to the platform.
func (b *bot) pass(line doc) {
	text, _ := json.Marshal(line)
	_, _ = b.server.Write(append(text, '\n'))
}

// listen passes on what the platform says.
func (b *bot) listen() {
	in := bufio.NewScanner(b.server)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var line doc
		if json.Unmarshal(in.Bytes(), &line) != nil {
			break
		}
		b.mu.Lock()
		b.heard = time.Now()
		switch line["type"] {
		case "beat":
		case "failed":
			b.fail(line["code"].(string), line["text"].(string))
		case "message":
			b.message(line)
		default:
			if line["id"] != -1.0 {
				b.write(b.spoilt(line))
			}
			if b.is("short-lived") { // it was ready
				os.Exit(1)
			}
		}
		b.mu.Unlock()
	}
	b.mu.Lock()
	if b.is("deaf to its platform") {
		b.mu.Unlock()
		return
	}
	b.fail("error", "the platform hung up")
}

func (b *bot) message(line doc) {
	b.seq++
	b.ids[b.seq] = line["id"]
	line["seq"] = b.seq
	if b.is("gives all again") {
		line["id"] = fmt.Sprint(line["id"], "-", os.Getpid())
	}
	if b.is("blind to strangers") {
		line["user"] = doc{"id": "u1", "name": "Ada"}
	}
	b.write(line)
}

// request passes a request on to the platform, as well as this program can.
func (b *bot) request(line doc) {
	kind, text := line["type"].(string), line["text"]
	done := func(f doc) {
		f["type"], f["id"] = "result", line["id"]
		b.write(f)
	}
	switch {
	case b.server == nil && b.is("takes every chat"):
		done(doc{"messages": []string{"b1"}})
		return
	case b.server == nil:
		done(wrong("refused"))
		return
	case kind == "send" && b.is("sends twice"):
		b.pass(doc{"type": "send", "id": -1, "chat": line["chat"], "text": text})
	case kind == "send" && b.is("cuts texts") && len(text.(string)) > 50:
		line["text"] = text.(string)[:50]
	case kind == "edit" && b.is("edits nothing"):
		done(doc{"messages": []any{line["message"]}})
		return
	case kind == "typing" && b.is("types with a message"):
		b.pass(doc{"type": "send", "id": -1, "chat": line["chat"], "text": "…"})
	case kind == "fetch" && b.is("loses files"):
		done(doc{"content": []byte("another")})
		return
	case kind == "file" && b.is("loses names"):
		line["name"] = "file"
	case kind == "react" && line["emoji"] == nil && b.is("never takes back"):
		done(doc{})
		return
	}
	b.pass(line)
}

// spoilt is a result of the platform, as well as this program understands it.
func (b *bot) spoilt(line doc) doc {
	e, _ := line["error"].(doc)
	if e == nil {
		return line
	}
	if b.is("deaf to rate limits") && e["code"] == "rate_limit" || b.is("vague about refusals") && slices.Contains([]any{"refused"}, e["code"]) {
		line["error"] = doc{"code": "unsent"}
	}
	return line
}
