// Package imap is a client of IMAP (RFC 9051, and RFC 3501 of older servers) for one purpose: to wait in one folder for unread
// messages, to read them, and to mark them as read.
//
// It promises: each command ends with its context, because the end of the context closes the connection; no answer of a server is
// held in memory beyond a bound, except the text of a message, which is passed on as it comes; a name or a password never
// breaks out of its command.
package imap

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxLine bounds one response without its literals, in bytes: enough for the numbers of 400,000 messages.
	maxLine = 4 << 20
	// maxLiteral bounds a literal that is not the text of a message, in bytes.
	maxLiteral = 64 << 10
)

// Client is one connection to a server. Its methods are for one goroutine at a time; Close may be called from any. After an error
// other than a *StatusError the connection is closed.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
	tag  int
	can  []string
	// fresh means that messages may have arrived since the last search began.
	fresh bool
}

// StatusError is a command that the server refused.
type StatusError struct {
	// Status is NO, BAD or BYE; Code is the response code such as AUTHENTICATIONFAILED (RFC 5530), empty if there is none.
	Status, Code string
	// Text is the server's own, which is not clean.
	Text string
}

func (e *StatusError) Error() string {
	if e.Text == "" {
		return e.Status
	}
	return e.Text
}

// New reads the greeting of the server at the other end of conn, which the Client closes from then on.
func New(ctx context.Context, conn net.Conn) (*Client, error) {
	c := &Client{conn: conn, in: bufio.NewReader(conn)}
	err := c.within(ctx, func() error {
		line, err := c.response(nil)
		if err != nil {
			return err
		}
		status, rest, _ := strings.Cut(strings.TrimPrefix(line, "* "), " ")
		if !strings.EqualFold(status, "OK") || !strings.HasPrefix(line, "* ") {
			return statusError(status, rest)
		}
		return nil
	})
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("read the greeting: %w", err)
	}
	return c, c.capabilities(ctx)
}

// Close closes the connection without a word. Twice is harmless.
func (c *Client) Close() { _ = c.conn.Close() } // nothing is lost with it

// Can reports whether the server has a capability, such as IDLE.
func (c *Client) Can(capability string) bool { return slices.Contains(c.can, capability) }

func (c *Client) capabilities(ctx context.Context) error {
	return c.command(ctx, "CAPABILITY", func(line string) {
		if name, rest, _ := strings.Cut(line, " "); strings.EqualFold(name, "CAPABILITY") {
			c.can = strings.Fields(strings.ToUpper(rest))
		}
	})
}

// StartTLS encrypts the connection from here on. What the server said before is forgotten.
func (c *Client) StartTLS(ctx context.Context, config *tls.Config) error {
	if !c.Can("STARTTLS") {
		c.Close()
		return errors.New("the server offers no encryption (STARTTLS)")
	}
	if err := c.command(ctx, "STARTTLS", nil); err != nil {
		return fmt.Errorf("begin the encryption: %w", err)
	}
	if c.in.Buffered() > 0 {
		c.Close()
		return errors.New("the server sent something before the encryption began")
	}
	secure := tls.Client(c.conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.Close()
		return fmt.Errorf("begin the encryption: %w", err)
	}
	c.conn, c.in = secure, bufio.NewReader(secure)
	return c.capabilities(ctx)
}

// Login logs in. A *StatusError is a user or a password that the server refuses.
func (c *Client) Login(ctx context.Context, user, password string) error {
	if c.Can("AUTH=PLAIN") {
		answer := base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
		return c.converse(ctx, "AUTHENTICATE PLAIN", func() error { return c.write(answer) }, nil)
	}
	if c.Can("LOGINDISABLED") {
		return errors.New("the server allows no login on this connection")
	}
	name, err := quoted(user)
	if err != nil {
		return fmt.Errorf("the user: %w", err)
	}
	secret, err := quoted(password)
	if err != nil {
		return fmt.Errorf("the password: %w", err)
	}
	return c.command(ctx, "LOGIN "+name+" "+secret, nil)
}

