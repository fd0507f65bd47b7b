package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

// weighing is an agent of a session whose transcript costs what it is given.
func weighing(session string) *bench {
	return newBench(hang, func(c *Config) { c.Session = session })
}

func (b *bench) weigh(bytes int64) { b.bytes.Store(bytes) }

func (b *bench) setUnsaved(yes bool) {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	b.memory.unsaved = yes
}

func names(agents []*Agent) []string {
	var out []string
	for _, a := range agents {
		out = append(out, a.Session())
	}
	return out
}

// filled is a cache with agents that have had one turn each, a second apart.
func filled(opts CacheOptions, bytes int64, sessions ...string) (*Cache, map[string]*bench) {
	c, all := NewCache(opts), make(map[string]*bench)
	for _, s := range sessions {
		b := weighing(s)
		all[s] = b
		c.Put(b.Agent)
		b.weigh(bytes)
		c.Done(b.Agent)
		time.Sleep(time.Second) // virtual
	}
	return c, all
}

func TestD5_TheCountTakesTheLeastRecentlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := filled(CacheOptions{Max: 3}, 1, "a", "b", "c")
		a, _ := c.Get("a")
		c.Done(a)
		if diff := cmp.Diff([]string{"b"}, names(c.Put(weighing("d").Agent))); diff != "" {
			t.Errorf("evicted (-want +got):\n%s", diff)
		}
		if c.Len() != 3 {
			t.Errorf("%d agents, want 3", c.Len())
		}
	})
}

func TestD5_IdleAgentsLeaveWithTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := filled(CacheOptions{Idle: time.Hour}, 1, "a", "b")
		held, _ := c.Get("b")
		time.Sleep(time.Hour - 2*time.Second)
		if diff := cmp.Diff([]string{"a"}, names(c.Sweep(time.Now()))); diff != "" {
			t.Errorf("after an hour (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Hour)
		if out := c.Sweep(time.Now()); out != nil {
			t.Errorf("a held agent left: %q", names(out))
		}
		c.Done(held)
		time.Sleep(time.Hour - time.Second)
		if out := c.Sweep(time.Now()); out != nil {
			t.Errorf("idle time counts from the end of the turn, and %q left before", names(out))
		}
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"b"}, names(c.Sweep(time.Now()))); diff != "" {
			t.Errorf("an hour after its turn (-want +got):\n%s", diff)
		}
	})
}

func TestD5_BytesNeverTakeABusyAnUnsavedOrTheNewestAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := filled(CacheOptions{Bytes: 100}, 20, "unsaved", "held", "old", "newer", "newest")
		all["unsaved"].setUnsaved(true)
		c.Get("held")
		newest, _ := c.Get("newest")
		all["newest"].weigh(1000)
		if diff := cmp.Diff([]string{"old", "newer"}, names(c.Done(newest))); diff != "" {
			t.Errorf("evicted (-want +got):\n%s", diff)
		}
		if bytesOf(c) != 1040 {
			t.Errorf("%d bytes are left, want the three that must stay", bytesOf(c))
		}
	})
}

func TestD7_EvictRefusesAnAgentThatIsInUse(t *testing.T) {
	c := NewCache(CacheOptions{})
	b := weighing("s")
	c.Put(b.Agent)
	refused := func(why string) {
		t.Helper()
		if a, err := c.Evict("s"); a != nil || !ops.HasCode(err, ops.CodeBusy) {
			t.Errorf("evict while %s: %v, %v; want a busy error", why, a, err)
		}
	}
	refused("a turn holds it")
	var busy *ops.Error
	if _, err := c.Evict("s"); !errors.As(err, &busy) || !strings.Contains(busy.Hint, "--interrupt") {
		t.Errorf("evict while a turn runs: %+v, want a hint that names --interrupt", err)
	}
	c.Done(b.Agent)
	b.setUnsaved(true)
	refused("it is unsaved")
	b.setUnsaved(false)
	a, err := c.Evict("s")
	if err != nil || a != b.Agent {
		t.Errorf("evict of an idle agent: %v, %v", a, err)
	}
	if _, err := c.Evict("s"); !ops.HasCode(err, ops.CodeNotFound) {
		t.Errorf("evict of nothing: %v, want not_found", err)
	}
}

