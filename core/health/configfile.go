package health

import (
	"context"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// WarnConfigChanged is the code of the warning that the config file has changed since the gateway read it.
const WarnConfigChanged = "config.changed"

// configEvery is how often the config file is checked. It is read whole: a time of change may stay the same.
const configEvery = 5 * time.Second

// WatchConfig checks whether the config file has changed since the start (TF29), until ctx ends. It needs a separate
// goroutine: a file system that hangs delays this check alone.
func (h *Health) WatchConfig(ctx context.Context) {
	ticker := time.NewTicker(configEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			changed, err := h.o.Host.ConfigChanged()
			h.noteConfig(now, changed, err)
		}
	}
}

// noteConfig keeps what a check of the config file found.
func (h *Health) noteConfig(now time.Time, changed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.configError = ""
	switch {
	case err != nil:
		h.configError = term.Clean(err.Error(), 300)
	case !changed:
		h.configChanged = time.Time{}
	case h.configChanged.IsZero():
		h.configChanged = now
	}
}

// ConfigFile is the config file as operators see it, and what they should know of it.
func (h *Health) ConfigFile() (ops.ConfigFile, []ops.Warning) {
	row := h.o.Config
	h.mu.Lock()
	changed, unread := h.configChanged, h.configError
	h.mu.Unlock()
	row.Changed = !changed.IsZero()
	warning := func(text string, since ops.Time) []ops.Warning {
		return []ops.Warning{{Code: WarnConfigChanged, Message: text, Since: since}}
	}
	switch {
	case unread != "":
		return row, warning("the config file "+row.Path+" cannot be read: "+unread, row.LoadedAt)
	case row.Changed && row.Path == "":
		return row, warning("a config file exists now, and the gateway runs with the embedded default; a restart applies the file", ops.At(changed))
	case row.Changed:
		return row, warning("the config file "+row.Path+" has changed since the start; a restart applies it", ops.At(changed))
	}
	return row, nil
}
