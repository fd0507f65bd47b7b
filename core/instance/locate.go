package instance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gatewaytui/core/ops"
)

// Found is what can be known about a home without its lock.
type Found struct {
	// Control is the path of the socket to ask. Only the socket shows whether a gateway answers there.
	Control string
	// Record is the content of the pid file; zero if it has none.
	Record Record
	// Owner is the uid of the home's owner.
	Owner int
	// Alive and Known are the answer of the function Alive about Record.
	Alive, Known bool
}

// Locate finds the control socket of the gateway on the home dir. It creates nothing, changes nothing and does not touch
// the lock: even a try would turn away a gateway that starts at that moment. The error is an *ops.Error with
// CodeUnavailable where there is no home, and so no gateway.
func Locate(dir string) (Found, error) {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !fi.IsDir():
		return Found{}, &ops.Error{
			Code: ops.CodeUnavailable, Message: "no gateway runs here: there is no home " + dir,
			Hint: "start one with gatewaytui, or name its home with --home",
		}
	case err != nil:
		return Found{}, problem(err, "read the home "+dir, "ask as the user that runs the gateway")
	}
	f := Found{Owner: Owner(fi)}
	// A pid file copied from another home names another gateway, which must not be reached from here (B13).
	if r, err := readRecord(dir); err == nil && (r.Control == "" || isOf(r.Control, dir)) {
		f.Record = r
		f.Alive, f.Known = Alive(r)
	}
	// A life that has ended named a socket of its environment. The next life may have another one.
	if f.Record.Control != "" && (f.Alive || !f.Known) {
		f.Control = f.Record.Control
		return f, nil
	}
	f.Control, err = SocketPath(dir, os.Getenv)
	return f, err
}

// isOf reports whether control is where a gateway on the home dir listens: in the home, by any path to it, or elsewhere
// under the home's own name.
func isOf(control, dir string) bool {
	if filepath.Base(control) == socketFile {
		there, err1 := os.Stat(filepath.Dir(control))
		here, err2 := os.Stat(dir)
		return err1 == nil && err2 == nil && os.SameFile(there, here)
	}
	id, err := idOf(dir)
	return err == nil && filepath.Base(control) == socketName(id)
}
