package external

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// programArgument makes the test binary the program of an adapter, which behaves as the next argument says.
const programArgument = "program-of-an-adapter"

// tokenVariable is passed to the programs.
const tokenVariable = "EXTERNAL_TEST_TOKEN"

// pidFile has the pid of a process that a program started, and stopFile is written by one that was asked to stop. Both are in its folder.
const (
	pidFile  = "child.pid"
	stopFile = "stopped"
)

// stdio is the other end of the pipes.
type stdio struct{ in *bufio.Reader }

func (s stdio) say(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(append(text, '\n')) // the gateway may be gone
}

// hear is the next line of the gateway; false: there is none.
func (s stdio) hear() (c command, is bool) {
	text, err := s.in.ReadBytes('\n')
	if err != nil {
		return c, false
	}
	if err := json.Unmarshal(text, &c); err != nil {
		panic(err)
	}
	return c, true
}

// beProgram is the program of an adapter.
func beProgram(behaviour string) {
	s := stdio{bufio.NewReaderSize(os.Stdin, 1<<20)}
	if _, greeted := s.hear(); !greeted {
		return
	}
	be := behaviours[behaviour]
	if be == nil {
		panic("there is no behaviour " + behaviour)
	}
	be(s)
}

var forEver = make(chan struct{})

// behaviours are what a program can do after hello.
var behaviours = map[string]func(s stdio){
	"good":        good,
	"never-ready": func(s stdio) { fmt.Fprintln(os.Stderr, "still thinking"); s.drain() },
	"frozen":      func(s stdio) { s.say(able); <-forEver },
	"flood": func(s stdio) {
		s.say(able)
		m := direct(owner, "hello")
		for m.Type = typeMessage; ; {
			m.Seq++
			m.ID = fmt.Sprint(m.Seq)
			s.say(m)
		}
	},
	"garbage": func(s stdio) {
		s.say(able)
		for {
			_, _ = os.Stdout.WriteString(strings.Repeat("garbage ", 100) + "\n")
		}
	},
	"endless": func(s stdio) {
		s.say(able)
		for {
			_, _ = os.Stdout.WriteString(strings.Repeat("x", 1<<16))
		}
	},
	"exits":    func(stdio) { fmt.Fprintln(os.Stderr, "no config file"); os.Exit(3) },
	"stubborn": stubborn,
	"orphan":   func(s stdio) { s.say(able); startChild(); os.Exit(4) },
	"wrong-ids": func(s stdio) {
		s.say(able)
		for {
			c, is := s.hear()
			if !is || c.Type == typeStop {
				return
			}
			for _, id := range []int64{c.ID + 1000, -1, 0} {
				s.say(result{Type: typeResult, ID: id, Messages: []string{"m"}})
			}
			if c.Type == typePing {
				s.say(result{Type: typeResult, ID: c.ID})
			}
		}
	},
	"tells": func(s stdio) {
		text := "\x1b[2J\x1b]0;owned\x07 the token " + os.Getenv(tokenVariable) + " is bad\u202e"
		fmt.Fprintln(os.Stderr, text)
		s.say(failed{Type: typeFailed, Code: codeCredentials, Variable: "A\x1b[2J" + os.Getenv(tokenVariable), Text: text})
	},
	"dies-telling": func(stdio) {
		fmt.Fprintln(os.Stderr, "\x1b[2J the token "+os.Getenv(tokenVariable)+" is bad")
		os.Exit(5)
	},
	"closes": func(s stdio) { s.say(able); _ = os.Stdout.Close(); s.drain(); <-forEver },
}

// drain reads until the input ends.
func (s stdio) drain() {
	for {
		if _, is := s.hear(); !is {
			return
		}
	}
}

// good answers each request, and says what it was sent.
func good(s stdio) {
	s.say(able)
	seq := int64(0)
	for {
		c, is := s.hear()
		if !is {
			return
		}
		answer := result{Type: typeResult, ID: c.ID}
		switch c.Type {
		case typeStop:
			if err := os.WriteFile(stopFile, nil, 0o600); err != nil {
				panic(err)
			}
			return
		case typeTook, typeRefused, typeLater:
			continue
		case typeSend:
			answer.Messages = []string{"b1"}
			seq++
			m := direct(owner, c.Text)
			m.Type, m.Seq, m.ID = typeMessage, seq, fmt.Sprint(seq)
			s.say(m)
		case typeFetch:
			answer.Content = []byte(strings.Repeat("x", int(c.Most)))
		}
		s.say(answer)
	}
}

// stubborn heeds nothing but KILL, and neither does its child.
func stubborn(s stdio) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	startChild()
	s.say(able)
	for {
		c, is := s.hear()
		if !is {
			<-forEver
		}
		if c.ID > 0 {
			s.say(result{Type: typeResult, ID: c.ID})
		}
	}
}

// startChild starts a process in a session of its own that heeds nothing but KILL and holds the pipes.
func startChild() {
	child := exec.Command("sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1; done")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		panic(err)
	}
	if err := os.WriteFile(pidFile, []byte(fmt.Sprint(child.Process.Pid)), 0o600); err != nil {
		panic(err)
	}
	time.Sleep(50 * time.Millisecond) // modelled: a program whose child has set its traps
}
