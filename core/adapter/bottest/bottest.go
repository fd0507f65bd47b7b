// Package bottest is what the tests of the chat platforms have in common: how a connection is made and taken down, and how what was sent is
// compared.
package bottest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
)

// Dial makes a connection of p that hands its messages to r. The caller takes it down.
func Dial[C adapter.Conn](t testing.TB, p adapter.Platform, r adapter.Receiver) (c C) {
	t.Helper()
	made, err := p.Connect(t.Context(), r)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return made.(C)
}

// Down takes a connection down. An error of the platform is logged: its tests make it fail.
func Down(t testing.TB, c adapter.Conn) {
	t.Helper()
	if err := conformance.TakeDown(c); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Logf("disconnect: %v", err)
	}
}

// WantSent fails the test unless what was sent are messages whose texts begin with these.
func WantSent[M any](t testing.TB, sent []M, text func(M) string, want ...string) {
	t.Helper()
	if !slices.EqualFunc(sent, want, func(m M, begin string) bool { return strings.HasPrefix(text(m), begin) }) {
		t.Errorf("sent %+v, want texts that begin with %q", sent, want)
	}
}
