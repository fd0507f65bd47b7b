package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// D22: what a start costs does not grow with the sessions of the store. Only the first of them are read before it goes on.
func TestAStartDoesNotWaitForTheSessionsBehindTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Options{Config: config.Default(), Log: slog.New(slog.DiscardHandler), Models: echo(nil), Life: "life"})
		if err != nil {
			t.Fatal(err)
		}
		goOn := make(chan struct{})
		read := func(_ context.Context, each func(store.Session) error) (int, error) {
			for i := range 2 * loadFirst {
				if i == loadFirst {
					<-goOn // the disk hangs
				}
				if err := each(store.Session{Key: fmt.Sprintf("chat:dm:%d", i), ID: fmt.Sprint(i), State: ops.SessionIdle}); err != nil {
					return 0, err
				}
			}
			return 0, nil
		}
		started := make(chan error, 1)
		go func() { started <- g.loadFrom(t.Context(), read) }()
		synctest.Wait()
		select {
		case err := <-started:
			if err != nil {
				t.Fatal(err)
			}
		default:
			close(goOn)
			t.Fatal("the start waits for all sessions")
		}
		if n, _ := g.table.Len(); n != loadFirst {
			t.Errorf("%d sessions are there when the start goes on, want %d", n, loadFirst)
		}
		close(goOn)
		<-g.loaded
		if n, _ := g.table.Len(); n != 2*loadFirst {
			t.Errorf("%d sessions are there in the end, want %d", n, 2*loadFirst)
		}
		synctest.Wait() // for the task to leave the group
	})
}
