package e2e

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/fixtures/eventually"
)

// HF12, HF25: a thousand connections and event streams of one program on the control socket take no more than its share of the
// descriptors. The API answers, status works for everyone else and names the bound, and the stop is one that was planned.
func TestHF12_AFloodOfTheControlSocketIsBounded(t *testing.T) {
	for _, files := range []int{256, 64} {
		t.Run(fmt.Sprintf("with %d descriptors", files), func(t *testing.T) {
			home := newHome(t)
			g := startUnder(t, fmt.Sprintf("ulimit -n %d; exec \"$@\"", files), home, quick)
			for i := range 1000 {
				c, err := net.Dial("unix", filepath.Join(home, "control.sock"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				if i%2 == 0 {
					_, _ = c.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")) // it may be closed already
				}
			}
			if reply, status := g.chat("alice", "hello"); status != http.StatusOK {
				t.Errorf("the API answers %d %q", status, reply)
			}
			eventually.True(t, "status names the bound", func() bool {
				out, code := g.verb("status")
				return code == 0 && strings.Contains(out, "limits.control_connections")
			})
			g.stopsClean()
			if out, err := shell(home, "cat .clean_shutdown"); err != nil || !strings.Contains(out, g.life) {
				t.Errorf("the marker is %q, %v", out, err)
			}
			next := start(t, home, quick)
			if lives := history(t, home); len(lives) != 2 || lives[1].Outcome != "clean" {
				t.Errorf("the lives are %+v", lives)
			}
			next.stopsClean()
		})
	}
}
