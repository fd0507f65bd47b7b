package mail

import (
	"bufio"
	"cmp"
	"io"
	"net/mail"
	"slices"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// maxName bounds a name in runes.
const maxName = 64

// maxHeader bounds the header of a mail, in bytes.
const maxHeader = 1 << 20

// event is a mail as it concerns us.
type event struct {
	// ignored is why it is not for the bot; empty: it is.
	ignored string
	// from is the address of the sender; confirmed means that a server we trust has confirmed its domain.
	from      string
	confirmed bool
	// empty means that there is nothing in it to read.
	empty bool
	// name is what the mail is for ever: in Inbound.Dedupe, and among the handled ones.
	name    string
	chat    chat
	about   mailed
	message adapter.Inbound
}

// parse reads a mail. place is the name of its place on the server: the name of its files, and of itself if it has none.
func (p *Platform) parse(in io.Reader, place string) event {
	m, err := mail.ReadMessage(bufio.NewReader(&headFirst{in: in, left: maxHeader}))
	if err != nil {
		return event{ignored: "its header cannot be read", name: "mail:" + place}
	}
	h := m.Header
	e := event{name: "mail:" + place}
	sender, why := senderOf(h)
	e.from = address(sender.Address)
	self := first(ids(h.Get("Message-Id")))
	if self != "" {
		e.name = "mail:" + hash(32, e.from, self)
	}
	switch {
	case why != "":
		e.ignored = why
	case e.from == "":
		e.ignored = "its sender has an unusual address"
	default:
		e.ignored = automatic(h, e.from, p.o.Address)
	}
	if e.ignored != "" {
		return e
	}
	e.confirmed = p.o.AuthServer != "" && authentic(h, p.o.AuthServer, e.from)

	answers, references := ids(h.Get("In-Reply-To")), ids(h.Get("References"))
	thread, root := threadOf(references, answers, cmp.Or(self, place))
	subject := term.Clean(decoded(h.Get("Subject")), maxSubject)
	e.about = mailed{root: root, id: self, subject: subject}
	e.chat = chat{to: e.from, thread: thread}

	var c content
	c.read(h, m.Body, 0, false)
	for i := range c.files {
		c.files[i].Ref = fileRef(place, i+1)
	}
	answer := len(answers)+len(references) > 0
	said, quoted := c.said(answer)
	if !answer && !strings.HasPrefix(said, "/") { // the first mail of a thread says there what it is about
		said = strings.TrimSpace(headline(subject, said) + said)
	}
	e.empty = said == "" && len(c.files) == 0
	ours := slices.ContainsFunc(answers, ownID().MatchString)
	if ours {
		quoted = "" // the session has it
	}
	name := term.Clean(decoded(sender.Name), maxName)
	e.message = adapter.Inbound{
		Adapter: platformName, ID: self, Text: said, Files: c.files, Quoted: quoted, Dedupe: e.name, Mentioned: true, Chat: adapter.ChatDM,
		User: person(name, e.from), Sender: cmp.Or(name, e.from),
	}
	if group := p.group(h); group != "" {
		e.chat.to, e.about.sender = group, e.from
		e.message.Chat, e.message.Mentioned = adapter.ChatThread, ours || p.named(h, said)
	}
	e.message.Session = e.chat.session(e.about.sender != "")
	e.message.Target = target(e.chat, e.about)
	return e
}

// headFirst bounds what is read before the header has ended: the rest of a mail has its own bound.
type headFirst struct {
	in    io.Reader
	left  int
	ended bool
	tail  [3]byte // the last bytes that were read
}

func (r *headFirst) Read(p []byte) (int, error) {
	if r.ended {
		return r.in.Read(p)
	}
	if r.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := r.in.Read(p[:min(len(p), r.left)])
	r.left -= n
	seen := string(r.tail[:]) + string(p[:n])
	r.ended = strings.Contains(seen, "\n\r\n") || strings.Contains(seen, "\n\n")
	copy(r.tail[:], seen[len(seen)-len(r.tail):])
	return n, err
}

// senderOf is the one who wrote a mail. A mail with several senders has none: nothing says which of them was confirmed.
func senderOf(h mail.Header) (from mail.Address, why string) {
	fields := h["From"]
	if len(fields) != 1 {
		return from, "it has no single sender"
	}
	parser := mail.AddressParser{WordDecoder: &words}
	all, err := parser.ParseList(fields[0])
	if err != nil || len(all) != 1 {
		return from, "it has no single sender"
	}
	return *all[0], ""
}

// recipients are the addresses in these fields of a header.
func recipients(h mail.Header, fields ...string) (all []string) {
	parser := mail.AddressParser{WordDecoder: &words}
	for _, field := range fields {
		for _, text := range h[field] {
			list, err := parser.ParseList(text)
			if err != nil {
				continue // it has no address of the bot
			}
			for _, a := range list {
				all = append(all, strings.ToLower(a.Address))
			}
		}
	}
	return all
}

// group is the listed group that a mail was sent to; empty: none.
func (p *Platform) group(h mail.Header) string {
	if len(p.o.Groups) == 0 {
		return ""
	}
	for _, to := range recipients(h, "To", "Cc") {
		if slices.Contains(p.o.Groups, to) {
			return address(to)
		}
	}
	return ""
}

// named reports whether a mail to a group is for the bot: it is in To, or named in the text.
func (p *Platform) named(h mail.Header, said string) bool {
	local, _, _ := strings.Cut(p.o.Address, "@")
	return slices.Contains(recipients(h, "To"), p.o.Address) || strings.Contains(strings.ToLower(said), "@"+local)
}

// headline is the subject of a mail above its text.
func headline(subject, said string) string {
	switch {
	case subject == "":
		return ""
	case said == "":
		return subject
	}
	return "Subject: " + subject + "\n\n"
}

// person is a sender for people and for the audit.
func person(name, from string) string {
	if name == "" {
		return from
	}
	return name + " (" + from + ")"
}

func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}
