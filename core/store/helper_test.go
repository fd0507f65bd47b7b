package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/peer"
)

// The test binary started again with actAs set is another process that does something with the database in actIn.
const (
	actAs = "STORE_TEST_ACT_AS"
	actIn = "STORE_TEST_ACT_IN"
)

var acts = map[string]func(path string) error{
	"write until killed": writeUntilKilled,
	"pin a snapshot": func(path string) error {
		return foreign(path, "ro", untilReleased, "BEGIN", "SELECT count(*) FROM lives")
	},
	"hold the write lock":      func(path string) error { return foreign(path, "rw", untilReleased, "BEGIN IMMEDIATE") },
	"write one life":           func(path string) error { return foreign(path, "rw", func() {}, foreignLife) },
	"check integrity":          checkIntegrity,
	"meet a limit and lift it": meetLimit,
	"run out of descriptors":   runOutOfDescriptors,
}

const foreignLife = `INSERT INTO lives (id, pid, start_ticks, boot_id, version, outcome, phase, reason, by) VALUES ('foreign', 1, 1, '', '', '', '', '', '')`

func act(name string) int {
	if err := acts[name](os.Getenv(actIn)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start starts another process that acts on the database in dir.
func start(t *testing.T, name, dir string) *peer.Program {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), actAs+"="+name, actIn+"="+filepath.Join(dir, "gateway.db"))
	return peer.Start(t, cmd)
}

// foreign runs statements on one connection, then what comes after them, and closes it.
func foreign(path, mode string, after func(), statements ...string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?mode="+mode) // without the store's own precautions
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, st := range statements {
		if _, err := db.Exec(st); err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
	}
	after()
	return nil
}

// untilReleased says that the statements were run, and waits until the process's input is closed.
func untilReleased() {
	fmt.Println("holding")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func checkIntegrity(path string) error {
	db, err := sql.Open("sqlite", dataSource(path, "ro"))
	if err != nil {
		return err
	}
	defer db.Close()
	var word string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&word); err != nil {
		return err
	}
	fmt.Println(word)
	return nil
}

// writeUntilKilled begins and ends turns in some sessions at once, and prints the number of each once it is acknowledged.
func writeUntilKilled(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	n := 0
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			v := session("cli:"+strconv.Itoa(g), fmt.Sprintf("s%d", g))
			for {
				mu.Lock()
				n++
				id := strconv.Itoa(n)
				mu.Unlock()
				turn := Turn{ID: id, SessionID: v.ID, Life: "killed", StartedAt: noon}
				if err := s.BeginTurn(ctx, v, turn, Message{Role: "user", Content: id}); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				fmt.Println(v.ID, id)
			}
		})
	}
	wg.Wait()
	return nil
}

// meetLimit writes until files may not grow any more, then lifts the limit and writes again.
func meetLimit(path string) error {
	ctx := context.Background()
	signal.Ignore(syscall.SIGXFSZ) // write(2) then returns EFBIG
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 512 << 10, Max: was.Max}); err != nil {
		return err
	}
	written := 0
	for {
		err := s.PutLife(ctx, Life{ID: strconv.Itoa(written), Reason: string(make([]byte, 8<<10))})
		if err != nil {
			fmt.Println(err)
			fmt.Println(Reason(err), "|", Reason(s.Health(time.Now()).Err), "|", Advice(err))
			break
		}
		written++
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := s.PutLife(ctx, Life{ID: strconv.Itoa(written)}); err != nil {
		return fmt.Errorf("after the limit was lifted: %w", err)
	}
	fmt.Println(written + 1)
	return s.Close(ctx)
}

// runOutOfDescriptors takes every descriptor that the process may have, then writes and reads on all connections.
func runOutOfDescriptors(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	// The runtime needs a descriptor for its poller, which a gateway has long had.
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	_, _ = r.Close(), w.Close()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: was.Max}); err != nil {
		return err
	}
	var taken []int
	for {
		fd, err := unix.Dup(0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	errs := make(chan error)
	for i := range 2 * readConns {
		go func() {
			if err := s.PutLife(ctx, Life{ID: strconv.Itoa(i), Reason: string(make([]byte, 1<<20))}); err != nil {
				errs <- err
				return
			}
			_, found, err := s.LastLife(ctx)
			if err == nil && !found {
				err = errors.New("what was written is not there")
			}
			errs <- err
		}()
	}
	said := "written and read"
	for range 2 * readConns {
		if err := <-errs; err != nil {
			said = err.Error()
		}
	}
	if len(taken) == 0 {
		said = "no descriptor was taken: the limit did not hold"
	}
	fmt.Println(said)
	for _, fd := range taken {
		_ = unix.Close(fd)
	}
	return s.Close(ctx)
}
