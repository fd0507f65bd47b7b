package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// The advice fits the cause: no room on the disk is one cause of several.
func TestTheAdviceFitsTheCause(t *testing.T) {
	for want, err := range map[string]error{
		"free space on the disk":  syscall.ENOSPC,
		"start the gateway again": ErrDisplaced,
		"repair the database":     &DamagedError{What: "a page is torn"},
		"wait until":              ErrClosed,
		"check the log":           errors.New("constraint failed"),
	} {
		if got := Advice(fmt.Errorf("put the message: %w", err)); !strings.Contains(got, want) {
			t.Errorf("of %v it advises: %s; want %q", err, got, want)
		}
	}
}

// SQLite's own errors are advised on by what it could not do.
func TestTheAdviceOnAFullDatabaseIsRoomAndOnALostFileIsARestart(t *testing.T) {
	s := open(t, t.TempDir())
	mustWrite(t, s, "first")
	must(t, s.write(t.Context(), "limit", func(tx *tx) error {
		var most int
		_, err := tx.found("PRAGMA max_page_count = 1", nil, &most)
		return err
	}))
	err := s.PutLife(t.Context(), Life{ID: "too much", Reason: strings.Repeat("x", 1<<20)})
	if got := Advice(err); !strings.Contains(got, "free space on the disk") {
		t.Errorf("of %v it advises: %s", err, got)
	}
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	err = s.PutLife(context.WithoutCancel(t.Context()), Life{ID: "lost"})
	if got := Advice(err); !strings.Contains(got, "start the gateway again") {
		t.Errorf("of %v it advises: %s", err, got)
	}
}
