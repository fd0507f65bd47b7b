package process

import (
	"context"
	"errors"
	"fmt"
)

// searchesMost is how many searches for the holder of a socket run concurrently.
const searchesMost = 1

// SocketOwner fails: macOS does not tell the holder of a socket.
func (r *Registry) SocketOwner(context.Context, int, uint64, uint64) (Owner, bool, error) {
	return Owner{}, false, fmt.Errorf("find the holder of a socket: %w", errors.ErrUnsupported)
}
