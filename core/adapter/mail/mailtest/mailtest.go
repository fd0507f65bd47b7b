// Package mailtest is a mail server for tests: a mailbox over IMAP and submission over SMTP, both by the authors of go-imap and
// go-smtp, with people who write mail and with the ways in which such servers fail. What the bot sent is read by their parser, too.
//
// It promises that every connection and goroutine of it ends with Close.
package mailtest

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-smtp"
)

// Bot is the address of the bot, and its name for the login.
const Bot = "bot@gateway.example"

// Server is the mail server of one mailbox. Its methods may be called from any goroutine.
type Server struct {
	// IMAP and SMTP are where it listens, as host:port.
	IMAP, SMTP string
	// Folder is the folder of the mailbox.
	folder string

	password string
	mailbox  *imapmemserver.User
	imap     *imapserver.Server
	smtp     *smtp.Server
	listens  []net.Listener
	serves   sync.WaitGroup
	closed   chan struct{}

	conns  sync.Map // the open ones, each a *line
	mu     sync.Mutex
	waits  map[chan struct{}]bool // of the sessions in IDLE
	faults Faults
	sent   []Message
	lastID int
	logins int
	uids   map[string]imap.UID // of the messages that were said, by their Message-ID
}

// Faults are what is wrong with the server. The zero value is nothing.
type Faults struct {
	// BadPassword refuses the login, at IMAP and at SMTP; BadMailbox at IMAP alone, BadSubmission at SMTP alone.
	BadPassword, BadMailbox, BadSubmission bool
	// Recipient is the answer to each recipient, and Content the one to each message; nil: it is taken.
	Recipient, Content *smtp.SMTPError
	// Gone closes each connection that begins, without a word.
	Gone bool
	// Silent lets connections say nothing more. Those that begin may write Words times before.
	Silent bool
	Words  int
	// Unacknowledged takes the text of each message and never answers; Lost also forgets it.
	Unacknowledged, Lost bool
}

// Options are what the server is like.
type Options struct {
	// NoIdle is a server that cannot tell of messages as they arrive.
	NoIdle bool
	// Folder is the folder with the messages; empty: INBOX.
	Folder string
	// TLS is for STARTTLS; nil: there is none.
	TLS *tls.Config
}

// New returns a server on two ports of loopback.
func New(password string, o Options) *Server {
	var config net.ListenConfig
	var listeners [2]net.Listener
	for i := range listeners {
		l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0") // it does not wait
		if err != nil {
			panic(err)
		}
		listeners[i] = l
	}
	s := Unstarted(password, o)
	s.IMAP, s.SMTP = listeners[0].Addr().String(), listeners[1].Addr().String()
	s.Serve(listeners[0], listeners[1])
	return s
}

// Unstarted returns a server that listens nowhere.
func Unstarted(password string, o Options) *Server {
	s := &Server{password: password, waits: map[chan struct{}]bool{}, closed: make(chan struct{}), uids: map[string]imap.UID{}, folder: "INBOX"}
	s.mailbox = imapmemserver.NewUser(Bot, password)
	if o.Folder != "" {
		s.folder = o.Folder
	}
	for _, name := range slices.Compact([]string{"INBOX", s.folder}) {
		if err := s.mailbox.Create(name, nil); err != nil {
			panic(err)
		}
	}
	caps := imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapIMAP4rev2: {}, imap.CapIdle: {}}
	if o.NoIdle { // IMAP4rev2 has it built in
		caps = imap.CapSet{imap.CapIMAP4rev1: {}}
	}
	all := imapmemserver.New()
	all.AddUser(s.mailbox)
	s.imap = imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return &mailSession{SessionIMAP4rev2: all.NewSession().(imapserver.SessionIMAP4rev2), s: s}, nil, nil
		},
		Caps: caps, InsecureAuth: true, TLSConfig: o.TLS, Logger: log.New(io.Discard, "", 0),
	})
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &submission{s: s}, nil }))
	s.smtp.Domain, s.smtp.AllowInsecureAuth, s.smtp.TLSConfig, s.smtp.ErrorLog = "gateway.example", true, o.TLS, log.New(io.Discard, "", 0)
	s.smtp.MaxMessageBytes = 80 << 20
	return s
}

