package e2e

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// BenchmarkAttach is from exec to the first full screen of an attached console.
func BenchmarkAttach(b *testing.B) {
	g := start(b, newHome(b), quick)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		c := onPTY(b, "attach", "--home", g.home).read()
		for shown := ""; !strings.Contains(shown, "RUNNING") || !strings.Contains(shown, "? help"); shown = ansi.Strip(c.output()) {
			if time.Since(began) > patience {
				b.Fatalf("no screen within %v: %q", patience, c.output())
			}
			<-time.After(time.Millisecond)
		}
		took = append(took, time.Since(began))
		b.StopTimer()
		c.signal(syscall.SIGTERM)
		c.exit()
		b.StartTimer()
	}
	median(b, took, "median-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStopWithAConsole is what the embedded console adds to a stop, from SIGTERM to the end of the process: the
// difference of the medians with and without one. The terminal is read, or not read.
func BenchmarkStopWithAConsole(b *testing.B) {
	stop := func(b *testing.B, how string) time.Duration {
		home := newHome(b)
		args := []string{"--home", home, "--config", configFile(b, quick)}
		if how == "none" {
			args = append(args, "--no-tui")
		}
		c := onPTY(b, args...)
		if how != "stalled" {
			c.read()
		}
		isUp(b, home)
		<-time.After(time.Second) // modelled: a console that has drawn, or is stuck
		began := time.Now()
		c.signal(syscall.SIGTERM)
		c.exit()
		return time.Since(began)
	}
	for _, how := range []string{"read", "stalled"} {
		b.Run(how, func(b *testing.B) {
			var with, without []time.Duration
			for range b.N {
				with = append(with, stop(b, how))
				without = append(without, stop(b, "none"))
			}
			slices.Sort(with)
			slices.Sort(without)
			b.ReportMetric(float64((with[len(with)/2]-without[len(without)/2]).Microseconds())/1000, "added-ms")
			b.ReportMetric(float64(with[len(with)/2].Microseconds())/1000, "stop-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkIdleConsole is what an attached console costs while nothing happens: of one core, in percent, and in bytes
// written to its terminal each second.
func BenchmarkIdleConsole(b *testing.B) {
	const looked = 10 * time.Second
	g := start(b, newHome(b), quick)
	c := onPTY(b, "attach", "--home", g.home).read()
	c.await("RUNNING")
	<-time.After(3 * time.Second) // modelled: a console that was open for a while; the first screens are not idle ones
	var cpu, written float64
	for range b.N {
		ticks, bytes := ticksOf(b, c.cmd.Process.Pid), len(c.output())
		<-time.After(looked)  // the time that is measured
		const perSecond = 100 // USER_HZ, proc(5)
		cpu += (ticksOf(b, c.cmd.Process.Pid) - ticks) / perSecond / looked.Seconds() * 100
		written += float64(len(c.output())-bytes) / looked.Seconds()
	}
	b.ReportMetric(cpu/float64(b.N), "cpu-%")
	b.ReportMetric(written/float64(b.N), "bytes/s")
	b.ReportMetric(0, "ns/op")
	c.signal(syscall.SIGTERM)
	c.exit()
}

// BenchmarkBusyConsole is what an attached console costs of one core, in percent, while clients make 400 turns a second. It shows
// the overview, the sessions, and the events, at 80x24, and at 200x60 with the conversation and the turn next to the sessions.
func BenchmarkBusyConsole(b *testing.B) {
	const perSecond, looked = 400, 8 * time.Second
	for _, shown := range []struct {
		view       string
		cols, rows uint16
	}{{"1", 80, 24}, {"2", 80, 24}, {"7", 80, 24}, {"1", 200, 60}, {"2", 200, 60}, {"7", 200, 60}} {
		b.Run(fmt.Sprintf("view=%s/size=%dx%d", shown.view, shown.cols, shown.rows), func(b *testing.B) {
			g := start(b, newHome(b), atOnce(b))
			c := onPTY(b, "attach", "--home", g.home).read()
			if err := pty.Setsize(c.user, &pty.Winsize{Rows: shown.rows, Cols: shown.cols}); err != nil {
				b.Fatal(err)
			}
			c.await("RUNNING")
			c.write(shown.view)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
			var cpu float64
			for range b.N {
				began := time.Now()
				var clients sync.WaitGroup
				var ticks float64
				for n := range int((looked + 4*time.Second).Seconds() * perSecond) {
					time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / perSecond))) // modelled: the rate of the turns
					if n == 3*perSecond {                                                         // the first seconds are those of its first screens
						ticks = ticksOf(b, c.cmd.Process.Pid)
					}
					if n == 3*perSecond+int(looked.Seconds())*perSecond {
						const userHZ = 100 // proc(5)
						cpu += (ticksOf(b, c.cmd.Process.Pid) - ticks) / userHZ / looked.Seconds() * 100
					}
					clients.Go(func() { ask(b, client, g.api, fmt.Sprintf("c%d-%d", n%16, n/80)) })
				}
				clients.Wait()
			}
			b.ReportMetric(cpu/float64(b.N), "cpu-%")
			b.ReportMetric(0, "ns/op")
			c.signal(syscall.SIGTERM)
			c.exit()
			g.stop()
		})
	}
}

// ticksOf is what a process has used of the processors, in ticks: utime and stime of /proc/PID/stat.
func ticksOf(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user + system)
}
