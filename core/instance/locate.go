package instance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gatewaytui/core/ops"
)

// Found is what somebody who only asks can tell about a home.
type Found struct {
	// Control is the path of the socket to ask. Whether a gateway answers there is for the socket to say.
	Control string
	// Record is what the pid file says, zero if it says nothing.
	Record Record
	// Owner is the uid of the home's owner.
	Owner int
	// Alive and Known are the answer of the function Alive about Record.
	Alive, Known bool
}

// Locate finds the control socket of the gateway on the home dir. It makes nothing, changes nothing and does not touch
// the lock: even to try it would turn away a gateway that starts at that moment. The error is an *ops.Error with
// CodeUnavailable where there can be no gateway because there is no home.
func Locate(dir string) (Found, error) {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !fi.IsDir():
		return Found{}, &ops.Error{
			Code: ops.CodeUnavailable, Message: "no gateway runs here: there is no home " + dir,
			Hint: "start one with gatewaytui, or name its home with --home",
		}
	case err != nil:
		return Found{}, problem(err, "look at the home "+dir, "ask as the user that runs the gateway")
	}
	f := Found{Owner: owner(fi)}
	if b, err := readFile(filepath.Join(dir, pidFile)); err == nil {
		// One that was copied from another home speaks of another gateway: whoever asks here must not reach that (B13).
		if r, err := parseRecord(b); err == nil && (r.Control == "" || isOf(r.Control, dir)) {
			f.Record = r
			f.Alive, f.Known = Alive(r)
		}
	}
	// A life that is over named a socket of its own environment, which need not be that of the next one.
	if f.Record.Control != "" && (f.Alive || !f.Known) {
		f.Control = f.Record.Control
		return f, nil
	}
	f.Control, err = SocketPath(dir, os.Getenv)
	return f, err
}

// isOf reports whether control is where a gateway on the home dir listens: in it, by whichever path it is reached, or
// elsewhere under the home's own name.
func isOf(control, dir string) bool {
	if filepath.Base(control) == socketFile {
		there, err := os.Stat(filepath.Dir(control))
		if err != nil {
			return false
		}
		here, err := os.Stat(dir)
		return err == nil && os.SameFile(there, here)
	}
	id, err := idOf(dir)
	return err == nil && filepath.Base(control) == socketName(id)
}