// Select opens a folder and returns its UIDVALIDITY: while that is the same, a UID names the same message. With readOnly nothing
// in it changes. A folder that cannot be written to is an error without readOnly.
func (c *Client) Select(ctx context.Context, folder string, readOnly bool) (validity uint32, err error) {
	name, err := quoted(folder)
	if err != nil {
		return 0, fmt.Errorf("the folder: %w", err)
	}
	verb := "SELECT "
	if readOnly {
		verb = "EXAMINE "
	}
	var fixed bool
	err = c.converse(ctx, verb+name, nil, func(line string) {
		status, rest, _ := strings.Cut(line, " ")
		if !strings.EqualFold(status, "OK") {
			return
		}
		code, _ := codeOf(rest)
		word, number, _ := strings.Cut(code, " ")
		switch {
		case strings.EqualFold(word, "UIDVALIDITY"):
			if n, err := strconv.ParseUint(number, 10, 32); err == nil {
				validity = uint32(n)
			}
		case strings.EqualFold(word, "READ-ONLY"):
			fixed = true
		}
	})
	if err == nil && fixed && !readOnly {
		return 0, errors.New("the folder is read-only, so that no message can be marked as read")
	}
	return validity, err
}

// Unseen returns the UIDs of the messages that have arrived since the day of since and are not marked as read, in ascending order.
func (c *Client) Unseen(ctx context.Context, since time.Time) (uids []uint32, err error) {
	c.fresh = false
	err = c.command(ctx, "UID SEARCH UNSEEN UNDELETED SINCE "+since.UTC().Format("2-Jan-2006"), func(line string) {
		uids = append(uids, found(line)...)
	})
	slices.Sort(uids)
	return slices.Compact(uids), err
}

// Fetch passes the first most bytes of a message to read, and does not mark it as read. found is false for a message that is gone.
func (c *Client) Fetch(ctx context.Context, uid uint32, most int64, read func(io.Reader)) (found bool, err error) {
	body := func(r io.Reader) {
		if !found {
			found = true
			read(io.LimitReader(r, most))
		}
	}
	err = c.within(ctx, func() error {
		tag, err := c.begin(fmt.Sprintf("UID FETCH %d (UID BODY.PEEK[]<0.%d>)", uid, most))
		if err != nil {
			return err
		}
		return c.finish(tag, nil, nil, func() (string, error) { return c.response(body) })
	})
	return found, err
}

// MarkSeen marks a message as read.
func (c *Client) MarkSeen(ctx context.Context, uid uint32) error {
	return c.command(ctx, fmt.Sprintf(`UID STORE %d +FLAGS.SILENT (\Seen)`, uid), nil)
}

// Noop asks the server whether it is there.
func (c *Client) Noop(ctx context.Context) error { return c.command(ctx, "NOOP", nil) }

// Idle waits until a message has arrived since the last search, but no longer than d (RFC 2177). ctx has to last longer than d, for the
// server to answer.
func (c *Client) Idle(ctx context.Context, d time.Duration) error {
	if c.fresh {
		return nil
	}
	return c.within(ctx, func() error {
		var once sync.Once
		var wrote sync.WaitGroup
		done := func() { once.Do(func() { _ = c.write("DONE") }) } // the reader sees an error of it
		var timer *time.Timer
		begun := func() error {
			wrote.Add(1)
			timer = time.AfterFunc(d, func() { defer wrote.Done(); done() })
			if c.fresh {
				done()
			}
			return nil
		}
		tag, err := c.begin("IDLE")
		if err == nil {
			err = c.finish(tag, begun, func(string) {
				if c.fresh && timer != nil {
					done()
				}
			}, nil)
		}
		if timer != nil {
			if timer.Stop() {
				wrote.Done()
			}
			if err != nil {
				c.Close() // frees a write that hangs
			}
			wrote.Wait()
		}
		return err
	})
}
