package main

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

func TestStatusIsOneScreen(t *testing.T) {
	f := newFake()
	g := start(t, f)
	r := g.run(t, "status").must(t, exitDone).says(t,
		"gateway     up, running for 1h00m", "life        01LIFE, pid 4121, version 1.2.3", "home        /srv/gw",
		"3 sessions, 1 running turn, 2 cached agents, 4 processes, 1 of 2 adapters connected",
		"http://127.0.0.1:8642/v1", "systemd, allows a stop 1m30s (config)", "cut short in drain", "SIGTERM",
		"warning     store.disk: the disk is full", "needs credentials",
	)
	if n := strings.Count(r.out, "\n"); n > 24 {
		t.Errorf("it has %d lines, a screen 24", n)
	}
	same(t, g.run(t, "status", "--json").must(t, exitDone).out, presentStatus{"up", f.status})
}

func TestStatusSaysWhatIsInUseOfEachBound(t *testing.T) {
	f := newFake()
	f.status.Limits = []ops.Limit{
		{Name: "limits.turns", Used: 512, Bound: 512, Waiting: 3, Reached: 3},
		{Name: "limits.calls_per_turn", Per: "turn", Used: 12, Bound: 200},
		{Name: "limits.processes", Per: "session", Used: 1, Bound: 64},
		{Name: "limits.queued_bytes", Unit: "bytes", Used: 3 << 20, Bound: 64 << 20},
	}
	start(t, f).run(t, "status").must(t, exitDone).says(t,
		"limits      turns 512 of 512 (3 waiting), queued bytes 3.0 MiB of 64 MiB\n",
		"limits      largest of any turn, session or process tree: calls per turn 12 of 200, processes 1 of 64\n",
	)
}

func TestStatusOfAnEmptyLifeNamesWhatIsNotKnown(t *testing.T) {
	f := newFake()
	f.status = ops.Status{Life: fakeLife, State: ops.StateStarting}
	start(t, f).run(t, "status").must(t, exitDone).says(t, "up, starting", "none: this is the first life", "it will not restart after a crash", "warnings    none")
}

func TestG5_StatusSaysWhoSupervisesItAndWhatThatAllows(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   ops.Supervisor
		want string
	}{
		{"systemd's answer", ops.Supervisor{Name: "systemd (gw.service)", BudgetMS: 90_000, Source: "systemd"}, "systemd (gw.service), allows a stop 1m30s (systemd)"},
		{"systemd without a limit", ops.Supervisor{Name: "systemd (gw.service)", Source: "systemd"}, "systemd (gw.service), sets no limit for a stop (systemd)"},
		{"supervisord, which cannot be asked", ops.Supervisor{Name: "supervisord (gw)", Source: "unknown"}, "supervisord (gw), its limit for a stop is unknown"},
		{"runit, which never kills by itself", ops.Supervisor{Name: "runit", Source: "runit"}, "runit, sets no limit for a stop (but sv force-stop kills after 7s)"},
		{"runit with a figure from its environment", ops.Supervisor{Name: "runit", BudgetMS: 60_000, Source: "environment"}, "runit, allows a stop 1m00s (environment)"},
		{"no manager, with a limit", ops.Supervisor{BudgetMS: 3_000, Source: "environment"}, "none detected, allows a stop 3.0s (environment)"},
		{"no manager", ops.Supervisor{Source: "unknown"}, "none detected; it will not restart after a crash"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.status.Supervisor = tt.in
			start(t, f).run(t, "status").must(t, exitDone).says(t, "supervisor  "+tt.want+"\n")
		})
	}
}

