package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/fixtures/soak"
)

// Two consoles look at a gateway with 10,000 sessions while clients make many turns a second: each keeps its own view and size, shows
// what is new at every size, and costs no client its answer.
func TestOP1_TwoConsolesShowABusyGatewayOfTenThousandSessions(t *testing.T) {
	soak.Long(t)
	g := start(t, firstEdition(t), atOnce(t))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	quiet := make(chan struct{})
	var load sync.WaitGroup
	load.Go(func() { turnsASecond(t, g, client, soak.Count(t, 100, 1000), quiet) })
	defer load.Wait()
	defer close(quiet)

	pages := map[string]*screen{
		"overview": newScreen(t, 200, 60, "attach", "--home", g.home),
		"sessions": newScreen(t, 80, 24, "attach", "--home", g.home),
	}
	for _, s := range pages {
		s.runs()
	}
	pages["sessions"].keys("2")
	for round := range soak.Count(t, 1, 5) {
		for _, size := range [][2]int{{40, 6}, {80, 24}, {120, 30}, {140, 40}, {200, 60}, {250, 70}} {
			w, h := size[0], size[1]
			for name, s := range pages {
				s.tmux("resize-window", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h))
				if h < 24 {
					s.runs() // there is room for little more
					continue
				}
				s.await("RUNNING", "["+strconv.Itoa(map[string]int{"overview": 1, "sessions": 2}[name])+" "+name[:4], "live", "? help")
			}
			<-time.After(300 * time.Millisecond) // modelled: a person looks at each size for a moment
			for name, s := range pages {
				seen := strings.Split(strings.TrimRight(s.sees(), "\n"), "\n")
				if len(seen) > h || strings.Contains(s.last, "STALE") || strings.Contains(s.last, "view failed") {
					t.Errorf("round %d: the console with the %s at %dx%d shows\n%s", round, name, w, h, s.last)
				}
			}
		}
	}
}
