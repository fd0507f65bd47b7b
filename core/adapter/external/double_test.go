package external

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/process"
)

// platform is a chat platform in memory, for which each start makes a program in this process.
type platform struct {
	mu      sync.Mutex
	ready   ready
	said    []message  // by people, in order
	kept    []bool     // whether the gateway has answered each of them for ever
	posts   []*post    // of the bot, in order
	content [][]byte   // of files of people
	signs   [][]string // the bot's reactions, by message of people
	fault   string     // of runs that begin and of requests, see fails
	quiet   time.Time  // since when it says nothing; zero: it speaks
	writes  []string   // each line of the gateway
	menu    []menuCommand
	typed   int
	runs    []*run
	keys    map[string]string
	again   time.Duration // before a message is given again
	dumb    []string      // types of requests that get no answer
	deaf    bool          // no request gets an answer
	lies    bool          // about the size of files
	denies  *failure      // of each send; nil: none
	denial  *failed       // of each run that begins; nil: none
}

// post is a message of the bot.
type post struct {
	id, chat, text, file string
	content              []byte
	buttons              [][]button
	gone                 bool
	line                 command
}

func newPlatform(r ready) *platform {
	return &platform{ready: r, again: 5 * time.Second, keys: map[string]string{}}
}

// able is a program that can do everything.
var able = ready{Type: typeReady, Version: version, Abilities: []string{
	"groups", "threads", "typing", "edit", "reactions", "buttons", "files in", "files out", "menu", "format", "idempotent send",
}, Bounds: bounds{Message: 500, Messages: 60, TypingMS: 4000}}

// run is one run of the program; it implements handle.
type run struct {
	p      *platform
	in     *bufio.Reader // from the gateway
	out    net.Conn      // to the gateway
	write  chan struct{} // of one; held over a write: time goes on while another waits for it
	seq    int64
	given  map[int64]int // the message that was given as seq
	ended  chan struct{}
	killed bool
	stop   context.CancelFunc
	all    sync.WaitGroup
}

// start is the start of Platform.
func (p *platform) start(context.Context) (*program, error) {
	in, stdin := net.Pipe()
	stdout, out := net.Pipe()
	r := &run{p: p, in: bufio.NewReader(stdin), out: out, given: map[int64]int{}, write: make(chan struct{}, 1), ended: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = func() { stop(); _, _ = stdin.Close(), out.Close() }
	p.mu.Lock()
	p.runs = append(p.runs, r)
	p.mu.Unlock()
	go func() {
		defer close(r.ended)
		r.serve(ctx)
		r.stop()
		r.all.Wait()
	}()
	return &program{handle: r, in: in, out: stdout}, nil
}

func (r *run) Wait(ctx context.Context) (process.Exit, error) {
	select {
	case <-r.ended:
		return process.Exit{}, nil
	case <-ctx.Done():
		return process.Exit{}, ctx.Err()
	}
}

func (r *run) Exited() (process.Exit, bool) {
	select {
	case <-r.ended:
		return process.Exit{}, true
	default:
		return process.Exit{}, false
	}
}

func (r *run) Killed() bool     { return r.killed }
func (r *run) LastLine() string { return "" }

func (r *run) Kill(context.Context, time.Duration) process.Report {
	if _, over := r.Exited(); !over {
		r.killed = true
	}
	r.stop()
	<-r.ended
	return process.Report{Verified: true}
}

// say writes a line.
func (r *run) say(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	r.write <- struct{}{}
	defer func() { <-r.write }()
	_, _ = r.out.Write(append(text, '\n')) // the gateway may be gone
}

// serve does what the protocol asks of a program.
func (r *run) serve(ctx context.Context) {
	for {
		text, err := r.in.ReadBytes('\n')
		if err != nil {
			return
		}
		var c command
		if err := json.Unmarshal(text, &c); err != nil {
			panic(err)
		}
		r.p.mu.Lock()
		r.p.writes = append(r.p.writes, string(text))
		r.p.mu.Unlock()
		switch c.Type {
		case typeHello:
			if !r.hello() {
				return
			}
			r.all.Go(func() { r.give(ctx) })
		case typeStop:
			return
		case typeTook, typeRefused, typeLater:
			r.p.mu.Lock()
			if i, is := r.given[c.Seq]; is && c.Type != typeLater {
				r.p.kept[i] = true
			}
			r.p.mu.Unlock()
		default:
			r.p.mu.Lock()
			answers := !r.p.deaf && (c.Type == typePing || r.p.fault != "half-dead" && !slices.Contains(r.p.dumb, c.Type))
			r.p.mu.Unlock()
			if answers {
				answer := r.p.carryOut(c)
				answer.Type, answer.ID = typeResult, c.ID
				r.all.Go(func() { r.say(answer) }) // it reads on
			}
		}
	}
}

// hello answers the first line, and reports whether the program goes on.
func (r *run) hello() bool {
	r.p.mu.Lock()
	fault, ready, denial := r.p.fault, r.p.ready, r.p.denial
	r.p.mu.Unlock()
	if denial != nil {
		denial.Type = typeFailed
		r.say(denial)
		return false
	}
	switch fault {
	case "bad token":
		r.say(failed{Type: typeFailed, Code: codeCredentials, Variable: "MATTERMOST_TOKEN", Text: "the server says 401"})
		return false
	case "conflict":
		r.say(failed{Type: typeFailed, Code: codeConflict, Text: "another session replaced this one"})
		return false
	case "gone":
		r.say(failed{Type: typeFailed, Code: "error", Text: "connection refused"})
		return false
	case "half-dead":
		return true // it is never ready
	}
	r.say(ready)
	return true
}

// give gives the gateway the messages that it has not answered, and those again that it did not take.
func (r *run) give(ctx context.Context) {
	given := map[int]time.Time{}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			for {
				m, is := r.next(given, now)
				if !is {
					break
				}
				r.say(m)
			}
		}
	}
}

