package mailtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // what it reads may be in any
	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Says is a mail to the bot.
type Says struct {
	// From is the sender's address, Name the sender's name.
	From, Name string
	Subject    string
	Text       string
	// HTML is the text for readers of HTML; with an empty Text it is the only one.
	HTML string
	// Answers is the Message-ID of the mail that this one answers, References the older ones; empty: none.
	Answers    string
	References []string
	// Files are the contents of its files by their names.
	Files map[string]string
	// Header are more lines of the header, without their ends.
	Header []string
	// ID is its Message-ID; empty: a new one.
	ID string
	// Arrived is when it arrived; zero: now.
	Arrived time.Time
}

// Message is a mail of the bot as others read it.
type Message struct {
	// From and To are those of the envelope.
	From    string
	To      []string
	Subject string
	// Text and HTML are its texts, Files its files in order.
	Text, HTML string
	Files      []File
	ID         string
	InReplyTo  string
	References []string
	Header     mail.Header
	Raw        string
}

// File is a file of a mail.
type File struct{ Name, Type, Content string }

// Say puts a mail into the folder of the bot and returns its Message-ID, with its angle brackets.
func (s *Server) Say(m Says) string {
	s.mu.Lock()
	s.lastID++
	if m.ID == "" {
		m.ID = fmt.Sprintf("<%d@people.example>", s.lastID)
	}
	s.mu.Unlock()
	s.Put(m.ID, Text(m), m.Arrived)
	return m.ID
}

// Put puts a mail into the folder of the bot as it is, under a name for Seen.
func (s *Server) Put(name, raw string, arrived time.Time) {
	if arrived.IsZero() {
		arrived = time.Now()
	}
	data, err := s.mailbox.Append(s.folder, strings.NewReader(raw), &imap.AppendOptions{Time: arrived})
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uids[name] = data.UID
	for arrived := range s.waits {
		select {
		case arrived <- struct{}{}:
		default: // it knows of another one already
		}
	}
}

// Text is the mail as it stands in a mailbox.
func Text(m Says) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	for _, extra := range m.Header {
		b.WriteString(extra + "\r\n")
	}
	from := mail.Address{Name: m.Name, Address: m.From}
	line("From", from.String())
	line("To", Bot)
	line("Subject", m.Subject)
	line("Message-ID", m.ID)
	line("In-Reply-To", m.Answers)
	line("References", strings.TrimSpace(strings.Join(append(slices.Clone(m.References), m.Answers), " ")))
	line("Date", time.Now().Format(time.RFC1123Z))
	line("MIME-Version", "1.0")
	const mixed, either = "mixed-limit", "either-limit"
	part := func(kind, text string) {
		fmt.Fprintf(&b, "Content-Type: %s; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n%s\r\n", kind, strings.ReplaceAll(text, "\n", "\r\n"))
	}
	if len(m.Files) > 0 {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=%s\r\n\r\n--%s\r\n", mixed, mixed)
	}
	switch {
	case m.HTML != "" && m.Text != "":
		fmt.Fprintf(&b, "Content-Type: multipart/alternative; boundary=%s\r\n\r\n--%s\r\n", either, either)
		part("text/plain", m.Text)
		fmt.Fprintf(&b, "--%s\r\n", either)
		part("text/html", m.HTML)
		fmt.Fprintf(&b, "--%s--\r\n", either)
	case m.HTML != "":
		part("text/html", m.HTML)
	default:
		part("text/plain", m.Text)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		fmt.Fprintf(&b, "--%s\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=%q\r\nContent-Transfer-Encoding: base64\r\n\r\n", mixed, name)
		b.WriteString(encoded(m.Files[name]) + "\r\n")
	}
	if len(m.Files) > 0 {
		fmt.Fprintf(&b, "--%s--\r\n", mixed)
	}
	return b.String()
}

// encoded is content as base64 in lines.
func encoded(content string) string {
	var b bytes.Buffer
	h := message.Header{}
	h.Set("Content-Transfer-Encoding", "base64")
	w, err := message.CreateWriter(&b, h)
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	_, text, _ := strings.Cut(b.String(), "\r\n\r\n")
	return text
}

// Seen reports whether the mail is marked as read.
func (s *Server) Seen(id string) bool {
	s.mu.Lock()
	uid := s.uids[id]
	s.mu.Unlock()
	session := imapmemserver.NewUserSession(s.mailbox)
	if _, err := session.Select(s.folder, nil); err != nil {
		panic(err)
	}
	defer session.Close()
	seen, err := session.Search(imapserver.NumKindUID, &imap.SearchCriteria{Flag: []imap.Flag{imap.FlagSeen}}, &imap.SearchOptions{})
	if err != nil {
		panic(err)
	}
	return slices.Contains(seen.AllUIDs(), uid)
}

// Sent are the mails that the server took from the bot, in order.
func (s *Server) Sent() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// submission is a session of SMTP.
type submission struct {
	s    *Server
	user string
	from string
	to   []string
}

func (*submission) AuthMechanisms() []string { return []string{sasl.Plain} }

func (m *submission) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		f := m.s.wrong()
		if f.BadPassword || f.BadSubmission || !strings.EqualFold(user, Bot) || password != m.s.password {
			return smtp.ErrAuthFailed
		}
		m.user = user
		return nil
	}), nil
}

func (m *submission) Reset() { m.from, m.to = "", nil }

func (*submission) Logout() error { return nil }

func (m *submission) Mail(from string, _ *smtp.MailOptions) error {
	if m.user == "" {
		return smtp.ErrAuthRequired
	}
	m.from = from
	return nil
}

func (m *submission) Rcpt(to string, _ *smtp.RcptOptions) error {
	if f := m.s.wrong().Recipient; f != nil {
		return f
	}
	m.to = append(m.to, to)
	return nil
}

func (m *submission) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	f := m.s.wrong()
	if f.Content != nil {
		return f.Content
	}
	read, err := Read(raw)
	if err != nil {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: "unreadable: " + err.Error()}
	}
	read.From, read.To = m.from, m.to
	if !f.Lost {
		m.s.mu.Lock()
		m.s.sent = append(m.s.sent, read)
		m.s.mu.Unlock()
	}
	if f.Unacknowledged {
		<-m.s.closed
		return errors.New("the server is closed")
	}
	return nil
}

// Read reads a mail.
func Read(raw []byte) (m Message, err error) {
	m.Raw = string(raw)
	r, err := mail.CreateReader(bytes.NewReader(raw))
	if err != nil {
		return m, err
	}
	m.Header = r.Header
	if m.Subject, err = r.Header.Subject(); err != nil {
		return m, err
	}
	m.ID, m.InReplyTo = r.Header.Get("Message-Id"), r.Header.Get("In-Reply-To")
	m.References = strings.Fields(r.Header.Get("References"))
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		content, err := io.ReadAll(part.Body)
		if err != nil {
			return m, err
		}
		switch h := part.Header.(type) {
		case *mail.InlineHeader:
			kind, _, err := h.ContentType()
			if err != nil {
				return m, err
			}
			text := strings.ReplaceAll(string(content), "\r\n", "\n")
			if kind == "text/html" {
				m.HTML = text
			} else {
				m.Text = text
			}
		case *mail.AttachmentHeader:
			name, err := h.Filename()
			if err != nil {
				return m, err
			}
			kind, _, err := h.ContentType()
			if err != nil {
				return m, err
			}
			m.Files = append(m.Files, File{Name: name, Type: kind, Content: string(content)})
		}
	}
}
