package logs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStalledWriterBlocksNoCallerAndNoOtherSink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.jsonl")
	synctest.Test(t, func(t *testing.T) {
		p := stalledPage()
		l := open(t, Options{Path: path, Stderr: p})
		l.Logger().Info("first")
		<-p.waiting
		const n = 2 * maxQueued
		for i := range n { // would hang here
			l.Logger().Info("while it stalls", "i", i)
			if i%1000 == 0 {
				synctest.Wait() // the file's sink has to get a turn, or its queue fills as well
			}
		}
		l.Logger().Info("last")
		synctest.Wait()
		file := parse(t, read(t, path))
		if got := count(file, "while it stalls"); got != n || count(file, "last") != 1 {
			t.Errorf("the file has %d of %d lines", got, n)
		}
		if p.String() != "" {
			t.Errorf("the stalled writer has %q", p)
		}
		p.resume()
		closeLog(t, l)

		lines := p.lines(t)
		got, dropped := count(lines, "while it stalls"), 0.0
		for _, line := range lines {
			if line["msg"] == "log.dropped" {
				dropped += line["count"].(float64)
			}
		}
		if got != maxQueued || got+int(dropped) != n+1 { // the last one found no room either
			t.Errorf("%d lines were written and %v counted as dropped, of %d", got, dropped, n+1)
		}
		if count(lines, "log.dropped") != 1 {
			t.Errorf("%d lines say what was dropped", count(lines, "log.dropped"))
		}
	})
}

func TestAQueueIsBoundedInBytesToo(t *testing.T) {
	p := stalledPage()
	l := onPage(t, p)
	l.Logger().Info("first")
	<-p.waiting
	long := strings.Repeat("a wide story ", 1000)
	for i := range 3 * maxQueuedBytes / maxText / 2 {
		l.Logger().Info("long", "i", i, "text", long)
	}
	s := l.sinks[0]
	s.mu.Lock()
	held, dropped := s.bytes, s.dropped
	s.mu.Unlock()
	if held > maxQueuedBytes || dropped == 0 {
		t.Errorf("%d bytes wait and %d lines were dropped", held, dropped)
	}
	p.resume()
	closeLog(t, l)
	if lines := p.lines(t); count(lines, "log.dropped") != 1 {
		t.Errorf("%d lines say what was dropped", count(lines, "log.dropped"))
	}
}

func TestAFailingWriterIsReportedOnceToTheOthersAndItsLossIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := &page{}, &page{}
		bad.breaks(errBroken)
		l := twoPages(good, bad)
		for i := range 5 {
			l.Logger().Info("hello", "i", i)
			synctest.Wait()
		}
		bad.breaks(nil)
		l.Logger().Info("again")
		closeLog(t, l)
		lines := good.lines(t)
		if count(lines, "hello") != 5 || count(lines, "log.write") != 1 {
			t.Errorf("the good sink has %v", lines)
		}
		for _, line := range lines {
			if line["msg"] == "log.write" && (line["sink"] != "bad" || line["error"] != errBroken.Error() || line["level"] != "ERROR") {
				t.Errorf("it says %v", line)
			}
		}
		lines = bad.lines(t)
		if len(lines) != 2 || lines[0]["msg"] != "again" || lines[1]["msg"] != "log.dropped" || lines[1]["count"] != 5.0 {
			t.Errorf("the sink that failed has %v", lines)
		}
	})
}

func TestALineThatWasTakenInPartDoesNotSpoilTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{part: 10}
		p.breaks(errBroken)
		l := onPage(t, p)
		l.Logger().Info("torn")
		synctest.Wait()
		p.breaks(nil)
		l.Logger().Info("whole")
		l.Logger().Info("next")
		closeLog(t, l)
		var whole []string
		for line := range strings.Lines(p.String()) {
			if strings.HasSuffix(line, "}\n") {
				whole = append(whole, line)
			} else if len(line) > len("\n")+10 {
				t.Errorf("a torn line is %q", line)
			}
		}
		if lines := parse(t, strings.Join(whole, "")); count(lines, "whole") != 1 || count(lines, "next") != 1 || count(lines, "log.dropped") != 1 {
			t.Errorf("got %q", p)
		}
	})
}

