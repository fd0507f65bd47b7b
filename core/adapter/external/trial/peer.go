package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gatewaytui/core/process"
	"gatewaytui/core/process/pipe"
	"gatewaytui/core/term"
)

// peerMost bounds the start of a peer and each of its answers.
const peerMost = 10 * time.Second

// peer is the program that plays the platform, in one row. It belongs to the row's goroutine.
type peer struct {
	*stage
	p       *process.Process
	in, out *os.File
	lines   *bufio.Reader
	hello   hello
	lastID  int64
}

// hello is the first line of a peer: what the program under test gets.
type hello struct {
	Ready    bool              `json:"ready"`
	Settings map[string]any    `json:"settings"`
	Env      map[string]string `json:"env"`
}

// sentFile is a file as a peer has it.
type sentFile struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
	Text    string `json:"text"`
}

// reply is what a peer answers.
type reply struct {
	ID        int64      `json:"id"`
	OK        bool       `json:"ok"`
	Texts     []string   `json:"texts"`
	Files     []sentFile `json:"files"`
	Reactions []string   `json:"reactions"`
	Error     string     `json:"error"`
}

// open starts the peer.
func (p *peer) open() {
	var err error
	p.p, err = p.o.Spawn(p.ctx, process.Spec{
		Argv: p.o.Peer, Dir: p.o.Workdir, Pipes: true, Policy: process.PolicyGateway, OutputLimit: outputKept, Owner: "adapter:" + p.o.Name,
	})
	if err != nil {
		p.Fatalf("the peer: %v", err)
	}
	p.in, p.out = p.p.Pipes()
	p.lines = bufio.NewReaderSize(p.out, 64<<10)
	if err := p.within(func() error { return p.read(&p.hello) }); err != nil {
		p.Fatalf("the peer: its first line: %v", err)
	}
	if !p.hello.Ready {
		p.Fatal("the peer: its first line does not say ready")
	}
}

// close ends the peer.
func (p *peer) close() {
	if p.p == nil {
		return
	}
	_ = p.in.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), endMost)
	defer cancel()
	_, _ = p.p.Wait(ctx) // what has not ended is killed
	p.kill(p.p)
	_ = p.out.Close()
}

// within runs f, whose reads of the peer end with the row, and after peerMost.
func (p *peer) within(f func() error) error {
	ctx, cancel := context.WithTimeout(p.ctx, peerMost)
	defer cancel()
	_ = p.out.SetReadDeadline(time.Time{}) // of a pipe
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = p.out.SetReadDeadline(time.Now())
	})
	err := f()
	if !stop() {
		<-ended // so that it does not end the next reads
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && p.ctx.Err() == nil {
		return fmt.Errorf("no answer within %s", peerMost)
	}
	return err
}

// read reads one line into v.
func (p *peer) read(v any) error {
	line, err := pipe.ReadLine(p.lines, lineMost)
	if errors.Is(err, io.EOF) {
		ctx, cancel := context.WithTimeout(p.ctx, endMost)
		defer cancel()
		_, _ = p.p.Wait(ctx) // its last line is known when it has ended
		return fmt.Errorf("it ended; its last line: %s", term.Clean(p.p.LastLine(), 200))
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("%s: %w", cut(string(line)), err)
	}
	return nil
}

// ask has the peer do something.
func (p *peer) ask(do string, f fields) (reply, error) {
	if p.ctx.Err() != nil {
		return reply{}, p.ctx.Err()
	}
	p.lastID++
	line := fields{"id": p.lastID, "do": do}
	for k, v := range f {
		line[k] = v
	}
	text, err := json.Marshal(line)
	if err != nil {
		return reply{}, err
	}
	if err := pipe.Write(p.ctx, p.in, append(text, '\n'), 0); err != nil {
		return reply{}, err
	}
	var r reply
	err = p.within(func() error {
		for r.ID != p.lastID { // others are answers that came late
			r = reply{}
			if err := p.read(&r); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && r.Error != "" {
		err = errors.New(strings.TrimSpace(term.Clean(r.Error, 200)))
	}
	return r, err
}

// must is ask for what a peer does in any case.
func (p *peer) must(do string, f fields) reply {
	r, err := p.ask(do, f)
	if err != nil {
		p.Fatalf("the peer, asked to do %q: %v", do, err)
	}
	return r
}
