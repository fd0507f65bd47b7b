package instance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/fixtures/peer"
	"gatewaytui/fixtures/soak"
)

func TestB16_OfManyStartersAtOnceOneWinsAndTheOthersNameIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home") // they all make it, too
	n := soak.Count(t, 20, 50)
	starters := make([]*peer.Program, n)
	lines := make([]string, n)
	var wg sync.WaitGroup
	for i := range starters {
		starters[i] = launch(t, "start", dir, nil)
		wg.Go(func() { lines[i] = starters[i].Line(t) })
	}
	wg.Wait()
	winner := -1
	for i, line := range lines {
		if line == "won" {
			if winner >= 0 {
				t.Fatalf("both pid %d and pid %d hold the home", starters[winner].Process.Pid, starters[i].Process.Pid)
			}
			winner = i
		}
	}
	if winner < 0 {
		t.Fatalf("no starter won: %q", lines)
	}
	pid := starters[winner].Process.Pid
	for i, line := range lines {
		for _, part := range []string{fmt.Sprintf("held by %d:", pid), fmt.Sprintf("pid %d,", pid), "since 2", "version 1.2.3", "gatewaytui attach"} {
			if i != winner && !strings.Contains(line, part) {
				t.Errorf("a loser says %q, without %q", line, part)
			}
		}
	}
	starters[winner].End(t)
	acquire(t, open(t, dir))
}

func TestStartersRaceWithADeletionOfTheLockFile(t *testing.T) {
	h := open(t, t.TempDir())
	stop := make(chan struct{})
	var deleting, starting sync.WaitGroup
	deleting.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Remove(h.Lock()) // mostly it is not there
			}
		}
	})
	var mu sync.Mutex
	inside, won := 0, 0
	for range 8 {
		starting.Go(func() {
			for range 40 {
				l, err := h.lock()
				if err != nil {
					continue // held, or deleted each time
				}
				mu.Lock()
				if inside++; inside > 1 {
					t.Error("two hold the home at once")
				}
				won++
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starting.Wait()
	close(stop)
	deleting.Wait()
	if won == 0 {
		t.Error("no starter ever got the lock")
	}
}

func TestAHolderThatHasNotYetSaidWhoItIsIsWaitedFor(t *testing.T) {
	h := open(t, t.TempDir())
	l, err := h.lock()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Release() }() // its error is the other tests' matter
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		go func() {
			time.Sleep(introduction / 2)
			if err := l.Update(sample()); err != nil {
				t.Error(err)
			}
		}()
		if _, err := h.Acquire(sample()); !isHeldBy(err, os.Getpid()) {
			t.Errorf("a second start gives %v", err)
		}
		if took := time.Since(began); took < introduction/2 || took > introduction {
			t.Errorf("it took %s", took)
		}
	})
}

// A gateway that is killed while it forks leaves the lock with the child until its exec.
func TestAHolderThatEndsWhileALockIsAwaitedGivesIt(t *testing.T) {
	for name, take := range map[string]func(*Home) (*Lock, error){
		"a start":                   func(h *Home) (*Lock, error) { return h.Acquire(sample()) },
		"work on a home without it": (*Home).Hold,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, t.TempDir())
			first, err := h.lock()
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				go func() {
					time.Sleep(introduction / 2)
					if err := first.Release(); err != nil {
						t.Error(err)
					}
				}()
				l, err := take(h)
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
