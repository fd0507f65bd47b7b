package lives

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

// dumpsKept is how many files the dumps folder keeps, newest first.
const dumpsKept = 40

// Files are the files of the folder dumps of a home: reports of shutdowns, goroutine dumps, diagnoses, the list of lives.
// Each has mode 0600. Only the holder of the home's lock may write or quarantine them; any process may read.
type Files struct {
	// Dir is the folder, and Life the life that writes into it.
	Dir, Life string
	// Quarantine moves a file that cannot be used away and keeps it. Only LastReport and List call it.
	Quarantine func(path string, why error) instance.Quarantined
}

// reportPath is the file of the report of a life's shutdown.
func (f Files) reportPath(life string) string {
	return filepath.Join(f.Dir, "shutdown-"+filepath.Base(life)+".json")
}

// mostIndented is how many items a report may have to be written with indents, for people.
const mostIndented = 100

// reportReserves keep room for the report of a stop on a full disk, reportRoom bytes each: one is the report, and the
// other receives the next one.
var reportReserves = []string{".reserve-report-1", ".reserve-report-2"}

const reportRoom = 64 << 10

// Reserve keeps room on the disk for the report of this life's stop.
func (f Files) Reserve() error {
	var errs []error
	for _, name := range reportReserves {
		errs = append(errs, instance.Reserve(filepath.Join(f.Dir, name), reportRoom))
	}
	return errors.Join(errs...)
}

// SaveReport writes the report where a SIGKILL cannot remove it. It is renamed into place and not synced: only a power
// cut would lose it. On a full disk it uses the room that Reserve has kept, without its items if they do not fit (HF25).
func (f Files) SaveReport(r ops.Shutdown) error {
	text, err := encodeReport(r)
	if err != nil {
		return err
	}
	path := f.reportPath(f.Life)
	if err = os.WriteFile(path+".new", text, 0o600); err == nil {
		return os.Rename(path+".new", path)
	}
	_ = os.Remove(path + ".new") // a part of it wastes room
	if !instance.NoRoom(err) {
		return fmt.Errorf("write the shutdown's report: %w", err)
	}
	if len(text) > reportRoom {
		r.Phases = slices.Clone(r.Phases)
		for i := range r.Phases {
			r.Phases[i].Items = nil
		}
		if text, err = encodeReport(r); err != nil {
			return err
		}
	}
	for _, name := range reportReserves {
		if err = instance.Spend(filepath.Join(f.Dir, name), path, text); err == nil {
			return nil
		}
	}
	return fmt.Errorf("write the shutdown's report: %w", err)
}

// encodeReport is a report in its file.
func encodeReport(r ops.Shutdown) ([]byte, error) {
	items := 0
	for _, p := range r.Phases {
		items += len(p.Items)
	}
	text, err := []byte(nil), error(nil)
	if items > mostIndented {
		text, err = json.Marshal(r) // it is written many times while thousands of items end
	} else {
		text, err = json.MarshalIndent(r, "", "  ")
	}
	if err != nil {
		return nil, fmt.Errorf("encode the shutdown's report: %w", err)
	}
	return append(text, '\n'), nil
}

// Dump writes the stacks of all goroutines with their labels, and returns the file's path.
func (f Files) Dump(why string) (string, error) {
	file, err := f.Create("goroutines-" + why)
	if err != nil {
		return "", err
	}
	if err := pprof.Lookup("goroutine").WriteTo(file, 1); err != nil {
		_ = file.Close() // the write's error says more
		return "", fmt.Errorf("write goroutines to %s: %w", file.Name(), err)
	}
	return file.Name(), file.Close()
}

// Create makes a new text file, whose name begins with kind and the time. The caller closes it.
func (f Files) Create(kind string) (*os.File, error) {
	return os.CreateTemp(f.Dir, kind+"-"+time.Now().UTC().Format("20060102T150405")+"-*.txt")
}

// List opens the list of past lives. A list that cannot be used is moved to quarantine, with a warning, and the returned one
// begins without rows.
func (f Files) List() *List {
	l := &List{path: filepath.Join(f.Dir, File)}
	var err error
	if l.rows, err = Read(f.Dir); err != nil {
		f.Quarantine(l.path, err)
	}
	return l
}

// Prune deletes the oldest files beyond those that are kept. A file that cannot be deleted stays until the next start.
func (f Files) Prune() {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return
	}
	var all []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") && e.Name() != File {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range all[min(len(all), dumpsKept):] {
		_ = os.Remove(filepath.Join(f.Dir, info.Name()))
	}
}
