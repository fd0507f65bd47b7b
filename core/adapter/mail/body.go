package mail

import (
	"bufio"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"

	"golang.org/x/net/html/charset"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/web"
)

const (
	// maxMail is the most that is read of a mail, in bytes: providers take 25 to 35 MB.
	maxMail = 40 << 20
	// maxText bounds the text of a mail, in bytes.
	maxText = 64 << 10
	// maxParts and maxDepth bound the parts of a mail, and how deep they are in one another. What is beyond them is left out.
	maxParts = 200
	maxDepth = 8
	// maxFiles bounds the files of a mail.
	maxFiles = 50
)

// words reads encoded words of a header (RFC 2047) in any charset.
var words = mime.WordDecoder{CharsetReader: charset.NewReaderLabel}

// decoded is a field of a header as text. What cannot be decoded stays as it is.
func decoded(field string) string {
	if text, err := words.DecodeHeader(field); err == nil {
		field = text
	}
	return strings.ToValidUTF8(field, "\uFFFD")
}

func canonical(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }

// header is the header of a mail or of a part.
type header interface{ Get(name string) string }

// content is what a mail has: its text in two forms, and its files.
type content struct {
	plain, html strings.Builder
	files       []adapter.File
	// cut means that there is more of the text.
	cut bool

	parts int
	// want is the number of the file whose content goes to to, from 1; 0: none.
	want int
	to   func(io.Reader)
}

// read reads a part, and the parts in it. What is not as it should be ends the part, and the mail has what was read so far.
func (c *content) read(h header, body io.Reader, depth int, spoken bool) {
	if c.parts++; c.parts > maxParts || depth > maxDepth {
		return
	}
	field := h.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(field)
	if err != nil && kind == "" {
		kind = "text/plain"
		if field != "" {
			kind = "application/octet-stream"
		}
	}
	spoken = spoken || kind == "multipart/voice-message" || strings.EqualFold(strings.TrimSpace(h.Get("Message-Context")), "voice-message")
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		parts := multipart.NewReader(body, params["boundary"])
		for c.parts <= maxParts {
			part, err := parts.NextRawPart()
			if err != nil {
				return
			}
			c.read(part.Header, part, depth+1, spoken)
		}
		return
	}
	body = transferred(h.Get("Content-Transfer-Encoding"), body)
	disposition, more, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err != nil {
		disposition = ""
	}
	name := more["filename"]
	if name == "" {
		name = params["name"]
	}
	switch {
	case disposition == "attachment", name != "":
	case kind == "text/plain":
		c.text(&c.plain, body, params)
		return
	case kind == "text/html":
		c.text(&c.html, body, params)
		return
	}
	_, voice := more["voice"]
	c.file(adapter.File{Name: fileName(decoded(name), kind), Type: kind, Spoken: strings.HasPrefix(kind, "audio/") && (spoken || voice)}, body)
}

// transferred is the content of a part (RFC 2045, 6).
func transferred(encoding string, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	}
	return body
}

// text adds a text. Of one that is too long the beginning is kept.
func (c *content) text(to *strings.Builder, body io.Reader, params map[string]string) {
	if label := params["charset"]; label != "" {
		if r, err := charset.NewReaderLabel(label, body); err == nil {
			body = r
		}
	}
	room := max(maxText-to.Len(), 0)
	text, _ := io.ReadAll(io.LimitReader(body, int64(room)+1)) // what could be read is the text
	if len(text) > room {
		text, c.cut = text[:room], true
	}
	said := strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\r\n", "\n")
	said = strings.ReplaceAll(strings.ReplaceAll(said, "\r", "\n"), "\x00", "")
	if strings.EqualFold(params["format"], "flowed") {
		said = unflowed(said, strings.EqualFold(params["delsp"], "yes"))
	}
	if to.Len() > 0 && said != "" {
		to.WriteString("\n")
	}
	to.WriteString(said)
}

// file adds a file.
func (c *content) file(f adapter.File, body io.Reader) {
	if len(c.files) >= maxFiles {
		return
	}
	if c.want == len(c.files)+1 {
		c.to(body)
	}
	f.Size, _ = io.Copy(io.Discard, body) // what could be read is the file
	c.files = append(c.files, f)
}

// said is the text of the mail: the plain one, or else that of the HTML, without what it quotes if it is an answer.
func (c *content) said(answer bool) (said, quoted string) {
	if text := c.plain.String(); strings.TrimSpace(text) != "" {
		said, quoted = unquote(text, answer)
	} else {
		text, rest := c.html.String(), ""
		if at := htmlQuote().FindStringIndex(text); answer && at != nil {
			text, rest = text[:at[0]], text[at[0]:]
		}
		said, _ = unquote(web.Text(strings.NewReader(text)), answer)
		quoted = web.Text(strings.NewReader(rest))
	}
	if c.cut {
		said += "\n\n[The mail is longer. This is its beginning.]"
	}
	return said, quoted
}

// unflowed joins the lines that its sender broke softly (RFC 3676).
func unflowed(text string, space bool) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, ">") {
			line = strings.TrimPrefix(line, " ") // it was stuffed
		}
		if soft := strings.HasSuffix(line, " ") && line != "-- " && !strings.HasPrefix(line, ">"); soft {
			if space {
				line = strings.TrimSuffix(line, " ")
			}
			b.WriteString(line)
			continue
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// fileName is the name of a file without its folders.
func fileName(name, kind string) string {
	if name == "" && kind == "message/rfc822" {
		return "message.eml"
	}
	return bot.FileName(name)
}

// fileOf is the content of the file with this number, from 1, of a mail: at most one byte more than most. has is false if there is none.
func fileOf(in io.Reader, n int, most int64) (file []byte, has bool) {
	m, err := mail.ReadMessage(bufio.NewReader(&headFirst{in: in, left: maxHeader}))
	if err != nil {
		return nil, false
	}
	c := content{want: n, to: func(r io.Reader) {
		file, err = io.ReadAll(io.LimitReader(r, most+1))
		has = err == nil
	}}
	c.read(m.Header, m.Body, 0, false)
	return file, has
}
