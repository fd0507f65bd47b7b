package host

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// HF12, HF25: what has no descriptor runs again with the spares, which are there again afterwards; another error is left as it
// is.
func TestHF12_TheSparesAreGivenUpForWhatHasNoDescriptor(t *testing.T) {
	var s spares
	s.take()
	defer s.release()
	tries := 0
	err := s.spend(func() error {
		if tries++; len(s.held) > 0 {
			return fmt.Errorf("open it: %w", syscall.EMFILE)
		}
		return nil
	})
	if err != nil || tries != 2 || len(s.held) != sparesKept {
		t.Errorf("%v after %d tries, %d spares are held", err, tries, len(s.held))
	}
	other := errors.New("another reason")
	tries = 0
	if err := s.spend(func() error { tries++; return other }); !errors.Is(err, other) || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}
