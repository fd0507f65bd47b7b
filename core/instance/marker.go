package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	// Damaged says that the life knew its database to be damaged.
	Damaged bool
}

// wireMarker is a Marker in its file.
type wireMarker struct {
	Life    string   `json:"life"`
	At      ops.Time `json:"at"`
	Reason  string   `json:"reason"`
	By      string   `json:"by"`
	Damaged bool     `json:"damaged,omitempty"`
}

// markerReserve is the file, in the folder dumps, that keeps room for the marker, and markerRoom its size in bytes: a marker
// with the longest texts fits.
const (
	markerReserve = ".reserve-marker"
	markerRoom    = 16 << 10
)

// ReserveMarker keeps room on the disk for the marker of this life. Its error is for a warning.
func (h *Home) ReserveMarker() error {
	return Reserve(filepath.Join(h.Dumps(), markerReserve), markerRoom)
}

// WriteMarker puts the marker in place in one step and returns when it would survive a power cut. Writing it again
// replaces it. On a full disk it takes the room that ReserveMarker has kept.
func (h *Home) WriteMarker(m Marker) error {
	b, err := encode(wireMarker{m.Life, ops.At(m.At), clip(m.Reason), clip(m.By), m.Damaged})
	if err == nil {
		err = writeFile(h.Marker(), b)
	}
	if NoRoom(err) {
		if err = Spend(filepath.Join(h.Dumps(), markerReserve), h.Marker(), b); err == nil {
			err = syncDir(h.dir)
		}
	}
	if err != nil {
		return fmt.Errorf("write the clean-shutdown marker: %w", err)
	}
	return nil
}

// ConsumeMarker reads the marker and takes it away; found is false if there is none. An error is for a warning and never
// keeps a start from going on. Whoever calls it holds the lock.
//
// A marker that is there and cannot be read is set aside (WasSetAside), and found with no life named. Each start takes the
// marker away, so whichever is there was written since the last one, by the life that ended: that a stop was planned is
// what it still says.
func (h *Home) ConsumeMarker() (m Marker, found bool, err error) {
	b, err := readFile(h.Marker())
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, false, nil
	}
	if err == nil {
		m, err = parseMarker(b)
	}
	if err != nil {
		h.SetAside(h.Marker(), err)
		return Marker{}, true, nil
	}
	// Its removal has to be as durable as it was: a marker that comes back would hide the next crash.
	err = os.Remove(h.Marker())
	if err == nil {
		err = syncDir(h.dir)
	}
	if err != nil {
		err = fmt.Errorf("remove the clean-shutdown marker: %w", err)
	}
	return m, true, err
}

// ReadMarker reads the marker of the home dir and leaves it there, for readers that do not hold the lock. found is false if
// there is none. A marker that is there and cannot be read is found, with an error that says why.
func ReadMarker(dir string) (m Marker, found bool, err error) {
	b, err := readFile(filepath.Join(dir, markerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, false, nil
	}
	if err == nil {
		m, err = parseMarker(b)
	}
	return m, true, err
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
	return Marker{w.Life, w.At.Time, w.Reason, w.By, w.Damaged}, nil
}
