package conversation

import (
	"errors"
	"fmt"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

func TestErrorsAreKeptApart(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		code ops.Code
	}{
		{"a stop", session.ErrStopping, ops.CodeStopping},
		{"a reset", session.ErrReset, ops.CodeConflict},
		{"an interrupt", session.ErrInterrupted, ops.CodeConflict},
		{"a stall", session.ErrStalled, ops.CodeUnavailable},
		{"anything else", errors.New("boom"), ops.CodeUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := userError(fmt.Errorf("turn: %w", tc.err)); !ops.HasCode(got, tc.code) || ops.AsError(got).Hint == "" {
				t.Fatalf("got %v, want %s with a hint", got, tc.code)
			}
		})
	}
}
