package imap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// command runs a command without an answer to the server's questions. on takes each untagged response, without its star.
func (c *Client) command(ctx context.Context, text string, on func(line string)) error {
	return c.converse(ctx, text, nil, on)
}

// converse is command with an answer to the first question of the server.
func (c *Client) converse(ctx context.Context, text string, answer func() error, on func(line string)) error {
	return c.within(ctx, func() error {
		tag, err := c.begin(text)
		if err != nil {
			return err
		}
		return c.finish(tag, answer, on, nil)
	})
}

// within runs f, whose reads and writes end with ctx. After an error that is not a refusal the connection is closed.
func (c *Client) within(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, c.Close)
	err := f()
	if !stop() { // the connection is closed or about to be
		return fmt.Errorf("the mail server: %w", context.Cause(ctx))
	}
	if _, refused := errors.AsType[*StatusError](err); err != nil && !refused {
		c.Close()
	}
	return err
}

func (c *Client) begin(text string) (tag string, err error) {
	c.tag++
	tag = "a" + strconv.Itoa(c.tag)
	return tag, c.write(tag + " " + text)
}

func (c *Client) write(line string) error {
	if _, err := io.WriteString(c.conn, line+"\r\n"); err != nil {
		return fmt.Errorf("write to the mail server: %w", err)
	}
	return nil
}

// finish reads until the command with this tag has ended. answer takes the first question of the server, on the untagged
// responses. next reads a response; nil is the usual way.
func (c *Client) finish(tag string, answer func() error, on func(line string), next func() (string, error)) error {
	if next == nil {
		next = func() (string, error) { return c.response(nil) }
	}
	for {
		line, err := next()
		if err != nil {
			return err
		}
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case first == "+":
			if answer == nil {
				return errors.New("the mail server asked a question that has no answer")
			}
			if err := answer(); err != nil {
				return err
			}
			answer = nil
		case first == tag:
			status, text, _ := strings.Cut(rest, " ")
			return statusError(status, text)
		case first != "*":
			return errors.New("the mail server sent what is not IMAP")
		case len(rest) >= 4 && strings.EqualFold(rest[:4], "BYE "):
			return fmt.Errorf("the mail server ended the connection: %w", io.ErrUnexpectedEOF)
		}
		if first != "*" {
			continue
		}
		if _, name, _ := strings.Cut(rest, " "); strings.EqualFold(name, "EXISTS") {
			c.fresh = true
		}
		if on != nil {
			on(rest)
		}
	}
}

// marker is the end of a line before a literal, body one before the text of a message.
var (
	marker = regexp.MustCompile(`~?\{(\d{1,18})\+?\}$`)
	body   = regexp.MustCompile(`(?i)BODY\[\](?:<0>)? $`)
	inline = regexp.MustCompile(`(?i)[( ]BODY\[\](?:<0>)? (NIL|"(?:[^"\\]|\\.)*")`)
)

// response reads one response. A literal that is the text of a message goes to text; the others are left out.
func (c *Client) response(text func(io.Reader)) (string, error) {
	var line strings.Builder
	for {
		part, err := c.line(maxLine - line.Len())
		if err != nil {
			return "", err
		}
		at := marker.FindStringSubmatchIndex(part)
		if at == nil {
			line.WriteString(part)
			break
		}
		n, err := strconv.ParseInt(part[at[2]:at[3]], 10, 64)
		if err != nil {
			return "", fmt.Errorf("read from the mail server: %w", err)
		}
		line.WriteString(part[:at[0]])
		if text == nil || !body.MatchString(part[:at[0]]) {
			if n > maxLiteral {
				return "", fmt.Errorf("the mail server sent %d bytes, at most %d were expected", n, maxLiteral)
			}
			err = c.literal(n, func(io.Reader) {})
		} else {
			err = c.literal(n, text)
		}
		if err != nil {
			return "", err
		}
	}
	if text != nil {
		if found := inline.FindStringSubmatch(line.String()); found != nil {
			text(strings.NewReader(unquoted(found[1])))
		}
	}
	return line.String(), nil
}

// literal reads the n bytes that follow a line. What text leaves of them is left out.
func (c *Client) literal(n int64, text func(io.Reader)) error {
	in := &io.LimitedReader{R: c.in, N: n}
	text(in)
	if _, err := io.Copy(io.Discard, in); err != nil || in.N > 0 {
		return fmt.Errorf("read from the mail server: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// line reads one line of at most most bytes, without its end.
func (c *Client) line(most int) (string, error) {
	var all []byte
	for {
		part, err := c.in.ReadSlice('\n')
		if len(all)+len(part) > most {
			return "", errors.New("the mail server sent too long a line")
		}
		all = append(all, part...)
		if err == nil {
			return strings.TrimRight(string(all), "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", fmt.Errorf("read from the mail server: %w", err)
		}
	}
}

// statusError is the error of a status and its text; nil for OK.
func statusError(status, text string) error {
	if strings.EqualFold(status, "OK") {
		return nil
	}
	code, text := codeOf(text)
	return &StatusError{Status: strings.ToUpper(status), Code: strings.ToUpper(code), Text: text}
}

// codeOf is the response code at the beginning of a text, and the rest.
func codeOf(text string) (code, rest string) {
	inner, found := strings.CutPrefix(text, "[")
	if !found {
		return "", text
	}
	code, rest, found = strings.Cut(inner, "]")
	if !found {
		return "", text
	}
	return code, strings.TrimSpace(rest)
}

// quoted is text as a quoted string of a command.
func quoted(text string) (string, error) {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r < ' ' || r > '~':
			return "", errors.New("it has characters that this server does not take")
		case r == '"' || r == '\\':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	return b.String(), nil
}

// unquoted is the text of a quoted string; of NIL it is empty.
func unquoted(text string) string {
	if !strings.HasPrefix(text, `"`) {
		return ""
	}
	var b strings.Builder
	escaped := false
	for _, r := range text[1 : len(text)-1] {
		if r == '\\' && !escaped {
			escaped = true
			continue
		}
		b.WriteRune(r)
		escaped = false
	}
	return b.String()
}

// maxFound bounds what one search may find.
const maxFound = 100_000

// found are the UIDs in the response to a search, in the form of RFC 3501 or of RFC 9051, without its star.
func found(line string) (uids []uint32) {
	name, rest, _ := strings.Cut(line, " ")
	switch {
	case strings.EqualFold(name, "SEARCH"):
	case strings.EqualFold(name, "ESEARCH"):
		at := esearch.FindStringSubmatch(rest)
		if at == nil {
			return nil
		}
		rest = strings.ReplaceAll(at[1], ",", " ")
	default:
		return nil
	}
	for field := range strings.FieldsSeq(rest) {
		low, high, ranged := strings.Cut(field, ":")
		first, err := strconv.ParseUint(low, 10, 32)
		last := first
		if err == nil && ranged {
			last, err = strconv.ParseUint(high, 10, 32)
		}
		if err != nil || first == 0 {
			continue // what is not a number names no message
		}
		for n := min(first, last); n <= max(first, last) && len(uids) < maxFound; n++ {
			uids = append(uids, uint32(n))
		}
	}
	return uids
}

// esearch is where a response of RFC 9051 has what was found.
var esearch = regexp.MustCompile(`(?i)(?:^|\s)ALL ([0-9:,]+)`)
