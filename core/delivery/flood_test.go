package delivery

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// A person sends ten messages a second for a minute, each of which waits for a turn of its own. A turn takes a second.
func TestE13_WhoFloodsHearsOnceThatMessagesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		i := waiting(t, &reacting{world: w, fail: slices.Repeat([]error{errors.New("no such sign")}, 2000)})
		refused := 0
		for n := range 600 {
			switch _, err := i.Receive(t.Context(), written(strconv.Itoa(n), "/queue more")); {
			case ops.HasCode(err, ops.CodeQueueFull):
				refused++
			case err != nil:
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // virtual
			if v, running := i.o.Table.Running("chat:dm:1"); running && n%10 == 9 {
				i.o.Table.Release(t.Context(), v.Turn, session.End{State: ops.SessionIdle})
			}
		}
		w.tasks.Wait()
		if len(w.sent) != 1 || !strings.Contains(w.sent[0], "this one is next") || refused < 400 {
			t.Errorf("after %d refusals the chat heard %q", refused, w.sent)
		}
	})
}