func TestTwoFailingSinksDoNotTellEachOtherForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &page{}, &page{}
		a.breaks(errBroken)
		b.breaks(errBroken)
		l := twoPages(a, b)
		l.Logger().Info("hello")
		synctest.Wait() // would not return
		for _, s := range l.sinks {
			if n := s.pending.Load(); n != 0 {
				t.Errorf("%d lines are on their way to %s", n, s.name)
			}
		}
		closeLog(t, l)
	})
}

// twoPages is a log on two pages, which Options has no need for.
func twoPages(good, bad *page) *Log {
	l := &Log{sinks: []*sink{newSink("good", good, nil, jsonForm(nil)), newSink("bad", bad, nil, jsonForm(nil))}}
	l.start()
	return l
}

func TestCloseWritesWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{}
		l := onPage(t, p)
		for range 3 {
			l.Logger().Info("folded")
		}
		for i := range 100 {
			l.Logger().Info("queued", "i", i)
		}
		closeLog(t, l)
		lines := p.lines(t)
		if count(lines, "queued") != 100 || count(lines, "folded") != 2 || lines[len(lines)-1]["repeated"] != 2.0 {
			t.Errorf("got %d lines, the last is %v", len(lines), lines[len(lines)-1])
		}
		l.Logger().Info("too late")
		closeLog(t, l)
		if got := len(p.lines(t)); got != len(lines) {
			t.Errorf("after Close there are %d lines, not %d", got, len(lines))
		}
	})
}

func TestCloseIsBounded(t *testing.T) {
	p := stalledPage()
	l := onPage(t, p)
	l.Logger().Info("one")
	<-p.waiting
	l.Logger().Info("two")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := l.Close(ctx) // would hang
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "2 lines") || !strings.Contains(err.Error(), "stderr") {
		t.Errorf("it gives %v", err)
	}
	p.resume()
	closeLog(t, l) // and a longer wait sees the end
	if got := len(p.lines(t)); got != 2 {
		t.Errorf("%d lines were written", got)
	}
}

func TestManyMayLogAtOnce(t *testing.T) {
	p := &page{}
	path := filepath.Join(t.TempDir(), "gateway.jsonl")
	l := open(t, Options{Path: path, Stderr: p, Level: "debug"})
	var wg sync.WaitGroup
	const each = 100
	for g := range 8 {
		wg.Go(func() {
			log := l.Logger().With("goroutine", g).WithGroup("deep")
			for i := range each {
				log.Info("line", "i", i)
				log.Debug("the same")
			}
		})
	}
	wg.Wait()
	closeLog(t, l)
	for name, text := range map[string]string{"stderr": p.String(), "file": read(t, path)} {
		lines := parse(t, text)
		if got := count(lines, "line"); got != 8*each {
			t.Errorf("%s has %d lines of %d", name, got, 8*each)
		}
		next := map[any]float64{}
		for _, line := range lines {
			if line["msg"] != "line" {
				continue
			}
			if got := line["deep"].(map[string]any)["i"].(float64); got != next[line["goroutine"]] {
				t.Fatalf("%s has line %v of goroutine %v out of order", name, got, line["goroutine"])
			}
			next[line["goroutine"]]++
		}
	}
}

func BenchmarkInfo(b *testing.B) {
	for _, c := range []struct {
		name string
		line func(l *Log, i int)
	}{
		{"line=new", func(l *Log, i int) {
			l.Logger().Info("turn ended", "session", "api:user:alice", "turn", i, "elapsed_ms", 12)
		}},
		{"line=repeated", func(l *Log, _ int) { l.Logger().Info("turn ended", "session", "api:user:alice", "elapsed_ms", 12) }},
		{"line=below-level", func(l *Log, i int) { l.Logger().Debug("turn ended", "session", "api:user:alice", "turn", i) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			l, err := Open(Options{Path: filepath.Join(b.TempDir(), "gateway.jsonl")})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.line(l, i)
			}
			b.StopTimer()
			if err := l.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func Example() {
	p := &page{}
	l, err := Open(Options{Stderr: p})
	if err != nil {
		panic(err)
	}
	l.Logger().Info("ready", "pid", 4711)
	if err := l.Close(context.Background()); err != nil {
		panic(err)
	}
	_, line, _ := strings.Cut(p.String(), ",") // without the time
	fmt.Println(line)
	// Output: "level":"INFO","msg":"ready","pid":4711}
}
