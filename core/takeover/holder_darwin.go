package takeover

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"gatewaytui/core/instance"
)

// holds reports whether the process of the record answers on the home's control socket as the life of the record: macOS
// shows neither the files nor the locks of a process to another one. A gateway that does not answer is not replaced.
func (t *takeover) holds() bool {
	ctx, cancel := context.WithTimeout(context.Background(), t.bounds.ask)
	defer cancel()
	s, err := t.client.Status(ctx)
	return err == nil && s.PID == t.holder.PID && s.Life == t.holder.Life
}

// signal sends sig to the holder itself, or to no process: its identity is read right before, since macOS has no pidfds.
func (t *takeover) signal(sig syscall.Signal) error {
	for _, one := range []syscall.Signal{sig, syscall.SIGCONT} {
		if alive, known := instance.Alive(t.holder); !known || !alive {
			return nil
		}
		if err := syscall.Kill(t.holder.PID, one); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal pid %d: %w", t.holder.PID, err)
		}
	}
	return nil
}

// InvocationOf fails: macOS does not tell how another process was started.
func InvocationOf(pid int, _ string) (Invocation, error) {
	return Invocation{}, fmt.Errorf("read how pid %d was started: %w", pid, errors.ErrUnsupported)
}