func TestStatusSaysHowLongTheStateHasLastedAndNotTheUptime(t *testing.T) {
	since := ops.Time{Time: time.Now().Add(-4 * time.Minute)}
	for _, tt := range []struct {
		state ops.State
		drain *ops.DrainState
		want  string
	}{
		{ops.StateRunning, nil, "gateway     up, running for 3h00m\n"},
		{ops.StateDraining, &ops.DrainState{By: "uid 0 on pts/1", Since: since}, "gateway     up, draining for 4m00s by uid 0 on pts/1, started 3h00m ago\n"},
		{ops.StateDraining, &ops.DrainState{By: "uid 0 on pts/1", Since: since, Reason: "deploy"}, "\ndraining    deploy\n"},
		{ops.StateDraining, &ops.DrainState{Since: since}, "gateway     up, draining for 4m00s, started 3h00m ago\n"},
		{ops.StateStopping, nil, "gateway     up, stopping, started 3h00m ago\n"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			f := newFake()
			f.status = ops.Status{Life: fakeLife, State: tt.state, Drain: tt.drain, UptimeMS: (3 * time.Hour).Milliseconds()}
			start(t, f).run(t, "status").must(t, exitDone).says(t, tt.want)
		})
	}
}

func TestStatusShowsADrainAndARunningStop(t *testing.T) {
	f := newFake()
	f.status.State = ops.StateStopping
	f.status.Drain = &ops.DrainState{By: "uid 0", Reason: "deploy" + hostile, Since: anHourAgo}
	f.down = stopReport()
	f.down.Outcome = ops.ShutdownRunning
	f.down.Phases[1].State, f.down.Phases[1].Items[0].State = ops.StepRunning, ops.StepRunning
	f.down.Phases[1].Items[0].Next, f.down.Phases[1].Items[0].NextInMS = "abandoned", 1_000
	f.down.Phases = append(f.down.Phases, ops.Phase{Name: "stores", State: ops.StepPending, BudgetMS: 3_000, Items: []ops.Item{}})
	// The whole plan has 10 minutes; what is left are 1 s of the running phase and 3 s of the last one.
	f.down.StartedAt, f.down.DeadlineAt = anHourAgo, ops.At(anHourAgo.Add(10*time.Minute))
	f.down.Phases[1].ElapsedMS = 4_000
	f.down.Escalations = []ops.Escalation{{At: ops.At(anHourAgo.Add(3200 * time.Millisecond)), From: ops.ModeGraceful, Mode: ops.ModeFast, By: "uid 0" + hostile}}
	f.down.Mode = ops.ModeFast
	start(t, f).run(t, "status").must(t, exitDone).says(t,
		"deploy", "shutdown    graceful, forced to fast after 3.2s by uid 0", "running, by uid 0", "; over in at most 4.0s\n", "mark", "done",
		"waits for   adapter telegram, stuck, 5.0s of 5.0s: disconnect", "abandoned in 1.0s",
	)
}

