package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gatewaytui/core/adapter/external"
	"gatewaytui/core/process"
	"gatewaytui/core/process/pipe"
	"gatewaytui/core/term"
)

// Bounds of the protocol.
const (
	readyMost  = 25 * time.Second // until a program is ready
	answerMost = 15 * time.Second // until it answers a ping
	lineMost   = 32 << 20         // of a line, in bytes
	junkMost   = 64 << 10         // of what is not a line of the protocol, one after the other
)

// said is what a program writes, as far as the rows look at it.
type said struct {
	Type      string   `json:"type"`
	ID        int64    `json:"id"`
	Seq       int64    `json:"seq"`
	Abilities []string `json:"abilities"`
	Code      string   `json:"code"`
	Text      string   `json:"text"`
	Variable  string   `json:"variable"`
	QuietMS   int64    `json:"quiet_ms"`
	Error     *struct {
		Code string `json:"code"`
		Text string `json:"text"`
	} `json:"error"`
	wrong error
}

// fields are those of a line for the program.
type fields map[string]any

// program is one run of a program that a row speaks to itself.
type program struct {
	s       *stage
	p       *process.Process
	in, out *os.File
	// lines are what it writes, up to the end of its standard output; read is closed when nothing reads it any more.
	lines  chan string
	read   chan struct{}
	broken error // why lines ended; nil: its standard output did. It is read after the end of lines
	over   chan struct{}
	lastID int64
}

// start starts the program under test with the variables of env, and writes nothing to it.
func (s *stage) start(env map[string]string) *program {
	p, err := s.spawn(s.ctx, process.Spec{
		Argv: s.o.Command, Dir: s.o.Workdir, Pipes: true, Policy: process.PolicyGateway, OutputLimit: outputKept, Owner: "adapter:" + s.o.Name,
	}, env)
	if err != nil {
		s.Fatal(err)
	}
	r := &program{s: s, p: p, lines: make(chan string, 64), read: make(chan struct{}), over: make(chan struct{})}
	r.in, r.out = p.Pipes()
	s.programs = append(s.programs, r)
	go r.reading()
	return r
}

// reading reads lines until the end of the standard output. hangUp ends it and waits for it.
func (p *program) reading() {
	defer close(p.read)
	defer close(p.lines)
	in := bufio.NewReaderSize(p.out, 64<<10)
	for {
		line, err := pipe.ReadLine(in, lineMost)
		switch {
		case errors.Is(err, pipe.ErrLong):
			p.broken = fmt.Errorf("wrote a line of more than %d bytes", lineMost)
			return
		case err != nil: // its end, or hangUp
			return
		}
		select {
		case p.lines <- strings.TrimSpace(string(line)):
		case <-p.over:
			return
		}
	}
}

// hangUp closes the streams of the program, and looks at what it wrote that the row did not wait for.
func (p *program) hangUp() {
	close(p.over)
	_, _ = p.in.Close(), p.out.Close()
	<-p.read
	for text := range p.lines {
		p.parse(text)
	}
}

// write writes lines to the program as they are.
func (p *program) write(lines ...string) {
	err := pipe.Write(p.s.ctx, p.in, []byte(strings.Join(lines, "\n")+"\n"), 0)
	switch {
	case p.s.ctx.Err() != nil:
		p.s.Fatal("it was being written to at the end of the row")
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.s.Fatal("it does not read its standard input")
	case err != nil:
		p.s.Fatalf("it closed its standard input: it %s", p.ended())
	}
}

// tell writes one line of a type.
func (p *program) tell(kind string, f fields) {
	line := fields{"type": kind}
	for k, v := range f {
		line[k] = v
	}
	text, err := json.Marshal(line)
	if err != nil {
		p.s.Fatalf("the settings: %v", err)
	}
	p.write(string(text))
}

// ask writes a request and returns its id.
func (p *program) ask(kind string, f fields) int64 {
	p.lastID++
	f["id"] = p.lastID
	p.tell(kind, f)
	return p.lastID
}

