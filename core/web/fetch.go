package web

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"gatewaytui/core/address"
	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/core/term"
)

// Page is what an address answered.
type Page struct {
	// URL is where the text came from, after redirects. Status is the status of HTTP, Type the media type.
	URL    string
	Status int
	Type   string
	Title  string
	// Text is the page as Markdown, or another text as it is; empty for a file that is not text.
	Text string
	// Bytes is the size of the answer, decompressed; -1: the answer did not say, and is not text.
	Bytes int64
	// Binary says that it is not text. Cut says that only its first part was read.
	Binary, Cut bool
}

// Allow is asked before a connection to a host: page is the address that leads there. It may wait for a person.
type Allow func(ctx context.Context, host hosts.Target, page string) error

// Fetch gets an address. allow is asked once for each host. The error is for a model.
func (c *Client) Fetch(ctx context.Context, text string, allow Allow) (Page, error) {
	u, to, err := parse(text)
	if err != nil {
		return Page{}, err
	}
	asked := map[hosts.Target]bool{}
	left := c.o.Timeout
	for range redirectsMost + 1 {
		if !asked[to] {
			if err := allow(ctx, to, u.String()); err != nil {
				return Page{}, err
			}
			asked[to] = true
		}
		start := time.Now()
		page, next, err := c.get(ctx, u, left)
		if err != nil || next == nil {
			return page, err
		}
		if u, to, err = checked(next); err != nil {
			return Page{}, fmt.Errorf("%s redirects to an address that is not fetched: %w", term.Clean(page.URL, 300), err)
		}
		if left -= time.Since(start); left <= 0 {
			return Page{}, c.late()
		}
	}
	return Page{}, fmt.Errorf("the page redirects more than %d times", redirectsMost)
}

func (c *Client) late() error { return fmt.Errorf("no whole answer within %v", c.o.Timeout) }

// get asks one address. next is where it redirects; nil: the page is there.
func (c *Client) get(ctx context.Context, u *url.URL, most time.Duration) (page Page, next *url.URL, err error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	defer func() {
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = c.late()
		}
	}()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, nil, errors.New("the address cannot be read")
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.5")
	resp, err := c.pages.Do(req)
	if err != nil {
		return Page{}, nil, reason(u, err)
	}
	defer resp.Body.Close()
	page = Page{URL: u.String(), Status: resp.StatusCode, Type: term.Clean(resp.Header.Get("Content-Type"), 100), Bytes: resp.ContentLength}
	if where, err := resp.Location(); err == nil && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return page, where, nil
	}
	return page, nil, page.read(resp.Body, u)
}

// reason is why a connection or a request did not succeed, without the address that its error would repeat.
func reason(u *url.URL, err error) error {
	if refused, is := errors.AsType[*address.RefusedError](err); is {
		return refused
	}
	if outer, is := errors.AsType[*url.Error](err); is {
		err = outer.Err
	}
	return fmt.Errorf("%s cannot be reached: %s", term.Clean(u.Host, 200), term.Clean(err.Error(), 300))
}

// read reads the body of the page as text, or nothing of it if it is not text.
func (p *Page) read(body io.Reader, base *url.URL) error {
	in := bufio.NewReaderSize(body, 1024)
	start, err := in.Peek(512)
	if err != nil && err != io.EOF {
		return fmt.Errorf("the answer broke off: %s", term.Clean(err.Error(), 300))
	}
	guessed := http.DetectContentType(start)
	p.Type = cmp.Or(p.Type, guessed)
	is, isHTML := textual(p.Type)
	if guess, _ := textual(guessed); len(start) > 0 && (!is || !guess && bytes.IndexByte(start, 0) >= 0 && !wide(start)) {
		p.Binary = true
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(in, bodyMost+1))
	if err != nil {
		return fmt.Errorf("the answer broke off after %d bytes: %s", len(data), term.Clean(err.Error(), 300))
	}
	if p.Cut = len(data) > bodyMost; p.Cut {
		data = data[:bodyMost]
	}
	p.Bytes = max(p.Bytes, int64(len(data)))
	text, err := decoded(bytes.NewReader(data), p.Type)
	if err != nil {
		text = bytes.NewReader(data)
	}
	if isHTML {
		p.Title, p.Text = readHTML(text, base)
		return nil
	}
	whole, err := io.ReadAll(text)
	if err != nil {
		return fmt.Errorf("the text cannot be read: %w", err)
	}
	p.Text = clean(string(whole))
	return nil
}

// wide reports whether a text begins with the byte order mark of UTF-16, whose letters have zero bytes.
func wide(start []byte) bool {
	return bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff})
}
