package process

import "errors"

// weakest is the only level here: sessions, the descent that scans saw, and inherited variables. A process that leaves its
// session, and whose parent ends before a scan, gets away.
const weakest Containment = "session"

func (r *Registry) openGroups() error {
	r.groupless = noGroups
	if r.opts.Containment == ContainmentCgroup {
		return errors.New(noGroups)
	}
	return nil
}

// divide has nothing to limit; the guardian waits for it.
func (r *Registry) divide() { close(r.divided) }

func (r *Registry) rejoin() {}

func (r *Registry) lookAtLimits() {}

func (r *Registry) hurry() (done func()) { return func() {} }

func (o *oldGroups) lives() string { return "" }

func (r *Registry) leaveGroups(*tree) {}

func (r *Registry) removeEarlier() {}

func (r *Registry) removeOld() error { return nil }

func (r *Registry) limits(*tree) reached { return reached{} }

// Limits are none, and the reason.
func (r *Registry) Limits() (Bounds, []string, string) { return Bounds{}, nil, noGroups }

// GroupUse is not known.
func (r *Registry) GroupUse() (memory, processes int64) { return 0, 0 }

// forkContained starts the process of req.
func (r *Registry) forkContained(req *spawnRequest) (forkedChild, error) { return r.fork(req, -1) }