// A claimed agent goes to its claimer when the turn gives it back, and nowhere else.
func TestCache_AClaimTakesTheAgentFromTheTurnThatHoldsIt(t *testing.T) {
	claim := func(t *testing.T, c *Cache) <-chan *Agent {
		t.Helper()
		claimed, err := c.Claim("a")
		if err != nil {
			t.Fatal(err)
		}
		return claimed
	}
	none := func(t *testing.T, claimed <-chan *Agent) {
		t.Helper()
		select {
		case a, ok := <-claimed:
			if ok {
				t.Fatalf("it brought the agent of %s", a.Session())
			}
		default:
			t.Fatal("it is not closed")
		}
	}
	for _, tc := range []struct {
		name string
		play func(t *testing.T, c *Cache, b *bench)
	}{
		{"when the turn gives it back", func(t *testing.T, c *Cache, b *bench) {
			claimed := claim(t, c)
			c.Done(b.Agent)
			if a := <-claimed; a != b.Agent || c.Len() != 0 {
				t.Fatalf("it brought %v, and %d agents are cached", a, c.Len())
			}
		}},
		{"at once, where no turn holds it", func(t *testing.T, c *Cache, b *bench) {
			c.Done(b.Agent)
			if a := <-claim(t, c); a != b.Agent || c.Len() != 0 {
				t.Fatalf("it brought %v, and %d agents are cached", a, c.Len())
			}
		}},
		{"never, if it leaves the cache in another way", func(t *testing.T, c *Cache, b *bench) {
			claimed := claim(t, c)
			c.Remove(b.Agent)
			none(t, claimed)
		}},
		{"never, once the claim is taken back", func(t *testing.T, c *Cache, b *bench) {
			claimed := claim(t, c)
			c.Unclaim("a", claimed)
			none(t, claimed)
			if c.Done(b.Agent); c.Len() != 1 {
				t.Fatal("the agent left the cache")
			}
		}},
		{"only when its transcript is saved", func(t *testing.T, c *Cache, b *bench) {
			claimed := claim(t, c)
			b.setUnsaved(true)
			c.Done(b.Agent)
			if c.Len() != 1 {
				t.Fatal("an unsaved agent was evicted")
			}
			b.setUnsaved(false)
			c.Get("a")
			c.Done(b.Agent)
			if a := <-claimed; a != b.Agent {
				t.Fatalf("it brought %v", a)
			}
		}},
		{"for one claimer at a time", func(t *testing.T, c *Cache, _ *bench) {
			claim(t, c)
			if _, err := c.Claim("a"); !ops.HasCode(err, ops.CodeBusy) {
				t.Fatalf("the second got %v", err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, b := NewCache(CacheOptions{}), weighing("a")
			c.Put(b.Agent)
			tc.play(t, c, b)
		})
	}
	if _, err := NewCache(CacheOptions{}).Claim("a"); !ops.HasCode(err, ops.CodeNotFound) {
		t.Fatalf("without an agent it got %v", err)
	}
}

// S12: a reset finds the agent, closes it while it is still in the cache, and takes it out then.
func TestS12_AClosingAgentStaysInTheCacheAndServesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := filled(CacheOptions{Max: 1, Idle: time.Minute, Bytes: 1}, 50, "s")
		b := all["s"]
		release := make(chan struct{})
		b.memory.flush = func(context.Context) error { <-release; return nil }
		a, _ := c.Peek("s")
		done := make(chan error)
		go func() { done <- a.Close(t.Context()) }()
		synctest.Wait()
		if _, ok := c.Get("s"); ok {
			t.Error("a turn was given an agent that closes")
		}
		if _, err := c.Evict("s"); !ops.HasCode(err, ops.CodeBusy) {
			t.Errorf("evict while it closes: %v", err)
		}
		if out := c.Sweep(time.Now().Add(time.Hour)); out != nil || c.Len() != 1 {
			t.Errorf("the sweep took %q; it must stay until it is closed", names(out))
		}
		if rows := c.Rows(); rows[0].State != "closing" {
			t.Errorf("row %+v", rows[0])
		}
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !c.Remove(a) || c.Remove(a) || c.Len() != 0 {
			t.Error("removing it once must take it out, twice must do nothing")
		}
	})
}

