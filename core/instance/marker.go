package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gatewaytui/core/ops"
)

// Marker means that a stop was planned (S18). It is written before the stop waits for anything, and the next start
// consumes it. A life that did not come to its end was cut short if there is a marker, and crashed if there is none.
type Marker struct {
	// Life is the life that stops.
	Life   string `json:"life"`
	Reason string `json:"reason"`
	By     string `json:"by"`
	// Damaged means that the life knew its database to be damaged.
	Damaged bool     `json:"damaged,omitempty"`
	At      ops.Time `json:"at"`
}

// markerReserve is the file in the folder dumps that keeps room for the marker. markerRoom is its size in bytes; a marker
// with the longest texts fits.
const (
	markerReserve = ".reserve-marker"
	markerRoom    = 16 << 10
)

// ReserveMarker keeps room on the disk for the marker of this life. Its error is for a warning.
func (h *Home) ReserveMarker() error {
	return Reserve(filepath.Join(h.Dumps(), markerReserve), markerRoom)
}

// WriteMarker writes the marker in one step and returns when it would survive a power cut. Another call replaces it. On a
// full disk it uses the room that ReserveMarker has kept.
func (h *Home) WriteMarker(m Marker) error {
	m.Reason, m.By = clip(m.Reason), clip(m.By)
	b, err := encode(m)
	if err == nil {
		err = writeFile(h.Marker(), b)
	}
	if NoRoom(err) {
		if err = Spend(filepath.Join(h.Dumps(), markerReserve), h.Marker(), b); err == nil {
			err = SyncDir(h.dir)
		}
	}
	if err != nil {
		return fmt.Errorf("write the clean-shutdown marker: %w", err)
	}
	return nil
}

// ConsumeMarker reads the marker and removes it; found is false if there is none. An error is for a warning and never
// prevents a start. The caller holds the lock.
//
// A marker that exists and cannot be read is moved to quarantine (Home.Quarantined), and found without the name of a life.
// Each start removes the marker, so an existing one was written by the life that ended last. It still means that a stop
// was planned.
func (h *Home) ConsumeMarker() (m Marker, found bool, err error) {
	m, found, err = ReadMarker(h.dir)
	if !found {
		return m, false, nil
	}
	if err != nil {
		h.Quarantine(h.Marker(), err)
		return Marker{}, true, nil
	}
	// The removal must be durable: a marker that comes back would hide the next crash.
	err = os.Remove(h.Marker())
	if err == nil {
		err = SyncDir(h.dir)
	}
	if err != nil {
		err = fmt.Errorf("remove the clean-shutdown marker: %w", err)
	}
	return m, true, err
}

// ReadMarker reads the marker of the home dir and leaves it there, for readers without the lock. found is false if there
// is none. A marker that exists and cannot be read is found, with an error that explains why.
func ReadMarker(dir string) (m Marker, found bool, err error) {
	b, err := ReadFile(filepath.Join(dir, markerFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, false, nil
	}
	if err == nil {
		m, err = parseMarker(b)
	}
	return m, true, err
}

// clip bounds a text so that every marker can be read back.
func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "") }

func parseMarker(b []byte) (Marker, error) {
	var m Marker
	if err := decode(b, &m); err != nil {
		return Marker{}, err
	}
	if m.Life == "" || !plain(m.Life) {
		return Marker{}, fmt.Errorf("%.40q is not the id of a life", m.Life)
	}
	return m, nil
}
