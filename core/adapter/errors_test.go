package adapter

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TF50: a teardown that went wrong says each thing once, on one line.
func TestErrorsTogetherSayEachThingOnce(t *testing.T) {
	cut := fmt.Errorf("disconnect: %w", context.Canceled)
	for _, tt := range []struct {
		name string
		errs []error
		want string
	}{
		{"the end of the same context", []error{cut, context.Canceled}, "disconnect: context canceled"},
		{"different things", []error{cut, errors.New("refused")}, "disconnect: context canceled; refused"},
		{"one", []error{nil, cut, nil}, "disconnect: context canceled"},
		{"the same one twice", []error{cut, cut}, "disconnect: context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := together(tt.errs...)
			if err.Error() != tt.want || !errors.Is(err, context.Canceled) {
				t.Errorf("got %q, want %q", err, tt.want)
			}
		})
	}
	if err := together(nil, nil); err != nil {
		t.Errorf("no error is %v", err)
	}
}