// next is the next line of the protocol that the program writes within d, but for messages, which it keeps. why is empty, or says why there is
// none.
func (p *program) next(d time.Duration) (line said, why string) {
	ctx, cancel := context.WithTimeout(p.s.ctx, d)
	defer cancel()
	junk := 0 // bytes since the last line
	for {
		var text string
		var open bool
		select {
		case text, open = <-p.lines:
		case <-ctx.Done():
			return said{}, fmt.Sprintf("wrote nothing more within %s", d.Round(time.Second))
		}
		if !open {
			return said{}, p.end()
		}
		line, ok := p.parse(text)
		if junk += len(text); ok {
			junk = 0
		}
		switch {
		case !ok && junk > junkMost:
			p.s.Fatalf("it wrote more than %d KiB that are not lines of the protocol", junkMost>>10)
		case !ok:
		case line.Type == "message":
			p.tell("later", fields{"seq": line.Seq})
		default:
			return line, ""
		}
	}
}

// parse reads a line, and records a fault of it. The line ready keeps its own.
func (p *program) parse(text string) (line said, ok bool) {
	p.s.lines++
	read := line.read([]byte(text))
	switch line.wrong = external.Check([]byte(text)); {
	case line.wrong != nil:
	case read != nil:
		line.wrong = read
	case line.Type == "":
		line.wrong = errors.New("it has no type")
	}
	if line.Type == "failed" {
		p.s.look("its failure", text)
	}
	if line.wrong != nil && line.Type != "ready" {
		p.s.unread.add(fmt.Sprintf("%s: %v", cut(text), line.wrong))
		return said{}, false
	}
	return line, true
}

// read reads a line. Of a message, whose id is a text, it reads the type and the seq.
func (l *said) read(text []byte) error {
	var head struct {
		Type string `json:"type"`
		Seq  int64  `json:"seq"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	if head.Type == "message" {
		l.Type, l.Seq = head.Type, head.Seq
		return nil
	}
	return json.Unmarshal(text, l)
}

// end says how the output of the program ended, after the end of lines.
func (p *program) end() string {
	if p.broken != nil {
		return p.broken.Error()
	}
	return p.ended()
}

// ended says how the program ended.
func (p *program) ended() string {
	exit, over := p.exit(endMost)
	last := p.p.LastLine()
	switch {
	case !over:
		return "closed a stream and runs on"
	case last == "":
		return fmt.Sprintf("ended with code %d", exit.Code)
	}
	return fmt.Sprintf("ended with code %d; its last line: %s", exit.Code, last)
}

// exit waits until the program has ended.
func (p *program) exit(d time.Duration) (process.Exit, bool) {
	ctx, cancel := context.WithTimeout(p.s.ctx, d)
	defer cancel()
	exit, err := p.p.Wait(ctx)
	return exit, err == nil
}

// hello begins the conversation. As the gateway does, it leaves out what is empty.
func (p *program) hello(f fields) {
	line := fields{"version": 1, "adapter": p.s.o.Name}
	if settings := p.s.settings(); len(settings) > 0 {
		line["settings"] = settings
	}
	if len(p.s.o.Groups) > 0 {
		line["groups"] = p.s.o.Groups
	}
	for k, v := range f {
		line[k] = v
	}
	p.tell("hello", line)
}

// ready is a program that is connected.
func (s *stage) ready() *program {
	p := s.start(s.env())
	p.hello(nil)
	p.isReady()
	return p
}

// isReady waits until the program is, and ends the row if it is not.
func (p *program) isReady() said {
	line, why := p.next(readyMost)
	switch {
	case why != "":
		p.s.Fatalf("it is not ready: it %s", why)
	case line.Type == "failed":
		p.s.Fatalf("it is not ready: it failed with the code %q: %s", line.Code, line.Text)
	case line.Type != "ready":
		p.s.Fatalf("its first line has the type %q, want ready or failed", line.Type)
	case line.wrong != nil:
		p.s.Fatal(line.wrong)
	}
	return line
}

// ping asks for a sign of life and waits for it.
func (p *program) ping(f fields) {
	id, until := p.ask("ping", f), time.Now().Add(answerMost)
	for {
		line, why := p.next(time.Until(until))
		switch {
		case why != "":
			p.s.Fatalf("a ping has no result: it %s", why)
		case line.Type == "failed":
			p.s.Fatalf("a ping has no result: it failed with the code %q: %s", line.Code, line.Text)
		case line.Type == "result" && line.ID == id:
			return
		}
	}
}

// cut is a text of the program as a fault has it.
func cut(text string) string {
	const most = 80
	return fmt.Sprintf("%q", term.Clean(text, most))
}
