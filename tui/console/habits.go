package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"gatewaytui/tui"
)

// habits is the file in which consoles keep what they remember of their person, by home (TF37). It is no part of a gateway's home: an
// attached console may not own that. Of two consoles the last writer wins, and each goes on as it is.
type habits struct{ path, home string }

// kept is the file.
type kept struct {
	Homes map[string]keptHome `json:"homes"`
}

type keptHome struct {
	tui.Habits
	UsedAt time.Time `json:"used_at"`
}

const (
	habitsMode = 0o600
	// maxHabits bounds the file in bytes, maxHomes how many homes it has: those that were used last.
	maxHabits = 1 << 20
	maxHomes  = 20
)

// habitsFile is the file console.json of the state folder of this user, for a home; false: there is none.
func habitsFile(home string, getenv func(string) string) (habits, bool) {
	state, user := getenv("XDG_STATE_HOME"), getenv("HOME")
	switch {
	case home == "":
		return habits{}, false
	case filepath.IsAbs(state):
	case filepath.IsAbs(user):
		state = filepath.Join(user, ".local", "state")
	default:
		return habits{}, false
	}
	return habits{filepath.Join(state, "gatewaytui", "console.json"), home}, true
}

// read is the file. One that is not ours or cannot be read as JSON counts as empty, and is renamed.
func (f habits) read() (all kept) {
	text, err := readBounded(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}
	}
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(text))
		if err = dec.Decode(&all); err == nil {
			return all
		}
	}
	_ = os.Rename(f.path, f.path+".corrupt") // else it is written over
	return kept{}
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxHabits+1))
	if err == nil && len(text) > maxHabits {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxHabits)
	}
	return text, err
}

// load is what is remembered for the home.
func (f habits) load() tui.Habits { return f.read().Homes[f.home].Habits }

// keep remembers h for the home.
func (f habits) keep(ctx context.Context, h tui.Habits) error {
	all := f.read()
	if all.Homes == nil {
		all.Homes = map[string]keptHome{}
	}
	all.Homes[f.home] = keptHome{h, time.Now().UTC().Truncate(time.Second)}
	names := slices.SortedFunc(maps.Keys(all.Homes), func(a, b string) int { return all.Homes[b].UsedAt.Compare(all.Homes[a].UsedAt) })
	for _, name := range names[min(len(names), maxHomes):] {
		delete(all.Homes, name)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err == nil {
		err = cmp.Or(ctx.Err(), os.MkdirAll(filepath.Dir(f.path), 0o700))
	}
	if err != nil {
		return err
	}
	return renameio.WriteFile(f.path, append(text, '\n'), habitsMode, renameio.WithTempDir(filepath.Dir(f.path)), renameio.WithStaticPermissions(habitsMode))
}
