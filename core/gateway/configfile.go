package gateway

import (
	"context"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// WarnConfigChanged is the code of the warning that the config file has changed since the gateway read it.
const WarnConfigChanged = "config.changed"

// configEvery is how often the config file is looked at. It is read whole: a time of change may stay the same.
const configEvery = 5 * time.Second

// watchConfig looks whether the config file has changed since the start (TF29), until ctx ends. It has a goroutine of its
// own: a file system that hangs holds up this look and nothing else.
func (g *Gateway) watchConfig(ctx context.Context) {
	if g.opts.ConfigChanged == nil {
		return
	}
	ticker := time.NewTicker(configEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			changed, err := g.opts.ConfigChanged()
			g.noteConfig(now, changed, err)
		}
	}
}

// noteConfig keeps what a look at the config file found.
func (g *Gateway) noteConfig(now time.Time, changed bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.configError = ""
	switch {
	case err != nil:
		g.configError = term.Clean(err.Error(), 300)
	case !changed:
		g.configChanged = time.Time{}
	case g.configChanged.IsZero():
		g.configChanged = now
	}
}

// configRow is the config file as operators see it, and what they should know of it. The caller holds g.mu.
func (g *Gateway) configRow() (ops.ConfigFile, []ops.Warning) {
	row := g.opts.ConfigFile
	row.Changed = !g.configChanged.IsZero()
	switch {
	case g.configError != "":
		return row, []ops.Warning{{Code: WarnConfigChanged, Message: "the config file " + row.Path + " cannot be read: " + g.configError, Since: row.LoadedAt}}
	case row.Changed && row.Path == "":
		return row, []ops.Warning{{Code: WarnConfigChanged, Message: "a config file exists now, and the gateway runs with the embedded default; a restart applies the file", Since: ops.At(g.configChanged)}}
	case row.Changed:
		return row, []ops.Warning{{Code: WarnConfigChanged, Message: "the config file " + row.Path + " has changed since the start; a restart applies it", Since: ops.At(g.configChanged)}}
	}
	return row, nil
}
