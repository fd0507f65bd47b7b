// Package irctest is an IRC server for tests, written from RFC 2812 and the IRCv3 specifications: one network with a bot, people who
// speak, and the ways in which such servers fail.
//
// Every connection and goroutine of it ends with Close. It takes a line of the bot only as servers do (512 bytes
// without tags). A message to people is refused or has come back before the next line is read.
package irctest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are what the server is like.
type Options struct {
	// Caps are its capabilities, "sasl=PLAIN" for instance; nil: it knows no CAP.
	Caps []string
	// Password is that of the accounts and, without sasl, of the server; empty: none is asked for.
	Password string
	// Deaf says nothing to a CAP.
	Deaf bool
}

// Modern are the capabilities of a server of today.
var Modern = []string{"account-tag", "echo-message", "message-tags", "server-time", "multi-prefix", "sasl=EXTERNAL,PLAIN"}

// Person speaks. Account is their services account; empty: they are not logged in.
type Person struct{ Nick, Host, Account string }

// source is the person as the server names them.
func (p Person) source() string { return p.Nick + "!" + strings.ToLower(p.Nick) + "@" + p.Host }

// Sent is a message of the bot.
type Sent struct{ To, Text string }

// Faults are what is wrong with the server. The zero value is nothing.
type Faults struct {
	// NickTaken, BadPassword and Gone refuse a connection that begins.
	NickTaken, BadPassword, Gone bool
	// Silent answers nothing any more.
	Silent bool
	// Flood, NoSuch and NoCodes refuse messages: as too fast, as to no one, and those with control codes.
	Flood, NoSuch, NoCodes bool
	// NoJoin refuses to let the bot into channels.
	NoJoin bool
	// Unconfirmed takes messages and loses what comes back.
	Unconfirmed bool
}

// Server is the server. Its methods may be called from any goroutine.
type Server struct {
	// Addr is where it listens, as host:port.
	Addr string

	o      Options
	listen net.Listener
	serves sync.WaitGroup

	mu     sync.Mutex
	faults Faults
	conns  map[*client]bool
	sent   []Sent
	lines  []string // of clients
	queue  []string // for the bot, when it comes
	ids    int
}

// New returns a server on a port of loopback.
func New(o Options) *Server {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0") // it does not wait
	if err != nil {
		panic(err)
	}
	s := Unstarted(o)
	s.Addr = l.Addr().String()
	s.Serve(l)
	return s
}

// Unstarted returns a server that listens nowhere.
func Unstarted(o Options) *Server { return &Server{o: o, conns: map[*client]bool{}} }

// Serve serves the listener until Close.
func (s *Server) Serve(l net.Listener) {
	s.listen = l
	s.serves.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			c := &client{Conn: conn, s: s, caps: map[string]bool{}, channels: map[string]bool{}}
			gone := s.faults.Gone
			if !gone {
				s.conns[c] = true
			}
			s.mu.Unlock()
			if gone {
				_ = conn.Close() // its client sees the end
				continue
			}
			s.serves.Go(c.serve)
		}
	})
}

// Close ends the server and every connection to it.
func (s *Server) Close() {
	_ = s.listen.Close() // it has no more to say
	s.Drop()
	s.serves.Wait()
}

// Drop breaks off every connection.
func (s *Server) Drop() {
	s.mu.Lock()
	conns := s.conns
	s.conns = map[*client]bool{}
	s.mu.Unlock()
	for c := range conns {
		_ = c.Close() // it is over either way
	}
}

// Fail makes the server fail from now on; the zero value heals it.
func (s *Server) Fail(f Faults) { s.mu.Lock(); defer s.mu.Unlock(); s.faults = f }

// Connections is how many clients are connected.
func (s *Server) Connections() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.conns) }

// Sent are the messages of the bot, in order.
func (s *Server) Sent() []Sent { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.sent) }

// Lines are the lines of all clients, in order.
func (s *Server) Lines() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.lines) }

// In reports whether a client is in the channel.
func (s *Server) In(channel string) bool {
	c := s.bot()
	s.mu.Lock()
	defer s.mu.Unlock()
	return c != nil && c.channels[strings.ToLower(channel)]
}

// Say has a person say something to the bot or in a channel. To the bot alone, they wait until it is there.
func (s *Server) Say(p Person, to, text string) { s.Speak(p, "PRIVMSG", to, text, nil) }

// Speak is Say with a command and further tags of the message.
func (s *Server) Speak(p Person, command, to, text string, tags map[string]string) {
	s.mu.Lock()
	s.ids++
	all := map[string]string{"msgid": fmt.Sprintf("m%d", s.ids), "time": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "account": p.Account}
	s.mu.Unlock()
	for name, value := range tags {
		all[name] = value
	}
	line := fmt.Sprintf(":%s %s %s :%s", p.source(), command, to, text)
	if c := s.bot(); c != nil {
		c.tell(all, line)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, line)
}

// Raw sends a line to the bot as it is.
func (s *Server) Raw(line string) {
	if c := s.bot(); c != nil {
		c.tell(nil, line)
	}
}

// Kick puts the bot out of a channel.
func (s *Server) Kick(channel, why string) {
	c := s.bot()
	s.mu.Lock()
	delete(c.channels, strings.ToLower(channel))
	nick := c.nick
	s.mu.Unlock()
	c.tell(nil, fmt.Sprintf(":op!op@irc.example KICK %s %s :%s", channel, nick, why))
}

// bot is the client that the server has let in; nil: none.
func (s *Server) bot() *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.in {
			return c
		}
	}
	return nil
}

// client is one connection.
type client struct {
	net.Conn
	s *Server

	writes sync.Mutex
	// The rest is the server's, under its lock.
	nick, user, password  string
	negotiates, in        bool
	authenticated, plains bool
	caps, channels        map[string]bool
}

// tell writes a line with those tags that the client knows.
func (c *client) tell(tags map[string]string, line string) {
	c.s.mu.Lock()
	var known []string
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range tags {
			if !yield(name) {
				return
			}
		}
	}) {
		need := map[string]string{"time": "server-time", "account": "account-tag"}[name]
		if need == "" {
			need = "message-tags"
		}
		if c.caps[need] && (name != "account" || tags[name] != "") {
			known = append(known, name+"="+escape.Replace(tags[name]))
		}
	}
	silent := c.s.faults.Silent
	c.s.mu.Unlock()
	if silent {
		return
	}
	if len(known) > 0 {
		line = "@" + strings.Join(known, ";") + " " + line
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	_, _ = io.WriteString(c.Conn, line+"\r\n") // a client that is gone is not told
}

// escape writes the value of a tag.
var escape = strings.NewReplacer(";", `\:`, " ", `\s`, `\`, `\\`, "\r", `\r`, "\n", `\n`)

// serve reads what the client says.
func (c *client) serve() {
	defer c.Close()
	defer func() {
		c.s.mu.Lock()
		delete(c.s.conns, c)
		c.s.mu.Unlock()
	}()
	c.tell(nil, ":irc.example NOTICE * :*** Looking up your hostname...")
	lines := bufio.NewReaderSize(c.Conn, 16<<10)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		c.s.mu.Lock()
		silent := c.s.faults.Silent
		c.s.lines = append(c.s.lines, strings.TrimRight(line, "\r\n"))
		c.s.mu.Unlock()
		switch {
		case silent:
		case len(line) > 512 || !strings.HasSuffix(line, "\r\n"):
			c.tell(nil, "ERROR :Closing Link: the line is too long")
			return
		case !c.do(strings.TrimRight(line, "\r\n")):
			return
		}
	}
}
