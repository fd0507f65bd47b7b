package proxy

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/environment/proxy/hosts"
)

// Row is what a proxy did so far.
type Row struct {
	// Open are the connections of commands now, Served and Refused the requests.
	Open            int
	Served, Refused uint64
	// Up and Down are the bytes from and to commands.
	Up, Down uint64
	// LastHost is the host that was served last, LastRefusal the sentence that was answered last, and when. They are clean
	// ASCII, and empty before the first.
	LastHost, LastRefusal string
	LastRefusalAt         time.Time
}

// String is the row in a few words, such as "3 requests, 1 refused, the last because …".
func (r Row) String() string {
	text := english.Plural(int(r.Served), "request", "")
	if r.Refused > 0 {
		text += fmt.Sprintf(", %d refused, the last because %s", r.Refused, r.LastRefusal)
	}
	return text
}

// counters are what Row shows.
type counters struct {
	up, down atomic.Uint64
	mu       sync.Mutex // leaf
	row      Row
}

func (c *counters) served(t hosts.Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row.Served++
	c.row.LastHost = t.String()
}

func (c *counters) refused(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row.Refused++
	c.row.LastRefusal, c.row.LastRefusalAt = why, time.Now()
}

// Row returns what the proxy did so far.
func (p *Proxy) Row() Row {
	p.counters.mu.Lock()
	row := p.counters.row
	p.counters.mu.Unlock()
	row.Open, row.Up, row.Down = len(p.slots), p.counters.up.Load(), p.counters.down.Load()
	return row
}

// counted counts what an answer sends to a command.
type counted struct {
	http.ResponseWriter
	counters *counters
}

func (w counted) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.counters.down.Add(uint64(n))
	return n, err
}

// Unwrap is for http.ResponseController.
func (w counted) Unwrap() http.ResponseWriter { return w.ResponseWriter }
