package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// Marker says that a stop was planned (S18). It is written before the stop waits for anything, and the next start
// consumes it: with it, a life that did not come to its end was cut short, without it, it crashed.
type Marker struct {
	// Life is the one that stops.
	Life   string
	At     time.Time
	Reason string
	By     string
}

// wireMarker is a Marker in its file.
type wireMarker struct {
	Life   string   `json:"life"`
	At     ops.Time `json:"at"`
	Reason string   `json:"reason"`
	By     string   `json:"by"`
}

// WriteMarker puts the marker in place in one step and returns when it would survive a power cut. Writing it again
// replaces it.
func (h *Home) WriteMarker(m Marker) error {
	b, err := encode(wireMarker{m.Life, ops.At(m.At), clip(m.Reason), clip(m.By)})
	if err == nil {
		err = writeFile(h.Marker(), b)
	}
	if err != nil {
		return fmt.Errorf("write the clean-shutdown marker: %w", err)
	}
	return nil
}

// ConsumeMarker reads the marker and removes it; false if there is none that can be read. An error is for a warning and
// never keeps a start from going on: a marker that says nothing is removed like any other and counts as none. Whoever
// calls it holds the lock.
func (h *Home) ConsumeMarker() (Marker, bool, error) {
	b, err := readFile(h.Marker())
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, false, nil
	}
	var m Marker
	if err == nil {
		m, err = parseMarker(b)
	}
	found := err == nil
	if err != nil {
		err = fmt.Errorf("read the clean-shutdown marker: %w", err)
	}
	// Its removal has to be as durable as it was: a marker that comes back would hide the next crash.
	gone := os.Remove(h.Marker())
	if gone == nil {
		gone = syncDir(h.dir)
	}
	if gone != nil {
		gone = fmt.Errorf("remove the clean-shutdown marker: %w", gone)
	}
	return m, found, errors.Join(err, gone)
}

// clip bounds a text so that a marker is always read back.
func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "") }

func parseMarker(b []byte) (Marker, error) {
	var w wireMarker
	if err := decode(b, &w); err != nil {
		return Marker{}, err
	}
	if w.Life == "" || !plain(w.Life) {
		return Marker{}, fmt.Errorf("it names no life but %.40q", w.Life)
	}
	return Marker{w.Life, w.At.Time, w.Reason, w.By}, nil
}
