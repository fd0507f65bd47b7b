package logs

import (
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestH9_ALineIsWrittenAtOnceAndItsRepeatsAtTheWindowsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{}
		l := onPage(t, p)
		log := l.Logger()
		began := time.Now()
		for range 4 {
			log.Error("cannot poll", "adapter", "telegram")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if got := p.lines(t); len(got) != 1 || got[0]["repeated"] != nil {
			t.Fatalf("in the window: %v", got)
		}
		time.Sleep(foldWindow - 4*time.Second)
		synctest.Wait()
		got := p.lines(t)
		if len(got) != 2 || got[1]["repeated"] != 3.0 || got[1]["msg"] != "cannot poll" || got[1]["adapter"] != "telegram" {
			t.Fatalf("at the window's end: %v", got)
		}
		if want := began.Add(foldWindow).UTC().Format(timeLayout); got[1]["time"] != want {
			t.Errorf("its time is %v, want %v", got[1]["time"], want)
		}
		time.Sleep(10 * foldWindow)
		synctest.Wait()
		if got := p.lines(t); len(got) != 2 {
			t.Errorf("when it came no more: %v", got)
		}
		log.Error("cannot poll", "adapter", "telegram")
		synctest.Wait()
		if got := p.lines(t); len(got) != 3 || got[2]["repeated"] != nil {
			t.Errorf("when it came again: %v", got)
		}
		closeLog(t, l)
	})
}

func TestH9_AFloodIsBoundedAndNeverSilent(t *testing.T) {
	for _, c := range []struct {
		name   string
		kinds  int
		atMost int
	}{
		{"one line", 1, 1 + 6},
		{"two that alternate", 2, 2 * (1 + 6)},
		{"fifty in turn", 50, 50 * (1 + 6)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &page{}
				l := onPage(t, p)
				log := l.Logger()
				const n, minute = 6_000, time.Minute
				for i := range n {
					log.Error("cannot write", "kind", i%c.kinds)
					if i%50 == 0 {
						time.Sleep(minute * 50 / n)
					}
				}
				log.Info("something else")
				synctest.Wait()
				lines := p.lines(t)
				if len(lines) > c.atMost+1 || len(lines) < c.kinds*6 {
					t.Errorf("a minute's flood is %d lines, want at most %d and not silence", len(lines), c.atMost+1)
				}
				if count(lines, "something else") != 1 {
					t.Error("another line was lost in the flood")
				}
				closeLog(t, l)
				total := 0
				for _, line := range p.lines(t) {
					if line["msg"] != "cannot write" {
						continue
					}
					if r, ok := line["repeated"].(float64); ok {
						total += int(r)
					} else {
						total++
					}
				}
				if total != n {
					t.Errorf("%d of %d lines are accounted for", total, n)
				}
			})
		})
	}
}

func TestALineThatDiffersIsNotFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{}
		l := onPage(t, p)
		log := l.Logger()
		log.Info("a", "k", 1)
		log.Info("a", "k", 2)
		log.Warn("a", "k", 2)
		log.With("m", 1).Info("a", "k", 2)
		log.WithGroup("g").Info("a", "k", 2)
		synctest.Wait()
		if got := p.lines(t); len(got) != 5 {
			t.Errorf("got %v", got)
		}
		closeLog(t, l)
	})
}

func TestTheLinesThatOthersCountOnAreNeverFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{}
		l := onPage(t, p)
		for _, msg := range []string{"shutdown.phase", "ready", "stopped", "readying"} {
			for range 3 {
				l.Logger().Info(msg)
			}
		}
		synctest.Wait()
		for msg, want := range map[string]int{"shutdown.phase": 3, "ready": 3, "stopped": 3, "readying": 1} {
			if got := count(p.lines(t), msg); got != want {
				t.Errorf("%d lines of %d say %q", got, want, msg)
			}
		}
		closeLog(t, l)
	})
}

func TestMoreDifferentLinesThanAreRememberedLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{}
		l := onPage(t, p)
		log := l.Logger()
		for range 3 {
			log.Info("early")
		}
		for i := range 2 * maxFolds {
			log.Info("other", "i", i)
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		lines := p.lines(t)
		if count(lines, "early") != 2 || count(lines, "other") != 2*maxFolds {
			t.Errorf("%d and %d lines", count(lines, "early"), count(lines, "other"))
		}
		s := l.sinks[0]
		s.mu.Lock()
		if n := len(s.folds.order); n > maxFolds || n != len(s.folds.lines) {
			t.Errorf("%d windows in order and %d by line are open", n, len(s.folds.lines))
		}
		s.mu.Unlock()
		time.Sleep(2 * foldWindow)
		synctest.Wait()
		s.mu.Lock()
		if len(s.folds.order) != 0 || len(s.folds.lines) != 0 || s.folds.bytes != 0 {
			t.Errorf("when nothing comes any more %+v is left", s.folds)
		}
		s.mu.Unlock()
		closeLog(t, l)
	})
}

func TestAFoldedTextLineSaysHowOftenItCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &page{}
		l := open(t, Options{Stderr: p, Format: "text"})
		for range 3 {
			l.Logger().Warn("cannot poll", "adapter", "telegram")
		}
		closeLog(t, l)
		lines := strings.Split(strings.TrimSuffix(p.String(), "\n"), "\n")
		if len(lines) != 2 || !strings.HasSuffix(lines[0], "WRN cannot poll adapter=telegram") || lines[1] != lines[0]+" repeated=2" {
			t.Errorf("got %q", lines)
		}
	})
}

func TestH9_ATightErrorLoopStaysWithinTheFiles(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Options{Path: filepath.Join(dir, "gateway.jsonl"), MaxBytes: 1 << 20, Keep: 2})
	log := l.Logger()
	for range 40_000 / 20 {
		for kind := range 20 {
			log.LogAttrs(t.Context(), slog.LevelError, "cannot write", slog.String("path", "/var/"+strconv.Itoa(kind)))
		}
	}
	log.Info("still here")
	closeLog(t, l)
	text := ""
	size, files := sizeOf(t, dir)
	for _, f := range files {
		text += read(t, f)
	}
	if size > 64<<10 || !strings.Contains(text, "still here") || !strings.Contains(text, `"repeated":`) {
		t.Errorf("%d bytes in %d files", size, len(files))
	}
}