func TestS12_EvictionsLeaveSessionAndProcessesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := filled(CacheOptions{Max: 1}, 1, "a", "b")
		if _, ok := c.Peek("a"); ok {
			t.Fatal("a is still cached")
		}
		if got := all["a"].log.all(); got != nil {
			t.Errorf("the cache itself did %q to an agent that it dropped", got)
		}
	})
}

// D8, D10: a turn that was abandoned comes back after its session has a new agent.
func TestCache_AnAbandonedAgentNeverTouchesItsSuccessor(t *testing.T) {
	c := NewCache(CacheOptions{Max: 10})
	old, fresh := weighing("s"), weighing("s")
	c.Put(old.Agent)
	if !c.Remove(old.Agent) {
		t.Fatal("the wedged agent was not there")
	}
	c.Put(fresh.Agent)
	if out := c.Done(old.Agent); out != nil {
		t.Errorf("evicted %q", names(out))
	}
	if c.Remove(old.Agent) {
		t.Error("removed the successor")
	}
	if a, ok := c.Get("s"); !ok || a != fresh.Agent {
		t.Error("the successor is gone")
	}
}

func TestCache_PutReturnsWhomItReplaces(t *testing.T) {
	c := NewCache(CacheOptions{})
	old := weighing("s")
	c.Put(old.Agent)
	if out := c.Put(weighing("s").Agent); len(out) != 1 || out[0] != old.Agent || c.Len() != 1 {
		t.Errorf("replaced %q, %d agents", names(out), c.Len())
	}
}

// modelled is one agent as the state machine's model sees it.
type modelled struct {
	b             *bench
	held, unsaved bool
	bytes         int64
	used          int // order of use
}

// D5, D7: for any order of events, what leaves was free to leave, nothing leaves twice, and the bounds are kept as
// far as what must stay allows.
func TestCache_StateMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := CacheOptions{
			Max: rapid.IntRange(0, 4).Draw(t, "max"), Bytes: rapid.Int64Range(0, 300).Draw(t, "bytes"),
			Idle: time.Duration(rapid.IntRange(0, 3).Draw(t, "idle")) * time.Hour,
		}
		c, in, clock := NewCache(opts), map[string]*modelled{}, 0
		session := rapid.Map(rapid.IntRange(0, 6), func(i int) string { return fmt.Sprint("s", i) })
		pick := func(t *rapid.T) *modelled {
			keys := slices.Sorted(maps.Keys(in))
			if len(keys) == 0 {
				t.Skip("runs with an agent in the cache")
			}
			return in[rapid.SampledFrom(keys).Draw(t, "agent")]
		}
		newest := func() (n *modelled) {
			for _, m := range in {
				if n == nil || m.used > n.used {
					n = m
				}
			}
			return n
		}
		// left takes out of the model what the cache gave up.
		left := func(t *rapid.T, out []*Agent) {
			for _, a := range out {
				m := in[a.Session()]
				if m == nil || m.b.Agent != a {
					t.Fatalf("%s left and was not there", a.Session())
				}
				if m.held || m.unsaved {
					t.Fatalf("%s left while held %v, unsaved %v", a.Session(), m.held, m.unsaved)
				}
				delete(in, a.Session())
			}
		}
		// bounded checks the bounds after a call that keeps them, where newest was the most recently used before it.
		bounded := func(t *rapid.T, newest *modelled) {
			free, freeBytes, sum := 0, 0, int64(0)
			for _, m := range in {
				sum += m.bytes
				if m.held || m.unsaved {
					continue
				}
				free++
				if m != newest {
					freeBytes++
				}
			}
			if opts.Max > 0 && len(in) > opts.Max && free > 0 {
				t.Fatalf("%d agents stay, %d of them free; the bound is %d", len(in), free, opts.Max)
			}
			if opts.Bytes > 0 && sum > opts.Bytes && freeBytes > 0 {
				t.Fatalf("%d bytes stay, %d agents free; the bound is %d", sum, freeBytes, opts.Bytes)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				s := session.Draw(t, "session")
				if in[s] != nil {
					t.Skip("runs for a session without an agent in the cache")
				}
				clock++
				m := &modelled{b: weighing(s), held: true, used: clock}
				in[s] = m
				left(t, c.Put(m.b.Agent))
				bounded(t, newest())
			},
			"get": func(t *rapid.T) {
				s := session.Draw(t, "session")
				a, ok := c.Get(s)
				m := in[s]
				if ok != (m != nil) || ok && a != m.b.Agent {
					t.Fatalf("get %s: %v, the model has it: %v", s, ok, m != nil)
				}
				if ok {
					clock++
					m.held, m.used = true, clock
				}
			},
			"done": func(t *rapid.T) {
				m := pick(t)
				m.bytes = rapid.Int64Range(0, 150).Draw(t, "bytes")
				m.b.weigh(m.bytes)
				clock++
				m.held, m.used = false, clock
				left(t, c.Done(m.b.Agent))
				bounded(t, newest())
			},
			"save or not": func(t *rapid.T) {
				m := pick(t)
				m.unsaved = !m.unsaved
				m.b.setUnsaved(m.unsaved)
			},
			"evict": func(t *rapid.T) {
				m := pick(t)
				a, err := c.Evict(m.b.Session())
				if refused := m.held || m.unsaved; refused != ops.HasCode(err, ops.CodeBusy) {
					t.Fatalf("evict: %v; held %v, unsaved %v", err, m.held, m.unsaved)
				}
				if err == nil {
					left(t, []*Agent{a})
				}
			},
			"remove": func(t *rapid.T) {
				m := pick(t)
				if !c.Remove(m.b.Agent) {
					t.Fatal("it was there")
				}
				delete(in, m.b.Session())
			},
			"sweep": func(t *rapid.T) {
				skew := time.Duration(rapid.IntRange(0, 5).Draw(t, "hours")) * time.Hour
				before := newest()
				left(t, c.Sweep(time.Now().Add(skew)))
				bounded(t, newest())
				if before == nil || opts.Idle == 0 || skew < opts.Idle {
					return
				}
				for s, m := range in {
					if !m.held && !m.unsaved {
						t.Fatalf("%s stays after %v idle; the bound is %v", s, skew, opts.Idle)
					}
				}
			},
			"": func(t *rapid.T) {
				var sum int64
				for _, m := range in {
					sum += m.bytes
				}
				if c.Len() != len(in) || bytesOf(c) != sum || len(c.Rows()) != len(in) {
					t.Fatalf("%d agents, %d bytes, %d rows; want %d and %d", c.Len(), bytesOf(c), len(c.Rows()), len(in), sum)
				}
				if diff := cmp.Diff(slices.Sorted(maps.Keys(in)), names(c.All())); len(in) > 0 && diff != "" {
					t.Fatalf("agents (-want +got):\n%s", diff)
				}
			},
		})
	})
}

