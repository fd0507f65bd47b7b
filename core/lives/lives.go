// Package lives has what a home keeps of its lives outside the database, in the folder dumps: the list of past lives, the
// reports of their stops, goroutine dumps and diagnoses. So "how did it end last night" has an answer while no gateway
// runs (TF20). The database has the same lives and more, but only a gateway opens it.
//
// What it promises: a report or a list that no gateway has written is never accepted. A report is written on a full disk
// too. Reading needs no lock and changes nothing.
//
// The list, dumps/lives.json, is a JSON array of ops.Life rows without their shutdown reports, newest first: the items that
// /v1/history answers. It holds at most Kept rows, has mode 0600 and is replaced in one step.
package lives

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

// File is the name of the list in the folder dumps of a home.
const File = "lives.json"

// Kept is how many lives the list holds, newest first.
const Kept = 100

// Bounds of what is read, in bytes: of the file, and of one text in it.
const (
	maxFile = 1 << 20
	maxText = 4 << 10
)

// List is the list of a home while its gateway runs. Only the holder of the home's lock has one. Its methods may be called
// from any goroutine.
type List struct {
	path string

	mu   sync.Mutex // orders the writes of the file; nothing else waits for it
	rows []ops.Life
}

// Read returns the rows of the list in the folder dumps, newest first; none if there is no file. It takes no lock and
// changes nothing. A file that no gateway has written is an error that names the fault.
func Read(dumps string) ([]ops.Life, error) {
	text, err := instance.ReadFile(filepath.Join(dumps, File), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// parse reads the text of a list. It returns at most Kept rows.
func parse(text []byte) ([]ops.Life, error) {
	var rows []ops.Life
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("it is not a list of lives: %w", err)
	}
	seen := map[string]bool{}
	for i := range rows {
		if err := check(rows[i]); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		if seen[rows[i].Life] {
			return nil, fmt.Errorf("row %d: life %s is in it twice", i+1, rows[i].Life)
		}
		seen[rows[i].Life] = true
		rows[i].Shutdown = nil
	}
	return arrange(rows), nil
}

var outcomes = []ops.Outcome{ops.OutcomeClean, ops.OutcomeCutShort, ops.OutcomeCrashed, ops.OutcomeRunning}

func check(l ops.Life) error {
	switch {
	case l.Life == "":
		return errors.New("the life is missing")
	case strings.ContainsFunc(l.Life, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	}):
		return fmt.Errorf("%.40q is not the id of a life", l.Life)
	case !slices.Contains(outcomes, l.Outcome):
		return fmt.Errorf("%.40q is not the outcome of a life", string(l.Outcome))
	case l.PID < 0 || l.RSSBytes < 0:
		return errors.New("a number in it is negative")
	}
	for _, text := range []string{l.Life, l.Version, l.Phase, l.Reason, l.By} {
		if len(text) > maxText {
			return errors.New("a text in it is too long")
		}
	}
	return nil
}

// arrange sorts rows in the list's order and cuts those that are too old.
func arrange(rows []ops.Life) []ops.Life {
	slices.SortStableFunc(rows, newestFirst)
	return rows[:min(len(rows), Kept)]
}

func newestFirst(a, b ops.Life) int {
	return cmp.Or(b.StartedAt.Compare(a.StartedAt.Time), cmp.Compare(b.Life, a.Life))
}

// Put writes rows into the list, each in place of the row of the same life, and replaces the file. A life that has ended
// does not run again. The file is not synced: only a power cut would lose it, and a slow disk causes no long delay.
func (l *List) Put(rows ...ops.Life) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range rows {
		row.Shutdown = nil
		row.Reason, row.By = clip(row.Reason), clip(row.By)
		if i := slices.IndexFunc(l.rows, func(r ops.Life) bool { return r.Life == row.Life }); i >= 0 {
			if l.rows[i].Outcome != ops.OutcomeRunning && row.Outcome == ops.OutcomeRunning {
				continue // a late heartbeat
			}
			l.rows[i] = row
		} else {
			l.rows = append(l.rows, row)
		}
	}
	l.rows = arrange(l.rows)
	text, err := json.Marshal(l.rows)
	if err != nil {
		return fmt.Errorf("encode the list of lives: %w", err)
	}
	if err := os.WriteFile(l.path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the list of lives: %w", err)
	}
	if err := os.Rename(l.path+".new", l.path); err != nil {
		return fmt.Errorf("write the list of lives: %w", err)
	}
	return nil
}

// Seen is when the life was last known to run, according to the list; zero if the list does not have it.
func (l *List) Seen(life string) ops.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rows {
		if r.Life == life {
			return r.LastSeenAt
		}
	}
	return ops.Time{}
}

// clip bounds a text so that every list can be read back.
func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText/4)], "") }
