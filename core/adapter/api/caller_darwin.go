package api

import (
	"context"
	"errors"
	"net"

	"gatewaytui/core/adapter"
)

// clientOf fails: macOS does not tell whose socket this is, so every caller needs the key.
func clientOf(context.Context, net.Conn) (adapter.Socket, error) {
	return adapter.Socket{}, errors.New("macOS does not tell whose socket it is")
}

func unmapped(int) bool { return false }
