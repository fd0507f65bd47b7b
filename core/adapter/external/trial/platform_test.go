package trial

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// doc is a line of JSON.
type doc = map[string]any

// chatOfAda is the chat of the one person of the platform that the tests' peer plays, and token what that platform takes.
const (
	chatOfAda = "d1"
	variable  = "TRIAL_TOKEN"
	token     = "c4naryc4nary"
)

// platform is a chat platform with one person, played by the tests' peer. Programs connect to it over TCP: they write a token, and then the
// lines of the gateway as they are; it answers with lines for the gateway.
type platform struct {
	mu        sync.Mutex
	fault     string
	queue     []doc // messages that were not taken
	sent      []doc // the bot's messages, as the requests that made them, with id
	reactions map[string][]string
	lastID    int
	conns     map[net.Conn]bool
}

// playPeer speaks the protocol of a peer over the standard streams.
func playPeer() {
	p := &platform{reactions: map[string][]string{}, conns: map[net.Conn]bool{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go p.accept(l)
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(doc{"ready": true, "settings": doc{"addr": l.Addr().String()}, "env": doc{variable: token}})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var line doc
		if json.Unmarshal(in.Bytes(), &line) != nil {
			os.Exit(1)
		}
		reply := p.do(line)
		reply["id"] = line["id"]
		_ = out.Encode(reply)
	}
}

func (p *platform) do(line doc) doc {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch line["do"] {
	case "say":
		p.say(doc{"text": line["text"]})
	case "say_file":
		content := line["content"].(string)
		p.say(doc{"text": line["text"], "files": []doc{{"ref": content, "name": line["name"], "size": sizeOf(content)}}})
	case "texts":
		texts := []string{}
		for _, m := range p.sent {
			if text, is := m["text"].(string); is {
				texts = append(texts, text)
			}
		}
		return doc{"texts": texts}
	case "files":
		files := []doc{}
		for _, m := range p.sent {
			if m["type"] == "file" {
				files = append(files, doc{"name": m["name"], "content": m["content"], "text": m["caption"]})
			}
		}
		return doc{"files": files}
	case "reactions":
		return doc{"reactions": p.reactions[line["message"].(string)]}
	case "press":
		return doc{"ok": p.press(line["label"].(string), line["stranger"] == true)}
	case "fail":
		p.fault = line["fault"].(string)
		for c := range p.conns {
			if p.fault == "gone" {
				_ = c.Close()
			}
		}
		return doc{"ok": true}
	case "heal":
		p.fault = ""
	}
	return doc{}
}

// say puts a message of Ada into the queue. p.mu is held, as in what follows.
func (p *platform) say(m doc) {
	p.lastID++
	m["type"], m["id"], m["chat"], m["kind"] = "message", "m"+strconv.Itoa(p.lastID), chatOfAda, "dm"
	if m["user"] == nil {
		m["user"] = doc{"id": "u1", "name": "Ada"}
	}
	p.queue = append(p.queue, m)
	for c := range p.conns {
		p.write(c, m)
	}
}

func (p *platform) press(label string, stranger bool) bool {
	if len(p.sent) == 0 {
		return false
	}
	rows, _ := p.sent[len(p.sent)-1]["buttons"].([]any)
	for _, row := range rows {
		for _, b := range row.([]any) {
			if b := b.(doc); b["label"] == label {
				m := doc{"text": b["text"], "mentioned": true}
				if stranger {
					m["user"] = doc{"id": "u666", "name": "Mallory"}
				}
				p.say(m)
				return true
			}
		}
	}
	return false
}

func (p *platform) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

func (p *platform) write(c net.Conn, line doc) {
	if p.fault != "half-dead" {
		_ = json.NewEncoder(c).Encode(line)
	}
}

// serve serves one connection of a program, with a beat while it is alive.
func (p *platform) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewScanner(c)
	in.Buffer(nil, 64<<20)
	if !in.Scan() {
		return
	}
	p.mu.Lock()
	switch {
	case p.fault == "gone":
		p.mu.Unlock()
		return
	case p.fault == "bad token" || in.Text() != token:
		p.write(c, doc{"type": "failed", "code": "credentials", "text": "the token is refused", "variable": variable})
		p.mu.Unlock()
		return
	case p.fault == "conflict":
		p.write(c, doc{"type": "failed", "code": "conflict", "text": "another program uses the token"})
		p.mu.Unlock()
		return
	}
	p.write(c, doc{
		"type": "ready", "version": 1, "abilities": []string{"typing", "edit", "reactions", "buttons", "files in", "files out"},
		"bounds": doc{"message": 200, "typing_ms": 5000},
	})
	for _, m := range p.queue {
		p.write(c, m)
	}
	p.conns[c] = true
	p.mu.Unlock()
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			p.mu.Lock()
			p.write(c, doc{"type": "beat"})
			p.mu.Unlock()
		}
	}()
	for in.Scan() {
		var line doc
		if json.Unmarshal(in.Bytes(), &line) != nil {
			break
		}
		p.mu.Lock()
		if answer := p.answer(line); answer != nil {
			answer["type"], answer["id"] = "result", line["id"]
			p.write(c, answer)
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// sizeOf is how long a content is that stands in base64.
func sizeOf(content string) int { return len(content)/4*3 - strings.Count(content, "=") }

// wrong is the answer to a request that fails.
func wrong(code string) doc { return doc{"error": doc{"code": code, "text": "no", "retry_ms": 7000}} }

// answer works on one line of the gateway.
func (p *platform) answer(line doc) doc {
	kind := line["type"]
	switch {
	case kind == "took" || kind == "refused":
		for i, m := range p.queue {
			if m["id"] == line["of"] {
				p.queue = append(p.queue[:i:i], p.queue[i+1:]...)
				break
			}
		}
		return nil
	case kind == "fetch":
		ref, _ := line["ref"].(string)
		if strings.Contains(ref, " ") || float64(sizeOf(ref)) > line["most"].(float64) {
			return wrong("refused")
		}
		return doc{"content": ref}
	case line["chat"] != chatOfAda:
		return wrong("refused")
	case kind == "typing":
		return doc{}
	case p.fault == "flood":
		return wrong("rate_limit")
	case p.fault == "refusal":
		return wrong("refused")
	}
	return p.change(line)
}

// change works on a request that changes the chat of Ada.
func (p *platform) change(line doc) doc {
	kind := line["type"]
	message, _ := line["message"].(string)
	switch kind {
	case "send", "file":
		p.lastID++
		line["bot"] = "b" + strconv.Itoa(p.lastID)
		p.sent = append(p.sent, line)
		return doc{"messages": []any{line["bot"]}}
	case "edit", "delete":
		for i, m := range p.sent {
			switch {
			case m["bot"] != message:
			case kind == "edit":
				m["text"], m["buttons"] = line["text"], line["buttons"]
				return doc{"messages": []string{message}}
			default:
				p.sent = append(p.sent[:i:i], p.sent[i+1:]...)
			}
		}
		if kind == "edit" {
			return wrong("refused")
		}
		return doc{}
	case "react":
		emoji, _ := line["emoji"].(string)
		n, err := strconv.Atoi(strings.TrimPrefix(message, "m"))
		switch {
		case err != nil || n > p.lastID || strings.Contains(emoji, " "):
			return wrong("refused")
		case emoji == "":
			delete(p.reactions, message)
		default:
			p.reactions[message] = []string{emoji}
		}
		return doc{}
	}
	return nil
}
