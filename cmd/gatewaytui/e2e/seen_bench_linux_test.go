package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"gatewaytui/fixtures/eventually"
)

// BenchmarkEventToScreen is from a client's message to the row of its session on the terminal of an attached console of 200x60.
// Other clients make 10 and 400 turns a second meanwhile. A filter keeps the rows of the probes in the window.
func BenchmarkEventToScreen(b *testing.B) {
	const every, probes = 300 * time.Millisecond, 40
	for _, perSecond := range []int{10, 400} {
		b.Run(fmt.Sprintf("turns=%d", perSecond), func(b *testing.B) {
			g := start(b, newHome(b), atOnce(b))
			c := onPTY(b, "attach", "--home", g.home).read()
			if err := pty.Setsize(c.user, &pty.Winsize{Rows: 60, Cols: 200}); err != nil {
				b.Fatal(err)
			}
			c.await("RUNNING")
			c.write("2/probe\r")
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
			quiet := make(chan struct{})
			var load sync.WaitGroup
			load.Go(func() { turnsASecond(b, g, client, perSecond, quiet) })
			<-time.After(3 * time.Second) // modelled: the load has run for a while
			var took []time.Duration
			for i := range b.N * probes {
				name := fmt.Sprintf("probe%04d", i)
				began, drawn := time.Now(), len(c.output())
				load.Go(func() { ask(b, client, g.api, name) })
				eventually.True(b, "the console shows "+name, func() bool { return strings.Contains(c.output()[drawn:], name) })
				took = append(took, time.Since(began))
				time.Sleep(time.Until(began.Add(every))) // modelled: the probes come at a rate of their own
			}
			close(quiet)
			load.Wait()
			median(b, took, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(0, "ns/op")
			c.signal(syscall.SIGTERM)
			c.exit()
			g.stop()
		})
	}
}

// turnsASecond makes turns in 16 sessions at a time, of 80 messages each, at a rate, until quiet is closed, and waits for them.
func turnsASecond(b testing.TB, g *gateway, client *http.Client, rate int, quiet <-chan struct{}) {
	began := time.Now()
	var clients sync.WaitGroup
	defer clients.Wait()
	for n := 0; ; n++ {
		select {
		case <-quiet:
			return
		case <-time.After(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate)))): // modelled: the rate of the turns
		}
		clients.Go(func() { ask(b, client, g.api, fmt.Sprintf("c%d-%d", n%16, n/80)) })
	}
}