// Serve serves both protocols until Close. It returns once they are served.
func (s *Server) Serve(imap, submission net.Listener) {
	s.listens = []net.Listener{imap, submission}
	mails, submissions := &listener{Listener: imap, s: s, accepts: make(chan struct{})}, &listener{Listener: submission, s: s, accepts: make(chan struct{})}
	s.serves.Go(func() { _ = s.imap.Serve(mails) })       // it ends with the listener
	s.serves.Go(func() { _ = s.smtp.Serve(submissions) }) // the same
	<-mails.accepts                                       // both at once: neither waits for anything before
	<-submissions.accepts
}

// Close ends the server and every connection to it.
func (s *Server) Close() {
	close(s.closed)
	_ = s.imap.Close() // both have no more to say
	_ = s.smtp.Close()
	for _, l := range s.listens {
		_ = l.Close()
	}
	s.Drop()
	s.serves.Wait()
}

// Fail makes the server fail from now on; the zero value heals it.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
	for c := range s.open {
		c.words.Store(0)
		c.silent.Store(f.Silent)
	}
}

// Drop breaks off every connection.
func (s *Server) Drop() {
	for c := range s.open {
		_ = c.Close() // it is over either way
	}
}

// open are the open connections.
func (s *Server) open(yield func(*line) bool) {
	s.conns.Range(func(c, _ any) bool { return yield(c.(*line)) })
}

// Connections is how many connections are open.
func (s *Server) Connections() (n int) {
	for range s.open {
		n++
	}
	return n
}

// Logins is how many logins there were at IMAP.
func (s *Server) Logins() int { s.mu.Lock(); defer s.mu.Unlock(); return s.logins }

func (s *Server) wrong() Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

// mailSession is a session of IMAP.
type mailSession struct {
	imapserver.SessionIMAP4rev2
	s *Server
}

func (m *mailSession) Login(user, password string) error {
	if f := m.s.wrong(); f.BadPassword || f.BadMailbox || !strings.EqualFold(user, Bot) || password != m.s.password {
		return imapserver.ErrAuthFailed
	}
	m.s.mu.Lock()
	m.s.logins++
	m.s.mu.Unlock()
	return m.SessionIMAP4rev2.Login(Bot, password)
}

// Idle tells of messages until stop. The session's own says nothing of those that came just before it.
func (m *mailSession) Idle(w *imapserver.UpdateWriter, stop <-chan struct{}) error {
	arrived := make(chan struct{}, 1)
	m.s.mu.Lock()
	m.s.waits[arrived] = true
	m.s.mu.Unlock()
	defer func() {
		m.s.mu.Lock()
		delete(m.s.waits, arrived)
		m.s.mu.Unlock()
	}()
	for {
		if err := m.Poll(w, true); err != nil {
			return err
		}
		select {
		case <-arrived:
		case <-stop:
			return nil
		}
	}
}

// listener is a listener whose connections the server steers.
type listener struct {
	net.Listener
	s       *Server
	once    sync.Once
	accepts chan struct{} // closed with the first Accept
}

func (l *listener) Accept() (net.Conn, error) {
	l.once.Do(func() { close(l.accepts) })
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.s.mu.Lock()
		f := l.s.faults
		c := &line{Conn: conn, s: l.s}
		c.words.Store(int64(f.Words))
		c.silent.Store(f.Silent)
		if !f.Gone {
			l.s.conns.Store(c, nil)
		}
		l.s.mu.Unlock()
		if !f.Gone {
			return c, nil
		}
		_ = conn.Close() // its client sees the end
	}
}

// line is one connection.
type line struct {
	net.Conn
	s *Server
	// silent swallows what is written, after words writes.
	silent atomic.Bool
	words  atomic.Int64
}

func (c *line) Write(text []byte) (int, error) {
	if c.silent.Load() && c.words.Add(-1) < 0 {
		return len(text), nil
	}
	return c.Conn.Write(text)
}

func (c *line) Close() error {
	c.s.conns.Delete(c)
	return c.Conn.Close()
}
