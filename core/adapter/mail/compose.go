package mail

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"strings"
	"time"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/term"
)

// draft is a mail of the bot before it is written. Its addresses and Message-IDs are plain ones.
type draft struct {
	from string
	// to are the recipients; the second one, where there is one, gets a copy.
	to []string
	// id is the Message-ID, about the mail that it answers.
	id      string
	about   mailed
	subject string
	at      time.Time
	// plain is the text; html is the same as HTML, empty: there is none. file comes with it; nil: none does.
	plain, html string
	file        *adapter.OutgoingFile
}

// write is the mail as it goes out (RFC 5322, RFC 2045).
func (d draft) write() ([]byte, error) {
	var b bytes.Buffer
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	automatic := "auto-generated"
	field("Date", d.at.Format("Mon, 2 Jan 2006 15:04:05 -0700"))
	field("From", "<"+d.from+">")
	field("To", "<"+d.to[0]+">")
	if len(d.to) > 1 {
		field("Cc", "<"+d.to[1]+">")
	}
	field("Subject", encodedWords(d.subject))
	field("Message-ID", d.id)
	if d.about.id != "" {
		automatic = "auto-replied"
		field("In-Reply-To", d.about.id)
	}
	references := d.about.root
	if d.about.id != "" && d.about.id != d.about.root {
		references = strings.TrimSpace(references + "\r\n " + d.about.id)
	}
	field("References", references)
	field("Auto-Submitted", automatic)       // RFC 3834, 5
	field("X-Auto-Response-Suppress", "All") // what Exchange reads instead
	field("MIME-Version", "1.0")
	err := d.body(fields{&b})
	if err != nil {
		return nil, fmt.Errorf("write a mail: %w", err)
	}
	return b.Bytes(), nil
}

// parts is where a part of a mail is written: its header first.
type parts interface {
	CreatePart(h textproto.MIMEHeader) (io.Writer, error)
}

// fields is the mail itself as a part.
type fields struct{ b *bytes.Buffer }

func (f fields) CreatePart(h textproto.MIMEHeader) (io.Writer, error) {
	for _, name := range []string{"Content-Type", "Content-Transfer-Encoding", "Content-Disposition"} {
		if value := h.Get(name); value != "" {
			fmt.Fprintf(f.b, "%s: %s\r\n", name, value)
		}
	}
	f.b.WriteString("\r\n")
	return f.b, nil
}

func (d draft) body(to parts) error {
	if d.file == nil {
		return d.texts(to)
	}
	return several(to, "mixed", func(w *multipart.Writer) error {
		if d.plain != "" {
			if err := d.texts(w); err != nil {
				return err
			}
		}
		return attach(w, *d.file)
	})
}

// texts writes the text: the plain one, and that of HTML if there is one, which readers prefer because it is the last.
func (d draft) texts(to parts) error {
	if d.html == "" {
		return textPart(to, "text/plain", d.plain)
	}
	return several(to, "alternative", func(w *multipart.Writer) error {
		if err := textPart(w, "text/plain", d.plain); err != nil {
			return err
		}
		return textPart(w, "text/html", d.html)
	})
}

// several writes a part with parts in it.
func several(to parts, kind string, write func(w *multipart.Writer) error) error {
	var inner bytes.Buffer
	w := multipart.NewWriter(&inner)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	out, err := to.CreatePart(textproto.MIMEHeader{"Content-Type": {"multipart/" + kind + ";\r\n boundary=" + w.Boundary()}})
	if err != nil {
		return err
	}
	_, err = out.Write(inner.Bytes())
	return err
}

func textPart(to parts, kind, said string) error {
	out, err := to.CreatePart(textproto.MIMEHeader{"Content-Type": {kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"}})
	if err != nil {
		return err
	}
	w := quotedprintable.NewWriter(out)
	if _, err := io.WriteString(w, strings.TrimRight(said, "\n")+"\n"); err != nil {
		return err
	}
	return w.Close()
}

func attach(to parts, f adapter.OutgoingFile) error {
	kind, _, err := mime.ParseMediaType(f.Type)
	if err != nil || strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/") {
		kind = "application/octet-stream"
	}
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": shortName(bot.FileName(f.Name))})
	if disposition == "" {
		disposition = "attachment"
	}
	out, err := to.CreatePart(textproto.MIMEHeader{"Content-Type": {kind}, "Content-Transfer-Encoding": {"base64"}, "Content-Disposition": {disposition}})
	if err != nil {
		return err
	}
	const width = 76 // RFC 2045, 6.8
	for encoded := base64.StdEncoding.EncodeToString(f.Content); encoded != ""; {
		n := min(width, len(encoded))
		if _, err := io.WriteString(out, encoded[:n]+"\r\n"); err != nil {
			return err
		}
		encoded = encoded[n:]
	}
	return nil
}

// maxNameBytes is the most bytes of a name, each of which may take three characters of a line with at most 998.
const maxNameBytes = 240

// shortName is a name that fits into a line of a header.
func shortName(name string) string {
	for len(name) > maxNameBytes {
		_, size := utf8.DecodeRuneInString(name)
		name = name[size:] // the end says what it is
	}
	return name
}

// encodedWords is text for a header (RFC 2047), on lines of their own. What looks like an encoded word in it stays what it is.
func encodedWords(text string) string {
	text = strings.ReplaceAll(text, "=?", "= ?")
	return strings.ReplaceAll(mime.QEncoding.Encode("utf-8", text), "?= =?", "?=\r\n =?")
}

// subjectOf is the subject of an answer, or of a mail that answers none.
func subjectOf(about mailed, said string) string {
	if about.subject == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		subject := term.Clean(strings.Trim(line, "#*_` "), maxHeadline)
		if subject == "" {
			return "Message"
		}
		return subject
	}
	if len(about.subject) >= 3 && strings.EqualFold(about.subject[:3], "re:") {
		return about.subject
	}
	return "Re: " + about.subject
}

// maxHeadline bounds a subject that is made of a text, in runes.
const maxHeadline = 70