// TestH1_StatusIsUpDownOrUnknown: dead is never shown as running, nor running as dead.
func TestH1_StatusIsUpDownOrUnknown(t *testing.T) {
	listen := func(t *testing.T, home *instance.Home, answer func(net.Conn)) {
		t.Helper()
		l, err := net.Listen("unix", home.Socket())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = http.ReadRequest(bufio.NewReader(c)) // what is asked is of no matter
				answer(c)
				defer c.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-done })
	}
	pidFile := func(text string) func(*testing.T, *instance.Home) {
		return func(t *testing.T, home *instance.Home) {
			t.Helper()
			if err := os.WriteFile(home.PIDFile(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	acquire := func(t *testing.T, home *instance.Home) {
		t.Helper()
		lock, err := home.Acquire(instance.Record{Life: "L", Control: home.Socket()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lock.Release() })
	}
	tests := []struct {
		name  string
		make  func(*testing.T, *instance.Home)
		state string
		why   string
	}{
		{"an unused home", func(*testing.T, *instance.Home) {}, "down", "does not exist"},
		{"a stale socket", func(t *testing.T, home *instance.Home) {
			l, err := net.Listen("unix", home.Socket())
			if err != nil {
				t.Fatal(err)
			}
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			l.Close()
		}, "down", "is stale"},
		{"an empty pid file", pidFile(""), "down", "does not exist"},
		{"a pid file of garbage", pidFile("\x1b[2J 4711"), "down", "does not exist"},
		{"a pid file of another boot", pidFile(`{"pid":1,"start_ticks":1,"boot_id":"another","life":"L"}`), "down", "does not exist"},
		{"a pid that is used again", pidFile(`{"pid":1,"start_ticks":999999999,"boot_id":"` + instance.Self().BootID + `"}`), "down", "does not exist"},
		{"a pid file of another pid namespace", pidFile(`{"pid":1,"start_ticks":1,"boot_id":"` + instance.Self().BootID + `","pid_namespace":"pid:[1]"}`), "unknown", "cannot be known from here"},
		{"a pid file without an identity", pidFile(`{"pid":1}`), "unknown", "cannot be known from here"},
		{"a gateway without a socket", acquire, "unknown", "starting or ending"},
		{"a socket that hangs up", func(t *testing.T, home *instance.Home) {
			listen(t, home, func(c net.Conn) { c.Close() })
		}, "unknown", "hung up"},
		{"a socket that talks nonsense", func(t *testing.T, home *instance.Home) {
			listen(t, home, func(c net.Conn) { c.Write([]byte("HTTP/1.1 200 OK\r\n\r\n\x1b[2Jhello")) })
		}, "unknown", ""},
		{"a socket of another service", func(t *testing.T, home *instance.Home) {
			listen(t, home, func(c net.Conn) { c.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")) })
		}, "unknown", "is not a gateway"},
		{"a socket that does not answer", func(t *testing.T, home *instance.Home) {
			listen(t, home, func(net.Conn) {})
		}, "unknown", "does not answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := newHome(t)
			tt.make(t, home)
			began := time.Now()
			r := invocation{home: home.Dir()}.run(t, t.Context(), "status").must(t, exitNoGateway).says(t, "gateway     "+tt.state+": ", tt.why)
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %s", took)
			}
			if r.err != "" {
				t.Errorf("stderr has %q: that no gateway runs is status's answer, not its failure", r.err)
			}
			var got presence
			decodeLine(t, invocation{home: home.Dir()}.run(t, t.Context(), "status", "--json").must(t, exitNoGateway).out, &got)
			if got.Gateway != tt.state || got.Why == "" || got.Hint == "" {
				t.Errorf("the JSON says %+v", got)
			}
		})
	}
	t.Run("a home that does not exist", func(t *testing.T) {
		r := invocation{home: "/nonexistent/" + strings.Trim(hostile, "\x00")}.run(t, t.Context(), "status").must(t, exitNoGateway)
		r.says(t, "gateway     down: ", "there is no home")
	})
}

func TestWithoutAGatewayEveryVerbSaysSo(t *testing.T) {
	home := newHome(t)
	for _, line := range []string{
		"sessions", "agents", "processes", "adapters", "plan", "watch", "send hello", "reset cli:local", "reset cli:local --yes",
		"evict cli:local --dry-run", "interrupt cli:local", "kill 4711", "adapter pause x", "adapter resume x", "adapter reconnect x",
		"drain", "undrain", "stop", "stop --yes", "stop --wait --yes", "shutdown skip", "shutdown extend", "shutdown force --yes", "diagnose",
	} {
		r := invocation{home: home.Dir()}.run(t, t.Context(), strings.Fields(line)...).must(t, exitNoGateway)
		r.says(t, "no gateway runs here", "start one with gatewaytui")
		if r.out != "" {
			t.Errorf("%s: stdout has %q", line, r.out)
		}
	}
}

func TestAGatewayThatIsStartingIsNotMissing(t *testing.T) {
	home := newHome(t)
	lock, err := home.Acquire(instance.Record{Life: "L", Control: home.Socket()})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	invocation{home: home.Dir()}.run(t, t.Context(), "sessions").must(t, exitNoGateway).says(t, "lives on this home", "starting or ending", "ask again")
}
