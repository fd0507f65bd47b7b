package process

import "errors"

// macOS has no control groups: Registry.groups is always nil, and no tree has a limit.

// Bounds are what the control groups of tools may take. Nothing holds them here.
type Bounds struct{ Memory, TreeMemory, Processes, TreeProcesses uint64 }

// weakest is the only level here: sessions, the descent that scans saw, and inherited variables. A process that leaves its
// session, and whose parent ends before a scan, gets away.
const weakest Containment = "session"

const noGroups = "macOS has no control groups"

type (
	groups   struct{ home, life, kept, base string }
	division struct{ undo string }
	reached  struct{ text string }
)

func (g *groups) dirOf(int) string             { return "" }
func (g *groups) spawnOf(int) uint64           { return 0 }
func (g *groups) earlier() []string            { return nil }
func (g *groups) of(string) (dir, kept string) { return "", "" }
func (g *groups) trees(string) []string        { return nil }
func (g *groups) kill(string)                  {}
func (g *groups) removeEarlier()               {}
func (g *groups) remove() error                { return nil }

func (r *Registry) openGroups() error {
	r.groupless = noGroups
	if r.opts.Containment == ContainmentCgroup {
		return errors.New(noGroups)
	}
	return nil
}

// divide has nothing to limit; the guardian waits for it.
func (r *Registry) divide() { close(r.divided) }

func (r *Registry) rejoin()              {}
func (r *Registry) lookAtLimits()        {}
func (r *Registry) limits(*tree) reached { return reached{} }

// Limits are none, and the reason.
func (r *Registry) Limits() (Bounds, []string, string) { return Bounds{}, nil, noGroups }

// GroupUse is not known.
func (r *Registry) GroupUse() (memory, processes int64) { return 0, 0 }

// MemoryLimit is none.
func MemoryLimit() uint64 { return 0 }