// D5 from the inside: 500 fat sessions end where the budget says.
func TestD5_FiveHundredFatSessionsStayWithinTheBudget(t *testing.T) {
	const budget = 1 << 20
	c := NewCache(CacheOptions{Max: 128, Bytes: budget})
	text := string(make([]byte, 64<<10))
	for i := range 500 {
		b := newBench(always(says("ok")), func(cfg *Config) { cfg.Session = fmt.Sprint(i) })
		c.Put(b.Agent)
		if _, err := b.turn(t.Context(), Turn{ID: "T", Text: text}); err != nil {
			t.Fatal(err)
		}
		for _, a := range c.Done(b.Agent) {
			if err := a.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if bytesOf(c) > budget {
			t.Fatalf("%d bytes after session %d, the budget is %d", bytesOf(c), i, budget)
		}
	}
	if c.Len() < 10 {
		t.Errorf("%d agents are left: the budget has room for more", c.Len())
	}
}

func BenchmarkCache(b *testing.B) {
	for _, n := range []int{128, 10_000} {
		b.Run(fmt.Sprintf("agents=%d", n), func(b *testing.B) {
			c := NewCache(CacheOptions{Max: n, Idle: time.Hour, Bytes: 1 << 40})
			for i := range n {
				w := weighing(fmt.Sprint(i))
				c.Put(w.Agent)
				c.Done(w.Agent)
			}
			i := 0
			for b.Loop() {
				i++
				a, _ := c.Get(fmt.Sprint(i % n))
				c.Done(a)
			}
		})
	}
}

func BenchmarkTurn(b *testing.B) {
	bench := newBench(always(says("ok")), func(c *Config) { c.Memory = nil })
	for b.Loop() {
		if _, err := bench.Run(context.Background(), Turn{ID: "T", Text: "hi"}); err != nil {
			b.Fatal(err)
		}
		bench.messages = bench.messages[:0]
	}
}
