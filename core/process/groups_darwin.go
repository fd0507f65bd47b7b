package process

// macOS has no control groups: Registry.groups is always nil, and no tree has a limit.

// Bounds are what the control groups of tools may take. Nothing holds them here.
type Bounds struct{ Memory, TreeMemory, Processes, TreeProcesses uint64 }

const noGroups = "macOS has no control groups"

type (
	groups   struct{ home, life, kept, base string }
	division struct{ undo string }
	reached  struct {
		text      string
		elsewhere bool
	}
	// sharing and oldGroups hold nothing here.
	sharing   struct{ why string }
	oldGroups struct{}
)

func (g *groups) dirOf(int) string             { return "" }
func (g *groups) spawnOf(int) uint64           { return 0 }
func (g *groups) earlier() []string            { return nil }
func (g *groups) of(string) (dir, kept string) { return "", "" }
func (g *groups) trees(string) []string        { return nil }
func (g *groups) kill(string)                  {}
func (g *groups) removeEarlier()               {}
func (g *groups) remove() error                { return nil }

// SessionLimits are none.
func (r *Registry) SessionLimits() (known bool, controllers []string) { return true, nil }

// MemoryLimit is none.
func MemoryLimit() uint64 { return 0 }