func (r *run) next(given map[int]time.Time, now time.Time) (message, bool) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	if r.p.fault == "half-dead" {
		return message{}, false
	}
	for i, m := range r.p.said {
		if at, was := given[i]; !r.p.kept[i] && (!was || now.Sub(at) >= r.p.again) {
			r.seq++
			m.Seq, given[i], r.given[r.seq] = r.seq, now, i
			return m, true
		}
	}
	return message{}, false
}

// carryOut carries out a request.
func (p *platform) carryOut(c command) (out result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	refused := &failure{Code: codeRefused, Text: "not found"}
	if c.Type == typeSend || c.Type == typeFile {
		switch {
		case p.denies != nil:
			out.Error = p.denies
			return out
		case p.fault == "flood":
			out.Error = &failure{Code: codeRateLimit, Text: "slow down", RetryMS: 7000}
			return out
		case p.fault == "refusal":
			out.Error = &failure{Code: codeRefused, Text: "the chat is gone"}
			return out
		}
	}
	switch c.Type {
	case typePing:
		if !p.quiet.IsZero() {
			out.QuietMS = time.Since(p.quiet).Milliseconds()
		}
	case typeSend, typeFile:
		if id := p.keys[c.Key]; c.Key != "" && id != "" {
			out.Messages = []string{id}
			return out
		}
		one := &post{id: fmt.Sprintf("b%d", len(p.posts)+1), chat: c.Chat, text: c.Text, buttons: c.Buttons, line: c}
		if c.Type == typeFile {
			one.file, one.content, one.text = c.Name, c.Content, c.Caption
		}
		p.posts = append(p.posts, one)
		p.keys[c.Key] = one.id
		out.Messages = []string{one.id}
	case typeEdit, typeDelete:
		i := slices.IndexFunc(p.posts, func(o *post) bool { return o.id == c.Message && o.chat == c.Chat && (!o.gone || c.Type == typeDelete) })
		switch {
		case i < 0:
			out.Error = refused
		case c.Type == typeDelete:
			p.posts[i].gone = true
		default:
			p.posts[i].text, p.posts[i].buttons = c.Text, c.Buttons
		}
	case typeTyping:
		p.typed++
	case typeReact:
		i := slices.IndexFunc(p.said, func(m message) bool { return m.ID == c.Message })
		if i < 0 || c.Emoji == "no emoji" {
			out.Error = refused
			return out
		}
		if p.signs[i] = nil; c.Emoji != "" {
			p.signs[i] = []string{c.Emoji}
		}
	case typeFetch:
		var i int
		if _, err := fmt.Sscanf(c.Ref, "file-%d", &i); err != nil || i >= len(p.content) || int64(len(p.content[i])) > c.Most && !p.lies {
			out.Error = refused
			return out
		}
		out.Content = p.content[i]
	case typeMenu:
		p.menu = c.Commands
	}
	return out
}

// hear is a message of a person, and returns its id.
func (p *platform) hear(m message) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.Type = typeMessage
	if m.ID == "" {
		m.ID = fmt.Sprintf("m%d", len(p.said)+1)
	}
	p.said, p.kept, p.signs = append(p.said, m), append(p.kept, false), append(p.signs, nil)
	return m.ID
}

// sent are the messages of the bot as they stand.
func (p *platform) sent() (all []post) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.posts {
		if !o.gone {
			all = append(all, *o)
		}
	}
	return all
}

// lines are the lines of this type that the gateway has written.
func (p *platform) lines(typ string) (all []command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.writes {
		var c command
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			panic(err)
		}
		if c.Type == typ {
			all = append(all, c)
		}
	}
	return all
}

// fails makes runs and requests fail from now on; empty: none.
func (p *platform) fails(fault string) {
	p.mu.Lock()
	p.fault = fault
	p.quiet = time.Time{}
	if fault == "half-dead" {
		p.quiet = time.Now()
	}
	runs := slices.Clone(p.runs)
	p.mu.Unlock()
	if fault != "gone" {
		return
	}
	for _, r := range runs {
		if _, over := r.Exited(); !over {
			r.say(failed{Type: typeFailed, Code: "error", Text: "the server closed the connection"})
		}
	}
}

// over fails the test unless every run has ended.
func (p *platform) over(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.runs {
		if _, over := r.Exited(); !over {
			t.Errorf("run %d of the program has not ended", i)
		}
	}
}

var _ handle = (*run)(nil)

// direct is a message to the bot alone.
func direct(user, text string) message {
	return message{Chat: "d-" + user, Kind: adapter.ChatDM, User: person(user), Text: text}
}

func person(id string) user { return user{ID: id, Name: "name of " + id} }
